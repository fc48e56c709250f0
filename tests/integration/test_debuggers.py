# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose functions vtrace switches on and off, under gdb and perf."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from support.build import compilers
from support.build.builder import Builder
from support.build.run import record, unify
from support.oracles.check import check
from support.oracles.selected_functions import left
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, environment, need

compiler = pytest.mark.parametrize("compiler", compilers.C)
FLAGS = ("-O1", "-fno-optimize-sibling-calls", "-gdwarf-4")

AT = next(n for n, line in enumerate((PROGRAMS / "exact.c").read_text().splitlines(), 1) if "atexit(last)" in line)
STOPPED = "backtrace\ninfo breakpoints\ndelete\ncontinue\n"
GDB = {
    "early": f"break leaf\nignore 1 23\nrun\n{STOPPED}",
    "late": f"tbreak exact.c:{AT}\nrun\nbreak leaf\nignore 2 23\ncontinue\n{STOPPED}",
}
"""Breakpoints set before the program starts, and in main after its start."""
CHOSEN = {"*": {"leaf", "main", "nest"}, "-leaf": {"main", "nest"}, "leaf;main": {"leaf", "main"}}


@pytest.fixture(scope="module", params=compilers.C)
def whole(
    request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Trace]:
    """A compiler, and the trace of all functions of its program."""
    program = build("exact.c", "exact_lib.c", compiler=request.param, flags=FLAGS)
    return request.param, record(program, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("when", GDB)
@pytest.mark.parametrize("patterns", CHOSEN)
def test_gdb(build: Builder, tmp_path: Path, whole: tuple[str, Trace], when: str, patterns: str) -> None:
    """A breakpoint stops in a function at each call, whether vtrace records the function or not; gdb knows the callers,
    and the trace is as without gdb. An early breakpoint hides the sled of a small function: gcc's hooks then leave out
    unselected functions; clang's sled stays without call, and one line says so."""
    compiler, trace = whole
    program = build("exact.c", "exact_lib.c", compiler=compiler, flags=FLAGS)
    hidden = compiler == "clang" and when == "early" and compilers.SLEDS
    chosen = CHOSEN[patterns] - ({"leaf"} if hidden else set())
    others = patterns != "leaf;main"
    wanted = left(trace, lambda name: name in chosen or (others and name != "leaf"))
    (tmp_path / "commands").write_text(GDB[when])
    words = [need("gdb"), "-nx", "-batch", "-x", "commands", program]
    done = call(words, tmp_path, {"VT_FUNCTIONS": patterns, "LC_ALL": "C"}, timeout=120)
    assert "exited normally" in done.stdout, str(done)
    assert "already hit 24 times" in done.stdout, str(done)
    callers = [line.split()[3] for line in done.stdout.splitlines() if line.startswith("#") and " in " in line]
    assert callers == ["nest", "main"], str(done)
    assert done.stderr.count("a breakpoint at its start is not recorded") == hidden
    unify(tmp_path, "exact")
    assert check(tmp_path / "exact.trace").edges() == wanted


@compiler
@pytest.mark.parametrize("patterns", ["*", "-work"])
def test_perf(build: Builder, tmp_path: Path, compiler: str, patterns: str) -> None:
    """perf samples the functions by their names, and the trace is complete."""
    perf = need("perf")
    n = 50_000 if patterns == "*" else 4_000_000
    event = ("-e", "task-clock")
    tried = subprocess.run([perf, "stat", *event, "true"], env=environment(), capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"perf cannot count task-clock here: {tried.stderr.strip().splitlines()[:1]}")
    program = build("threads.c", compiler=compiler, flags=("-O2", "-pthread"))
    words = [perf, "record", "-q", *event, "-F", "10000", "-o", "perf.data", program, "together", "4", str(n)]
    for _ in range(15):  # of the time of a recorded call little is in work: a run may have no sample there
        call(words, tmp_path, {"VT_FUNCTIONS": patterns})
        said = call([perf, "report", "-i", "perf.data", "--stdio", "-s", "symbol"], tmp_path).stdout
        if re.search(r"\[\.\] (work|body)\b", said):
            break
        for path in tmp_path.glob("threads.*"):
            path.unlink()
    else:
        pytest.fail(said)
    unify(tmp_path, "threads")
    calls = check(tmp_path / "threads.trace").calls()
    assert (calls["work"], calls["body"]) == (5 * n if patterns == "*" else 0, 4)
