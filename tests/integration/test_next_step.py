# SPDX-License-Identifier: BSD-3-Clause
"""Commands that include the next step: from the program to the timeline, and from local files to the report."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.tools import call, command, environment


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("nested.c", flags=("-O1",))


def wait_for(condition: Callable[[], bool]) -> None:
    begin = time.monotonic()
    while not condition() and time.monotonic() < begin + 60:
        time.sleep(0.1)


def test_run_unify_view(program: Path, tmp_path: Path) -> None:
    """vtrace run --unify --view. The browser gets a file with the address, since the address has the token, and all
    users can see the arguments of processes. The file is removed after use. Standard output and exit code are those of
    the program."""
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$@" > opened; ls -l "${1#file://}" >> opened; cat "${1#file://}" >> opened\n')
    browser.chmod(0o755)
    words = [*command("vtrace"), "run", "--unify", "--view", "sh", "-c", f"'{program}'; exit 3"]
    env = environment({"BROWSER": str(browser)})
    env.pop("SSH_CONNECTION", None)
    plain = run(program, tmp_path).stdout
    for path in tmp_path.glob("nested.*"):
        path.unlink()
    process = subprocess.Popen(
        [*words[:-3], "-o", "nested", *words[-3:]], cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stderr
        told = []
        while not (told and told[-1].startswith("http://127.0.0.1:")):
            told.append(process.stderr.readline())
            assert told[-1], told
        address = told[-1].strip()
        opened = tmp_path / "opened"
        wait_for(lambda: opened.exists() and "</a>" in opened.read_text())
        words, mode, text = opened.read_text().splitlines()[:3]
        token = address.rstrip("/").rpartition("/")[2]
        assert words.startswith("file://")
        assert (token not in words, mode[:10], f"url={address}" in text) == (True, "-rw-------", True)
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                assert token.encode() not in path.read_bytes()
        redirect = Path(words.removeprefix("file://"))
        assert redirect.exists()
        with urlopen(address) as page:
            assert page.headers["Referrer-Policy"] == "no-referrer"
            assert b"<!doctype html>" in page.read()
        with urlopen(f"{address}data/1/traces") as answer:
            assert json.loads(answer.read())[0]["title"] == "nested"
        assert not redirect.exists()
        assert any(line.startswith("vtrace: nested.trace: ") for line in told)
        assert not any("next:" in line and "vtunify" not in line for line in told)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (3, plain)
    assert {"nested.trace", "opened"} <= names(tmp_path)


def test_unify_report(program: Path, tmp_path: Path) -> None:
    run(program, tmp_path)
    done = unify(tmp_path, "--report", "nested")
    assert names(tmp_path) == {"nested.trace", "nested.html"}
    assert "nested.html: " in done.stdout
    assert "next: vtrace view nested.trace" in done.stderr
    assert "fib" in (tmp_path / "nested.html").read_text()
    assert "Time by class" in vtrace(tmp_path, "summary", "nested").stdout
    run(program, tmp_path)
    done = unify(tmp_path, "--report", "-o", "other", "nested", "-q")
    assert names(tmp_path) == {"nested.trace", "nested.html", "other.trace", "other.html"}


def test_unify_report_beside_a_page_of_the_user(program: Path, tmp_path: Path) -> None:
    """A file of the user has the report's name: vtunify writes the archive, and the message names the next command."""
    page = tmp_path / "nested.html"
    page.write_text("my page\n")
    run(program, tmp_path)
    done = unify(tmp_path, "--report", "nested", check=False)
    assert (done.returncode, names(tmp_path), page.read_text()) == (1, {"nested.trace", "nested.html"}, "my page\n")
    found = re.search(
        r"nested.html exists, and vtrace has not written it \(replace it with (vtrace report .*), or give -o",
        done.stderr,
    )
    assert found, done.stderr
    vtrace(tmp_path, *found[1].split()[1:])
    assert "fib" in page.read_text()
    assert unify(tmp_path, "--report", "nested").returncode == 0


def test_the_command_of_a_second_run_works(build: Builder, tmp_path: Path) -> None:
    program = build("endings.c", output="heat")
    for words in (["vtunify", "heat"], ["vtunify", "--force", "heat"]):
        said = run(program, tmp_path, "return", "5").stderr.splitlines()[-1]
        assert said.partition("next: ")[2].split() == words
        unify(tmp_path, *words[1:])


def test_vtrace_alone_shows_the_runs_and_their_next_commands(program: Path, tmp_path: Path) -> None:
    done = call(command("vtrace"), tmp_path)
    assert done.stdout.splitlines()[0].startswith("No runs in this directory.")
    assert "vtrace run mpiexec" in done.stdout
    run(program, tmp_path)
    assert call(command("vtrace"), tmp_path).stdout.splitlines() == [
        "nested: local files, just now; next: vtunify nested", "All commands: vtrace --help",
    ]  # fmt: skip
    unify(tmp_path, "nested", "-k", "-o", "nested")
    (first, _) = call(command("vtrace"), tmp_path).stdout.splitlines()
    assert first == "nested: an archive and local files, just now; next: vtunify --force nested"
    for path in tmp_path.glob("nested.*"):
        if path.is_file():
            path.unlink()
    (tmp_path / "nested.trace").rename(tmp_path / "a run\x1b.trace")
    (first, _) = call(command("vtrace"), tmp_path).stdout.splitlines()
    assert first == "a run\\x1b: an archive, just now; next: vtrace summary $'a run\\033'"


@pytest.mark.parametrize(
    ("word", "hint"), [("sumary", "did you mean summary?"), ("xyzzy", "vtrace --help lists the commands")]
)
def test_a_misspelt_command_gets_a_suggestion(word: str, hint: str, tmp_path: Path) -> None:
    done = call([*command("vtrace"), word], tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"vtrace: error: no such command: {word} ({hint})\n")


def test_filter_fit_is_score_fit(program: Path, tmp_path: Path) -> None:
    run(program, tmp_path)
    score = vtrace(tmp_path, "score", "nested", "--fit", "1K").stdout
    assert vtrace(tmp_path, "filter", "nested", "--fit", "1K").stdout == score
    done = vtrace(tmp_path, "filter", "nested", "-o", "x.filter", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
