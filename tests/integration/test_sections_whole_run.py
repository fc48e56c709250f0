# SPDX-License-Identifier: BSD-3-Clause
"""The section all/0: with VT_SECTION_LEVEL the whole run of each thread, with the counters at its ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import vtrace as api
from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.user_api import INCLUDE

PAGES = 300
"""Touched by the program before, in and after the section part/1."""
OWN = 60
"""Page faults (getrusage) of vtrace, of the loader and of printf within all/0, at most."""


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    """Not instrumented: without all/0, only sections and threads make events."""
    return build("sections_whole_run.c", flags=("-vt:inst", "manual", INCLUDE, "-DVTRACE", "-pthread"))


def recorded(program: Path, where: Path, end: str, **env: str) -> dict[str, list[tuple[int, int, int, int]]]:
    """By section and in the order of threads, main first: the ns and the page faults by the recorded all/0 or part/1,
    and those that the thread has printed."""
    done = run(program, where, end, env={"VT_METRICS": "ru_minflt", "VT_METRICS_AT": "user", **env})
    printed = {name: (int(ns), int(faults)) for name, ns, faults in map(str.split, done.stdout.splitlines())}
    unify(where, program.name)
    trace = api.open(where / f"{program.name}.trace")
    found = trace.sections()
    names = ["main" if name == "Master thread" else "thread" for name in trace.locations["name"]]
    rows = [
        (found.sections[row["section"]], row["location"], row["end"] - row["begin"], int(row["@ru_minflt"]))
        for row in found.records()
    ]
    return {
        section: [(ns, faults, *printed[names[at]]) for name, at, ns, faults in sorted(rows) if name == section]
        for section in ("all/0", "part/1")
    }


@pytest.mark.parametrize("end", ["return", "_exit", "pthread_exit"])
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
