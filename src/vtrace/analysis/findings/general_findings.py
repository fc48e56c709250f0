# SPDX-License-Identifier: BSD-3-Clause
"""Findings that need only the times of regions: I/O, the recording itself, and the code with the most computation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vtrace.analysis.activity import CLASS_OF, OPENMP, USER
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import ESTIMATE, Finding
from vtrace.analysis.findings.io_waits import COLLECTIVE
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import location_text
from vtrace.analysis.findings.wait_pool import WaitPool
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import Table, add_up

_FEW = 0.9
"""A process with at least this share of the I/O is the culprit."""
_MOST = 0.6
"""A process for which others wait this share of a time is its culprit."""


@rule(
    FindingKind(
        "io_time",
        "time in I/O of all threads",
        about=("io",),
        action="access files in fewer and larger pieces",
        explained_by=("io_by_few_ranks",),
    )
)
def io_time(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The time of all threads in I/O, with the call that takes most of it."""
    facts, n = diagnosis.facts, diagnosis.facts.numbers
    n = n.take(facts.io[n["path"]] & np.isin(n["location"], facts.rows))
    waits = _file_waits(diagnosis)
    whole = int(n["exclusive"].sum()) - int(waits["time_ns"].sum())
    if whole <= 0:
        return
    by_region = add_up(facts.paths["region"][n["path"]], n["exclusive"], facts.trace.regions.rows)
    waited = add_up(waits.paths["region"][waits["path"]], waits["time_ns"], facts.trace.regions.rows)
    worked = 1 - waited / np.maximum(1, by_region)
    sums = add_up(n["path"], n["exclusive"], facts.paths.rows)
    path = int(np.argmax(sums * np.append(worked, 0.0)[facts.paths["region"]]))
    each = add_up(n["location"], n["exclusive"], facts.trace.locations.rows)
    each -= add_up(waits["location"], waits["time_ns"], facts.trace.locations.rows)
    busiest = int(np.argmax(each))
    place = facts.call_text(facts.paths, path)
    text = f"I/O takes {span(whole)} of all threads, most of it in {place}"
    culprit = ""
    if len(facts.masters) > 1 and each[busiest] >= _FEW * whole:
        culprit = location_text(facts.trace, busiest)
        text += f"; {culprit} does nearly all of it"
    yield facts.finding(
        "io_time", whole, path, locations=np.flatnonzero(each), text=text, culprit=culprit,
        evidence=("diagnose", "--about", "io"),
    )  # fmt: skip


def _file_waits(diagnosis: Diagnosis) -> Table:
    """The waits in operations of all on a file."""
    waits = diagnosis.io_waits
    return waits.take((waits["kind"] == COLLECTIVE) & np.isin(waits["location"], diagnosis.facts.rows))


@rule()
def file_waits(diagnosis: Diagnosis) -> Iterator[Finding]:
    """Waits for the last process in operations of all on a file, by region."""
    facts, waits = diagnosis.facts, _file_waits(diagnosis)
    regions = waits.paths["region"][waits["path"]]
    times = facts.working_time - add_up(waits["location"], waits["time_ns"], facts.trace.locations.rows)
    for region in np.unique(regions).tolist():
        mine = waits.take(regions == region)
        loss, path = int(mine["time_ns"].sum()), int(mine["path"][np.argmax(mine["time_ns"])])
        by = add_up(mine["partner"], mine["time_ns"], facts.trace.locations.rows)
        slow = np.flatnonzero(by >= _MOST * loss).tolist()
        others = np.setdiff1d(mine["location"], slow).tolist()
        longer = facts.longer_place(slow, others) if slow and others else ""
        place, culprit, more, ns = facts.call_text(waits.paths, path), "", "", 0
        if longer:
            culprit = f"{location_text(facts.trace, slow[0])}, {longer}"
            more = f": {location_text(facts.trace, slow[0])} takes longer in {longer}"
            waited = WaitPool(facts).waited_in(~facts.waiting)
            ns = facts.of_processor(loss, slow, others, times=times, waited=waited)
        yield facts.finding(
            "imbalance" if longer else "mpi_wait", loss, path, waits.paths, locations=others or mine["location"],
            text=f"ranks wait {span(loss)} in {place} for the last one{more}", culprit=culprit, processor_ns=ns,
            evidence=("diagnose", "--about", "waits"),
        )  # fmt: skip


@rule(FindingKind("tracing", "the recording wrote its buffers meanwhile", of_machine=True))
def tracing_time(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The time in which threads wrote buffers while the program ran."""
    facts = diagnosis.facts
    if facts.tracing:
        text = (
            f"the recording itself: threads wrote full buffers for {span(facts.tracing)}; raise VT_BUFFER_SIZE, or "
            "leave out short functions with a filter"
        )
        yield facts.finding("tracing", facts.tracing, 0, locations=[], text=text, evidence=("score",))


@rule(FindingKind("computation", "no loss above 2 %: the function to look at, for `vtrace profile`", is_loss=False))
def computation(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The function of the program's own code with the most time, by samples where no function was recorded."""
    facts = diagnosis.facts
    sampled = facts.sampled.longer((), facts.rows, []) if facts.sampled else None
    is_own = np.isin(CLASS_OF[facts.activity], (USER, OPENMP)) & facts.working
    own = np.where(is_own, facts.exclusive(facts.rows), 0)
    if sampled and sampled.ns * len(facts.rows) > own[1:].sum():
        time = min(facts.whole, sampled.ns * len(facts.rows))  # the period of foreign samples is an estimate
        yield facts.finding(
            "computation", 0, 0, locations=facts.rows, share=time / facts.whole, certainty=ESTIMATE,
            text=f"most time of the program's own code is in {sampled.text}: {span(time)}", region=sampled.names[-1],
            source=sampled.source, callpath=sampled.names, evidence=("profile", "--by", "line"),
        )  # fmt: skip
        return
    if not own[1:].any():
        return
    regions = facts.paths["region"]
    sums = np.zeros(facts.trace.regions.rows, np.int64)
    np.add.at(sums, regions[1:], own[1:])
    path = int(np.argmax(np.where(regions == np.argmax(sums), own, 0)))
    time = int(sums.max())
    text = f"most time of the program's own code is in {facts.call_text(facts.paths, path)}: {span(time)}"
    evidence = ("profile", "--by", "line") if facts.sampled else ("profile",)
    yield facts.finding(
        "computation", 0, path, locations=facts.rows, share=time / facts.whole, text=text, evidence=evidence
    )
