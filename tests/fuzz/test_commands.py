# SPDX-License-Identifier: BSD-3-Clause
"""Every command on damaged archives, as a process: exit code 0, 1 or 2, single printable lines, limited time and
memory."""

from __future__ import annotations

import faulthandler
import json
import os
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic

import pytest

import vtrace
from support.build.builder import Builder
from support.build.run import run, unify
from support.damage.damaged_archives import PROPERTIES, Mutant, copy, mutant, property_texts, rich, spoil_table
from support.damage.damaged_files import damage
from support.damage.isolate import isolated
from support.damage.limited import limited
from support.recorded_archives import unpack
from support.synthetic_runs.whole_run import make_run
from support.tools import call, command
from vtrace.analysis.questions.timeline_data import gather
from vtrace.analysis.selection import Selection
from vtrace.io.archive.reader_abi import LATEST
from vtrace.text import plain

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
GOOD = "GOOD"
"""Stands for the undamaged archive in COMMANDS."""
COMMANDS: list[list[str]] = [
    ["info"], ["summary"], ["info", "--json"], ["summary", "--json"], ["report", "-o", "r.html"], ["diff", GOOD],
    ["timers", "--all"], ["export", "--to", "perfetto", "-o", "p"], ["export", "--to", "csv", "-o", "c"],
    ["export", "--to", "chrome", "-o", "j"], ["mpip"], ["score"], ["view", "--no-browser", "--idle", "0.01"],
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Undamaged archives: one with all kinds of events and definitions, one of vtunify, and one of Score-P."""
    place = tmp_path_factory.mktemp("whole")
    archive = Mutant(place / "rich.trace", Random(0), 0)
    archive.properties(property_texts())
    archive.markers()
    rich(archive)
    (place / "local").mkdir()
    for name, data in damage(make_run(place / "local"), {}, [], []).items():
        (place / "local" / name).write_bytes(data)
    call([*command("vtunify"), "-k", "-o", place / "heat.trace", "heat"], place / "local")
    return [place / "rich.trace", place / "heat.trace", unpack("scorep-heat2d", place)]


def try_command(words: list[str], archive: Path, whole: list[Path]) -> None:
    others: list[str | Path] = [whole[0] if word == GOOD else word for word in words[1:]]
    limited(["vtrace", words[0], archive, *others], archive.parent)


def make(where: Path, seed: int, whole: list[Path]) -> Path | None:
    """A damaged archive; None if libotf2 itself refuses to write it."""

    def child() -> None:
        faulthandler.disable()
        mutant(where, seed, whole)

    try:
        isolated(child)
    except AssertionError:
        return None
    return where


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_is_wrong_with_whole_archives(words: list[str], whole: list[Path]) -> None:
    """All commands accept the archives before their damage."""
    others: list[str | Path] = [whole[0] if word == GOOD else word for word in words[1:]]
    done = limited(["vtrace", words[0], whole[0], *others], whole[0].parent)
    assert done.returncode == 0, str(done)
    assert "damaged" not in done.stderr, str(done)


@pytest.mark.parametrize("part", range(13))
def test_some_damaged_archives(part: int, whole: list[Path], tmp_path: Path) -> None:
    """Each command on two damaged archives; libotf2 may refuse to write one of them."""
    mutants = [archive for seed in (part, part + 100) if (archive := make(tmp_path / f"{seed}.trace", seed, whole))]
    assert mutants, "libotf2 refuses to write both"
    for archive in mutants:
        try_command(COMMANDS[part % len(COMMANDS)], archive, whole)


TABLE_COMMANDS = [
    ["info", "--json"], ["summary"], ["summary", "--json"], ["report", "-o", "r.html"],
    ["export", "--to", "chrome", "-o", "j"], ["export", "--to", "perfetto", "-o", "p"],
]  # fmt: skip
"""Commands that read the intervals of the table of coverage."""


@pytest.fixture(scope="module")
def gaps(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with intervals of several reasons."""
    where = tmp_path_factory.mktemp("gaps")
    env = {"VT_BUFFER_SIZE": "200K", "VT_MAX_FLUSHES": "1"}
    run(build("stops.c", flags=("-O1", "-DVTRACE")), where, "off", "36000", env=env)
    unify(where, "stops")
    return where / "stops.trace"


@pytest.mark.parametrize("part", range(6))
def test_some_damaged_tables(part: int, gaps: Path, tmp_path: Path) -> None:
    """Each command on some damaged tables. For any damage, the Python API answers or raises an error of one line."""
    for seed in range(part, 36, 6):
        archive = tmp_path / f"{seed}.trace"
        copy(gaps, archive)
        spoil_table(archive, seed)
        if seed < 12:
            try_command(TABLE_COMMANDS[part], archive, [gaps])
        isolated(partial(ask_ledger, archive))


def ask_ledger(archive: Path) -> None:
    trace = vtrace.open(archive)
    lines = trace.caveats()
    assert lines, "without the table, the totals still give caveats"
    assert all(line.isprintable() for line in map(plain, lines))
    for row in gather(trace, Selection()).missing.records():
        assert 0 <= row["begin"] <= row["end"] <= LATEST
    assert "<table>" in trace._repr_html_()


@pytest.mark.full
def test_damaged_archives(whole: list[Path], tmp_path: Path) -> None:
    """All commands on many damaged archives."""
    begin, most = monotonic(), 100 if not SECONDS else 10**9
    for seed in count(1000 if not SECONDS else int(begin)):
        if seed >= 1000 + most or (SECONDS and monotonic() - begin > SECONDS):
            break
        if archive := make(tmp_path / f"{seed}.trace", seed, whole):
            for words in COMMANDS:
                try_command(words, archive, whole)


def archive_that_says(where: Path, **values: object) -> Path:
    """An undamaged archive with the properties of vtunify. values: replacements."""
    archive = Mutant(where / "a.trace", Random(0), 0)
    archive.properties({name: json.dumps(value) for name, value in (PROPERTIES | values).items()})
    return rich(archive)


WRONG = {
    "a list": ("COVERAGE", [1], "property VTRACE::COVERAGE is damaged and left out (expected: object)"),
    "a text for a count": (
        "COVERAGE",
        PROPERTIES["COVERAGE"] | {"lost": "3"},
        "COVERAGE: lost is damaged and left out",
    ),
    "numbers for words": ("ABOUT", PROPERTIES["ABOUT"] | {"command": [1, "x"]}, "command[0] is damaged and left out"),
    "no number": ("COVERAGE", PROPERTIES["COVERAGE"] | {"off": float("nan")}, "off is damaged and left out"),
    "a part is missing": ("CLOCKS", {"count": 2}, "(reference, compared, measured, error_ns is missing)"),
    "a negative count": ("EVENTS", {"Enter": -1}, "EVENTS: Enter is damaged and left out (expected: count)"),
}


@pytest.mark.parametrize("what", WRONG)
def test_damaged_properties(what: str, tmp_path: Path) -> None:
    """Each command reports a damaged property in one line, and shows the rest."""
    name, value, expected = WRONG[what]
    archive = archive_that_says(tmp_path, **{name: value})
    for words in (["info"], ["summary"]):
        done = limited(["vtrace", words[0], archive], tmp_path)
        assert done.returncode == 0, str(done)
        assert expected in done.stderr, str(done)
        assert "region 1" in done.stdout or words == ["info"], str(done)
