# SPDX-License-Identifier: BSD-3-Clause
"""Findings that need only the times of regions: I/O, the recording itself, and the code with the most computation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vtrace.analysis.findings.finding import EXACT, Finding
from vtrace.analysis.findings.run_facts import RunFacts, place_text, who
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import add_up

_FEW = 0.9
"""A process with at least this share of the I/O is the culprit."""


def io_time(facts: RunFacts) -> Iterator[Finding]:
    """The time of all threads in I/O, with the call that takes most of it."""
    n = facts.numbers
    n = n.take(facts.io[n["path"]] & np.isin(n["location"], facts.rows))
    whole = int(n["exclusive"].sum())
    if not whole:
        return
    path = int(np.argmax(add_up(n["path"], n["exclusive"], facts.paths.rows)))
    each = add_up(n["location"], n["exclusive"], facts.trace.locations.rows)
    busiest = int(np.argmax(each))
    place = place_text(facts.trace, facts.paths, path)
    text = f"I/O takes {span(whole)} of all threads, most of it in {place}"
    culprit = ""
    if len(facts.masters) > 1 and each[busiest] >= _FEW * whole:
        culprit = who(facts.trace, busiest)
        text += f"; {culprit} does nearly all of it"
    yield Finding(
        kind="io_time",
        loss_ns=whole,
        share=whole / facts.whole,
        text=text,
        region=facts.region(path),
        source=facts.source(path),
        callpath=facts.names(path),
        ranks=facts.ranks_of(np.flatnonzero(each)),
        culprit=culprit,
        certainty=EXACT,
        start=facts.window.start,
        stop=facts.window.stop,
        evidence=("diagnose", "--about", "io"),
    )


def tracing_time(facts: RunFacts) -> Iterator[Finding]:
    """The time in which threads wrote buffers while the program ran."""
    if facts.tracing:
        yield Finding(
            kind="tracing", loss_ns=facts.tracing, share=facts.tracing / facts.whole,
            text=f"the recording itself: threads wrote full buffers for {span(facts.tracing)}; raise "
            "VT_BUFFER_SIZE, or leave out short functions with a filter", evidence=("score",),
            start=facts.window.start, stop=facts.window.stop,
        )  # fmt: skip


def computation(facts: RunFacts) -> Finding | None:
    """The region of the program's own code with the most time."""
    own = np.where(facts.working, facts.exclusive(facts.rows), 0)
    if not own.any():
        return None
    regions = facts.paths["region"]
    sums = np.zeros(facts.trace.regions.rows, np.int64)
    np.add.at(sums, regions[1:], own[1:])
    path = int(np.argmax(np.where(regions == np.argmax(sums), own, 0)))
    time = int(sums.max())
    text = f"the program computes: {place_text(facts.trace, facts.paths, path)} takes {span(time)} of all threads"
    return Finding(
        kind="computation",
        loss_ns=0,
        share=time / facts.whole,
        text=text,
        region=facts.region(path),
        source=facts.source(path),
        callpath=facts.names(path),
        ranks=facts.ranks_of(facts.rows),
        certainty=EXACT,
        start=facts.window.start,
        stop=facts.window.stop,
        evidence=("profile", "--by", "line") if len(facts.trace.contexts) else ("profile",),
    )
