# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile --by loop, and the loops of the Instant Profiler, on programs whose loops measure their CPU time."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import vtrace as api
from support.build import mpis
from support.build.builder import Builder
from support.build.parallel import unify_mpi
from support.build.run import unify, vtrace
from support.readers import fipp_report
from support.tools import PROGRAMS, call, command

KINDS = ("for", "while", "do", "goto")
GUIDE = {"for": "FOR", "while": "WHILE", "do": "UNTIL", "goto": "GOTO"}
BUILDS = [("gcc", "-O2"), ("clang", "-O2")]


def recorded(program: Path, where: Path, *words: str) -> list[int]:
    """Samples a program; returns the numbers that the program prints."""
    done = call([*command("vtrace"), "run", "--sample=200", program, *words], where)
    return [int(word) for word in done.stdout.split() if word.isdigit()]


def profile(where: Path, name: str, by: str = "loop", *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(where, "profile", name, "--by", by, "--json", *words).stdout)
    return found


@pytest.mark.parametrize(("compiler", "level"), BUILDS)
def test_shares(build: Builder, tmp_path: Path, compiler: str, level: str) -> None:
    """The share of each loop is within 5 standard errors of its CPU time; the outer loop has the time of all."""
    program = build("sampled_loops.c", compiler=compiler, flags=("-g", level), plain=True)
    spent = recorded(program, tmp_path)
    unify(tmp_path, "sampled_loops")
    about = profile(tmp_path, "sampled_loops")
    rows = about["profile"]
    loops = {(row["function"], row["level"], row["kind"]): row for row in rows if row["level"]}
    expected = {("loops", 2, kind): ns for kind, ns in zip(KINDS, spent, strict=False)} | {
        ("called", 1, "for"): spent[4]
    }
    assert loops.keys() == {*expected, ("loops", 1, "for")}
    for key, ns in expected.items():
        share = ns / sum(spent)
        error = math.sqrt(share * (1 - share) / (0.6 * about["samples"]))  # random distances: as fewer samples
        assert abs(loops[key]["share"] - share) < 5 * error + 0.01, (key, share, loops[key])
        assert loops[key]["inclusive_ns"] == loops[key]["exclusive_ns"]
        name = f"{key[0]}, {key[2]} loop of level {key[1]} at "
        assert re.fullmatch(re.escape(name) + r".*sampled_loops\.c:\d+-\d+", loops[key]["loop"])
    outer = loops["loops", 1, "for"]
    assert abs(outer["inclusive_ns"] - sum(spent)) < 0.1 * sum(spent)
    assert outer["inclusive_ns"] >= sum(loops[key]["inclusive_ns"] for key in expected)
    lines = (PROGRAMS / "sampled_loops.c").read_text().splitlines()
    assert "for (int round" in lines[outer["first_line"] - 1]


def test_loops_are_the_sums_of_their_lines(build: Builder, tmp_path: Path) -> None:
    """Every sample is in one row of each table; a loop has the samples of the lines that no inner loop has."""
    recorded(build("sampled_loops.c", flags=("-g", "-O1"), plain=True), tmp_path, "800")
    unify(tmp_path, "sampled_loops")
    by_loop, by_line = (profile(tmp_path, "sampled_loops", by) for by in ("loop", "line"))
    total = sum(row["samples"] for row in by_loop["profile"])
    assert total == sum(row["samples"] for row in by_line["profile"]) == by_loop["samples"] > 50
    trace = api.open(tmp_path / "sampled_loops.trace")
    sums: dict[str, int] = {}
    for row in by_line["profile"]:
        region = trace.regions["name"].tolist().index(row["function"])
        loop = trace.loops.at(region, row["file"], row["line_number"] or 0)
        key = str(loop) if loop >= 0 else row["function"]
        sums[key] = sums.get(key, 0) + row["samples"]
    found = {}
    for row in by_loop["profile"]:
        same = (trace.loops.table["first"] == (row["first_line"] or 0)) & (
            trace.loops.table["level"] == (row["level"] or 0)
        )
        key = str(same.argmax()) if row["level"] else row["function"]
        found[key] = row["samples"]
    assert {key: n for key, n in found.items() if n} == {key: n for key, n in sums.items() if n}


def test_the_report(build: Builder, tmp_path: Path) -> None:
    """The report has the functions and loops of the profile, with the same times, and their call paths in the flame
    graph."""
    recorded(build("sampled_loops.c", flags=("-g", "-O1"), plain=True), tmp_path, "800")
    unify(tmp_path, "sampled_loops")
    vtrace(tmp_path, "report", "sampled_loops")
    text = (tmp_path / "sampled_loops.html").read_text()
    section = re.search(r"<section id=s-samples>.*?</section>", text, re.DOTALL)
    assert section is not None
    for by in ("function", "loop"):
        rows = profile(tmp_path, "sampled_loops", by)["profile"]
        some = [
            row for row in rows if (row["level"] if by == "loop" else row["samples"] and row["source"] == "samples")
        ]
        assert len(some) >= 2
        for row in some:
            assert f"<tr><td>{row[by]}<td class=n data-v={row['exclusive_ns']:.9g}>" in section[0]
    flame = json.loads(re.search(r"<script type=.application/json. id=data>(.*?)</script>", text)[1])["flame"]  # type: ignore[index]
    assert {"main", "loops", "called"} <= set(flame["name"])
    assert flame["whole"] == sum(
        row["exclusive_ns"] for row in profile(tmp_path, "sampled_loops", "callpath")["profile"]
    )
    assert re.search(r"<p class=lead>\d+ samples in the program.{1,6}s own code: ", text)


def test_differences_beyond_chance(build: Builder, tmp_path: Path) -> None:
    """Two equal runs: no function has changed. Six times the rounds: those with most samples have."""
    program = build("sampled_loops.c", flags=("-g", "-O1"), plain=True)
    for name, rounds in (("a", "500"), ("b", "500"), ("c", "3000")):
        call([*command("vtrace"), "run", "--sample=200", program, rounds], tmp_path, {"VT_FILE_PREFIX": name})
        unify(tmp_path, name)

    def changes(one: str, other: str) -> dict[str, dict[str, Any]]:
        found = json.loads(vtrace(tmp_path, "diff", one, other, "--json").stdout)
        return {row["function"]: row for row in found["samples"]}

    longer = changes("a", "c")
    assert {"loops", "called"} <= longer.keys()
    for name, row in longer.items():
        ends = [profile(tmp_path, run, "function")["profile"] for run in ("a", "c")]
        a, c = (sum(r["exclusive_ns"] for r in rows if r["function"] == name) for rows in ends)
        assert (row["exclusive_a"], row["exclusive_b"]) == (a, c)
        assert abs(c - a) > 2 * row["error_ns"] > 0
    assert 200 < longer["loops"]["exclusive_percent"] < 1500
    equal = changes("a", "a")
    assert equal == {}
    chance = changes("a", "b")
    assert all(abs(row["exclusive_change"]) > 2 * row["error_ns"] for row in chance.values())
    shown = vtrace(tmp_path, "diff", "a", "c").stdout
    assert "Time inside the program, by samples" in shown


def test_fortran_and_the_guide(build: Builder, tmp_path: Path) -> None:
    """Loops of Fortran, and the tables of the Instant Profiler with its names of kinds."""
    recorded(build("sampled_loops.f90", compiler="gfortran", flags=("-g", "-O2"), plain=True), tmp_path)
    unify(tmp_path, "sampled_loops")
    kinds = {(row["level"], row["kind"]): row for row in profile(tmp_path, "sampled_loops")["profile"] if row["level"]}
    assert {(1, "DO"), (2, "DO"), (2, "DO WHILE")} <= kinds.keys()
    assert kinds[2, "DO"]["share"] > kinds[2, "DO WHILE"]["share"] > 0.1
    text = vtrace(tmp_path, "compat", "fipppx", "-A", "sampled_loops.trace").stdout
    costs = fipp_report.tables(text)["Application", "loops"][0]
    assert costs.head == ["Cost", "%", "Operation (s)", "Nest", "Kind", "Exec", "Start", "End"]
    found = {(row[3], row[4]): row for row in costs.rows}
    assert {("2", "DO"), ("2", "WHILE")} <= found.keys()
    assert int(found["2", "DO"][0]) == kinds[2, "DO"]["samples"]


def test_kinds_of_the_guide(build: Builder, tmp_path: Path) -> None:
    recorded(build("sampled_loops.c", flags=("-g", "-O1"), plain=True), tmp_path, "1200")
    unify(tmp_path, "sampled_loops")
    text = vtrace(tmp_path, "compat", "fipppx", "-A", "sampled_loops.trace").stdout
    rows = fipp_report.tables(text)["Application", "loops"][0].rows
    assert {(row[-1], row[3], row[4]) for row in rows} >= {("loops", "2", GUIDE[kind]) for kind in KINDS}
    table = vtrace(tmp_path, "compat", "fipppx", "-A", "-tcsv", "sampled_loops.trace").stdout
    assert "Application - loops" in table


def test_without_loops(build: Builder, tmp_path: Path) -> None:
    """A program without debug information: functions stand for their loops, and one line gives the reason."""
    recorded(build("sampled_loops.c", flags=("-O1",), plain=True), tmp_path, "400")
    unify(tmp_path, "sampled_loops")
    done = vtrace(tmp_path, "profile", "sampled_loops", "--by", "loop")
    assert "no loops are known: build the program with -g" in done.stderr
    assert re.search(r"samples .* loops$", done.stdout, re.MULTILINE)
    assert "Loops profile" not in vtrace(tmp_path, "compat", "fipppx", "-A", "sampled_loops.trace").stdout


def test_any_number_of_threads_and_ranks_unifies_the_same_loops(build: Builder, tmp_path: Path) -> None:
    recorded(build("sampled_loops.c", flags=("-g", "-O1"), plain=True), tmp_path, "1200")
    unify(tmp_path, "-k", "sampled_loops", "-o", "one")
    mpi = mpis.find("mpich-wheel", build)
    unify_mpi(mpi, tmp_path, "-k", "sampled_loops", "-o", "two", ranks=2)
    loops = [api.open(tmp_path / f"{name}.trace").vtrace["LOOPS"] for name in ("one", "two")]
    assert loops[0] == loops[1]
    assert {loop["kind"] for loop in loops[0]} == {*KINDS}
    assert all(loop["outer"] is None or loop["outer"] < loop["number"] for loop in loops[0])
