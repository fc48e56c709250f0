# SPDX-License-Identifier: BSD-3-Clause
"""The output and the exit status of a program are the same with and without tracing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run
from support.tools import DEFAULTS, call, environment

ENDINGS = [
    ("endings.c", "gcc", (how, "50"))
    for how in ("return", "exit", "_exit", "quick_exit", "abort", "segv", "kill", "thread", "atexit", "true", "again")
]
FORKS = [("forks.c", "clang", (how,)) for how in ("return", "_exit", "abort", "exec", "grandchild", "silent")]
OTHERS = [
    ("many.c", "gcc", ("10", "7")),
    ("many.c", "clang", ("0", "255")),
    ("jump.c", "gcc", ()),
    ("shapes.cc", "g++", ()),
    ("shapes.cc", "clang++", ()),
    ("threads.c", "gcc", ("after", "300", "3")),
    ("endings.c", "gcc", ()),
    ("solver.f90", "gfortran", ()),
]


@pytest.mark.parametrize(("source", "compiler", "args"), ENDINGS + FORKS + OTHERS)
def test_same_as_untraced(build: Builder, tmp_path: Path, source: str, compiler: str, args: tuple[str, ...]) -> None:
    flags = ("-O1", "-pthread")
    untraced = run(build(source, compiler=compiler, flags=flags, plain=True), tmp_path, *args, code=None)
    traced = run(build(source, compiler=compiler, flags=flags), tmp_path, *args, env={"VT_VERBOSE": "0"}, code=None)
    assert (traced.returncode, traced.stdout, traced.stderr) == (untraced.returncode, untraced.stdout, untraced.stderr)


def test_closed_stderr(build: Builder, tmp_path: Path) -> None:
    """stderr is a closed pipe, as in 2>&1 | head -1: a message of vtrace must not end the program or its output."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [build("many.c"), "10", "7"],
            cwd=tmp_path,
            env=environment(DEFAULTS),
            stdout=subprocess.PIPE,
            stderr=closed,
            timeout=60,
            restore_signals=True,
        )
    assert (done.returncode, done.stdout) == (7, b"done 10\n")


@pytest.mark.parametrize("main", ["", "-DMAIN="])
def test_handler_on_a_small_stack(build: Builder, tmp_path: Path, main: str) -> None:
    """The first event and a flush happen on an alternate signal stack of SIGSTKSZ: the program behaves normally."""
    program = build("altstack.c", flags=("-O1", *([main] if main else [])))
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    done = run(program, tmp_path, "30000", env=env, code=7)
    assert done.stdout == "done 30000\n"


@pytest.mark.parametrize("place", ["removed", "d" * 200 + "/" + "e" * 200 + "/" + "f" * 200])
def test_directory_that_cannot_be_used(build: Builder, tmp_path: Path, place: str) -> None:
    """The current directory is removed or has a long path: no events are recorded, and one line says so."""
    directory = tmp_path / place
    directory.mkdir(parents=True)
    remove = 'rmdir "$PWD"; ' if place == "removed" else ""
    stray = [Path("/") / f"many.{name}" for name in ("1.def.z", "1.events.z", "uctl")]
    assert not [path for path in stray if path.exists()]
    done = call(["sh", "-c", remove + 'exec "$0" 10 7', build("many.c")], directory, check=False)
    found = [path for path in stray if path.exists()]
    for path in found:
        path.unlink()
    assert (done.returncode, done.stdout) == (7, "done 10\n"), str(done)
    assert not found, "vtrace wrote files into the root directory"
    written = names(directory) if directory.exists() else set()
    said = "vtrace: the current directory does not exist or its path is too long: nothing is recorded;"
    assert (written, done.stderr.startswith(said), done.stderr.count("\n")) == (set(), True, 1), str(done)
