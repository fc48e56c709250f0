# SPDX-License-Identifier: BSD-3-Clause
"""Samples of threads: short ones, those that outlive the main thread, and those that are not sampled."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.tools import call, command


def rows(where: Path, name: str) -> dict[str, dict[str, Any]]:
    found = json.loads(vtrace(where, "profile", name, "--json", "--top", "1000").stdout)["profile"]
    return {row["function"]: row for row in found if row["source"] == "samples"}


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_the_main_thread_ends_first(build: Builder, tmp_path: Path, clock: str) -> None:
    """The process ends with its last thread, and code that first runs then has its names."""
    program = build("sampled_ends.c", flags=("-O1", "-g", "-fno-inline", "-pthread"), plain=True)
    words = [*command("vtrace"), "run", "--sample=250", "--sample-clock", clock, program, "main"]
    assert call(words, tmp_path, timeout=60).stdout == "done\n"
    unify(tmp_path, "-k", "sampled_ends")
    found = rows(tmp_path, "sampled_ends")
    assert {"spend", "large", "work"} <= {*found}
    assert "[]" not in found
    known = json.loads(vtrace(tmp_path, "info", "sampled_ends", "--json").stdout)
    assert known["complete"], known["shortfalls"]


@pytest.mark.parametrize("rate", ["1000", "100"])
def test_short_threads(build: Builder, tmp_path: Path, rate: str) -> None:
    """Threads that are as short as a period have their time, each function its share of it, at any rate; the start of
    vtrace in each thread does not get the time of other code."""
    program = build("sampled_ends.c", flags=("-O1", "-g", "-fno-inline", "-pthread"), plain=True)
    call([*command("vtrace"), "run", f"--sample={rate}", program, "short", "150"], tmp_path, timeout=300)
    unify(tmp_path, "-k", "sampled_ends")
    found = rows(tmp_path, "sampled_ends")
    used = json.loads(vtrace(tmp_path, "info", "sampled_ends", "--json").stdout)["locations"]
    whole = sum(one["user"] + one["system"] for one in used)
    large, small = (found[name]["inclusive_ns"] / 1e9 for name in ("large", "small"))
    count = found["spend"]["samples"]
    error = (0.75 * 0.25 / count) ** 0.5
    assert abs(large / (large + small) - 0.75) < 5 * max(error, 0.01)
    assert abs(large + small - whole) < 0.25 * whole
    own = found.get("[libvtrace.so.1]", {"exclusive_ns": 0})
    assert own["exclusive_ns"] / 1e9 < 0.1 * whole


def test_the_program_takes_the_signal(build: Builder, tmp_path: Path) -> None:
    """The archive has the time from which samples are missing."""
    program = build("sampled_takes.c", plain=True)
    call([*command("vtrace"), "run", "--sample=200", program], tmp_path)
    unify(tmp_path, "-k", "sampled_takes")
    known = json.loads(vtrace(tmp_path, "info", "sampled_takes", "--json").stdout)
    assert known["shortfalls"] == ["samples missing on 1 location (the program uses the signal)"]
    assert not known["complete"]
    (one,) = [row for row in known["not_recorded"] if row["class"] == "samples"]
    assert one["ns"] / 1e9 > 0.1
    assert re.search(r"coverage +samples missing on 1 location \(", vtrace(tmp_path, "info", "sampled_takes").stdout)
    for words in (("profile",), ("summary",)):
        text = vtrace(tmp_path, *words, "sampled_takes").stdout
        assert "lower bounds" not in text, "no call is missing"
        assert "incomplete (the program uses the signal): samples are missing on 1 location, from 0." in text


def test_no_timers(build: Builder, tmp_path: Path) -> None:
    """Threads that the kernel gives no timer (RLIMIT_SIGPENDING) are counted."""
    program = build("sampled_ends.c", flags=("-O1", "-pthread"), plain=True)
    words = ["bash", "-c", 'ulimit -i 0; exec "$@"', "bash", *command("vtrace"), "run", "--sample=250", program]
    done = call([*words, "short", "3"], tmp_path)
    assert "a thread is not sampled" in done.stderr
    unify(tmp_path, "-k", "sampled_ends")
    known = json.loads(vtrace(tmp_path, "info", "sampled_ends", "--json").stdout)
    assert known["shortfalls"] == ["samples missing on 2 locations (no timer)"]
