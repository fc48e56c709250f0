# SPDX-License-Identifier: BSD-3-Clause
"""vtrace view --text: exact pictures of small archives, and of missing events in them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from test_ledger import CALLS, SMALL, recorded

from support.build.builder import Builder
from support.build.run import vtrace
from support.synthetic_runs.archives import Foreign
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import unified, world, write_rank
from support.tools import command
from support.users.page_site import Asked
from support.users.terminal import on_terminal


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two locations of 1 ms: the first computes, and is in MPI from 0.25 to 0.5 ms; the second begins at 0.5 ms."""
    made = Foreign(tmp_path / "a.trace")
    made.events(0, [(0, "Enter", 0), (250_000, "Enter", 1), (500_000, "Leave", 1), (1_000_000, "Leave", 0)])
    made.events(1, [(500_000, "Enter", 0), (1_000_000, "Leave", 0)])
    made.begin_definitions()
    made.machine(groups=1, length=1_000_000)
    for number in range(2):
        made.location(number)
    made.region(0, "main")
    made.region(1, "MPI_Wait", paradigm=4)
    made.close()
    return tmp_path


def cells(text: str) -> list[str]:
    """The cells of the rows, without the scale and the legend."""
    return [line.split("  ")[-1] for line in text.splitlines() if line.startswith("process")]


def test_the_picture(place: Path) -> None:
    done = vtrace(place, "view", "--text", "--width", "61", "a")
    assert done.stdout == (
        "a: 2 locations, a column is 25 us\n"
        "                     |0 ns               |500 us\n"
        "process 0, thread 0  ==========MMMMMMMMMM====================\n"
        "process 0, thread 1  ....................====================\n"
        "= user 62.5 %  . no call 25.0 %  M MPI 12.5 %\n"
    )
    assert not done.stderr


def test_a_window_and_shared_rows(place: Path) -> None:
    words = ["view", "--text", "--width", "61", "a"]
    half = vtrace(place, *words, "--from", "200us", "--to", "600us").stdout
    assert cells(half) == ["=====" + "M" * 25 + "=" * 10, "." * 30 + "=" * 10]
    assert "|200 us             |+200 us" in half
    narrow = vtrace(place, *words, "--from", "249990ns", "--to", "250010ns").stdout
    assert cells(narrow) == ["=" * 20 + "M" * 20, "." * 40], "events are read where tiles are too coarse"
    shared = vtrace(place, *words[:2], "--width", "70", "a", "--rows", "1").stdout
    assert shared.splitlines()[2:] == [
        "process 0, t..ss 0, thread 1  =========..MMMMMMMMM====================",
        "= user 62.5 %  . no call 25.0 %  M MPI 12.5 %",
    ]
    assert vtrace(place, *words, "--ranks", "0").stdout == vtrace(place, *words).stdout


def test_colours_on_a_terminal(place: Path) -> None:
    shown = on_terminal([*command("vtrace"), "view", "--text", "a"], place, columns=61)
    assert "\x1b[30;48;2;213;94;0mM\x1b[0m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    assert plain.endswith(vtrace(place, "view", "--text", "--width", "61", "a").stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--text", "--port", "80"], "--port has no effect with --text"),
        (["--text", "--no-browser"], "--no-browser has no effect with --text"),
        (["--width", "80"], "--width has no effect without --text"),
        (["--text", "--width", "3"], "not in the range"),
        (["--text", "--from", "2s"], "not before the end of the trace"),
    ],
)
def test_usage(place: Path, words: list[str], said: str) -> None:
    done = vtrace(place, "view", "a", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_computing_is_not_idle(tmp_path: Path) -> None:
    """Of a program without recorded functions: between its calls of MPI a rank computes; before its first and after its
    last event it does not run, and threads of OpenMP do not between their parallel regions."""
    made = Foreign(tmp_path / "a.trace")
    made.events(0, [(0, "Enter", 0), (100_000, "Leave", 0), (800_000, "Enter", 0), (900_000, "Leave", 0)])
    made.events(1, [(200_000, "Enter", 1), (400_000, "Leave", 1), (600_000, "Enter", 1), (800_000, "Leave", 1)])
    made.begin_definitions()
    made.machine(groups=1, length=1_000_000)
    for number in range(2):
        made.location(number)
    made.region(0, "MPI_Barrier", paradigm=4)
    made.region(1, "parallel", paradigm=3)
    made.close()
    done = vtrace(tmp_path, "view", "--text", "--width", "61", "a")
    assert cells(done.stdout) == ["MMMM" + "~" * 28 + "MMMM....", "." * 8 + "O" * 8 + "." * 8 + "O" * 8 + "." * 8]
    assert done.stdout.endswith(
        "\n~ program outside of calls 35.0 %  . no call 35.0 %  O OpenMP 20.0 %  M MPI 10.0 %\n"
    )


def test_losses(build: Builder, tmp_path: Path) -> None:
    """A recording that ends early: its row has a mark, and the columns of the loss another."""
    recorded(build, tmp_path, "end", CALLS, SMALL | {"VT_MAX_FLUSHES": "1"})
    text = vtrace(tmp_path, "view", "--text", "stops").stdout
    assert re.search(r"^Process[^!]* !=[^!]*!+$", text, re.MULTILINE), text
    assert text.endswith("! events are missing in 1 row: vtrace info lists the losses\n")


def test_switched_off(tmp_path: Path) -> None:
    """The time without recording that the user chose is no loss, and is not outside of calls."""
    records = Chunk(0, 0, 1000)
    for kind, delta, number in [
        ("ENTER", 100, 4), ("LEAVE", 200_000, 4), ("OFF", 0, 0), ("ON", 200_000, 0), ("ENTER", 100_000, 4),
        ("OFF", 0, 0), ("ON", 200_000, 0), ("LEAVE", 100_000, 4),
    ]:  # fmt: skip
        records.record(kind, delta, number)
    write_rank(tmp_path, 0, 1, [world(0, 1), ["REGION", 4, "work", 1, 1, "a.c", 3]], {0: [records]})
    unified(tmp_path)
    assert vtrace(tmp_path, "view", "--text", "--width", "52", "u_t").stdout.splitlines()[2:] == [
        "MPI Rank 0  ==========----------~~~~~----------=====",
        "- not recorded 50.0 %  = user 37.4 %  ~ program outside of calls 12.5 %  . no call 0.1 %",
    ]


def test_rows_that_share_a_time_switched_off(tmp_path: Path) -> None:
    """The times of classes are the same for any number of rows, also if one location of a row does not record."""
    off, on = Chunk(0, 0, 1000), Chunk(1, 0, 1000)
    for kind, delta, number in [("ENTER", 0, 4), ("OFF", 200_000, 0), ("ON", 200_000, 0), ("LEAVE", 0, 4)]:
        off.record(kind, delta, number)
    for kind, delta, number in [("ENTER", 0, 4), ("LEAVE", 300_000, 4)]:
        on.record(kind, delta, number)
    threads = [["LOCATION", 1, 4712, "Thread 1", 1000]]
    write_rank(tmp_path, 0, 1, [world(0, 1), ["REGION", 4, "work", 1, 1, "a.c", 3], *threads], {0: [off], 1: [on]})
    unified(tmp_path)
    words = ["view", "--text", "--width", "60", "u_t", "--rows"]
    apart, shared = (vtrace(tmp_path, *words, rows).stdout.splitlines()[-1] for rows in ("2", "1"))
    assert apart == shared == "= user 62.5 %  - not recorded 25.0 %  . no call 12.5 %"


def test_markers_outside_of_the_time(tmp_path: Path) -> None:
    """They stand at its border, on the page too."""
    made = Foreign(tmp_path / "a.trace")
    made.events(0, [(1000, "Enter", 0), (2000, "Leave", 0)])
    made.begin_definitions()
    made.machine(groups=1, offset=1000, length=1000)
    made.location(0)
    made.region(0, "main")
    made.markers((10, "early"), (1500, "inside"), (2600, "late"))
    made.close()
    lines = vtrace(tmp_path, "view", "--text", "--width", "60", "a").stdout.splitlines()
    assert lines[3][lines[1].index("|") :] == "v" + " " * 23 + "v" + " " * 23 + "v"
    assert Asked(tmp_path / "a.trace").table("marks").columns["time"] == [0, 500, 1000]


def test_an_archive_without_calls(tmp_path: Path) -> None:
    made = Foreign(tmp_path / "empty.trace")
    made.begin_definitions()
    made.machine(length=0)
    made.close()
    done = vtrace(tmp_path, "view", "--text", "empty")
    assert done.stdout.startswith("empty: 0 locations")


def test_reading_shows_its_progress_on_a_terminal(place: Path) -> None:
    """summary and diagnose draw a bar for each pass that takes long, here any pass; nothing in a pipe."""
    made = Foreign(place / "b.trace")
    made.events(0, [(time, kind, 0) for time in range(0, 2000, 20) for kind in ("Enter", "Leave")])
    made.begin_definitions()
    made.machine(groups=1, length=2000)
    made.define("Location", 0, "thread 0", 1, 200, 0)
    made.region(0, "main")
    made.close()
    for name in ("summary", "diagnose"):
        at_once = f"import sys; from vtrace import console; sys.argv = ['vtrace', '{name}', 'b']; "
        at_once += "console._BAR_DELAY = console._REDRAWN = 0; "
        words = [sys.executable, "-c", at_once + "from vtrace.main import main; sys.exit(main())"]
        assert re.search(r"reading events \[#+\] 100 %", on_terminal(words, place)), name
        assert "reading" not in vtrace(place, name, "b").stderr
