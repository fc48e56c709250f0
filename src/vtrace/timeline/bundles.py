# SPDX-License-Identifier: BSD-3-Clause
"""Messages as bundles: their number and bytes by pair of groups of processes and bin of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import are, known_bytes, number
from vtrace.analysis.questions.messages import SENDS
from vtrace.analysis.questions.sums import Sums
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, joined
from vtrace.io.archive.batches import Batch
from vtrace.io.archive.reader_abi import DETAIL, LATEST
from vtrace.io.sidecar import SidecarTable

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.tile_file import TileFile

_BINS, _GROUPS = 512, 64
"""Bins, and groups of processes, at most: of more processes neighbours are a group."""


def bundle_level(trace: Source) -> int:
    """The level of the bins: they are 2^level ns wide."""
    return max(0, (max(trace.duration, 1) // _BINS).bit_length())


def bundle_groups(trace: Source) -> Array:
    """(processes,) the group of each process (row of trace.processes), ascending."""
    processes = trace.processes.rows
    return np.arange(processes) * min(processes, _GROUPS) // max(processes, 1)


def bundle_table(found: Table) -> SidecarTable:
    """The bundles as a table of the sidecar."""
    kinds = {"bin": np.uint16, "sender": np.uint8, "receiver": np.uint8, "count": np.int64, "bytes": np.int64}
    return SidecarTable({name: found[name].astype(kind) for name, kind in kinds.items()})


def bundles_of(trace: Source, tiles: TileFile, start: int, stop: int) -> Table:
    """The bundles of the bins that touch [start, stop), ns: begin, end (of the bin), sender, receiver, count, bytes."""
    columns, level = tiles.bundles.columns, bundle_level(trace)
    first, last = np.searchsorted(columns["bin"], [max(start, 0) >> level, (max(stop - 1, 0) >> level) + 1])
    found = {name: column[first:last].astype(np.int64) for name, column in columns.items()}
    begin = found.pop("bin") << level
    return Table({"begin": begin, "end": begin + (1 << level)} | found)


class _BundlePart(Part):
    def __init__(self, owner: Bundles, location: int) -> None:
        self._owner, self._location = owner, location

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        kinds = batch.detailed()
        if any(kinds[number(kind)] for kind in SENDS):
            found = batch.details.compress(are(batch.details["kind"], *SENDS))
            self._owner.sums.add(len(found), (self._location, found, batch.time[found["row"]]))


class Bundles(Question[_BundlePart, Table]):
    """The sends of an archive: bin, sender, receiver (groups of bundle_groups), count, bytes; ascending by bin. A send
    before the start is in bin 0, one after the end in the last bin."""

    kinds = frozenset(SENDS)

    def __init__(self) -> None:
        super().__init__()
        self.sums = Sums(("bin", "sender", "receiver"), ("count", "bytes"), self._columns)

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self._level = bundle_level(trace)
        groups = np.append(bundle_groups(trace), -1)
        self._group = np.append(groups[trace.places.process], -1)  # of locations; -1: no process

    def part(self, trace: Source, location: int) -> _BundlePart:
        return _BundlePart(self, location)

    def _columns(self, pieces: list[tuple[int, Array, Array]]) -> dict[str, Array]:
        location = np.repeat([place for place, _, _ in pieces], [len(found) for _, found, _ in pieces])
        found = joined([each for _, each, _ in pieces], DETAIL)
        time = joined([each for _, _, each in pieces], np.int64)
        comm = self.trace.definitions.ids["comms"].rows(found["ref"])
        return {
            "bin": np.clip(time, 0, min(self.trace.duration, LATEST)) >> self._level, "sender": self._group[location],
            "receiver": self._group[self.trace.places.locate(comm, found["words"][:, 0], location)],
            "count": np.ones(len(found), np.int64), "bytes": known_bytes(found["words"][:, 2])[0],
        }  # fmt: skip

    def answer(self) -> Table:
        found = self.sums.table()
        return found.take((found["sender"] >= 0) & (found["receiver"] >= 0))
