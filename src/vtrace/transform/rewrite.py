# SPDX-License-Identifier: BSD-3-Clause
"""Copies an archive, or a part of it, event by event with csrc/otf2_rewriter.

A copy of the whole archive takes one pass and changes no number. For a part, the first pass marks the definitions that
events need, lists the calls across the edges of the window, and returns the events with counterparts; `Verdicts`
decides which of these the copy has, and the second pass writes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.definition_tables import is_count
from vtrace.errors import FormatError, VtraceError
from vtrace.io.archive.definitions import DEFINITION_CHUNK, DEFINITION_CHUNK_MAX, SECTION_UNIT
from vtrace.io.archive.packed_events import lay_out_events
from vtrace.io.archive.reader import Reader
from vtrace.io.archive.writer import Archive
from vtrace.io.common.arrays import Array, view
from vtrace.io.local import kernel
from vtrace.transform import rewriter_abi as abi
from vtrace.transform.counterparts import PairedEvents, Verdicts

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

NEVER = 2**64 - 1
Advance = Callable[[int], None]
_MEMBER_BYTES = 10
"""Most bytes of a member of a group in a file."""


@dataclass(frozen=True, kw_only=True)
class ArchivePart:
    """A part of an archive. locations: rows of trace.locations, ascending. start, stop: ticks, start <= time < stop.
    regions, contexts: uint8, 1 for the selected ones, by OTF2's ids; selects_path: takes a call path such as
    main > solve. None: all."""

    locations: tuple[int, ...]
    start: int = 0
    stop: int = NEVER
    regions: Array | None = None
    contexts: Array | None = None
    selects_path: Callable[[str], bool] | None = None

    def whole(self, trace: Source) -> bool:
        """True if nothing of the archive is left out."""
        choices = (self.regions, self.contexts, self.selects_path)
        everything = len(self.locations) == trace.locations.rows and all(choice is None for choice in choices)
        return everything and self.start == 0 and self.stop == NEVER


@dataclass
class Rewritten:
    """The contents of a copy: events by the name of their kind; halves: by location (its row), the number of events
    without a counterpart in the part, which are left out; early, stray: events with wrong times, leaves without an
    enter."""

    events: dict[str, int] = field(default_factory=dict)
    by_location: dict[int, int] = field(default_factory=dict)
    halves: dict[int, int] = field(default_factory=dict)
    early: int = 0
    stray: int = 0


def by_id(ids: Array, chosen: Array) -> Array:
    """(largest id + 1,) uint8: 1 for the ids of chosen rows."""
    found = np.zeros(int(ids.max(initial=-1)) + 1, np.uint8)
    defined = ids >= 0
    found[ids[defined]] = chosen[defined]
    return found


class Rewriter:
    """A copy of a part of an archive: prepare(), then write() the events, then definitions()."""

    def __init__(self, trace: Source, part: ArchivePart) -> None:
        """Reads the definitions. Raises FormatError."""
        self.trace, self.part = trace, part
        self.whole = part.whole(trace)
        self.result = Rewritten()
        self._own = abi.rewriter()
        self._listed: dict[int, Array] = {}
        ids = trace.locations["id"].astype(np.uint64)[list(part.locations)]
        dense = bool(np.all(trace.locations["id"] == np.arange(trace.locations.rows)))
        self.ids: Array = ids
        """OTF2's ids of the locations that stay, ascending."""
        self.numbers: Array = np.arange(len(ids), dtype=np.uint64) if dense else ids.copy()
        """The ids of these locations in the copy."""
        self._events = np.zeros(len(ids), np.uint64)
        self._paths, self._names = (
            [""],
            dict(zip(trace.regions["id"].tolist(), trace.regions["name"].tolist(), strict=True)),
        )
        self._ask = abi.Ask(self._path)
        lay_out_events(trace.anchor, ids.tolist())
        self._reader = Reader(trace.anchor, ids.tolist())
        self._callbacks = self._own.vt_rewrite_callbacks()
        self._copy = self._own.vt_copy_new()
        if not self._copy or not self._callbacks:
            raise MemoryError
        self._read_definitions()
        self._metrics = _kept_metrics(trace)

    def __enter__(self) -> Rewriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._reader.close()
        self._own.vt_copy_free(self._copy)
        self._own.vt_copy_callbacks_free(self._callbacks)

    def _read_definitions(self) -> None:
        callbacks = self._own.vt_copy_callbacks()
        try:
            code = self._reader.visit_definitions(callbacks, self._copy)
            self._check(self._own.vt_copy_failed(self._copy))
            self._reader.check(code, self._reader.anchor.with_suffix(".def"))
        finally:
            self._own.vt_copy_callbacks_free(callbacks)
        self._own.vt_copy_locations(
            self._copy, self.ids.ctypes.data, self.numbers.ctypes.data, self._events.ctypes.data, len(self.ids)
        )

    def _check(self, failed: int) -> None:
        file = self._reader.anchor.with_suffix(".def")
        if failed == abi.NO_MEMORY:
            raise MemoryError
        if failed == abi.LARGE_ID:
            raise FormatError(f"{file}: a definition has a number above 2**26", "the file is damaged")
        if failed == abi.UNKNOWN_DEFINITION:
            raise FormatError(f"{file} has definitions that this OTF2 cannot copy", "pip install -U otf2")
        if failed == abi.INTERCOMM:
            raise VtraceError(
                f"{file}: an inter-communicator would lose ranks", "select all ranks of both of its groups"
            )

    def passes(self) -> int:
        """The number of passes over the events."""
        return 1 if self.whole else 2

    def prepare(self, advance: Advance, dropped_properties: Iterable[str] = ()) -> None:
        """The first pass: finds what stays. dropped_properties: names of properties of locations that do not stay.

        Raises FormatError for damage.
        """
        if self.whole:
            return
        strings = {text: number for number, text in self.trace.definitions.strings.items()}
        for name in dropped_properties:
            if name in strings:
                self._own.vt_copy_drop_property(self._copy, strings[name])
        found: dict[int, Array] = {}
        edges: dict[int, Array] = {}
        for row in self.part.locations:
            with self._pass(row, None) as fields:
                self._visit(row, fields, advance)
                found[row] = view(fields.events, fields.nevents, abi.EVENT).copy()
                edges[row] = view(fields.edges, fields.nedges, np.uint64).copy()
        facts = PairedEvents.of(self.trace, found, (self.part.start, self.part.stop))
        verdicts = Verdicts(facts)
        changed = verdicts.kept != facts.rows["inside"].astype(bool)
        for row in self.part.locations:
            own = facts.rows["ordinal"][changed & (facts.location == row)]
            self._listed[row] = np.sort(np.concatenate([own, edges[row]]).astype(np.uint64))
        at, counts = np.unique(facts.location[verdicts.halves], return_counts=True)
        self.result.halves = dict(zip(at.tolist(), counts.tolist(), strict=True))
        self._mark(facts.rows[verdicts.kept])
        self._check(self._own.vt_copy_close(self._copy))

    def _mark(self, rows: Array) -> None:
        """Marks the definitions that events with counterparts refer to."""
        for kind in abi.copied_events().values():
            for use, column in (("REF", "ref"), ("OTHER", "id")):
                for value in kind.values:
                    if value.use == use and kind.paired:
                        ids = np.ascontiguousarray(rows[column][rows["kind"] == kind.number], np.uint32)
                        number = abi.definition_kinds()[value.kind]
                        self._own.vt_copy_mark_all(self._copy, number, ids.ctypes.data, len(ids))

    @contextmanager
    def _pass(self, row: int, writer: int | None) -> Iterator[Any]:
        """A pass over a location: a RewriteFields. writer: address of an OTF2_EvtWriter; None: the first pass."""
        pointer = self._own.vt_rewrite_new(self._copy)
        if not pointer:
            raise MemoryError
        fields, listed = pointer.contents, self._listed.get(row, np.empty(0, np.uint64))
        fields.from_, fields.to, fields.whole = self.part.start, self.part.stop, int(self.whole)
        fields.writer, fields.listed, fields.nlisted = writer, listed.ctypes.data, len(listed)
        if self.part.regions is not None:
            fields.regions, fields.nregions = self.part.regions.ctypes.data, len(self.part.regions)
        if self.part.contexts is not None:
            fields.contexts, fields.ncontexts = self.part.contexts.ctypes.data, len(self.part.contexts)
        fields.metrics, fields.nmetrics = self._metrics.ctypes.data, len(self._metrics)
        if self.part.selects_path is not None:
            fields.ask = ctypes.cast(self._ask, ctypes.c_void_p)
        try:
            yield fields
        finally:
            self._own.vt_rewrite_free(pointer)

    def _path(self, parent: int, region: int) -> int:
        """The number of a call path, times two, plus 1 if the path is selected."""
        assert self.part.selects_path
        text = " > ".join(filter(None, (self._paths[parent], str(self._names.get(region, "")))))
        self._paths.append(text)
        return (len(self._paths) - 1) * 2 + self.part.selects_path(text)

    def _visit(self, row: int, fields: Any, advance: Advance) -> None:
        """Passes the events of a location to the callbacks."""
        number = int(self.trace.locations["id"][row])
        expected = int(self.trace.locations["events"][row])
        finished = self._reader.visit_events(
            number, self._callbacks, user=ctypes.addressof(fields), expected=expected, advance=advance
        )
        path = self._reader.path(number)
        if fields.out_of_room:
            raise MemoryError
        if fields.unknown:
            raise FormatError(f"{path} has events that this OTF2 cannot copy", "pip install -U otf2")
        if fields.code:
            raise kernel.otf2_error(str(path), "copy an event", fields.code, kernel.complaint()[1])
        if not finished and not fields.ended:
            raise FormatError(f"{path} cannot be read to its end", "is the archive whole?")
        self._own.vt_rewrite_end(ctypes.addressof(fields))

    def write(self, archive: Archive, advance: Advance) -> None:
        """The second pass: writes the events. Raises VtraceError."""
        kinds = {kind.number: name for name, kind in abi.copied_events().items()}
        for at, row in enumerate(self.part.locations):
            with archive.event_writer(int(self.numbers[at])) as writer, self._pass(row, writer) as fields:
                self._visit(row, fields, advance)
                self._events[at] = self.result.by_location[row] = fields.written
                self.result.early += fields.early
                self.result.stray += fields.stray
                for number, count in enumerate(fields.counts):
                    if count:
                        name = kinds[number]
                        self.result.events[name] = self.result.events.get(name, 0) + count

    def write_definitions(self, writer: int, clock: Sequence[int]) -> int:
        """Writes the definitions with an OTF2_GlobalDefWriter (its address). clock: ticks a second, first tick, number
        of ticks, real time. Returns OTF2's error code; -1: no memory."""
        return int(self._own.vt_copy_write(self._copy, writer, (ctypes.c_uint64 * 4)(*clock)))

    def records(self) -> Iterator[tuple[str, Sequence[int]]]:
        """The name and the values of each definition, in order."""
        count = ctypes.c_uint64()
        address = self._own.vt_copy_words(self._copy, count)
        words = view(address, count.value, np.uint64).tolist()
        shapes = [(name, len(values)) for name, values in abi.records().items()]
        at = 0
        while at < len(words):
            name, size = shapes[words[at + 1]]
            yield name, words[at + 2 : at + 2 + size]
            at += words[at]

    def replace_texts(self, texts: Mapping[int, str], dropped: Iterable[int]) -> None:
        """Gives all strings, by their ids, other texts in the copy, which has no properties with the names dropped,
        or with a name that has no text."""
        count = max(texts, default=-1) + 1
        self._texts = (ctypes.c_char_p * count)(*[b""] * count)
        for number, text in texts.items():
            self._texts[number] = text.encode(errors="replace")
        self._dropped = np.zeros(count, np.uint8)
        self._dropped[[number for number in dropped if number < count]] = 1
        self._own.vt_copy_texts(self._copy, self._texts, self._dropped.ctypes.data, count)

    def number(self, kind: str, number: int) -> int | None:
        """The number of a definition in the copy; None: it does not stay."""
        found = int(self._own.vt_copy_number(self._copy, abi.definition_kinds()[kind], number))
        return None if found == 2**32 - 1 else found

    def chunk(self) -> int:
        """The bytes of a chunk into which the largest definition fits. Raises VtraceError."""
        members = self.trace.comm_groups["count"].max(initial=0)
        texts = max((len(text.encode()) for text in self.trace.definitions.strings.values()), default=0)
        size = DEFINITION_CHUNK
        while size < max(int(members) * _MEMBER_BYTES, texts) + 4096:
            size *= 2
        if size > DEFINITION_CHUNK_MAX:
            raise VtraceError(f"{self.trace.anchor.with_suffix('.def')}: a definition is too large for OTF2")
        return size


def _kept_metrics(trace: Source) -> Array:
    """uint8 by OTF2's ids of metric classes: those with counters, and those of sections."""
    definitions, members = trace.definitions, trace.metric_members
    known, rows = definitions.ids["metric_classes"].pairs
    counts = np.append([is_count(mode) for mode in members["mode"].tolist()], False).astype(bool)
    sections = np.append(members["unit"] == SECTION_UNIT, False)
    of = definitions.ids["metric_members"].rows(definitions.members)
    chosen = np.zeros(len(known), np.uint8)
    for place, row in enumerate(rows.tolist()):
        first, count = (int(trace.metric_classes[name][row]) for name in ("offset", "count"))
        mine = of[first : first + count]
        chosen[place] = abi.SECTION if sections[mine].any() else abi.COUNTER if counts[mine].any() else 0
    return by_id(known.astype(np.int64), chosen)
