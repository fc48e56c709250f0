# SPDX-License-Identifier: BSD-3-Clause
"""vtrace timers: regions of the user API with their counters, in closed form and compared with the events."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import _otf2
import otf2
import pytest

from support.build.builder import Builder
from support.build.run import record, run, unify, vtrace
from support.oracles import slow
from support.oracles.user_api import MANUAL
from support.readers.archive import read
from support.synthetic_runs import viewed
from support.synthetic_runs.archives import Foreign

COUNTS = {
    "step": (10, sum(range(100, 110)) + 20, 50.0), "inner": (20, 20, 50.0), "idle": (1, None, None),
    "again": (3, None, 21.0),
}  # fmt: skip


def timers(archive: Path, *words: str) -> list[dict[str, Any]]:
    found = json.loads(vtrace(archive.parent, "timers", archive, *words).stdout)
    assert found["notes"] == []
    rows: list[dict[str, Any]] = found["timers"]
    return rows


@pytest.fixture(scope="module")
def archive(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = build("timers.c", flags=("-vt:inst", "compinst", *MANUAL[2:], "-pthread"))
    return record(program, tmp_path_factory.mktemp("timers")).path


def test_counts(archive: Path) -> None:
    found = timers(archive)
    threads = {row["thread"] for row in found}
    assert len(threads) == 2
    assert len(found) == 2 * len(COUNTS)
    for row in found:
        assert (row["calls"], row["bytes"], row["flops"]) == COUNTS[row["label"]], row
        assert (row["class"], Path(row["file"]).name, row["rank"]) == ("user", "timers.c", None)
    times = [row["total_ns"] for row in found if row["thread"] == found[0]["thread"]]
    assert times == sorted(times, reverse=True)


def test_times(archive: Path) -> None:
    """The times of regions and functions agree with a slow computation from the events."""
    trace = read(archive)
    calls: dict[tuple[str, str], list[int]] = defaultdict(list)
    for call in slow.calls(trace):
        name = slow.name_of(trace, call.path[-1])
        calls[trace.locations[call.location].name, name].append(call.end - call.begin)
    found = timers(archive, "--all")
    assert {(row["thread"], row["label"]) for row in found} == set(calls)
    assert {"main", "work"} < {row["label"] for row in found}
    for row in found:
        times = calls[row["thread"], row["label"]]
        assert (row["calls"], row["total_ns"]) == (len(times), sum(times))
        assert (row["min_ns"], row["max_ns"]) == (min(times), max(times))
        assert row["mean_ns"] == pytest.approx(statistics.fmean(times), rel=1e-12)
        assert row["deviation_ns"] == pytest.approx(statistics.pstdev(times), rel=1e-9, abs=1e-9)


HOUR = 3600 * 10**9


def metric(time: int, number: int, kind: Any, value: float) -> tuple[Any, ...]:
    field = {_otf2.TYPE_UINT64: "unsigned_int", _otf2.TYPE_INT64: "signed_int", _otf2.TYPE_DOUBLE: "floating_point"}
    return time, "Metric", number, [kind], [_otf2.MetricValue(**{field[kind]: value})]


def test_counters_of_other_tools(tmp_path: Path) -> None:
    """Counters of other tools: sums since the start, which count by differences; relative values, which are added; and
    units in bytes. The calls last hours and differ by nanoseconds."""
    modes = (
        _otf2.METRIC_ACCUMULATED_START, _otf2.METRIC_RELATIVE_NEXT, _otf2.METRIC_ABSOLUTE_POINT,
        _otf2.METRIC_ABSOLUTE_POINT,
    )  # fmt: skip
    units = ("flop", "Byte", "flop/s", "B")
    kinds = (_otf2.TYPE_UINT64, _otf2.TYPE_INT64, _otf2.TYPE_DOUBLE, _otf2.TYPE_DOUBLE)
    events: list[tuple[Any, ...]] = [(0, "Enter", 0)]
    for n in range(4):
        begin = n * 2 * HOUR
        events += [
            metric(begin + 1, 0, kinds[0], 100 * n + 5), (begin + 1, "Enter", 1), metric(begin + 2, 1, kinds[1], -3),
            metric(begin + 2, 2, kinds[2], 1e9), metric(begin + 2, 3, kinds[3], 0.5),
            metric(begin + HOUR + n, 0, kinds[0], 100 * n + 65), (begin + HOUR + 1 + n, "Leave", 1),
        ]  # fmt: skip
    archive = Foreign(tmp_path / "a")
    archive.events(0, [*events, (8 * HOUR, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(length=8 * HOUR)
    archive.location(0)
    archive.region(0, "main", paradigm=1)
    archive.region(1, "timed")
    for n, (mode, unit, kind) in enumerate(zip(modes, units, kinds, strict=True)):
        scale = (_otf2.BASE_DECIMAL.value, 3) if unit == "B" else (0, 0)
        archive.define("MetricMember", n, f"m{n}", "", 0, mode.value, kind.value, *scale, unit)
        archive.define("MetricClass", n, [n], 0, 0)
    found = {row["label"]: row for row in timers(archive.close())}
    assert (found["timed"]["flops"], found["timed"]["bytes"]) == (4 * 60, 4 * (500 - 3))
    assert (found["main"]["flops"], found["main"]["bytes"]) == (365, 4 * (500 - 3))
    timed = found["timed"]
    assert timed["mean_ns"] == HOUR + 1.5
    assert timed["deviation_ns"] == pytest.approx(statistics.pstdev(range(4)), rel=1e-12)
    assert timed["max_ns"] - timed["min_ns"] == 3


def test_no_user_regions(tmp_path: Path) -> None:
    """Names are plain text in JSON. A message says that the program has no regions of the user API."""
    where = viewed.write(tmp_path / "odd.trace").parent
    done = vtrace(tmp_path, "timers", where, "--all", "--ranks", "1")
    assert "\\u001b" not in done.stdout
    assert {row["rank"] for row in json.loads(done.stdout)["timers"]} == {1}
    labels = {row["label"] for row in json.loads(done.stdout)["timers"]}
    assert viewed.NAMES[viewed.SCRIPT] in labels


def test_perf_hh(archive: Path) -> None:
    """Each label has its calls by the bytes and flops that the call itself counts; the times are those of the calls."""
    threads = json.loads(vtrace(archive.parent, "timers", archive, "--format", "perf.hh").stdout)
    assert len(threads) == 2
    rows = {(row["thread"], row["label"]): row for row in timers(archive)}
    names = [*dict.fromkeys(thread for thread, _ in rows)]
    for thread, found in zip(names, threads, strict=True):
        sizes = {label: [(one["Bytes"], one["Flops"], one["Calls"]) for one in of] for label, of in found.items()}
        assert sizes == {
            "again": [(0, 7, 3)], "idle": [(0, 0, 1)], "inner": [(1, 2.5, 20)],
            "step": [(100 + number, 0, 1) for number in range(10)],
        }  # fmt: skip
        for label, of in found.items():
            assert min(one["Min"] for one in of) == pytest.approx(rows[thread, label]["min_ns"] / 1e9)
            assert max(one["Max"] for one in of) == pytest.approx(rows[thread, label]["max_ns"] / 1e9)
            total = sum(one["Avg"] * one["Calls"] for one in of)
            assert total == pytest.approx(rows[thread, label]["total_ns"] / 1e9)
        (inner,) = found["inner"]
        assert inner["Stddev"] == pytest.approx(rows[thread, "inner"]["deviation_ns"] / 1e9)


def test_perf_hh_of_a_part(archive: Path) -> None:
    words = ("timers", archive, "--format", "perf.hh", "--all")
    whole = json.loads(vtrace(archive.parent, *words).stdout)
    assert any("work" in name for name in whole[0])
    trace = read(archive)
    begins = sorted(call.begin for call in slow.calls(trace) if slow.name_of(trace, call.path[-1]) == "step")
    part = json.loads(vtrace(archive.parent, *words, "--from", f"{begins[len(begins) // 2]}ns").stdout)
    calls = [sum(one["Calls"] for of in thread.values() for one in of) for thread in (*whole, *part)]
    assert 0 < sum(calls[len(whole) :]) < sum(calls[: len(whole)])


def test_perf_hh_of_many_calls(tmp_path: Path) -> None:
    """The reader passes events on in batches of 65536: counts stay with their calls."""
    calls = 30_001
    with otf2.writer.open(str(tmp_path / "many"), timer_resolution=10**9) as trace:
        define = trace.definitions
        group = define.location_group("process", system_tree_parent=define.system_tree_node("host", "node"))
        thread = define.location("Master thread", group=group)
        member = define.metric_member("moved", unit="Bytes", value_type=otf2.enums.Type.UINT64,
                                      metric_mode=otf2.enums.MetricMode.ABSOLUTE_POINT)  # fmt: skip
        moved = define.metric_class([member])
        regions = [define.region(name, paradigm=otf2.enums.Paradigm.USER) for name in ("outer", "inner")]
        writer = trace.event_writer_from_location(thread)
        writer.enter(0, regions[0])
        for number in range(calls):
            writer.enter(10 * number + 1, regions[1])
            writer.metric(10 * number + 1, moved, [number % 3])
            writer.leave(10 * number + 2 + number % 3, regions[1])
        writer.metric(10 * calls, moved, [5])
        writer.leave(10 * calls + 1, regions[0])
    (found,) = json.loads(vtrace(tmp_path, "timers", "many", "--format", "perf.hh").stdout)
    assert [(one["Bytes"], one["Calls"], one["Min"], one["Max"]) for one in found["inner"]] == [
        (0, 10001, 1e-9, 1e-9), (1, 10000, 2e-9, 2e-9), (2, 10000, 3e-9, 3e-9),
    ]  # fmt: skip
    assert [(one["Bytes"], one["Calls"]) for one in found["outer"]] == [(5, 1)]


def test_the_header_of_perf_hh(build: Builder, tmp_path: Path) -> None:
    """The recipe's example, with the header of vtrace compat --install: a plain program prints its own timers, and a
    traced one has the same in its trace. A timer of the trace encloses the program's own."""
    vtrace(tmp_path, "compat", "--install", "tools")
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-I", tmp_path / "tools" / "include")
    two = {"OMP_NUM_THREADS": "2"}
    plain = json.loads(run(build("lorenz.cc", compiler="g++", flags=flags, plain=True), tmp_path, env=two).stdout)
    program = build("lorenz.cc", compiler="g++", flags=("-DVTRACE", *flags), output="traced")
    own = json.loads(run(program, tmp_path, env=two).stdout)
    unify(tmp_path, "traced")
    found = json.loads(vtrace(tmp_path, "timers", "traced", "--format", "perf.hh").stdout)
    places = {(Path(row["file"]).name, row["line"]) for row in timers(tmp_path / "traced")}
    assert places == {("lorenz.cc", 10), ("lorenz.cc", 32)}, "the object's place, not the header's"
    read = {'read "in"\t': [(4096, 0, 1)]}
    sizes = [(0, 140_000, 2), (0, 280_000, 1)]
    for threads in (plain, own, found):
        assert [
            {label: [(one["Bytes"], one["Flops"], one["Calls"]) for one in of] for label, of in thread.items()}
            for thread in threads
        ] == [{"integrate": sizes} | read, {"integrate": sizes}]
    for thread, traced in zip(own, found, strict=True):
        for inner, outer in zip(thread["integrate"], traced["integrate"], strict=True):
            for name in ("Min", "Avg", "Max"):
                assert outer[name] >= 0.999 * inner[name], "the two clocks differ by 500 ppm at most"


def test_the_header_of_perf_hh_without_openmp(build: Builder, tmp_path: Path) -> None:
    """One thread; nothing was timed while the timers were off; the numbers are those of the formulas."""
    vtrace(tmp_path, "compat", "--install", "tools")
    flags = ("-std=c++11", "-Wno-unknown-pragmas", "-I", tmp_path / "tools" / "include")
    (found,) = json.loads(run(build("lorenz.cc", compiler="g++", flags=flags, plain=True), tmp_path).stdout)
    assert set(found) == {"integrate", 'read "in"\t'}
    for one in found["integrate"]:
        spread = one["Max"] - one["Min"]
        assert one["Min"] <= one["Avg"] <= one["Max"]
        # Two calls lie half their difference from their mean, one call does not.
        assert one["Stddev"] == pytest.approx(spread / 2, abs=1e-12)
