# SPDX-License-Identifier: BSD-3-Clause
"""Collective operations as bands, from the first arrival to the last departure of their locations."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Question
from vtrace.analysis.questions.collectives import CollectiveEnds, Piece, end_columns
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
_TOGETHER = 1 << 16
"""Operations of ended locations from which on they are joined."""
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

    def add(self, ends: dict[str, Array], turns: Array) -> None:
        """Adds operations of locations, each with its turn there."""
        self.grow(int(turns.max()) + 1)
        for name, source, join in (
            ("op", "op", np.minimum), ("root", "root", np.minimum), ("begin", "begin", np.minimum),
            ("last_begin", "begin", np.maximum), ("first_end", "end", np.minimum), ("end", "end", np.maximum),
            ("sent", "sent", np.add), ("received", "received", np.add),
        ):  # fmt: skip
            join.at(self.columns[name], turns, ends[source])
        np.add.at(self.columns["locations"], turns, 1)


class _BandPart(CollectiveEnds):
    def __init__(self, owner: Bands, location: int) -> None:
        super().__init__(location)
        self._owner = owner
        self._found: list[Piece] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        self._found += self.ends(batch)

    def end(self, replay: Replay | None) -> None:
        self._owner.add(self._found)
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
        self._waiting: list[Piece] = []
        self._rows = 0

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self._alone = {comm for comm in range(trace.comms.rows) if trace.places.is_self(comm)}

    def part(self, trace: Source, location: int) -> _BandPart:
        return _BandPart(self, location)

    def add(self, pieces: list[Piece]) -> None:
        """Adds all operations of a location."""
        with self._lock:
            self._waiting += pieces
            self._rows += sum(len(piece[1]) for piece in pieces)
            if self._rows > _TOGETHER:
                self._join()

    def _join(self) -> None:
        """Joins the operations of the locations that wait."""
        pieces, self._waiting, self._rows = self._waiting, [], 0
        if not pieces:
            return
        ends = end_columns(self.trace, pieces)
        order = np.lexsort((ends["end"], ends["begin"], ends["location"], ends["comm"]))
        ends = {name: column[order] for name, column in ends.items()}
        comm, location = ends["comm"], ends["location"]
        first = np.flatnonzero((np.diff(comm, prepend=-2) != 0) | (np.diff(location, prepend=-2) != 0))
        turns = np.arange(len(comm)) - np.repeat(first, np.diff(first, append=len(comm)))
        alone = np.isin(comm, list(self._alone)) | (comm < 0)
        own = np.where(alone, location, -1)
        borders = np.flatnonzero((np.diff(comm, prepend=-2) != 0) | (np.diff(own, prepend=-2) != 0))
        for begin, stop in zip(borders.tolist(), [*borders[1:].tolist(), len(comm)], strict=True):
            bands = self._bands.setdefault((int(comm[begin]), int(own[begin])), _Bands())
            bands.add({name: column[begin:stop] for name, column in ends.items()}, turns[begin:stop])

    def answer(self) -> Table:
        self._join()
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
