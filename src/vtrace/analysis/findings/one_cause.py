# SPDX-License-Identifier: BSD-3-Clause
"""Findings that have one cause: those that tell the same loss, and those that tell parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vtrace.analysis.findings.finding import BOUND, ESTIMATE, LEAST, Finding
from vtrace.analysis.findings.kinds import kind_of

_MOSTLY, _HALF = 0.5, 0.4
"""A finding explains another one with the same cause if it loses at least this part of the other's loss; _HALF: of the
loss of all threads while one sleeps: with two threads the wait of the other one is half of it, more or less."""
_NEARLY_ALL, _LARGE = 0.75, 0.05
"""Slow iterations explain an imbalance if they have this part of its waits, or most of them and the rest is below this
share of the time of all threads."""
_OF_THREADS = ("omp_imbalance", "thread_imbalance", "omp_serial")
"""Kinds of findings about threads of a process for which others wait."""
_OF_RANKS = ("imbalance", "serialisation")
"""Kinds of findings that name why ranks wait in MPI."""


def explains(finding: Finding, other: Finding) -> bool:
    """True if a finding names the cause of the loss of another one, too: slow iterations explain an imbalance with the
    same culprit if most waits for the culprit are in them: each process waits as long as one of theirs loses. Waits for
    late ranks explain slow iterations in which the waiting ones take longer in MPI, slow transfers that ranks are late
    by calls of MPI."""
    by_calls = (finding.kind, other.kind) == ("transfer", "serialisation") and other.region.startswith("MPI_")
    waits = finding.kind in _OF_RANKS and other.kind == "slow_iterations" and other.region.startswith("MPI_")
    if waits and 2 * len({*other.ranks} & {*finding.ranks}) > len(other.ranks):
        return finding.loss_ns >= other.loss_ns
    if by_calls or finding.kind in kind_of(other.kind).explained_by:
        least = _HALF if other.kind == "blocked" else _MOSTLY
        return finding.share >= LEAST and finding.loss_ns >= least * other.loss_ns
    if (finding.kind, other.kind) != ("slow_iterations", "imbalance") or not _same_culprit(finding, other):
        return False
    waited = finding.loss_ns * max(1, len(other.ranks)) / max(1, len(finding.ranks))
    part = waited / max(1, other.loss_ns)
    return part >= _NEARLY_ALL or (part >= _MOSTLY and (1 - part) * other.share < _LARGE)


def _same_culprit(finding: Finding, other: Finding) -> bool:
    """True if both blame the same ranks and code: other may name the call in which this function sleeps, too."""
    (ranks, _, place), (others, _, inner) = (each.culprit.partition(", ") for each in (finding, other))
    function = place.partition(" (")[0]
    return finding.culprit == other.culprit or (ranks == others and bool(place) and f"called by {function}," in inner)


def joined(findings: Sequence[Finding]) -> list[Finding]:
    """The findings. A process that waits for its own thread is late for others: these two losses are one finding, as
    are those of a thread that is late in both. So are known and unknown waits for the same processes."""
    found = [*findings]
    for unknown in [each for each in findings if each.kind == "imbalance" and each.certainty == BOUND]:
        same = [row for row, each in enumerate(found) if each.kind == "imbalance" and each.culprit == unknown.culprit]
        if unknown.culprit and found[same[0]] is not unknown:
            found[same[0]] = _with_others(found[same[0]], unknown, "and")
            found.remove(unknown)
    for late in [each for each in found if each.kind == "imbalance"]:
        of_rank = late.culprit.split(",")[0]
        for row, each in enumerate(found):
            is_same = each.callpath == late.callpath and each.culprit.split(",")[0] == of_rank
            if each.kind in _OF_THREADS and (is_same or each.culprit == late.culprit):
                found[row] = _with_others(each, late, "other ranks wait for it, too:")
                found.remove(late)
                break
    return found


def _with_others(finding: Finding, late: Finding, words: str) -> Finding:
    """A finding with the waits of others for its culprit. The text of an imbalance ends in that of its waits."""
    waits = late.text.rpartition(" than ")[2].partition(": ")[2]
    return replace(
        finding,
        text=f"{finding.text}; {words} {waits}",
        loss_ns=finding.loss_ns + late.loss_ns,
        share=finding.share + late.share,
        ranks=tuple(sorted({*finding.ranks, *late.ranks})),
        processor_ns=finding.processor_ns + late.processor_ns,
        certainty=ESTIMATE,
    )
