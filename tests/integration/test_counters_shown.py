# SPDX-License-Identifier: BSD-3-Clause
"""Counters in vtrace report and diff, of an archive with known counts: three times COUNTS on rank 0, four times on
rank 1."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.build.run import vtrace
from support.synthetic_runs import fapp_run
from support.users.browser import browser
from vtrace.analysis.trace import open_trace
from vtrace.errors import UsageError

CYCLES = fapp_run.COUNTS["cycle_counts"]


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive known.trace, its rank 0 as first.trace, and the report of both."""
    made = tmp_path_factory.mktemp("counters")
    fapp_run.write(made / "known.trace")
    vtrace(made, "cut", "known", "--ranks", "0", "-o", "first")
    for name in ("known", "first"):
        vtrace(made, "report", name)
    return made


def charts(page: Path) -> Any:
    text = page.read_text()
    return json.loads(re.search(r"<script type=.application/json. id=data>(.*?)</script>", text)[1])["counters"]  # type: ignore[index]


def test_charts_by_rank_and_section(where: Path) -> None:
    found = charts(where / "known.html")
    assert found["rows"] == ["process 0", "process 1"]
    series = {one["name"]: one for one in found["series"]}
    assert list(series) == list(fapp_run.COUNTS), "the section itself is no counter"
    for name, count in fapp_run.COUNTS.items():
        assert series[name]["values"] == [3 * count, 4 * count], name
    assert (series["cycle_counts"]["unit"], series["ru_utime"]["unit"]) == ("#", "us")
    assert found["sections"] == ["all/0", "loop/1"]
    for name, inside in zip(series, found["in_sections"], strict=True):
        assert inside == [series[name]["values"]] * 2, "each thread counts in its section only"
    assert charts(where / "first.html")["rows"] == ["process 0"]


def test_in_python(where: Path) -> None:
    """Trace.metrics and Trace.sections take names of counters."""
    trace = open_trace(where / "known")
    found = trace.metrics(metrics=["cycle_counts"])
    assert set(found["metric"].tolist()) == {trace.metric_members["name"].tolist().index("cycle_counts")}
    main = trace.regions["name"].tolist().index("main")
    assert set(found["region"].tolist()) == {main}
    assert found["exclusive"].tolist() == found["inclusive"].tolist() == [CYCLES, 2 * CYCLES, 4 * CYCLES]
    assert {trace.metric_members["name"][metric] for metric in trace.metrics()["metric"]} == {*fapp_run.COUNTS}
    sections = trace.sections(metrics=["cycle_counts"])
    assert {name for name in sections if name.startswith("@")} == {"@cycle_counts"}
    with pytest.raises(UsageError, match=r"no metric cycle_count \(did you mean .*cycle_counts"):
        trace.metrics(metrics=["cycle_count"])
    with pytest.raises(UsageError, match="loop/1 counts nothing"):
        trace.metrics(metrics=["loop/1"])


def test_counters_of_selected_calls(where: Path, tmp_path: Path) -> None:
    """A cut of some calls keeps all values: an increase stays with its call."""
    vtrace(where, "cut", "known", "--select", "region=MPI_Send", "-o", tmp_path / "sends")
    rows = json.loads(vtrace(tmp_path, "profile", "sends", "--metrics", "cycle_counts", "--json").stdout)["metrics"]
    assert {row["function"]: row["cycle_counts"] for row in rows} == {"(outside)": 7 * CYCLES}


def test_no_counters_no_charts(where: Path, tmp_path: Path) -> None:
    vtrace(where, "cut", "known", "--to", "10ms", "-o", tmp_path / "bare")
    vtrace(tmp_path, "report", "bare")
    assert charts(tmp_path / "bare.html") is None


def test_drawn(where: Path, tmp_path: Path) -> None:
    """The page draws bars and a heat map of the chosen counter, and has a table of all."""
    with browser(tmp_path / "browser") as page:
        page.open(where / "known.html")
        page.until(lambda: page.run("return document.querySelectorAll('#s-counters .js-plotly-plot').length") == 2)
        pick = "const s = document.getElementById('counters-what'); s.value = arguments[0];"
        place = str([*fapp_run.COUNTS].index("cycle_counts"))
        page.run(f"{pick} s.dispatchEvent(new Event('change'))", place)
        bars, heat = (
            page.run(f"return document.getElementById('counters-{of}').data[0].{values}")
            for of, values in (("ranks", "x"), ("sections", "z"))
        )
        rows = page.run("return document.querySelectorAll('#counter tbody tr').length")
        title = page.run("return document.getElementById('counters-ranks').layout.title.text")
    assert bars == [3 * CYCLES, 4 * CYCLES]
    assert heat == [bars, bars]
    assert rows == len(fapp_run.COUNTS)
    assert title == f"cycle_counts: {7 * CYCLES:,}"


def test_diff(where: Path) -> None:
    """Counters are matched by name; without --per-rank as sums of all ranks."""
    rows = {
        row["counter"]: row for row in json.loads(vtrace(where, "diff", "known", "first", "--json").stdout)["counters"]
    }
    for name, count in fapp_run.COUNTS.items():
        if count:
            values = [rows[name][f"increase_{of}"] for of in ("a", "b", "change", "percent")]
            assert values == pytest.approx([7 * count, 3 * count, -4 * count, -400 / 7]), name
    assert "8FLOPS_instructions" not in rows, "equal in both"
    text = vtrace(where, "diff", "known", "first", "--top", "1").stdout
    assert "Counters: increase while they were recorded" in text
    each = json.loads(vtrace(where, "diff", "known", "first", "--per-rank", "--json").stdout)["counters"]
    (row,) = [row for row in each if row["counter"] == "cycle_counts"]
    assert (row["increase_a"], row["increase_b"]) == (3.5 * CYCLES, 3 * CYCLES)
