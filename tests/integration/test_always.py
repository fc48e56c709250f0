# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run --always: the program behaves as if vtrace were not there, whatever happens; each job leaves one file."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import vtrace
from support.tools import ROOT, call, command, environment, need
from vtrace.commands import job_file
from vtrace.io.packed.job_row import read_job
from vtrace.wrappers.launch.always import RUNNING

LIMIT = 300
"""Seconds until a job's file must be there: the writer is nice, and the machine may be busy."""
WORKS = """
#include <stdio.h>
int work(int i) { return i + 1; }
int main(void) { int n = 0; for (int i = 0; i < 1000; i++) n = work(n); printf("%d\\n", n); return 7; }
"""
FOREVER = "int work(int i) { return i + 1; }\nint main(void) { for (int n = 0;;) n = work(n); }\n"
SITE = ROOT / "examples/always"
CALLS = ("-O0", "-finstrument-functions")


def compiled(cwd: Path, text: str, *flags: str, name: str = "p") -> Path:
    (cwd / f"{name}.c").write_text(text)
    call([need("gcc"), *flags, f"{name}.c", "-o", name], cwd)
    return cwd / name


def words_of(*words: str | Path) -> list[str | Path]:
    return [*command("vtrace"), "run", "--always", *words]


def of_jobs(jobs: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return environment({"VT_ALWAYS_DIR": str(jobs), **(extra or {})})


def always(
    cwd: Path, *words: str | Path, jobs: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs a program with --always, in the directory of jobs cwd/jobs."""
    return subprocess.run(
        words_of(*words), cwd=cwd, env=of_jobs(jobs or cwd / "jobs", env), capture_output=True, timeout=LIMIT
    )


def alone(cwd: Path, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, timeout=LIMIT)


def told(done: subprocess.CompletedProcess[bytes]) -> tuple[int, bytes, bytes]:
    return done.returncode, done.stdout, done.stderr


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def written(jobs: Path) -> list[Path]:
    """The files of all jobs, after those of ended jobs are written: nothing else stays but a log."""
    wait_for(lambda: not any(path.suffix in (".running", ".ending") for path in jobs.iterdir()))
    return sorted(path for path in jobs.iterdir() if path.suffix == ".vtz")


def log_of(jobs: Path) -> str:
    return "".join(path.read_text() for path in jobs.glob("errors-*.log"))


def only_row(jobs: Path) -> dict[str, object]:
    (file,) = written(jobs)
    row = read_job(file)
    assert row is not None
    return row


def test_a_job(tmp_path: Path) -> None:
    """The file has the calls of the program; the commands read it."""
    compiled(tmp_path, WORKS, *CALLS)
    assert told(always(tmp_path, "./p")) == (7, b"1000\n", b"")
    row = only_row(tmp_path / "jobs")
    assert (row["program"], row["ranks"], row["processes"], row["mpi"], row["efficiency"]) == ("p", 0, 1, None, None)
    assert row["regions"]
    (file,) = written(tmp_path / "jobs")
    assert not log_of(tmp_path / "jobs")
    shown = json.loads(vtrace(tmp_path, "summary", file, "--json").stdout)
    assert {region["region"]: region["calls"] for region in shown["regions"]}["work"] == 1000
    assert vtrace(tmp_path, "profile", file).stdout
    assert vtrace(tmp_path, "diff", file, file).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("sort", "/etc/passwd"), ("sh", "-c", "exec sh -c 'exec sort /etc/passwd'"), ("true",), ("false",),
        ("sh", "-c", "echo out; echo err >&2; exit 3"), ("sh", "-c", "kill -TERM $$"), ("sh", "-c", "kill -SEGV $$"),
        ("sh", "-c", "exec >&- 2>&-; echo lost; exit 5"), ("cat", "/etc/hostname", "/nothing"), ("sh", "./script"),
        ("./script",), (sys.executable, "-c", "import sys; print(sys.argv)", "a b"),
        ("sh", "-c", "(sleep 0.3; echo late) & echo early; wait"), ("sh", "-c", "ps -o args= --ppid $$ | grep -v ps"),
        ("timeout", "20", "sort", "/etc/passwd"), ("nice", "sh", "-c", "exit 9"), (sys.executable, "nothing.py"),
    ],
)  # fmt: skip
def test_as_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit code, or signal, and both outputs."""
    (tmp_path / "script").write_text("#!/bin/sh\necho script; exit 6\n")
    (tmp_path / "script").chmod(0o755)
    assert told(always(tmp_path, *words)) == told(alone(tmp_path, *words))
    written(tmp_path / "jobs")
    assert not log_of(tmp_path / "jobs")


@pytest.mark.parametrize("flags", [("-static",), ("-static-pie",)])
def test_static(tmp_path: Path, flags: tuple[str, ...]) -> None:
    compiled(tmp_path, WORKS, *flags)
    assert told(always(tmp_path, "./p")) == (7, b"1000\n", b"")
    assert not written(tmp_path / "jobs")


def test_setuid(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program of another user")
    program = compiled(tmp_path, WORKS)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert told(always(tmp_path, "./p")) == (7, b"1000\n", b"")
    assert not written(tmp_path / "jobs")


def test_a_program_of_vtrace_cc(build: Builder, tmp_path: Path) -> None:
    """Its own settings stay: it writes its trace."""
    program = build("counted.c")
    env = {"VT_FILE_PREFIX": "own", "VT_VERBOSE": "0"}
    assert told(always(tmp_path, program, "end", "10", env=env)) == (0, b"", b"")
    assert list(tmp_path.glob("own.*"))
    assert not written(tmp_path / "jobs")


def test_another_run(mpi: Mpi, tmp_path: Path) -> None:
    """A job has one recorder: the outer one of two, also if it is the user's and the site's mpiexec uses --always."""
    compiled(tmp_path, WORKS, *CALLS)
    again = f"VT_ALWAYS_DIR={tmp_path}/others vtrace run --always ./p"
    assert told(always(tmp_path, "sh", "-c", again)) == (7, b"1000\n", b"")
    assert not (tmp_path / "others").exists()
    assert len(written(tmp_path / "jobs")) == 1
    program = mpi.build("mpi_messages.c", plain=True)
    (tmp_path / "mpiexec").write_text(f'#!/bin/sh\nexec vtrace run --always {" ".join(mpi.launch)} "$@"\n')
    (tmp_path / "mpiexec").chmod(0o755)
    words = ("run", "--no-sample", "-o", "own", "./mpiexec", "-n", "2", program)
    vtrace(tmp_path, *words, env={**mpi.env, "VT_ALWAYS_DIR": str(tmp_path / "jobs")})
    assert list(tmp_path.glob("own.*"))
    assert len(written(tmp_path / "jobs")) == 1


def test_closed_streams(tmp_path: Path) -> None:
    """The program has the same open descriptors as without vtrace."""
    shown = "; ".join(f"[ -e /proc/self/fd/{number} ] && echo {number} >>found" for number in range(10))
    for closing in ("", "<&-", ">&-", "2>&-", "<&- >&- 2>&-", "7</dev/null"):
        found = []
        for words in (["sh", "-c", shown], words_of("sh", "-c", shown)):
            (tmp_path / "found").write_text("")
            line = " ".join(f"'{word}'" for word in words)
            subprocess.run(["sh", "-c", f"{line} {closing}"], cwd=tmp_path, env=of_jobs(tmp_path / "jobs"))
            found.append((tmp_path / "found").read_text())
        assert found[0] == found[1], closing
    written(tmp_path / "jobs")


def test_a_watcher_without_end(tmp_path: Path) -> None:
    """CPython may loop for ever where it finds no memory: the kernel ends the watcher."""
    lines = """
import os, pathlib, sys
from vtrace.wrappers.launch import watcher
def spin():
    pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
    while True:
        pass
watcher._PROCESSOR = 1
watcher.watch(spin)
"""
    told_pid = tmp_path / "pid"
    call([sys.executable, "-c", lines, told_pid], tmp_path)
    wait_for(lambda: told_pid.exists() and told_pid.read_text() != "")
    pid = int(told_pid.read_text())
    try:
        wait_for(lambda: not Path(f"/proc/{pid}").exists())
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_the_watcher_holds_nothing(tmp_path: Path) -> None:
    """A reader of the program's output sees the end of the program, though a process of the program still runs."""
    done = subprocess.run(
        words_of("sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $!"), cwd=tmp_path, env=of_jobs(tmp_path / "jobs"),
        capture_output=True, timeout=LIMIT,
    )  # fmt: skip
    os.kill(int(done.stdout), signal.SIGKILL)
    written(tmp_path / "jobs")


def test_no_directory(tmp_path: Path) -> None:
    """Without a place for the file the program runs unrecorded: no home, a file in its place, a long name."""
    compiled(tmp_path, WORKS)
    (tmp_path / "file").write_text("")
    for place in ("file/jobs", "file", "a" * 300, "/proc/jobs"):
        assert told(always(tmp_path, "./p", jobs=tmp_path / place)) == (7, b"1000\n", b""), place
    env = {name: value for name, value in environment().items() if name not in ("HOME", "XDG_STATE_HOME")}
    done = subprocess.run(words_of("./p"), cwd=tmp_path, env=env, capture_output=True, timeout=LIMIT)
    assert told(done) == (7, b"1000\n", b"")


def test_home(tmp_path: Path) -> None:
    compiled(tmp_path, WORKS)
    for name, place in (("HOME", ".local/state/vtrace/jobs"), ("XDG_STATE_HOME", "vtrace/jobs")):
        env = {key: value for key, value in environment().items() if key != "XDG_STATE_HOME"} | {name: str(tmp_path)}
        assert told(subprocess.run(words_of("./p"), cwd=tmp_path, env=env, capture_output=True, timeout=LIMIT))[0] == 7
        assert len(written(tmp_path / place)) == 1


def test_a_directory_without_permission(tmp_path: Path) -> None:
    compiled(tmp_path, WORKS)
    (tmp_path / "jobs").mkdir()
    script = 'mount -t tmpfs -o ro none jobs && exec "$@"'
    unshared = [need("unshare"), "--mount", "sh", "-c", script, "sh"]
    if call([*unshared, "true"], tmp_path, check=False).returncode:
        pytest.skip("no file systems can be mounted")
    done = subprocess.run([*unshared, *words_of("./p")], cwd=tmp_path, env=of_jobs(tmp_path / "jobs"),
                          capture_output=True, timeout=LIMIT)  # fmt: skip
    assert told(done) == (7, b"1000\n", b"")


@pytest.mark.parametrize("size", ["4k", "100k", "400k"])
def test_a_full_disk(tmp_path: Path, size: str) -> None:
    """The disk becomes full at the start, while the program runs, or while its file is written."""
    compiled(tmp_path, WORKS, *CALLS)
    (tmp_path / "jobs").mkdir()
    script = (
        f'mount -t tmpfs -o size={size} none jobs && "$@"; code=$?; '
        "while ls jobs | grep -q ing$; do sleep 0.1; done; ls jobs >left; exit $code"
    )
    unshared = [need("unshare"), "--mount", "sh", "-c", script, "sh"]
    if call([*unshared, "true"], tmp_path, check=False).returncode:
        pytest.skip("no small file systems can be mounted")
    for program in (["./p"], ["sh", "-c", "head -c 1M /dev/zero >jobs/other 2>/dev/null; ./p"]):
        done = subprocess.run([*unshared, *words_of(*program)], cwd=tmp_path, env=of_jobs(tmp_path / "jobs"),
                              capture_output=True, timeout=LIMIT)  # fmt: skip
        assert told(done) == (7, b"1000\n", b"")
        left = (tmp_path / "left").read_text().split()
        assert {Path(name).suffix for name in left} <= {"", ".log", ".vtz"}, left


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """80 programs killed or interrupted after any time, also before they begin: each ends by the signal, says nothing,
    and leaves a file that can be read, or none; and no local files."""
    compiled(tmp_path, FOREVER, *CALLS)
    chance, jobs = random.Random(1), tmp_path / "jobs"
    jobs.mkdir()
    for _ in range(80):
        process = subprocess.Popen(
            words_of("./p"), cwd=tmp_path, env=of_jobs(jobs), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        time.sleep(0.15 * chance.random())
        number = chance.choice((signal.SIGKILL, signal.SIGINT))
        process.send_signal(number)
        assert (process.communicate(timeout=LIMIT)[0], process.returncode) == (b"", -number)
    call(words_of("true"), tmp_path, {"VT_ALWAYS_DIR": str(jobs)})  # writes what killed starts have left
    rows = [read_job(file) for file in written(jobs)]
    assert {row["program"] for row in rows if row} == {"p", "true"}
    assert not log_of(jobs)


def watcher_of(job: Path) -> int:
    """The process that has a descriptor of the job's directory."""
    for process in Path("/proc").iterdir():
        try:
            if any(os.readlink(link) == str(job) for link in (process / "fd").iterdir()):
                return int(process.name)
        except (OSError, ValueError):
            continue
    raise AssertionError(f"no watcher of {job}")


def test_a_killed_watcher(tmp_path: Path) -> None:
    """The next job writes the file."""
    compiled(tmp_path, FOREVER, *CALLS)
    jobs = tmp_path / "jobs"
    process = subprocess.Popen(words_of("./p"), cwd=tmp_path, env=of_jobs(jobs))
    wait_for(lambda: list(jobs.glob("*.running/*.buffer")))
    (job,) = jobs.glob("*.running")
    os.kill(watcher_of(job), signal.SIGKILL)
    always(tmp_path, "true")
    wait_for(lambda: list(jobs.glob("*.vtz")))
    assert job.exists(), "its program still runs"
    process.kill()
    process.wait()
    always(tmp_path, "true")
    assert sorted(row["program"] for file in written(jobs) if (row := read_job(file))) == ["p", "true", "true"]


def test_damaged_local_files(tmp_path: Path) -> None:
    """The job keeps its row."""
    compiled(tmp_path, WORKS, *CALLS)
    spoil = "./p; for file in $VT_PFORM_GDIR/*.z; do printf x >$file; done"
    assert told(always(tmp_path, "sh", "-c", spoil)) == (0, b"1000\n", b"")
    (file,) = written(tmp_path / "jobs")
    assert file.name.startswith("sh-")
    assert read_job(file)


def test_a_failure_while_unifying(tmp_path: Path) -> None:
    """The local files go, and the log has a line."""
    compiled(tmp_path, WORKS, *CALLS)
    assert told(always(tmp_path, "sh", "-c", "./p; mkdir $VT_PFORM_GDIR/job.vtz")) == (0, b"1000\n", b"")
    assert not written(tmp_path / "jobs")
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == [f"errors-{os.geteuid()}.log"]
    assert log_of(tmp_path / "jobs").count("\n") == 1


def test_without_python(tmp_path: Path) -> None:
    """The program runs as alone if Python, or vtrace's modules, cannot be loaded."""
    script = "echo out; echo err >&2; exit 7"
    expected = (7, b"out\n", b"err\n")
    (tmp_path / "broken/vtrace").mkdir(parents=True)
    (tmp_path / "broken/vtrace/__init__.py").write_text("import nothing_of_this_name\n")
    env = {"VTRACE_PYTHONPATH": str(tmp_path / "broken")}
    assert told(always(tmp_path, "--io", "sh", "-c", script, env=env)) == expected
    (tmp_path / "vtrace").write_bytes(Path(need("vtrace")).read_bytes())
    (tmp_path / "vtrace").chmod(0o755)
    for first in ("#!/nothing/python\n", ""):
        (tmp_path / "vtrace-python").write_text(first)
        assert told(alone(tmp_path, tmp_path / "vtrace", "run", "--always", "sh", "-c", script)) == expected
        assert alone(tmp_path, tmp_path / "vtrace", "run", "sh", "-c", script).returncode == 1


def test_a_failure_without_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log has the name of the exception."""
    (tmp_path / f"p-20261130T000000Z-n-1{RUNNING}").mkdir()

    def fail(*_: object) -> str:
        raise MemoryError

    monkeypatch.setattr(job_file, "_unify", fail)
    job_file.write(str(tmp_path / f"p-20261130T000000Z-n-1{RUNNING}"), 1.0)
    assert log_of(tmp_path).endswith(" p-20261130T000000Z-n-1: MemoryError\n")


@pytest.mark.parametrize("option", ["--view", "--unify", "--packed", "-v", "--sample", "--force", "--repeat-groups"])
def test_options_without_effect(tmp_path: Path, option: str) -> None:
    done = vtrace(tmp_path, "run", "--always", option, "true", check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"--always and {option} exclude each other" in done.stderr


def test_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """One file for all ranks, with the efficiency and the share of MPI. A run without the shim is not recorded, and
    the shim is built after it."""
    program = mpi.build("mpi_messages.c", plain=True)
    words = [*mpi.launch, "-n", "2", program]
    plain = subprocess.run(words, cwd=tmp_path, env=environment(mpi.env), capture_output=True, timeout=LIMIT)
    env = {**mpi.env, "VT_SHIM_CACHE": str(tmp_path / "shims")}
    first = always(tmp_path, *words, env=env)
    assert (first.returncode, first.stdout) == (plain.returncode, plain.stdout)
    assert b"vtrace" not in first.stderr
    assert "no shim for" in log_of(tmp_path / "jobs")
    wait_for(lambda: list((tmp_path / "shims").glob("shim-*")))  # built in the background
    second = always(tmp_path, *words, env=env)
    assert (second.returncode, second.stdout) == (plain.returncode, plain.stdout)
    assert b"vtrace" not in second.stderr
    row = only_row(tmp_path / "jobs")
    assert (row["program"], row["ranks"], row["processes"]) == ("mpi_messages", 2, 2)
    assert isinstance(row["mpi"], float)
    assert 0 < row["mpi"] <= 1
    assert isinstance(row["efficiency"], float)
    assert 0 < row["efficiency"] < 1


def test_many_processes(tmp_path: Path) -> None:
    """A job of 500 processes has a file of less than 1 MB."""
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    call([need("gcc"), "p.c", "-o", "p"], tmp_path)
    done = always(tmp_path, "sh", "-c", "i=0; while [ $i -lt 500 ]; do ./p; i=$((i + 1)); done")
    assert told(done) == (0, b"", b"")
    (file,) = written(tmp_path / "jobs")
    assert file.stat().st_size < 1_000_000
    row = read_job(file)
    assert row is not None
    assert row["processes"] == 501


def test_the_site_examples(mpi: Mpi, tmp_path: Path) -> None:
    """The environment of the module file and of the prolog records the ranks that mpiexec starts."""
    program = mpi.build("mpi_messages.c", plain=True)
    launcher = Path(mpi.launch[0])
    if launcher.name != "mpiexec":
        pytest.skip("bin has no mpiexec of another name")
    path = f"{launcher.parent}:{environment()['PATH']}"
    env = {**mpi.env, "PATH": path}
    vtrace(tmp_path, "shim", "build", mpi.mpicc, env=env)
    prolog = (SITE / "task_prolog.sh").read_text().splitlines()
    module = (SITE / "modulefile").read_text().splitlines()
    exports = [line.removeprefix("echo ").strip('"') for line in prolog if line.startswith("echo ")]
    sets = [line.split()[1:] for line in module if line.startswith(("setenv", "prepend-path"))]
    exported = [f"export {name}={value}{':$PATH' * (name == 'PATH')}" for name, value in sets]
    assert exports == exported
    script = "\n".join([*exports, f"mpiexec {' '.join(mpi.launch[1:])} -n 2 {program}"])
    script = script.replace("/opt/vtrace/always", str(SITE)).replace("/shared/vtrace/jobs", str(tmp_path / "jobs"))
    done = call(["sh", "-c", script], tmp_path, env, timeout=120)
    assert "vtrace" not in done.stderr
    assert only_row(tmp_path / "jobs")["ranks"] == 2


def test_the_site_example_without_vtrace(tmp_path: Path) -> None:
    (tmp_path / "mpirun").write_text("#!/bin/sh\nprintf '%s|' \"$@\"; exit 3\n")
    (tmp_path / "mpirun").chmod(0o755)
    env = {"PATH": f"{SITE}/bin:{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([SITE / "bin/mpirun", "a b", "", "*"], env=env, capture_output=True, cwd=tmp_path)
    assert told(done) == (3, b"a b||*|", b"")
