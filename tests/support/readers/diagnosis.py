# SPDX-License-Identifier: BSD-3-Clause
"""Converts all results of a diagnosis to a form in which tests can compare diagnoses."""

from __future__ import annotations

import json
from typing import Any

from vtrace.analysis.findings.diagnosis_pass import DiagnosisPass
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

TABLES = ("waits", "delays", "critical_path", "efficiencies", "profile")


def rows(table: Table, paths: Table | None) -> list[str]:
    """The rows with the regions of their call paths, whose numbers depend on the order of reading."""

    def names(path: int) -> list[int]:
        assert paths is not None
        return [*names(int(paths["parent"][path])), int(paths["region"][path])] if path > 0 else []

    values = {name: column.tolist() for name, column in table.items()}
    for name in ("path", "partner_path", "waiting_path"):
        if name in values:
            values[name] = [names(path) for path in values[name]]
    return sorted(json.dumps(row) for row in zip(*values.values(), strict=True))


def told(trace: Trace, known: DiagnosisPass | None = None) -> dict[str, Any]:
    """All results of a diagnosis. known: see Trace.diagnosis."""
    found = trace.diagnosis(Selection(), known=known)
    tables = {name: getattr(trace, name)() for name in TABLES}
    made: dict[str, Any] = {
        name: (rows(table, table.notes.get("paths")), table.notes["caveats"]) for name, table in tables.items()
    }
    made["thread_waits"] = rows(found.thread_waits, found.thread_waits.notes["paths"])
    made["iterations"] = rows(found.iteration_table, None)
    return made | {"findings": [one.told() for one in found.findings], "notes": found.notes}
