# SPDX-License-Identifier: BSD-3-Clause
"""Functions of C programs have the right counts, nesting, names and source lines, with each compiler and optimisation
and in each module."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import record, run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, need

NESTED = {"main": 1, "step": 10, "leaf": 20, "fib": 177}


def line_of(source: str, text: str) -> int:
    """The number of the first line of a program that contains the text."""
    lines = (PROGRAMS / source).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def only_functions(trace: Trace, calls: int) -> None:
    """Checks that the trace has this number of calls and no other event."""
    assert trace.kinds() == {"Enter": calls, "Leave": calls}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ("-O0",)),
        ("gcc", ("-O2",)),
        ("gcc", ("-O2", "-fno-pie", "-no-pie")),
        ("gcc", ("-O2", "-fPIE", "-pie")),
        ("clang", ("-O0",)),
        ("clang", ("-O2",)),
        ("clang", ("-O1", "-fno-pie", "-no-pie")),
    ],
)
def test_nested_and_recursive(build: Builder, tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    trace = record(build("nested.c", compiler=compiler, flags=flags), tmp_path)
    only_functions(trace, 208)
    assert trace.calls() == NESTED
    assert trace.edges() == {
        (None, "main"): 1,
        ("main", "step"): 10,
        ("step", "leaf"): 20,
        ("main", "fib"): 1,
        ("fib", "fib"): 176,
    }
    assert len(trace.locations) == 1
    for name, text in {"leaf": "void leaf(", "step": "void step(", "fib": "int fib(", "main": "int main("}.items():
        region = trace.region(name)
        assert region.file
        assert Path(region.file).name == "nested.c"
        # Depending on the compiler, a function begins at the line of its name or of its brace.
        assert region.line - line_of("nested.c", text) in (0, 1), region
        assert (region.role, region.paradigm) == ("FUNCTION", "COMPILER")


def test_time_of_day(build: Builder, tmp_path: Path) -> None:
    before = time.time_ns()
    trace = record(build("nested.c"), tmp_path)
    after = time.time_ns()
    assert before <= trace.realtime <= trace.realtime + trace.length <= after
    assert trace.length > 0
    assert trace.events[0].time >= trace.offset


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_several_files_and_a_library(build: Builder, tmp_path: Path, compiler: str) -> None:
    library = build("two_lib.c", compiler=compiler, flags=("-O1", "-fPIC", "-shared"), output="libtwo.so")
    flags = ("-O1", library, f"-Wl,-rpath,{library.parent}")
    trace = record(build("two_a.c", "two_b.c", compiler=compiler, flags=flags, output="two"), tmp_path)
    only_functions(trace, 37)
    assert trace.calls() == {"main": 1, "near": 3, "helper": 8, "far": 5, "lib_work": 10, "lib_inner": 10}
    assert trace.edges()[("far", "lib_work")] == 10
    assert trace.edges()[("near", "helper")] == 3
    helpers = {Path(r.file or "").name: r.id for r in trace.regions.values() if r.name == "helper"}
    assert set(helpers) == {"two_a.c", "two_b.c"}, "two functions with the same name must stay two regions"
    entered = [e.attrs["region"] for e in trace.events if e.kind == "Enter"]
    assert [entered.count(helpers[name]) for name in ("two_a.c", "two_b.c")] == [3, 5]
    assert Path(trace.region("lib_inner").file or "").name == "two_lib.c"


def test_signal_handlers_that_are_traced(build: Builder, tmp_path: Path) -> None:
    ran = int(run(build("handler.c", flags=("-O1", "-pthread")), tmp_path, "20000", "2000").stdout)
    unify(tmp_path, "handler")
    trace = check(tmp_path / "handler.trace")
    calls = trace.calls()
    assert calls["main"] == 1
    assert calls["work"] == 20000, "the interrupted function must not lose events"
    assert 0 < calls["on_signal"] <= ran
    # A handler that interrupts the recording of an event loses its four events, which vtrace counts.
    assert calls["handled"] == calls["on_signal"]
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["lost"] == 4 * (ran - calls["on_signal"])


def test_code_before_libc_has_begun(build: Builder, tmp_path: Path) -> None:
    """Functions of .preinit_array run before vtrace can read a setting, so they count as lost. All events from main on
    are recorded."""
    env = {"VT_FILE_PREFIX": "other", "VT_IOTRACE": "yes", "VT_MEMTRACE": "yes"}
    done = run(build("preinit.c"), tmp_path, env=env)
    assert done.stderr.startswith("vtrace: 6 events of rank 0 could not be recorded\n")
    unify(tmp_path, "other")
    trace = check(tmp_path / "other.trace")
    calls = trace.calls()
    assert (calls["main"], calls["work"], "early" in calls) == (1, 10, False)
    edges = trace.edges()
    assert [edges["work", name] for name in ("malloc", "free", "open", "close")] == [10] * 4
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["lost"] == 6


@pytest.mark.parametrize("debug", ["-g", "-g0"])
def test_copies_of_a_function_are_one_region(build: Builder, tmp_path: Path, debug: str) -> None:
    program = build("copies.c", flags=("-O3", "-fipa-cp-clone", debug))
    assert re.search(r" work\.constprop", call([need("nm"), program], tmp_path).stdout), "gcc has made no copy"
    trace = record(program, tmp_path)
    assert trace.calls() == {"main": 1, "work": 7}
    assert [region.name for region in trace.regions.values() if region.name == "work"] == ["work"]


def test_two_functions_of_one_name_without_debug_information(build: Builder, tmp_path: Path) -> None:
    library = build("two_lib.c", flags=("-O1", "-fPIC", "-shared"), output="libtwo.so", plain=True)
    flags = ("-O1", "-g0", library, f"-Wl,-rpath,{library.parent}")
    trace = record(build("two_a.c", "two_b.c", flags=flags, output="two"), tmp_path)
    assert trace.calls() == {"main": 1, "near": 3, "helper": 8, "far": 5}, "the library has no hooks"
    entered = [e.attrs["region"] for e in trace.events if e.kind == "Enter"]
    helpers = [region.id for region in trace.regions.values() if region.name == "helper"]
    assert sorted(entered.count(helper) for helper in helpers) == [3, 5]


@pytest.mark.parametrize("way", ["compinst", "hooks"])
@pytest.mark.parametrize("position", ["-pie", "-no-pie"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_functions_that_the_loader_chooses(
    build: Builder, tmp_path: Path, compiler: str, position: str, way: str
) -> None:
    """Hooks pass the address of a stub for such a function."""
    code = "-fPIE" if position == "-pie" else "-fno-pie"
    program = build("indirect.c", compiler=compiler, flags=("-O1", code, position, "-vt:inst", way))
    calls = record(program, tmp_path).calls()
    assert {name.split(".")[0]: n for name, n in calls.items()} == {"main": 1, "work": 3, "one": 3}
