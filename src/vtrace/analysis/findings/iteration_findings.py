# SPDX-License-Identifier: BSD-3-Clause
"""Findings about iterations: outliers and drift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vtrace.analysis.findings.finding import ESTIMATE, Finding
from vtrace.analysis.findings.iterations import Iterations
from vtrace.analysis.findings.run_facts import RunFacts, named_place, who
from vtrace.analysis.findings.slow_paths import slow_path
from vtrace.analysis.questions.timeline_data import span

_TOLD, _DRIFT = 3, 1.2
"""The most outliers to report, and the least growth of the time of an iteration to report."""
_SOME = 0.01
"""A process loses time if it loses this part of the largest loss of a process."""


def iteration_findings(facts: RunFacts, found: Iterations | None, least: float) -> Iterator[Finding]:
    """Findings with at least this share of the time of all threads."""
    if found is None or found.table.rows < 4:
        return
    slow = sorted(found.slow, key=lambda run: -found.loss(*run))[:_TOLD]
    for first, last in slow:
        loss = found.loss(first, last)
        if loss >= least * facts.whole:
            yield _outlier(facts, found, first=first, last=last, loss=loss)
    if found.drift >= _DRIFT and (loss := found.drift_loss()):
        yield _drift(facts, found, loss)


def _outlier(facts: RunFacts, found: Iterations, first: int, last: int, *, loss: int) -> Finding:
    slow, lost = slow_path(facts, found, first, last), found.lost(first, last)
    losers = np.array(found.locations)[lost >= _SOME * lost.max()]
    times = found.table["time_ns"][first : last + 1].mean() / max(1.0, found.median)
    which = f"iteration {first}" if first == last else f"iterations {first} to {last}"
    took = f"took {times:.3g} x the usual {span(found.median)}"
    culprit = f"{who(facts.trace, slow.location)}, {named_place(facts, slow.names)}"
    return Finding(
        kind="slow_iterations",
        loss_ns=loss,
        share=loss / facts.whole,
        text=f"{which} of {_of(found)} {took}: {culprit}, {span(slow.more)} more",
        region=slow.names[-1] if slow.names else "",
        source=facts.source(slow.path) if slow.path else "",
        callpath=slow.names,
        ranks=facts.ranks_of(losers),
        culprit=culprit,
        certainty=ESTIMATE,
        start=slow.begin,
        stop=slow.end,
        evidence=("view", "--from", f"{slow.begin}ns", "--to", f"{slow.end}ns"),
    )


def _drift(facts: RunFacts, found: Iterations, loss: int) -> Finding:
    quarter = max(1, found.table.rows // 4)
    begin = int(found.table["begin"][found.table.rows - quarter])
    return Finding(
        kind="drift",
        loss_ns=loss,
        share=min(1.0, loss / facts.whole),
        text=f"iterations of {_of(found)} take longer and longer: the last quarter {found.drift:.3g} x the first",
        region=found.region,
        source=found.source,
        callpath=found.path,
        ranks=facts.ranks_of(found.locations),
        certainty=ESTIMATE,
        start=begin,
        evidence=("profile", "--by", "callpath", "--from", f"{begin}ns"),
    )


def _of(found: Iterations) -> str:
    return found.region if found.basis == "calls" else f"the loop around {found.region}"
