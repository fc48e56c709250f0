# SPDX-License-Identifier: BSD-3-Clause
"""The I/O calls in an archive, one line each, in the notation of the comments in tests/programs/io_*.c.

name items     the function, and its events in their order:
+H -H G=H      handle H is created, destroyed, a duplicate of G
r:H:10:8       read (w: written, f: flushed) from H: bytes requested and done, ? if unknown; @5 before: the position
r:H:10 issued  begun without waiting; H:8 completed in another call; cancelled
H@5            H is at position 5 now
L:H U:H T:H    H is locked, unlocked, could not be locked; :SHARED
S:H:flags      H has new status flags
x:F            file F is deleted
!2             the call failed with errno 2
"""

from __future__ import annotations

from collections.abc import Iterator

from support.readers.archive import Event, Trace

_UNKNOWN = 2**64 - 1
_LOCKS = {"IoAcquireLock": "L", "IoReleaseLock": "U", "IoTryLock": "T"}
_FUNCTIONS = ("FILE_IO", "FILE_IO_METADATA")


def io_calls(trace: Trace, location: int = 0) -> list[str]:
    """The lines of a location's calls, in the order of their starts. An event outside of a call, and an operation whose
    end does not fit its start, are assertion errors.
    """
    lines: list[list[str]] = []
    stack: list[list[str] | None] = []
    begun: dict[tuple[int, int], Event] = {}
    for event in trace.of(location):
        if event.kind == "Enter":
            region = trace.region_of(event)
            stack.append([region.name] if region.role in _FUNCTIONS else None)
            if stack[-1]:
                lines.append(stack[-1])
            continue
        words = stack[-1] if stack else None
        if words and "errno" in event.more:
            words.append(f"!{event.more['errno']}")
        if event.kind == "Leave":
            stack.pop()
        elif event.kind.startswith("Io"):
            assert words, f"{event} in no call of I/O"
            words += _words(trace, event, begun)
    assert not begun, f"not completed: {begun}"
    return [" ".join(line) for line in lines]


def _words(trace: Trace, event: Event, begun: dict[tuple[int, int], Event]) -> Iterator[str]:
    attrs = event.attrs
    name = _name(trace, attrs.get("handle", attrs.get("old_handle")))
    key = (attrs.get("handle", -1), attrs.get("matching_id", -1))
    match event.kind:
        case "IoCreateHandle":
            yield f"+{name}"
        case "IoDestroyHandle":
            yield f"-{name}"
        case "IoDuplicateHandle":
            yield f"{name}={_name(trace, attrs['new_handle'])}"
        case "IoSeek":
            yield f"{name}@{_number(attrs['offset_result'])}"
        case "IoChangeStatusFlags":
            yield f"S:{name}:{attrs['status_flags']}"
        case "IoDeleteFile":
            yield f"x:{trace.files[attrs['file']][0].rpartition('/')[2]}"
        case "IoAcquireLock" | "IoReleaseLock" | "IoTryLock":
            yield f"{_LOCKS[event.kind]}:{name}" + (":SHARED" if attrs["lock_type"] == "SHARED" else "")
        case "IoOperationBegin":
            assert key not in begun, event
            begun[key] = event
            if "offset" in event.more:
                yield f"@{event.more['offset']}"
            if attrs["operation_flags"] != "NONE":
                yield f"{_mode(event)}:{name}:{_number(attrs['bytes_request'])}"
        case "IoOperationIssued":
            yield "issued"
        case "IoOperationCancelled":
            del begun[key]
            yield "cancelled"
        case "IoOperationComplete":
            begin = begun.pop(key)
            done = f"{name}:{_number(attrs['bytes_result'])}"
            asked = _number(begin.attrs["bytes_request"])
            waits = begin.attrs["operation_flags"] == "NONE"
            yield f"{_mode(begin)}:{name}:{asked}:{_number(attrs['bytes_result'])}" if waits else done
        case kind:
            assert kind == "IoOperationTest", event


def _name(trace: Trace, handle: int | None) -> str:
    """The name of a handle; without the number of a pipe or socket."""
    return "" if handle is None else trace.handles[handle].name.partition(":[")[0]


def _mode(event: Event) -> str:
    return str(event.attrs["mode"])[0].lower()


def _number(value: int) -> str:
    return "?" if value == _UNKNOWN else str(value)
