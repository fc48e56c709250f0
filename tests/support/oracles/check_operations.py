# SPDX-License-Identifier: BSD-3-Clause
"""Invariants of RMA and I/O operations in every archive."""

from __future__ import annotations

from collections import Counter

from support.readers.archive import Event, Trace

STREAMS = ("GPU", "ACCELERATOR_STREAM")
"""The names of the type of a device's streams, in OTF2 2 and 3."""
_WIN_ENDS = {"RmaOpCompleteBlocking", "RmaOpCompleteNonBlocking", "RmaOpCompleteRemote", "RmaOpTest"}
_WIN_STARTS = {"RmaPut", "RmaGet", "RmaAtomic"}
_IO_ENDS = {"IoOperationComplete", "IoOperationCancelled"}


def check_windows(trace: Trace, complete: bool) -> None:
    """Operations are between the creation and the destruction of their window, in their process or on their stream of a
    device, and complete after their start. A matching id belongs to one operation of a window and process. The request
    of a lock is before its release, and only once unless a call fails.
    """
    alive: set[tuple[int, int]] = set()
    begun: set[tuple[int, int, int]] = set()
    locks: Counter[tuple[int, int, int, int]] = Counter()
    for event in trace.besides_calls:
        if "win" not in event.attrs:
            continue
        process, win = trace.locations[event.location].process, event.attrs["win"]
        assert win in trace.windows, event
        member = event.location if trace.locations[event.location].kind in STREAMS else process
        if event.kind == "RmaWinCreate":
            alive.add((member, win))
            continue
        # The collective end of MPI_Win_free follows the destruction, and a failed creation defines no window.
        around = "HANDLE" in event.attrs.get("collective_op", "")
        assert around or (member, win) in alive, f"{event} outside the life of {trace.windows[win]}"
        if event.kind == "RmaWinDestroy":
            alive.remove((member, win))
        elif event.kind in _WIN_STARTS:
            operation = process, win, event.attrs["matching_id"]
            assert operation not in begun, f"{event}: this matching id has been used"
            begun.add(operation)
        elif event.kind in _WIN_ENDS:
            assert (process, win, event.attrs["matching_id"]) in begun, f"{event} completes nothing"
        _check_lock(event, locks, process, complete)
    if complete:
        assert not any(locks.values()), f"locks are still held: {locks}"


def _check_lock(event: Event, locks: Counter[tuple[int, int, int, int]], process: int, complete: bool) -> None:
    if event.kind in ("RmaRequestLock", "RmaReleaseLock"):
        lock = process, event.attrs["win"], event.attrs["remote"], event.attrs["lock_id"]
        locks[lock] += 1 if event.kind == "RmaRequestLock" else -1
        assert locks[lock] in (0, 1) or (locks[lock] > 0 and not complete), f"{event}: asked for {locks[lock]} times"


def check_io(trace: Trace, complete: bool) -> None:
    """A handle belongs to one process, which uses the handle only between its creation and destruction. Each operation
    completes once.
    """
    owners: dict[int, int] = {}
    active = {number for number, handle in trace.handles.items() if handle.state is not None}
    running: Counter[tuple[int, int]] = Counter()
    for event in trace.besides_calls:
        attrs = event.attrs
        if event.kind == "IoDuplicateHandle":
            _own(trace, owners, event, attrs["old_handle"])
            _own(trace, owners, event, attrs["new_handle"])
            assert not complete or attrs["old_handle"] in active, f"{event}: not open"
            active.add(attrs["new_handle"])
        if not event.kind.startswith("Io") or "handle" not in attrs:
            continue
        handle = attrs["handle"]
        _own(trace, owners, event, handle)
        if event.kind == "IoCreateHandle":
            active.add(handle)
        assert not complete or handle in active, f"{event}: {trace.handles[handle]} is not open"
        if event.kind == "IoDestroyHandle":
            active.discard(handle)
        if "matching_id" in attrs:
            operation = handle, attrs["matching_id"]
            if event.kind == "IoOperationBegin":
                assert not running[operation], f"{event} runs already"
                running[operation] = 1
            assert not complete or running[operation], f"{event}: has not begun"
            if event.kind in _IO_ENDS:
                running[operation] = 0
    if complete:
        assert not any(running.values()), f"operations without an end: {[key for key, n in running.items() if n]}"


def _own(trace: Trace, owners: dict[int, int], event: Event, handle: int) -> None:
    assert handle in trace.handles, event
    process = trace.locations[event.location].process
    assert owners.setdefault(handle, process) == process, f"{event}: handle of another process"
