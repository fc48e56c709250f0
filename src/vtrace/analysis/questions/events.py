# SPDX-License-Identifier: BSD-3-Clause
"""Events as columns, and as a table with pipit's names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, pandas, texts
from vtrace.io.archive.batches import Batch
from vtrace.io.archive.reader_abi import event_kinds

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["NO_VALUE"]

NO_VALUE = np.iinfo(np.int64).min
"""Value of Trace.events' columns for kinds of events without such a value."""
REFERENCES = {
    "region": "regions", "comm": "comms", "metric": "metric_classes", "handle": "io_handles", "win": "windows",
    "file": "files", "parameter": "parameters",
}  # fmt: skip
"""The kind of definition that `ref` of an event names -> its table."""


class _EventsPart(Part):
    def __init__(self, attributes: bool) -> None:
        self.attributes = attributes
        self.found: list[tuple[Array, Array, Array, Array, Array]] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        attributes = batch.attributes if self.attributes else batch.attributes[:0]
        columns = batch.time, batch.kind, batch.ref, batch.details, attributes
        self.found.append(tuple(column.copy() for column in columns))  # type: ignore[arg-type]


class Events(Question[_EventsPart, Table]):
    """Answers Trace.events."""

    def __init__(self, kinds: Collection[str] | None, attributes: bool) -> None:
        super().__init__()
        self.kinds = frozenset(event_kinds() if kinds is None else kinds)
        self.attributes = attributes

    def part(self, trace: Source, location: int) -> _EventsPart:
        return _EventsPart(self.attributes)

    def answer(self) -> Table:
        found = [(row, each) for row, part in self.parts.items() for each in part.found]
        columns = EventColumns(self.trace, sum(len(each[0]) for _, each in found))
        for location, each in found:
            columns.add(location, *each)
        order = np.lexsort((np.arange(columns.rows), columns.found["time"]))
        return Table({name: column[order] for name, column in columns.found.items()}, kinds=tuple(event_kinds()))


class EventColumns:
    """The values of events as columns, with the names of Trace.events."""

    def __init__(self, trace: Source, rows: int) -> None:
        """rows: the number of events that will be added."""
        self.trace, self.rows, self.at = trace, rows, 0
        self.found: dict[str, Array] = {
            "time": np.empty(rows, np.int64), "location": np.empty(rows, np.int32), "kind": np.empty(rows, np.uint8)
        }  # fmt: skip

    def values(self, name: str) -> Array:
        if name not in self.found:
            self.found[name] = np.full(self.rows, NO_VALUE, np.int64)
        return self.found[name]

    def add(self, location: int, time: Array, kind: Array, ref: Array, details: Array, attributes: Array) -> None:  # noqa: PLR0917
        """The next events, all of one location."""
        here = slice(self.at, self.at + len(time))
        self.found["time"][here], self.found["location"][here], self.found["kind"][here] = time, location, kind
        counts = np.bincount(kind, minlength=256)
        for number, what, words in event_kinds().values():
            if not counts[number]:
                continue
            rows = np.flatnonzero(kind == number)
            if what:
                refs = ref[rows]
                self.values(what)[self.at + rows] = (
                    self.trace.definitions.ids[REFERENCES[what]].rows(refs) if what in REFERENCES else refs
                )
            chosen = details[details["kind"] == number]
            for place, word in enumerate(words):
                self.values(word)[self.at + chosen["row"]] = chosen["words"][:, place].view(np.int64)
        for attribute in np.unique(attributes["attribute"]).tolist():
            chosen = attributes[attributes["attribute"] == attribute]
            row = int(self.trace.definitions.ids["attributes"].rows(np.array([attribute]))[0])
            name = str(self.trace.attributes["name"][row]) if row >= 0 else f"attribute {attribute}"
            self.values(f"@{name}")[self.at + chosen["row"]] = chosen["value"].view(np.int64)
        self.at += len(time)


_TYPES = {"Enter": "Enter", "Leave": "Leave"}


def frame(trace: Source, table: Mapping[str, Array]) -> Any:
    """The events as a pandas.DataFrame with pipit's columns; see Trace.frame."""
    kinds = list(event_kinds())
    names = texts(kinds)[table["kind"]]
    calls = np.isin(names, list(_TYPES))
    regions = table["region"] if "region" in table else np.full(len(names), -1)
    shown = np.where(calls, trace.regions["name"][np.where(calls, regions, -1)], names)
    types = np.where(calls, names, "Instant")
    process = trace.places.process[table["location"]]
    first = _first_of_process(trace)
    columns = {
        "Timestamp (ns)": table["time"].astype(np.float64), "Event Type": types, "Name": shown, "Process": process,
        "Thread": table["location"] - first[table["location"]],
    }  # fmt: skip
    for name, column in table.items():
        if name not in ("time", "kind", "location", "region"):
            columns[name] = np.where(column == NO_VALUE, np.nan, column.astype(np.float64))
    return pandas().DataFrame(columns)


def _first_of_process(trace: Source) -> Array:
    """(locations,) the first row of locations in the same process."""
    groups = trace.locations["group"]
    first: dict[int, int] = {}
    for row, group in enumerate(groups.tolist()):
        first.setdefault(group, row)
    return np.array([first[group] for group in groups.tolist()], np.int64)
