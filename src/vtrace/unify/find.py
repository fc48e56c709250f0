# SPDX-License-Identifier: BSD-3-Clause
"""Which local files belong to the newest run under a prefix, and what should be there but is not."""

from __future__ import annotations

import difflib
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtrace.errors import FormatError, UsageError, VtraceError
from vtrace.io.heads import FileHead, Uctl, open_file, read_head, read_uctl
from vtrace.io.records import BUFFER, DEFINITION_DATA, EVENTS, FILE_HEAD
from vtrace.unify.alive import alive, is_process
from vtrace.unify.process import Process

_ID = r"(?:[0-9a-f]+|x.+-\d+-[0-9a-f]+(?:\.[0-9a-f]+)?)"
_UNBORN = ".tmp"
"""Behind the name of a file until its head stands: a process that was killed before leaves it, without a record."""
_BEFORE_HEAD = (_UNBORN, ".buffer")
_KIND = rf"(?:(?:def|events)(?:\.z)?(?:{re.escape(_UNBORN)})?|buffer)"
_LOCAL = re.compile(rf"(?P<prefix>.+?)\.(?P<id>{_ID})\.{_KIND}|(?P<control>.+)\.uctl")
_NOT_A_PREFIX = (".uctl", ".trace", ".out", ".exe")
_SHOWN = 4
_MOST_RANKS = 1 << 20
Warn = Callable[[str], None]


@dataclass
class Run:
    """The newest run under prefix. processes: in the archive's order; missing: ranks of which there is nothing."""

    prefix: Path
    id: bytes
    processes: list[Process]
    missing: list[int]
    ranks: int
    uctl: Path | None
    others: list[Path] = field(default_factory=list)

    @property
    def running(self) -> list[Process]:
        """Processes that still record on this machine."""
        return [process for process in self.processes if process.running]

    def local_files(self) -> list[Path]:
        """All that the run left, in the order in which it may be deleted."""
        paths = [path for process in self.processes for path in process.all_files()]
        return paths + ([self.uctl] if self.uctl else [])


def _counted(prefix: Path) -> set[bytes]:
    """Runs that took PREFIX_COUNT at their end: children that they had before left files under PREFIX."""
    pattern = re.compile(rf"{re.escape(prefix.name)}_\d+\.1\.def(?:\.z)?")
    paths = [prefix.parent / name for name in _names(prefix.parent) if pattern.fullmatch(name)]
    return {head.run for head in _heads(paths, True, lambda text: None)}


def _before_count(prefix: Path, run: bytes) -> list[FileHead]:
    """Of a run that took PREFIX_COUNT at its end: the files of its other processes under PREFIX."""
    match = re.fullmatch(r"(.+)_\d+", prefix.name)
    if not match:
        return []
    paths = [path for path in _candidates(prefix.with_name(match[1])) if path.name.startswith(f"{match[1]}.x")]
    return [head for head in _heads(paths, True, lambda text: None) if head.run == run and head.prefix == match[1]]


def resolve_prefix(operand: str) -> Path:
    """PREFIX as the user gave it, without what names a file or an archive of it (heat.uctl, heat.trace, heat.out)."""
    path = Path(operand)
    if not path.name or operand.endswith("/.."):
        raise UsageError(f"{operand} is not a prefix of local files", "for example: vtunify heat")
    if _candidates(path):
        return path
    if path.suffix in _NOT_A_PREFIX and path.stem and _candidates(path.with_suffix("")):
        return path.with_suffix("")
    match = _LOCAL.fullmatch(path.name)
    if match and os.path.exists(path):
        return path.with_name(match["prefix"] or match["control"])
    return path


def find_run(prefix: Path, salvage: bool, warn: Warn) -> Run:
    """Finds the local files of the newest run.

    Raises VtraceError when there are none, and FormatError for a file with a bad head, which salvage leaves out with
    a warning instead.
    """
    paths = _candidates(prefix)
    # No harm if its process was killed: the buffer has all.
    empty = [path for path in paths if path.suffix == _UNBORN or _is_blank(path)]
    heads = [h for h in _heads(sorted({*paths} - {*empty}), salvage, warn) if h.prefix == prefix.name]
    counted = _counted(prefix)
    heads = [head for head in heads if head.run not in counted]
    if not heads:
        raise _nothing(prefix)
    uctl, path = _uctl(prefix, warn)
    newest = max(heads, key=lambda h: (h.start, uctl is not None and h.run == uctl.run)).run
    heads += _before_count(prefix, newest)
    own = [head for head in heads if head.run == newest]
    uctl = uctl if uctl is not None and uctl.run == newest else None
    processes = _processes(own)
    ranks = _world_size(processes, uctl)
    missing = sorted(set(range(ranks)) - {p.rank for p in processes if p.main})
    others = [head.path for head in heads if head.run != newest] + ([path] if path and not uctl else [])
    others += _join_empty(empty, processes)
    for process in processes:
        process.running = process.buffer is not None and alive(process.head)
        bare = [path for path in process.empty if path.suffix not in _BEFORE_HEAD]
        if bare and not process.buffer and not salvage:
            raise FormatError(f"{bare[0]} is empty", "--salvage goes on without it")
    return Run(prefix, newest, processes, missing, ranks, path if uctl else None, others)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as people write them: 0,2-5,9."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def several(paths: Iterable[Path]) -> str:
    """A few names, and how many more there are."""
    names = sorted(path.name for path in paths)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def prefixes(directory: Path) -> list[str]:
    """All prefixes of local files in a directory."""
    return sorted({m["prefix"] or m["control"] for m in map(_LOCAL.fullmatch, _names(directory)) if m})


def kin(run: Run) -> list[str]:
    """Other prefixes in the directory that belong to the same run: programs started together under their own names."""
    found = []
    for name in set(prefixes(run.prefix.parent)) - {run.prefix.name}:
        try:
            heads = map(read_head, _candidates(run.prefix.with_name(name)))
            if any(head.prefix == name and head.run == run.id for head in heads):
                found.append(name)
        except VtraceError:
            pass  # only files that can be read are worth a hint
    return sorted(found)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError as error:
        raise VtraceError(f"cannot look into {directory}: {error.strerror}") from error


def _candidates(prefix: Path) -> list[Path]:
    """Files whose name may belong to the prefix; their heads tell whether they do."""
    pattern = re.compile(rf"{re.escape(prefix.name)}\.{_ID}\.{_KIND}")
    return [prefix.parent / name for name in _names(prefix.parent) if pattern.fullmatch(name)]


def _is_blank(path: Path) -> bool:
    """Whether not even a head stands in a file: a buffer grows before it gets one."""
    try:
        with open_file(path) as file:
            return not file.read(FILE_HEAD).strip(b"\0")
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error


def _heads(paths: Iterable[Path], salvage: bool, warn: Warn) -> list[FileHead]:
    heads = []
    for path in paths:
        try:
            heads.append(read_head(path))
        except FormatError as error:
            if not salvage:
                hint = error.hint or "move it away, or use --salvage to go on without it"
                raise FormatError(str(error.args[0]), hint) from error
            warn(f"{error.args[0]}: left out")
    return heads


def _uctl(prefix: Path, warn: Warn) -> tuple[Uctl | None, Path | None]:
    path = prefix.with_name(prefix.name + ".uctl")
    if not os.path.exists(path):
        return None, None
    try:
        return read_uctl(path), path
    except FormatError as error:  # it holds nothing that the heads do not
        warn(f"{error.args[0]}: left out")
        return None, path


def _nothing(prefix: Path) -> VtraceError:
    where = prefix.parent.resolve()
    archive = prefix if prefix.suffix == ".trace" else prefix.with_name(prefix.name + ".trace")
    message = f"no local files {prefix.name}.*.def* or {prefix.name}.*.events* in {where}"
    if os.path.isdir(archive):
        return VtraceError(message, f"{archive.name} is there already: vtrace info {archive}")
    known = prefixes(prefix.parent)
    near = difflib.get_close_matches(prefix.name, known, n=3, cutoff=0.5) or known[:_SHOWN]
    if near:
        return VtraceError(message, f"there are files of {', '.join(near)}")
    hint = "was the program compiled with vtrace-cc and run? with VT_PFORM_GDIR its files are there: vtunify DIR/PREFIX"
    return VtraceError(message, hint)


def _processes(heads: list[FileHead]) -> list[Process]:
    """Joins files by the process that wrote them; the ranks of the first world come first, then others by start, those
    of a later world together.
    """
    found: dict[tuple[str, int, int], Process] = {}
    order = (DEFINITION_DATA, EVENTS, BUFFER)
    for head in sorted(heads, key=lambda h: (order.index(h.content), h.location, h.path.name)):
        process = found.setdefault(head.process, Process(head))
        if head.content == BUFFER:
            process.buffer = head.path
        else:
            process.files.append(head)
    for process in found.values():
        process.buffer = process.buffer or _buffer_elsewhere(process)
    ranked = sorted((p for p in found.values() if p.head.rank is not None), key=lambda p: p.head.start)
    taken: set[tuple[int, int]] = set()
    for process in ranked:
        rank, world = process.head.rank, process.head.world
        if rank is not None and (world, rank) not in taken:
            taken.add((world, rank))
            process.rank, process.main = rank, world == ranked[0].head.world
    begun = {p.head.world: p.head.start for p in reversed(ranked) if p.head.world}
    mpi = bool(ranked) and bool(ranked[0].head.world)  # else processes stand behind those that started them
    return sorted(found.values(), key=lambda p: (mpi and not p.main, begun.get(p.head.world, p.head.start), p.rank or 0,
                                                 p.head.start, p.head.process))  # fmt: skip


def _world_size(processes: Iterable[Process], uctl: Uctl | None) -> int:
    """Ranks of the first world, as heads with a checksum say, else those of buffers and the control file."""
    mains = [process.head for process in processes if process.main]
    sizes = [h.world_size for h in mains if h.content != BUFFER] or [h.world_size for h in mains]
    size = max(sizes or [uctl.ranks if uctl else 0])
    if size > _MOST_RANKS:
        where = next((h.path for h in mains if h.world_size == size), "the uctl file")
        raise FormatError(f"{where}: a run of {size} ranks", "the file is damaged; move it away")
    return size


def _join_empty(paths: Iterable[Path], processes: Sequence[Process]) -> list[Path]:
    """Gives empty files to the processes that their names speak of, or to any if it ended before it had another;
    returns those of others."""
    owners = {f"x{p.head.host}-{p.head.pid}-{p.head.start:x}": p for p in processes}
    owners |= {f"{p.rank + 1:x}": p for p in processes if p.main and p.rank is not None}
    others = []
    for path in paths:
        match = _LOCAL.fullmatch(path.name)
        name = match["id"] if match else ""
        if not name.startswith("x") and int(name or "0", 16) > 0xFFFF:
            name = f"{int(name, 16) >> 16:x}"
        owner = owners.get(name) or owners.get(name.rpartition(".")[0])
        dead = path.suffix in _BEFORE_HEAD and _is_dead(name)
        if owner or dead:
            (owner or next(iter(processes))).empty.append(path)
        else:
            others.append(path)
    return others


def _is_dead(name: str) -> bool:
    match = re.fullmatch(r"x(.+)-(\d+)-[0-9a-f]+(?:\.[0-9a-f]+)?", name)
    return match is not None and match[1] == platform.node() and not is_process(int(match[2]))


def _buffer_elsewhere(process: Process) -> Path | None:
    """The left-over buffer that the process's head names, if it is visible here."""
    if not process.head.buffer:
        return None
    path = Path(process.head.buffer)
    try:
        return path if read_head(path).process == process.head.process else None
    except VtraceError:
        return None
