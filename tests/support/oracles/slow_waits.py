# SPDX-License-Identifier: BSD-3-Clause
"""Wait states, their root causes and ideal times, computed from all events at once: for archives whose ranks have one
location each."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

from support.readers.archive import Trace

WaitKey = tuple[str, tuple[str, ...], int, int]
"""Kind, call path, location, partner (-1: none) of waits."""
Wait = tuple[str, "MpiCall | None", int, int]
"""Kind, the partner's call, start and end."""
Path = tuple[str, ...]
Cause = tuple[int, Path, str, Path]
"""The location and call path of a cause, and the kind and call path of the waits."""
WaitOf = tuple["MpiCall", bool]
"""A call, and True: its wait for a late receiver, False: its wait before."""
ALL_WITH_ALL = {"BARRIER", "ALLGATHER", "ALLTOALL", "ALLREDUCE", "REDUCE_SCATTER"}
FROM_ROOT, TO_ROOT, PREFIX = {"BCAST", "SCATTER", "SCATTERV"}, {"GATHER", "GATHERV", "REDUCE"}, {"SCAN", "EXSCAN"}


@dataclass(eq=False)
class MpiCall:
    """An outermost MPI call. useful: ns outside of MPI before it."""

    location: int
    path: tuple[str, ...]
    enter: int
    useful: int
    leave: int = 0
    steps: list[MpiStep] = field(default_factory=list)


@dataclass(eq=False)
class MpiStep:
    """The parts of a call: send, sent (completion), post, receive, begin, end (of a collective).

    key: of the channel or communicator; of: the step that a sent, receive or end completes; match: the other end of a
    send or post.
    """

    kind: str
    call: MpiCall
    key: Any = None
    of: MpiStep | None = None
    match: MpiStep | None = None
    op: str = ""
    root: int | None = None
    group: list[MpiStep] = field(default_factory=list)
    """For a begin: the begins of all members."""


class Waits:
    """The calls of MPI of a trace, with their messages and collectives."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.calls: dict[int, list[MpiCall]] = {location: [] for location in sorted(trace.locations)}
        self.useful: Counter[int] = Counter()
        for location in self.calls:
            self._read(location)
        self._match()

    # ---- Reading ----

    def _read(self, location: int) -> None:
        stack: list[str] = []
        call: MpiCall | None = None
        depth, now, requests = 0, 0, dict[Any, MpiStep]()
        for place, event in enumerate(self.trace.of(location)):
            time = event.time - self.trace.offset
            if call is None and place:
                self.useful[location] += time - now
            now = time
            if event.kind == "Enter":
                region = self.trace.regions[event.attrs["region"]]
                stack.append(region.name)
                if call is None and region.paradigm == "MPI":
                    call, depth = MpiCall(location, tuple(stack), now, self.useful[location]), len(stack)
                    self.calls[location].append(call)
            elif event.kind == "Leave":
                stack.pop()
                if call and len(stack) < depth:
                    call.leave, call = now, None
            elif call:
                call.steps += self._steps(call, event.kind, event.attrs, requests)

    def _steps(self, call: MpiCall, kind: str, attrs: dict[str, Any], requests: dict[Any, MpiStep]) -> list[MpiStep]:
        request = attrs.get("request_id")
        if kind in ("MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv"):
            comm = attrs["communicator"]
            peer = (self.trace.comms[comm].members or ())[attrs.get("receiver", attrs.get("sender"))]
            if kind in ("MpiSend", "MpiIsend"):
                sent = MpiStep("send", call, (call.location, peer, comm, attrs["msg_tag"]))
                requests["send", request] = sent
                return [sent, MpiStep("sent", call, of=sent)] if kind == "MpiSend" else [sent]
            key = (peer, call.location, comm, attrs["msg_tag"])
            if kind == "MpiRecv":
                post = MpiStep("post", call, key)
                return [post, MpiStep("receive", call, of=post)]
            post = requests.pop(("receive", request))
            post.key = key
            return [MpiStep("receive", call, of=post)]
        if kind == "MpiIsendComplete":
            return [MpiStep("sent", call, of=requests.pop(("send", request)))]
        if kind in ("MpiIrecvRequest", "NonBlockingCollectiveRequest"):
            what = "receive" if kind == "MpiIrecvRequest" else "begin"
            step = requests[what, request] = MpiStep("post" if what == "receive" else "begin", call)
            return [step]
        if kind in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete"):
            blocking = kind == "MpiCollectiveEnd"
            begin = MpiStep("begin", call) if blocking else requests.pop(("begin", request))
            begin.key, begin.op, begin.root = (attrs["communicator"], blocking), attrs["collective_op"], attrs["root"]
            return [begin, MpiStep("end", call, of=begin)] if blocking else [MpiStep("end", call, of=begin)]
        return []

    def _match(self) -> None:
        sends: dict[Any, list[MpiStep]] = defaultdict(list)
        posts: dict[Any, list[MpiStep]] = defaultdict(list)
        groups: dict[Any, list[MpiStep]] = defaultdict(list)
        for location, calls in self.calls.items():
            turns: Counter[Any] = Counter()
            for step in (step for call in calls for step in call.steps if step.key is not None):
                if step.kind == "begin":
                    groups[step.key, turns[step.key]].append(step)
                    step.group = groups[step.key, turns[step.key]]
                    turns[step.key] += 1
                else:
                    (sends if step.kind == "send" else posts)[step.key].append(step)
            assert all(call.location == location for call in calls)
        for key, sent in sends.items():
            for send, post in zip(sent, posts[key], strict=False):
                send.match, post.match = post, send

    # ---- Waits ----

    def waits(self, start: int = -(2**62), stop: int = 2**62) -> dict[WaitKey, tuple[int, int]]:
        """The ns and the number of waits."""
        found: dict[WaitKey, list[int]] = defaultdict(lambda: [0, 0])
        for calls in self.calls.values():
            for number, call in enumerate(calls):
                for kind, other, begin, end in self._of_call(call, calls[number + 1 :]):
                    partner = -1 if other is None else other.location
                    ns = min(end, stop) - max(begin, start)
                    if ns > 0:
                        entry = found[kind, call.path, call.location, partner]
                        entry[0] += ns
                        entry[1] += 1
        return {key: (ns, count) for key, (ns, count) in found.items()}

    def _of_call(self, call: MpiCall, later: list[MpiCall]) -> list[Wait]:
        """The waits of a call."""
        sure: tuple[int, str, MpiCall | None] = (call.enter, "", None)
        found: list[Wait] = []
        tail: tuple[int, str] | None = None
        sent = 0
        for step in call.steps:
            until, kind, partner = 0, "", None
            if step.kind == "receive" and step.of and step.of.match:
                sender = step.of.match.call
                until, kind, partner = sender.enter, "mpi_latesender", sender
                sent = max(sent, sender.enter)
            elif step.kind == "end" and step.of:
                until, kind, partner = self._collective(step.of)
                if step.of.key[1] and kind in ("mpi_barrier_wait", "mpi_wait_nxn"):
                    first = min(other.call.leave for other in step.of.group)
                    tail = max(first, until), kind.replace("_wait", "").replace("mpi_", "")
            if min(until, call.leave) > sure[0]:
                sure = min(until, call.leave), kind, partner
        if sure[0] > call.enter:
            kind = sure[1]
            if kind == "mpi_latesender" and any(
                step.of.match.call.enter < sent
                for other in later for step in other.steps if step.kind == "receive" and step.of and step.of.match
            ):  # fmt: skip
                kind = "mpi_latesender_wo"
            found.append((kind, sure[2], call.enter, sure[0]))
        done = sure[0]
        if tail and max(tail[0], done) < call.leave:
            name = "mpi_barrier_completion" if "barrier" in tail[1] else "mpi_nxn_completion"
            found.append((name, None, max(tail[0], done), call.leave))
            done = call.leave
        late = [step.of.match.call for step in call.steps if step.kind == "sent" and step.of and step.of.match]
        late = [other for other in late if call.leave > other.enter]
        if late and (last := max(late, key=lambda other: other.enter)).enter > done:
            found.append(("mpi_latereceiver", last, done, last.enter))
        return found

    def _collective(self, begin: MpiStep) -> tuple[int, str, MpiCall | None]:
        """The time until which a member waits, the kind of the wait, and the partner's call."""
        calls = sorted((step.call for step in begin.group), key=lambda call: call.location)
        members = self.trace.comms[begin.key[0]].members or ()
        kind = "mpi_barrier_wait" if begin.op == "BARRIER" else "mpi_wait_nxn"
        if begin.op in FROM_ROOT | TO_ROOT:
            root = members[begin.root or 0]
            if (begin.call.location == root) != (begin.op in TO_ROOT):
                return 0, "", None
            kind = "mpi_latebroadcast" if begin.op in FROM_ROOT else "mpi_earlyreduce"
            calls = [call for call in calls if begin.op in TO_ROOT or call.location == root]
        if begin.op in PREFIX:
            rank, kind = members.index(begin.call.location), "mpi_earlyscan"
            calls = [call for call in calls if members.index(call.location) <= rank]
        last = max(calls, key=lambda call: call.enter, default=None)
        return (last.enter, kind, last) if last else (0, "", None)

    # ---- Ideal times ----

    def ideal(self) -> dict[int, int]:
        """The time of each location to its end if transfers took no time."""
        reached: dict[Any, int] = {}
        ends: dict[int, int] = {}
        work = {location: [step for call in calls for step in call.steps] for location, calls in self.calls.items()}
        clock = dict.fromkeys(work, 0)
        seen = dict.fromkeys(work, 0)
        while len(ends) < len(work):
            for location, steps in work.items():
                while steps and all(step in reached for step in self._needs(steps[0])):
                    step = steps.pop(0)
                    clock[location] += step.call.useful - seen[location]
                    seen[location] = step.call.useful
                    clock[location] = max([clock[location], *(reached[other] for other in self._needs(step))])
                    reached[step] = clock[location]
                if not steps:
                    ends[location] = clock[location] + self.useful[location] - seen[location]
        return ends

    def _needs(self, step: MpiStep) -> list[MpiStep]:
        """The steps of other locations that must be earlier."""
        if step.kind == "receive":
            assert step.of is not None
            return [step.of.match] if step.of.match else []
        if step.kind != "end":
            return []
        begin = step.of
        assert begin is not None
        members = self.trace.comms[begin.key[0]].members or ()
        me = begin.call.location
        if begin.op in FROM_ROOT:
            return [other for other in begin.group if other.call.location == members[begin.root or 0] != me]
        if begin.op in TO_ROOT:
            return begin.group if me == members[begin.root or 0] else []
        if begin.op in PREFIX:
            return [o for o in begin.group if members.index(o.call.location) <= members.index(me)]
        return begin.group

    # ---- Critical path ----

    def critical_path(self) -> dict[tuple[tuple[str, ...], int], int]:
        """(call path, location) -> ns, for programs whose messages arrive after they were sent."""
        found: dict[tuple[tuple[str, ...], int], int] = defaultdict(int)
        location = max(self.calls, key=lambda one: (self._ends(one), -one))
        limit, now = len(self.calls[location]), self._ends(location)
        while True:
            for call in reversed(self.calls[location][:limit]):
                waits = self._of_call(call, [])
                if waits and waits[0][1] is not None and waits[0][0] != "mpi_latereceiver" and waits[0][3] < now:
                    _, partner, _, until = waits[0]
                    break
            else:
                self._spend(found, location, 0, now)
                return dict(found)
            self._spend(found, location, until, now)
            assert partner is not None
            location, now = partner.location, until
            limit = self.calls[location].index(partner)

    def _ends(self, location: int) -> int:
        return self.trace.of(location)[-1].time - self.trace.offset

    def _spend(self, found: dict[Any, int], location: int, begin: int, end: int) -> None:
        """Adds the time of each call path between two times; inside an MPI call only the MPI call counts."""
        stack: list[str] = []
        depth = before = 0
        for place, event in enumerate(self.trace.of(location)):
            time = event.time - self.trace.offset
            if place and (ns := min(time, end) - max(before, begin)) > 0:
                found[tuple(stack[: depth or None]), location] += ns
            before = time
            if event.kind == "Enter":
                region = self.trace.regions[event.attrs["region"]]
                stack.append(region.name)
                if not depth and region.paradigm == "MPI":
                    depth = len(stack)
            elif event.kind == "Leave":
                stack.pop()
                depth = depth if len(stack) >= depth else 0


@dataclass(frozen=True)
class Meeting:
    """The calls of two locations. senders: who sent a message there, 0: the first location, 1: the other. later: ns
    that the other entered its call to receive after the first its call to send, or after the first met it there."""

    own: int
    theirs: int
    senders: set[int]
    later: int = 0


class Delays:
    """The causes of the waits of a trace (docs/diagnose.md, "Root causes of waits")."""

    def __init__(self, waits: Waits) -> None:
        self.waits = waits
        self.number = {call: n for calls in waits.calls.values() for n, call in enumerate(calls)}
        self.of: dict[WaitOf, tuple[str, MpiCall, int]] = {}
        """The kind of each wait, the partner's call, and the ns."""
        for calls in waits.calls.values():
            for call in calls:
                for kind, other, begin, end in waits._of_call(call, []):
                    if other is not None:
                        self.of[call, kind == "mpi_latereceiver"] = kind, other, end - begin
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

    def _meetings(self) -> dict[tuple[int, int], list[Meeting]]:
        """By pair of locations: the calls in which the two met."""
        found: dict[tuple[int, int], list[Meeting]] = defaultdict(list)
        ends: dict[int, list[tuple[MpiCall, Any]]] = defaultdict(list)
        for calls in self.waits.calls.values():
            for call in calls:
                for step in call.steps:
                    if step.kind == "receive" and step.of and step.of.match:
                        sender = step.of.match.call
                        self._meet(found, sender, call, max(sender.enter, self._met_in(step.of, sender)))
                    if step.kind == "end" and step.of and step.of.op in ALL_WITH_ALL:
                        ends[id(step.of.group)].append((call, step.of))
                    if step.kind == "end" and step.of and step.of.op in FROM_ROOT | TO_ROOT:
                        partner = self.waits._collective(step.of)[2]
                        if partner and partner.location != call.location:
                            self._meet(found, partner, call, partner.enter)
        for members in ends.values():
            for one, _ in members:
                for other, _ in members:
                    if one is not other:
                        pair = one.location, other.location
                        found[pair].append(Meeting(self.number[one], self.number[other], set()))
        return found

    def _meet(self, found: dict[tuple[int, int], list[Meeting]], sender: MpiCall, call: MpiCall, since: int) -> None:
        """Adds that a call got data of a sender, which had time for other work since a moment."""
        sent, received = self.number[sender], self.number[call]
        found[sender.location, call.location].append(Meeting(sent, received, {0}, call.enter - since))
        found[call.location, sender.location].append(Meeting(received, sent, {1}))

    def _met_in(self, post: MpiStep, sender: MpiCall) -> int:
        """The time at which a receiver came to a call that sends by MPI_Send and waits for the receiver; else 0."""
        after = [done.kind for sent, done in pairwise(sender.steps) if sent is post.match and done.of is sent]
        return post.call.enter if after == ["sent"] and sender.leave > post.call.enter else 0

    def _met(self, wait_of: WaitOf, other: MpiCall) -> tuple[tuple[int, int], tuple[int, int]]:
        """The first calls of a waiting process and of its partner that are compared, and the calls in which they met
        last. A message that the waiting process sent is no meeting if its receiver was late by half of the wait. Who
        only sent in these calls, and waited there, waited after the meeting, unless for the receiver itself."""
        call, wait = wait_of[0], self.of[wait_of][2]
        number, limit = self.number[call], self.number[other]
        before = [
            met
            for met in self.meetings[call.location, other.location]
            if met.theirs < limit and (met.own < number or (0 in met.senders and met.own == number))
            and (0 not in met.senders or 2 * met.later < wait)
        ]  # fmt: skip
        if not before:
            return (-1, -1), (-1, -1)
        own, theirs = max((met.own, met.theirs) for met in before)
        only = set.intersection(*(met.senders for met in before if (met.own, met.theirs) == (own, theirs)))
        first = [own, theirs]
        for side, at in enumerate((call.location, other.location)):
            met_in = self.waits.calls[at][first[side]]
            waits = {(met_in, late) for late in (False, True)} & self.of.keys()
            is_before = self._late_for(met_in, (other.location, call.location)[side])
            first[side] += 0 if side in only and waits and not is_before else 1
        return (first[0], first[1]), (own, theirs)

    def _late_for(self, call: MpiCall, location: int) -> bool:
        """True if the call waits for a late receiver, this location."""
        return (call, True) in self.of and self.of[call, True][1].location == location

    def _between(self, location: int, first: int, number: int, met: int) -> Counter[Path]:
        """The times of call paths from the end of the call before `first`, or the start of `first` if the two met in
        this call, to another call; first: -1: from the location's start."""
        found = Counter(self.times[location][0]) if first < 0 else Counter()
        for at in range(max(first - (first != met), 0), number):
            call = self.waits.calls[location][at]
            for path, ns in self.times[location][at + 1].items():
                if at >= first or path != call.path:
                    found[path] += ns
        return found

    def _passed(self, wait: WaitOf) -> tuple[Counter[Path], dict[WaitOf, float]]:
        """The additional time of a waiting call's partner in each call path, and the parts of the wait that the
        partner's earlier waits caused. A wait for another late receiver in the meeting's call is after the meeting."""
        call, other = wait[0], self.of[wait][1]
        (own_since, since), (own_met, met) = self._met(wait, other)
        more = self._between(other.location, since, self.number[other], met)
        more.subtract(self._between(call.location, own_since, self.number[call], own_met))
        waited: list[Counter[WaitOf]] = []
        for one, whom, first, at, sign in ((other, call, since, met, -1), (call, other, own_since, own_met, 1)):
            waited.append(Counter())
            calls = self.waits.calls[one.location]
            earlier = [(each, late) for each in calls[max(first, 0) : self.number[one]] for late in (False, True)]
            for each in (each for each in earlier if each in self.of):
                waited[-1][each] = self.of[each][2]
                more[each[0].path] += sign * self.of[each][2]
            late = calls[max(at, 0)], True
            met_after = at < first and late in self.of and not self._late_for(late[0], whom.location)
            if at >= 0 and met_after:
                waited[-1][late] = self.of[late][2]
        through = max(0, waited[0].total() - waited[1].total())
        more = Counter({path: ns for path, ns in more.items() if ns > 0})
        share = through / max(1, through + more.total())
        return more, {at: share * ns / waited[0].total() for at, ns in waited[0].items() if through}

    def causes(self) -> dict[Cause, tuple[float, float, int, int]]:
        """Direct and indirect ns, the partner's additional time (ns), and the number of waits."""
        passed = {wait: self._passed(wait) for wait in self.of}
        later: dict[WaitOf, set[WaitOf]] = {wait: set() for wait in self.of}
        for wait, (_, parts) in passed.items():
            for at in parts:
                later[at].add(wait)
        costs: Counter[WaitOf] = Counter()
        found: dict[Cause, list[Any]] = defaultdict(lambda: [0.0, 0.0, 0, 0])
        for wait in TopologicalSorter(later).static_order():
            kind, other, own = self.of[wait]
            more, parts = passed[wait]
            left = 1 - sum(parts.values())
            for path, ns in more.items() or [(other.path, 0)] * (not parts):
                share = left * ns / more.total() if more else 1.0
                entry = found[other.location, path, kind, wait[0].path]
                entry[0] += share * own
                entry[1] += share * costs[wait]
                entry[2] += ns
                entry[3] += 1
            for at, part in parts.items():
                costs[at] += part * (own + costs[wait])
        return {cause: (entry[0], entry[1], entry[2], entry[3]) for cause, entry in found.items()}
