# SPDX-License-Identifier: BSD-3-Clause
"""Who wrote a local file: the head of def, events and buffer files, and the uctl file of a run."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from vtrace import __version__
from vtrace.errors import FormatError, VtraceError
from vtrace.io import records


@dataclass(frozen=True)
class FileHead:
    """Who wrote a file: struct vt_file."""

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
    """Real time in ns since the epoch; with host and pid it names the process."""
    parent: tuple[int, int] | None
    """(pid, start) of the traced parent."""
    forked: bool
    """The parent's definitions hold for this process too."""
    ticks_per_second: int
    pair: tuple[int, int, int]
    """(ticks, CLOCK_MONOTONIC_RAW ns, real time ns) at the start."""
    tool: str
    prefix: str
    directory: str
    buffer: str
    """Path of the process's buffer file, "" when there is none."""

    @property
    def process(self) -> tuple[str, int, int]:
        return (self.host, self.pid, self.start)


def open_file(path: Path) -> BinaryIO:
    """Opens a file for reading; raises OSError for what is no regular file, too: such may never begin, or never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")


def read_head(path: Path) -> FileHead:
    """Reads who wrote a def, events or buffer file.

    Raises FormatError when it is foreign, cut, damaged or of another version, VtraceError when it cannot be read.
    """
    try:
        with open_file(path) as file:
            return parse_head(path, file.read(records.FILE_HEAD))
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error


def parse_head(path: Path, data: bytes) -> FileHead:
    """The head in the first FILE_HEAD bytes of a file; raises FormatError."""
    if not data.startswith(records.FILE_MAGIC):
        if data.startswith(records.FILE_MAGIC.rstrip()) or (data and records.FILE_MAGIC.startswith(data)):
            raise FormatError(f"{path}: the head at byte 0 is damaged or cut", "was it copied in text mode?")
        raise FormatError(f"{path}: not a file of vtrace (no VTRACE at byte 0)")
    if len(data) < records.FILE_HEAD:
        raise FormatError(f"{path}: cut at byte {len(data)}, within its head")
    row = np.frombuffer(data, records.FILE, 1)[0]
    tool = _text(row["tool"])
    if row["version"] != records.FORMAT_VERSION:
        raise FormatError(
            f"{path}: format {row['version']} at byte 8, written by {tool or 'an unknown version'}; "
            f"vtrace {__version__} reads format {records.FORMAT_VERSION}",
            "unify with the version that wrote it",
        )
    content = int(row["content"])
    if content not in (records.EVENTS, records.DEFINITION_DATA, records.BUFFER):
        raise FormatError(f"{path}: unknown content {content} at byte 10")
    if row["head_bytes"] != records.FILE_HEAD:
        raise FormatError(f"{path}: head of {row['head_bytes']} bytes at byte 12, expected {records.FILE_HEAD}")
    # A buffer's head changes while its process runs, so it carries no checksum.
    if content != records.BUFFER and row["checksum"] != records.head_checksum(data):
        raise FormatError(f"{path}: the head at byte 0 is damaged (wrong checksum)")
    pair = row["pair"]
    return FileHead(
        path=path, content=content, clock=int(row["clock"]), run=row["run"].tobytes(), world=int(row["world"]),
        rank=None if row["rank"] == records.NO_RANK else int(row["rank"]), world_size=int(row["world_size"]),
        location=int(row["location"]), host=_text(row["host"]), pid=int(row["pid"]), start=int(row["start"]),
        parent=(int(row["parent_pid"]), int(row["parent_start"])) if row["parent_start"] else None,
        forked=bool(row["forked"]), ticks_per_second=int(row["ticks_per_second"]),
        pair=(int(pair["ticks"]), int(pair["mono"]), int(pair["real"])), tool=tool, prefix=_text(row["prefix"]),
        directory=_text(row["directory"]), buffer=_text(row["buffer"]),
    )  # fmt: skip


def _text(field: bytes) -> str:
    return os.fsdecode(bytes(field).split(b"\0")[0])


@dataclass(frozen=True)
class Uctl:
    """What rank 0 says about the whole run."""

    run: bytes
    world: int
    ranks: int
    tool: str


def read_uctl(path: Path) -> Uctl:
    """Reads PREFIX.uctl. Raises FormatError when it is not one, VtraceError when it cannot be read."""
    try:
        with open_file(path) as file:
            data = file.read(4096)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
    lines = data.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0].startswith("vtrace uctl "):
        raise FormatError(f"{path}: not a uctl file of vtrace")
    if lines[0] != f"vtrace uctl {records.FORMAT_VERSION}":
        raise FormatError(f"{path}: '{lines[0]}' in line 1; vtrace {__version__} reads 'vtrace uctl 1'")
    values = dict(line.split(" ", 1) for line in lines[1:] if " " in line)
    try:
        uctl = Uctl(bytes.fromhex(values["run"]), int(values["world"], 16), int(values["ranks"]), values["tool"])
        if len(uctl.run) != 16 or not 0 <= uctl.world < 1 << 64 or not 0 <= uctl.ranks < 1 << 32:
            raise ValueError("a number out of range")
        return uctl
    except (KeyError, ValueError) as error:
        raise FormatError(f"{path}: damaged or cut ({error})") from error
