# SPDX-License-Identifier: BSD-3-Clause
"""Programs and directories with odd names, and a current directory that is gone. The commands that messages name work
when a user pastes them into bash."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.tools import command, environment, need

NAMES = (b"$HOME", b"%p", b"-dash", b"\xff\xfe", b"a'b\\c\n", b"\xc2\x9b")


def bash(text: bytes, cwd: bytes | Path) -> subprocess.CompletedProcess[bytes]:
    words = [os.fsencode(need("bash")), b"-c", text]
    return subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, timeout=120)


@pytest.mark.parametrize("name", NAMES)
def test_pasted_commands(build: Builder, tmp_path: Path, name: bytes) -> None:
    """A program of this name, in a directory of this name, that says how to unify; and vtrace run on this program."""
    here = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(here)
    program = os.path.join(here, name)
    shutil.copy(build("many.c"), program)
    done = subprocess.run([program], cwd=here, env=environment(), capture_output=True, timeout=60)
    typed = done.stderr.rpartition(b"next: ")[2].strip()
    unified = bash(typed, here)
    assert unified.returncode == 0, (typed, unified)
    shown = unified.stdout.rpartition(b"next: ")[2].partition(b", ")[0]
    assert bash(shown, here).returncode == 0, shown
    words = [os.fsencode(command("vtrace")[0]), b"run", b"--io", b"--force", program]
    ran = subprocess.run(words, cwd=here, env=environment({"VT_UNIFY": "yes"}), capture_output=True, timeout=60)
    shown = ran.stderr.rpartition(b"next: vtrace view")[2].partition(b"   for")[0]
    assert shown, ran
    assert bash(b"vtrace info" + shown, here).returncode == 0, shown
    assert {entry for entry in os.listdir(here) if entry.endswith(b".trace")} == {name + b".trace"}


def test_no_current_directory(build: Builder, tmp_path: Path) -> None:
    """The program runs, and a line says why nothing is recorded; with an absolute path its files go there."""
    program = build("many.c")
    gone = b"mkdir gone; cd gone; rmdir ../gone; "
    plain = subprocess.run([program], cwd=tmp_path, env=environment({"VT_MODE": "OFF"}), capture_output=True)
    for options in (b"--no-unify", b"--unify", b"--io"):
        done = bash(gone + b"vtrace run " + options + b" " + bytes(program), tmp_path)
        assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done
        assert done.stderr.count(b"the current directory does not exist") == 1, done.stderr
    there = os.fsencode(tmp_path)
    done = bash(gone + b"vtrace run --unify -o " + there + b"/t " + bytes(program), tmp_path)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), done
    for words in (b"vtrace summary", b"vtrace info", b"vtrace profile", b"vtrace diagnose"):
        done = bash(gone + words + b" " + there + b"/t", tmp_path)
        assert b"Traceback" not in done.stderr
        assert done.returncode == 0, (words, done)
    relative = bash(gone + b"vtrace run --unify -o there/t true", tmp_path)
    assert (relative.returncode, relative.stderr.count(b"\n")) == (1, 1), relative
