# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads that could run but waited for a processor. Other findings may have this cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from vtrace.analysis.findings.finding import BOUND, ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, state
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.findings.run_notes import crowded_hosts
from vtrace.analysis.questions.timeline_data import span
from vtrace.console import some

_MOSTLY, _PARTLY = 0.75, 0.05
"""The share of a loss that waits for a processor explain, from which on the loss is theirs, or is told without them."""
_MUCH = 0.15
"""A thread with this share of the waits is named."""

state(
    FindingKind(
        "noise",
        "threads that could run wait for a processor that other programs or threads use; losses that this explains are "
        "not told again",
        about=("waits",),
        action="run where nothing else runs, with at most one thread per core, or pin the threads",
    ),
    FindingKind(
        "oversubscribed",
        "the same where more ranks than cores run",
        about=("waits",),
        action="run at most one rank per core",
    ),
)


def with_processor_waits(facts: RunFacts, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; in place of those that waits for a processor explain, one finding about these waits."""
    largest = 0
    for one in findings:
        if one.loss_ns and one.processor_ns >= _MOSTLY * one.loss_ns:
            largest = max(largest, one.processor_ns)
        elif one.loss_ns and one.processor_ns >= _PARTLY * one.loss_ns:
            yield _rest(one)
        else:
            yield one
    waited = {row: facts.without_processor([row]) for row in facts.rows}
    waited = {row: ns + facts.without_processor([row], in_mpi=True) for row, ns in waited.items()}
    if whole := round(sum(waited.values())):
        yield _finding(facts, waited, whole, max(whole, largest))


def _rest(finding: Finding) -> Finding:
    """A finding without the part of its loss that waits for a processor explain."""
    rest = finding.loss_ns - finding.processor_ns
    caveat = f"{span(finding.processor_ns)} of it are waits for a processor, which its share leaves out"
    return replace(
        finding, loss_ns=rest, share=finding.share * rest / finding.loss_ns, caveats=(*finding.caveats, caveat),
        certainty=BOUND if finding.certainty == BOUND else ESTIMATE,
    )  # fmt: skip


def _finding(facts: RunFacts, waited: dict[int, float], whole: int, loss: int) -> Finding:
    most = [row for row, ns in waited.items() if ns >= _MUCH * whole] or [*waited]
    crowded = crowded_hosts(facts.trace)
    culprit = locations_text(facts.trace, most)
    waits = f"{culprit} wait{'s' * (len(most) == 1)} {span(whole)} for a processor"
    if crowded:
        host, ranks, count = crowded[0]
        text = f"{ranks} ranks share {some(count, 'core')} on {host}; {waits}"
    else:
        text = f"{waits}, which others use or a limit on CPU time keeps from them"
    if loss > whole and len(most) < len(facts.rows):
        text += f", and others wait for them, {span(loss)}"
    return facts.finding(
        "oversubscribed" if crowded else "noise", loss, 0, locations=most, text=text, culprit=culprit,
        certainty=ESTIMATE, evidence=("diagnose", "--about", "waits"),
    )  # fmt: skip
