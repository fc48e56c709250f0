# SPDX-License-Identifier: BSD-3-Clause
"""Bytes read and written over time."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, present
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, stack
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

READ, WRITE = 0, 1
"""OTF2's modes of operations whose bytes count."""
_COLUMNS = dict.fromkeys("location time paradigm mode bytes".split(), np.int64)


class _MovedPart(Part):
    def __init__(self, owner: Moved, location: int) -> None:
        self.owner, self.location = owner, location
        self.modes: dict[tuple[int, int], deque[int]] = defaultdict(deque)
        """The modes of operations in progress, by handle and matching id; tools may use an id again."""
        self.sums: dict[tuple[int, int], int] = {}
        self.found: list[dict[str, Array]] = []
        self.rows, self.every = 0, 1

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        found = dict(present(batch, "IoOperationBegin", "IoOperationComplete"))
        if "IoOperationBegin" in found:
            begins = found["IoOperationBegin"]
            keys = zip(begins["ref"].tolist(), begins["matching"].tolist(), strict=True)
            for key, mode in zip(keys, begins["mode"].tolist(), strict=True):
                self.modes[key].append(mode)
        if "IoOperationComplete" in found:
            self.add(found["IoOperationComplete"])

    def add(self, ends: dict[str, Array]) -> None:
        keys = zip(ends["ref"].tolist(), ends["matching"].tolist(), strict=True)
        begun = (self.modes[key] for key in keys)
        modes = np.array([each.popleft() if each else -1 for each in begun], np.int64)
        paradigms = self.owner.paradigms(ends["ref"])
        for paradigm, mode in {*zip(paradigms.tolist(), modes.tolist(), strict=True)}:
            if mode in (READ, WRITE):
                rows = (paradigms == paradigm) & (modes == mode)
                sizes = ends["bytes"][rows]
                known = known_bytes(sizes)[0]
                self.curve(paradigm, mode, ends["time"][rows], known)
        if self.rows > self.owner.most:  # values are sums: keeping every second one preserves the totals
            self.every *= 2
            self.found = [{name: column[::2] for name, column in part.items()} for part in self.found]
            self.rows = sum(len(part["time"]) for part in self.found)

    def curve(self, paradigm: int, mode: int, times: Array, sizes: Array) -> None:
        sums = np.cumsum(sizes) + self.sums.get((paradigm, mode), 0)
        self.sums[paradigm, mode] = int(sums[-1])
        chosen = np.arange(len(sums) - 1, -1, -self.every)[::-1]
        same = {"location": self.location, "paradigm": paradigm, "mode": mode}
        columns = {name: np.full(len(chosen), value) for name, value in same.items()}
        self.found.append(columns | {"time": times[chosen], "bytes": sums[chosen]})
        self.rows += len(chosen)


class Moved(Question[_MovedPart, Table]):
    """Answers with the bytes read and written so far on each location, by the paradigm of the handle.

    The paradigms must not be added up: a file call of MPI may make one of POSIX.
    """

    kinds = frozenset({"IoOperationBegin", "IoOperationComplete"})

    def __init__(self, trace: Source, most: int) -> None:
        """most: values to keep of a location; if there are more, every second value is left out."""
        super().__init__()
        self.most = most
        self._handles = trace.definitions.ids["io_handles"]
        self._paradigm = np.append(trace.io_handles["paradigm"], -1)

    def paradigms(self, handles: Array) -> Array:
        """Returns the paradigms of handles: rows of io_paradigms."""
        found: Array = self._paradigm[self._handles.rows(handles)]
        return found

    def part(self, trace: Source, location: int) -> _MovedPart:
        return _MovedPart(self, location)

    def answer(self) -> Table:
        """location, time, paradigm, mode, bytes."""
        parts = [each for part in self.parts.values() for each in part.found]
        return stack([{name: each[name] for name in _COLUMNS} for each in parts], _COLUMNS)
