# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads that could run but waited for a processor. Other findings may have this cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import BOUND, ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, state
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.findings.run_notes import crowded_hosts
from vtrace.analysis.findings.wait_pool import waited_in_mpi
from vtrace.analysis.questions.timeline_data import span
from vtrace.console import some

_MOSTLY, _PARTLY = 0.75, 0.05
"""The share of a loss that waits for a processor explain, from which on the loss is theirs, or is told without them."""
_COMPARED, _NEARLY_ALL = "imbalance", 0.95
"""A kind of findings whose rest was compared without waits, and the share of waits from which on nothing is left."""
_MEASURED = "omp_serial"
"""A kind of findings whose rest is no difference of large numbers, and so always told."""
_MUCH = 0.15
"""A thread with this share of the waits is named."""
_HALF = 0.5

state(
    FindingKind(
        "noise",
        "threads that could run wait for a processor that other programs or threads use; losses that this explains are "
        "not told again",
        about=("waits", "processor"),
        of_machine=True,
        action="run where nothing else runs, with at most one thread per core, or pin the threads",
    ),
    FindingKind(
        "oversubscribed",
        "the same where more ranks than cores run",
        about=("waits", "processor"),
        action="run at most one rank per core",
    ),
)


def with_processor_waits(diagnosis: Diagnosis, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; in place of those that waits for a processor explain, one finding about these waits."""
    facts, largest = diagnosis.facts, 0
    for one in findings:
        mostly = _NEARLY_ALL if one.kind == _COMPARED else _MOSTLY
        if one.loss_ns and one.processor_ns >= mostly * one.loss_ns and one.kind != _MEASURED:
            largest = max(largest, one.processor_ns)
        elif one.loss_ns and one.processor_ns >= _PARTLY * one.loss_ns:
            yield _rest(one)
        else:
            yield one
    outside, inside = waited_in_mpi(facts, diagnosis.mpi.waits if diagnosis.mpi else None)
    waited = (facts.waited_at_work() + outside)[facts.rows]
    if whole := round(waited.sum()):
        found = _finding(facts, dict(zip(facts.rows, waited.tolist(), strict=True)), whole, max(whole, largest))
        told = round(inside[facts.rows].sum())
        caveat = f"{span(told)} more are parts of waits in MPI, and count there"
        yield replace(found, caveats=(caveat,) * (told >= _PARTLY * whole))


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
    culprit = locations_text(facts.trace, most)
    waits = f"{culprit} wait{'s' * (len(most) == 1)} {span(whole)} for a processor"
    crowded = _crowded(facts, waited, whole)
    if crowded:
        host, ranks, count = crowded
        text = f"{ranks} ranks share {some(count, 'core')} on {host}; {waits}"
    else:
        text = f"{waits}, which others use or a limit on CPU time keeps from them"
    if loss > whole and len(most) < len(facts.rows):
        text += f", and others wait for them, {span(loss)}"
    return facts.finding(
        "oversubscribed" if crowded else "noise", loss, 0, locations=most, text=text, culprit=culprit,
        certainty=ESTIMATE, evidence=("diagnose", "--about", "processor"),
    )  # fmt: skip


def _crowded(facts: RunFacts, waited: dict[int, float], whole: int) -> tuple[str, int, int] | None:
    """The crowded host whose ranks have most of the waits; None: the waits are mostly on other hosts."""
    host_of = [str(host) for host in facts.trace.processes["host"]]
    on_host = Counter[str]()
    for row, ns in waited.items():
        process = int(facts.trace.places.process[row])
        on_host[host_of[process] if process >= 0 else ""] += ns  # type: ignore[assignment]
    crowded = sorted(crowded_hosts(facts), key=lambda one: -on_host[one[0]])
    return crowded[0] if sum(on_host[host] for host, *_ in crowded) >= _HALF * whole else None
