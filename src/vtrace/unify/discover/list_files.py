# SPDX-License-Identifier: BSD-3-Clause
"""The local files under a prefix: their names and heads, and the control file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtrace.console import few
from vtrace.errors import FormatError, UsageError, VtraceError
from vtrace.io.local.heads import FileHead, Uctl, parse_head, read_begin, read_uctl
from vtrace.text import shell_path

_ID = r"(?:[0-9a-f]+|x.+-\d+-[0-9a-f]+(?:\.[0-9a-f]+)?)"
_UNBORN = ".tmp"
"""Suffix of a file until its head is written. A process killed before leaves the file without a record."""
_NODE = ".node"
"""Suffix of a file without records that the ranks of a node share while they run."""
BEFORE_HEAD = (_UNBORN, _NODE, ".buffer")
"""Suffixes of files that may have no head yet."""
_KIND = rf"(?:(?:def|events)(?:\.z)?(?:{re.escape(_UNBORN)})?|buffer|node)"
LOCAL = re.compile(rf"(?s)(?P<prefix>.+?)\.(?P<id>{_ID})\.{_KIND}|(?P<control>.+)\.uctl")
_NOT_A_PREFIX = (".uctl", ".trace", ".vtz", ".out", ".exe")

FileIdentity = tuple[object, ...]
"""Identity of a local file in any directory: its process, content, location and name."""


@dataclass(slots=True)
class ListedFile:
    """A local file. views: numbers of the directories in which ranks have seen the file (parallel.crew.Crew)."""

    head: FileHead
    bytes: int
    views: frozenset[int]


@dataclass
class ListedFiles:
    """The files that may belong to a prefix, found by one or several ranks."""

    files: dict[FileIdentity, ListedFile] = field(default_factory=dict)
    before: dict[FileIdentity, ListedFile] = field(default_factory=dict)
    """Under a prefix that ends in _COUNT: files without the count, of processes that ended before the run got the
    count."""
    counted: set[bytes] = field(default_factory=set)
    """Ids of runs that changed to PREFIX_COUNT at their end; their earlier children left files under PREFIX."""
    empty: set[Path] = field(default_factory=set)
    uctls: list[tuple[Uctl | None, Path]] = field(default_factory=list)
    """Control files; None: the file is damaged."""
    problems: list[str] = field(default_factory=list)

    def join(self, other: ListedFiles) -> ListedFiles:
        """Adds the files of the other object to this object, and returns this object."""
        for mine, theirs in ((self.files, other.files), (self.before, other.before)):
            for key, found in theirs.items():
                mine.setdefault(key, found).views |= found.views
        self.counted |= other.counted
        self.empty |= other.empty
        self.uctls += other.uctls
        self.problems += other.problems
        return self


def read_heads(
    prefix: Path, listed: Sequence[str], salvage: bool, view: int = 0, *, part: slice = slice(None)
) -> ListedFiles:
    """Reads the heads of a prefix's files.

    listed: the names in the directory of the prefix; part: the names that this rank reads; view: number of the
    directory. Raises FormatError for a bad head; with salvage the file is left out and noted as a problem.
    """
    seen, views = ListedFiles(), frozenset([view])
    paths = [*candidates(prefix, listed)][part]
    seen.files = _files(paths, prefix.name, salvage=salvage, views=views, seen=seen)
    pattern = re.compile(rf"{re.escape(prefix.name)}_\d+\.1\.def(?:\.z)?")
    counted = [prefix.parent / name for name in listed if pattern.fullmatch(name)][part]
    others = _files(counted, None, salvage=True, views=views, seen=ListedFiles())
    seen.counted = {other.head.run for other in others.values()}
    if match := re.fullmatch(r"(?s)(.+)_\d+", prefix.name):
        paths = [p for p in candidates(prefix.with_name(match[1]), listed) if p.name.startswith(f"{match[1]}.x")][part]
        seen.before = _files(paths, match[1], salvage=True, views=views, seen=ListedFiles())
    if not part.start:
        _add_uctl(seen, prefix)
    return seen


def _files(
    paths: Iterable[Path], prefix: str | None, salvage: bool, views: frozenset[int], *, seen: ListedFiles
) -> dict[FileIdentity, ListedFile]:
    """Returns the files with this prefix in their heads (None: any). Notes bad and headless files in seen."""
    files: dict[FileIdentity, ListedFile] = {}
    for path in paths:
        if path.suffix in (_UNBORN, _NODE):  # no loss if its process was killed: the buffer has all records
            seen.empty.add(path)
            continue
        data, size = read_begin(path)
        if data.count(0) == len(data):  # a buffer grows before it gets a head
            seen.empty.add(path)
            continue
        try:
            head = parse_head(path, data)
        except FormatError as error:
            if not salvage:
                hint = error.hint or "move it away, or use --salvage to go on without it"
                raise FormatError(str(error.args[0]), hint) from error
            seen.problems.append(f"{error.args[0]}: left out")
            continue
        if prefix in (None, head.prefix):
            files[head.process, head.content, head.location, path.name] = ListedFile(head, size, views)
    return files


def _add_uctl(seen: ListedFiles, prefix: Path) -> None:
    path = prefix.with_name(prefix.name + ".uctl")
    if not os.path.exists(path):
        return
    try:
        seen.uctls.append((read_uctl(path), path))
    except FormatError as error:  # the heads hold all data of the control file
        seen.problems.append(f"{error.args[0]}: left out")
        seen.uctls.append((None, path))


def names(directory: Path) -> list[str]:
    """Returns the names in a directory, in order. Raises VtraceError."""
    try:
        return sorted(os.listdir(directory))
    except OSError as error:
        raise VtraceError(f"cannot look into {directory}: {error.strerror}") from error


def candidates(prefix: Path, listed: Iterable[str]) -> Iterable[Path]:
    """Returns the paths of names that may belong to the prefix; their heads decide. listed: the names in its
    directory."""
    pattern = re.compile(rf"(?s){re.escape(prefix.name)}\.{_ID}\.{_KIND}")
    return (prefix.parent / name for name in listed if pattern.fullmatch(name))


def prefixes(directory: Path) -> list[str]:
    """Returns all prefixes of local files in a directory. Raises VtraceError."""
    return sorted({m["prefix"] or m["control"] for m in map(LOCAL.fullmatch, names(directory)) if m})


def no_archive(path: Path) -> VtraceError:
    """Returns the error for a path without an archive, with the command that helps, mostly vtunify."""
    directory, name = path.parent, path.name.removesuffix(".trace")
    known = prefixes(directory) if path.name not in ("", "..") and directory.is_dir() else []
    if name in known:
        said = f"{path}: there are only local files, not unified yet"
        return VtraceError(said, f"vtunify {shell_path(path.with_name(name))}")
    if path.is_dir():
        if inside := prefixes(path):
            said = f"{path}: there are only local files of {few(inside)}, not unified yet"
            return VtraceError(said, f"vtunify {shell_path(path / inside[0])}")
        return VtraceError(f"{path}: there is no OTF2 archive in this directory")
    if path.is_file() and os.access(path, os.X_OK):
        said = f"{path} is a program; there is no archive {name}.trace and there are no local files of a run"
        return VtraceError(said, "record a run first: vtrace run --help")
    if path.is_file():
        return VtraceError(f"{path} is not an OTF2 archive", "give its directory, its .otf2 file or the prefix")
    if not directory.is_dir():
        return (
            no_archive(directory) if directory.suffix == ".trace" else VtraceError(f"{path}: no such file or directory")
        )
    known += [each for each in names(directory) if each.endswith(".trace")]
    import difflib  # needed for this mistake only

    near = difflib.get_close_matches(path.name, known, n=3, cutoff=0.5) or known
    there = f"there {'is' if len(near) == 1 else 'are'} {few(near)}"
    hint = there if near else "give the archive's directory, its .otf2 file or the prefix"
    return VtraceError(f"{path}: no such archive, and no local files of this name", hint)


def resolve_prefix(operand: str) -> Path:
    """Returns the prefix for a user's word: the prefix itself, or a file or an archive of it (heat.uctl, heat.trace,
    heat.out).

    Raises UsageError for any other word.
    """
    path = Path(operand)
    if path.name in ("", ".."):
        raise UsageError(f"{operand or 'an empty word'} is not a prefix of local files", "for example: vtunify heat")
    if _any_of(path):
        return path
    if path.suffix in _NOT_A_PREFIX and path.stem and _any_of(path.with_suffix("")):
        return path.with_suffix("")
    match = LOCAL.fullmatch(path.name)
    if match and os.path.exists(path):
        return path.with_name(match["prefix"] or match["control"])
    return path


def _any_of(prefix: Path) -> bool:
    return any(True for _ in candidates(prefix, names(prefix.parent)))
