# SPDX-License-Identifier: BSD-3-Clause
"""Findings about threads of Python, of which the interpreter runs one at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import locations_text
from vtrace.analysis.findings.sleeping_calls import INTERPRETER_LOCK, is_for_interpreter, sleeping_call
from vtrace.analysis.questions.timeline_data import span

_MUCH = 0.15
"""A thread with this share of the loss is named."""


@rule(
    FindingKind(
        "interpreter_lock",
        "threads of Python wait for the interpreter's lock (GIL), where samples show it: it runs one thread at a time",
        about=("waits", "processor"),
        action="use processes, or code that gives the lock up, such as NumPy's",
    )
)
def interpreter_lock(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for all threads, with the function that waits longest."""
    facts, asleep = diagnosis.facts, diagnosis.facts.blocked
    waits = {site: bool(site) and is_for_interpreter(site) for site in {*asleep.sites}}
    counts = np.array([waits[site] for site in asleep.sites], bool) & np.isin(asleep.location, facts.rows)
    ns = asleep.within(facts.window.start, facts.window.stop) * counts
    if not (loss := round(ns.sum())):
        return
    in_function = defaultdict[tuple[str, str], float](float)
    for at in np.flatnonzero(ns).tolist():
        call = sleeping_call(asleep.sites[at])
        in_function[(call.function, call.source) if call else ("", "")] += ns[at]
    function, source = max(in_function, key=in_function.__getitem__)
    of_location = np.bincount(asleep.location, ns, facts.trace.locations.rows)
    rows = np.flatnonzero(of_location >= _MUCH * loss).tolist() or np.flatnonzero(of_location).tolist()
    who = locations_text(facts.trace, rows)
    place = f", most of it in {function} ({source.rpartition('/')[2]})" * bool(function)
    text = f"{who} wait{'s' * (len(rows) == 1)} {span(loss)} for {INTERPRETER_LOCK}{place}: Python runs one at a time"
    yield facts.finding(
        "interpreter_lock", loss, 0, share=min(1.0, loss / facts.whole), locations=rows, text=text,
        culprit=function, region=function, source=source, certainty=ESTIMATE,
        evidence=("diagnose", "--about", "processor"),
    )  # fmt: skip
