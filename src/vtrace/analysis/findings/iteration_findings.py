# SPDX-License-Identifier: BSD-3-Clause
"""Findings about iterations: outliers and drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vtrace.analysis.definition_tables import FLUSH
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import ESTIMATE, LEAST, Finding
from vtrace.analysis.findings.grown_places import GrownPlace, grown_place, has_other_code
from vtrace.analysis.findings.iterations import Iterations
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, callers_text, locations_text
from vtrace.analysis.findings.slow_paths import SlowPath, slow_path
from vtrace.analysis.questions.timeline_data import span

_EXAMINED, _MOST, _DRIFT = 8, 3, 1.2
"""The most outliers to examine, the most findings about them, and the least growth of the time of an iteration."""
_SOME = 0.01
"""A process loses time if it loses this part of the largest loss of a process."""
_PERIODIC, _LISTED = 3, 4
"""At least so many outliers at equal distances are periodic; a sentence lists so many others."""
_EXPLAINED = 0.5
"""The least share of the loss of a slow iteration that its call path explains."""
_NAMED = 0.1
"""The least share of this loss for which a finding names the call path."""
_LONG = 8
"""So many neighbouring slow iterations may be a part of the program of its own."""
_SIMILAR = 0.25
"""Periodic outliers lose at least this part of the largest loss of an outlier."""
_FIRST = 0.1
"""The least share of the time of all threads that a slow first iteration loses."""
_INNER = 100
"""Periodic outliers that take so many times longer are the turns of a loop around that of the iterations."""
_REGULAR, _NEIGHBOURS, _MANY = 0.75, 2, 100
"""Periodic outliers are this part of the outliers; their places by the period differ by so much. More outliers are not
searched for a period."""


@dataclass(frozen=True, kw_only=True)
class _Outliers:
    """Ranges of slow iterations (first, last) with one cause, and the cause in the slowest of them."""

    runs: list[tuple[int, int]]
    slow: SlowPath


@rule(FindingKind("slow_iterations", "[iterations](#iterations) that take much longer than the others"))
def slow_iterations(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The slow iterations with one cause that lose at least LEAST of the time of all threads."""
    facts, iterations = diagnosis.facts, diagnosis.iterations
    if iterations is None or iterations.table.rows < 4:
        return
    made = [
        _slow(facts, iterations, each)
        for each in _with_one_cause(facts, iterations, LEAST * facts.whole)
        if not (each.slow.for_thread or FLUSH in each.slow.names)  # other findings tell these waits, and the recording
        and not _is_first_use(facts, iterations, each)
    ]
    yield from sorted(made, key=lambda one: -one.loss_ns)[:_MOST]


@rule(FindingKind("drift", "[iterations](#iterations) that take longer and longer"))
def drift(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The growth of iterations. None if waits for a processor grow as much: then the load of other programs grows; nor
    if iterations of other code follow, which only have the same call."""
    facts, iterations = diagnosis.facts, diagnosis.iterations
    if iterations is None or iterations.table.rows < 4 or iterations.drift < _DRIFT:
        return
    if (loss := iterations.drift_loss()) <= max(0, iterations.grown_waits()):
        return
    quarter = max(1, iterations.table.rows // 4)
    begin = int(iterations.table["begin"][iterations.table.rows - quarter])
    last = iterations.table.rows - quarter, iterations.table.rows - 1
    grown = slow_path(facts, iterations, *last)
    if grown.for_thread or FLUSH in grown.names:
        return
    if step := iterations.step:
        grown_since = slow_path(facts, iterations, step, last[1])
        if has_other_code(facts, iterations, grown_since, (step, last[1])):
            return
    where = f"{locations_text(facts.trace, [*grown.locations])}, {grown_place(facts, iterations, grown, [last]).text}"
    culprit = where if grown.more else ""
    how = f"from iteration {step + iterations.first} on" if step else "and longer"
    growth = f"the last quarter {iterations.drift:.3g} x the first" + (f"; {culprit}" if culprit else "")
    yield facts.finding(
        "drift", loss, 0, locations=iterations.locations, share=min(1.0, loss / facts.whole),
        text=f"iterations of {_loop_text(iterations)} take longer {how}: {growth}",
        region=iterations.region, source=iterations.source, callpath=iterations.path, culprit=culprit,
        certainty=ESTIMATE, start=begin, stop=None,
        evidence=("profile", "--by", "callpath", "--from", f"{begin}ns"),
    )  # fmt: skip


def _with_one_cause(facts: RunFacts, iterations: Iterations, least: float) -> list[_Outliers]:
    """The slow iterations by cause: all together if they are periodic, else those that alone lose least (ns)."""
    losses = {run: iterations.loss(*run) for run in iterations.slow}
    runs = sorted(losses, key=lambda run: -losses[run])
    similar = [run for run in iterations.slow if losses[run] >= _SIMILAR * losses[runs[0]]]
    if regular := _regular([first for first, _ in similar]):
        runs = [run for run in similar if run[0] in regular]
        usual = _INNER * max(1.0, iterations.median)
        is_inner = all(iterations.longest[first] > usual for first, _ in runs)  # the loop is within a loop
        if is_inner or sum(losses[run] for run in runs) < least:
            return []
        slowest = max(runs, key=lambda run: losses[run])
        slow = slow_path(facts, iterations, *slowest, alike=len(runs))
        return [] if _is_outer_loop(facts, iterations, slow, slowest) else [_Outliers(runs=runs, slow=slow)]
    causes: dict[tuple[tuple[int, ...], tuple[str, ...]], _Outliers] = {}
    for run in [run for run in runs if losses[run] >= least][:_EXAMINED]:
        slow = slow_path(facts, iterations, *run)
        if run[1] - run[0] >= _LONG and has_other_code(facts, iterations, slow, run):
            continue
        causes.setdefault((tuple(sorted(slow.locations)), slow.names), _Outliers(runs=[], slow=slow)).runs.append(run)
    return [*causes.values()]


def _is_outer_loop(facts: RunFacts, iterations: Iterations, slow: SlowPath, slowest: tuple[int, int]) -> bool:
    """True if all processes do the same between two calls in periodic slow iterations, beside what the others do: an
    outer loop has this work, so that no process loses time."""
    is_alike = slow.more > 0 and {*iterations.locations} <= {*slow.locations}
    return is_alike and iterations.basis != "calls" and not has_other_code(facts, iterations, slow, slowest)


def _is_first_use(facts: RunFacts, iterations: Iterations, outliers: _Outliers) -> bool:
    """True if the first iteration of the run alone is slow, and loses little: its memory, connections and caches are
    new."""
    is_first = outliers.runs == [(0, 0)] and facts.window.is_whole(facts.trace)
    return is_first and iterations.loss(0, 0) < _FIRST * facts.whole


def _regular(places: list[int]) -> list[int]:
    """The places at equal distances, if these are nearly all; else none. Noise makes others slow now and then."""
    found: list[int] = []
    for period in {*np.diff(places).tolist()} if len(places) <= _MANY else ():
        for base in places[: len(places) // 2 + 1]:
            apart = [place for place in places if (place - base + 1) % period <= _NEIGHBOURS]
            found = apart if _period(apart) and len(apart) > len(found) else found
    return found if len(found) >= _REGULAR * len(places) else []


def _period(places: list[int]) -> int:
    """The distance of iterations that are slow again and again, 0 if distances differ. Neighbours of a slow iteration
    may be slow, too, so that a distance differs by one."""
    distances = np.diff(places)
    if len(distances) < _PERIODIC - 1:
        return 0
    middle = int(np.median(distances))
    return middle if middle > 1 and np.all(np.abs(distances - middle) <= 1) else 0


def _slow(facts: RunFacts, iterations: Iterations, outliers: _Outliers) -> Finding:
    runs, slow = outliers.runs, outliers.slow
    lost = np.sum([iterations.lost(*run) for run in runs], axis=0)
    loss, losers = int(lost.sum()), np.array(iterations.locations)[lost >= _SOME * lost.max()]
    rows = np.concatenate([np.arange(first, last + 1) for first, last in runs])
    times, median = iterations.longest[rows], iterations.median
    took = f"took {times.mean() / max(1.0, median):.3g} x the usual {span(median)}"
    place, culprit, cause = GrownPlace(names=(), source="", text=""), "", "; no recorded call explains why"
    if slow.more >= _NAMED * max(int(iterations.lost(*run).max()) for run in runs):
        place = grown_place(facts, iterations, slow, runs)
        culprit = f"{locations_text(facts.trace, [*slow.locations])}, {place.text}"
        called = callers_text(facts.trace, facts.paths, slow.path) if slow.path and place.names == slow.names else ""
        cause = f": {culprit}{called}, {span(slow.more)} more" + (" in the slowest" if len(runs) > 1 else "")
    return facts.finding(
        "slow_iterations", loss, 0, locations=losers,
        text=f"{_numbers_text(sorted(runs), iterations.first)} of {_loop_text(iterations)} {took}{cause}",
        region=place.names[-1] if place.names else "", source=place.source, callpath=place.names, culprit=culprit,
        certainty=ESTIMATE, processor_ns=loss * _is_disturbed(facts, iterations, outliers),
        start=slow.begin, stop=slow.end,
        evidence=("view", "--from", f"{slow.begin}ns", "--to", f"{slow.end}ns"),
    )  # fmt: skip


def _is_disturbed(facts: RunFacts, iterations: Iterations, outliers: _Outliers) -> bool:
    """True if waits for a processor took longer than the slow iterations lose without them, and no work explains this
    loss: then processes wait for waits that are unknown."""
    slow, column = outliers.slow, iterations.locations.index(outliers.slow.master)
    lost = [int(iterations.lost(*run)[column]) for run in outliers.runs]
    rows = np.concatenate([np.arange(first, last + 1) for first, last in outliers.runs])
    waited = int((iterations.times - iterations.net)[rows, column].sum())
    works = not facts.waiting[slow.path] and slow.more >= _EXPLAINED * max(lost)
    return waited >= sum(lost) and not works


def _numbers_text(rows: list[tuple[int, int]], number: int) -> str:
    """Words for slow iterations: every 17th iteration from 16 on, iteration 3, iterations 3, 7 to 8, 12 and 5 more.
    number: of the first row."""
    runs = [(first + number, last + number) for first, last in rows]
    if period := _period([first for first, _ in runs]):
        ending = {1: "st", 2: "nd", 3: "rd"}.get(period % 10 if period % 100 // 10 != 1 else 0, "th")
        return f"every {period}{ending} iteration, from {runs[0][0]} on,"
    names = [f"{first}" if first == last else f"{first} to {last}" for first, last in runs]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"iteration{'s' * (len(names) > 1 or ' ' in names[0])} {', '.join(names[:_LISTED])}{more}"


def _loop_text(iterations: Iterations) -> str:
    return iterations.region if iterations.basis == "calls" else f"the loop around {iterations.region}"
