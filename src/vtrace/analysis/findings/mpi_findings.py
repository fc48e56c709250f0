# SPDX-License-Identifier: BSD-3-Clause
"""Findings about MPI: who delays whom (imbalance, serialisation, one process that does the I/O), waits without a known
cause, and transfers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from vtrace.analysis.activity import ACTIVITIES, CLASS_OF, IO, MPI
from vtrace.analysis.findings.finding import BOUND, ESTIMATE, EXACT, Finding
from vtrace.analysis.findings.run_facts import RunFacts, find_path, place_text, who_ranks
from vtrace.analysis.findings.run_notes import died
from vtrace.analysis.questions.clock_bounds import ClockBounds
from vtrace.analysis.questions.path_sums import outermost
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Array, Table, add_up, group

_CULPRIT = 0.15
"""The least share of a path's delays that makes a location one of its culprits."""
_MOST = 20
"""Causes to look at."""
_MOSTLY = 0.5
_UNEVEN = 0.4
"""A path is uneven if its excess on some processes explains so much of the waits; otherwise processes take turns."""


@dataclass
class MpiAnswers:
    """Trace.critical_path, waits, delays and efficiencies for one selection."""

    critical_path: Table
    waits: Table
    delays: Table
    efficiencies: Table


@dataclass
class _Cause:
    """The delays that one call path causes, of all its culprits."""

    path: int
    locations: list[int]
    loss: int
    rows: Array


def mpi_findings(facts: RunFacts, answers: MpiAnswers) -> Iterator[Finding]:
    """Findings of any size."""
    told: dict[tuple[int, int], int] = {}
    clocks = ClockBounds(facts.trace)
    d = answers.delays
    row_of = {int(path): find_path(facts, _names(facts, d.paths, int(path))) for path in np.unique(d["waiting_path"])}
    for cause in islice(_causes(d), _MOST):
        rows = np.flatnonzero(_caused(facts, answers.waits, d, cause))
        yield _judged(_delay(facts, answers.waits, d, cause), answers.waits, rows, clocks)
        for row in cause.rows.tolist():
            key = int(d["kind"][row]), row_of[int(d["waiting_path"][row])]
            told[key] = told.get(key, 0) + int(d["direct_ns"][row] + d["indirect_ns"][row])
    yield from _other_waits(facts, answers.waits, told, clocks)
    yield from _transfer(facts, answers)


def _names(facts: RunFacts, paths: Table, path: int) -> tuple[str, ...]:
    return tuple(path_names(paths, facts.trace.regions["name"], path))


def _causes(delays: Table) -> Iterator[_Cause]:
    """The causes by call path, the largest loss first."""
    time = np.rint(delays["direct_ns"] + delays["indirect_ns"]).astype(np.int64)
    first, member = group([delays["path"]])
    sums = add_up(member, time, len(first))
    for number in np.argsort(-sums, kind="stable").tolist():
        rows = np.flatnonzero(member == number)
        by = {int(at): 0 for at in delays["location"][rows]}
        for at, ns in zip(delays["location"][rows].tolist(), time[rows].tolist(), strict=True):
            by[at] += ns
        culprits = sorted(at for at, ns in by.items() if ns >= _CULPRIT * sums[number])
        yield _Cause(
            int(delays["path"][first[number]]), culprits or [max(by, key=by.__getitem__)], int(sums[number]), rows
        )


def _delay(facts: RunFacts, table: Table, delays: Table, cause: _Cause) -> Finding:
    trace = facts.trace
    names = _names(facts, delays.paths, cause.path)
    culprits = who_ranks(trace, cause.locations)
    place = place_text(trace, delays.paths, cause.path)
    waiters, waiting = _waiters(facts, table, delays, cause)
    region = int(delays.paths["region"][cause.path])
    activity = ACTIVITIES[trace.regions["activity"][region]] if region >= 0 else "user"
    is_io = activity == "mpi/io" or CLASS_OF[ACTIVITIES.index(activity)] == IO
    waits = f"{span(cause.loss)} of waiting in {waiting}" if waiting else f"{span(cause.loss)} of waiting"
    in_turn = len(cause.locations) == len(facts.masters) or _excess(facts, names) < _UNEVEN * cause.loss
    does = "s" if len(cause.locations) == 1 else ""
    if is_io:
        kind, text = (
            "io_by_few_ranks",
            f"{culprits} do{'es' * bool(does)} the I/O alone, {place}, while the others wait: {waits}",
        )
        evidence: tuple[str, ...] = ("diagnose", "--about", "io")
    elif in_turn:
        kind, text = (
            "serialisation",
            f"ranks take turns instead of working at once: {place} delays the next rank, {waits}",
        )
        evidence = ("view", "--text")
    else:
        kind, text = "imbalance", f"{culprits} take{does} longer in {place} than the others: {waits}"
        evidence = (
            ("profile", "--by", "rank", "--select", f"region={names[-1]}") if names else ("profile", "--by", "rank")
        )
    return Finding(
        kind, cause.loss, cause.loss / facts.whole, text, names[-1] if names else "",
        facts.region_source(delays.paths, cause.path), names, waiters, f"{culprits}, {place}",
        ESTIMATE if in_turn else EXACT, (), facts.window.start, facts.window.stop, evidence,
    )  # fmt: skip


def _waiters(facts: RunFacts, waits: Table, delays: Table, cause: _Cause) -> tuple[tuple[int, ...], str]:
    """The processes that wait for a cause, and the call in which most of the waiting happens."""
    time = delays["direct_ns"][cause.rows] + delays["indirect_ns"][cause.rows]
    largest = int(cause.rows[np.argmax(time)])
    path = int(delays["waiting_path"][largest])
    if path <= 0:
        return (), ""
    locations = np.unique(waits["location"][_caused(facts, waits, delays, cause)])
    return facts.ranks_of(locations[~np.isin(locations, cause.locations)]), place_text(facts.trace, delays.paths, path)


def _caused(facts: RunFacts, waits: Table, delays: Table, cause: _Cause) -> Array:
    """(waits,) bool: the waits in the call paths that a cause delays."""
    wanted = {_names(facts, delays.paths, int(one)) for one in np.unique(delays["waiting_path"][cause.rows])}
    is_caused = np.zeros(waits.paths.rows, bool)
    for path in np.unique(waits["path"]).tolist():
        is_caused[path] = _names(facts, waits.paths, path) in wanted
    found: Array = is_caused[waits["path"]]
    return found


def _judged(one: Finding, waits: Table, rows: Array, clocks: ClockBounds) -> Finding:
    """A finding about some waits: with a caveat if clocks may differ by more, and an estimate if by more than most."""
    columns = (waits[name][rows] for name in ("location", "partner", "time_ns", "count"))
    share, line = clocks.unsure(*columns)
    if not line:
        return one
    certainty = ESTIMATE if share > _MOSTLY and one.certainty == EXACT else one.certainty
    return replace(one, certainty=certainty, caveats=(*one.caveats, line))


def _excess(facts: RunFacts, names: tuple[str, ...]) -> int:
    """ns that the processes together would wait if all met after each did all its calls of a path: the sum of the
    differences to the longest."""
    row = find_path(facts, names)
    masters = [*facts.masters.values()]
    if not row:
        return 0
    inside = outermost(facts.paths["parent"], np.arange(facts.paths.rows) == row) > 0
    n = facts.numbers
    n = n.take((inside & ~facts.waiting)[n["path"]])
    times = add_up(n["location"], n["exclusive"], facts.trace.locations.rows)[masters]
    return int((times.max() - times).sum())


_WORDS = {
    "mpi_latesender": "{place} waits {loss} for messages that are sent late",
    "mpi_latesender_wo": "{place} waits {loss} for messages while others arrive in another order",
    "mpi_latereceiver": "{place} waits up to {loss} for receivers that are late",
    "mpi_barrier_wait": "ranks wait {loss} in {place} for the last one",
    "mpi_wait_nxn": "ranks wait {loss} in {place} for the last one",
    "mpi_latebroadcast": "ranks wait {loss} in {place} for its root",
    "mpi_earlyreduce": "the root waits {loss} in {place} for the first of the others",
    "mpi_rma_lock_competition": "{place} waits {loss} for a lock that another process holds",
    "mpi_earlyscan": "ranks wait {loss} in {place} for the ranks before them",
}

_ESTIMATES = ("mpi_rma_lock_competition",)
"""Kinds whose times are lower bounds."""


def _other_waits(
    facts: RunFacts, waits: Table, told: dict[tuple[int, int], int], clocks: ClockBounds
) -> Iterator[Finding]:
    """Waits that no delay explains, by kind and call path."""
    first, member = group([waits["kind"], waits["path"]])
    sums = add_up(member, waits["time_ns"], len(first))
    for number in range(len(first)):
        rows = np.flatnonzero(member == number)
        kind, path = str(waits.kinds[waits["kind"][first[number]]]), int(waits["path"][first[number]])
        names = _names(facts, waits.paths, path)
        left = int(sums[number]) - told.get((int(waits["kind"][first[number]]), find_path(facts, names)), 0)
        if left <= 0 or kind.endswith("_completion"):
            continue
        place = place_text(facts.trace, waits.paths, path)
        words = _WORDS.get(kind, f"{{place}} waits {{loss}} ({kind})")
        partners = [row for row in np.unique(waits["partner"][rows]).tolist() if row >= 0]
        certainty = BOUND if kind in waits.bounds else ESTIMATE if kind in _ESTIMATES else EXACT
        found = Finding(
            "mpi_wait", left, left / facts.whole, words.format(place=place, loss=span(left)),
            names[-1] if names else "", facts.region_source(waits.paths, path), names,
            facts.ranks_of(waits["location"][rows]), who_ranks(facts.trace, partners) if partners else "",
            certainty, (), facts.window.start, facts.window.stop,
            ("diagnose", "--about", "waits"),
        )  # fmt: skip
        yield _judged(found, waits, rows, clocks)


def _transfer(facts: RunFacts, answers: MpiAnswers) -> Iterator[Finding]:
    """The time that messages and collective operations themselves take, by the replay with free transfers."""
    one = answers.efficiencies
    if not one.rows or not np.isfinite(one["transfer"][0]):
        return
    mpi = np.where(CLASS_OF[facts.activity] == MPI, facts.exclusive(facts.rows), 0)
    start_and_end = int(mpi[facts.management].sum())
    mpi[facts.management] = 0
    loss = int(one["elapsed_ns"][0] - one["ideal_ns"][0]) * max(1, int(one["processes"][0])) - start_and_end
    sure = [n for n, kind in enumerate(answers.waits.kinds) if not str(kind).endswith("_completion")]
    waiting = int(answers.waits["time_ns"][np.isin(answers.waits["kind"], sure)].sum())
    loss = min(loss, int(mpi.sum()) - waiting)
    if loss <= 0:
        return
    path = int(np.argmax(mpi))
    doubts = tuple(_not_transfer(facts, answers.waits))
    text = (
        f"messages and collective operations themselves take {span(loss)}, "
        f"most MPI time is in {place_text(facts.trace, facts.paths, path)}"
    )
    yield Finding(
        "transfer", loss, loss / facts.whole, text, facts.region(path), facts.source(path), facts.names(path),
        facts.ranks_of(facts.rows), "", BOUND if doubts else ESTIMATE, doubts,
        facts.window.start, facts.window.stop, ("summary", "--only", "messages", "--only", "collectives"),
    )  # fmt: skip


def _not_transfer(facts: RunFacts, waits: Table) -> Iterator[str]:
    """Lines about calls whose waits are unknown, so that they count as transfer."""
    if unfinished := died(facts.trace):
        yield f"{unfinished}: waits in calls that did not end count as transfer"
    counts = waits.notes["counts"]
    if counts["unmatched_sends"] or counts["unmatched_receives"] or counts["unmatched_collectives"]:
        yield "waits in calls without a partner count as transfer"
