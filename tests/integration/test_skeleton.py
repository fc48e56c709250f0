# SPDX-License-Identifier: BSD-3-Clause
"""tests/c/skeleton.c, the model of a new shim, compiles without warnings, and records as documented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import ROOT, call, need
from vtrace.paths import LIB

SOURCE = ROOT / "tests" / "c" / "skeleton.c"
FLAGS = ("-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror", f"-I{LIB / 'include'}")
THREADS, CALLS = 3, 20
NAPS = CALLS * (THREADS + 1) + 1  # 1: in the signal handler
SLEEPS = NAPS + 2  # 2: before main, and with an invalid time


@pytest.fixture(scope="module", params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    return need(request.param)


@pytest.fixture(scope="module")
def library(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("skeleton") / "libskeleton.so"
    link = ("-shared", f"-L{LIB}", "-l:libvtrace.so.1", f"-Wl,-rpath,{LIB}")
    call([compiler, *FLAGS, SOURCE, "-o", target, *link], target.parent)
    return target


@pytest.fixture(scope="module")
def naps(build: Builder) -> Path:
    return build("naps.c", flags=("-O1", "-pthread"))


def assert_all_recorded(trace: Trace) -> None:
    assert trace.calls() == {
        "nanosleep": SLEEPS, "nap": NAPS, "main": 1, "body": THREADS, "too_short": 1, "on_signal": 1
    }  # fmt: skip
    edges = trace.edges()
    assert {caller: n for (caller, called), n in edges.items() if called == "nanosleep"} == {
        None: 1, "nap": NAPS, "too_short": 1
    }  # fmt: skip
    assert [trace.calls(location)["nanosleep"] for location in sorted(trace.locations)] == [
        CALLS + 3,
        *[CALLS] * THREADS,
    ]
    region = trace.region("nanosleep")
    assert (region.role, region.paradigm, region.file) == ("FUNCTION", "NONE", None)


def test_preloaded(library: Path, naps: Path, tmp_path: Path) -> None:
    trace = record(naps, tmp_path, str(THREADS), str(CALLS), env={"LD_PRELOAD": str(library)})
    assert_all_recorded(trace)
    about = json.loads(vtrace(tmp_path, "info", "--json", "naps").stdout)["about"]
    assert "shim.mpi" not in about, "the skeleton must not look like an MPI shim"


def test_linked(compiler: str, build: Builder, tmp_path: Path) -> None:
    shim = tmp_path / "skeleton.o"
    call([compiler, *FLAGS, "-c", SOURCE, "-o", shim], tmp_path)
    assert_all_recorded(record(build("naps.c", shim, flags=("-O1", "-pthread")), tmp_path, str(THREADS), str(CALLS)))


def test_program_that_is_not_traced(library: Path, build: Builder, tmp_path: Path) -> None:
    program = build("naps.c", flags=("-O1", "-pthread"), plain=True)
    trace = record(program, tmp_path, str(THREADS), str(CALLS), env={"LD_PRELOAD": str(library)})
    assert trace.calls() == {"nanosleep": SLEEPS}


def test_program_that_calls_nothing(library: Path, build: Builder, tmp_path: Path) -> None:
    done = run(build("many.c", plain=True), tmp_path, env={"LD_PRELOAD": str(library)})
    assert (done.stderr, names(tmp_path)) == ("", set())


def test_passive_where_nothing_can_be_recorded(library: Path, naps: Path, tmp_path: Path) -> None:
    """The current directory is removed: the program behaves normally, and vtrace prints one line."""
    script = 'mkdir gone && cd gone && rmdir ../gone && LD_PRELOAD=$1 exec "$2" 3 20'
    done = call(["sh", "-c", script, "sh", library, naps], tmp_path)
    assert done.stdout == "ok\n"
    assert len(done.stderr.splitlines()) == 1
    assert "nothing is recorded" in done.stderr
    assert names(tmp_path) == set()


def test_killed_in_its_function(library: Path, tmp_path: Path) -> None:
    """SIGKILL inside of a wrapped function: the archive has its enter."""
    source = tmp_path / "killed.c"
    source.write_text(
        "#include <signal.h>\n#include <time.h>\n#include <unistd.h>\n"
        "static void end(int n) { (void)n; kill(getpid(), SIGKILL); }\n"
        "int main(void) { struct timespec t = {60, 0}; signal(SIGALRM, end); alarm(1); return nanosleep(&t, 0); }\n"
    )
    call([need("gcc"), source, "-o", tmp_path / "killed"], tmp_path)
    run(tmp_path / "killed", tmp_path, env={"LD_PRELOAD": str(library)}, code=-9)
    unify(tmp_path, "killed")
    assert check(tmp_path / "killed.trace", complete=False).calls() == {"nanosleep": 1}
