# SPDX-License-Identifier: BSD-3-Clause
"""Reads an OTF2 archive of any tool: its definitions as tables, the events of a location as batches of columns."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import _otf2
import numpy as np

from vtrace.console import few
from vtrace.errors import FormatError, VtraceError
from vtrace.io.archive.batches import ALWAYS, NEVER, BatchBuffer
from vtrace.io.archive.definitions import UNDEFINED_TIME
from vtrace.io.archive.reader_abi import libotf2, readback
from vtrace.io.common.arrays import Array, view
from vtrace.io.local import kernel
from vtrace.text import plain

_CHUNK = {b"\x03B": struct.Struct("<2xQQ"), b"\x03#": struct.Struct(">2xQQ")}
"""The first bytes of a chunk of little or big endian, and its head: the numbers of its first and its last event."""
_END, _EMPTY = b"\x02\x01", 20
"""The records at the end of each file, of its last chunk and of the file, and the size of a file with only the head of
a chunk and these two records."""
OPEN_SECONDS = 10
_TOGETHER = 1024
"""Locations of an OTF2_Reader: libotf2 looks through the list of those read so far to find one."""
_STEP = 1 << 18
"""The number of events between two reports of progress."""
_INTERRUPTED = _otf2.ERROR_INTERRUPTED_BY_CALLBACK.value


def clock_of(rows: Array) -> tuple[int, int, int, int | None]:
    """The clock of an archive, from its ClockProperties, of which the last counts.

    Ticks a second, the first tick, the number of ticks, and the real time of the first tick in ns since the epoch (None
    if unknown).
    """
    resolution, offset, length, start = rows[-1].tolist() if len(rows) else (0, 0, 0, UNDEFINED_TIME)
    return resolution or 10**9, offset, length, None if start == UNDEFINED_TIME else start


_open = Counter[Path]()
"""The anchor files that libotf2 reads, and how many readers of each are open."""
_open_lock = Lock()


def _expect_crash(own: ctypes.CDLL, anchor: Path, readers: int) -> None:
    """Adds readers of an archive to _open: if the process crashes meanwhile, it names these archives in one line,
    and exits with 1."""
    with _open_lock:
        _open[anchor] += readers
        names = few([plain(str(anchor)) for anchor, n in _open.items() if n > 0])
        line = f"vtrace: error: {names}: the process crashed while it read the archive (is the file damaged?)\n"
        own.vt_readback_crash_text(line.encode(errors="replace") if names else None)
        if not names:
            _open.clear()


class _Opened:
    """An OTF2_Reader for some locations. handle: its address; definition_files: whether libotf2 found some of local
    definitions, once `files`, those of the locations, are open."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.files = self.definition_files = False


class Reader:
    """An open archive. One thread may use it; several readers may read the same archive at once."""

    def __init__(self, anchor: Path, locations: Sequence[int] = ()) -> None:
        """Opens the archive with this anchor file to read the events of locations (their OTF2 ids).

        Raises VtraceError.
        """
        self.anchor = anchor
        self._otf2, self._own = libotf2(), readback()
        self.offset, self.resolution = 0, 10**9
        """First tick of the clock, and ticks a second; times of events are ns since the first tick."""
        self.calls_attribute: int | None = None
        """As in BatchBuffer.begin."""
        self.events = 0
        """Events of the latest location so far, of all kinds."""
        self._folder = str(anchor.with_suffix(""))
        self._folder_name = os.fsencode(self._folder)
        self._groups = [locations[first : first + _TOGETHER] for first in range(0, len(locations), _TOGETHER)] or [()]
        self._group_of = {location: group for group, each in enumerate(self._groups) for location in each}
        self._opened: dict[int, _Opened] = {}
        self._defined: set[int] = set()
        """Locations whose local definitions were read, or looked for: OTF2 refuses a second mapping."""
        self._check_files(anchor.suffix, ".def", ".marker")
        _expect_crash(self._own, anchor, 1)
        self._is_open, self._handle, self._callbacks = True, 0, None
        try:
            self._handle = self._for_group(0).handle
        except BaseException:
            self.close()
            raise
        self._callbacks = self._own.vt_readback_callbacks()

    def _for(self, location: int) -> _Opened:
        """The OTF2_Reader for a location, with its files open. Raises FormatError."""
        found = self._for_group(self._group_of.get(location, 0))
        if not found.files:
            kernel.complaint()
            found.definition_files = self._otf2.Reader_OpenDefFiles(found.handle) == 0
            self.check(self._otf2.Reader_OpenEvtFiles(found.handle))
            found.files = True
        return found

    def _for_group(self, group: int) -> _Opened:
        if group not in self._opened:
            found = self._opened[group] = _Opened(self._open())
            self.check(self._otf2.Reader_SetSerialCollectiveCallbacks(found.handle), self.anchor)
            for location in self._groups[group]:
                self._otf2.Reader_SelectLocation(found.handle, location)
        return self._opened[group]

    def _check_files(self, *names: str) -> None:
        """Raises VtraceError for a pipe or device in place of a file: libotf2 would read it forever. Missing files are
        left to libotf2. names: after the archive's."""
        for name in (f"{self._folder}{name}" for name in names):
            try:
                mode = os.stat(name).st_mode
            except OSError:
                continue
            if not stat.S_ISREG(mode):
                raise VtraceError(f"{name}: not a regular file", "archives have regular files only")

    def _open(self) -> int:
        """The OTF2_Reader. Waits OPEN_SECONDS only: with a damaged count in the anchor file libotf2 reads forever."""
        found: list[tuple[int | None, tuple[int, str]]] = []
        name = os.fsencode(self.anchor)

        def work() -> None:
            kernel.complaint()
            handle = self._otf2.Reader_Open(name)
            found.append((handle, kernel.complaint()))

        thread = Thread(target=work, daemon=True)
        thread.start()
        thread.join(OPEN_SECONDS)
        if not found:
            raise FormatError(f"{self.anchor}: OTF2 cannot open it within {OPEN_SECONDS} s", "is the file damaged?")
        handle, complaint = found[0]
        if not handle:
            raise self._error(self.anchor, 0, complaint)
        return handle

    def close(self) -> None:
        """Closes the archive; a second call does nothing."""
        if self._is_open:
            self._is_open, self._handle = False, 0
            for each in self._opened.values():
                self._otf2.Reader_Close(each.handle)
            if self._callbacks:
                self._own.vt_readback_callbacks_free(self._callbacks)
            _expect_crash(self._own, self.anchor, -1)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> int:
        """The address of the OTF2_Reader."""
        return self._handle

    @property
    def handle(self) -> Any:
        """The OTF2_Reader for the bindings."""
        return ctypes.cast(self.address, ctypes.POINTER(_otf2.Reader))

    def definitions(self) -> dict[str, Array]:
        """All global definitions: by OTF2's name, a table with a column for each value, in the order of the file.

        "Members" has the members of groups and metric classes, "Text" the bytes of strings. Raises FormatError.
        """
        found = self._own.vt_definitions_new()
        callbacks = self._own.vt_definitions_callbacks()
        if not found or not callbacks:
            raise MemoryError
        try:
            code = self.visit_definitions(callbacks, found)
            if self._own.vt_definitions_failed(found):
                raise MemoryError
            self.check(code, self.anchor.with_suffix(".def"))
            return self._tables(found)
        finally:
            self._own.vt_definitions_callbacks_free(callbacks)
            self._own.vt_definitions_free(found)

    def visit_definitions(self, callbacks: int, user: int) -> int:
        """Passes all global definitions to an OTF2_GlobalDefReaderCallbacks with its user data (addresses).

        Returns OTF2's error code. Raises FormatError if the file cannot be opened.
        """
        count = ctypes.c_uint64()
        reader = self._otf2.Reader_GetGlobalDefReader(self._handle)
        if not reader:
            raise self._error(self.anchor.with_suffix(".def"), 0)
        self.check(self._otf2.Reader_RegisterGlobalDefCallbacks(self._handle, reader, callbacks, user))
        code = int(self._otf2.Reader_ReadAllGlobalDefinitions(self._handle, reader, ctypes.byref(count)))
        if not code:
            self._otf2.Reader_CloseGlobalDefReader(self._handle, reader)
        return code

    def visit_events(
        self, location: int, callbacks: int, user: int, expected: int, *, advance: Callable[[int], None]
    ) -> bool:
        """Passes the events of a location (its OTF2 id) to an OTF2_EvtReaderCallbacks with its user data (addresses).

        expected: the number of events in the definitions. advance: takes the number of events read since its last call.
        Returns False if a callback has interrupted the reading. Raises FormatError for a file that is missing, cut or
        damaged.
        """
        reader: int | None = None
        handle, count = self._for(location).handle, ctypes.c_uint64()
        self.events = 0
        most, cut = self._extent(location)
        try:
            reader = self._events(location, callbacks, user)
            while True:
                kernel.complaint()
                step = min(_STEP, most - self.events)
                code = self._otf2.Reader_ReadLocalEvents(handle, reader, step, ctypes.byref(count))
                self.events += count.value
                advance(count.value)
                if code == _INTERRUPTED:
                    return False
                if code:
                    raise self._error(self.path(location), code)
                if count.value < _STEP:
                    self._check_whole(location, cut, expected)
                    return True
        finally:
            if reader:
                self._otf2.Reader_CloseEvtReader(handle, reader)

    def _tables(self, found: int) -> dict[str, Array]:
        tables: dict[str, Array] = {}
        number = 0
        while text := self._own.vt_definitions_kind(number):
            name, _, fields = text.decode().partition(":")
            table = self._own.vt_definitions_table(found, number).contents
            dtype = np.dtype([(column, np.uint64) for column in fields.replace(",", "").split()])
            tables[name] = view(table.rows, table.count, dtype).copy()
            number += 1
        return tables

    def batches(
        self, location: int, batch: BatchBuffer, kinds: Collection[str] | None = None, start: int = ALWAYS,
        *, stop: int = NEVER, attributes: bool = False, expected: int = 0, first: tuple[int, int] = (1, ALWAYS),
    ) -> Iterator[BatchBuffer]:  # fmt: skip
        """Reads the events of a location (its OTF2 id) into batch, piece by piece.

        kinds: OTF2's names, None for all; start, stop: ns, both included; attributes: True to read them, too;
        expected: the least number of events; first: number of the event to begin with (from 1), and the time of the
        event before. Raises FormatError for a file that is missing, cut or damaged, after the events before the damage.
        """
        number, last = first

        def begin() -> None:
            batch.begin((self.offset, self.resolution), kinds, start, stop, attributes, last, self.calls_attribute)

        begin()
        if self._at_once(location, batch, expected, first=number):
            batch.refresh()
            if len(batch):
                yield batch
            return
        begin()
        most, cut = self._extent(location)
        reader, handle = None, self._for(location).handle
        try:
            reader = self._events(location, self._callbacks, batch.address)
            if number > 1 and (code := self._otf2.EvtReader_Seek(reader, number)):
                raise self._error(self.path(location), code)
            yield from self._read(reader, location, batch, max(0, most + 1 - number))
            self._check_whole(location, cut, 0 if batch.fields.ended else expected)
        finally:
            if reader:
                self._otf2.Reader_CloseEvtReader(handle, reader)

    def whole(
        self, location: int, batch: BatchBuffer, kinds: Collection[str] | None = None, *, attributes: bool = False,
        expected: int = 0,
    ) -> bool:  # fmt: skip
        """Reads all events of a location with few events into one batch, as batches does, but in one call of C and
        without batch.refresh(). Returns False if batches must read the location, which then tells the reason."""
        batch.begin((self.offset, self.resolution), kinds, attributes=attributes, calls_attribute=self.calls_attribute)
        return self._at_once(location, batch, expected)

    def _at_once(self, location: int, batch: BatchBuffer, expected: int, *, first: int = 1) -> bool:
        """Reads a location with few events from event `first` on into a batch that has begun, in one call of C and
        without batch.refresh(). Returns False if it must be read step by step, which then tells the reason."""
        handle, folder = self._for(location).handle, self._folder_name
        found = self._own.vt_read_short_location(handle, self._callbacks, folder, location, first, batch.address)
        if found < (0 if batch.fields.ended else expected):
            return False
        self.events = found
        return True

    def read(self, location: int, batch: BatchBuffer, take: Callable[[], object], **others: Any) -> None:
        """Calls take for each batch of batches(), until take returns True. others: as of batches. Raises as batches
        does."""
        for _ in self.batches(location, batch, **others):
            if take() is True:
                return

    def _events(self, location: int, callbacks: int | None, user: int | None) -> int:
        """An OTF2_EvtReader for a location, which has read its local definitions; see visit_events."""
        otf2, count = self._otf2, ctypes.c_uint64()
        opened = self._for(location)
        is_new = opened.definition_files and location not in self._defined
        self._defined.add(location)
        if is_new and self._has_definitions(location):
            definitions = otf2.Reader_GetDefReader(opened.handle, location)
            if definitions:
                code = otf2.Reader_ReadAllLocalDefinitions(opened.handle, definitions, ctypes.byref(count))
                if code:
                    raise self._error(self.path(location).with_suffix(".def"), code)
                otf2.Reader_CloseDefReader(opened.handle, definitions)
        kernel.complaint()
        reader = otf2.Reader_GetEvtReader(opened.handle, location)
        if not reader:
            raise self._error(self.path(location), 0)
        self.check(otf2.Reader_RegisterEvtCallbacks(opened.handle, reader, callbacks, user))
        return int(reader)

    def _has_definitions(self, location: int) -> bool:
        """Returns True if there are local definitions. Opening their file by libotf2 takes a third of the time of a
        short location."""
        try:
            file = os.open(f"{self._folder}/{location}.def", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            head = os.read(file, _EMPTY + 1)
        finally:
            os.close(file)
        return len(head) != _EMPTY or not head.endswith(_END)

    def _read(self, reader: int, location: int, batch: BatchBuffer, most: int) -> Iterator[BatchBuffer]:
        """most: the number of events to read at most."""
        count, capacity = ctypes.c_uint64(), batch.fields.capacity
        handle = self._for(location).handle
        self.events = 0
        while True:
            batch.clear()
            kernel.complaint()
            step = min(capacity, most - self.events)
            code = self._otf2.Reader_ReadLocalEvents(handle, reader, step, ctypes.byref(count))
            self.events += count.value
            batch.refresh()
            if len(batch):
                yield batch
            if batch.fields.out_of_room:
                raise MemoryError
            if code and not (code == _INTERRUPTED and batch.fields.ended):
                raise self._error(self.path(location), code)
            if code or count.value < capacity:
                return

    def _extent(self, location: int) -> tuple[int, bool]:
        """The most events of a location that can be read, and whether its file is cut.

        libotf2 takes the rest of an earlier chunk for the missing part of a cut one, and reads the last chunk again and
        again. So of a cut file only the events of its whole chunks are read. No event takes less than a byte.
        """
        self._check_files(f"/{location}.def", f"/{location}.evt")
        try:
            file = os.open(f"{self._folder}/{location}.evt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return 0, False  # opening the reader reports the reason
        try:
            size = os.fstat(file).st_size
            if os.pread(file, 2, max(0, size - 2)) == _END:
                return size, False
            events, _ = self.chunk_sizes()
            whole = size // events if events else 0
            head = os.pread(file, 18, (whole - 1) * events) if whole else b""
            layout = _CHUNK.get(head[:2])
            return min(size, layout.unpack(head)[1] if layout and len(head) == layout.size else size), True
        finally:
            os.close(file)

    def chunk_sizes(self) -> tuple[int, int]:
        """The bytes of a chunk of events and of one of definitions."""
        events, definitions = ctypes.c_uint64(), ctypes.c_uint64()
        self.check(self._otf2.Reader_GetChunkSize(self._handle, ctypes.byref(events), ctypes.byref(definitions)))
        return events.value, definitions.value

    def _check_whole(self, location: int, cut: bool, expected: int) -> None:
        """Raises FormatError for a cut file, since libotf2 would treat its end as the end of the events."""
        if cut or self.events < expected:
            raise FormatError(
                f"{self.path(location)}: the file is cut: only its first {self.events:,} events can be read"
            )

    def path(self, location: int) -> Path:
        """The events file of a location."""
        return Path(f"{self._folder}/{location}.evt")

    def check(self, code: int, path: Path | None = None) -> None:
        """Raises FormatError for an OTF2_ErrorCode that is not success."""
        if code:
            raise self._error(path or self.anchor, code)

    def _error(self, path: Path, code: int, complaint: tuple[int, str] | None = None) -> VtraceError:
        first, text = complaint or kernel.complaint()
        code = first or code
        words = _otf2.Error_GetDescription(_otf2.ErrorCode(code)) if code else ""
        missing = "" if path.exists() else "the file is missing. "
        said = " ".join(f"{missing}{words} {text}".split())
        return FormatError(f"{path} cannot be read{': ' if said else ''}{said}", "is the archive whole?")
