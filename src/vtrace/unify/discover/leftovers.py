# SPDX-License-Identifier: BSD-3-Clause
"""Leftovers of processes that have ended: buffers, heads without content, unfinished files and archives."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.io.local.heads import FileHead, read_head
from vtrace.io.local.records import BUFFER, FILE_HEAD
from vtrace.unify.discover.list_files import resolve_prefix
from vtrace.unify.model.running_processes import alive, is_near, is_process
from vtrace.unify.model.staging import is_abandoned

_PROCESS = r"(?P<host>.+)-(?P<pid>\d+)-(?P<start>[0-9a-f]+)"
_BUFFER = re.compile(rf"(?s)(?P<prefix>.+)\.x{_PROCESS}\.buffer")
_UNBORN = re.compile(rf"(?s)(?P<prefix>.+?)\.(?:[0-9a-f]+|x{_PROCESS}(?:\.[0-9a-f]+)?)\.(?:def|events)(?:\.z)?\.tmp")
_UCTL = re.compile(r"(?s)(?P<prefix>.+)\.uctl\.tmp(?P<pid>\d+)")
_ARCHIVE = re.compile(r"(?s)\.(?:u_)?(?P<prefix>.+)\.(?:trace|vtz)\.tmp-(?P<host>.+)-(?P<pid>\d+)")
_HEAD = re.compile(r"(?s)(?P<prefix>.+?)\.(?:[0-9a-f]+|x.+-\d+-[0-9a-f]+)\.def(?:\.z)?")
_LOCAL = re.compile(rf"(?s)(?P<prefix>.+?)\.(?:(?:[0-9a-f]+|x{_PROCESS}(?:\.[0-9a-f]+)?)\.(?:def|events)(?:\.z)?|uctl)")
_REMOTE = "of a process on "
_FORMS = (_BUFFER, _UNBORN, _UCTL, _ARCHIVE, _HEAD)


@dataclass(frozen=True)
class Leftover:
    """A leftover. keeper: reason why it must stay, empty if removable; remote: the reason is that it belongs to another
    host. holds_events: removing it loses events."""

    path: Path
    what: str
    keeper: str
    prefix: str
    holds_events: bool = False

    @property
    def remote(self) -> bool:
        return self.keeper.startswith(_REMOTE)

    @property
    def bytes(self) -> int:
        """The bytes that the leftover takes on the disk."""
        inside = [self.path, *self.path.rglob("*")] if self.path.is_dir() else [self.path]
        return sum(path.lstat().st_blocks * 512 for path in inside if os.path.lexists(path))


def leftovers(operand: str, local: bool) -> list[Leftover]:
    """Returns the leftovers of a prefix, or of all prefixes in a directory. Raises VtraceError if the directory does
    not exist.

    local: also the local files that vtunify can read.
    """
    path = Path(operand)
    prefix = None if path.is_dir() else resolve_prefix(operand)
    directory = path if prefix is None else prefix.parent
    found: dict[Path, Leftover] = {}
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise VtraceError(f"cannot look into {directory}: {error.strerror}") from error
    for name in names:
        for form in (*_FORMS, _LOCAL) if local else _FORMS:
            match = form.fullmatch(name)
            if match and prefix is not None and match["prefix"] != prefix.name:
                match = None
            if match and os.lstat(directory / name).st_uid == os.geteuid():
                found |= {one.path.absolute(): one for one in _look(directory / name, form, match)}
                if form is not _HEAD:
                    break
    return [found[path] for path in sorted(found)]


def _look(path: Path, form: re.Pattern[str], match: re.Match[str]) -> Iterator[Leftover]:
    named = match.groupdict()
    prefix, host, pid = named["prefix"], named.get("host"), int(named.get("pid") or 0)
    if form is _HEAD:
        yield from _by_head(path, prefix)
    elif form is _BUFFER:
        yield _buffer(path, prefix, named["host"], pid)
    elif form is _ARCHIVE:
        keeper = "" if is_abandoned(path, str(host), pid, time.time()) else _keeper(host, pid)
        yield Leftover(path, "unfinished archive", keeper, prefix)
    elif form is _LOCAL and not path.name.endswith(".uctl"):
        yield from _local_file(path, prefix)
    else:  # a name with a rank does not identify the process: any process of the prefix that records here may own it
        keeper = _keeper(host, pid) if pid else next(filter(None, map(_state, _heads(path.parent, prefix))), "")
        yield Leftover(path, "list of files" if form is _LOCAL else "unfinished file", keeper, prefix)


def _keeper(host: str | None, pid: int) -> str:
    if host and host != platform.node():
        return _REMOTE + host
    return f"process {pid} still runs" if is_process(pid) else ""


def _buffer(path: Path, prefix: str, host: str, pid: int) -> Leftover:
    try:
        head = read_head(path)
    except VtraceError:  # the process may be making the buffer now
        return Leftover(path, "empty buffer", _keeper(host, pid), prefix)
    return Leftover(path, f"buffer of {_who(head)}", _state(head), prefix, holds_events=True)


def _local_file(path: Path, prefix: str) -> Iterator[Leftover]:
    try:
        head = read_head(path)
    except VtraceError:  # not a file of vtrace, or its head is damaged
        return
    yield Leftover(path, f"local file of {_who(head)}", _state(head), prefix, holds_events=True)


def _who(head: FileHead) -> str:
    return f"rank {head.rank}" if head.rank is not None and head.world else f"process {head.pid}"


def _state(head: FileHead) -> str:
    if not is_near(head):
        return _REMOTE + head.host + (", in a container" if head.host == platform.node() else "")
    return f"process {head.pid} still records" if alive(head) else ""


def _heads(directory: Path, prefix: str) -> Iterator[FileHead]:
    for name in os.listdir(directory):
        match = _HEAD.fullmatch(name)
        try:
            if match and match["prefix"] == prefix:
                yield read_head(directory / name)
        except VtraceError:
            pass  # no process that still records has a damaged file


def _by_head(path: Path, prefix: str) -> Iterator[Leftover]:
    """Yields the leftovers that the first file of a process names: its buffer, and the file itself if it only has a
    head."""
    try:
        head = read_head(path)
    except VtraceError:
        return
    if not head.buffer:
        return
    bare, keeper = path.stat().st_size == FILE_HEAD, _state(head)
    if keeper.startswith(_REMOTE):
        if bare:
            yield Leftover(path, f"head of {_who(head)}, buffer {head.buffer}", keeper, prefix)
        return
    buffer = Path(head.buffer)
    if _is_buffer(buffer, head):
        yield Leftover(buffer, f"buffer of {_who(head)}", keeper, prefix, holds_events=True)
    if bare and not path.with_name(path.name.replace(".def", ".events")).exists():
        yield Leftover(path, f"head of {_who(head)}", keeper, prefix)


def _is_buffer(path: Path, head: FileHead) -> bool:
    try:
        found = read_head(path)
    except VtraceError:
        return False
    return found.content == BUFFER and found.process == head.process
