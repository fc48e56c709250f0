# SPDX-License-Identifier: BSD-3-Clause
"""Some events of one location as columns, in memory of csrc/otf2_reader."""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from functools import cache, cached_property

import numpy as np

from vtrace.io.archive.reader_abi import ATTRIBUTE, DETAIL, BatchFields, event_kinds, readback
from vtrace.io.common.arrays import Array, view

ALWAYS, NEVER = -(2**63), 2**63 - 1
BATCH = 1 << 16
"""Events in a batch: few enough for the processor's cache."""
_KINDS = BatchFields.wanted.size
_JOINED_MOST = np.uint64(2**32 - 1)
"""VT_JOINED_MOST in csrc/otf2_reader/readback.h."""
_COLUMNS = ("time", "kind", "ref", "details", "attributes")
_NO_DETAILS, _NO_ATTRIBUTES = np.empty(0, DETAIL), np.empty(0, ATTRIBUTE)


@cache
def wanted_kinds(kinds: frozenset[str] | None) -> bytes:
    """A byte for each of event_kinds(): 1 for the given kinds."""
    found = bytearray(_KINDS)
    for name, (number, *_) in event_kinds().items():
        found[number] = kinds is None or name in kinds
    return bytes(found)


class Batch:
    """Some events of one location in order. The arrays are views, valid until the next batch is read.

    time: (n,) int64, ns since the clock's offset, never descending. kind: (n,) uint8, numbers of event_kinds(). ref:
    (n,) uint32, the definition that an event refers to. details: records DETAIL of the events with further values,
    ascending by row (the event's index in the batch). attributes: records ATTRIBUTE.
    """

    time: Array
    kind: Array
    ref: Array
    details: Array
    attributes: Array

    calls_attribute: int | None = None
    """Id of the attribute with the number of calls that a Leave ends; None: each ends one."""
    _counts: Array | None = None

    def __len__(self) -> int:
        return len(self.time)

    def detailed(self) -> Array:
        """The number of events with details, by the number of the kind."""
        if self._counts is None:
            self._counts = np.bincount(self.details["kind"], minlength=_KINDS)
        return self._counts

    def has(self, kind: int) -> bool:
        """True if the batch has events with details of a kind, by its number."""
        return bool(self.detailed()[kind])

    def numbers_of_calls(self) -> Array:
        """The records of attributes with the number of calls that a Leave ends."""
        if self.calls_attribute is None:
            return _NO_ATTRIBUTES
        found: Array = self.attributes[self.attributes["attribute"] == self.calls_attribute]
        return found

    def further_calls(self) -> Array:
        """(n,) int64: the number of calls that a Leave ends besides one."""
        found = np.zeros(len(self), np.int64)
        if self.calls_attribute is not None:
            mine = self.numbers_of_calls()
            mine = mine[(mine["value"] > 0) & (mine["value"] <= _JOINED_MOST)]  # others are damage
            found[mine["row"]] = mine["value"].astype(np.int64) - 1
        return found

    def since(self, ns: int) -> Batch:
        """The batch without the events before ns."""
        first = int(np.searchsorted(self.time, ns))
        if not first:
            return self
        late = Batch()
        late.calls_attribute = self.calls_attribute
        late.time, late.kind, late.ref = (column[first:] for column in (self.time, self.kind, self.ref))
        late.details = self.details[self.details["row"] >= first].copy()
        late.attributes = self.attributes[self.attributes["row"] >= first].copy()
        late.details["row"] -= first
        late.attributes["row"] -= first
        return late


class BatchBuffer(Batch):
    """A batch that a Reader fills repeatedly."""

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

    def begin(  # noqa: PLR0917
        self, clock: tuple[int, int], kinds: Collection[str] | None = None, start: int = ALWAYS, stop: int = NEVER,
        attributes: bool = False, last: int = ALWAYS, calls_attribute: int | None = None,
    ) -> None:  # fmt: skip
        """Begins a location. clock: first tick, ticks a second; kinds: OTF2's names, None for all; start, stop: ns,
        both included; attributes: True to take them, too; last: time of the event before, ns;
        calls_attribute: id of an attribute of Leave events that is always taken, as the number of calls."""
        fields = self.fields
        fields.from_, fields.to, fields.want_attributes, fields.last = start, stop, attributes, last
        fields.calls_attribute = 0 if calls_attribute is None else calls_attribute + 1
        self.calls_attribute = calls_attribute
        fields.clock_offset, fields.resolution = clock
        fields.unknown = fields.ended = fields.early = fields.out_of_room = fields.skip = 0
        wanted = wanted_kinds(None if kinds is None else frozenset(kinds))
        ctypes.memmove(fields.wanted, wanted, len(wanted))
        self.clear()

    def refresh(self) -> None:
        """Updates the arrays after reading. Each is made when it is used first: most questions ask C alone."""
        f = self.fields
        self._counts = None
        self._rows, self._details, self._attributes = int(f.count), int(f.ndetails), int(f.nattributes)
        for name in _COLUMNS:
            self.__dict__.pop(name, None)

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def time(self) -> Array:  # type: ignore[override]
        return self._all[0][: self._rows]

    @cached_property
    def kind(self) -> Array:  # type: ignore[override]
        return self._all[1][: self._rows]

    @cached_property
    def ref(self) -> Array:  # type: ignore[override]
        return self._all[2][: self._rows]

    @cached_property
    def details(self) -> Array:  # type: ignore[override]
        return view(self.fields.details, self._details, DETAIL) if self._details else _NO_DETAILS

    @cached_property
    def attributes(self) -> Array:  # type: ignore[override]
        return view(self.fields.attributes, self._attributes, ATTRIBUTE) if self._attributes else _NO_ATTRIBUTES

    def clear(self) -> None:
        """Makes room for the next events."""
        f = self.fields
        f.count = f.ndetails = f.nattributes = 0
        ctypes.memset(f.detailed, 0, _KINDS)

    def has(self, kind: int) -> bool:
        return bool(self.fields.detailed[kind])  # much faster than detailed()

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self._library.vt_readback_batch_free(self._pointer)
            self._pointer = None
