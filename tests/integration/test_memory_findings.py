# SPDX-License-Identifier: BSD-3-Clause
"""Blocks that are never freed or freed very often: findings, and vtrace profile --by allocation."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace
from support.build.builder import Builder
from support.build.run import record, run, unify
from support.build.run import vtrace as command
from support.readers import archive
from support.tools import PROGRAMS
from support.users.browser import browser
from support.users.page_site import Asked
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import kind_of
from vtrace.analysis.findings.memory_findings import _is_leak
from vtrace.analysis.questions.allocation_blocks import AllocationBlocks, HeapBlocks
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace
from vtrace.reports import report_numbers

FLAGS = ("-O1", "-pthread", "-fno-builtin")
ON = {"VT_MEMTRACE": "yes"}
BLOCKS, BYTES = 256, 4000
"""Of the program blocks."""
HEALTHY = (
    "cache", "ring", "chain", "hand", "fork", *(pytest.param(mode, marks=pytest.mark.full) for mode in ("half", "once"))
)  # fmt: skip
NUMBERS = ("calls", "bytes", "never_freed_calls", "never_freed_bytes", "peak_bytes")


def recorded(build: Builder, where: Path, mode: str, **env: str) -> Trace:
    """The archive of a run of blocks, built by vtrace-cc."""
    run(build("blocks.c", flags=FLAGS), where, mode, env=ON | env)
    unify(where, "blocks")
    return vtrace.open(where / "blocks.trace")


def unnamed(build: Builder, where: Path, *words: str, name: str = "blocks.c", **env: str) -> Trace:
    """The archive of vtrace run --memory of a program that vtrace-cc has not built."""
    compiler = "gcc" if name.endswith(".c") else "g++"
    program = build(name, compiler=compiler, flags=FLAGS, plain=True)
    command(where, "run", "--unify", "--memory", "--force", program, *words, env=env)
    return vtrace.open(where / "blocks.trace")


def findings(trace: Trace) -> list[Finding]:
    """The findings about memory."""
    return [one for one in trace.diagnosis(Selection()).findings if one.kind in ("leak", "churn")]


def blocks_of(trace: Trace) -> HeapBlocks:
    question = AllocationBlocks()
    ask(trace, [question])
    return question.answer()


def allocations(where: Path, *options: str) -> list[dict[str, Any]]:
    """The rows of vtrace profile --by allocation."""
    made = command(where, "profile", "blocks", "--by", "allocation", "--json", *options)
    rows: list[dict[str, Any]] = json.loads(made.stdout)["allocations"]
    return rows


def test_a_leak(build: Builder, tmp_path: Path) -> None:
    """work() allocates four blocks a step that nothing frees, and 100 bytes that it frees."""
    trace = recorded(build, tmp_path, "leak")
    (found,) = findings(trace)
    kept, most = BLOCKS * BYTES, BLOCKS * BYTES + 100
    assert (found.kind, found.loss_ns, found.region) == ("leak", 0, "malloc")
    assert found.callpath == ("main", "work", "malloc")
    place = "malloc in work (blocks.c:"
    assert found.text.startswith(place)
    assert found.text.endswith(
        f") allocates {BLOCKS} blocks with {kept:,} bytes that are never freed, all through the run: 100% of the "
        f"largest heap ({most:,} bytes)"
    )
    assert found.source.rpartition("/")[2].startswith("blocks.c:")
    (row,) = [row for row in allocations(tmp_path) if row["callpath"] == ["main", "work", "malloc"]]
    assert [row[name] for name in NUMBERS] == [2 * BLOCKS, BLOCKS * (BYTES + 100), BLOCKS, kept, most]
    assert row["defined"].rpartition("/")[2] == found.source.rpartition("/")[2]


def test_parts_and_order(build: Builder, tmp_path: Path) -> None:
    """A leak is below all losses. Without helper threads the blocks are still those of all threads; a part of the run
    has none."""
    trace = recorded(build, tmp_path, "leak")
    kinds = [kind_of(one.kind) for one in trace.diagnosis(Selection()).findings]
    at = [kind.name for kind in kinds].index("leak")
    assert all(kind.is_loss for kind in kinds[:at])
    assert not any(kind.is_loss for kind in kinds[at:])
    *threads, last = range(trace.locations.rows)
    shown = Selection(locations=tuple(threads), helpers=(last,))
    assert "leak" in [one.kind for one in trace.diagnosis(shown).findings]
    assert trace.diagnosis(Selection.of(stop=trace.duration // 2)).blocks is None


def line_of(mark: str) -> str:
    """The place of the line with a comment."""
    lines = (PROGRAMS / "blocks.c").read_text().splitlines()
    return f"blocks.c:{next(n for n, line in enumerate(lines, 1) if f'/* {mark}' in line)}"


def test_a_leak_by_its_caller(build: Builder, tmp_path: Path) -> None:
    """Without functions the callers of a sample name function and line, also of blocks as large as others that are
    freed; the numbers are exact if only one caller has such blocks."""
    program = build("blocks.c", flags=(*FLAGS, "-g"), plain=True)
    printed = command(tmp_path, "run", "--unify", "--memory", program, "twins").stderr
    trace = vtrace.open(tmp_path / "blocks.trace")
    (found,) = findings(trace)
    text = f"malloc in work ({line_of('TWIN')}) allocates {BLOCKS} blocks of {BYTES:,} bytes that are never freed"
    assert found.text.startswith(f"{text}, all through the run: ")
    assert text in " ".join(printed.split())
    assert found.source.endswith(f"/{line_of('TWIN')}")
    assert found.certainty == "estimate"
    assert not trace.diagnosis(Selection()).to_record
    rows = {(*row["callpath"], row["defined"].rpartition("/")[2]): row for row in allocations(tmp_path)}
    size = BLOCKS * BYTES
    leak = rows["main", "work", "malloc", line_of("TWIN")]
    spare = rows["main", "work", "spare", "malloc", line_of("SPARE")]
    assert [leak[name] for name in NUMBERS] == [BLOCKS, size, BLOCKS, size, size]
    assert [spare[name] for name in NUMBERS][:4] == [BLOCKS, size, 0, 0]
    said = command(tmp_path, "profile", "blocks", "--by", "allocation").stdout
    assert "the callers of a sample of the allocations are known, so numbers by caller are estimates" in said


def test_peak_in_the_report(build: Builder, tmp_path: Path) -> None:
    """The report draws the bytes at the peak by call path; a trace without memory has no such chart."""
    program = build("blocks.c", flags=(*FLAGS, "-g"), plain=True)
    command(tmp_path, "run", "--unify", "--memory", program, "twins")
    command(tmp_path, "report", "blocks")
    without = tmp_path / "without"
    without.mkdir()
    run(build("blocks.c", flags=FLAGS), without, "once")
    unify(without, "blocks")
    command(without, "report", "blocks")
    with browser(tmp_path / "browser") as page:
        page.open(tmp_path / "blocks.html")
        page.until(lambda: page.run("return document.querySelectorAll('#peak.js-plotly-plot').length") == 1)
        ids, parents, labels, values = page.run(
            "const [d] = document.getElementById('peak').data; return [d.ids, d.parents, d.labels, d.values]"
        )
        page.open(without / "blocks.html")
        page.until(lambda: page.run("return document.querySelectorAll('.js-plotly-plot').length") > 0)
        assert page.run("return document.getElementById('peak-part').hidden")
    label = dict(zip(ids, labels, strict=True))
    found = {(label.get(parent, ""), name): value for parent, name, value in zip(parents, labels, values, strict=True)}
    kept, whole = BLOCKS * BYTES, found["", "bytes in use at the peak"]
    assert kept <= found["work", "malloc"] < kept + BYTES
    assert kept < whole < 1.1 * kept + 2 * BYTES


def test_peak_in_the_view(build: Builder, tmp_path: Path) -> None:
    """The page draws the same bytes as a flame graph, in a saved page, too; its boxes have names and sizes."""
    program = build("blocks.c", flags=(*FLAGS, "-g"), plain=True)
    command(tmp_path, "run", "--unify", "--memory", program, "twins")
    command(tmp_path, "view", "blocks", "--save", "page.html")
    found = Asked(tmp_path / "blocks.trace").table("panel", name="memory", **{"from": 0, "to": 1, "rows": ""})
    names, size = found.notes["names"], found.columns["inclusive"]
    above = [names[int(at)] if at >= 0 else "" for at in found.columns["parent"]]
    bytes_of = dict(zip(zip(above, names, strict=True), size, strict=True))
    assert BLOCKS * BYTES <= bytes_of["work", "malloc"] < (BLOCKS + 1) * BYTES
    assert size[0] == sum(found.columns["exclusive"])
    with browser(tmp_path / "browser") as page:
        page.open(tmp_path / "page.html")
        page.until(lambda: page.run("return document.getElementById('tab-memory')"))
        page.run("document.getElementById('tab-memory').click()")
        page.until(lambda: page.run("return document.querySelector('#flame canvas')"))
        told = set()
        for _ in range(3 * len(names)):  # the first ones come before the boxes
            page.run(
                "const key = new KeyboardEvent('keydown', {key: 'ArrowRight'});"
                "document.querySelector('#flame canvas').dispatchEvent(key)"
            )
            told.add(page.run("return document.querySelector('#flame .hint').textContent").partition(":")[0])
        assert {"main", "work", "malloc"} <= told
        assert page.complaints() == []


def test_often_by_its_caller(build: Builder, tmp_path: Path) -> None:
    """A finding about many short-lived blocks names the caller, too."""
    program = build("blocks.c", flags=(*FLAGS, "-g"), plain=True)
    command(tmp_path, "run", "--unify", "--memory", program, "often")
    trace = vtrace.open(tmp_path / "blocks.trace")
    (found,) = findings(trace)
    values = {"process": [0, 0, 0], "time": [1, 2, 3], "bytes": [5, 9, -1], "blocks": [-1, -1, 2]}
    drawn = report_numbers._heap(trace, Table({name: np.array(column) for name, column in values.items()}))
    assert drawn
    assert drawn["curves"][0]["bytes"] == [5, 9]  # with many values, some times have no bytes
    assert drawn["peaks"][0][1:] == [9, 2, 9]
    assert re.match(r"malloc in often \(blocks\.c:\d+\) allocates 200,000 blocks \(", found.text)


def test_sampled_callers_cost_no_exact_number(build: Builder, tmp_path: Path) -> None:
    """The blocks of all callers together are those of the run without callers."""
    sums = []
    for sites in ("0", "1K", "32K"):
        trace = unnamed(build, tmp_path, "ring", VT_MEMTRACE_CALLSITES=sites)
        found = blocks_of(trace)
        assert any(found.sites.values()) == (sites != "0")
        names = trace.regions["name"][found.paths["region"][found.by_path["path"]]]
        sums.append([int(found.by_path[name][names == "malloc"].sum()) for name in NUMBERS])
    assert sums[0] == sums[1] == sums[2]


def test_a_leak_without_functions(build: Builder, tmp_path: Path) -> None:
    """Without functions and callers all allocations have one call path: blocks of one size are the place, and a line
    says what to record. The diagnosis that vtrace run prints is the same."""
    program = build("blocks.c", flags=FLAGS, plain=True)
    printed = command(
        tmp_path, "run", "--unify", "--memory", program, "leak", env={"VT_MEMTRACE_CALLSITES": "0"}
    ).stderr
    trace = vtrace.open(tmp_path / "blocks.trace")
    (found,) = findings(trace)
    text = f"malloc, called by functions that were not recorded, allocates {BLOCKS} blocks of {BYTES:,} bytes that are"
    assert found.text.startswith(f"{text} never freed, all through the run: ")
    assert trace.diagnosis(Selection()).to_record == "to see which functions allocate: compile with vtrace-cc"
    assert text.partition(" blocks")[0] in " ".join(printed.split())
    shown = command(tmp_path, "diagnose", "blocks").stdout
    assert "by the recorded calls; free each block" in " ".join(shown.split())


@pytest.mark.parametrize("mode", HEALTHY)
def test_no_leak(build: Builder, tmp_path: Path, mode: str) -> None:
    """A cache that is freed at the end, one that is filled in the first half of the run and kept, one that replaces its
    entries, a block that grows, blocks that another thread frees, blocks from the start, also in a child of fork."""
    trace = recorded(build, tmp_path, mode)
    found = blocks_of(trace)
    assert not findings(trace)
    never = {"half": BLOCKS // 2, "ring": 64, "chain": 1, "once": BLOCKS}.get(mode, 0)
    names = trace.regions["name"]
    calls = {tuple(path_names(found.paths, names, row["path"])): row for row in found.by_path.records()}
    own = [row for path, row in calls.items() if {"work", "fill"} & {*path}]
    assert sum(row["never_freed_calls"] for row in own) == never
    assert not findings(unnamed(build, tmp_path, mode))


def test_often(build: Builder, tmp_path: Path) -> None:
    """200,000 blocks of 64 bytes, one at a time."""
    trace = recorded(build, tmp_path, "often")
    (found,) = findings(trace)
    assert (found.kind, found.callpath, found.certainty) == ("churn", ("main", "often", "malloc"), "upper bound")
    calls = trace.profile()
    names = trace.regions["name"][calls["region"]]
    own = [name in ("malloc", "free") for name in names]
    assert 0.9 * calls["exclusive"][own].sum() < found.loss_ns <= calls["exclusive"][own].sum()
    assert " allocates 200,000 blocks (" in found.text
    assert "12,800,000 bytes, of which 64 bytes are in use at most" in found.text
    (row,) = [row for row in allocations(tmp_path, "--sort", "calls") if row["callpath"][-2] == "often"]
    assert [row[name] for name in NUMBERS] == [200_000, 12_800_000, 0, 0, 0 if row["peak_bytes"] == 0 else 64]


@pytest.mark.parametrize("plain", [False, True])
def test_cplusplus(build: Builder, tmp_path: Path, plain: bool) -> None:
    """new is malloc: 512 parts are never deleted; those of the table are."""
    if plain:
        trace = unnamed(build, tmp_path, name="blocks.cc")
    else:
        record(build("blocks.cc", compiler="g++", flags=FLAGS), tmp_path, env=ON)
        trace = vtrace.open(tmp_path / "blocks.trace")
    (found,) = findings(trace)
    counted = "512 blocks of 512 bytes" if plain else "512 blocks with 262,144 bytes"
    assert not plain or found.text.startswith("malloc in Mesh::add(int) allocates ")
    assert f"allocates {counted} that are never freed" in found.text
    assert plain or found.callpath == ("main", "Mesh::add(int)", "malloc")


def oracle(trace: archive.Trace) -> dict[tuple[str, ...], Counter[str]]:
    """The numbers of each call path, call by call."""
    changes = []
    for location in trace.locations:
        stack: list[tuple[archive.Event, tuple[str, ...]]] = []
        for event in trace.of(location):
            if event.kind == "Enter":
                names = (*(stack[-1][1] if stack else ()), trace.region_of(event).name)
                stack.append((event, names))
                if names[-1] == "free":
                    changes.append((event.time, event.more["ARGUMENT_ADDRESS"], -1, names))
            elif event.kind == "Leave":
                enter, names = stack.pop()
                size, address = enter.more.get("ALLOCATION_SIZE"), event.more.get("RESULT_ADDRESS")
                old = enter.more.get("ARGUMENT_ADDRESS")
                if size is None:
                    continue
                if old and (address or not size):
                    changes.append((enter.time, old, -1, names))
                if address:
                    changes.append((event.time, address, size, names))
    live: dict[int, tuple[int, tuple[str, ...]]] = {}
    sums: dict[tuple[str, ...], Counter[str]] = {}
    held = most = 0
    peak: dict[int, tuple[int, tuple[str, ...]]] = {}
    for _, address, size, names in sorted(changes, key=lambda change: change[0]):
        held -= live.pop(address, (0, ()))[0]
        if size < 0:
            continue
        live[address], held = (size, names), held + size
        sums.setdefault(names, Counter()).update(calls=1, bytes=size)
        if held > most:
            most, peak = held, dict(live)
    for size, names in live.values():
        sums[names].update(never_freed_calls=1, never_freed_bytes=size)
    for size, names in peak.values():
        sums[names].update(peak_bytes=size)
    return sums


@pytest.mark.parametrize("program", ["heap.c", "heap_threads.c", "blocks.c"])
def test_every_number(build: Builder, tmp_path: Path, program: str) -> None:
    """All numbers are those of a slow count, also if threads free each other's blocks, and calls fail."""
    words = {"heap_threads.c": ("4", "500", "20"), "blocks.c": ("ring",)}.get(program, ())
    made = record(build(program, flags=FLAGS), tmp_path, *words, env=ON)
    name = program.partition(".")[0]
    expected = oracle(made) if name != "heap_threads" else _of_first_process(made)
    trace = vtrace.open(tmp_path / f"{name}.trace")
    found = blocks_of(trace)
    names = trace.regions["name"]
    rows = [row for row in found.by_path.records() if row["process"] == 0]
    assert {tuple(path_names(found.paths, names, row["path"])): [row[n] for n in NUMBERS] for row in rows} == {
        path: [sums[n] for n in NUMBERS] for path, sums in expected.items()
    }
    assert not found.processes["missing"].any()


def _of_first_process(trace: archive.Trace) -> dict[tuple[str, ...], Counter[str]]:
    for number in [number for number, each in trace.locations.items() if each.process]:
        del trace.locations[number]
    return oracle(trace)


def test_small_blocks_left_out(build: Builder, tmp_path: Path) -> None:
    """Frees of small blocks are not recorded: a block that realloc makes small is not told as never freed."""
    found = blocks_of(recorded(build, tmp_path, "leak", VT_MEMTRACE_THRESHOLD="1K"))
    assert found.by_path["calls"].sum() == found.by_path["never_freed_calls"].sum() >= BLOCKS


def test_frees_left_out(build: Builder, tmp_path: Path) -> None:
    """A filter leaves out free: the heap's number of blocks tells that blocks were freed."""
    (tmp_path / "rules").write_text("free -- 0\n")
    trace = recorded(build, tmp_path, "cache", VT_FILTER_SPEC="rules")
    found = blocks_of(trace)
    assert found.by_path["never_freed_calls"].sum() >= BLOCKS
    assert found.processes["missing"].tolist() == [1]
    assert not findings(trace)
    said = command(tmp_path, "profile", "blocks", "--by", "allocation").stderr
    assert "calls of free are missing in 1 process: never freed is an upper bound there" in said


def test_options(build: Builder, tmp_path: Path) -> None:
    """Sorting, selecting and windows, CSV, and options that do not fit."""
    recorded(build, tmp_path, "leak")
    rows = allocations(tmp_path, "--sort", "name")
    assert [row["callpath"] for row in rows] == sorted(row["callpath"] for row in rows)
    assert all(row["callpath"][1] == "work" for row in allocations(tmp_path, "--select", "path=main > work*"))
    first = allocations(tmp_path, "--to", "50%", "--select", "path=main > work*")[0]
    assert 0 < first["never_freed_calls"] < BLOCKS
    text = command(tmp_path, "profile", "blocks", "--by", "allocation", "--csv").stdout
    assert next(int(row["calls"]) for row in csv.DictReader(io.StringIO(text))) == 2 * BLOCKS
    assert (
        command(tmp_path, "profile", "blocks", "--sort", "bytes", "--csv").stdout.splitlines()[1]
        == text.splitlines()[1]
    )
    for options, said in (
        (("--by", "allocation", "--sort", "mpi"), "--by allocation has no --sort mpi"),
        (("--by", "rank", "--sort", "peak"), "--sort peak is about allocations"),
        (("--by", "allocation", "--select", "class=user"), "cannot --select a region, class, domain or category"),
        (("--by", "allocation", "--select", "category=x"), "cannot --select a region, class, domain or category"),
        (("--by", "allocation", "--select", "domain=x"), "cannot --select a region, class, domain or category"),
    ):
        assert said in command(tmp_path, "profile", "blocks", *options, check=False).stderr


def test_archive_without_addresses(build: Builder, tmp_path: Path) -> None:
    """A line says what to record."""
    run(build("blocks.c", flags=FLAGS), tmp_path, "once")
    unify(tmp_path, "blocks")
    said = command(tmp_path, "profile", "blocks", "--by", "allocation").stderr
    assert "no allocations with addresses were recorded here: vtrace run --memory, or VT_MEMTRACE=yes" in said


def test_too_many_calls(build: Builder, tmp_path: Path) -> None:
    """With more blocks than fit nothing is matched."""
    trace = recorded(build, tmp_path, "leak")
    question = AllocationBlocks(100)
    ask(trace, [question])
    found = question.answer()
    assert (found.is_full, found.by_path.rows, found.growth) == (True, 0, [])
    assert found.full_text.startswith("more than ")
    assert [one for one in blocks_of(trace).growth if _is_leak(one, BLOCKS * BYTES)]
