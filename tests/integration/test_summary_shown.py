# SPDX-License-Identifier: BSD-3-Clause
"""The output of vtrace summary: in a pipe, on a terminal, as CSV and JSON, and for unusual archives."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.build.run import vtrace
from support.synthetic_runs import viewed
from support.synthetic_runs.archives import Foreign
from support.synthetic_runs.local_files import Chunk, write_events
from support.tools import command
from support.users.terminal import on_terminal

TABLES = (
    "classes", "samples", "regions", "bytes", "messages", "collectives", "rma", "rma_synchronization", "devices",
    "kernels", "files", "variables", "directories", "layers", "heap", "counters", "coverage",
)  # fmt: skip


def summary(path: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(path.parent, "summary", path, "--json", *words).stdout)
    assert found["notes"] == []
    return found


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewed.write(tmp_path_factory.mktemp("odd") / "odd.trace").parent


TEXT = """
Time by class, each location
  location    total s    user s     MPI s
  process 0  0.001000  0.000700  0.000300
  process 1  0.001000  0.000600  0.000400
  all        0.002000  0.001300  0.000700

Regions by exclusive
  exclusive s     %  inclusive s  calls   min  mean   max  imbalance  class  region
     0.001097  54.9     0.002000      2  1 ms  1 ms  1 ms       1.09  user   main
     0.000300  15.0     0.000300    100  3 us  3 us  3 us          2  MPI    MPI_Recv
  the first 2 of 6: --top shows more, all with --json or --csv

Messages: 100 with 800 bytes, 1 pair
  from       to         messages  bytes  mean
  process 0  process 1       100    800     8

Collective operations: 2 calls
    time s  calls  bytes sent  bytes received  operation  communicator
  0.000200      2          32              32  Allreduce  world <i>&amp;</i>
"""


def test_in_a_pipe(odd: Path) -> None:
    done = vtrace(odd.parent, "summary", odd, "--top", "2")
    head, _, rest = done.stdout.partition("\n\n")
    assert head.splitlines()[0] == "odd"
    assert "size        2 processes, 2 locations, " in head
    assert head.endswith("time        2 ms on 2 locations: 65 % user, 35 % MPI")
    assert rest == TEXT.lstrip()
    assert done.stderr == (
        "vtrace: next: vtrace diagnose odd.trace   for what makes it slow; vtrace view odd.trace   for the timeline\n"
    )


def test_on_a_terminal(odd: Path) -> None:
    """On a terminal: the same numbers, and names without markup and links."""
    shown = on_terminal([*command("vtrace"), "summary", odd, "--sort", "name"], odd.parent)
    for name in viewed.NAMES.values():
        assert name in shown
    for word in ("0.001097", "process 0", "Allreduce", "next: vtrace diagnose"):
        assert word in shown
    narrow = on_terminal([*command("vtrace"), "summary", odd, "--only", "regions"], odd.parent, columns=90)
    assert "0.001097" in narrow
    assert "imbalance" not in narrow
    narrower = on_terminal([*command("vtrace"), "summary", odd, "--only", "regions"], odd.parent, columns=40)
    assert "0.001097" in narrower
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", narrower).splitlines()) <= 40


def test_shares_are_of_the_time_of_all_locations(tmp_path: Path) -> None:
    """A thread is in calls for 100 of its 400 ns: the shares of regions and of the time outside of calls add up."""
    made = Foreign(tmp_path / "part")
    made.events(0, [(0, "Enter", 0), (50, "Leave", 0), (350, "Enter", 0), (400, "Leave", 0)])
    made.begin_definitions()
    made.machine(length=400)
    made.location(0)
    made.region(0, "main")
    made.close()
    shown = vtrace(tmp_path, "summary", "part").stdout
    assert "400 ns on 1 location: 75 % outside, 25 % user" in shown
    rows = [line.split() for line in shown.partition("Regions by exclusive")[2].splitlines()]
    assert [row[1] for row in rows if row[-1:] in (["main"], ["calls"]) and row[1][0].isdigit()] == ["25.0", "75.0"]
    (row,) = json.loads(vtrace(tmp_path, "summary", "part", "--json").stdout)["regions"]
    assert row["percent"] == pytest.approx(25)


def test_csv(odd: Path) -> None:
    """CSV has all tables, each after its name, with the same numbers as JSON."""
    text = vtrace(odd.parent, "summary", odd, "--csv").stdout
    parts = dict(part.split("\n", 1) for part in text.removeprefix("# ").split("\n# "))
    assert tuple(parts) == TABLES
    known = json.loads(vtrace(odd.parent, "summary", odd, "--json").stdout)
    for name in TABLES:
        rows = list(csv.DictReader(io.StringIO(parts[name])))
        expected = [{k: "" if v is None else str(v) for k, v in row.items()} for row in known[name]]
        assert rows == expected


def test_part_of_a_trace(odd: Path) -> None:
    found = summary(odd, "--rank", "1", "--from", "800us", "--only", "regions", "--only", "classes", "--sort", "calls")
    assert [name for name in TABLES if name in found] == ["classes", "regions"]
    assert [row["process"] for row in found["classes"]] == ["process 1"]
    assert found["classes"][0]["total_ns"] == 200_000
    assert {row["region"]: row["calls"] for row in found["regions"]} == {
        "main": 1, viewed.NAMES[viewed.SCRIPT]: 1, viewed.NAMES[viewed.CLOSE]: 2
    }  # fmt: skip
    assert [row["calls"] for row in found["regions"]] == [2, 1, 1]


def test_many_locations(tmp_path: Path) -> None:
    """The text has the locations with the most and the least time of each class; JSON has all locations."""
    archive = Foreign(tmp_path / "many.trace")
    for n in range(100):
        wait = 10 + (n * 37) % 100
        archive.events(n, [(0, "Enter", 0), (5, "Enter", 1), (5 + wait, "Leave", 1), (1000, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=100, length=1000)
    for n in range(100):
        archive.location(n, n)
    archive.region(0, "main")
    archive.region(1, "MPI_Wait", paradigm=4)
    path = archive.close()
    shown = vtrace(tmp_path, "summary", path, "--only", "classes").stdout.splitlines()
    assert shown[2:] == [
        "  process 0   0.000001  0.000001^  0.000000v",
        "  process 27  0.000001  0.000001v  0.000000^",
        "  all         0.000100  0.000094   0.000006",
        "  ^ the most and v the least of 100; 98 are left out here: all with --json or --csv",
    ]
    assert len(summary(path)["classes"]) == 100
    text = vtrace(tmp_path, "summary", path, "--csv", "--only", "classes").stdout
    assert len(text.splitlines()) == 101


@pytest.mark.parametrize(
    ("locations", "paradigm", "command"),
    [(1, 0, "view"), (2, 0, "diagnose"), (1, 4, "diagnose"), (1, 3, "diagnose")],
    ids=["serial", "two-threads", "MPI", "OpenMP"],
)
def test_next_step(locations: int, paradigm: int, command: str, tmp_path: Path) -> None:
    """vtrace diagnose comes first if threads or ranks may wait for each other; a serial program has no such waits."""
    archive = Foreign(tmp_path / "a.trace")
    for n in range(locations):
        archive.events(n, [(0, "Enter", 0), (5, "Enter", 1), (6, "Leave", 1), (1000, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(length=1000)
    for n in range(locations):
        archive.location(n)
    archive.region(0, "main")
    archive.region(1, "call", paradigm=paradigm)
    archive.close()
    assert vtrace(tmp_path, "summary", "a").stderr.startswith(f"vtrace: next: vtrace {command} a ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("odd", "--json", "--csv"), "use one of them"), (("nothing",), "no such archive"),
        (("odd", "--top", "0"), "--top"), (("odd", "--sort", "size"), "--sort"),
        (("odd", "--rank", "7"), "ranks 0 to 1"),
    ],
)  # fmt: skip
def test_mistakes(odd: Path, words: tuple[str, ...], complaint: str) -> None:
    done = vtrace(odd.parent, "summary", *words, check=False)
    assert done.returncode in (1, 2)
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_damage_is_reported(odd: Path, tmp_path: Path) -> None:
    """A cut event file: a warning names the file, and the events before the damage count."""
    where = tmp_path / "cut.trace"
    shutil.copytree(odd, where)
    events = where / "traces" / "1.evt"
    events.write_bytes(events.read_bytes()[:-40])
    done = vtrace(tmp_path, "summary", "cut", "--json")
    assert re.search(r" cut\.trace/traces/1\.evt(: the file is cut: | cannot be read: )", done.stderr)
    assert len(json.loads(done.stdout)["notes"]) == 1


@pytest.mark.parametrize("words", ["summary", "timers", "profile", "view", "report", "diff"])
def test_local_files_only(words: str, tmp_path: Path) -> None:
    """Only local files exist: the message gives the command to unify them."""
    write_events(tmp_path / "heat.1.events.z", [Chunk()], prefix="heat")
    names = ["heat", "heat"] if words == "diff" else ["heat"]
    done = vtrace(tmp_path, words, *names, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vtrace: error: heat: there are only local files, not unified yet (vtunify heat)\n"
