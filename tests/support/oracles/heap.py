# SPDX-License-Identifier: BSD-3-Clause
"""The heap in an archive: growth between two marks, and agreement of the metric with the calls."""

from __future__ import annotations

from support.readers.archive import Event, Trace


def _of_process(trace: Trace, process: int) -> list[int]:
    return [x.id for x in trace.locations.values() if x.process == process]


def heap_of(trace: Trace, process: int) -> list[Event]:
    """The events of a process's location Memory; empty without this location."""
    found = [x for x in _of_process(trace, process) if trace.locations[x].kind == "METRIC"]
    assert len(found) < 2, f"process {process} has {len(found)} locations for its heap"
    return trace.of(found[0]) if found else []


def growth(trace: Trace) -> tuple[int, int]:
    """Growth of the process's heap from begin() to end(), in bytes and blocks."""
    times, process = {}, 0
    for event in trace.events:
        if event.kind == "Enter" and (name := trace.region_of(event).name) in ("begin", "end"):
            times[name], process = event.time, trace.locations[event.location].process
    heap = heap_of(trace, process)
    values = {name: [e for e in heap if e.time <= time][-1].attrs["values"] for name, time in times.items()}
    return values["end"][0] - values["begin"][0], values["end"][1] - values["begin"][1]


def check_heap(trace: Trace, unseen: int = 0) -> int:
    """Compares the heap metric of each process with its calls, in a trace with all calls. From the first value of the
    metric to the last, blocks grow by the allocations minus the frees. Bytes grow by at least the requested sizes,
    and not by much more.

    unseen: number of blocks of a process that its vforked children may allocate or free without recorded calls.
    Returns the number of processes with the metric.
    """
    processes = {x.process for x in trace.locations.values() if x.kind == "METRIC"}
    for process in processes:
        heap = heap_of(trace, process)
        label = f"{trace.locations[heap[0].location]}: {heap[0]} to {heap[-1]}"
        assert min(value for e in heap for value in e.attrs["values"]) >= 0, label
        bytes_grown, blocks_grown = (
            b - a for a, b in zip(*(e.attrs["values"] for e in (heap[0], heap[-1])), strict=True)
        )
        live, freed = _calls(trace, _of_process(trace, process), heap[0].time)
        differs = abs(blocks_grown - (len(live) - len(freed)))
        assert differs <= unseen, f"{label}, but {len(live)} made and {len(freed)} freed"
        more = bytes_grown - (sum(live.values()) - sum(freed))
        assert differs or 0 <= more <= sum(4112 + asked // 4 for asked in live.values()), f"{label}: {more}"
    return len(processes)


def _calls(trace: Trace, locations: list[int], since: int) -> tuple[dict[int, int], list[int]]:
    """Effects of the calls after a time: live blocks (address -> requested bytes), and sizes of older blocks that were
    freed.
    """
    live: dict[int, int] = {}
    freed: list[int] = []
    open_calls: dict[int, list[tuple[int, int, int | None, int]]] = {x: [] for x in locations}
    for event in trace.events:
        stack, more = open_calls.get(event.location), event.more
        if stack is None or event.kind not in ("Enter", "Leave"):
            continue
        if event.kind == "Enter":  # another thread may get the freed block before the call returns
            address = more.get("ARGUMENT_ADDRESS", 0)
            was = live.pop(address, None) if event.time > since else None
            stack.append((event.time, address, was, more.get("ALLOCATION_SIZE", 0)))
            continue
        begin, address, was, asked = stack.pop()
        if (event.time if "RESULT_ADDRESS" in more else begin) <= since:
            continue
        if "DEALLOCATION_SIZE" in more and was is None:
            freed.append(more["DEALLOCATION_SIZE"])
        elif "DEALLOCATION_SIZE" not in more and was is not None:
            live[address] = was
        if more.get("RESULT_ADDRESS"):
            live[more["RESULT_ADDRESS"]] = asked
    return live, freed
