# SPDX-License-Identifier: BSD-3-Clause
"""Limits of a diagnosis: cores shared by ranks, missing ranks and events, a run without MPI, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.run_facts import OUTSIDE, RunFacts, location_text, locations_text
from vtrace.analysis.findings.serving_rank import serving_rank
from vtrace.analysis.findings.short_threads import short_threads
from vtrace.analysis.inlined import inlined_line
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array, Table, add_up
from vtrace.console import ranges, some
from vtrace.io.archive.properties import CORES
from vtrace.reasons import FLUSH

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

UNNAMED = "functions that were not recorded"
"""The callers of malloc in a finding that cannot name them."""
UNSEEN = "functions that are not known"
"""The place of page faults in a finding that cannot name it."""
UNKNOWN_CALL = "a call that was not recorded"
"""The place of sleep in a finding that cannot name it."""
_MUCH, _MOSTLY = 0.05, 0.5
_DIFFERENT = 0.05
"""The share of a rank's recorded time without records of another rank from which on their work is not compared."""
_MOST = 1 << 16
"""The most cores of a list to count, since a damaged list may have any numbers."""


@lru_cache(maxsize=1024)
def cores(text: str) -> frozenset[int]:
    """The numbers in a list such as 0-3,8; empty for any other text."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not (first.isascii() and first.isdigit()) or (last and not (last.isascii() and last.isdigit())):
            return frozenset()
        begin, end = int(first[:9]), int((last or first)[:9])
        found.update(range(begin, min(end, begin + _MOST) + 1))
    return frozenset(found)


def crowded_hosts(facts: RunFacts) -> list[tuple[str, int, int]]:
    """Name, number of ranks and of cores of the selected ranks' hosts with more ranks than cores. Ranks without events
    in the selected time do not count, if they are selected. Unknown cores count as enough."""
    trace, here = facts.trace, {*facts.ranks_of(facts.rows)}
    chosen = facts.window.rows(trace) if (facts.window.start, facts.window.stop) != (None, None) else []
    absent = {*facts.ranks_of(chosen)} - here
    hosts_here = {str(host) for host in trace.processes["host"][sorted(here)]}
    table = trace.group_properties
    mine = table["name"] == CORES
    known = dict(zip(table["group"][mine].tolist(), map(str, table["value"][mine].tolist()), strict=True))
    hosts: dict[str, tuple[int, frozenset[int]]] = {}
    for process, row in enumerate(trace.processes.records()):
        if process in absent or row["host"] not in hosts_here:
            continue
        if row["rank"] >= 0 and (usable := cores(known.get(row["group"], ""))):
            ranks, before = hosts.get(row["host"], (0, frozenset[int]()))
            hosts[row["host"]] = ranks + 1, before | usable
    return [(host, ranks, len(usable)) for host, (ranks, usable) in sorted(hosts.items()) if ranks > len(usable)]


def oversubscribed(facts: RunFacts) -> str:
    """A line about ranks that share cores, "" if no ranks do or the cores are unknown."""
    crowded = crowded_hosts(facts)
    if not crowded:
        return ""
    host, ranks, count = crowded[0]
    more = f" (and {len(crowded) - 1} more hosts)" if len(crowded) > 1 else ""
    return (
        f"{ranks} ranks shared {some(count, 'core')} on {host}{more}: ranks that wait in MPI take time from those that "
        "work, so waits and delays here show this, not the program; run at most one rank per core"
    )


def limits(facts: RunFacts) -> Iterator[str]:
    """Lines about the limits of a diagnosis, the most important first."""
    trace, window = facts.trace, facts.window
    if crowded := oversubscribed(facts):
        yield crowded
    if missing := trace.vtrace.get("ABOUT", {}).get("missing_ranks"):
        some_are, them = (f"rank {missing} is", "it") if missing.isdecimal() else (f"ranks {missing} are", "them")
        yield f"{some_are} missing in the archive: waits for {them} have no cause here"
    chosen = facts.ranks_of([*window.locations]) if window.locations else range(trace.processes.rows)
    if facts.has_mpi and len(chosen) == 1 < trace.processes.rows:
        yield "one rank is selected: ranks are not compared, so waits have no causes here"
    if trace.processes.rows > 1 and np.any(trace.processes["rank"] >= 0) and not facts.has_mpi:
        yield "no calls of MPI were recorded: waits of ranks for each other are unknown"
    if unfinished := died(trace):
        yield f"{unfinished}: waits in calls that did not end are unknown, and count as transfer"
    yield from _makers(facts)
    if (server := serving_rank(facts)) >= 0:
        who = location_text(trace, server)
        yield f"{who} hardly works, and the others work equally long: its waits for messages are no loss"
    if window.start is not None or window.stop is not None:
        yield "a part of the run: waits for calls outside of --from and --to are left out"
    yield from window.caveats(trace)
    if known := inlined_line(trace):
        yield f"{known} (compile them with __attribute__((noinline)) to record them)"


def _makers(facts: RunFacts) -> Iterator[str]:
    """A line if calls that create communicators or processes take a large part of the time of all threads."""
    ends = [ACTIVITIES.index(f"mpi/management/{end}") for end in ("init", "finalize")]
    times = np.where(facts.management & ~np.isin(facts.activity, ends), facts.exclusive(facts.rows), 0)
    share = int(times.sum()) / facts.whole
    if share >= _MUCH:
        name = facts.region(int(np.argmax(times)))
        yield (
            f"{share:.0%} of the time is in calls that make communicators or processes, most in {name}: waits in them "
            "are unknown"
        )


_CALLS = (
    ("VT_IOTRACE", "calls of I/O", "--io", ("read", "write", "pread", "pwrite", "pread64", "pwrite64", "readv",
     "writev", "open", "open64", "openat", "close", "fsync", "fdatasync", "lseek", "lseek64")),
    ("VT_MEMTRACE", "malloc and free", "--memory", ("malloc", "calloc", "realloc", "free", "cfree", "int_malloc",
     "int_free", "int_realloc", "malloc_consolidate", "unlink_chunk", "sysmalloc", "systrim")),
)  # fmt: skip
"""Calls that samples may show: the setting that records them, words, the option, the functions."""
_OF_MACHINE = ("noise", "oversubscribed", "tracing")
"""Kinds of findings without a place in the program."""
_NOTHING = (
    "nothing was recorded: a short run has no samples; compile with vtrace-cc for functions, or record files with "
    "vtrace run --io"
)


def to_record(facts: RunFacts, findings: Sequence[Finding]) -> str:
    """A line if functions are needed to name the place of a loss, or of the time of a program without losses, or locks
    to say what threads wait for, or if there is nothing at all; else an empty text."""
    if not facts.rows and facts.window == Selection():
        return _NOTHING
    unnamed = any(OUTSIDE in one.text for one in findings)
    main = next((one for one in findings if one.kind not in _OF_MACHINE), None)
    unknown = not findings and facts.by_class()["outside"] > _MOSTLY * facts.whole
    functions = ""
    if any(UNNAMED in one.text for one in findings):
        functions = "to see which functions allocate: compile with vtrace-cc"
    elif any(UNSEEN in one.text for one in findings):
        functions = (
            "to see which functions take page faults: VT_SAMPLE_EVENT=page-faults:100 vtrace run --sample "
            "--sample-clock perf; or vtrace run --memory, which names those that allocate"
        )
    elif (unnamed or unknown) and not facts.sampled:
        functions = "to see which functions take the time: vtrace run --sample, or compile with vtrace-cc"
    elif main and OUTSIDE in main.text:  # a thread that sleeps for moments has none, nor a line about its calls
        option = "vtrace run --python" if facts.blocked.python_regions else "compile with vtrace-cc"
        functions = f"samples do not show which functions take the time: {option}"
        unknown_ns = facts.blocked.within() * facts.asleep_at_work * ~facts.blocked.is_known
        if unknown_ns.sum() >= _MOSTLY * main.loss_ns / max(1, len(main.ranks)) and not facts.io.any():
            functions += ", and whether calls of I/O do: vtrace run --io"
    elif any(UNKNOWN_CALL in one.text for one in findings) and not facts.io.any():
        functions = "to see whether the calls that sleep are I/O: vtrace run --io"
    others = _processes_to_record(facts), _locks_to_record(facts), *_calls_to_record(facts)
    return "; ".join(filter(None, (functions, *others)))


def _calls_to_record(facts: RunFacts) -> Iterator[str]:
    """Words about calls in which samples show much of the time, and that were not recorded."""
    settings = facts.trace.vtrace.get("SETTINGS", {})
    for setting, calls, option, functions in _CALLS:
        ns = facts.sampled.in_libc(functions) if facts.sampled and settings.get(setting) == "no" else 0
        if ns >= _MUCH * facts.whole:
            yield f"{span(ns)} are in {calls}, by samples, which are not recorded: vtrace run {option}"


def _processes_to_record(facts: RunFacts) -> str:
    """Words about processes without records, and one that mostly waits for such: whether these lose time is unknown. A
    process that only sleeps has no samples."""
    if facts.window != Selection():
        return ""
    advice = "those of Python need vtrace run --python, others vtrace-cc"
    if np.any(facts.trace.regions["paradigm"] == "COMPILER"):
        advice += ", inlined functions __attribute__((noinline))"
    asleep = facts.blocked.within() * facts.asleep_for_child
    waited = np.bincount(facts.blocked.location, asleep, facts.trace.locations.rows)
    waiting = [row for row in facts.masters.values() if waited[row] > _MOSTLY * facts.times[row].sum()]
    if waiting and not len(facts.masters) == facts.trace.processes.rows > 1:
        who, whole = locations_text(facts.trace, waiting), span(int(waited[waiting].sum()))
        mine = asleep * np.isin(facts.blocked.location, waiting) * (facts.path_of_blocked > 0)
        path = int(np.argmax(np.bincount(np.maximum(0, facts.path_of_blocked), mine, facts.paths.rows)))
        does = f"wait{'s' * (len(waiting) == 1)} {whole}" + f" in {facts.call_text(facts.paths, path)}" * (path > 0)
        return f"{who} {does} for processes of which nothing was recorded: {advice}"
    if missing := facts.unrecorded:
        return f"nothing was recorded of {missing} started process{'es' * (missing > 1)}: {advice}"
    return ""


def _locks_to_record(facts: RunFacts) -> str:
    """Words about threads that run less than they could outside of recorded waits and known calls that sleep, if locks
    were not recorded: whether these threads wait for locks, sleep, or wait for data is unknown. OpenMP's threads wait
    between parallel regions. The longest sleep of a thread does not count, nor do waits until a time: threads of
    libraries have nothing to do from some time on, or look for work now and then."""
    trace = facts.trace
    settings = trace.vtrace.get("SETTINGS", {})
    unknown = settings.get("VT_PTHREAD", "locks") != "locks" and settings.get("VT_PROCESSOR_WAIT") == "yes"
    if facts.window != Selection() or not unknown:
        return ""
    others = {*facts.masters.values(), *(row for _, row in facts.workers), *short_threads(facts)}
    rows = [row for row in facts.rows if row not in others]
    n = facts.numbers.take((facts.waiting | facts.io)[facts.numbers["path"]])
    known = add_up(n["location"], n["exclusive"], trace.locations.rows) + facts.waited_at_work()
    blocked = facts.blocked
    serves = blocked.is_timed & facts.sleeps_at_work[blocked.region]  # or waits for the interpreter, as a finding tells
    is_known = facts.asleep_at_work & blocked.is_known | serves
    known = known + np.bincount(blocked.location, blocked.within() * is_known, trace.locations.rows)
    np.maximum.at(longest := np.zeros(trace.locations.rows), blocked.location,
                  blocked.within() * ~(is_known | blocked.is_for_lock))  # fmt: skip
    coverage = trace.coverage()
    cpu = (coverage["user"] + coverage["system"]) * 1e9
    idle, waiting = 0.0, 0
    for row in rows:
        whole = facts.times[row].sum()
        ns = float(whole - known[row] - cpu[row] - longest[row])
        if ns > _MUCH * whole:
            idle, waiting = idle + ns, waiting + 1
    if idle < _MUCH * facts.whole:
        return ""
    threads = f"{some(waiting, 'thread')} {'is' if waiting == 1 else 'are'} off the processor for {span(int(idle))}"
    return f"{threads} outside of recorded waits and I/O, and locks are not recorded: vtrace run --locks"


def died(trace: Source) -> str:
    """Words about ranks that ended early while they used MPI; "" if all ranks ended normally or the ends are
    unknown."""
    table = trace.not_recorded().intervals
    rows = trace.definitions.ids["locations"].rows(table["location"][table["reason"].astype(str) == "process died"])
    ranks = np.append(trace.processes["rank"], -1)[trace.places.process[rows]]
    early = sorted({int(rank) for rank in ranks if rank >= 0})
    if not early:
        return ""
    return f"rank {early[0]} ended early" if len(early) == 1 else f"ranks {ranges(early)} ended early"


def without_partners(facts: RunFacts, waits: Table) -> str:
    """A line if the archive has calls that communicate, but no messages or collective operations, which other tools
    record only on request. The replay treats each MPI_Finalize as a collective operation without an event."""
    counts, activity, n = waits.notes["counts"], facts.activity, facts.numbers
    ends = counts["messages"] + counts["unmatched_sends"] + counts["unmatched_receives"]
    operations = counts["collectives"] + counts["unmatched_collectives"]
    last = activity == ACTIVITIES.index("mpi/management/finalize")
    if ends or operations > int(n["calls"][last[n["path"]]].sum()):
        return ""
    calls = [ACTIVITIES.index(name) for name in ("mpi/p2p", "mpi/collective")]
    if not np.any((np.isin(activity, calls) & ~facts.management)[n["path"]]):
        return ""
    return "no messages or collective operations were recorded, only calls of MPI: waits and their causes are unknown"


def recorded_apart(facts: RunFacts) -> str:
    """A line if ranks were recorded in different parts of the run, so that their times tell nothing about their
    work."""
    ranks = facts.ranked
    if len(ranks) < 2:
        return ""
    extent = facts.extent.take(np.isin(facts.extent["location"], ranks))
    ends = np.array([extent["first"].min(), extent["last"].max()], np.int64)
    ends = np.clip(ends, *facts.window.ends(facts.trace))
    gaps = [_gaps(facts, row, ends) for row in extent.records()]
    whole = int(ends[1] - ends[0])
    most, common = whole - min(map(_covered, gaps)), whole - _covered(np.concatenate(gaps))
    if most - common <= _DIFFERENT * most:
        return ""
    return (
        f"events of all ranks were recorded in {span(common)} of the run, of one rank in {span(most)}: the work of "
        "ranks is not compared"
    )


def _gaps(facts: RunFacts, extent: dict[str, int], ends: Array) -> Array:
    """(n, 2) ns: intervals between two ends without records of a location: before its first event, after the last one,
    and those of the ledger. extent: the location's row."""
    trace = facts.trace
    table = trace.not_recorded([extent["location"]]).intervals
    table = table.take((table["class"].astype(str) == "all") & (table["reason"].astype(str) != FLUSH))
    ticks = np.stack([table["from"], table["to"]], 1).astype(np.float64) - trace.offset
    outer = np.array([[ends[0], extent["first"]], [extent["last"], ends[1]]], np.float64)
    found = np.concatenate([ticks * (10**9 / trace.resolution), outer])
    clipped: Array = np.clip(found, *ends).astype(np.int64)
    return clipped


def _covered(intervals: Array) -> int:
    """ns inside of any of the intervals."""
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reached = np.maximum.accumulate(ordered[:, 1])
    fresh = np.maximum(ordered[1:, 0], reached[:-1])
    return int(ordered[0, 1] - ordered[0, 0] + np.maximum(0, ordered[1:, 1] - fresh).sum())
