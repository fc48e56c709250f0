# SPDX-License-Identifier: BSD-3-Clause
"""Where the archive goes: built beside its place under another name, and put there in one step when complete."""

from __future__ import annotations

import os
import platform
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from uuid import uuid4

from vtrace.errors import VtraceError
from vtrace.io.archive.writer import Archive
from vtrace.io.common.outfile import refuse_foreign
from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.staging import Beat, own_mark, remove_left, temporary


def archive_path(prefix: Path, name: str | None, keep: bool) -> Path:
    """PREFIX.trace, u_PREFIX.trace with keep; a name wins, and lies beside the prefix if it names no directory."""
    if name is None:
        return prefix.with_name(f"{'u_' if keep else ''}{prefix.name}.trace")
    chosen = Path(name if name.endswith(".trace") else f"{name}.trace")
    return chosen if "/" in name else prefix.parent / chosen


def check_free(output: Path, force: bool) -> None:
    """Raises VtraceError when an archive must not or cannot be written to output."""
    directory = output.parent
    if os.path.lexists(output):
        if not force:
            raise VtraceError(f"{output} exists", "--force replaces it, -o NAME writes to another place")
        if not (output / "traces.otf2").exists() and not _empty(output):
            raise VtraceError(f"{output} exists and is not an archive of vtrace", "-o NAME writes to another place")
    if not directory.is_dir():
        raise VtraceError(f"{directory} is not a directory", "-o NAME takes one that exists")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise VtraceError(f"no permission to write into {directory}", "-o DIR/NAME writes to another place")


def _empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def sees_token(directory: Path, ranks: Ranks) -> bool:
    """Whether this rank sees the directory that rank 0 sees: by a file that rank 0 makes there for a moment."""
    if ranks.size == 1:
        return True
    name = ranks.first(lambda: f".vtunify-{uuid4().hex}")
    token = directory / name
    if ranks.root:
        with suppress(OSError):
            token.touch(exist_ok=False)
    ranks.total([])
    seen = token.exists()
    ranks.total([])
    if ranks.root:
        with suppress(OSError):
            token.unlink()
    return seen


def check_seen(output: Path, ranks: Ranks) -> None:
    """Raises VtraceError unless all ranks see the directory that the archive goes to."""
    seen = sees_token(output.parent, ranks)
    blind = ranks.gather({} if seen else {ranks.rank: platform.node()})

    def tell() -> None:
        if blind:
            rank, host = next(iter(blind.items()))
            raise VtraceError(
                f"rank {rank} of vtunify-mpi on {host} does not see {output.parent}",
                "-o DIR/NAME takes a directory that all ranks see",
            )

    ranks.first(tell)


class Output:
    """An archive in the making, as a context: leaving it without publish() leaves nothing behind."""

    def __init__(self, output: Path, ranks: Ranks) -> None:
        self.path = output
        self._ranks = ranks
        self._mark = ranks.first(own_mark)
        self._temporary = temporary(output, "tmp", self._mark)
        self._beat: Beat | None = None
        self.others: list[str] = []
        """What somebody else may be writing there."""

    def __enter__(self) -> Output:
        check_seen(self.path, self._ranks)
        self._ranks.first(self._make_way)
        self.archive = Archive(self._temporary, self._ranks)
        self._made = self._ranks.first(self._identity)
        if self._ranks.root:
            self._beat = Beat(self._temporary)
        self.others = self._ranks.first(lambda: remove_left(self.path, self._temporary))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._beat:
            self._beat.end()
        if kind is not None and issubclass(kind, Exception):  # at an interrupt the kernel may still be writing
            self.archive.abort()
        if kind is not None or self._ranks.root:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _make_way(self) -> None:
        """What a killed process with the same number left goes."""
        refuse_foreign(self._temporary)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _identity(self) -> tuple[int, int]:
        found = self._temporary.lstat()
        return found.st_dev, found.st_ino

    def publish(self) -> None:
        """Puts the finished archive into its place; one that stands there goes, once this one is there."""
        self._ranks.first(self._publish)

    def _publish(self) -> None:
        old = temporary(self.path, "old", self._mark)
        refuse_foreign(old)
        replaced = os.path.lexists(self.path)
        try:
            if self._identity() != self._made:
                raise VtraceError(f"{self._temporary} is not the directory that vtunify has made")
            if replaced:
                self.path.rename(old)
            try:
                self._temporary.rename(self.path)
            except OSError:
                if replaced:
                    old.rename(self.path)
                raise
        except OSError as error:
            raise VtraceError(f"{self.path} cannot be put into its place: {error.strerror}") from error
        if replaced and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        elif replaced:
            old.unlink()
