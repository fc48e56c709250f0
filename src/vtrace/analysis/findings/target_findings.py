# SPDX-License-Identifier: BSD-3-Clause
"""The finding about target regions of OpenMP: copies between host and device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import locations_text
from vtrace.analysis.questions.device_activities import target_calls
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.table import add_up


@rule(
    FindingKind(
        "target_copies",
        "copies to and from a device, and allocations there, in target regions of OpenMP",
        about=("openmp",),
        action="keep the data on the device: put target data around the region, and update only what changes",
    )
)
def target_copies(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The time in which threads copy."""
    facts = diagnosis.facts
    found, numbers = target_calls(facts.trace, facts.window), facts.numbers
    roles = facts.trace.regions["role"].astype(str)
    found = found.take(np.isin(found["location"], facts.rows) & (roles[found["region"]] != "KERNEL"))
    if not found.rows:
        return
    loss, size = int((found["end"] - found["begin"]).sum()), int(found["bytes"].sum())
    copies = np.isin(facts.paths["region"][numbers["path"]], found["region"])
    sums = add_up(numbers["path"][copies], numbers["exclusive"][copies], facts.paths.rows)
    path, rows = int(np.argmax(sums)), np.unique(found["location"])
    verb = "spends" if len(rows) == 1 else "spend"
    text = (
        f"{locations_text(facts.trace, rows.tolist())} {verb} {span(loss)} in copies of {size:,} bytes and allocations "
        f"for target regions, most of it in {facts.call_text(facts.paths, path)}"
    )
    yield facts.finding(
        "target_copies", loss, path, locations=rows, text=text, evidence=("summary", "--only", "kernels"),
    )  # fmt: skip
