# SPDX-License-Identifier: BSD-3-Clause
"""Links between calls: from the call that enqueues a command to the command on its stream, and the flows of other
tools. Calls with the same value of an attribute belong together (docs/devices.md, docs/import.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import number
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table
from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

COMMAND, FLOW = "DEVICE_COMMAND", "FLOW"
"""The attributes of a command of a device, numbered by process, and of a flow, numbered in the archive."""
_END = np.dtype([("flow", "?"), ("process", "i8"), ("key", "u8"), ("stream", "?"), ("time", "i8"), ("location", "i8")])
"""A call with one of the attributes."""


class _LinkPart(Part):
    def __init__(self, owner: Links, location: int) -> None:
        self._owner, self._location = owner, location

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        rows = batch.attributes[np.isin(batch.attributes["attribute"], self._owner.ids)]
        rows = rows[batch.kind[rows["row"]] == number("Enter")]
        if not len(rows):
            return
        found, places = np.empty(len(rows), _END), self._owner.trace.places
        found["flow"] = rows["attribute"] == self._owner.ids[1]
        found["process"] = np.where(found["flow"], -1, places.process[self._location])
        found["key"], found["time"], found["location"] = rows["value"], batch.time[rows["row"]], self._location
        found["stream"] = self._owner.trace.locations["device"][self._location] & ~found["flow"]
        self._owner.found.append(found)


class Links(Question[_LinkPart, Table]):
    """The links, by begin: sender, receiver (rows of locations), send, receive (ns: the begins of both calls), tag (the
    value of the attribute). A flow of several calls has a link from each to the next."""

    replay = True  # it turns calls with calling contexts into plain ones
    attributes = True

    def __init__(self, most: int) -> None:
        """most: links of more calls are left out."""
        super().__init__()
        self._most = most

    @staticmethod
    def are_in(trace: Source) -> bool:
        """True if calls of a trace may have links."""
        return bool(np.isin([COMMAND, FLOW], trace.attributes["name"].astype(str)).any())

    def begin(self, trace: Source, start: int, stop: int) -> None:
        super().begin(trace, start, stop)
        self.found: list[Array] = []
        known = dict(zip(trace.attributes["name"].tolist(), trace.attributes["id"].tolist(), strict=True))
        self.ids = [known.get(name, -1) for name in (COMMAND, FLOW)]

    def part(self, trace: Source, location: int) -> _LinkPart:
        return _LinkPart(self, location)

    def answer(self) -> Table:
        ends = np.concatenate([np.empty(0, _END), *self.found])
        ends = ends if len(ends) <= self._most else ends[:0]
        ends = ends[np.lexsort([ends[name] for name in ("time", "stream", "key", "process", "flow")])]
        same = np.append(
            False, np.all([ends[name][1:] == ends[name][:-1] for name in ("flow", "process", "key")], axis=0)
        )
        # A command's call precedes all its activities; the first of them is the call.
        first = np.maximum.accumulate(np.where(same, 0, np.arange(len(ends))))
        chosen = np.flatnonzero(same & (ends["flow"] | (ends["stream"] & ~ends["stream"][first])))
        sender, receiver = ends[np.where(ends["flow"][chosen], chosen - 1, first[chosen])], ends[chosen]
        found = Table({
            "sender": sender["location"], "receiver": receiver["location"], "send": sender["time"],
            "receive": receiver["time"], "tag": receiver["key"].astype(np.int64),
        })  # fmt: skip
        return found.order("send", descending=False)
