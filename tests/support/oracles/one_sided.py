# SPDX-License-Identifier: BSD-3-Clause
"""RMA and I/O operations, each with its completions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from support.readers.archive import Event, Trace

OPERATIONS = ("RmaPut", "RmaGet", "RmaAtomic")
ENDS = ("RmaOpCompleteBlocking", "RmaOpCompleteNonBlocking", "RmaOpCompleteRemote")


@dataclass
class Operation:
    """An RMA operation. call: name of the enclosing call; ends: (kind, call, location) of its completions in order."""

    event: Event
    call: str
    ends: list[tuple[str, str, int]] = field(default_factory=list)


def with_calls(trace: Trace, location: int) -> Iterator[tuple[Event, str]]:
    """The events of a location, except enter and leave, each with the enclosing call ("" outside of calls)."""
    stack = [""]
    for event in trace.of(location):
        if event.kind == "Enter":
            stack.append(trace.region_of(event).name)
        elif event.kind == "Leave":
            stack.pop()
        else:
            yield event, stack[-1]


def _in_process(trace: Trace, process: int) -> Iterator[tuple[Event, str]]:
    """Results of with_calls for all locations of a process, in the order of time."""
    own = [n for n, location in trace.locations.items() if location.process == process]
    found = [pair for location in own for pair in with_calls(trace, location)]
    return iter(sorted(found, key=lambda pair: pair[0].time))


def one_sided(trace: Trace, process: int) -> list[Operation]:
    """The one-sided operations of a process in the order of time. A duplicate matching id of a window, and a completion
    without an operation, are assertion errors.
    """
    found: dict[tuple[int, int], Operation] = {}
    ended: list[tuple[Event, str]] = []
    for event, call in _in_process(trace, process):
        if event.kind in OPERATIONS:
            key = event.attrs["win"], event.attrs["matching_id"]
            assert key not in found, f"{event}: {found[key]} has this id, too"
            found[key] = Operation(event, call)
        elif event.kind in ENDS:
            ended.append((event, call))
    for event, call in ended:
        operation = found[event.attrs["win"], event.attrs["matching_id"]]
        assert event.time >= operation.event.time, (event, operation)
        operation.ends.append((event.kind, call, event.location))
    return list(found.values())


@dataclass
class Transfer:
    """An I/O operation: its request in one call, and its completion (call and bytes)."""

    handle: int
    call: str
    mode: str
    flags: str
    asked: int
    more: dict[str, Any]
    issued: bool = False
    done: int = -1
    completed_in: str = ""


def transfers(trace: Trace, process: int) -> list[Transfer]:
    """The I/O operations of a process in the order of time. A second start, a second completion, and an operation on a
    handle that is not open are assertion errors.
    """
    found: dict[tuple[int, int], Transfer] = {}
    is_open: set[int] = set()
    for event, call in _in_process(trace, process):
        if not event.kind.startswith("Io") or event.kind == "IoDeleteFile":
            continue
        handle = event.attrs["handle"]
        if event.kind == "IoCreateHandle":
            assert handle not in is_open, event
            is_open.add(handle)
        assert handle in is_open, f"{event}: the handle is not open"
        key = handle, event.attrs.get("matching_id", -1)
        if event.kind == "IoDestroyHandle":
            is_open.remove(handle)
        elif event.kind == "IoOperationBegin":
            assert key not in found, event
            names = ("mode", "operation_flags", "bytes_request")
            found[key] = Transfer(handle, call, *(event.attrs[name] for name in names), event.more)
        elif event.kind == "IoOperationIssued":
            found[key].issued = True
        elif event.kind == "IoOperationComplete":
            assert found[key].done == -1, event
            found[key].done, found[key].completed_in = event.attrs["bytes_result"], call
    assert not is_open
    return list(found.values())
