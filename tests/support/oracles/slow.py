# SPDX-License-Identifier: BSD-3-Clause
"""The results of vtrace.open, computed event by event from the otf2 package's reader."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from support.readers.archive import Trace


@dataclass
class Stats:
    """Statistics of the calls of a region or a path."""

    times: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    inclusive: int = 0

    def numbers(self) -> tuple[float, ...]:
        """calls, inclusive, exclusive, total, min, max, deviations from the mean, squared"""
        mean = Fraction(sum(self.times), len(self.times))
        deviations = float(sum((time - mean) ** 2 for time in self.times))
        ends = (min(self.times), max(self.times))
        return (len(self.times), self.inclusive, sum(self.own), sum(self.times), *ends, deviations)


@dataclass
class Call:
    """A call with its path of callers. cut: its time inside the window."""

    location: int
    path: tuple[int, ...]
    begin: int
    end: int
    cut: int
    own: int = 0


FLUSH = -2
"""Number of a pseudo-region for the time in which a location wrote its buffer."""


def name_of(trace: Trace, region: int) -> str:
    """The name of a region, or of FLUSH."""
    return "(buffer flush)" if region == FLUSH else trace.regions[region].name


def calls(trace: Trace, start: int = 0, stop: int = 2**62) -> list[Call]:
    """All calls that overlap the window, in the order of their ends; each write of a buffer counts as a call of FLUSH.
    Times in ns since the trace's offset.
    """
    found: list[Call] = []
    for location in trace.locations:
        stack: list[tuple[int, int, list[int]]] = []
        for event in trace.of(location):
            now = event.time - trace.offset
            if event.kind == "Enter":
                stack.append((event.attrs["region"], now, [0]))
            elif event.kind == "BufferFlush":
                end = event.attrs["stop_time"] - trace.offset
                cut = max(0, min(end, stop) - max(now, start))
                if now <= stop and end >= start:
                    found.append(Call(location, (*(frame[0] for frame in stack), FLUSH), now, end, cut, cut))
                if stack:
                    stack[-1][2][0] += cut
            elif event.kind == "Leave":
                region, begin, inside = stack.pop()
                assert region == event.attrs["region"]
                cut = max(0, min(now, stop) - max(begin, start))
                path = (*(frame[0] for frame in stack), region)
                if begin <= stop and now >= start:
                    found.append(Call(location, path, begin, now, cut, cut - inside[0]))
                if stack:
                    stack[-1][2][0] += cut
        assert not stack
    return found


def profile(trace: Trace, start: int = 0, stop: int = 2**62) -> dict[tuple[int, int], tuple[int, ...]]:
    """(location, region) -> numbers."""
    found: dict[tuple[int, int], Stats] = defaultdict(Stats)
    for call in calls(trace, start, stop):
        stats = found[call.location, call.path[-1]]
        stats.times.append(call.cut)
        stats.own.append(call.own)
        if call.path[-1] not in call.path[:-1]:
            stats.inclusive += call.cut
    return {key: stats.numbers() for key, stats in found.items()}


def paths(trace: Trace) -> dict[tuple[int, tuple[int, ...]], tuple[int, ...]]:
    """(location, path) -> numbers."""
    found: dict[tuple[int, tuple[int, ...]], Stats] = defaultdict(Stats)
    for call in calls(trace):
        stats = found[call.location, call.path]
        stats.times.append(call.cut)
        stats.own.append(call.own)
        stats.inclusive += call.cut
    return {key: stats.numbers() for key, stats in found.items()}


def innermost(trace: Trace, location: int) -> list[tuple[Any, int | None, int | None]]:
    """Each event of a location with its innermost region and the caller of this region. An Enter and a Leave belong to
    their own region.
    """
    found, stack = [], []
    for event in trace.of(location):
        if event.kind == "Enter":
            stack.append(event.attrs["region"])
        around = [None, None, *stack]
        found.append((event, around[-1], around[-2]))
        if event.kind == "Leave":
            stack.pop()
    return found


def member(trace: Trace, comm: int, rank: int, location: int) -> int:
    members = trace.comms[comm].members
    return location if members is None else members[rank]


def messages(trace: Trace) -> list[tuple[int, ...]]:
    """Messages as (sender, receiver, send, receive, comm, tag, bytes, send_region, receive_region), matched in MPI's
    order.
    """
    sends: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    receives: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for location in trace.locations:
        posted: dict[int, int] = {}
        for place, (event, region, _) in enumerate(innermost(trace, location)):
            attrs, now = event.attrs, event.time - trace.offset
            if event.kind == "MpiIrecvRequest":
                posted[attrs["request_id"]] = place
            elif event.kind in ("MpiSend", "MpiIsend"):
                comm = attrs["communicator"]
                to = member(trace, comm, attrs["receiver"], location)
                sends[location, to, comm, attrs["msg_tag"]].append((now, attrs["msg_length"], region or 0))
            elif event.kind in ("MpiRecv", "MpiIrecv"):
                comm = attrs["communicator"]
                sender = member(trace, comm, attrs["sender"], location)
                turn = posted.pop(attrs["request_id"], place) if event.kind == "MpiIrecv" else place
                receives[sender, location, comm, attrs["msg_tag"]].append((turn, now, region or 0))
    found = []
    for key, sent in sends.items():
        for (begin, size, first), (_, end, second) in zip(sent, sorted(receives.get(key, [])), strict=False):
            found.append((*key[:2], begin, end, *key[2:], size, first, second))
    return sorted(found)


def matrix(trace: Trace) -> dict[tuple[int, int], tuple[int, int]]:
    """(sending process, receiving process) -> number and bytes of messages."""
    found: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for event in trace.events:
        if event.kind in ("MpiSend", "MpiIsend"):
            to = member(trace, event.attrs["communicator"], event.attrs["receiver"], event.location)
            pair = found[trace.locations[event.location].process, trace.locations[to].process]
            pair[0] += 1
            pair[1] += event.attrs["msg_length"]
    return {key: (count, size) for key, (count, size) in found.items()}


def collectives(trace: Trace) -> list[tuple[Any, ...]]:
    """Collectives as (comm, turn on it, location, operation's name, begin, end, sent, received, region)."""
    found = []
    for location in trace.locations:
        begun: list[tuple[int, int]] = []
        requested: dict[int, tuple[int, int]] = {}
        each: list[tuple[Any, ...]] = []
        for place, (event, region, _) in enumerate(innermost(trace, location)):
            attrs, now = event.attrs, event.time - trace.offset
            if event.kind == "MpiCollectiveBegin":
                begun.append((now, place))
            elif event.kind == "NonBlockingCollectiveRequest":
                requested[attrs["request_id"]] = now, place
            elif event.kind in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete"):
                blocking = event.kind == "MpiCollectiveEnd"
                begin, order = begun.pop() if blocking else requested.pop(attrs["request_id"])
                name, comm = attrs["collective_op"], attrs["communicator"]
                sizes = attrs["size_sent"], attrs["size_received"]
                each.append((comm, order, name, begin, now, *sizes, region))
        turns: Counter[int] = Counter()
        for comm, _, *rest in sorted(each, key=lambda row: row[1]):
            found.append((comm, turns[comm], location, *rest))
            turns[comm] += 1
    return sorted(found)


IO_SUMS = "opens closes seeks reads writes flushes bytes_read bytes_written read_ns write_ns flush_ns cancelled "
IO_SUMS = f"{IO_SUMS}unknown_reads unknown_writes".split()


_STREAMS = set(
    "fopen fopen64 fdopen freopen freopen64 popen pclose tmpfile tmpfile64 fclose fread fwrite fgets fputs fgetc fputc "
    "getc putc puts printf fprintf vfprintf scanf fscanf getline getdelim fflush fseek fseeko rewind setvbuf".split()
)


def _above(trace: Trace, open_calls: list[int], handle: int, layers: set[str], running: int | None = None) -> str:
    """The prefix nested_ if a call of a layer above the handle's is open, else an empty text.

    running: for an operation, the number of stream operations in progress, which decides instead of the calls.
    """
    mine = trace.handles[handle].paradigm
    around = {trace.regions[region].name for region in open_calls}
    mpi = {name for name in around if name.startswith("MPI_") and ("MPI-IO" in layers or "MPI_File" not in name)}
    higher = (mine in ("POSIX", "ISOC") and mpi) or (
        mine == "POSIX" and "ISOC" in layers and (around & _STREAMS if running is None else running)
    )
    return "nested_" if higher else ""


def begins(trace: Trace) -> dict[int, int]:
    """Index of the event on each location at which the program starts: the first call of MPI_Init or of one of the
    program's own functions. Without MPI_Init in the trace all events belong to the program.
    """
    names = {region.id: region for region in trace.regions.values()}
    found: dict[int, int] = {}
    if not any(region.name.startswith("MPI_Init") and region.name != "MPI_Initialized" for region in names.values()):
        return dict.fromkeys(trace.locations, -1)
    for place, event in enumerate(trace.events):
        if event.kind == "Enter":
            region = names[event.attrs["region"]]
            own = region.paradigm in ("USER", "COMPILER") and not region.role.startswith(
                ("FILE_IO", "ALLOC", "DEALLOC")
            )
            own &= not region.role.startswith(("REALLOC", "THREAD_"))
            if own or region.name in ("MPI_Init", "MPI_Init_thread", "MPI_Session_init"):
                found.setdefault(event.location, place)
    return {location: found.get(location, len(trace.events)) for location in trace.locations}


def _of_libraries(trace: Trace) -> set[tuple[int, int]]:
    """(location, handle) pairs that only libraries use: all handles of helper threads, files in /proc and /sys opened
    before the program begins, and sockets used inside MPI calls.
    """
    first, found = begins(trace), set()
    depth: Counter[int] = Counter()
    for place, event in enumerate(trace.events):
        if event.kind in ("Enter", "Leave"):
            inside = trace.regions[event.attrs["region"]].paradigm == "MPI"
            depth[event.location] += inside * (1 if event.kind == "Enter" else -1)
        if not event.kind.startswith("Io") or event.kind == "IoDeleteFile":
            continue
        handle = event.attrs["new_handle"] if event.kind == "IoDuplicateHandle" else event.attrs["handle"]
        name = trace.handles[handle].file or ""
        early = event.kind == "IoCreateHandle" and place < first[event.location]
        uses = event.kind in ("IoCreateHandle", "IoDuplicateHandle", "IoSeek", "IoOperationBegin")
        if (
            event.location in trace.helpers
            or (early and name.startswith(("/proc/", "/sys/")))
            or (uses and depth[event.location] and name.startswith("socket:"))
        ):
            found.add((event.location, handle))
    return found


def io(trace: Trace) -> dict[tuple[int, int], dict[str, int]]:
    """(location, handle) -> sums other than 0. Operations inside a call of a higher layer count in sums with the prefix
    nested_. Closes are counted together.
    """
    found: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    begun: dict[tuple[int, int, int], tuple[str, int, str]] = {}
    layers = {handle.paradigm for handle in trace.handles.values()}
    stacks: dict[int, list[int]] = defaultdict(list)
    running: Counter[int] = Counter()
    foreign = _of_libraries(trace)
    for event in trace.events:
        if event.kind == "Enter":
            stacks[event.location].append(event.attrs["region"])
        elif event.kind == "Leave":
            stacks[event.location].pop()
        attrs, location = event.attrs, event.location
        if not event.kind.startswith("Io") or event.kind == "IoDeleteFile":
            continue
        handle = attrs["new_handle"] if event.kind == "IoDuplicateHandle" else attrs["handle"]
        sums = found[location, handle]
        above = _above(trace, stacks[location], handle, layers)
        if event.kind in ("IoCreateHandle", "IoDuplicateHandle"):
            sums[f"{above}opens"] += 1
        elif event.kind == "IoDestroyHandle":
            sums["closes"] += 1
        elif event.kind == "IoSeek":
            sums[f"{above}seeks"] += 1
        elif event.kind == "IoOperationBegin":
            running[location] += trace.handles[handle].paradigm == "ISOC"
            above = _above(trace, stacks[location], handle, layers, running[location])
            begun[location, handle, attrs["matching_id"]] = attrs["mode"].lower(), event.time, above
        elif event.kind in ("IoOperationComplete", "IoOperationCancelled"):
            mode, begin, above = begun.pop((location, handle, attrs["matching_id"]))
            running[location] -= trace.handles[handle].paradigm == "ISOC"
            sums[f"{above}{mode}_ns"] += event.time - begin
            if event.kind == "IoOperationCancelled":
                sums[f"{above}cancelled"] += 1
                continue
            sums[above + {"read": "reads", "write": "writes", "flush": "flushes"}[mode]] += 1
            if mode != "flush":
                told, moved = attrs["bytes_result"], "read" if mode == "read" else "written"
                known = told < 2**64 - 1
                sums[f"{above}bytes_{moved}" if known else f"{above}unknown_{mode}s"] += told if known else 1
    for key in foreign & found.keys():
        moved: Counter[str] = Counter()
        for name, n in found[key].items():
            moved[name if name == "closes" else f"nested_{name.removeprefix('nested_')}"] += n
        found[key] = moved
    return {key: {name: n for name, n in sums.items() if n} for key, sums in found.items() if any(sums.values())}


def allocations(trace: Trace) -> dict[tuple[int, int, int], tuple[int, ...]]:
    """(location, function, caller) -> allocations, allocated, frees, freed, failed."""
    found: dict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for location in trace.locations:
        asked = 0
        for event, region, caller in innermost(trace, location):
            sums = found[location, -1 if region is None else region, -1 if caller is None else caller]
            if "ALLOCATION_SIZE" in event.more:
                asked = event.more["ALLOCATION_SIZE"]
                sums[0] += 1
                sums[1] += asked
            if "DEALLOCATION_SIZE" in event.more:
                sums[2] += 1
                sums[3] += event.more["DEALLOCATION_SIZE"]
            if event.more.get("RESULT_ADDRESS") == 0:
                sums[0] -= 1
                sums[1] -= asked
                sums[4] += 1
    return {key: tuple(sums) for key, sums in found.items() if any(sums)}


def is_runtime(trace: Trace, stack: list[int]) -> bool:
    """True if the innermost call is I/O inside an MPI call outside of MPI-IO."""
    names = [trace.regions[region] for region in stack]
    inside = any(region.paradigm == "MPI" and not region.role.startswith("FILE_IO") for region in names[:-1])
    return inside and names[-1].paradigm != "MPI" and names[-1].role.startswith("FILE_IO")


def timeline(trace: Trace, classes: list[int], outside: int, bins: int, stop: int) -> dict[tuple[int, int, int], float]:
    """(location, class, bin) -> seconds. The two classes before outside are tracing and runtime (I/O inside MPI)."""
    found: dict[tuple[int, int, int], float] = defaultdict(float)
    width = stop / bins

    def add(location: int, begin: int, end: int, kind: int) -> None:
        for bin_ in range(int(begin / width), min(bins - 1, int(end / width)) + 1):
            inside = min(end, (bin_ + 1) * width) - max(begin, bin_ * width)
            if inside > 0:
                found[location, kind, bin_] += inside / 1e9

    for location in trace.locations:
        stack: list[int] = []
        last = None
        events = trace.of(location)
        for event in events:
            now = event.time - trace.offset
            if last is not None and now > last:
                add(
                    location,
                    last,
                    now,
                    outside - 1 if is_runtime(trace, stack) else classes[stack[-1]] if stack else outside,
                )
            if event.kind == "BufferFlush":
                end = event.attrs["stop_time"] - trace.offset
                add(location, now, end, outside - 2)
                now = end
            last = now
            if event.kind == "Enter":
                stack.append(event.attrs["region"])
            elif event.kind == "Leave":
                stack.pop()
    return found
