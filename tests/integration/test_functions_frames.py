# SPDX-License-Identifier: BSD-3-Clause
"""Functions that do not end by their return: exceptions, longjmp, tail calls, threads that end, other stacks, forks.

Each function is left when the program continues in another function, and each call is below its caller.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import prefix_of, run, unify
from support.oracles.check import check
from support.oracles.frames import DEEP, FRAMES, MAIN, UNWINDS, N, chain, holds
from support.readers.archive import Trace, short
from support.tools import call

compiler = pytest.mark.parametrize("compiler", compilers.C)
JUMPS = "-foptimize-sibling-calls"
"""The user's option for tail calls, which vtrace-cc turns off."""
level = pytest.mark.parametrize("level", ["-O2", *(pytest.param(x, marks=pytest.mark.full) for x in ("-O0", "-O3"))])


def trace_of(
    program: Path, where: Path, *args: str, env: Mapping[str, str] | None = None, code: int = 0, complete: bool = True
) -> Trace:
    run(program, where, *args, env=env, code=code)
    unify(where, prefix_of(program))
    return check(where / f"{prefix_of(program)}.trace", complete=complete)


def expect_late(compiler: str, request: pytest.FixtureRequest) -> None:
    """A compiler's own hooks do not show the frame of a function: functions that an exception or a jump has left end
    with the function in which the program continues."""
    if not compilers.SLEDS:
        request.applymarker(pytest.mark.xfail(reason=f"{compiler} has no sleds", strict=True, raises=AssertionError))


@level
@compiler
@pytest.mark.parametrize("how", UNWINDS)
def test_exceptions(
    build: Builder, tmp_path: Path, request: pytest.FixtureRequest, how: str, compiler: str, level: str
) -> None:
    compilers.need_after_inlining(compiler)
    if how != "noexcept":
        expect_late(compiler, request)
    program = build("unwinds.cc", compiler=compilers.cxx(compiler), flags=(level, "-pthread"))
    wanted = dict(UNWINDS[how])
    if how == "noexcept" and compilers.is_clang(compiler) and compilers.SLEDS:
        # clang's code calls std::terminate in a landing pad of the function, gcc's unwinder calls it at the throw.
        wanted["f2_never", "stopped"] = wanted.pop(("f5", "stopped"))
    holds(trace_of(program, tmp_path, how, str(N)), wanted)


@level
@compiler
@pytest.mark.parametrize("how", FRAMES)
def test_frames(
    build: Builder, tmp_path: Path, request: pytest.FixtureRequest, how: str, compiler: str, level: str
) -> None:
    compilers.need_after_inlining(compiler)
    if how in ("longjmp", "signal", "stack", "cancel"):
        expect_late(compiler, request)
    jumps = (JUMPS,) if how in ("tail", "pointers") else ()
    program = build("frames.c", compiler=compiler, flags=(level, "-pthread", *jumps))
    holds(trace_of(program, tmp_path, how, str(N)), FRAMES[how])


@level
@compiler
@pytest.mark.parametrize("jumps", [False, True])
def test_a_last_act_is_within_the_function(
    build: Builder, tmp_path: Path, compiler: str, level: str, jumps: bool
) -> None:
    """A call in the last line of a function is below the function, unless the user asks for tail calls."""
    compilers.need_after_inlining(compiler)
    flags = (level, JUMPS) if jumps else (level,)
    edges = trace_of(build("tail.c", compiler=compiler, flags=flags), tmp_path).edges()
    assert edges["main", "outer"] == 3
    caller = "main" if jumps and level != "-O0" and compilers.SLEDS else "outer"
    assert {above: n for (above, below), n in edges.items() if below == "inner"} == {caller: 3}


@compiler
@pytest.mark.parametrize(
    ("source", "how", "innermost"),
    [("frames.c", "longjmp", "d5"), ("frames.c", "signal", "h1"), ("frames.c", "stack", "h1")]
    + [("unwinds.cc", how, "f5") for how in ("plain", "caught", "quiet", "rethrown", "foreign")],
)
def test_left_at_the_landing(
    build: Builder, tmp_path: Path, request: pytest.FixtureRequest, source: str, how: str, innermost: str, compiler: str
) -> None:
    """The program works for 20 ms where it has landed. The functions that it has left do not get this time."""
    compilers.need_after_inlining(compiler)
    expect_late(compiler, request)
    one = compilers.cxx(compiler) if source.endswith("cc") else compiler
    trace = trace_of(build(source, compiler=one, flags=("-O2", "-pthread")), tmp_path, how, "3", "20000")
    names = {region.id: short(region.name) for region in trace.regions.values()}
    times = {
        kind: [e.time for e in trace.events if e.kind == kind and names[e.attrs["region"]] == name]
        for kind, name in (("Enter", "landed"), ("Leave", innermost))
    }
    assert len(times["Enter"]) == len(times["Leave"]) == 3
    late = [landed - left for landed, left in zip(times["Enter"], times["Leave"], strict=True)]
    assert min(late) > 19_000_000, f"{innermost} ends so many ns before landed: {late}"


def deepest(trace: Trace) -> int:
    """The largest number of open calls of a location."""
    depth: dict[int, int] = {}
    most = 0
    for event in trace.events:
        step = (event.kind == "Enter") - (event.kind == "Leave")
        depth[event.location] = depth.get(event.location, 0) + step
        most = max(most, depth[event.location])
    return most


@compiler
@pytest.mark.parametrize("how", ["tail", "pointers"])
def test_tail_calls(build: Builder, tmp_path: Path, how: str, compiler: str) -> None:
    """A tail call is a leave and an enter: all calls are below the first one's caller."""
    compilers.need_after_inlining(compiler)
    program = build("frames.c", compiler=compiler, flags=("-O2", "-pthread", JUMPS))
    trace = trace_of(program, tmp_path, how, "5000")
    suffix = "_by_pointer" if how == "pointers" else ""
    holds(trace, MAIN | {(None, "catcher"): 1, ("catcher", f"even{suffix}"): 2501, ("catcher", f"odd{suffix}"): 2500})
    assert deepest(trace) == 2


PEAK = """
import resource, subprocess, sys
print(subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@compiler
@pytest.mark.parametrize(
    "settings", [{}, {"VT_MAX_STACK_DEPTH": "100"}, {"VT_FUNCTIONS": "-odd*"}, {"VT_MODE": "RING"}]
)
def test_deep_tail_recursion(build: Builder, tmp_path: Path, compiler: str, settings: dict[str, str]) -> None:
    """A million tail calls on a stack of 128 KiB, in no more memory than ten thousand."""
    compilers.need_after_inlining(compiler)
    program = build("frames.c", compiler=compiler, flags=("-O2", "-pthread", JUMPS))
    env = {"VT_BUFFER_SIZE": "1M", "VT_VERBOSE": "0", **settings}
    peaks = []
    for n in ("10000", "1000000"):
        said = call([sys.executable, "-c", PEAK, program, "tail", n], tmp_path, env).stdout.split()
        assert said[:2] == ["done", n]
        peaks.append(int(said[2]))
    assert peaks[1] < peaks[0] + 4096


@level
@compiler
def test_contexts(build: Builder, tmp_path: Path, compiler: str, level: str) -> None:
    """Two stacks that take turns on one thread. The order of calls on different stacks is not fixed, but nothing is
    lost, nothing grows, and later calls are recorded as usual."""
    compilers.need_after_inlining(compiler)
    program = build("frames.c", compiler=compiler, flags=(level, "-pthread"))
    trace = trace_of(program, tmp_path, "context", "5000")
    assert trace.calls() == {
        "main": 1,
        "players": 1,
        "ping": 5000,
        "pong": 5000,
        "second_stack": 1,
        "landed": 1,
        "settled": 1,
    }
    edges = trace.edges()
    assert (edges["main", "landed"], edges["main", "settled"]) == (1, 1)
    assert deepest(trace) <= 4


@level
@compiler
def test_context_that_moves(build: Builder, tmp_path: Path, compiler: str, level: str) -> None:
    """A stack that continues in another thread each time: a function may be entered in one thread and left in
    another."""
    compilers.need_after_inlining(compiler)
    program = build("frames.c", compiler=compiler, flags=(level, "-pthread"))
    trace = trace_of(program, tmp_path, "moves", "20")
    assert trace.calls() == {"main": 1, "second_stack": 1, "pong": 20, "landed": 1, "settled": 1}


PARENT = MAIN | chain("main", "catcher", *DEEP, n=2) | {("main", "settled"): 2, ("d5", "landed"): 2}


@level
@compiler
@pytest.mark.parametrize("how", ["fork", "forkexit", "vfork"])
def test_forks(build: Builder, tmp_path: Path, how: str, compiler: str, level: str) -> None:
    """The parent's functions are as without a fork. A child has no open calls: it only leaves functions entered before
    the fork."""
    compilers.need_after_inlining(compiler)
    program = build("frames.c", compiler=compiler, flags=(level, "-pthread"))
    trace = trace_of(program, tmp_path, how, "2", complete=False)
    parent = trace.edges(0)
    assert {edge: n for edge, n in parent.items() if edge[1] != "in_child"} == PARENT
    children = [location for location in trace.locations if location]
    if how == "fork":
        assert [trace.calls(child) for child in children] == [{"in_child": 1}] * 2


@compiler
@pytest.mark.parametrize("source", ["unwinds.cc", "frames.c"])
def test_same_output(build: Builder, tmp_path: Path, source: str, compiler: str) -> None:
    """Traced and untraced programs print the same, with a buffer that is full all the time, too."""
    one = compilers.cxx(compiler) if source.endswith("cc") else compiler
    ways = UNWINDS if source.endswith("cc") else [*FRAMES, "tail", "pointers", "context", "moves", "fork", "vfork"]
    for how in ways:
        said = []
        for plain in (True, False):
            program = build(source, compiler=one, flags=("-O2", "-pthread"), plain=plain)
            done = run(program, tmp_path, how, "50", env={"VT_VERBOSE": "0", "VT_BUFFER_SIZE": "100K"})
            said.append((done.stdout, done.stderr))
        assert said[0] == said[1], how
