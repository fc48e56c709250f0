# SPDX-License-Identifier: BSD-3-Clause
"""Standard streams that are closed or cannot be written, as in daemons, in jobs of cron, and before `| head -1`: the
program runs as without vtrace, and a command whose result is lost ends with 1 and a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names
from support.tools import Done, command, environment, need

NOWHERE = ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full")


def redirected(cwd: Path, redirections: str, *words: str | Path, **env: str) -> Done:
    """Runs a command by a shell with redirections."""
    texts = [str(word) for word in words]
    shell = [need("bash"), "-c", f'exec "$@" {redirections}', "-", *texts]
    done = subprocess.run(shell, cwd=cwd, env=environment(env), capture_output=True, text=True, timeout=120)
    return Done(texts, done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("redirections", NOWHERE)
def test_program(build: Builder, tmp_path: Path, redirections: str) -> None:
    """vtrace run has warnings to print, unifies and shows a summary. The program's descriptors are those of a program
    that nothing traces, and no message is in its file."""
    program = build("standard_streams.c", plain=True)
    data = tmp_path / "data.bin"
    plain = redirected(tmp_path, redirections, program)
    expected = (plain.returncode, plain.stdout, data.read_text())
    for options in (("--no-unify",), ("--unify", "--io", "-o", "t")):
        data.unlink()
        done = redirected(tmp_path, redirections, *command("vtrace"), "run", *options, program)
        assert (done.returncode, done.stdout, data.read_text()) == expected, str(done)
    assert "t.trace" in names(tmp_path)


@pytest.mark.parametrize("redirections", NOWHERE)
def test_compiler(tmp_path: Path, redirections: str) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    done = redirected(tmp_path, redirections, *command("vtrace-cc"), "-c", "main.c")
    assert done.returncode == 0, str(done)
    assert "main.o" in names(tmp_path)


RESULTS = (
    ("vtrace",), ("vtrace", "--help"), ("vtrace", "settings"), ("vtrace", "summary", "t"), ("vtrace", "info", "t"),
    ("vtrace", "export", "t", "--to", "csv", "-o", "t.csv"), ("vtrace", "report", "t"), ("vtunify", "t"),
    ("vtrace-cc", "-vt:version"),
)  # fmt: skip


def test_lost_results(build: Builder, tmp_path: Path) -> None:
    """Each command says in one line that its result cannot be written. It prints nothing if a reader ends early."""
    program = build("standard_streams.c", plain=True)
    redirected(tmp_path, "", *command("vtrace"), "run", "--unify", "--io", "-o", "t", program)
    for name, *words in RESULTS:
        for target, why in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            done = redirected(tmp_path, target, *command(name), *words)
            *before, last = done.stderr.splitlines()
            assert (done.returncode, last) == (1, f"{name}: error: standard output: {why}"), str(done)
            assert "Traceback" not in done.stderr
            assert not before
        if words[:1] in ([], ["summary"]):
            assert redirected(tmp_path, "<&- >&- 2>&-", *command(name), *words).returncode == 1
            piped = redirected(tmp_path, "| head -c 0", *command(name), *words)
            assert "rror" not in piped.stderr, str(piped)


def test_work_goes_on(build: Builder, tmp_path: Path) -> None:
    """vtunify writes the archive, and imports what lies beside the local files, though it cannot print its result."""
    program = build("standard_streams.c", plain=True)
    redirected(tmp_path, "", *command("vtrace"), "run", "--no-unify", "--io", "-o", "t", program)
    host = subprocess.run(["uname", "-n"], capture_output=True, text=True, check=True).stdout.strip()
    table = "name,start_tsc.UTC,end_tsc\nstep,2020-01-01 00:00:00,2020-01-01 00:00:01\n"
    (tmp_path / f"more-hostname-{host}.csv").write_text(table)
    done = redirected(tmp_path, ">/dev/full", *command("vtunify"), "t")
    assert done.returncode == 1
    assert "not imported: more-hostname" in done.stderr, str(done)  # a line of 2020 is outside the run
    assert "t.trace" in names(tmp_path)


def test_message_in_a_python_program(tmp_path: Path) -> None:
    """A message of the user API neither stops the program nor becomes a part of its output."""
    code = "from vtrace import user; user.section_start('s', 'x'); print('result')"
    words = ("run", "--no-unify", sys.executable, "-c", code)
    told = redirected(tmp_path, "", *command("vtrace"), *words)
    assert "not whole numbers" in told.stderr, str(told)
    for redirections in ("2>&-", "2>/dev/full"):
        done = redirected(tmp_path, redirections, *command("vtrace"), *words)
        assert (done.returncode, done.stdout) == (0, "result\n"), str(done)
