# SPDX-License-Identifier: BSD-3-Clause
"""One-sided communication: operations by window and target, and the time in synchronization by its kind. The copies of
devices, which Score-P and vtrace write as one-sided communication, too, are not part of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import _otf2
import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import known_bytes, number
from vtrace.analysis.questions.sums import Sums
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, add_up, group, joined
from vtrace.io.archive.batches import Batch
from vtrace.io.archive.reader_abi import DETAIL
from vtrace.io.common.enumerations import names_of

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["operation_name"]

_KINDS = ("RmaPut", "RmaGet", "RmaAtomic")
_PUT, _GET, _ATOMIC = range(3)
SUMS = ("calls", "sent", "received", "unknown")
SYNCHRONIZATION = {
    "fence": re.compile(r"win_fence"), "PSCW": re.compile(r"win_(post|start|complete|wait|test)"),
    "lock": re.compile(r"win_(un)?lock(_all)?"), "flush": re.compile(r"win_flush(_local)?(_all)?"),
    "sync": re.compile(r"win_sync"),
    "window": re.compile(r"win_(create(_dynamic)?|allocate(_shared)?|free|attach|detach)"),
}  # fmt: skip
"""Kinds of synchronization, and MPI's functions of each kind. window: creating and freeing windows."""


def operation_name(operation: int) -> str:
    """The name of a value of the column operation: PUT, GET, or OTF2's name of an atomic operation (ACCUMULATE ...)."""
    if operation < _ATOMIC:
        return ("PUT", "GET")[operation]
    return str(names_of(_otf2.RmaAtomicType).get(operation - _ATOMIC, operation - _ATOMIC))


class _RmaPart(Part):
    def __init__(self, sums: Sums, location: int, *, counts: bool) -> None:
        self.sums, self.location, self.counts = sums, location, counts

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        wanted = self.counts & np.isin(batch.details["kind"], [number(kind) for kind in _KINDS])
        if np.any(wanted):
            found = batch.details.compress(wanted)
            self.sums.add(len(found), (self.location, found))


class Rma(Question[_RmaPart, Table]):
    """Answers Trace.rma."""

    kinds = frozenset(_KINDS)

    def __init__(self) -> None:
        super().__init__()
        self._sums = Sums(("location", "window", "target", "operation"), SUMS, self._columns)

    def part(self, trace: Source, location: int) -> _RmaPart:
        return _RmaPart(self._sums, location, counts=not trace.locations["device"][location])

    def _columns(self, pieces: list[tuple[int, Array]]) -> dict[str, Array]:
        """Columns of pieces. The details of all kinds begin with the target's rank. Put and get have bytes next; atomic
        operations have type, bytes sent and bytes received."""
        trace = self.trace
        location = np.repeat([place for place, _ in pieces], [len(found) for _, found in pieces])
        found = joined([each for _, each in pieces], DETAIL)
        words, kind = found["words"], found["kind"]
        put, get, atomic = (kind == number(name) for name in _KINDS)
        window = trace.definitions.ids["windows"].rows(found["ref"])
        target = trace.places.locate(np.append(trace.windows["comm"], -1)[window], words[:, 0], location)
        sent, sent_unknown = known_bytes(np.where(atomic, words[:, 2], np.where(put, words[:, 1], np.uint64(0))))
        received, received_unknown = known_bytes(
            np.where(atomic, words[:, 3], np.where(get, words[:, 1], np.uint64(0)))
        )
        return {
            "location": location, "window": window, "target": np.where(target < 0, -1, trace.places.process[target]),
            "operation": np.where(atomic, _ATOMIC + words[:, 1].astype(np.int64), np.where(get, _GET, _PUT)),
            "calls": np.ones(len(found), np.int64), "sent": sent, "received": received,
            "unknown": (sent_unknown | received_unknown).astype(np.int64),
        }  # fmt: skip

    def answer(self) -> Table:
        return self._sums.table()


def synchronization(trace: Source, profile: Table) -> Table:
    """Rows (location, kind): calls, ns of all calls, from a profile. kind: place in .kinds, the keys of
    SYNCHRONIZATION."""
    names = [re.sub(r"^mpi_|_(c|f08|f08ts)?_*$", "", name.lower()) for name in trace.regions["name"].tolist()]
    kinds = list(SYNCHRONIZATION)
    kind_of = np.array(
        [next((i for i, k in enumerate(kinds) if SYNCHRONIZATION[k].fullmatch(name)), -1) for name in names], np.int64
    )
    kind_of[trace.regions["activity"] != trace.regions.activities.index("mpi/rma")] = -1
    kind = kind_of[profile["region"]]
    rows = profile.take(kind >= 0)
    first, member = group([rows["location"], kind[kind >= 0]])
    sums = {"calls": add_up(member, rows["calls"], len(first)), "ns": add_up(member, rows["total"], len(first))}
    return Table({"location": rows["location"][first], "kind": kind[kind >= 0][first], **sums}, kinds=tuple(kinds))
