# SPDX-License-Identifier: BSD-3-Clause
"""Exit codes of commands; each message is a single line."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from vtrace import console
from vtrace.errors import VtraceError


def ended(error: BaseException | None) -> int:
    @click.command()
    def failing() -> None:
        if error is not None:
            raise error

    sys.argv = ["tool"]
    return console.run(failing, "tool")


def test_ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [])
    assert ended(None) == 0
    assert ended(KeyboardInterrupt()) == 130
    capsys.readouterr()
    assert ended(VtraceError("it is\nbroken", "mend it")) == 1
    assert capsys.readouterr().err == "tool: error: it is broken (mend it)\n"
    assert ended(VtraceError("a\x1b[2Jb \udcff é")) == 1
    assert capsys.readouterr().err == "tool: error: a\\x1b[2Jb \\udcff é\n"
    with pytest.raises(ZeroDivisionError):
        ended(ZeroDivisionError())


IN_A_CALLBACK = """
import click, ctypes, os, signal, sys, time
from vtrace import console
@click.command()
def command():
    function = ctypes.CFUNCTYPE(ctypes.c_int)
    function(lambda: os.kill(os.getpid(), signal.SIGINT) or sum(range(1000)))()
    time.sleep(60)
sys.exit(console.run(command, "tool"))
"""


def test_interrupt_in_a_callback() -> None:
    """An exception cannot leave a function that C has called: the interrupt comes again when the function is left."""
    done = subprocess.run([sys.executable, "-c", IN_A_CALLBACK], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "tool: interrupted")


def test_a_name_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    talk = console.Console("tool")
    for say in (talk.warn, talk.note, talk.result):
        say("grid \x1b[31m\nof é")
    said = capsys.readouterr()
    text = r"grid \x1b[31m\nof é"
    assert (said.err, said.out) == (f"tool: warning: {text}\ntool: {text}\n", f"{text}\n")


def test_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A bar with rate and time left appears after a second. A message overwrites the bar, and the end erases it."""
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    tool = console.Console("tool")
    erase = "\r\x1b[K"
    with tool.steps("reading a\x1b[2J", 400, "ranks") as advance:
        for seconds in (0.9, 3.1, 0.05, 2.0):
            now[0] += seconds
            advance(100)
        said = capsys.readouterr().err
        tool.warn("odd")
        warned = capsys.readouterr().err
    assert said.split(erase) == [
        "",
        r"reading a\x1b[2J [##########          ] 50 %, 50 ranks/s, 4",  # cut to the width
        r"reading a\x1b[2J [####################] 100 %, 66 ranks/s",
    ]
    assert warned == f"{erase}tool: warning: odd\n"
    assert capsys.readouterr().err == erase
    tool.warn("odd")
    assert capsys.readouterr().err == "tool: warning: odd\n"


def test_no_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Short work shows none; a terminal without control sequences gets lines."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for terminal in ("xterm", "dumb"):
        monkeypatch.setenv("TERM", terminal)
        with console.Console("tool").steps("reading", 2) as advance:
            advance(1)
        assert capsys.readouterr().err == ""
    with console.Console("tool", progress=True).steps("reading", 2) as advance:
        advance(2)
    assert capsys.readouterr().err.startswith("tool: reading: 100 %, ")
