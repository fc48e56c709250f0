# SPDX-License-Identifier: BSD-3-Clause
"""Creation of processes: every function that creates one, programs after exec, shells, and real programs."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import find
from support.build.parallel import assert_same, unify_mpi
from support.build.run import names, run, unify
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import BIN, Done, call, environment, need

LIBRARIES = next(BIN.parent.glob("lib/python*/site-packages/vtrace/_lib"))
PRELOAD = {"LD_PRELOAD": f"{LIBRARIES / 'libvtrace.so.1'}:{LIBRARIES / 'libvtrace-io.so'}"}


def preloaded(cwd: Path, *words: str | Path, code: int = 0, **env: str) -> Done:
    done = call(words, cwd, {**PRELOAD, **env}, check=False)
    assert done.returncode == code, str(done)
    return done


def unified(cwd: Path, prefix: str, **env: str) -> Trace:
    done = unify(cwd, prefix, env=env)
    assert "warning" not in done.stderr, done.stderr
    trace = check(cwd / f"{prefix}.trace")
    assert not [name for name in names(cwd) if name.endswith((".buffer", ".def.z", ".events.z"))]
    return trace


def programs(trace: Trace) -> dict[int, str]:
    """The program of each process, from its location group: "Process host:1 (echo)" -> echo."""
    return {x.process: x.group.rpartition("(")[2].rstrip(")") for x in trace.locations.values()}


def family(trace: Trace) -> Counter[tuple[str, str]]:
    """The number of processes by (parent's program, program)."""
    known = programs(trace)
    return Counter((known[parent], known[child]) for child, parent in trace.creators.items())


def told(trace: Trace, region: str, attribute: str) -> list[object]:
    """The values of an attribute at the enters and leaves of a region."""
    chosen = [e for e in trace.events if e.kind in ("Enter", "Leave") and trace.region_of(e).name == region]
    return [e.more[attribute] for e in chosen if attribute in e.more]


@pytest.fixture(scope="module")
def starts(build: Builder) -> Path:
    return build("starts.c", plain=True)


EXECS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve")


@pytest.mark.parametrize("how", EXECS)
def test_every_exec(starts: Path, tmp_path: Path, how: str) -> None:
    """The process calls exec: its own records are complete, and echo is a new process, its child."""
    assert preloaded(tmp_path, starts, "wait", how).stdout == "a b\n"
    assert not [name for name in names(tmp_path) if name.endswith(".buffer")]
    trace = unified(tmp_path, "starts")
    assert family(trace) == {("starts", "starts"): 1, ("starts", "echo"): 1}
    calls = trace.entered()
    assert {name: calls[name] for name in ("fork", "waitpid", how)} == {"fork": 2, "waitpid": 2, how: 1}
    if how != "fexecve":
        assert told(trace, how, "program") == ["echo" if "p" in how[-2:] else "/bin/echo"]
    assert set(told(trace, "fork", "process")) == set(told(trace, "waitpid", "process"))


@pytest.mark.parametrize("how", ["vfork", "posix_spawn", "posix_spawnp", "silent"])
def test_starts_without_a_process_between(starts: Path, tmp_path: Path, how: str) -> None:
    assert preloaded(tmp_path, starts, how).stdout == "a b\n"
    trace = unified(tmp_path, "starts")
    assert family(trace) == {("starts", "echo"): 1}
    region = "fork" if how == "silent" else how
    assert trace.entered(0)[region] == 1
    echo = next(x.group for x in trace.locations.values() if "echo" in x.group)
    assert [f":{pid} " in echo for pid in told(trace, region, "process")] == [True]
    if "spawn" in how:
        assert told(trace, how, "program") == ["echo" if how.endswith("p") else "/bin/echo"]


def test_exec_that_fails(starts: Path, tmp_path: Path) -> None:
    """Recording continues after a failed exec, and writes the files again."""
    assert preloaded(tmp_path, starts, "fails").stdout == "2 13\n"
    trace = unified(tmp_path, "starts")
    assert told(trace, "execv", "errno") == [2, 13]
    assert trace.entered() == {"fork": 2, "waitpid": 2, "execv": 2}


@pytest.mark.parametrize("how", ["wait", "wait3", "wait4", "waitid"])
def test_every_wait(starts: Path, tmp_path: Path, how: str) -> None:
    preloaded(tmp_path, starts, "waits", how)
    trace = unified(tmp_path, "starts")
    assert trace.entered() == {"fork": 1, how: 1}
    assert told(trace, how, "process") == told(trace, "fork", "process")


SCRIPT = "i=0; while [ $i -lt 100 ]; do /bin/true; /bin/echo $i >> out; i=$((i+1)); done; echo done"


@pytest.mark.parametrize("shell", ["bash", pytest.param("dash", marks=pytest.mark.full)])
def test_200_processes_of_a_script(tmp_path: Path, shell: str) -> None:
    (tmp_path / "many.sh").write_text(SCRIPT)
    env = {"VT_IOTRACE": "yes"}
    assert preloaded(tmp_path, need(shell), "many.sh", **env).stdout == "done\n"
    assert (tmp_path / "out").read_text() == "".join(f"{i}\n" for i in range(100))
    trace = unified(tmp_path, shell)
    known = programs(trace)
    assert Counter(known.values())["true"] == Counter(known.values())["echo"] == 100
    forked = {child for child, parent in trace.creators.items() if known[child] == shell and parent == 0}
    images = {child: parent for child, parent in trace.creators.items() if known[child] in ("true", "echo")}
    assert len(images) == 200
    for image, parent in images.items():
        # If the shell's child redirects output, its process is between the shell and the program.
        assert parent == 0 or parent in forked, (image, parent)


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_two_scripts_in_one_directory_at_once(tmp_path: Path, shell: str) -> None:
    os.mkfifo(tmp_path / "meet")  # opening this pipe waits for the other process
    script = ": {}meet; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true; done; : {}meet"
    words = [[need(shell), "-c", script.format(way, way)] for way in "<>"]
    both = [subprocess.Popen(one, cwd=tmp_path, env=environment(PRELOAD)) for one in words]
    assert [process.wait(60) for process in both] == [0, 0]
    for name in (shell, f"{shell}_1"):  # the shell that ends second gets a number
        unify(tmp_path, name)
        trace = check(tmp_path / f"{name}.trace")
        assert family(trace) == {(shell, "true"): 20}
        assert Counter(programs(trace).values()) == {shell: 1, "true": 20}
    assert names(tmp_path) == {f"{shell}.trace", f"{shell}_1.trace", f"{shell}.lock", "meet"}


def test_emptied_environment(starts: Path, tmp_path: Path) -> None:
    done = preloaded(
        tmp_path, need("sh"), "-c", f"env -i A=1 {starts} silent; true", VT_FILE_PREFIX="e", VT_VERBOSE="1"
    )
    assert done.stdout == "a b\n"
    trace = unified(tmp_path, "e")
    assert ("starts", "echo") in family(trace)


@pytest.mark.parametrize("how", ["posix_spawn", "execve", "execle"])
def test_environment_of_its_own(starts: Path, tmp_path: Path, how: str) -> None:
    """A child with only A=1 in its environment, without LD_PRELOAD and VTRACE_PARENT, still belongs to the run."""
    assert preloaded(tmp_path, starts, "own", how).stdout == "a b\n"
    assert family(unified(tmp_path, "starts")) == {("starts", "echo"): 1}


@pytest.mark.parametrize("how", ["system", "popen"])
def test_programs_of_shells(starts: Path, tmp_path: Path, how: str) -> None:
    """system and popen start the shell inside of libc, with the environment of the process: the shell is recorded."""
    assert preloaded(tmp_path, starts, how).stdout == "a b\n"
    shell = Path("/bin/sh").resolve().name
    trace = unified(tmp_path, "starts")
    assert family(trace) == {("starts", shell): 1, (shell, "echo"): 1}
    assert told(trace, "system", "program") == ["/bin/echo a b"] * (how == "system")


def test_shell_of_an_emptied_environment(starts: Path, tmp_path: Path) -> None:
    """After clearenv, vtrace does not follow processes started by libc; the program's output stays the same."""
    assert preloaded(tmp_path, starts, "cleared").stdout == "a b\n"
    assert programs(unified(tmp_path, "starts")) == {0: "starts"}


def test_children_are_left_alone(starts: Path, tmp_path: Path, build: Builder) -> None:
    child = build("nested.c")  # built with the wrapper
    script = f"echo -; /bin/echo $LD_PRELOAD; {child}; {starts} posix_spawn"
    done = preloaded(tmp_path, need("bash"), "-c", f"{script}; true", VT_EXECTRACE="no")
    assert done.stdout.splitlines()[-1] == "a b"
    assert programs(unified(tmp_path, "bash")) == {0: "bash"}
    inside = preloaded(tmp_path, need("bash"), "-c", f"{need('env')}; true", VT_EXECTRACE="no", VT_FILE_PREFIX="other")
    assert "libvtrace" not in inside.stdout


def test_program_of_other_preloads(starts: Path, tmp_path: Path) -> None:
    other = call([need("gcc"), "-print-file-name=libutil.so.1"], tmp_path).stdout.strip()
    code = f"LD_PRELOAD={other} {need('env')}; true"
    lines = preloaded(tmp_path, need("bash"), "-c", code).stdout.splitlines()
    assert f"LD_PRELOAD={PRELOAD['LD_PRELOAD']}:{other}" in lines


@pytest.mark.parametrize("child", ["starts_raw", "true"])
@pytest.mark.parametrize("unifies", [True, False])
def test_program_that_system_calls_start(build: Builder, tmp_path: Path, child: str, unifies: bool) -> None:
    """A program that starts another as Go does: both are in the archive, also if the other one records nothing."""
    program = build("starts_raw.c", flags=["-pthread"], plain=True)
    words = [program] * (2 if child == "starts_raw" else 1) + [need("true")]
    call([BIN / "vtrace", "run", "--unify" if unifies else "--no-unify", *words], tmp_path)
    trace = check(tmp_path / "starts_raw.trace") if unifies else unified(tmp_path, "starts_raw")
    assert Counter(programs(trace).values()) == {"starts_raw": len(words) - 1, "true": 1}
    assert not [name for name in names(tmp_path) if name.startswith("true")]


def test_run_in_a_run(build: Builder, tmp_path: Path) -> None:
    """A vtrace run in a script belongs to the run around it, also with programs that system calls start."""
    program = build("starts_raw.c", flags=["-pthread"], plain=True)
    inner = f"{BIN / 'vtrace'} run --no-unify {program} {need('true')}; :"
    call([BIN / "vtrace", "run", "--no-unify", need("bash"), "-c", inner], tmp_path)
    found = Counter(programs(unified(tmp_path, "bash")).values())
    assert found["starts_raw"] == found["true"] == found["bash"] == 1


def test_program_that_records_nothing(tmp_path: Path) -> None:
    """A started program has a buffer from its first event on: cat reads a file, and true has no event."""
    script = "/bin/true; /bin/cat data; /bin/true; :"
    (tmp_path / "data").write_text("x\n")
    preload = [word for name, value in (PRELOAD | {"VT_IOTRACE": "yes"}).items() for word in ("-E", f"{name}={value}")]
    words = [need("strace"), "-f", "-qq", "-e", "trace=openat,execve", "-o", "calls", *preload, need("bash"), "-c"]
    assert call([*words, script], tmp_path).stdout == "x\n"
    calls = [line for line in (tmp_path / "calls").read_text().splitlines() if '"' in line]
    images = {line.split()[0]: line.split('"')[1] for line in calls if "execve(" in line and line.endswith("= 0")}
    made = Counter(images[line.split()[0]] for line in calls if ".buffer" in line and "O_CREAT" in line)
    assert made == {need("bash"): 1, "/bin/cat": 1}
    trace = unified(tmp_path, "bash")
    assert Counter(programs(trace).values()) == {"bash": 1, "true": 2, "cat": 1}
    assert trace.entered()["read"] >= 2


def test_killed_before_its_first_event(build: Builder, tmp_path: Path) -> None:
    """The archive has the process and its command; no event is missing, and nothing says so. vtunify-mpi may read the
    shell's note about the signal on another rank."""
    script = "sleep 100 & sleep 0.2; kill -KILL $!; wait; true"
    preloaded(tmp_path, need("bash"), "-c", script, LD_PRELOAD=PRELOAD["LD_PRELOAD"].partition(":")[0])
    done = unify(tmp_path, "-k", "-o", tmp_path / "bash", "bash")
    unify_mpi(find("mpich-wheel", build), tmp_path, "-k", "-o", tmp_path / "all", "bash", ranks=2)
    assert_same(tmp_path / "bash.trace", tmp_path / "all.trace")
    text = ", ended by SIGKILL, did not complete the files: the archive has the events recorded until then"
    assert done.stderr.count(text) == 1
    assert Counter(programs(check(tmp_path / "bash.trace")).values()) == {"bash": 1, "sleep": 2}
    commands = call([BIN / "vtrace", "info", "--json", "bash"], tmp_path).stdout
    assert "sleep 100" in commands
    shown = call([BIN / "vtrace", "info", "bash"], tmp_path).stdout
    assert re.search(r"no: process \S+ was ended by SIGKILL\n", shown)
    assert "(ended by SIGKILL)" in shown


PYTHON = """
import multiprocessing as m, subprocess as s
print(s.run(["sh", "-c", "exit 3"]).returncode, s.run("echo x; false", shell=True).returncode)
print(m.get_context("fork").Pool(2).map(abs, [-1, 2]))
"""
GIT = """git init -q r && cd r && git config user.email a@b && git config user.name n && echo 1 > f && git add f &&
git -c gc.auto=0 commit -qm one && git log --format=%s && git status --short"""
MAKE = """printf 'all: a b\\n\\t@cat a b\\na b:\\n\\t@echo $@ > $@; test -f $@\\nbad:\\n\\t@exit 7\\n' > Makefile
make -s -j2; make -s bad; echo $?"""
PIPE = "set -o pipefail; seq 1000 | sort -rn | head -3; (exit 4); echo $? $(echo sub); exec sh -c 'exit 5'"
REAL = {"python3": ["-c", PYTHON], "git": GIT, "make": MAKE, "bash": ["-c", PIPE]}


@pytest.mark.parametrize("program", REAL)
def test_real_programs_are_unchanged(tmp_path: Path, program: str) -> None:
    words = REAL[program]
    words = [need("sh"), "-c", words] if isinstance(words, str) else [need(program), *words]
    plain, traced = tmp_path / "plain", tmp_path / "traced"
    plain.mkdir()
    traced.mkdir()
    expected = call(words, plain, check=False)
    env = {**PRELOAD, "VT_IOTRACE": "yes", "VT_PFORM_GDIR": str(tmp_path), "VT_FILE_PREFIX": "t", "VT_VERBOSE": "0"}
    found = call(words, traced, env, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    unify(tmp_path, "t")
    trace = check(tmp_path / "t.trace", complete=False)
    assert len(trace.creators) >= 3
    roots = {x.process for x in trace.locations.values()} - trace.creators.keys()
    assert roots == {0}, "all processes must be descendants of the first one"


def test_traced_program_that_forks(build: Builder, tmp_path: Path) -> None:
    """A program built with the wrapper forks: the child has the functions and the location group of its parent."""
    program = build("forks.c")
    run(program, tmp_path, "grandchild")
    unify(tmp_path, "forks")
    trace = check(tmp_path / "forks.trace")
    assert trace.creators == {1: 0, 2: 1}
    assert [trace.entered(n)["fork"] for n in range(3)] == [1, 1, 0]


def test_program_that_system_calls_start_is_left_alone(build: Builder, tmp_path: Path) -> None:
    """VT_EXECTRACE=no, and the started program still has LD_PRELOAD: it finds that a traced process is its parent."""
    program = build("starts_raw.c", flags=["-pthread"], plain=True)
    words = [program, program, need("ls"), "/dev/null"]
    done = call([BIN / "vtrace", "run", "--io", "--unify", *words], tmp_path, {"VT_EXECTRACE": "no"})
    assert done.stdout == "/dev/null\n"
    assert programs(check(tmp_path / "starts_raw.trace")) == {0: "starts_raw"}
    assert names(tmp_path) == {"starts_raw.trace"}
