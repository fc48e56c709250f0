# SPDX-License-Identifier: BSD-3-Clause
"""Precision PA (guide, 3.5): the counters of fapppx -A -Hpa, and eleven runs of them merged by vtrace compat cpupa."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.build.run import vtrace
from support.readers import fapp_report
from support.synthetic_runs import fapp_run

RUNS = 11
NAMES = [name for name in fapp_run.COUNTS if not name.startswith("ru_")]
GROUPS = -(-len(NAMES) // 4)
SHEETS = {
    "Performance": {
        "Thread 0": ["1.0000", "1.56%", "500", "1000", "-", "5.00E+08", "-"],
        "Thread 1": ["2.0000", "1.56%", "500", "1000", "-", "1.00E+09", "-"],
        "Process 0": ["2.0000", "1.17%", "750", "1500", "-", "1.50E+09", "-"],
    },
    "Memory Cache": {
        "Thread 0": ["-", "-", "-", "-", "1.28"], "Thread 1": ["-", "-", "-", "-", "1.28"],
        "Process 0": ["-", "-", "-", "-", "1.92"],
    },
    "SIMD": {"Process 0": ["50.00%", "-", "-", "66.67%"]},
    "Cache": {
        place: ["1.00%", "6.67%", loads, misses, "-", "-", "-", "1.33%", l2, "75.00%", "25.00%", "1.33333%", "0.66667%"]
        for place, loads, misses, l2 in (
            ("Thread 0", "3.00E+08", "2.00E+07", "4.00E+06"), ("Thread 1", "6.00E+08", "4.00E+07", "8.00E+06"),
            ("Process 0", "9.00E+08", "6.00E+07", "1.20E+07"),
        )
    },
    "Balance": {"Thread 0": ["-", "50%"], "Thread 1": ["-", "100%"]},
    "Time": {
        place: ["-"] * 11 + [fetch, "-", "-", one, "-", "-"]
        for place, fetch, one in (
            ("Thread 0", "0.0500", "0.2000"), ("Thread 1", "0.1000", "0.4000"), ("Process 0", "0.1500", "0.6000"),
        )
    },
}  # fmt: skip
"""Tables 3.48 to 3.54, by hand."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of fapp_run, with a section of start_collection."""
    made = fapp_run.write(tmp_path_factory.mktemp("precision") / "known", "kernel/0").parent
    (made / "fapp.json").write_text(json.dumps({"frequency": "2000", "items": [], "pa": 1}))
    return made


@pytest.fixture(scope="module")
def whole(archive: Path) -> list[list[str]]:
    """The CSV of all counters."""
    done = vtrace(archive.parent, "compat", "fapppx", "-A", "-Hpa", "-tcsv", "-o", "all.csv", "-d", "known")
    assert done.stdout == ""
    return list(csv.reader((archive.parent / "all.csv").read_text().splitlines()))


def write_runs(where: Path, whole: list[list[str]], change: Callable[[int, float], float]) -> None:
    """Eleven files with four counters each. change: of a run, and of its elapsed times."""
    for run in range(1, RUNS + 1):
        rows, place, keeps = [], 0, True
        for row in whole:
            if row and row[0].startswith("Performance monitor"):
                keeps, place = place % GROUPS == (run - 1) % GROUPS, place + 1
            if not row or not keeps:
                rows += [] if row else [row]
                continue
            rows.append([f"{change(run, float(row[0])):.9f}", *row[1:]] if len(row) > 3 and "." in row[0] else row)
        with (where / f"output_prof_{run}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


def test_counters_by_hand(archive: Path) -> None:
    """Figure 3.24: four counters a table, of the application, a process and a thread."""
    text = vtrace(archive.parent, "compat", "fapppx", "-A", "-Hpa", "-p1,limit=1", "known").stdout
    title = "Performance monitor - Procedures profile event:Internal"
    found = fapp_report.tables(text)
    first = found[title, "Application - performance monitors"][0]
    assert first.head == ["Ev.00", "Ev.01", "Ev.02", "Ev.03", "Start", "End"]
    assert first.cells("kernel 0") == ["7000000000", "14000000000", "70000000", "140000000", "--", "--"]
    assert len(found[title, "Application - performance monitors"]) == GROUPS
    alone = found[title, "Process 1 - performance monitors"][0]
    assert alone.cells("kernel 0")[:2] == ["4000000000", "8000000000"]
    assert "Ev.04 = L2_miss_dm" in text.splitlines()
    assert "MPI profile" not in text


def test_sheets_by_hand(tmp_path: Path, whole: list[list[str]]) -> None:
    write_runs(tmp_path, whole, lambda run, seconds: seconds)
    done = vtrace(tmp_path, "compat", "cpupa")
    assert "warning" not in done.stderr
    found = fapp_report.tables(done.stdout)
    for sheet, rows in SHEETS.items():
        (table,) = found[sheet, "Process 0 - kernel"]
        assert {text: cells for _, cells, text in table.rows} == rows, sheet
    (times,) = found["Execution times", "Process 0 - kernel"]
    assert [(cells, text) for _, cells, text in times.rows] == [
        (["2.000000", "100.0%", "2000000.0"], f"Run {run}") for run in range(1, RUNS + 1)
    ]


def test_warnings(tmp_path: Path, whole: list[list[str]]) -> None:
    """95 % or less and 105 % or more of the first time; 150 us or less for one occurrence."""
    rates = {3: 1.05, 4: 1.049, 5: 0.95, 6: 0.951}
    write_runs(tmp_path, whole, lambda run, seconds: seconds * rates.get(run, 1))
    said = vtrace(tmp_path, "compat", "cpupa", "-s", "kernel").stderr
    assert [line.split()[3] for line in said.splitlines() if " took " in line] == ["3", "5"]
    assert "run 3 took 105.0 % of the time of run 1" in said
    assert "one occurrence" not in said
    write_runs(tmp_path, whole, lambda run, seconds: seconds * 75e-6)
    assert "one occurrence of the section takes 150.0 us, 150 or less" in vtrace(tmp_path, "compat", "cpupa").stderr
    write_runs(tmp_path, whole, lambda run, seconds: seconds * 76e-6)
    assert "one occurrence" not in vtrace(tmp_path, "compat", "cpupa").stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "output_prof_1.csv: cannot be read: No such file or directory"),
        (("-p", "7", "all.csv"), "all.csv: no process 7; the file has 0, 1"),
        (("-s", "loop", "all.csv"), "all.csv: no section loop; the file has all, kernel"),
        (("text.csv",), "text.csv: no process 0; the file has no process with counters"),
        (("cut.csv",), "a number is missing or wrong"),
    ],
)
def test_errors(archive: Path, whole: list[list[str]], words: tuple[str, ...], says: str) -> None:
    where = archive.parent
    (where / "text.csv").write_text("a,b\n\n1,2\n")
    (where / "cut.csv").write_text((where / "all.csv").read_text().replace(",1000000000,", ",x,"))
    done = vtrace(where, "compat", "cpupa", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr
