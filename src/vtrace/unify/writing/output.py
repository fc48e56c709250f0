# SPDX-License-Identifier: BSD-3-Clause
"""The output directory: the archive is built under a temporary name beside it, and renamed when complete."""

from __future__ import annotations

import os
import platform
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from vtrace.errors import VtraceError
from vtrace.io.archive.writer import Archive
from vtrace.io.common.names import PACKED
from vtrace.io.common.outfile import refuse_foreign
from vtrace.parallel.crew import sees_token
from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.staging import Heartbeat, own_suffix, remove_abandoned, temporary

PACKED_FILE = "packed"
"""The packed archive in the unfinished archive's directory."""


def check_seen(output: Path, ranks: Ranks) -> None:
    """Raises VtraceError unless all ranks see the directory of the archive."""
    seen = sees_token(output.parent, ranks)
    blind = ranks.gather({} if seen else {ranks.rank: platform.node()})

    def refuse() -> None:
        if blind:
            rank, host = next(iter(blind.items()))
            raise VtraceError(
                f"rank {rank} of vtunify-mpi on {host} does not see {output.parent}",
                "-o DIR/NAME takes a directory that all ranks see",
            )

    ranks.first(refuse)


class Output:
    """An unfinished archive, as a context that all ranks enter. Without publish() nothing of the archive stays."""

    def __init__(self, output: Path, ranks: Ranks, last: Path | None = None) -> None:
        """output: the path of the finished archive; a packed archive becomes a file. last: a path for an archive that
        this one replaces."""
        self.path, self.last, self._is_packed = output, last, output.suffix == PACKED
        self._ranks = ranks
        self._suffix = ranks.first(own_suffix)
        self._temporary = temporary(output, "tmp", self._suffix)
        self._heartbeat: Heartbeat | None = None
        self.others: list[str] = []
        """A text for each process that may be writing the same archive."""

    def __enter__(self) -> Output:
        check_seen(self.path, self._ranks)
        self._ranks.first(self._make_way)
        self.archive = Archive(self._temporary, self._ranks, has_events=not self._is_packed)
        if self._ranks.root:
            self._heartbeat = Heartbeat(self._temporary)
        self.others = self._ranks.first(lambda: remove_abandoned(self.path, self._temporary))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._heartbeat:
            self._heartbeat.end()
        if kind is not None and issubclass(kind, Exception):  # after an interrupt the kernel may still be writing
            self.archive.abort()
        if kind is not None or self._ranks.root:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _make_way(self) -> None:
        """Removes the unfinished archive of a killed process with the same pid."""
        refuse_foreign(self._temporary)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _identity(self) -> tuple[int, int]:
        found = self._temporary.lstat()
        return found.st_dev, found.st_ino

    def publish(self) -> None:
        """Renames the finished archive to its final name. An earlier archive with this name is removed only afterwards,
        or stays as self.last.

        Raises VtraceError.
        """
        self._ranks.first(self._publish)

    def _publish(self) -> None:
        old = temporary(self.path, "old", self._suffix)
        refuse_foreign(old)
        moves = [(self.last, old), (self.path, self.last)] if self.last else [(self.path, old)]
        done: list[tuple[Path, Path]] = []
        try:
            if self._identity() != self.archive.identity:
                raise VtraceError(f"{self._temporary} is not the directory that vtunify has made")
            for here, there in moves:
                if os.path.lexists(here):
                    here.rename(there)
                    done.append((here, there))
            (self._temporary / PACKED_FILE if self._is_packed else self._temporary).rename(self.path)
        except OSError as error:
            with suppress(OSError):
                for here, there in reversed(done):
                    there.rename(here)
            raise VtraceError(f"cannot rename the finished archive to {self.path}: {error.strerror}") from error
        if old.is_symlink() or old.is_file():
            old.unlink()
        else:
            shutil.rmtree(old, ignore_errors=True)
