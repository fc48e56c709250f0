# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile --metrics topdown on archives whose counts are known: machines for tests have no such counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import otf2
import pytest

from support.tools import Done, call, command
from vtrace.analysis.derived.event_file import read_events
from vtrace.analysis.derived.known_events import SHIPPED, natives
from vtrace.analysis.derived.pfm_names import PfmNames
from vtrace.analysis.derived.topdown import TREE, bottleneck

MEMORY = {
    "CPU_CLK_UNHALTED:THREAD_P": 1000, "IDQ_UOPS_NOT_DELIVERED:CORE": 200, "UOPS_ISSUED:ANY": 1000,
    "UOPS_RETIRED:RETIRE_SLOTS": 800, "INT_MISC:RECOVERY_CYCLES": 0, "CYCLE_ACTIVITY:STALLS_MEM_ANY": 500,
    "EXE_ACTIVITY:BOUND_ON_STORES": 100, "CYCLE_ACTIVITY:STALLS_TOTAL": 600, "EXE_ACTIVITY:1_PORTS_UTIL": 60,
    "EXE_ACTIVITY:2_PORTS_UTIL": 200, "INST_RETIRED:ANY_P": 400, "time-enabled": 1000, "time-running": 1000,
}  # fmt: skip
"""Shares of 4000 slots: frontend 0.05, bad speculation 0.05, retiring 0.2, backend 0.7, of which memory 600/800."""
FRONTEND = MEMORY | {"IDQ_UOPS_NOT_DELIVERED:CORE": 2400, "UOPS_RETIRED:RETIRE_SLOTS": 1000, "time-running": 500}


def archive(where: Path, counts: dict[str, dict[str, int]], pmu: str = "skl") -> Path:
    """An archive with a call of each region in counts, in which the counters increase by its numbers, and a section
    NAME/0 around each call."""
    names = [*dict.fromkeys(name for of in counts.values() for name in of)]
    with otf2.writer.open(str(where / "down"), timer_resolution=10**9) as trace:
        define = trace.definitions
        group = define.location_group("process", system_tree_parent=define.system_tree_node("host", "node"))
        thread = define.location("Master thread", group=group)
        mode, kind = otf2.enums.MetricMode.ACCUMULATED_START, otf2.enums.MetricType.PAPI
        members = [
            define.metric_member(
                name if name.startswith("time") else f"{pmu}::{name}", metric_type=kind, metric_mode=mode,
                value_type=otf2.enums.Type.UINT64,
            )
            for name in names
        ]  # fmt: skip
        group_of = define.metric_class(members, occurrence=otf2.enums.MetricOccurrence.SYNCHRONOUS)
        writer = trace.event_writer_from_location(thread)
        sums = dict.fromkeys(names, 0)
        for number, (region, of) in enumerate(counts.items()):
            defined, section = define.region(region), section_of(define, region)
            writer.metric(100 * number + 10, group_of, [*sums.values()])
            writer.metric(100 * number + 10, section, 1)
            writer.enter(100 * number + 10, defined)
            for name, value in of.items():
                sums[name] += value
            writer.metric(100 * number + 50, group_of, [*sums.values()])
            writer.metric(100 * number + 50, section, 0)
            writer.leave(100 * number + 50, defined)
    return where / "down"


def section_of(define: Any, name: str) -> Any:
    member = define.metric_member(
        f"{name}/0", unit="section", metric_mode=otf2.enums.MetricMode.ABSOLUTE_NEXT, value_type=otf2.enums.Type.UINT64
    )
    return define.metric_class([member])


def profile(where: Path, *words: str, check: bool = True) -> Done:
    return call([*command("vtrace"), "profile", "down", "--metrics", "topdown", *words], where, check=check)


def test_shares_bottlenecks_and_findings(tmp_path: Path) -> None:
    archive(tmp_path, {"copy": MEMORY, "branchy": {name: value // 2 for name, value in FRONTEND.items()}})
    done = profile(tmp_path, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    copy, branchy = found["topdown"]
    assert [copy["function"], branchy["function"]] == ["copy", "branchy"], "most slots first"
    assert copy["cpi"] == pytest.approx(1000 / 400)
    assert (copy["bottleneck"], branchy["bottleneck"]) == ("Memory_Bound", "Frontend_Bound")
    expected = {
        "share": 2 / 3, "Frontend_Bound": 0.05, "Bad_Speculation": 0.05, "Retiring": 0.2, "Backend_Bound": 0.7,
        "Memory_Bound": 0.7 * 600 / 800, "Core_Bound": 0.7 * 200 / 800, "reliability": 1,
    }  # fmt: skip
    assert {name: copy[name] for name in expected} == pytest.approx(expected)
    assert (branchy["reliability"], branchy["Frontend_Bound"]) == pytest.approx((0.5, 0.6))
    assert "Fetch_Latency" not in copy, "its event is not in the archive"
    first, second = found["findings"]
    assert (first["kind"], first["region"], first["culprit"]) == ("topdown", "copy", "Memory_Bound")
    assert first["share"] == pytest.approx(2 / 3 * 0.525)
    assert first["command"].endswith("--metrics topdown --by function")
    assert (len(first["caveats"]), len(second["caveats"])) == (1, 2), "low reliability"
    text = profile(tmp_path).stdout
    assert "copy: 52% Memory Bound: loads and stores take long" in text
    assert "Memory Bound" in text.splitlines()[1]


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    """The rows are matched by name; each run has its own shares, bottlenecks and findings."""
    for name, counts in (("one", {"copy": MEMORY}), ("two", {"copy": FRONTEND, "new": MEMORY})):
        (tmp_path / name).mkdir()
        archive(tmp_path / name, counts)
    words = [*command("vtrace"), "profile", "one/down", "two/down", "--metrics"]
    found = json.loads(call([*words, "topdown", "--json"], tmp_path).stdout)
    copy, new = found["topdown"]
    assert (copy["function"], copy["bottleneck_1"], copy["bottleneck_2"]) == ("copy", "Memory_Bound", "Frontend_Bound")
    assert (copy["share_1"], copy["share_2"], copy["Frontend_Bound_1"], copy["Frontend_Bound_2"]) == pytest.approx(
        (1, 0.5, 0.05, 0.6)
    )
    assert (new["function"], new["share_1"], new["bottleneck_2"]) == ("new", None, "Memory_Bound")
    culprits = [[one["culprit"] for one in run["findings"]] for run in found["runs"]]
    assert culprits == [["Memory_Bound"], ["Frontend_Bound", "Memory_Bound"]]
    text = call([*words, "topdown"], tmp_path).stdout
    assert "Functions by slots in 2 runs" in text
    assert "copy: 52% Memory Bound: loads and stores take long" in text
    assert any(line.endswith("  new") for line in text.splitlines())
    name = "skl::UOPS_ISSUED:ANY"
    rows = json.loads(call([*words, name, "--by", "rank", "--json"], tmp_path).stdout)["metrics"]
    assert [(row[f"{name}_1"], row[f"{name}_2"]) for row in rows] == [(1000, 2000)]
    lines = call([*words, name, "--by", "callpath", "--csv", "--top", "1"], tmp_path).stdout.splitlines()
    assert lines[0] == f"callpath,{name}_1,{name}_2,{name}:inclusive_1,{name}:inclusive_2"


@pytest.mark.parametrize("by", ["callpath", "rank", "thread"])
def test_other_rows(tmp_path: Path, by: str) -> None:
    archive(tmp_path, {"copy": MEMORY})
    (row,) = json.loads(profile(tmp_path, "--by", by, "--json").stdout)["topdown"]
    assert row["bottleneck"] == "Memory_Bound"
    assert "Memory_Bound" in profile(tmp_path, "--by", by, "--csv").stdout


def test_sections(tmp_path: Path) -> None:
    """Sections overlap the whole run, all/0: its slots are 100 %."""
    archive(tmp_path, {"copy": MEMORY, "branchy": {name: value // 2 for name, value in FRONTEND.items()}})
    rows = json.loads(profile(tmp_path, "--by", "section", "--json").stdout)["topdown"]
    found = [(row["section"], row["bottleneck"], row["share"]) for row in rows]
    assert found == [
        ("all/0", "Memory_Bound", 1), ("copy/0", "Memory_Bound", pytest.approx(2 / 3)),
        ("branchy/0", "Frontend_Bound", pytest.approx(1 / 3)),
    ]  # fmt: skip


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    archive(tmp_path, {"copy": {name: value for name, value in MEMORY.items() if name != "UOPS_ISSUED:ANY"}})
    done = profile(tmp_path, check=False)
    assert done.returncode == 2
    assert "the trace has no metric UOPS_ISSUED:ANY (record with vtrace run --counters topdown" in done.stderr


def test_another_processor(tmp_path: Path) -> None:
    archive(tmp_path, {"copy": MEMORY}, "no_pmu")
    done = profile(tmp_path, check=False)
    assert done.returncode == 2
    assert "the trace has no events of a known processor" in done.stderr


def test_the_tree() -> None:
    assert bottleneck({"Backend_Bound": 0.15, "Memory_Bound": 0.9, "Retiring": 0.6}) is None, "the parent is not above"
    deep = bottleneck({"Backend_Bound": 0.5, "Memory_Bound": 0.1, "Core_Bound": 0.4, "Frontend_Bound": 0.3})
    assert deep is not None
    assert deep.name == "Core_Bound"
    good = bottleneck({"Retiring": 0.9, "Light_Operations": 0.9, "Heavy_Operations": 0.0})
    assert good is not None
    assert good.name == "Light_Operations"
    known = {event for section in read_events(SHIPPED / "topdown.events").sections for event in section.events}
    assert known >= {"slots", *(node.name for node in TREE)}
    assert all(name.islower() for name in known - {node.name for node in TREE}), "only parts of formulas"


def test_run_expands_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the processor of the machine; level 1 first, as the hardware may count only some events together."""
    files = [read_events(SHIPPED / "topdown.events")]
    try:
        pfm = PfmNames()
    except OSError:
        pytest.skip("libpfm4 is not installed")
    pfm.present[:] = ["skl"]
    monkeypatch.setattr("vtrace.analysis.derived.known_events.installed_pfm", lambda: pfm)
    names, problems = natives(["topdown", "page-faults"], files)
    assert problems == []
    assert names[:5] == [f"skl::{name}" for name in (
        "CPU_CLK_UNHALTED:THREAD_P", "IDQ_UOPS_NOT_DELIVERED:CORE", "UOPS_ISSUED:ANY", "UOPS_RETIRED:RETIRE_SLOTS",
        "INT_MISC:RECOVERY_CYCLES",
    )]  # fmt: skip
    assert names[-1] == "page-faults"
    pfm.present[:] = []
    names, problems = natives(["topdown", "page-faults"], files)
    assert names == ["page-faults"]
    assert problems == ["topdown has no formulas for the processor of this machine: vtrace counters --cpu PMU"]


def test_elapsed_is_the_time_of_the_calls(tmp_path: Path) -> None:
    """MIPS of the guide: instructions / elapsed / 10^6. The calls take 40 ns each."""
    counts = {"slow": {"effective_instruction_counts": 40}, "fast": {"effective_instruction_counts": 120}}
    archive(tmp_path, counts)
    words = [*command("vtrace"), "profile", "down", "--metrics", "MIPS,effective_instruction_counts", "--json"]
    rows = {row["function"]: row for row in json.loads(call(words, tmp_path).stdout)["metrics"]}
    assert {name: row["MIPS"] for name, row in rows.items() if name in counts} == pytest.approx(
        {"slow": 1000, "fast": 3000}
    )
    assert rows["fast"]["MIPS:inclusive"] == pytest.approx(3000)
    rows = json.loads(call([*words, "--by", "rank"], tmp_path).stdout)["metrics"]
    assert [row["MIPS"] for row in rows] == [pytest.approx(160 / 80e-9 / 1e6)]
