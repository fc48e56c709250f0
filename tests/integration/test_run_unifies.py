# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run unifies by default when it has started all processes, and shows a summary."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import names
from support.oracles.check import check
from support.tools import Done, call, command, environment, need

ASKED: dict[str, str] = {"VT_UNIFY": ""}
"""The tests' environment has VT_UNIFY=no; an empty value is none."""
IO = ("--io", "-o", "x")


def run(where: Path, *words: object, env: dict[str, str] = ASKED, check: bool = False) -> Done:
    return call([*command("vtrace"), "run", *words], where, env, check=check)


def local_files(where: Path) -> set[str]:
    return {name for name in names(where) if ".events" in name or ".def" in name or name.endswith(".uctl")}


@pytest.fixture(scope="module")
def mpi(build: Builder) -> mpis.Mpi:
    return mpis.find("mpich-wheel", build)


def test_ranks_of_a_launcher(mpi: mpis.Mpi, tmp_path: Path) -> None:
    program = mpi.build("mpi_messages.c", plain=True)
    plain = call([*mpi.launch, "-n", "2", program], tmp_path, mpi.env)
    done = run(tmp_path, *mpi.launch, "-n", "2", program, env={**mpi.env, **ASKED})
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert names(tmp_path) == {"mpi_messages.trace"}
    trace = check(tmp_path / "mpi_messages.trace")
    assert len(trace.locations) == 2
    told = done.stderr.splitlines()
    assert not any("vtunify" in line for line in told), done.stderr
    assert any(line.startswith("vtrace: mpi_messages.trace: 2 ranks") for line in told)
    assert sum(line.startswith("vtrace: ") and " % MPI" in line for line in told) == 1
    assert [line[:5] for line in told if re.match(r" *\d+  [\d.]+ %", line)] in ([], ["  1  "], ["  1  ", "  2  "])
    assert told[-1].startswith("vtrace: next: vtrace diagnose mpi_messages ")


def test_behind_a_launcher(mpi: mpis.Mpi, tmp_path: Path) -> None:
    """A rank leaves the files for vtunify, since other ranks may still run."""
    program = mpi.build("mpi_messages.c", plain=True)
    words = [*mpi.launch, "-n", "2", *command("vtrace"), "run", program]
    done = call(words, tmp_path, {**mpi.env, **ASKED})
    assert done.stderr.splitlines()[-1].endswith("next: vtunify mpi_messages")
    assert len(local_files(tmp_path)) == 5


@pytest.mark.parametrize(("option", "env"), [("--no-unify", ASKED), ("--no-mpi", {"VT_UNIFY": "off"})])
def test_switched_off(tmp_path: Path, option: str, env: dict[str, str]) -> None:
    done = run(tmp_path, option, *IO, need("cat"), os.devnull, env=env)
    assert done.returncode == 0
    assert local_files(tmp_path) == {"x.uctl", "x.1.events.z", "x.1.def.z"}
    assert not (tmp_path / "x.trace").exists()


def test_arguments_of_the_program_that_look_like_options(tmp_path: Path) -> None:
    """srun has an option --mpi, too."""
    assert run(tmp_path, need("echo"), "--mpi=pmi2", "--sample").stdout == "--mpi=pmi2 --sample\n"


def test_an_archive_exists(tmp_path: Path) -> None:
    """The program runs nevertheless, its exit code counts, and the last line names the next command."""
    words = [*IO, need("sh"), "-c", "echo out; exit 5"]
    assert run(tmp_path, "--no-unify", *words).returncode == 5
    call([*command("vtunify"), "x"], tmp_path)
    before = (tmp_path / "x.trace" / "traces.otf2").read_bytes()
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (5, "out\n")
    last = done.stderr.splitlines()[-1]
    told, _, after = last.partition("; next: ")
    assert told == "vtrace: not unified: x.trace exists, and the local files stay"
    assert (tmp_path / "x.trace" / "traces.otf2").read_bytes() == before
    name, *rest = shlex.split(after)
    call([*command(name), *rest], tmp_path)
    assert names(tmp_path) == {"x.trace"}
    assert run(tmp_path, "--force", *words).returncode == 5
    assert names(tmp_path) == {"x.trace"}


def test_the_archive_of_the_run_before(tmp_path: Path) -> None:
    """A run replaces the archive of a run, which stays under a name of its own until the next run."""
    anchors = []
    for number in range(3):
        done = run(tmp_path, *IO, need("sh"), "-c", f"exit {number}")
        assert done.returncode == number
        anchors.append((tmp_path / "x.trace" / "traces.otf2").read_bytes())
    assert names(tmp_path) == {"x.trace", "x~.trace"}
    assert (tmp_path / "x~.trace" / "traces.otf2").read_bytes() == anchors[1]
    assert "vtrace diff 'x~' x" in done.stderr
    assert len(check(tmp_path / "x~.trace").locations) == 1
    assert call([*command("vtrace"), "diff", "x~", "x"], tmp_path).stdout


def test_another_archive_under_the_name_for_the_last(tmp_path: Path) -> None:
    """An archive that vtrace run has not written is never removed."""
    words = [*IO, need("sh"), "-c", "exit 0"]
    run(tmp_path, *words)
    (tmp_path / "x~.trace").mkdir()
    assert "x.trace exists, and the local files stay" in run(tmp_path, *words).stderr
    assert [*(tmp_path / "x~.trace").iterdir()] == []


@pytest.mark.parametrize(("text", "code"), [("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_exit_code(tmp_path: Path, text: str, code: int) -> None:
    assert run(tmp_path, *IO, need("sh"), "-c", text).returncode == code
    assert len(check(tmp_path / "x.trace").locations) == 1


def test_nothing_recorded(tmp_path: Path) -> None:
    done = run(tmp_path, need("true"))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "little is recorded" in done.stderr
    assert names(tmp_path) == set()


def test_files_of_an_earlier_run(tmp_path: Path) -> None:
    """A run that records nothing does not show an earlier run as its own: the files stay for vtunify."""
    run(tmp_path, "--no-unify", *IO, need("cat"), os.devnull)
    before = local_files(tmp_path)
    assert run(tmp_path, "-o", "x", need("true")).stderr.count("\n") == 1
    done = run(tmp_path, "--unify", "-o", "x", need("true"))
    assert (done.returncode, names(tmp_path)) == (1, before)
    assert "vtrace: error: nothing to unify: " in done.stderr


def test_two_runs_at_the_same_time(tmp_path: Path) -> None:
    """Neither run unifies the files of the other, since only the runtime knows the name of each run."""
    first = [*command("vtrace"), "run", *IO, need("sh"), "-c", "touch ready; until [ -e go ]; do sleep 0.1; done"]
    with subprocess.Popen(first, cwd=tmp_path, env=environment(ASKED), stderr=subprocess.PIPE, text=True) as running:
        while not (tmp_path / "ready").exists():
            assert running.poll() is None
            time.sleep(0.05)
        second = run(tmp_path, *IO, need("cat"), os.devnull).stderr
        (tmp_path / "go").touch()
        assert running.stderr
        told = running.stderr.read()
    assert "vtrace: not unified: x is still running" in second  # a program takes its names at its end
    assert "this run names its files x_1" in told
    assert "vtrace: not unified: two runs used the prefix x at the same time" in told
    assert told.endswith("the local files stay; next: vtunify x or vtunify x_N\n")
    for name in ("x", "x_1"):
        call([*command("vtunify"), name], tmp_path)
    assert names(tmp_path) == {"x.trace", "x_1.trace", "x.lock", "ready", "go"}


@pytest.mark.parametrize("setting", ["VT_FILE_PREFIX=x_%p", "VT_FILE_UNIQUE=yes", "VT_PFORM_GDIR=$HERE"])
def test_names_that_only_the_runtime_knows(tmp_path: Path, setting: str) -> None:
    name, _, value = setting.partition("=")
    env = {**ASKED, name: value, "HERE": str(tmp_path)}
    done = run(tmp_path, "--io", need("cat"), os.devnull, env=env)
    assert done.returncode == 0
    assert not list(tmp_path.glob("*.trace"))
    assert len(local_files(tmp_path)) == 3
    done = run(tmp_path, "--io", "--unify", need("cat"), os.devnull, env=env)
    assert done.returncode == 2
    assert f"{name} names the local files only at run time" in done.stderr


def test_silent(tmp_path: Path) -> None:
    done = run(tmp_path, *IO, need("cat"), os.devnull, env={**ASKED, "VT_VERBOSE": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert names(tmp_path) == {"x.trace"}


def test_view_needs_an_archive(tmp_path: Path) -> None:
    done = run(tmp_path, "--no-unify", "--view", need("true"))
    assert done.returncode == 2
    assert "--view needs an archive" in done.stderr
