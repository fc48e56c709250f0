# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of threads in user and in kernel mode: the archive has the values of getrusage for each thread at its
end."""

from __future__ import annotations

import json
import os
import platform
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.readers import fipp_report
from support.tools import DEFAULTS, call, command
from vtrace import open as open_archive

NEAR = 0.06
"""Seconds: a thread still runs after it has reported its time, and /proc counts hundredths."""


def locations(where: Path, name: str) -> list[dict[str, Any]]:
    unify(where, "-k", name)
    found: list[dict[str, Any]] = json.loads(vtrace(where, "info", name, "--json").stdout)["locations"]
    return found


def told(text: str) -> list[tuple[str, float, float]]:
    rows = [line.split() for line in text.splitlines()]
    return [(kind, float(user), float(system)) for kind, user, system in rows]


def near(location: dict[str, Any], user: float, system: float) -> bool:
    return abs(location["user"] - user) < NEAR and abs(location["system"] - system) < NEAR


@pytest.mark.parametrize("reuse", ["no", "yes"])
def test_threads(build: Builder, tmp_path: Path, reuse: str) -> None:
    """A thread that ends, one that waits when the program ends, the main thread, a forked child; a location of two
    threads has the sum."""
    program = build("cpu_time.c", flags=("-pthread",), plain=True)
    done = call([*command("vtrace"), "run", "--io", program], tmp_path, {"VT_PTHREAD_REUSE": reuse})
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for kind, user, system in told(done.stdout):
        by_kind.setdefault(kind, []).append((user, system))
    first, second = by_kind["ends"]
    both = [(first[0] + second[0], first[1] + second[1])] if reuse == "yes" else [first, second]
    wanted = [*by_kind["main"], *by_kind["stays"], *both, *by_kind["child"]]
    found = locations(tmp_path, "cpu_time")
    assert len(found) == len(wanted)
    for user, system in wanted:
        assert any(near(one, user, system) for one in found), (user, system, found)
    assert by_kind["main"][0][1] > 2 * NEAR, "the main thread worked in the kernel"


def test_exec(build: Builder, tmp_path: Path) -> None:
    """The time before an exec belongs to the program that ran before."""
    program = build("cpu_time.c", flags=("-pthread",), plain=True)
    done = call([*command("vtrace"), "run", "--io", program, "exec"], tmp_path)
    before, main = (next(row for row in told(done.stdout) if row[0] == kind) for kind in ("before", "main"))
    found = [one for one in locations(tmp_path, "cpu_time") if one["name"] == "Master thread"]
    assert any(near(one, *before[1:]) for one in found)
    assert any(near(one, main[1] - before[1], main[2] - before[2]) for one in found)


def test_page_faults(build: Builder, tmp_path: Path) -> None:
    """Twenty arrays of 48 MiB that are allocated, written and freed: a page fault for each page, of which only those of
    one array are in memory at one time. The time in the kernel is that of page faults, not of the system calls for
    the arrays."""
    program = build("../planted/programs/memory_plants.c", flags=("-O2", "-g"), plain=True)
    vtrace(tmp_path, "run", "-o", "a", program, "page_storm", "20", "48", env=DEFAULTS)
    unify(tmp_path, "a")
    known = open_archive(tmp_path / "a").coverage()
    array, other = (48 << 20) // os.sysconf("SC_PAGE_SIZE"), 4000
    faults = int(known["minor_faults"][0] + known["major_faults"][0])
    assert 20 * array <= faults < 20 * array + other
    assert array <= known["resident"][0] < array + other
    assert 0 <= known["in_calls"][0] < 0.5 * known["system"][0]


def test_samples_in_system_calls(tmp_path: Path) -> None:
    """A program that copies in read and write, which take all of its time."""
    program = shutil.which("dd")
    assert program
    vtrace(tmp_path, "run", "-o", "a", program, "if=/dev/zero", "of=/dev/null", "bs=64k", "count=100000", env=DEFAULTS)
    unify(tmp_path, "a")
    known = open_archive(tmp_path / "a").coverage()
    assert known["system"][0] > 0.1
    is_told = platform.machine() == "x86_64"  # other processors tell the handler nothing about system calls
    assert known["in_calls"][0] > 0.5 * known["system"][0] if is_told else known["in_calls"][0] == 0


def test_killed(build: Builder, tmp_path: Path) -> None:
    """The times of threads of a process that was killed are unknown, but those of threads that had ended before."""
    program = build("cpu_time.c", flags=("-pthread",), plain=True)
    call([*command("vtrace"), "run", "--io", program, "kill"], tmp_path, check=False)
    found = {one["name"]: one for one in locations(tmp_path, "cpu_time") if one["died"]}
    assert found["Master thread"]["user"] is None
    assert found["Master thread"]["system"] is None


def test_time_statistics(build: Builder, tmp_path: Path) -> None:
    """Table 2.16 of the Instant Profiler: of the application, and of each process and thread."""
    program = build("cpu_time.c", flags=("-pthread",), plain=True)
    words = [*command("vtrace"), "compat", "fipp"]
    done = call([*words, "-C", "-i", "10", "-d", tmp_path / "prof", program], tmp_path)
    rows = told(done.stdout)
    times = fipp_report.times(call([*words, "-A", "-d", tmp_path / "prof", "-pall"], tmp_path).stdout)
    for column in (1, 2):
        assert abs(float(times["Application"][column]) - sum(row[column] for row in rows)) < len(rows) * NEAR
    processes = [row for name, row in times.items() if name.startswith("Process")]
    child = next(row for row in rows if row[0] == "child")
    assert len(processes) == 2
    assert any(abs(float(row[1]) - child[1]) < NEAR and abs(float(row[2]) - child[2]) < NEAR for row in processes)
