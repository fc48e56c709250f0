# SPDX-License-Identifier: BSD-3-Clause
"""Invariants of every archive that vtunify writes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from support.oracles.check_operations import STREAMS, check_io, check_windows
from support.readers.archive import Event, Trace, read

STREAM_NAMES = ("OpenCL[", "CUDA[")


def check(archive: Path, complete: bool = True) -> Trace:
    """Reads an archive and asserts all invariants.

    complete: every process of the run ended normally, so that messages have both ends and collectives all members.
    """
    trace = read(archive)
    _check_files(trace)
    _check_definitions(trace)
    _check_readers_agree(trace)
    _check_times(trace)
    _check_stacks(trace)
    _check_requests(trace)
    _check_messages(trace, complete)
    check_windows(trace, complete)
    check_io(trace, complete)
    if complete:
        _check_collectives(trace)
    return trace


def _check_files(trace: Trace) -> None:
    written = {path.name for path in trace.path.iterdir()}
    known = {"traces.otf2", "traces.def", "traces.marker", "traces", "vtrace"}
    assert written <= known, f"foreign files in archive: {written}"
    if "vtrace" in written:
        tables = {path.name for path in (trace.path / "vtrace").iterdir()}
        known = {"coverage", "clocks", "processor_waits", "blocked", "long_calls", "profile", "counted", "samples"}
        known |= {"by_run", "job"}
        assert {"coverage"} <= tables <= known  # archives of older versions have no clocks
    events = {path.name for path in (trace.path / "traces").iterdir() if path.suffix == ".evt"}
    assert events == {f"{location}.evt" for location in trace.locations}


def _check_definitions(trace: Trace) -> None:
    assert sorted(trace.locations) == list(range(len(trace.locations))), "location ids are not 0, 1, 2, ..."
    read_counts = Counter([event.location for event in trace.events])
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for location in trace.locations.values():
        assert location.declared == read_counts[location.id], f"{location} but {read_counts[location.id]} events"
        is_stream = location.kind in STREAMS
        assert is_stream or location.kind == ("METRIC" if location.name == "Memory" else "CPU_THREAD")
        assert is_stream == location.name.startswith(STREAM_NAMES)
        assert location.group
        assert location.host
        groups[location.process, location.group].append(location.name)
        if is_stream:  # a device has streams only, and belongs to a process
            assert trace.creators[location.process] != location.process
    for group, names in groups.items():
        assert names[0] == "Master thread" or all(name.startswith(STREAM_NAMES) for name in names), f"{group}: {names}"
        assert len(set(names)) == len(names), f"{group}: {names}"
    if "VTRACE::EVENTS" in trace.properties:
        assert json.loads(trace.properties["VTRACE::EVENTS"]) == trace.kinds()
    for region in trace.regions.values():
        assert region.name, region
        assert region.canonical, region
        assert region.line == 0 or region.file, region
    # Only regions and communicators need a check, because the otf2 package refuses other undefined ids itself.
    for key, table in (("region", trace.regions), ("communicator", trace.comms)):
        used = {event.attrs[key] for event in trace.events if key in event.attrs}
        wrong = used - table.keys()
        assert not wrong, next(event for event in trace.events if event.attrs.get(key, 0) in wrong)


def _check_readers_agree(trace: Trace) -> None:
    """Both readers give the same events of each location in the same order. The order across locations may differ."""
    events, lines = trace.events, trace.printed
    if (
        [event.time for event in events] == [line.time for line in lines]
        and [event.location for event in events] == [line.location for line in lines]
        and [event.kind for event in events] == [line.kind for line in lines]
        and [event.attrs.get("region") for event in events] == [line.region for line in lines]
    ):
        return
    python: dict[int, list[tuple[str, int, int | None]]] = defaultdict(list)
    printed: dict[int, list[tuple[str, int, int | None]]] = defaultdict(list)
    for event in trace.events:
        python[event.location].append((event.kind, event.time, event.attrs.get("region")))
    for line in trace.printed:
        printed[line.location].append((line.kind, line.time, line.region))
    for location in python.keys() | printed.keys():
        assert python[location] == printed[location], f"the readers differ at location {location}"


def _check_times(trace: Trace) -> None:
    assert trace.resolution == 10**9
    last: dict[int, int] = {}
    for event in trace.events:
        assert trace.offset <= event.time <= trace.offset + trace.length, f"outside the clock properties: {event}"
        assert event.time >= last.get(event.location, 0), f"time runs backwards: {event}"
        last[event.location] = event.time


def _check_stacks(trace: Trace) -> None:
    stacks: dict[int, list[int]] = defaultdict(list)
    for event in trace.events:
        stack = stacks[event.location]
        if event.kind == "Enter":
            stack.append(event.attrs["region"])
        elif event.kind == "Leave":
            assert stack, f"leave without enter: {event}"
            entered = stack.pop()
            assert entered == event.attrs["region"], f"{event} leaves {trace.regions[entered].name}"
    for location, stack in stacks.items():
        assert not stack, f"location {location} ends inside {[trace.regions[r].name for r in stack]}"


_STARTS = {"MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest"}
_ENDS = {"MpiIsendComplete", "MpiIrecv", "MpiRequestCancelled", "NonBlockingCollectiveComplete"}


def _check_requests(trace: Trace) -> None:
    """A request completes at most once, in the process that started the request, and after its start."""
    running: Counter[tuple[int, int]] = Counter()
    for event in trace.besides_calls:
        key = (trace.locations[event.location].process, event.attrs.get("request_id", -1))
        if event.kind in _STARTS:
            running[key] += 1
        elif event.kind in _ENDS or event.kind == "MpiRequestTest":
            assert running[key] == 1, f"{event}: request is running {running[key]} times"
            running[key] -= event.kind in _ENDS


def rank_in(trace: Trace, comm: int, location: int) -> int:
    """The rank of a location's process in a communicator."""
    members = trace.comms[comm].members
    if members is None:
        return 0
    if location in members:
        return members.index(location)
    process = trace.locations[location].process
    ranks = [rank for rank, member in enumerate(members) if trace.locations[member].process == process]
    assert len(ranks) == 1, f"{trace.locations[location]} is {len(ranks)} times in {trace.comms[comm]}"
    return ranks[0]


# Communicator, process (of a communicator like MPI_COMM_SELF), sender, receiver, tag, bytes.
_Key = tuple[int, int, int, int, int, int]


def _message(trace: Trace, event: Event) -> _Key:
    comm = event.attrs["communicator"]
    own = rank_in(trace, comm, event.location)
    alone = trace.locations[event.location].process if trace.comms[comm].members is None else -1
    ends = (own, event.attrs["receiver"]) if "receiver" in event.attrs else (event.attrs["sender"], own)
    return (comm, alone, *ends, event.attrs["msg_tag"], event.attrs["msg_length"])


def _check_messages(trace: Trace, complete: bool) -> None:
    cancelled = {_request(trace, e) for e in trace.besides_calls if e.kind == "MpiRequestCancelled"}
    sent: dict[_Key, list[int]] = defaultdict(list)
    received: dict[_Key, list[int]] = defaultdict(list)
    for event in trace.besides_calls:
        if event.kind == "MpiSend" or (event.kind == "MpiIsend" and _request(trace, event) not in cancelled):
            sent[_message(trace, event)].append(event.time)
        elif event.kind in ("MpiRecv", "MpiIrecv"):
            received[_message(trace, event)].append(event.time)
    if complete:
        _assert_equal({key: len(times) for key, times in sent.items()}, {k: len(t) for k, t in received.items()})
        for key, times in received.items():
            for left, arrived in zip(sorted(sent[key]), sorted(times), strict=True):
                assert left <= arrived, f"message {key} arrives at {arrived}, sent at {left}"


def _assert_equal(sent: dict[_Key, int], received: dict[_Key, int]) -> None:
    lost = {key: n for key, n in sent.items() if received.get(key) != n}
    invented = {key: n for key, n in received.items() if sent.get(key) != n}
    assert sent == received, f"(comm, self, from, to, tag, bytes): sent only {lost}, received only {invented}"


def _request(trace: Trace, event: Event) -> tuple[int, int]:
    return trace.locations[event.location].process, event.attrs["request_id"]


def _check_collectives(trace: Trace) -> None:
    """Begin and end of a collective lie in one call. Calls inside are allowed only if MPI calls the program back. All
    members of a communicator take part in the same operations.
    """
    done: dict[int, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    depth: Counter[int] = Counter()
    inside: dict[int, list[int]] = defaultdict(list)
    for event in trace.events if any("ollective" in event.kind for event in trace.besides_calls) else ():
        depth[event.location] += (event.kind == "Enter") - (event.kind == "Leave")
        depths = inside[event.location]
        if event.kind == "MpiCollectiveBegin":
            assert not depths or depths[-1] < depth[event.location], event
            depths.append(depth[event.location])
        elif event.kind == "MpiCollectiveEnd":
            assert depths, event
            assert depths.pop() == depth[event.location], event
        if event.kind in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete"):
            operation = event.attrs["collective_op"]
            # Only the group's members take part in the creation from a group, not the whole communicator.
            if "HANDLE" not in operation:
                process = trace.locations[event.location].process
                done[event.attrs["communicator"]][process][operation] += 1
    assert not any(inside.values())
    for comm, processes in done.items():
        members = trace.comms[comm].members
        if members is not None:
            what = f"{trace.comms[comm]}: {dict(processes)}"
            assert set(processes) == _processes(trace, members), f"not all took part in {what}"
            assert len({tuple(sorted(ops.items())) for ops in processes.values()}) == 1, what


def _processes(trace: Trace, members: Iterable[int]) -> set[int]:
    return {trace.locations[member].process for member in members}
