# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run on real programs with all options: the same output, files and exit code, and the expected events."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.program_inputs import SCRIPTS
from support.build.run import names, unify, vtrace
from support.oracles.check import check
from support.tools import Done, call, command, environment, need

ALL = ("--io", "--memory", "--openmp")
RUN = [*command("vtrace"), "run"]


def outcome(here: Path, words: list[str], env: dict[str, str]) -> tuple[Done, dict[str, bytes]]:
    here.mkdir()
    done = call(words, here, env=env, check=False)
    return done, {str(f.relative_to(here)): f.read_bytes() for f in here.rglob("*") if f.is_file()}


@pytest.mark.parametrize("name", ["bash", "sqlite3"])
def test_same_as_without(tmp_path: Path, name: str) -> None:
    """test_real_programs.py has more programs, with the preloaded libraries."""
    need(name)
    words = [need("bash"), "-c", SCRIPTS[name]]
    plain, files = outcome(tmp_path / "plain", words, {})
    local = str(tmp_path / "local" / "all")
    env = {"VT_VERBOSE": "0", "VT_MAX_FLUSHES": "0", "VT_PFORM_LDIR": str(tmp_path)}
    traced, same = outcome(tmp_path / "traced", [*RUN, *ALL, "-o", local, *words], env)
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout), str(traced)
    assert traced.stderr == plain.stderr
    assert same == files
    unify(tmp_path / "local", "all")
    trace = check(tmp_path / "local" / "all.trace", complete=False)
    kinds = Counter(event.kind for event in trace.events)
    assert kinds["IoOperationComplete"] > 50
    assert Counter(trace.region_of(e).name for e in trace.events if e.kind == "Enter")["malloc"] > 50


def test_bytes_of_dd(tmp_path: Path) -> None:
    """dd moves five blocks of 1000 bytes: the archive has 5000 read and 5000 written bytes."""
    words = [*RUN, "--io", "-o", "copy", need("dd"), "if=/dev/zero", "of=out", "bs=1000", "count=5"]
    done = call(words, tmp_path)
    assert "5000 bytes" in done.stderr
    unify(tmp_path, "copy")
    trace = check(tmp_path / "copy.trace")
    moved: Counter[tuple[str, str | None]] = Counter()
    modes = {e.attrs["matching_id"]: e.attrs["mode"] for e in trace.events if e.kind == "IoOperationBegin"}
    for event in trace.events:
        if event.kind == "IoOperationComplete":
            file = trace.handles[event.attrs["handle"]].file
            moved[modes[event.attrs["matching_id"]], file] += event.attrs["bytes_result"]
    assert moved["READ", "/dev/zero"] == 5000
    assert moved["WRITE", str(tmp_path / "out")] == 5000


@pytest.mark.parametrize("unify", ["no", "yes"])
def test_environment_and_signals_are_the_programs(tmp_path: Path, unify: str) -> None:
    """The program gets the environment, signal masks and descriptors of the user, without changes by Python, and the
    variables of vtrace's library for annotations."""
    script = (
        "env | grep -v ^VT_FILE_PREFIX | sort; grep -E '^Sig(Blk|Ign)' /proc/self/status; ls -l /proc/self/fd | wc -l"
    )
    env = {"LC_ALL": "", "LANG": "", "PWD": str(tmp_path), "VT_UNIFY": unify}
    plain = call([need("sh"), "-c", script], tmp_path, env)
    done = call([*RUN, "--no-mpi", need("sh"), "-c", script], tmp_path, env)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("LD_PRELOAD=", "VT", "_="))]
    added = [line for line in lines if line.endswith("/libvtrace-annotations.so")]
    names = ["INTEL_LIBITTNOTIFY64", "KOKKOS_TOOLS_LIBS", "NVTX_INJECTION64_PATH"]
    assert [line.partition("=")[0] for line in added] == names
    own = [line for line in lines if line not in added]
    assert own == [line for line in plain.stdout.splitlines() if not line.startswith(("_=", "VT"))]


def test_of_the_users_preloads(tmp_path: Path) -> None:
    """Libraries in the user's LD_PRELOAD stay after those of vtrace, which appear once."""
    (tmp_path / "other.c").write_text("int other(void) { return 1; }\n")
    call([need("gcc"), "-shared", "-fPIC", "other.c", "-o", "other.so"], tmp_path)
    env = {"LD_PRELOAD": str(tmp_path / "other.so")}
    shown = [need("sh"), "-c", "echo $LD_PRELOAD"]
    done = call([*RUN, "--io", "--memory", *RUN, "--io", *shown], tmp_path, env)
    assert [os.path.basename(path) for path in done.stdout.strip().split(":")] == [
        "libvtrace.so.1", "libvtrace-io.so", "libvtrace-hdf5.so", "libvtrace-mem.so", "other.so",
    ]  # fmt: skip


def test_exit_codes(tmp_path: Path) -> None:
    for unifies in ((), ("--unify", "--force")):
        done = call([*RUN, "--io", *unifies, "-o", "x", need("sh"), "-c", "exit 42"], tmp_path, check=False)
        assert done.returncode == 42, str(done)
    killed = [need("sh"), "-c", "kill -TERM $$"]
    assert call([*RUN, "--io", *killed], tmp_path, check=False).returncode == -signal.SIGTERM
    done = call([*RUN, "--io", "--unify", "--force", "-o", "x", *killed], tmp_path, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert "x.trace: 1 process" in done.stderr


COUNTS = """
import os, signal, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)  # has a byte for each, also where Python calls a handler once for several
for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: None)
got = []
print("ready", flush=True)
while signal.SIGTERM not in got:
    for number in os.read(read, 100):
        got.append(number)
        print("got", len(got), flush=True)
print(got.count(signal.SIGUSR1), got.count(signal.SIGINT), got.count(signal.SIGTERM), flush=True)
sys.exit(9)
"""


@pytest.mark.parametrize("unifies", [(), ("--unify",)])
def test_signals_reach_the_program(tmp_path: Path, unifies: tuple[str, ...]) -> None:
    """Each signal reaches the program once, with vtrace replaced by the program and with vtrace waiting for it."""
    words = [*RUN, "--io", *unifies, "-o", "counts", sys.executable, "-c", COUNTS]
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        for n, number in enumerate((signal.SIGUSR1, signal.SIGINT, signal.SIGTERM), 1):
            process.send_signal(number)
            assert process.stdout.readline() == f"got {n}\n"
        assert process.stdout.readline() == "1 1 1\n"
        assert process.wait(60) == 9
    assert (tmp_path / "counts.trace").exists() == bool(unifies)


def test_interrupt_from_the_terminal(tmp_path: Path) -> None:
    """Ctrl-C signals all processes in the foreground: vtrace, which waits, must not send the signal again."""
    words = [*RUN, "--io", "--unify", "-o", "counts", sys.executable, "-c", COUNTS]
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execve(words[0], words, environment())
    shown = b""

    def await_(text: bytes) -> None:
        nonlocal shown
        while text not in shown:
            shown += os.read(terminal, 1000)

    await_(b"ready\r\n")
    for n in range(1, 9):  # one after the other: two pending signals count as one
        os.write(terminal, b"\x03")
        await_(b"got %d\r\n" % n)
    os.kill(pid, signal.SIGTERM)
    await_(b"next: vtrace ")
    assert b"0 8 1\r\n" in shown
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    os.close(terminal)


OPENMP = """
#include <stdio.h>
int main(void) {
    int n = 0;
    for (int i = 0; i < 5; i++) {
        _Pragma("omp parallel num_threads(2) reduction(+:n)") n++;
    }
    return printf("%d\\n", n) < 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_openmp(tmp_path: Path, compiler: str) -> None:
    """OpenMP is recorded if the program uses OpenMP, except with --no-openmp."""
    (tmp_path / "team.c").write_text(OPENMP)
    call([need(compiler), "-fopenmp", "-O1", "team.c", "-o", "team"], tmp_path)
    assert call([*RUN, "--unify", "./team"], tmp_path).stdout == "10\n"
    kinds = check(tmp_path / "team.trace").kinds()
    assert (kinds["ThreadFork"], kinds["ThreadTeamBegin"]) == (5, 10)
    done = call([*RUN, "--no-openmp", "--io", "--unify", "--force", "./team"], tmp_path)
    assert done.stdout == "10\n"
    assert "ThreadFork" not in check(tmp_path / "team.trace").kinds()


def test_nothing_was_recorded(tmp_path: Path) -> None:
    """--unify without recorded events is an error."""
    quiet = [need("true")]
    done = call([*RUN, "--unify", *quiet], tmp_path, check=False)
    assert done.returncode == 1
    assert "little is recorded" in done.stderr
    assert "error: " in done.stderr
    assert names(tmp_path) == set()


def test_warning_for_a_python_program(tmp_path: Path) -> None:
    """A Python program without MPI: a warning recommends --python, except if the program imports vtrace.user."""
    for line, warns in {"import time": True, "from vtrace.user import region": False}.items():
        (tmp_path / "solve.py").write_text(f"{line}\n")
        done = vtrace(tmp_path, "run", sys.executable, "solve.py")
        assert ("uses no MPI, little is recorded: --python, --io, --memory record more\n" in done.stderr) == warns
        assert ("warning" in done.stderr) == warns


def test_a_python_script_gives_its_name(tmp_path: Path) -> None:
    (tmp_path / "solve.py").write_text("#!/usr/bin/env python3\nimport sys\nprint(sys.argv)\n")
    (tmp_path / "solve.py").chmod(0o755)
    for words in (["./solve.py", "a"], [sys.executable, "-u", "solve.py", "a"]):
        plain = call(words, tmp_path)
        done = vtrace(tmp_path, "run", "--io", *words)
        assert done.stdout == plain.stdout
        assert names(tmp_path) > {"solve.1.def.z"}
        unify(tmp_path, "solve", "--force")
        trace = check(tmp_path / "solve.trace")
        assert len(trace.locations) == 1  # env is not recorded


def test_program_compiled_with_vtrace(build: Builder, tmp_path: Path) -> None:
    """A program built with vtrace-cc already has the shims: each call is recorded once."""
    counted = {}
    for way, words in {"alone": [], "run": [*RUN, "--io"]}.items():
        place = tmp_path / way
        place.mkdir()
        call([*words, build("io_streams.c")], place, {"VT_IOTRACE": "yes"})
        unify(place, "io_streams")
        trace = check(place / "io_streams.trace")
        entered = [event for event in trace.events if event.kind == "Enter" and event.location == 0]
        counted[way] = Counter(trace.region_of(event).name for event in entered)
    assert counted["run"] == counted["alone"]
    assert counted["run"]["main"] == 1


HOOKS = ("-O1", "-g", "-finstrument-functions")
OWN = {"main": 1, "near": 3, "helper": 8, "far": 5}
OF_LIBRARY = {"lib_work": 10, "lib_inner": 10}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("which", ["both", "program", "library"])
def test_hooks_of_the_compiler_alone(build: Builder, tmp_path: Path, compiler: str, which: str) -> None:
    """Functions of a program or library compiled with -finstrument-functions, but without vtrace-cc, are recorded."""
    of_library = HOOKS if which != "program" else HOOKS[:2]
    of_program = HOOKS if which != "library" else HOOKS[:2]
    flags = (*of_library, "-fPIC", "-shared")
    library = build("two_lib.c", compiler=compiler, flags=flags, output="libtwo.so", plain=True)
    flags = (*of_program, library, f"-Wl,-rpath,{library.parent}")
    program = build("two_a.c", "two_b.c", compiler=compiler, flags=flags, output="two", plain=True)
    done = vtrace(tmp_path, "run", program)
    assert "warning" not in done.stderr
    unify(tmp_path, "two")
    own = OWN if which != "library" else {}
    assert check(tmp_path / "two.trace").calls() == own | (OF_LIBRARY if which != "program" else {})


def test_hooks_of_a_plug_in(build: Builder, tmp_path: Path) -> None:
    """A plug-in with hooks, loaded into a program without: its hooks must not bind to the empty functions of libc."""
    flags = (*HOOKS, "-DNAME=inner", "-fPIC", "-shared")
    plug_in = build("plugin.c", flags=flags, output="plugin.so", plain=True)
    vtrace(tmp_path, "run", build("loader.c", flags=("-O1", "-ldl"), plain=True), plug_in)
    unify(tmp_path, "loader")
    assert check(tmp_path / "loader.trace").calls() == {"entry": 3, "inner": 6}


def test_a_recorded_script_before_the_program(build: Builder, tmp_path: Path) -> None:
    """A script before each rank's program: shells and their children belong to the run of the ranks, and the shell of a
    rank is the creator of the rank."""
    mpi = mpis.find("mpich-wheel", build)
    script = tmp_path / "bind.sh"
    script.write_text('#!/bin/sh\n/bin/true\nexec "$@"\n')
    script.chmod(0o755)
    words = [*mpi.launch, "-n", "3", *command("vtrace"), "run", "--io", "-o", "bound", "./bind.sh"]
    call([*words, mpi.build("mpi_messages.c", plain=True)], tmp_path, mpi.env)
    assert "left alone" not in unify(tmp_path, "bound").stderr
    assert names(tmp_path) == {"bind.sh", "bound.trace"}
    trace = check(tmp_path / "bound.trace", complete=False)
    assert trace.calls()["MPI_Init"] == 3
    groups = {x.process: x.group for x in trace.locations.values()}
    shells = {name for name in groups.values() if name.endswith(f"({Path('/bin/sh').resolve().name})")}
    assert sorted(name.rpartition("(")[2] for name in groups.values() if name not in shells) == [
        "MPI Rank 0", "MPI Rank 1", "MPI Rank 2", "true)", "true)", "true)"
    ]  # fmt: skip
    text = call([need("otf2-print"), "-G", "bound.trace/traces.otf2"], tmp_path).stdout
    found = re.findall(r'LOCATION_GROUP_PROPERTY .*"(MPI Rank \d)" .*VTRACE::CREATOR.* Value: "(.*)" <', text)
    assert [rank for rank, _ in found] == ["MPI Rank 0", "MPI Rank 1", "MPI Rank 2"]
    creators = {creator for _, creator in found}
    assert len(creators) == 3
    assert creators <= shells
