# SPDX-License-Identifier: BSD-3-Clause
"""Processes that share work without MPI, such as those of multiprocessing.Pool: children of one process that run the
same functions at the same time, while that process waits. Those with less work wait for work or end early."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vtrace.analysis.findings.finding import BOUND, Finding
from vtrace.analysis.findings.run_facts import RunFacts, locations_text, path_source
from vtrace.analysis.programs import of_processes
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Array
from vtrace.io.sidecar.sidecar import PYTHON

_POOLED = re.compile(r"(worker@.*/multiprocessing/pool|_process_worker@.*/concurrent/futures/process)\.py")
"""The functions of Python in which the processes of a pool take tasks."""
_QUEUE = re.compile(r"@.*/(multiprocessing/(pool|queues|connection|synchronize|popen_\w+)|concurrent/futures/\w+)\.py:")
"""Functions of Python that wait for other processes."""
_MOST = 256
"""The most processes of a team, since the time to compare them grows with their square."""
_MOST_CELLS = 1 << 27
"""The most processes of a team times ends of waits: the bytes of each table of _Times."""
_HALF, _ASLEEP = 0.5, 0.8
"""_HALF: as for ranks (uneven_work_findings.py). _ASLEEP: the least share of an interval that a process sleeps."""


@dataclass(frozen=True, kw_only=True)
class _Times:
    """What members of a team do in segments of time. lengths: (segments,) ns. idle, busy, ended: (members, segments)
    bool. counts: (segments,) bool: all have begun, one of them works, and the process that started them waits."""

    lengths: Array
    idle: Array
    busy: Array
    ended: Array
    counts: Array


def uneven_teams(facts: RunFacts) -> Iterator[Finding]:
    """A finding for each team with uneven work. Upper bounds."""
    for first, siblings in _siblings(facts):
        if 1 < len(siblings) <= _MOST:
            yield from _uneven(facts, first, siblings)


def _siblings(facts: RunFacts) -> list[tuple[int, list[int]]]:
    """The first locations of processes that one process started with its own program, as fork does, each after the
    first location of the outermost process that runs this program. A shell, make and their like start other
    programs."""
    trace, found = facts.trace, defaultdict[tuple[int, int], list[int]](list)
    groups = trace.processes["group"].tolist()
    process = {group: row for row, group in enumerate(groups)}
    programs = [executable for _, executable, _ in of_processes(trace)]

    def creator(row: int) -> int:
        """The process that started one with its own program; -1: none."""
        by = process.get(int(trace.groups["creator"][groups[row]]), -1)
        return by if by in facts.masters and programs[by] == programs[row] != "" else -1

    for row, location in facts.masters.items():
        by = outermost = creator(row) if row >= 0 else -1
        seen = {row, -1}  # a damaged archive may have a cycle
        while outermost not in seen and (above := creator(outermost)) >= 0:
            seen.add(outermost)
            outermost = above
        if by >= 0:
            found[by, facts.masters[outermost]].append(location)
    return [(first, members) for (_, first), members in found.items()]


def _uneven(facts: RunFacts, first: int, siblings: list[int]) -> Iterator[Finding]:
    """The finding about children of a process (its first location), if they are a team with uneven work."""
    resting = _resting(facts)
    waiting = _waiting(facts, first, siblings, resting)
    if 2 * np.count_nonzero(waiting) * len(siblings) > _MOST_CELLS:
        return
    times = _times(facts, first, siblings, waiting)
    longest = siblings[int(np.argmax(_ns(times.busy, times)))]
    path = facts.longer_path([longest], rest := [row for row in siblings if row != longest], resting)
    if path < 0:
        return
    _, names = facts.function_at(path, [longest], rest)
    known = _functions(facts, siblings)
    members = [longest, *(row for row in rest if _is_like(known[longest], known[row], names))]
    times = _times(facts, first, members, waiting)
    lost, work = times.idle & times.counts, _ns(times.busy, times)
    is_slow = work > work.mean() + _HALF * (work.max() - work.mean())
    slow, others = ([row for row, here in zip(members, mask, strict=True) if here] for mask in (is_slow, ~is_slow))
    path = facts.longer_path(slow, others, resting) if slow and others else -1
    served = [row for row in others if _is_pooled(known[row]) or any(_QUEUE.search(f"@{one}") for one in known[row])]
    has_ends = not _died(facts, served)  # the last wait for work of a worker that is ended has no record
    if lost.any() and path >= 0 and not _QUEUE.search(f"@{path_source(facts.trace, facts.paths, path)}"):
        yield _finding(
            facts, path, slow=slow, others=others, loss=round(_ns(lost, times).sum()),
            more=round(work[is_slow].mean() - work[~is_slow].mean()),
            ended=_ns(lost & times.ended, times).sum() if has_ends else 0,
            work=dict(zip(members, work.tolist(), strict=True)), waited=_waited(facts, members, work, resting),
        )  # fmt: skip


def _waited(facts: RunFacts, members: list[int], work: Array, resting: Array) -> Array:
    """(locations,) ns that members waited for a processor: by these waits, and by the time in which a thread neither
    used a processor nor slept. The CPU time of a killed process is that of its samples. work: (members,) ns."""
    coverage, rows = facts.trace.coverage(), facts.trace.locations.rows
    cpu = (coverage["user"] + coverage["system"]) * 1e9
    if facts.costs and facts.costs.samples.rows:
        samples = facts.costs.samples
        sampled = np.bincount(samples["location"], samples["count"] * samples["ns"], rows)
        cpu = np.where((coverage["died"] > 0) & (sampled > 0), sampled, cpu)
    asleep = np.bincount(facts.blocked.location, facts.blocked.within() * ~resting, rows)
    found = facts.waited_at_work()
    if facts.window == Selection():
        found[members] = np.fmax(found[members], work - (cpu + asleep)[members])
    return found


def _finding(
    facts: RunFacts, path: int, *, slow: list[int], others: list[int], loss: int, more: int, ended: int,
    work: dict[int, float], waited: Array,
) -> Finding:  # fmt: skip
    """more: ns that the slow ones work longer than the others. ended: ns of the loss after the ends of processes.
    work: ns by location. waited: (locations,) ns for a processor."""
    who, does, (place, _) = (
        locations_text(facts.trace, slow),
        "s" * (len(slow) == 1),
        facts.function_at(path, slow, others),
    )
    waits = f"wait {span(loss)} for work"
    if ended > _HALF * loss:
        waits = f"end {span(loss)} earlier{', together' * (len(others) > 1)}"
    text = f"{who} work{does} {span(more)} longer in {place} than the others, which {waits}"
    culprit = f"{who}, {place}"
    if more * len(others) < _HALF * loss:
        text, culprit = f"processes {waits} while another one works in {place}, a different one each time", ""
    spent = np.zeros(facts.trace.locations.rows)
    spent[[*work]] = [*work.values()]
    return facts.finding(
        "imbalance", loss, path, share=min(1.0, loss / facts.whole), text=text, culprit=culprit, locations=others,
        processor_ns=facts.of_processor(loss, slow, others, times=spent, waited=waited),
        certainty=BOUND, evidence=("diagnose", "--about", "processor"),
    )  # fmt: skip


def _died(facts: RunFacts, locations: list[int]) -> bool:
    """True if one of the processes has no end, as those of a pool, which waited for work before."""
    return bool((facts.trace.coverage()["died"][locations] > 0).any())


def _ns(segments: Array, times: _Times) -> Array:
    """(members,) the ns of these segments ((members, segments) bool)."""
    return np.array([times.lengths[row].sum() for row in segments])


def _resting(facts: RunFacts) -> Array:
    """(times,) bool: the sleep is a wait for another process."""
    known = {site: any(map(_QUEUE.search, site)) for site in {*facts.blocked.sites}}
    in_queue = np.array([known[site] for site in facts.blocked.sites], bool)
    return in_queue | facts.blocked.is_for_process | facts.asleep_for_child


def _waiting(facts: RunFacts, first: int, members: list[int], resting: Array) -> Array:
    """(times,) bool: the sleep is a wait of a member of a team, or of the process that waits for them, or reads what
    they send (first: its first location)."""
    asleep = facts.blocked
    waiting: Array = resting | ((asleep.location == first) & (facts.asleep_for_thread | asleep.is_for_data))
    mine = np.isin(asleep.location, [first, *members])
    return waiting & (asleep.ns >= _ASLEEP * (asleep.end - asleep.begin)) & mine


def _times(facts: RunFacts, first: int, members: list[int], waiting: Array) -> _Times:
    """What members of a team do. first, waiting: as in _waiting, whose members may be more."""
    asleep, window = facts.blocked, facts.window.ends(facts.trace)
    extent = {int(row["location"]): row for row in facts.extent.records()}
    begins, ends = (np.array([extent[row][name] for row in members], np.float64) for name in ("first", "last"))
    edges = np.unique(np.concatenate([asleep.begin[waiting], asleep.end[waiting], begins, ends]).clip(*window))

    def waits_of(location: int) -> Array:
        """(segments,) bool: the location waits."""
        mine, depth = waiting & (asleep.location == location), np.zeros(len(edges))
        for times, step in ((asleep.begin[mine], 1), (asleep.end[mine], -1)):
            np.add.at(depth, np.searchsorted(edges, times.clip(*window)), step)
        found: Array = np.cumsum(depth)[:-1] > 0
        return found

    alive = (edges[:-1] >= begins[:, None]) & (edges[1:] <= ends[:, None])
    waits = np.array([waits_of(row) for row in members])
    ended = edges[:-1] >= ends[:, None]
    busy = alive & ~waits
    together = (edges[:-1] >= begins.max()) if ends.min() > begins.max() else np.zeros(len(edges) - 1, bool)
    return _Times(
        lengths=np.diff(edges), idle=waits | ended, busy=busy, ended=ended,
        counts=together & busy.any(axis=0) & waits_of(first),
    )  # fmt: skip


def _functions(facts: RunFacts, locations: list[int]) -> dict[int, set[str]]:
    """The functions that locations call, as far as records, samples and sleep tell, as name@file."""
    trace, found = facts.trace, {row: set[str]() for row in locations}
    names = [
        f"{name}@{file}" for name, file in zip(*(trace.regions[c].tolist() for c in ("name", "file")), strict=True)
    ]
    regions = facts.paths["region"]
    for path, location in zip(facts.numbers["path"].tolist(), facts.numbers["location"].tolist(), strict=True):
        if location in found and path:
            found[location].add(names[regions[path]])
    for location, site in zip(facts.blocked.location.tolist(), facts.blocked.sites, strict=True):
        if location in found:
            found[location].update(call.removeprefix(PYTHON) for call in site)
    if sampled := facts.sampled:
        for location in locations:
            found[location].update(names[region] for region in sampled.regions_of(location))
    return found


def _is_pooled(functions: set[str]) -> bool:
    """True if a process that calls these functions takes tasks of a pool."""
    return any(map(_POOLED.match, functions))


def _is_like(one: set[str], other: set[str], names: tuple[str, ...]) -> bool:
    """Two processes do the same work: both call the functions of a call path, or take tasks of a pool."""
    is_known = bool(names) and {*names} <= {name.rpartition("@")[0] for name in other}
    return is_known or (_is_pooled(one) and _is_pooled(other))
