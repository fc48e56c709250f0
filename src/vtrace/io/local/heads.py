# SPDX-License-Identifier: BSD-3-Clause
"""The head of def, events and buffer files, which names the process that wrote the file, and the uctl file of a run."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from vtrace import __version__
from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.interning import same
from vtrace.io.local import records

_CHECKSUM = int(records.FILE.fields["checksum"][1])  # type: ignore[index]


@dataclass(frozen=True, slots=True)
class FileHead:
    """The process that wrote a file: struct vt_file."""

    path: Path
    content: int
    clock: int
    run: bytes
    world: int
    rank: int | None
    world_size: int
    location: int
    host: str
    pid: int
    start: int
    """Real time in ns since the epoch; host, pid and start identify the process."""
    parent: tuple[int, int] | None
    """(pid, start) of the traced parent."""
    forked: bool
    """True if the parent's definitions also apply to this process."""
    ticks_per_second: int
    pair: tuple[int, int, int]
    """(ticks, CLOCK_MONOTONIC_RAW ns, real time ns) at the start."""
    tool: str
    prefix: str
    directory: str
    buffer: str
    """Path of the process's buffer file, "" if there is none."""
    pid_space: int
    """The boot and the PID namespace in which pid is valid, as in vtrace.parallel.crew.pid_space; 0: unknown."""
    in_memory: bool
    """True for a buffer that is only a part of the process's buffer: the rest was in memory."""
    unbuffered: bool
    """True if the process had recorded no event yet, and therefore had no buffer."""
    counts: bool
    """True if the process wrote profiles in place of events (VT_MODE=PROFILE)."""

    @property
    def process(self) -> tuple[str, int, int]:
        return (self.host, self.pid, self.start)


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading. Raises OSError for other files, too, since reading one may never end."""
    return open(open_descriptor(path)[0], "rb")


def open_descriptor(path: Path) -> tuple[int, int]:
    """Like open_file; returns the bare descriptor, and the size of the file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor, about.st_size


def read_begin(path: Path) -> tuple[bytes, int]:
    """The first FILE_HEAD bytes of a file, and its size. Raises VtraceError if the file cannot be read."""
    try:
        descriptor, size = open_descriptor(path)
        try:
            return os.pread(descriptor, records.FILE_HEAD, 0), size
        finally:
            os.close(descriptor)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error


def read_head(path: Path) -> FileHead:
    """Reads the head of a def, events or buffer file.

    Raises FormatError if the file is foreign, cut, damaged or of another version, VtraceError if it cannot be read.
    """
    return parse_head(path, read_begin(path)[0])


def parse_head(path: Path, data: bytes) -> FileHead:
    """The head in the first FILE_HEAD bytes of a file; raises FormatError."""
    if not data.startswith(records.FILE_MAGIC):
        if data.startswith(records.FILE_MAGIC.rstrip()) or (data and records.FILE_MAGIC.startswith(data)):
            raise FormatError(f"{path}: the head at byte 0 is damaged or cut", "was it copied in text mode?")
        raise FormatError(f"{path}: not a file of vtrace (no VTRACE at byte 0)")
    if len(data) < records.FILE_HEAD:
        raise FormatError(f"{path}: cut at byte {len(data)}, within its head")
    (values,) = np.frombuffer(data, records.FILE, 1).tolist()
    head: dict[str, Any] = dict(zip(records.FILE.names or (), values, strict=True))
    version, content, rank = head["version"], head["content"], head["rank"]
    if version != records.FORMAT_VERSION:
        raise FormatError(
            f"{path}: format {version} at byte 8, written by {_text(head['tool']) or 'an unknown version'}; "
            f"vtrace {__version__} reads format {records.FORMAT_VERSION}",
            "unify with the version that wrote it",
        )
    if content not in (records.EVENTS, records.DEFINITION_DATA, records.BUFFER):
        raise FormatError(f"{path}: unknown content {content} at byte 10")
    if head["head_bytes"] != records.FILE_HEAD:
        raise FormatError(f"{path}: head of {head['head_bytes']} bytes at byte 12, expected {records.FILE_HEAD}")
    # A buffer's head changes while its process runs, so it carries no checksum.
    if content != records.BUFFER and head["checksum"] != records.checksum(0, _unsigned(data)):
        raise FormatError(f"{path}: the head at byte 0 is damaged (wrong checksum)")
    if rank == records.NO_RANK or (content == records.BUFFER and rank >= head["world_size"]):
        rank = None  # at MPI_Init a buffer's head gets first one of the two values, then the other
    elif rank >= head["world_size"]:
        raise FormatError(f"{path}: the head at byte 0 is damaged (rank {rank} of {head['world_size']})")
    return FileHead(
        path=path, content=content, clock=head["clock"], run=same(head["run"]), world=head["world"], rank=rank,
        world_size=head["world_size"], location=head["location"], host=_text(head["host"]), pid=head["pid"],
        start=head["start"], parent=(head["parent_pid"], head["parent_start"]) if head["parent_start"] else None,
        forked=bool(head["forked"] & records.INHERITS), ticks_per_second=head["ticks_per_second"],
        pair=same(head["pair"]),
        tool=_text(head["tool"]), prefix=_text(head["prefix"]), directory=_text(head["directory"]),
        buffer=_text(head["buffer"]), pid_space=head["pid_space"], in_memory=bool(head["forked"] & records.IN_MEMORY),
        unbuffered=bool(head["forked"] & records.UNBUFFERED), counts=bool(head["forked"] & records.COUNTS),
    )  # fmt: skip


def _unsigned(data: bytes) -> bytes:
    return b"".join((data[:_CHECKSUM], bytes(8), data[_CHECKSUM + 8 : records.FILE.itemsize]))


def _text(field: bytes) -> str:
    return _decode(field[: field.find(0)] if 0 in field else field)


@lru_cache(1024)
def _decode(data: bytes) -> str:
    """Returns one object for the equal texts of many heads."""
    return os.fsdecode(data)


@dataclass(frozen=True)
class Uctl:
    """The facts that rank 0 writes about the whole run."""

    run: bytes
    world: int
    ranks: int
    tool: str


def read_uctl(path: Path) -> Uctl:
    """Reads PREFIX.uctl. Raises FormatError if the file is no uctl file, VtraceError if it cannot be read."""
    try:
        with open_file(path) as file:
            data = file.read(4096)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
    lines = data.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0].startswith("vtrace uctl "):
        raise FormatError(f"{path}: not a uctl file of vtrace")
    if lines[0] != "vtrace uctl 1":
        raise FormatError(f"{path}: '{lines[0]}' in line 1; vtrace {__version__} reads 'vtrace uctl 1'")
    values = dict(line.split(" ", 1) for line in lines[1:] if " " in line)
    try:
        uctl = Uctl(bytes.fromhex(values["run"]), int(values["world"], 16), int(values["ranks"]), values["tool"])
        if len(uctl.run) != 16 or not 0 <= uctl.world < 1 << 64 or not 0 <= uctl.ranks < 1 << 32:
            raise ValueError("a number out of range")
        return uctl
    except (KeyError, ValueError) as error:
        raise FormatError(f"{path}: damaged or cut ({error})") from error
