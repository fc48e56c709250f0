# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations as bands, from the first arrival to the last departure of their locations."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Question
from vtrace.analysis.questions.collectives import CollectiveEnds, end_columns
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import Batch
from vtrace.io.sidecar import SidecarTable

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.tile_file import TileFile

COLUMNS = ("comm", "location", "op", "root", "begin", "last_begin", "first_end", "end", "locations", "sent", "received")
MOST = 1_000_000
"""Bands to keep."""
_LATE = np.iinfo(np.int64).max
_FIRST = {"op": _LATE, "root": _LATE, "begin": _LATE, "first_end": _LATE, "last_begin": -_LATE, "end": -_LATE}
"""The values of a row before its first location; 0 for sums."""


def band_table(found: Table) -> SidecarTable:
    """The bands as a table of the sidecar."""
    return SidecarTable({name: found[name] for name in COLUMNS}, {"left out": [str(found.left_out)]})


def bands_of(tiles: TileFile, start: int, stop: int) -> Table:
    """The bands that touch [start, stop), ns: COLUMNS, by begin. Empty if the archive has more than MOST operations;
    the note left_out is their number."""
    columns = tiles.bands.columns
    last = int(np.searchsorted(columns["begin"], stop))
    rows = np.flatnonzero(columns["end"][:last] >= start)
    left_out = int(tiles.bands.names["left out"][0])
    return Table({name: columns[name][rows] for name in COLUMNS}, left_out=left_out)


class _Bands:
    """The operations of one communicator by their turn: a row for each."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns: dict[str, Array] = {name: np.empty(0, np.int64) for name in COLUMNS[2:]}

    def grow(self, rows: int) -> None:
        room = len(self.columns["op"])
        if rows > room:
            new = max(rows, 2 * room)
            for name, column in self.columns.items():
                self.columns[name] = np.concatenate([column, np.full(new - room, _FIRST.get(name, 0), np.int64)])
        self.rows = max(self.rows, rows)

    def add(self, ends: dict[str, Array]) -> None:
        """Adds the operations of a location, in their order."""
        rows = len(ends["op"])
        self.grow(rows)
        for name, source, join in (
            ("op", "op", np.minimum), ("root", "root", np.minimum), ("begin", "begin", np.minimum),
            ("last_begin", "begin", np.maximum), ("first_end", "end", np.minimum), ("end", "end", np.maximum),
            ("sent", "sent", np.add), ("received", "received", np.add),
        ):  # fmt: skip
            column = self.columns[name][:rows]
            join(column, ends[source], out=column)
        self.columns["locations"][:rows] += 1


class _BandPart(CollectiveEnds):
    def __init__(self, owner: Bands, location: int) -> None:
        super().__init__(location)
        self._owner = owner
        self._found: list[dict[str, Array]] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        if pieces := self.ends(batch):
            columns = end_columns(self._owner.trace, pieces)
            self._found.append(
                {name: columns[name] for name in ("comm", "op", "root", "begin", "end", "sent", "received")}
            )

    def end(self, replay: Replay | None) -> None:
        if self._found:
            self._owner.add(
                self.location, {name: np.concatenate([each[name] for each in self._found]) for name in self._found[0]}
            )
        self._found = []


class Bands(Question[_BandPart, Table]):
    """The collective operations: COLUMNS, by begin. The n-th operation of a location on a communicator is the n-th one
    there. location: that of an operation on a communicator of one process, else -1. If there are more than MOST, the
    table is empty, with the note `left_out`: their number."""

    kinds = _BandPart.kinds

    def __init__(self) -> None:
        super().__init__()
        self._bands: dict[tuple[int, int], _Bands] = {}
        self._lock = Lock()

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self._alone = {comm for comm in range(trace.comms.rows) if trace.places.is_self(comm)}

    def part(self, trace: Source, location: int) -> _BandPart:
        return _BandPart(self, location)

    def add(self, location: int, ends: dict[str, Array]) -> None:
        """Adds all operations of a location."""
        order = np.lexsort((ends["end"], ends["begin"], ends["comm"]))
        comms = ends["comm"][order]
        borders = np.flatnonzero(np.diff(comms, prepend=-2, append=np.iinfo(np.int64).max))
        for first, last in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            rows, comm = order[first:last], int(comms[first])
            key = comm, location if comm in self._alone or comm < 0 else -1
            with self._lock:
                bands = self._bands.setdefault(key, _Bands())
                bands.add({name: column[rows] for name, column in ends.items()})

    def answer(self) -> Table:
        total = sum(bands.rows for bands in self._bands.values())
        kept = sorted(self._bands.items()) if total <= MOST else []
        parts = [
            {"comm": np.full(b.rows, comm), "location": np.full(b.rows, location)}
            | {name: column[: b.rows] for name, column in b.columns.items()}
            for (comm, location), b in kept
        ]
        found = Table(
            {name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)]) for name in COLUMNS},
            left_out=0 if total <= MOST else total,
        )
        return found.take(np.lexsort((found["comm"], found["begin"])))
