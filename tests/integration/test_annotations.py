# SPDX-License-Identifier: BSD-3-Clause
"""NVTX: calls of C and Python programs, as regions, ranges on lanes, markers and counters."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import vtrace as package
from support.build.annotated import nvtx_headers, nvtx_program, record_annotated
from support.build.builder import Builder
from support.build.run import names, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import defined, pair, story
from support.tools import PROGRAMS, call, need
from vtrace.analysis.annotations import colours
from vtrace.paths import LIB

LIBRARY = LIB / "libvtrace-annotations.so"
EVERY = [ # metrics by number
    "+outer", "+größer", *pair("step", 2), "0=2.5", "1=-5", "2=0.25", "+unnamed", "3=42", "3=42", "-unnamed",
    "-größer", "-outer",
]  # fmt: skip
LANES = [[*pair("first"), *pair("third")], pair("step")]


def test_every_call(build: Builder, tmp_path: Path) -> None:
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"))
    assert story(trace) == EVERY
    assert [story(trace, lane) for lane in (1, 2)] == LANES
    assert [trace.locations[n].name for n in (1, 2)] == ["Ranges 1", "Ranges 2"]
    assert {(m.category, m.text) for m in trace.markers} == {("input output", "loss"), ("NVTX", "plain")}
    found = defined(trace.path)
    assert found.metrics == [
        ("loss", "#", "DOUBLE", "ABSOLUTE_NEXT"), ("queue", "#", "INT64", "ABSOLUTE_NEXT"),
        ("rate", "#", "DOUBLE", "ABSOLUTE_NEXT"), ("unnamed", "#", "INT64", "ABSOLUTE_NEXT"),
    ]  # fmt: skip
    groups = {name: members for name, (kind, members) in found.groups.items() if kind == "REGIONS"}
    assert groups == {
        "NVTX": ["outer", "größer", "first", "third"], "solver": ["step"], "input output": ["unnamed"],
    }  # fmt: skip
    step = trace.region("step")
    assert (step.paradigm, step.role, step.file) == ("USER", "FUNCTION", None)


def test_lanes_are_no_threads(build: Builder, tmp_path: Path) -> None:
    """The numbers of threads and percentages leave lanes out; --ranks helpers shows them."""
    record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"))
    assert "on 1 location (without 2 lanes of intervals)" in vtrace(tmp_path, "summary", "run").stdout
    calls = vtrace(tmp_path, "profile", "run", "--csv").stdout
    assert "first" not in calls
    assert "first" in vtrace(tmp_path, "profile", "run", "--csv", "--ranks", "helpers").stdout


def test_ranges_end_in_other_threads(build: Builder, tmp_path: Path) -> None:
    """Eight ranges that the main thread starts, of which each of four threads ends two; names of threads."""
    each = {"VT_PTHREAD_REUSE": "no"}  # a location for each thread
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "threads", env=each)
    lanes = [n for n, location in trace.locations.items() if location.name.startswith("Ranges ")]
    assert [story(trace, lane) for lane in lanes] == [pair("whole")] * 8
    threads = {location.name: n for n, location in trace.locations.items()}
    for part in range(4):
        assert trace.calls(threads[f"worker of part {part}"]) == {"part": 100}
    created = [event.time for event in trace.of(0) if event.kind == "ThreadCreate"]
    for lane in lanes:
        begin, end = (event.time for event in trace.of(lane))
        assert begin < created[0] < end


def test_threads_that_share_lanes(build: Builder, tmp_path: Path) -> None:
    """16 000 ranges that threads end for each other, and a signal handler: no event is lost, lanes nest nothing."""
    trace, said = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "storm", env={"VT_PTHREAD": "no"})
    lanes = [n for n, location in trace.locations.items() if location.name.startswith("Ranges ")]
    assert 8 <= len(lanes) <= 17  # eight wait to be ended, each thread has at most one more
    assert sum((trace.calls(n) for n in lanes), Counter()) == {"range": 16_000}
    assert all(story(trace, n) == pair("range", len(trace.of(n)) // 2) for n in lanes)
    assert trace.calls()["handler"] == 8 * 20
    assert "could not be recorded" not in said


def test_too_many_ranges(build: Builder, tmp_path: Path) -> None:
    """1024 lanes; further ranges are told, and lanes become free again."""
    said = vtrace(tmp_path, "run", "-o", "run", nvtx_program(build, "nvtx_calls.c"), "many").stderr
    unify(tmp_path, "run")
    counted = vtrace(tmp_path, "profile", "run", "--ranks", "helpers", "--csv").stdout
    calls = {row["function"]: int(row["calls"]) for row in csv.DictReader(counted.splitlines())}
    assert calls == {"many": 1024, "after": 1}
    assert "more than 1024 ranges of annotations are open at one time: further ones are not recorded" in said


def test_domains_that_do_not_nest(build: Builder, tmp_path: Path) -> None:
    """As user regions: a leave ends the regions inside; a leave without enter is left out, and a pop without a push is
    no event; regions that stay open end with the program."""
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "interleaved")
    assert story(trace) == ["+a", "+b", "-b", "-a", "+open", "-open"]
    assert story(trace, 1) == pair("open range")


def test_fork(build: Builder, tmp_path: Path) -> None:
    """A child neither pops nor ends what its parent has begun."""
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "fork")
    stories = [story(trace, n) for n in trace.locations]
    assert [word for word in stories[0] if word[1:] in ("both", "in parent")] == ["+both", *pair("in parent"), "-both"]
    assert stories[1:] == [[*pair("parent's"), *pair("parent's next")], pair("in child"), pair("child's")]


def test_exec(build: Builder, tmp_path: Path) -> None:
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "exec")
    assert [story(trace, n) for n in (1, 2, 3, 4)] == [pair("range before"), EVERY, *LANES]


def test_kill(build: Builder, tmp_path: Path) -> None:
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "kill", code=-9, complete=False)
    assert [story(trace, n) for n in (0, 1, 2)] == [EVERY, *LANES]


def test_filter(build: Builder, tmp_path: Path) -> None:
    """The rules of regions of the user API hold, by name and by domain."""
    program = nvtx_program(build, "nvtx_calls.c")
    (tmp_path / "rules").write_text("outer;first -- 0\nstep -- 1\n")
    trace, _ = record_annotated(tmp_path, program, env={"VT_FILTER_SPEC": str(tmp_path / "rules")})
    assert story(trace) == ["+größer", *pair("step"), *EVERY[6:-1]]
    assert story(trace, 1) == pair("third")


def test_domains(build: Builder, tmp_path: Path) -> None:
    """A rule limits each region of a domain; --select domain= shows the regions of a domain."""
    program = nvtx_program(build, "nvtx_calls.c")
    (tmp_path / "rules").write_text("solver -- 1 G\ninput* -- 0 G\n")
    trace, _ = record_annotated(tmp_path, program, env={"VT_FILTER_SPEC": str(tmp_path / "rules")})
    steps = [word for n in trace.locations for word in story(trace, n) if word[1:] == "step"]
    assert (len(steps), "+unnamed" in story(trace)) == (2, False)
    rows = vtrace(tmp_path, "profile", "run", "--csv", "--select", "domain=solv*,none").stdout.splitlines()
    assert [row["function"] for row in csv.DictReader(rows)] == ["step"]
    nothing = vtrace(tmp_path, "profile", "run", "--csv", "--select", "domain=Solver")
    assert "--select: no domain matches Solver; did you mean solver?" in nothing.stderr


def test_payloads_and_counter_groups(build: Builder, tmp_path: Path) -> None:
    """Numbers of payloads with a layout are counters; message, colour and category of an event come from its payload.
    A group of counters is a counter for each of its numbers, those behind an array without an offset excepted."""
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "payloads")
    metrics = [(name, kind) for name, _, kind, _ in defined(trace.path).metrics]
    assert metrics == [
        ("iteration.step", "INT64"), ("iteration.loss", "DOUBLE"), ("plain", "UINT64"),
        ("pool.used", "UINT64"), ("pool.depth", "INT64"), ("alone", "INT64"),
    ]  # fmt: skip
    assert story(trace) == [
        "+iterate", "0=-7", "1=0.5", "-iterate", "+plain", "2=9", "0=-8", "1=0.25", "-plain",
        "3=4096", "4=-2", "5=-3", "5=0", "3=8192", "4=-4",
    ]  # fmt: skip
    (entered,) = (event.more for event in trace.of(0) if event.kind == "Enter" and event.more)
    assert entered == {"ANNOTATION_COLOR": 0x102030, "ANNOTATION_CATEGORY": "input"}


def test_colours_and_categories(build: Builder, tmp_path: Path) -> None:
    """Attributes of each event; the first ones of a region are in its description, by which --select and the page know
    them."""
    trace, _ = record_annotated(tmp_path, nvtx_program(build, "nvtx_calls.c"), "colours")
    entered = [(trace.region_of(event).name, event.more) for event in trace.events if event.kind == "Enter"]
    red, blue, category = 0xEE1100, 0xFF, {"ANNOTATION_CATEGORY": "input"}
    assert sorted(entered, key=lambda one: one[0] == "range") == [
        ("red", {"ANNOTATION_COLOR": red} | category), ("red", {"ANNOTATION_COLOR": red} | category),
        ("red", {"ANNOTATION_COLOR": blue} | category),
        ("green", {"ANNOTATION_COLOR": 0xFF00, "ANNOTATION_CATEGORY": "größe"}), ("plain", {}),
        ("range", {"ANNOTATION_CATEGORY": "9"}),
    ]  # fmt: skip
    regions = package.open(tmp_path / "run.trace").regions
    described = dict(zip(regions["name"].tolist(), regions["description"].tolist(), strict=True))
    assert {name: described[name] for name in ("red", "green", "plain", "range")} == {
        "red": "colour #ee1100, category input", "green": "colour #00ff00, category größe", "plain": "",
        "range": "category 9",
    }  # fmt: skip
    known = dict(zip(regions["name"].tolist(), colours(regions).tolist(), strict=True))
    assert {name: known[name] for name in ("red", "green", "plain")} == {"red": red, "green": 0xFF00, "plain": -1}
    rows = vtrace(tmp_path, "profile", "run", "--csv", "--select", "category=input").stdout.splitlines()
    assert [(row["function"], row["calls"]) for row in csv.DictReader(rows)] == [("red", "3")]
    rows = vtrace(tmp_path, "profile", "run", "--csv", "--select", "category=*").stdout.splitlines()
    assert "plain" not in {row["function"] for row in csv.DictReader(rows)}
    nothing = vtrace(tmp_path, "profile", "run", "--csv", "--select", "category=imput").stderr
    assert "--select: no category matches imput; did you mean input?" in nothing


@pytest.mark.parametrize("how", ["option", "setting", "own tool"])
def test_not_recorded(build: Builder, tmp_path: Path, how: str) -> None:
    """Nothing is recorded of the program, which makes no other calls; a tool of the user is kept."""
    program = nvtx_program(build, "nvtx_calls.c")
    words = ["--no-annotations"] if how == "option" else []
    tool = str(tmp_path / "tool.so")
    env = {"setting": {"VT_ANNOTATIONS": "no"}, "own tool": {"NVTX_INJECTION64_PATH": tool}}.get(how, {})
    said = vtrace(tmp_path, "run", "-o", "run", *words, program, env=env).stderr
    assert names(tmp_path) == set()
    told = f"vtrace: warning: NVTX_INJECTION64_PATH={tool}: the program keeps this tool, so its nvtx annotations"
    assert (told in said) == (how == "own tool")


def test_wrong_kind(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "run", "--annotations", "nvtx,other", "true", check=False)
    assert done.returncode == 2
    assert "vtrace: error: --annotations nvtx,other: other is no kind of annotations" in done.stderr


def test_no_annotations_no_library(tmp_path: Path) -> None:
    """A program without annotations does not load the library."""
    maps = vtrace(tmp_path, "run", "cat", "/proc/self/maps").stdout
    assert "libvtrace.so.1" in maps
    assert LIBRARY.name not in maps
    assert LIBRARY.exists()


def test_layouts(build: Builder, tmp_path: Path) -> None:
    """The layouts and numbers of csrc/annotations are those of NVIDIA's headers."""
    call([need("gcc"), "-fsyntax-only", f"-I{nvtx_headers()}", PROGRAMS / "nvtx_layouts.c"], tmp_path)


PYTHON = """
import threading, nvtx
with nvtx.annotate("block", domain="pyd", color="green", category="c", payload=7):
    for _ in range(5):
        nvtx.push_range("p"); nvtx.pop_range()
r = nvtx.start_range("async", domain="pyd")
t = threading.Thread(target=nvtx.end_range, args=(r,)); t.start(); t.join()
nvtx.mark("m", domain="pyd")
@nvtx.annotate("f")
def f(): pass
f()
print(nvtx.enabled())
"""


def test_python(tmp_path: Path) -> None:
    """nvtx of PyPI, as it is installed."""
    (tmp_path / "annotated.py").write_text(PYTHON)
    done = vtrace(tmp_path, "run", "-o", "run", sys.executable, "annotated.py")
    assert done.stdout == "True\n"
    assert "little is recorded" not in done.stderr
    unify(tmp_path, "run")
    trace = check(tmp_path / "run.trace")
    regions = ("block", "p", "async", "f")
    assert Counter({n: c for n, c in trace.calls().items() if n in regions}) == {"block": 1, "p": 5, "async": 1, "f": 1}
    assert "0=7" in story(trace)
    assert [name for name, *_ in defined(trace.path).metrics] == ["block"]
    assert [(m.category, m.text) for m in trace.markers] == [("pyd", "m")]
    lanes = [n for n, location in trace.locations.items() if location.name == "Ranges 1"]
    assert [story(trace, n) for n in lanes] == [pair("async")]


@pytest.mark.parametrize("name", ["nvtx", "itt", "kokkos"])
def test_sanitized(build: Builder, tmp_path: Path, name: str) -> None:
    """The library under the address and undefined behaviour sanitizers."""
    parts = ("core", "funwrap", "userwrap", "threadwrap", "procwrap", "sampling", "providers", "annotations")
    made = build.unit(f"{name}_records", parts=parts, link=["-rdynamic", f"-I{nvtx_headers()}"])
    for how in ("every", "threads", "interleaved", "colours", "payloads") if name == "nvtx" else ("every",):
        tools = dict.fromkeys(("NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "KOKKOS_TOOLS_LIBS"), "")
        env = tools | {"VT_FILE_PREFIX": how, "VT_UNIFY": "no"}
        done = subprocess.run([made, how], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{how}: {done.stderr}"
        assert "runtime error" not in done.stderr
        unify(tmp_path, how)
        assert check(tmp_path / f"{how}.trace").events
