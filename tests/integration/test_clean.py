# SPDX-License-Identifier: BSD-3-Clause
"""vtrace clean removes the files of dead processes, and keeps files that belong to others or can still be unified."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.synthetic_runs.local_files import write_buffer, write_defs
from support.tools import command, environment, need, unavailable


@pytest.fixture
def killed(build: Builder, tmp_path: Path) -> Path:
    """A directory with the files of a killed run; the buffer is in the subdirectory scratch."""
    (tmp_path / "scratch").mkdir()
    program = build("endings.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "kill", "100", env={"VT_PFORM_LDIR": "scratch"}, code=-signal.SIGKILL)
    return tmp_path


def test_dry_run_and_no_terminal_remove_nothing(killed: Path) -> None:
    before = names(killed) | names(killed / "scratch")
    done = vtrace(killed, "clean", "--dry-run", "endings")
    assert len(done.stdout.splitlines()) == 2, str(done)
    assert "buffer of process" in done.stdout
    assert "not be in an archive yet: vtunify reads them (endings)" in done.stderr
    assert "would remove 2 files" in done.stderr
    asked = vtrace(killed, "clean", "endings", check=False)
    assert asked.returncode == 2
    assert "--yes removes without asking" in asked.stderr
    assert names(killed) | names(killed / "scratch") == before


@pytest.mark.parametrize("target", ["endings", "."])
def test_all_of_a_run_that_wrote_nothing(killed: Path, target: str) -> None:
    assert "removed 2 files" in vtrace(killed, "clean", "--yes", target).stderr
    assert (names(killed), names(killed / "scratch")) == ({"scratch"}, set())
    assert "nothing to remove in" in vtrace(killed, "clean", target).stderr


def test_directory_of_buffers(killed: Path) -> None:
    vtrace(killed, "clean", "--yes", "scratch")
    assert names(killed / "scratch") == set()
    assert len(names(killed)) == 2, "the files with the heads lie in another directory"


def test_files_readable_without_the_buffer_stay(build: Builder, tmp_path: Path) -> None:
    program = build("endings.c", flags=("-O1", "-pthread"))
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    run(program, tmp_path, "kill", "20000", env=env, code=-signal.SIGKILL)
    run(program, tmp_path, "return", "10", env={"VT_FILE_PREFIX": "other"})
    before = names(tmp_path)
    assert "removed 1 file" in vtrace(tmp_path, "clean", "--yes", ".").stderr
    assert before - names(tmp_path) == {n for n in before if n.endswith(".buffer")}
    done = unify(tmp_path, "endings")
    assert "is gone: " in done.stderr


def test_local_files_on_request(build: Builder, tmp_path: Path) -> None:
    """A run of fewer processes leaves files of an earlier run of more; --all removes these, but no other ones."""
    program = build("endings.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "return", "10")
    for name in ("endings.1.def.z", "endings.1.events.z"):
        (tmp_path / name).rename(tmp_path / name.replace(".1.", ".2."))
    run(program, tmp_path, "return", "10")
    run(program, tmp_path, "return", "10", env={"VT_FILE_PREFIX": "other"})
    assert "nothing to remove" in vtrace(tmp_path, "clean", "endings").stderr
    assert "vtrace clean --all removes them" in unify(tmp_path, "-k", "endings").stderr
    (tmp_path / "endings.3.def.z").write_bytes(b"no file of vtrace")
    before = names(tmp_path) - {"u_endings.trace"}
    done = vtrace(tmp_path, "clean", "--all", "--dry-run", "endings")
    assert len(done.stdout.splitlines()) == 5, str(done)
    vtrace(tmp_path, "clean", "--all", "--yes", "endings")
    left = {name for name in before if not name.startswith("endings.")}
    assert names(tmp_path) == left | {"endings.3.def.z", "u_endings.trace"}


def test_live_process(build: Builder, tmp_path: Path) -> None:
    words, pipe = [build("pauses.c")], subprocess.PIPE
    process = subprocess.Popen(words, cwd=tmp_path, env=environment({}), stdin=pipe, stdout=pipe, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        before = names(tmp_path)
        vtrace(tmp_path, "clean", "--all", "--yes", "pauses")
        done = vtrace(tmp_path, "clean", "--other-hosts", "--yes", "pauses")
        assert done.stderr.count(f"left alone, process {process.pid} still records") == 2, str(done)
        assert names(tmp_path) == before
    finally:
        process.kill()
        process.communicate()
    vtrace(tmp_path, "clean", "--yes", "pauses")
    assert names(tmp_path) == set()


def test_container_with_the_name_of_the_host(tmp_path: Path) -> None:
    """The process ids of a container mean nothing here: vtunify and vtrace clean leave the files of a process that
    still runs."""
    if os.geteuid() != 0:
        unavailable("only root can make a namespace of process ids")
    inside = [need("unshare"), "--pid", "--fork", "--kill-child", "--mount-proc", *command("vtrace"), "run", "-o", "x"]
    words, pipe = [*inside, "--io", "cat"], subprocess.PIPE
    running = subprocess.Popen(words, cwd=tmp_path, env=environment(), stdin=pipe, stdout=pipe, text=True)
    try:
        assert running.stdin
        assert running.stdout
        print("works", file=running.stdin, flush=True)
        assert running.stdout.readline() == "works\n"
        files = names(tmp_path)
        cleaned = vtrace(tmp_path, "clean", "--all", "--yes", "x").stderr
        assert f"vtrace clean: left alone, of a process on {platform.node()}, in a container: " in cleaned
        told = unify(tmp_path, "-o", "y", "x").stderr
        assert f":1 may still run on {platform.node()}" in told
        assert names(tmp_path) == files | {"y.trace"}
        running.stdin.close()
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.wait()
    unify(tmp_path, "x")
    assert json.loads(vtrace(tmp_path, "info", "--json", "x").stdout)["complete"]


def test_other_hosts_and_unfinished_files(tmp_path: Path) -> None:
    there = {
        "prefix": "heat",
        "host": "node7",
        "pid": 5,
        "start": 10**18,
        "buffer": "/scratch/heat.xnode7-5-abc.buffer",
    }
    write_defs(tmp_path / "heat.1.def.z", [], **there)
    write_buffer(tmp_path / "heat.xnode7-5-abc.buffer", [], **there)
    dead = tmp_path / ".heat.trace.tmp-node7-4194305"
    dead.mkdir()
    (tmp_path / "heat.2.def.z.tmp").write_bytes(b"")
    (tmp_path / "heat.uctl.tmp4194305").write_bytes(b"")
    (tmp_path / "heat.2.def.z.bak").write_bytes(b"the user's own")
    (tmp_path / "heat.3.def.z").write_bytes(b"no file of vtrace")
    before = names(tmp_path)
    done = vtrace(tmp_path, "clean", "--all", "--yes", "heat")
    assert names(tmp_path) == before - {"heat.uctl.tmp4194305"}
    assert done.stderr.count("left alone, of a process on node7: ") == 4, str(done)
    (tmp_path / "heat.1.def.z").unlink()
    vtrace(tmp_path, "clean", "--all", "--yes", "heat")  # no process of the run is known, on no host
    assert not (tmp_path / "heat.2.def.z.tmp").exists()
    vtrace(tmp_path, "clean", "--all", "--other-hosts", "--yes", "heat")
    assert names(tmp_path) == {"heat.2.def.z.bak", "heat.3.def.z"}
