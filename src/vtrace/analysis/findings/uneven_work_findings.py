# SPDX-License-Identifier: BSD-3-Clause
"""Uneven work of processes whose waits are unknown: the others may wait for the longest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vtrace.analysis.activity import waits as waiting_calls
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import BOUND, Finding
from vtrace.analysis.findings.kinds import rule
from vtrace.analysis.findings.process_teams import uneven_teams
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.findings.run_notes import recorded_apart
from vtrace.analysis.findings.wait_pool import WaitPool, waited_in_mpi
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, Table, add_up, group

_MOST, _HALF = 3, 0.5
"""The most findings; ranks are slow from this part of the way from the mean to the longest on."""
_UNEVEN = 0.1
"""Unknown waits are told from this part of the time on that all ranks would have at the longest rank's work."""
_END = "_completion"
"""Ending of the kinds of waits that no finding tells."""
_AMONG_NEIGHBOURS = re.compile(r"p?mpi_neighbor_", re.IGNORECASE)


@rule()
def uneven_work(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The largest differences between ranks, or between processes of a program without ranks. For runs whose waits are
    unknown. Upper bounds."""
    if diagnosis.mpi:
        return
    facts = diagnosis.facts
    masters, ranks = [*facts.masters.values()], facts.ranked
    if len(ranks) > 1 and not recorded_apart(facts):
        yield from _between_ranks(facts, ranks)
    elif not ranks and len(masters) > 1:
        yield from [*uneven_teams(facts)] or _between_processes(facts, masters)


@rule()
def waits_without_kind(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits in MPI of no kind: in collective operations among neighbours, whom archives do not name; and in probes,
    locks of windows and transfers of large messages, if the load is so uneven beside all known waits. Ranks that work
    longer are late for them. Upper bounds."""
    facts, masters, names = diagnosis.facts, diagnosis.facts.ranked, diagnosis.facts.trace.regions["name"]
    if not diagnosis.mpi or len(masters) < 2:
        return
    among = np.append([bool(_AMONG_NEIGHBOURS.match(str(name))) for name in names], False)
    waits, work = facts.spent_in(among[facts.paths["region"]])[masters], facts.working_time[masters]
    waits -= waits.min()
    less = work.max() - work
    yield from _late_ranks(facts, among, int(min(waits.sum(), less.sum())), np.ones(facts.paths.rows))
    others = np.append(waiting_calls(names.tolist(), facts.trace.regions["activity"]), False)
    others &= facts.waits_in_mpi & ~among
    more, unknown = _unknown_waits(facts, diagnosis.mpi.waits, others, less - waits)
    if more >= _UNEVEN * len(masters) * work.max():
        yield from _late_ranks(facts, others, more, unknown)


def _unknown_waits(facts: RunFacts, waits: Table, regions: Array, less: Array) -> tuple[int, Array]:
    """ns that ranks may wait in calls of these regions ((regions + 1,) bool) beside the known waits; (paths,) the share
    of unknown time in each call. less: ns that each rank works less than the longest. Time that even the rank with the
    least of it spends in the calls is no wait."""
    masters, known = facts.ranked, waits.take(~np.char.endswith(waits.kinds, _END)[waits["kind"]])
    region = waits.paths["region"][known["path"]]
    inside, at = regions[region], facts.trace.locations.rows
    told = add_up(known["location"], known["time_ns"], at)[masters]
    told_here = add_up(known["location"][inside], known["time_ns"][inside], at)[masters]
    without_processor, _ = waited_in_mpi(facts, waits)
    spent = facts.spent_in(regions[facts.paths["region"]])[masters] - told_here
    spent = np.maximum(0, spent - without_processor[masters])
    each = np.minimum(spent - spent.min(), less - told)
    whole = np.bincount(facts.paths["region"] + 1, facts.exclusive(masters), len(regions))
    mine = np.isin(known["location"], masters)
    of_region = np.bincount(region[mine] + 1, known["time_ns"][mine], len(regions))
    unknown: Array = 1 - of_region / np.maximum(1, whole)
    return int(np.maximum(0, each).sum()), unknown[facts.paths["region"] + 1]


def _late_ranks(facts: RunFacts, regions: Array, loss: int, unknown: Array) -> Iterator[Finding]:
    """The ranks that work longest, for which others wait in calls of these regions. unknown: (paths,) the share of the
    calls' time that may be these waits."""
    masters, work = facts.ranked, facts.working_time[facts.ranked]
    is_slow = work > work.mean() + _HALF * (work.max() - work.mean())
    slow, others = ([row for row, here in zip(masters, mask, strict=True) if here] for mask in (is_slow, ~is_slow))
    longer = facts.longer_place(slow, others) if loss > 0 and slow and others else ""
    if not longer:
        return
    path = int(np.argmax(np.where(regions[facts.paths["region"]], facts.exclusive(masters) * unknown, -1)))
    who, does = locations_text(facts.trace, slow), "s" * (len(slow) == 1)
    yield facts.finding(
        "imbalance", loss, path, locations=others, culprit=f"{who}, {longer}", certainty=BOUND,
        text=f"{who} take{does} longer in {longer} than the others: up to {span(loss)} of waiting in "
        f"{facts.call_text(facts.paths, path)}",
        processor_ns=facts.of_processor(
            loss, slow, others, times=facts.working_time, waited=WaitPool(facts).waited_in(~facts.waiting)
        ),
        evidence=("profile", "--by", "rank"),
    )  # fmt: skip


def _between_ranks(facts: RunFacts, masters: list[int]) -> Iterator[Finding]:
    """The call paths with uneven times on the ranks. All of them together lose at most the rest of their time."""
    n = facts.numbers.take(np.isin(facts.numbers["location"], masters))
    most = np.zeros(facts.paths.rows, np.int64)
    np.maximum.at(most, n["path"], n["exclusive"])
    spent = add_up(n["path"], n["exclusive"], facts.paths.rows)
    lives = int(facts.times[masters].sum())
    loss = np.where(facts.working, np.minimum(len(masters) * most, lives) - spent, 0)
    for path in np.argsort(-loss, kind="stable")[:_MOST].tolist():
        if loss[path] > 0:
            mine = n.take(n["path"] == path)
            at = dict(zip(mine["location"].tolist(), mine["exclusive"].tolist(), strict=True))
            inside = np.arange(facts.paths.rows) == path
            yield _imbalance(facts, path, {row: at.get(row, 0) for row in masters}, int(loss[path]), inside=inside)


def _between_processes(facts: RunFacts, masters: list[int]) -> Iterator[Finding]:
    """The regions with uneven times on the processes that call them. A forked process has other call paths than its
    parent, and may do other work at another time. So a process loses at most the time that it lives together with the
    longest one, and at most the time of its calls that are no work."""
    n = facts.numbers
    idle = n.take(np.isin(n["location"], masters) & ~facts.working[n["path"]] & (n["path"] > 0))
    waited = add_up(idle["location"], idle["exclusive"], facts.trace.locations.rows)
    n = n.take(np.isin(n["location"], masters) & facts.working[n["path"]] & (n["exclusive"] > 0))
    regions = facts.paths["region"][n["path"]]
    first, member = group([regions, n["location"]])
    sums = Table({
        "region": regions[first], "location": n["location"][first], "time": add_up(member, n["exclusive"], len(first)),
    })  # fmt: skip
    sums = sums.take(np.lexsort((-sums["time"], sums["region"])))
    begins, member = group([sums["region"]])
    longest = begins[member]
    together = _together(facts, sums["location"], sums["location"][longest])
    lost = np.minimum(np.minimum(sums["time"][longest] - sums["time"], waited[sums["location"]]), together)
    loss = add_up(member, lost, len(begins))
    for number in np.argsort(-loss, kind="stable")[:_MOST].tolist():
        if loss[number] > 0:
            mine = sums.take(member == number)
            times = dict(zip(mine["location"].tolist(), mine["time"].tolist(), strict=True))
            here = (n["location"] == mine["location"][0]) & (regions == mine["region"][0])
            path = int(n["path"][here][np.argmax(n["exclusive"][here])])
            losers = sums["location"][(member == number) & (lost > 0)]
            one = _imbalance(
                facts, path, times, int(loss[number]), inside=facts.paths["region"] == facts.paths["region"][path]
            )
            yield replace(one, ranks=facts.ranks_of(losers))


def _together(facts: RunFacts, one: Array, other: Array) -> Array:
    """(n,) ns from the first to the last event that both locations of each pair live."""
    first, last = np.zeros((2, facts.trace.locations.rows), np.int64)
    first[facts.extent["location"]], last[facts.extent["location"]] = facts.extent["first"], facts.extent["last"]
    begin, end = np.maximum(first[one], first[other]), np.minimum(last[one], last[other])
    found: Array = np.maximum(0, end - begin)
    return found


def _imbalance(facts: RunFacts, path: int, times: dict[int, int], loss: int, *, inside: Array) -> Finding:
    """times: ns by location. inside: (paths,) bool, the call paths of these times."""
    longest, mean = max(times.values()), sum(times.values()) / len(times)
    slow = [at for at, ns in times.items() if ns > mean + _HALF * (longest - mean)]
    others = [at for at in times if at not in slow]
    spent = np.zeros(facts.trace.locations.rows)
    spent[[*times]] = [*times.values()]
    waited = WaitPool(facts).waited_in(inside)
    place, does = facts.call_text(facts.paths, path), "s" if len(slow) == 1 else ""
    text = (
        f"{locations_text(facts.trace, slow)} take{does} longer in {place} than the others: {span(longest)}, "
        f"the mean of all is {span(mean)}"
    )
    return facts.finding(
        "imbalance", loss, path, locations=others, text=text, culprit=f"{locations_text(facts.trace, slow)}, {place}",
        certainty=BOUND, processor_ns=facts.of_processor(loss, slow, others, times=spent, waited=waited),
        evidence=("profile", "--by", "rank", "--select", f"region={facts.region(path)}"),
    )  # fmt: skip
