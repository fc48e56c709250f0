# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of findings: stated by the modules with their rules, and explained by docs/diagnose.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from support.synthetic_runs.random_mpi import archive, program
from support.tools import ROOT, call
from vtrace.analysis.findings import kinds
from vtrace.analysis.findings.finding import Finding
from vtrace.reports.generated_tables import filled


def test_kinds_are_known_and_explained() -> None:
    """docs/diagnose.md has a row for each kind that the rules state, and a heading for each link of a row."""
    with pytest.raises(ValueError, match="unknown kind of finding: imbalanse"):
        Finding(kind="imbalanse", loss_ns=1, share=0.1, text="")
    page = filled((ROOT / "docs/diagnose.md").read_text())
    table = page.partition("| kind | loss |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = dict(re.fullmatch(r"\| `(\w+)` \| (.+) \|", line).groups() for line in table.splitlines())  # type: ignore
    assert rows == {name: kinds.kind_of(name).loss for name in rows}
    assert {"imbalance", "mpi_wait", "computation"} <= {*rows}
    assert {about for name in rows for about in kinds.kind_of(name).about} == {*kinds.SUBJECTS}
    headings = {line.strip("# ").lower().replace(" ", "-") for line in page.splitlines() if line.startswith("## ")}
    assert {link for loss in rows.values() for link in re.findall(r"\(#(.*?)\)", loss)} <= headings


NEW = """
from vtrace.analysis.findings import kinds
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import FindingKind, rule

@rule(FindingKind("new", "all of the time", about=("io",), action="wait"))
def new(diagnosis):
    yield Finding(kind="new", loss_ns=diagnosis.facts.whole, share=1.0, text="all")
"""


def test_a_new_module_is_all_that_a_finding_needs(tmp_path: Path) -> None:
    """Its rule takes part in diagnoses, its kind has what it states, and the documentation has its row."""
    path = archive(tmp_path / "a", program(0, 2, steps=5))
    (tmp_path / "new_findings.py").write_text(NEW)
    code = f"""
from pathlib import Path
from vtrace.analysis import findings
findings.__path__.append({str(tmp_path)!r})
from vtrace.analysis.findings.kinds import markdown
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.reports.diagnose_sheets import findings_about
found = Trace(Path({str(path)!r})).diagnosis(Selection()).findings
print([one.action for one in findings_about(found, "io") if one.kind == "new"])
print("| `new` | all of the time |" in markdown())
"""
    assert call([sys.executable, "-c", code], tmp_path).stdout == "['wait']\nTrue\n"


def test_stored_findings_load_no_rules_of_other_kinds(tmp_path: Path) -> None:
    code = """
import sys
from vtrace.analysis.findings import kinds
from vtrace.analysis.findings.finding import Finding
print([name for name in sys.modules if name.endswith("_findings")])
print(Finding("lock", 1, 0.1, "").action)
print([name for name in sys.modules if name.endswith("_findings")])
"""
    assert call([sys.executable, "-c", code], tmp_path).stdout.splitlines() == [
        "[]", "hold the lock for a shorter time, or use several locks", "['vtrace.analysis.findings.lock_findings']",
    ]  # fmt: skip
