# SPDX-License-Identifier: BSD-3-Clause
"""Accesses to files: their sizes, and how many continue where the access before them ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import LAYERS
from vtrace.analysis.question import Question
from vtrace.analysis.questions.details import known_bytes, present
from vtrace.analysis.questions.io_files import Io, IoPart, IoSystem
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 1_000_000_000)
"""Upper ends of the classes of sizes, in bytes, as in Darshan; the last class has no end."""
_MODES = ("read", "write")
_OFFSET = "offset"
"""vtrace's attribute of operations that name their position (pread)."""


class _AccessPart(IoPart):
    """Counts the operations of a location that move bytes, as IoPart finds them."""

    def __init__(self, owner: IoAccesses, trace: Source, location: int) -> None:
        super().__init__(trace, location, owner.system)
        self.sizes = np.zeros((len(LAYERS), len(_MODES), len(SIZES) + 1), np.int64)
        """The accesses by layer, mode and class of size."""
        self.order = np.zeros((len(LAYERS), len(_MODES), 3), np.int64)
        """By layer and mode: accesses, those that continue the one before, those at or after its end."""
        self.position: dict[int, int] = {}
        self.last_end: dict[tuple[int, int], int] = {}
        self.offset = owner.offset
        self.moved: list[Array] = []

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        self.moved = []
        super().batch(batch, replay)
        steps = [(int(t), 0, int(h), 0, int(p)) for t, h, p in self._seeks(batch)]
        given = self._offsets(batch)
        for found in self.moved:
            columns = (found[name].tolist() for name in ("time", "handle", "mode", "bytes", "row"))
            steps += [(t, 1 + m, h, b, given.get(r, -1)) for t, h, m, b, r in zip(*columns, strict=True)]
        steps.sort(key=lambda step: step[0])
        for _, what, handle, size, position in steps:
            if what == 0:
                self.position[handle] = position
            else:
                self._access(handle, what - 1, size, position)

    def _seeks(self, batch: Batch) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = []
        for _, seeks in present(batch, "IoSeek"):
            result = known_bytes(seeks["result"])[0]
            found += zip(seeks["time"].tolist(), seeks["ref"].tolist(), result.tolist(), strict=True)
        return found

    def _offsets(self, batch: Batch) -> dict[int, int]:
        """By row of the batch, the offsets that operations name."""
        if self.offset is None:
            return {}
        rows = batch.attributes[batch.attributes["attribute"] == self.offset]
        return dict(zip(rows["row"].tolist(), rows["value"].astype(np.int64).tolist(), strict=True))

    def _access(self, handle: int, mode: int, size: int, named: int) -> None:
        """Counts an access. named: its position, -1: the handle's own."""
        begin = self.position.get(handle, 0) if named < 0 else named
        if named < 0:
            self.position[handle] = begin + size
        last = self.last_end.get((handle, mode), 0)
        self.last_end[handle, mode] = begin + size
        layer = int(self.layers[self.ids.rows(np.array([handle], np.uint64))[0]])
        self.order[layer, mode] += (1, begin == last, begin >= last)

    def finish(self, begins: Array, ends: Array) -> None:
        super().finish(begins, ends)
        sizes, unknown = known_bytes(ends["value"])
        kept = (ends["kind"] == 1) & (begins["value"] < len(_MODES)) & ~unknown
        rows = self.ids.rows(ends["handle"])
        kept &= (np.append(self.files, -1)[rows] >= 0) & (self.inner(ends["handle"], begins["marks"]) == 0)
        found = np.zeros(np.count_nonzero(kept), [(name, "i8") for name in ("time", "handle", "mode", "bytes", "row")])
        found["time"], found["handle"] = begins["time"][kept], ends["handle"][kept]
        found["mode"], found["bytes"], found["row"] = begins["value"][kept], sizes[kept], begins["row"][kept]
        self.moved.append(found)
        layer, size = self.layers[rows[kept]], np.searchsorted(SIZES, found["bytes"], "right")
        np.add.at(self.sizes, (layer, found["mode"], size), 1)


class IoAccesses(Question[_AccessPart, Table]):
    """Rows (location, layer, mode): layer, place in .layers; mode: place in .modes (read, write); accesses, consecutive
    (that start where the previous access of this kind ended), sequential (that start there or later), and size_0,
    size_1 ...: accesses by class of size, see SIZES. Only accesses to files by the outermost layer, without those of
    MPI's library for itself; those without known bytes do not count."""

    replay = True
    attributes = True
    kinds = Io.kinds

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.system = IoSystem(trace)
        names = trace.attributes["name"].tolist()
        self.offset = int(trace.attributes["id"][names.index(_OFFSET)]) if _OFFSET in names else None

    def part(self, trace: Source, location: int) -> _AccessPart:
        return _AccessPart(self, trace, location)

    def answer(self) -> Table:
        rows = [
            (location, layer, mode, *part.order[layer, mode], *part.sizes[layer, mode])
            for location, part in self.parts.items()
            for layer, mode in zip(*np.nonzero(part.order[:, :, 0]), strict=True)
        ]  # fmt: skip
        names = ["location", "layer", "mode", "accesses", "consecutive", "sequential"]
        names += [f"size_{n}" for n in range(len(SIZES) + 1)]
        columns = np.array(rows, np.int64).reshape(len(rows), len(names)).T
        return Table(dict(zip(names, columns, strict=True)), layers=LAYERS, modes=_MODES)
