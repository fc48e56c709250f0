# SPDX-License-Identifier: BSD-3-Clause
"""A packed archive that is open for reading: its small files in a temporary directory, where libotf2 and the sidecar
find them, and the blocks of its locations."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.arrays import Array
from vtrace.io.common.names import ANCHOR, PACKED
from vtrace.io.local.index import blocks_between
from vtrace.io.local.kernel import SampledStream
from vtrace.io.local.local_files import MappedFile, Stream, map_file
from vtrace.io.local.maps import Maps, empty4
from vtrace.io.local.records import EVENTS, SAMPLES
from vtrace.io.local.starts import Starts
from vtrace.io.packed.container import HEAP, Container, unpacked
from vtrace.io.packed.process_part import ProcessPart, read_part

NEVER = 2**63 - 1
"""After the last event, ns."""
_NAME = re.compile(r"(?:vtrace/(?:samples/(?:vtrace/)?)?)?[A-Za-z0-9_][A-Za-z0-9_.]*")
"""The paths of files inside a packed archive; no other path is written."""


@dataclass
class PackedLocation:
    """A location: what the kernel needs to give its events. start: one of starts, None: all events."""

    events: Stream | None
    maps: Maps
    sampled: SampledStream | None
    starts: Starts
    start: Any = None


class Packed:
    """The packed archive of a path. Several threads may read it."""

    def __init__(self, path: Path) -> None:
        """Raises FormatError for damage of the definitions, VtraceError if the file cannot be read."""
        self.path, self.problems = path, list[str]()
        self._file = Container(path)
        self.index = self._file.index
        if self._file.is_cut:
            have, had = self._file.size, self._file.whole
            self.problems.append(f"the packed archive has {have:,} bytes, but had {had:,} when it was written")
        base = map_file(self._file.descriptor, self._file.size)
        self._map = MappedFile(path=path, base=base, size=self._file.size)
        self._rows = {int(id): row for row, id in enumerate(self.index.locations["id"].tolist())}
        self._lock, self._parts = Lock(), dict[int, ProcessPart | FormatError]()
        self.folder = Path(tempfile.mkdtemp(prefix="vtrace-packed-"))
        _made.append((os.getpid(), self.folder))
        self._lay_out()

    @property
    def anchor(self) -> Path:
        """The anchor file of the definitions."""
        return self.folder / ANCHOR

    def has_samples(self, anchor: Path) -> bool:
        """True if the events of the archive with this anchor file include samples: the samples may be in a second
        archive, inside the first one."""
        apart = f"vtrace/samples/{ANCHOR}" in self.index.files
        return self.index.samples and (anchor != self.anchor or not apart)

    def _lay_out(self) -> None:
        """Writes the small files."""
        for name, part in self.index.files.items():
            if not _NAME.fullmatch(name):
                raise FormatError(f"{self.path}: the index is damaged (file {name!r})")
            try:
                data = unpacked(self._file.part(part))
            except ValueError as error:
                if name.startswith("vtrace/"):
                    self.problems.append(f"its table {name} is {error}")
                    continue
                raise FormatError(f"{self.path}: {name} in it is {error}", "is the file whole?") from error
            target = self.folder / name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            except OSError as error:
                hint = "set TMPDIR to another directory"
                raise VtraceError(f"no room for the definitions in {self.folder}: {error.strerror}", hint) from error

    def bytes_of(self, id: int) -> int:
        """The bytes of a location's events, by OTF2's id."""
        row = self._rows.get(id)
        return 0 if row is None else int(self.index.locations["event_bytes"][row])

    def _part(self, process: int) -> ProcessPart:
        with self._lock:
            if process not in self._parts:
                try:
                    self._parts[process] = read_part(self._file.part(self.index.processes[process]))
                except (ValueError, KeyError, TypeError) as error:
                    text = f"{self.path}: the tables of process {process} are cut or damaged"
                    found = FormatError(text)
                    found.__cause__ = error
                    self._parts[process] = found
            found_part = self._parts[process]
        if isinstance(found_part, FormatError):
            raise found_part
        return found_part

    def location(
        self, id: int, with_samples: bool, *, time: int = 0, number: int = 1, stop: int = NEVER
    ) -> PackedLocation | None:
        """A location that is no heap, by OTF2's id, from the last start before a time (ns of the archive) and an
        event's number on, if time or number is above 0 and 1, to the first start after stop. None: it has no events.
        Raises FormatError."""
        row = self._rows.get(id)
        if row is None:
            return None
        one = self.index.locations[row]
        part, own = self._part(int(one["process"])), int(one["number"])
        maps = part.common
        if own in part.user_peers:
            maps = replace(maps, user_peers=part.user_peers[own])
        starts = part.starts.get(own, Starts())
        start = starts.before(time or (1 << 63), number if number > 1 else 1 << 62) if time or number > 1 else None
        skip = int(part.offsets[own][int(np.flatnonzero(starts.rows["row"] == start["row"])[0])]) if start else 0
        later = int(np.searchsorted(starts.rows["last"], np.uint64(max(0, min(stop, NEVER))), "right"))
        end = int(part.offsets[own][later]) if later < len(starts.rows) else None
        events = self._stream(one, "event", EVENTS, skip=skip, most=end)
        samples = self._stream(one, "sample", SAMPLES) if with_samples else None
        sampled = None
        if with_samples and part.samples is not None:
            contexts = part.contexts.get(own, empty4())
            sampled = SampledStream(samples, replace(part.samples, contexts=contexts))
        if events is None and (sampled is None or samples is None):
            return None
        return PackedLocation(events, maps, sampled, starts, start)

    def heap(self, id: int) -> tuple[list[Stream], Maps] | None:
        """The streams of all locations of a heap's process; None: the location with OTF2's id is no heap."""
        row = self._rows.get(id)
        if row is None or self.index.locations["number"][row] != HEAP:
            return None
        all_ = self.index.locations
        process = all_["process"][row]
        mine = all_[(all_["process"] == process) & (all_["number"] != HEAP)]
        order = mine[np.argsort(mine["number"], kind="stable")]
        streams = [stream for one in order if (stream := self._stream(one, "event", EVENTS)) is not None]
        return streams, self._part(int(process)).common

    def _stream(self, one: Any, what: str, content: int, *, skip: int = 0, most: int | None = None) -> Stream | None:
        """The blocks of a location from byte `skip` to byte `most`; None: it has none."""
        size = int(one[f"{what}_bytes"]) if most is None else most
        if not size:
            return None
        at = self._file.begin + int(one[f"{what}s"])
        end = min(at + size, self._file.size)
        rows: Array = np.empty(0)
        problems: list[str] = []
        if at + skip < end:
            found, cut = blocks_between(
                self._file.descriptor, at + skip, end, content, base=self._map.base, is_packed=True
            )
            rows = found
            if cut:
                problems.append(f"{self.path}: {cut}")
        if end < at + size and not problems:
            problems.append(f"{self.path}: cut at byte {self._file.size}")
        return Stream(location=int(one["number"]), content=content, index=rows, files=[self._map], problems=problems)


_made: list[tuple[int, Path]] = []
"""The temporary directories, with the process that made each."""
_opened: dict[Path, Packed] = {}
"""By their directories of small files."""


@cache
def _open(path: Path, state: tuple[int, ...]) -> Packed:
    found = Packed(path)
    _opened[found.folder] = found
    return found


def anchor_of(path: Path) -> Path:
    """The anchor file to read for a path that a user names: a packed archive's is in a temporary directory, for the
    process's life. Raises VtraceError."""
    if path.suffix != PACKED:
        return path
    try:
        about = path.stat()
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error
    return _open(path, (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)).anchor


def packed_of(anchor: Path) -> Packed | None:
    """The packed archive whose anchor file, or whose inner one, anchor_of has given; None: it is no packed archive."""
    return next((found for folder in anchor.parents if (found := _opened.get(folder))), None)


@atexit.register
def remove_folders() -> None:
    """Removes the temporary directories of this process, at its end."""
    for process, folder in _made:
        if process == os.getpid():  # else a child of the process, which uses its directories, ends
            shutil.rmtree(folder, ignore_errors=True)
