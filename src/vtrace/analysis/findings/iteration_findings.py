# SPDX-License-Identifier: BSD-3-Clause
"""Findings about iterations: outliers and drift."""

from __future__ import annotations

from collections.abc import Iterator

from vtrace.analysis.findings.finding import ESTIMATE, Finding
from vtrace.analysis.findings.iterations import Iterations, slow_path
from vtrace.analysis.findings.run_facts import RunFacts, named_place, who
from vtrace.analysis.questions.timeline_data import span

_TOLD, _DRIFT = 3, 1.2
"""The most outliers to report, and the least growth of the time of an iteration to report."""


def iteration_findings(facts: RunFacts, found: Iterations | None, least: float) -> Iterator[Finding]:
    """Findings with at least this share of the time of all threads."""
    if found is None or found.table.rows < 4:
        return
    slow = sorted(found.slow, key=lambda run: -found.loss(*run))[:_TOLD]
    for first, last in slow:
        loss = found.loss(first, last)
        if loss >= least * facts.whole:
            yield _outlier(facts, found, first, last, loss)
    if found.drift >= _DRIFT:
        yield _drift(facts, found)


def _outlier(facts: RunFacts, found: Iterations, first: int, last: int, loss: int) -> Finding:
    location, more, path, names = slow_path(facts, found, first, last)
    times = found.table["time_ns"][first : last + 1].mean() / max(1.0, found.median)
    which = f"iteration {first}" if first == last else f"iterations {first} to {last}"
    took = f"took {times:.3g} x the usual {span(found.median)}"
    where = named_place(facts, names)
    culprit = f"{who(facts.trace, location)}, {where}"
    begin, end = int(found.table["begin"][first]), int(found.table["end"][last])
    return Finding(
        "slow_iterations", loss, loss / facts.whole, f"{which} of {_of(found)} {took}: {culprit}, {span(more)} more",
        names[-1] if names else "", facts.source(path) if path else "", names, facts.ranks_of(found.locations), culprit,
        ESTIMATE, (), begin, end, ("view", "--from", f"{begin}ns", "--to", f"{end}ns"),
    )  # fmt: skip


def _drift(facts: RunFacts, found: Iterations) -> Finding:
    time = found.table["time_ns"]
    quarter = max(1, found.table.rows // 4)
    usual = float(sorted(time[:quarter].tolist())[quarter // 2])
    per = sum(max(0.0, float(t) - usual) for t in time.tolist())
    loss = int(min(per, sum(float(t) for t in time.tolist())) * len(found.locations))
    begin = int(found.table["begin"][found.table.rows - quarter])
    return Finding(
        "drift", loss, min(1.0, loss / facts.whole),
        f"iterations of {_of(found)} take longer and longer: the last quarter {found.drift:.3g} x the first",
        found.region, found.source, found.path, facts.ranks_of(found.locations), "", ESTIMATE, (), begin, None,
        ("profile", "--by", "callpath", "--from", f"{begin}ns"),
    )  # fmt: skip


def _of(found: Iterations) -> str:
    return found.region if found.basis == "calls" else f"the loop around {found.region}"
