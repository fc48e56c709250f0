# SPDX-License-Identifier: BSD-3-Clause
"""Reading an OTF2 archive of any tool: its definitions as tables, the events of a location as batches of columns."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import _otf2
import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io import kernel
from vtrace.io.readback_abi import ATTRIBUTE, DETAIL, event_kinds, libotf2, readback

Array = np.ndarray[Any, Any]
BATCH = 1 << 16
"""Events in a batch: small enough for the processor's cache."""
_END_OF_FILE = b"\x01"
"""The record that OTF2 closes each file with."""
OPEN_SECONDS = 10
ALWAYS, NEVER = -(2**63), 2**63 - 1
_INTERRUPTED = _otf2.ERROR_INTERRUPTED_BY_CALLBACK.value


def view(address: int | None, count: int, dtype: Any) -> Array:
    """count items at an address that someone else owns, without a copy."""
    if not count or not address:
        return np.empty(0, dtype)
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


class Rows:
    """Some events of one location in their order. The arrays are views: they hold until the next batch is read.

    time: (n,) int64, ns since the clock's offset, never descending. kind: (n,) uint8, numbers of event_kinds(). ref:
    (n,) uint32, the definition that an event refers to. details: records DETAIL of the events that say more, ascending
    by row (their place in the batch). attributes: records ATTRIBUTE.
    """

    time: Array
    kind: Array
    ref: Array
    details: Array
    attributes: Array

    def __len__(self) -> int:
        return len(self.time)

    def since(self, ns: int) -> Rows:
        """Only the events from ns on."""
        first = int(np.searchsorted(self.time, ns))
        if not first:
            return self
        late = Rows()
        late.time, late.kind, late.ref = (column[first:] for column in (self.time, self.kind, self.ref))
        late.details = self.details[self.details["row"] >= first].copy()
        late.attributes = self.attributes[self.attributes["row"] >= first].copy()
        late.details["row"] -= first
        late.attributes["row"] -= first
        return late


class Batch(Rows):
    """The rows that a Reader fills, again and again."""

    def __init__(self, capacity: int = BATCH) -> None:
        """Raises MemoryError."""
        self._library = readback()
        self._pointer = self._library.vt_readback_batch(capacity)
        if not self._pointer:
            raise MemoryError
        self.fields = self._pointer.contents
        self.address = ctypes.cast(self._pointer, ctypes.c_void_p).value
        f = self.fields
        self._all = view(f.time, capacity, np.int64), view(f.kind, capacity, np.uint8), view(f.ref, capacity, np.uint32)
        self.refresh()

    def refresh(self) -> None:
        """Shows what was read since."""
        f = self.fields
        n = int(f.count)
        self.time, self.kind, self.ref = (column[:n] for column in self._all)
        self.details = view(f.details, f.ndetails, DETAIL)
        self.attributes = view(f.attributes, f.nattributes, ATTRIBUTE)

    def clear(self) -> None:
        """Makes room for the next events."""
        f = self.fields
        f.count = f.ndetails = f.nattributes = 0

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.vt_readback_batch_free(self._pointer)
            self._pointer = None


class Reader:
    """An open archive. One thread may use it; several readers may read the same archive at once."""

    def __init__(self, anchor: Path, locations: Sequence[int] = ()) -> None:
        """Opens the archive with this anchor file to read the events of locations (their OTF2 ids).

        Raises FormatError.
        """
        self.anchor = anchor
        self._otf2, self._own = libotf2(), readback()
        self.offset, self.resolution = 0, 10**9
        """Of the clock: its first tick, and ticks a second; events are in ns since the first."""
        self.events = 0
        """Events of the latest location so far, those of other kinds too."""
        self._handle: int | None = self._opened()
        self.check(self._otf2.Reader_SetSerialCollectiveCallbacks(self._handle), anchor)
        for location in locations:
            self._otf2.Reader_SelectLocation(self._handle, location)
        self._open = False

    def _opened(self) -> int:
        """The OTF2_Reader. In an anchor file with a damaged count libotf2 reads for ever: only so long."""
        found: list[tuple[int | None, tuple[int, str]]] = []
        name = str(self.anchor).encode("utf-8", "surrogateescape")

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
        """Closes the archive; once more does nothing."""
        handle, self._handle = self._handle, None
        if handle:
            self._otf2.Reader_Close(handle)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> int:
        """Of the OTF2_Reader."""
        return self._handle or 0

    @property
    def handle(self) -> Any:
        """The OTF2_Reader, as the bindings want it."""
        return ctypes.cast(self.address, ctypes.POINTER(_otf2.Reader))

    def definitions(self) -> dict[str, Array]:
        """All global definitions: by OTF2's name a table with a column for each value, in the order of the file.

        "Members" has the members of groups and metric classes, "Text" the bytes of strings. Raises FormatError.
        """
        found, count = self._own.vt_definitions_new(), ctypes.c_uint64()
        callbacks = self._own.vt_definitions_callbacks()
        if not found or not callbacks:
            raise MemoryError
        try:
            reader = self._otf2.Reader_GetGlobalDefReader(self._handle)
            if not reader:
                raise self._error(self.anchor.with_suffix(".def"), 0)
            self.check(self._otf2.Reader_RegisterGlobalDefCallbacks(self._handle, reader, callbacks, found))
            code = self._otf2.Reader_ReadAllGlobalDefinitions(self._handle, reader, ctypes.byref(count))
            if self._own.vt_definitions_failed(found):
                raise MemoryError
            self.check(code, self.anchor.with_suffix(".def"))
            self._otf2.Reader_CloseGlobalDefReader(self._handle, reader)
            return self._tables(found)
        finally:
            self._own.vt_definitions_callbacks_free(callbacks)
            self._own.vt_definitions_free(found)

    def _tables(self, found: int) -> dict[str, Array]:
        tables: dict[str, Array] = {}
        number = 0
        while text := self._own.vt_definitions_kind(number):
            name, _, fields = text.decode().partition(":")
            table = self._own.vt_definitions_table(found, number).contents
            columns = [field.partition(".")[0] for field in fields.split(", ")]
            dtype = np.dtype([(column, np.uint64) for column in columns])
            tables[name] = view(table.rows, table.count, dtype).copy()
            number += 1
        return tables

    def batches(
        self, location: int, batch: Batch, kinds: Collection[str] | None = None, start: int = ALWAYS, stop: int = NEVER,
        attributes: bool = False, expected: int = 0,
    ) -> Iterator[Batch]:  # fmt: skip
        """Reads the events of a location (its OTF2 id) into batch, again and again.

        kinds: OTF2's names, None for all; start, stop: ns, both included; attributes: whether these are wanted;
        expected: as many events must be there at least. Raises FormatError for a file that is missing, cut or damaged,
        after the events before the damage.
        """
        fields, known = batch.fields, event_kinds()
        fields.from_, fields.to, fields.want_attributes = start, stop, attributes
        fields.clock_offset, fields.resolution = self.offset, self.resolution
        fields.unknown = fields.ended = fields.early = fields.out_of_room = 0
        fields.last = ALWAYS
        for name, (number, *_) in known.items():
            fields.wanted[number] = kinds is None or name in kinds
        callbacks = self._own.vt_readback_callbacks()
        reader = None
        try:
            reader = self._events(location, callbacks, batch)
            yield from self._read(reader, location, batch)
            self._whole(location, 0 if fields.ended else expected)
        finally:
            if reader:
                self._otf2.Reader_CloseEvtReader(self._handle, reader)
            self._own.vt_readback_callbacks_free(callbacks)

    def _events(self, location: int, callbacks: int, batch: Batch) -> int:
        """An OTF2_EvtReader for a location, with what its local definitions say."""
        otf2, count = self._otf2, ctypes.c_uint64()
        kernel.complaint()
        if not self._open:
            self._definition_files = otf2.Reader_OpenDefFiles(self._handle) == 0
            self.check(otf2.Reader_OpenEvtFiles(self._handle))
            self._open = True
        path = self.path(location)
        if self._definition_files and path.with_suffix(".def").exists():
            definitions = otf2.Reader_GetDefReader(self._handle, location)
            if definitions:
                code = otf2.Reader_ReadAllLocalDefinitions(self._handle, definitions, ctypes.byref(count))
                self.check(code, path.with_suffix(".def"))
                otf2.Reader_CloseDefReader(self._handle, definitions)
        kernel.complaint()
        reader = otf2.Reader_GetEvtReader(self._handle, location)
        if not reader:
            raise self._error(path, 0)
        self.check(otf2.Reader_RegisterEvtCallbacks(self._handle, reader, callbacks, batch.address), path)
        return int(reader)

    def _read(self, reader: int, location: int, batch: Batch) -> Iterator[Batch]:
        count, most = ctypes.c_uint64(), batch.fields.capacity
        self.events = 0
        while True:
            batch.clear()
            kernel.complaint()
            code = self._otf2.Reader_ReadLocalEvents(self._handle, reader, most, ctypes.byref(count))
            self.events += count.value
            batch.refresh()
            if len(batch):
                yield batch
            if batch.fields.out_of_room:
                raise MemoryError
            if code and not (code == _INTERRUPTED and batch.fields.ended):
                raise self._error(self.path(location), code)
            if code or count.value < most:
                return

    def _whole(self, location: int, expected: int) -> None:
        """libotf2 takes the end of a cut file for that of the events."""
        path = self.path(location)
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            cut = file.read(1) != _END_OF_FILE
        if cut or self.events < expected:
            raise FormatError(f"{path}: the file is cut: only its first {self.events:,} events are there")

    def path(self, location: int) -> Path:
        """The events file of a location."""
        return self.anchor.with_suffix("") / f"{location}.evt"

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
