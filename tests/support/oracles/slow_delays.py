# SPDX-License-Identifier: BSD-3-Clause
"""Root causes of waits, computed from all events at once: for archives whose ranks have one location each."""

from __future__ import annotations

from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from typing import Any

from support.oracles.slow_waits import MpiCall, Waits

Path = tuple[str, ...]
Cause = tuple[int, Path, str, Path]
"""The location and call path of a cause, and the kind and call path of the waits."""
ALL_WITH_ALL = {"BARRIER", "ALLGATHER", "ALLTOALL", "ALLREDUCE", "REDUCE_SCATTER"}


class Delays:
    """The causes of the waits of a trace (docs/diagnose.md, "Root causes of waits")."""

    def __init__(self, waits: Waits) -> None:
        self.waits = waits
        self.number = {call: n for calls in waits.calls.values() for n, call in enumerate(calls)}
        self.of: dict[MpiCall, tuple[str, MpiCall, int]] = {}
        """By call: the kind of its wait, the partner's call, and the ns of the wait."""
        for calls in waits.calls.values():
            for call in calls:
                for kind, other, begin, end in waits._of_call(call, []):
                    if other is not None and kind != "mpi_latereceiver":
                        self.of[call] = kind, other, end - begin
        self.times = {location: self._times(location) for location in waits.calls}
        self.meetings = self._meetings()

    def _times(self, location: int) -> list[Counter[Path]]:
        """By number of a call: the times of call paths from its start to the start of the next call; the first entry is
        the time before all calls."""
        found: list[Counter[Path]] = [Counter()]
        stack: list[str] = []
        depth = before = 0
        for place, event in enumerate(self.waits.trace.of(location)):
            time = event.time - self.waits.trace.offset
            if place:
                found[-1][tuple(stack[: depth or None])] += time - before
            before = time
            if event.kind == "Enter":
                region = self.waits.trace.regions[event.attrs["region"]]
                stack.append(region.name)
                if not depth and region.paradigm == "MPI":
                    depth = len(stack)
                    found.append(Counter())
            elif event.kind == "Leave":
                stack.pop()
                depth = depth if len(stack) >= depth else 0
        return found

    def _meetings(self) -> dict[tuple[int, int], list[tuple[int, int, bool]]]:
        """By pair of locations: the calls in which the two met, and True if the first location is the sender."""
        found: dict[tuple[int, int], list[tuple[int, int, bool]]] = defaultdict(list)
        ends: dict[int, list[tuple[MpiCall, Any]]] = defaultdict(list)
        for calls in self.waits.calls.values():
            for call in calls:
                for step in call.steps:
                    if step.kind == "receive" and step.of and step.of.match:
                        sender = step.of.match.call
                        sent, received = self.number[sender], self.number[call]
                        found[sender.location, call.location].append((sent, received, True))
                        found[call.location, sender.location].append((received, sent, False))
                    if step.kind == "end" and step.of and step.of.op in ALL_WITH_ALL:
                        ends[id(step.of.group)].append((call, step.of))
        for members in ends.values():
            for one, _ in members:
                for other, _ in members:
                    if one is not other:
                        pair = one.location, other.location
                        found[pair].append((self.number[one], self.number[other], False))
        return found

    def _met(self, call: MpiCall, other: MpiCall) -> tuple[int, int]:
        """The calls of a waiting process and of its partner after which times are compared; -1: the start."""
        number, limit = self.number[call], self.number[other]
        before = [
            (own, theirs)
            for own, theirs, sends in self.meetings[call.location, other.location]
            if theirs < limit and (own < number or (sends and own == number))
        ]
        return max(before, default=(-1, -1))

    def _between(self, location: int, met: int, number: int) -> Counter[Path]:
        """The times of call paths between two calls, without both calls."""
        found = Counter(self.times[location][0]) if met < 0 else Counter()
        for at in range(max(met, 0), number):
            call = self.waits.calls[location][at]
            for path, ns in self.times[location][at + 1].items():
                if at != met or path != call.path:
                    found[path] += ns
        return found

    def _passed(self, call: MpiCall) -> tuple[Counter[Path], dict[MpiCall, float]]:
        """The additional time of a waiting call's partner in each call path, and the parts of the wait that the
        partner's earlier waits caused."""
        _, other, _ = self.of[call]
        own_met, met = self._met(call, other)
        more = self._between(other.location, met, self.number[other])
        more.subtract(self._between(call.location, own_met, self.number[call]))
        waited: list[Counter[MpiCall]] = []
        for one, since, sign in ((other, met, -1), (call, own_met, 1)):
            waited.append(Counter())
            for at in self.waits.calls[one.location][since + 1 : self.number[one]]:
                if at in self.of:
                    waited[-1][at] = self.of[at][2]
                    more[at.path] += sign * self.of[at][2]
        through = max(0, waited[0].total() - waited[1].total())
        more = Counter({path: ns for path, ns in more.items() if ns > 0})
        share = through / max(1, through + more.total())
        return more, {at: share * ns / waited[0].total() for at, ns in waited[0].items() if through}

    def causes(self) -> dict[Cause, tuple[float, float, int, int]]:
        """Direct and indirect ns, the partner's additional time (ns), and the number of waits."""
        passed = {call: self._passed(call) for call in self.of}
        later: dict[MpiCall, set[MpiCall]] = {call: set() for call in self.of}
        for call, (_, parts) in passed.items():
            for at in parts:
                later[at].add(call)
        costs: Counter[MpiCall] = Counter()
        found: dict[Cause, list[Any]] = defaultdict(lambda: [0.0, 0.0, 0, 0])
        for call in TopologicalSorter(later).static_order():
            kind, other, own = self.of[call]
            more, parts = passed[call]
            left = 1 - sum(parts.values())
            for path, ns in more.items() or [(other.path, 0)] * (not parts):
                share = left * ns / more.total() if more else 1.0
                entry = found[other.location, path, kind, call.path]
                entry[0] += share * own
                entry[1] += share * costs[call]
                entry[2] += ns
                entry[3] += 1
            for at, part in parts.items():
                costs[at] += part * (own + costs[call])
        return {cause: (entry[0], entry[1], entry[2], entry[3]) for cause, entry in found.items()}
