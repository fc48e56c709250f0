# SPDX-License-Identifier: BSD-3-Clause
"""The section all/0: with VT_SECTION_LEVEL the whole run of each thread, with the counters at its ends."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import vtrace as api
from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.user_api import INCLUDE

PAGES = 300
"""Touched by the program before, in and after the section part/1."""
OWN = 60
"""Page faults (getrusage) of vtrace, of the loader and of printf within all/0, at most."""


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    """Not instrumented: without all/0, only sections and threads make events."""
    return build("sections_whole_run.c", flags=("-vt:inst", "manual", INCLUDE, "-DVTRACE", "-pthread"))


def recorded(program: Path, where: Path, end: str, **env: str) -> dict[str, list[tuple[int, float, int, int]]]:
    """By section and in the order of threads, main first: the ns and the page faults by the recorded all/0 or part/1,
    and those that the thread has printed."""
    done = run(program, where, end, env={"VT_METRICS": "ru_minflt", "VT_METRICS_AT": "user", **env})
    printed = {name: (int(ns), int(faults)) for name, ns, faults in map(str.split, done.stdout.splitlines())}
    unify(where, program.name)
    trace = api.open(where / f"{program.name}.trace")
    found = trace.sections()
    names = ["main" if name == "Master thread" else "thread" for name in trace.locations["name"]]
    rows = [
        (found.sections[row["section"]], row["location"], row["end"] - row["begin"], row["@ru_minflt"])
        for row in found.records()
    ]
    return {
        section: [(ns, faults, *printed[names[at]]) for name, at, ns, faults in sorted(rows) if name == section]
        for section in ("all/0", "part/1")
    }


@pytest.mark.parametrize("end", ["return", "_exit", "pthread_exit", "outlived"])
def test_whole_run(program: Path, tmp_path: Path, end: str) -> None:
    found = recorded(program, tmp_path, end, VT_SECTION_LEVEL="0")
    assert [PAGES <= faults < PAGES + OWN for _, faults, _, _ in found["part/1"]] == [True, True]
    assert len(found["all/0"]) == 2
    for ns, faults, printed_ns, printed_faults in found["all/0"]:
        assert printed_faults >= 3 * PAGES
        assert printed_faults <= faults < printed_faults + OWN
        assert ns > 0.999 * printed_ns  # clocks may differ in their rates


def test_without_level(program: Path, tmp_path: Path) -> None:
    """Before the first section vtrace does not know that sections follow."""
    found = recorded(program, tmp_path, "return")
    assert [faults < 2 * PAGES for _, faults, _, _ in found["all/0"]] == [True, True]


def test_two_threads_of_a_location(program: Path, tmp_path: Path) -> None:
    """Each has its own whole run; the time between them belongs to none."""
    found = recorded(program, tmp_path, "two threads", VT_SECTION_LEVEL="0")
    assert len(found["all/0"]) == 3
    assert len(found["part/1"]) == 3
    for ns, faults, *_ in found["all/0"]:
        assert 3 * PAGES <= faults < 3 * PAGES + 2 * OWN
        assert ns >= 30_000_000


def test_a_thread_that_does_not_end(program: Path, tmp_path: Path) -> None:
    """The readings up to the last event are not those of the whole run."""
    env = {"VT_METRICS": "ru_minflt", "VT_METRICS_AT": "user", "VT_SECTION_LEVEL": "0"}
    run(program, tmp_path, "exit in thread", env=env)
    unify(tmp_path, program.name)
    shown = vtrace(tmp_path, "profile", program.name, "--by", "section", "--metrics", "ru_minflt", "--json")
    rows = {row["section"]: row["ru_minflt"] for row in json.loads(shown.stdout)["metrics"]}
    assert rows["all/0"] is None
    assert rows["part/1"] >= PAGES
    assert "section all/0: the counters were not read at each start and stop: no values" in shown.stderr
    shown = vtrace(tmp_path, "profile", program.name, "--by", "section")
    (line,) = [line for line in shown.stderr.splitlines() if "all/0 has no counters of" in line]
    assert line.endswith("Master thread: its end was not recorded")


def test_shells_are_no_processes_of_the_application(program: Path, tmp_path: Path) -> None:
    words = ("run", "--unify", "--section-level", "0", "sh", "-c", f"true; {program} return; true")
    vtrace(tmp_path, *words, env={"VT_FILE_PREFIX": "shell"})
    found = json.loads(vtrace(tmp_path, "profile", "shell", "--by", "section", "--json").stdout)
    assert {(row["section"], row["processes"]) for row in found["sections"]} == {("all/0", 1), ("part/1", 1)}
    assert {row["section"] for row in found["sections_by_process"]} == {"all/0", "part/1"}
    assert len(found["sections_by_thread"]) == 4


def test_a_forked_child(program: Path, tmp_path: Path) -> None:
    """Its start and end are not recorded. A part of the archive has none either."""
    env = {"VT_METRICS": "ru_minflt", "VT_METRICS_AT": "user", "VT_SECTION_LEVEL": "0"}
    run(program, tmp_path, "fork", env=env)
    unify(tmp_path, program.name)
    trace = api.open(tmp_path / f"{program.name}.trace")
    found = [row for row in trace.sections().records() if row["section"] == 0]
    assert sorted(math.isnan(row["@ru_minflt"]) for row in found) == [False, False, True]
    shown = vtrace(tmp_path, "profile", program.name, "--by", "section")
    (line,) = [line for line in shown.stderr.splitlines() if "all/0 has no counters of" in line]
    assert line.endswith("its start and end were not recorded")
    vtrace(tmp_path, "cut", program.name, "--from", "20%", "-o", "part")
    part = api.open(tmp_path / "part.trace").sections()
    assert all(math.isnan(row["@ru_minflt"]) for row in part.records() if row["section"] == 0)


def test_recording_starts_with_a_section(program: Path, tmp_path: Path) -> None:
    """The start of main's section, 10 ms or more after the program's, is the first record after VT_START_AFTER, which
    comes with pthread_create at the latest."""
    env = {"VT_METRICS": "ru_minflt", "VT_METRICS_AT": "user", "VT_START_AFTER": "0.006"}
    run(program, tmp_path, "outlived", env=env)
    unify(tmp_path, program.name)
    found = api.open(tmp_path / f"{program.name}.trace").sections()
    faults = [row["@ru_minflt"] for row in found.records() if found.sections[row["section"]] == "part/1"]
    assert len(faults) >= 1
    assert all(PAGES <= each < PAGES + OWN for each in faults)


@pytest.mark.parametrize(("metrics", "locations"), [("ru_minflt", 3), ("", 2)])
def test_counters_of_two_threads_without_their_starts(
    program: Path, tmp_path: Path, metrics: str, locations: int
) -> None:
    """They share a location only if there are no counters, which nothing would separate."""
    run(program, tmp_path, "two threads", env={"VT_METRICS": metrics, "VT_METRICS_AT": "user", "VT_PTHREAD": "no"})
    unify(tmp_path, program.name)
    assert api.open(tmp_path / f"{program.name}.trace").locations.rows == locations
