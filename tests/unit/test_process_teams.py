# SPDX-License-Identifier: BSD-3-Clause
"""Processes that share work, with losses in closed form: the first process starts the others, and waits for them."""

from __future__ import annotations

from pathlib import Path

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.findings import process_teams
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.local import records
from vtrace.io.sidecar import sidecar

MS = 10**6
MAIN, SOLVE, STORE, NONE = range(4)
WAIT = "__new_sem_wait@x.c:1 <- acquire@/b/Modules/_threadmodule.c:98 <- python wait@/home/a/x.py:7"
POOL = "read@x.c:1 <- python worker@/usr/lib/python3.11/multiprocessing/pool.py:114"
GET = "read@x.c:1 <- python _recv@/usr/lib/python3.11/multiprocessing/connection.py:79"
SLEEP = "clock_nanosleep@x.c:1 <- time_sleep@/b/Modules/timemodule.c:9 <- python rest@/home/a/x.py:9"
Asleep = tuple[int, int, int, str]
"""Location, begin, end (ms) and call."""
Worker = tuple[int, int, int]
"""A function, its begin and the process's end (ms)."""


def team(
    where: Path, *workers: Worker, asleep: tuple[Asleep, ...], programs: tuple[str, ...] = (),
    first: int = UNDEFINED, died: tuple[int, ...] = (),
) -> list[Finding]:  # fmt: skip
    """The findings about uneven work. Process 0 has a second thread. programs: of all processes. first: the creator of
    process 0. died: processes without an end."""
    made, last = Foreign(where), 1000 * MS
    made.events(0, [(0, "Enter", MAIN), (last, "Leave", MAIN)])
    for number, (function, begin, end) in enumerate(workers, 1):
        within = () if function != NONE else ((begin * MS, "Leave", STORE), (end * MS, "Enter", STORE))
        called = function if function != NONE else STORE
        made.events(number, [(begin * MS, "Enter", called), *within, (end * MS, "Leave", called)])
    made.events(9, [(0, "Enter", MAIN), (last, "Leave", MAIN)])
    made.begin_definitions()
    made.define("ClockProperties", 10**9, 0, last, 2**64 - 1)
    made.define("SystemTreeNode", 0, "host", "node", UNDEFINED)
    for number in range(1 + len(workers)):
        made.define("LocationGroup", number, f"process {number}", 1, 0, 0 if number else first)
        program = made.text((programs or ("python",) * 9)[number])
        made.define("LocationGroupProperty", number, "VTRACE::EXECUTABLE", _otf2.TYPE_STRING.value, program)
        made.location(number, number)
    made.location(9, 0)
    for number in died:
        made.define("LocationProperty", number, "VTRACE::DIED", _otf2.TYPE_UINT64.value, 1)
    for number, name in enumerate(("main", "solve", "store")):
        made.region(number, name, paradigm=_otf2.PARADIGM_COMPILER.value)
    anchor = made.close()
    texts = sorted({site for *_, site in asleep})
    rows = {"location": [row[0] for row in asleep], "site": [texts.index(row[3]) for row in asleep]}
    rows |= {"from": [row[1] * MS for row in asleep], "to": [row[2] * MS for row in asleep]}
    rows |= {"ns": [(row[2] - row[1]) * MS for row in asleep]}
    functions = {number: function for number, (function, _, _) in enumerate(workers, 1)}
    rows |= {"count": [1] * len(asleep), "region": [functions.get(row[0], MAIN) for row in asleep]}
    rows["path"] = [(records.PATH_START ^ region) * records.PATH_FACTOR % 2**64 for region in rows["region"]]
    table = {name: np.array(values, np.uint64) for name, values in rows.items()}
    identity = sidecar.identity(anchor, Trace(anchor).properties)
    sidecar.write(anchor.parent, *sidecar.BLOCKED, identity, sidecar.SidecarTable(table, {"site": texts}))
    return [one for one in Trace(anchor).diagnosis(Selection()).findings if one.kind == "imbalance"]


WAITS = ((0, 0, 1000, WAIT),)


def test_processes_that_end_early(tmp_path: Path) -> None:
    """Two of three processes end 600 and 500 ms before the third one."""
    (found,) = team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 500), (SOLVE, 0, 1000), asleep=WAITS)
    assert found.loss_ns == 1100 * MS
    assert found.text == "process 3 works 550 ms longer in solve than the others, which end 1.1 s earlier, together"
    assert found.culprit == "process 3, solve"
    assert found.ranks == (1, 2)


def test_a_process_that_reads_results(tmp_path: Path) -> None:
    """It waits in read for its children, one of which ends 600 ms before the other."""
    reads = ((0, 0, 1000, "read@x.c:1 <- gather@/home/a/x.c:7"),)
    (found,) = team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 1000), asleep=reads)
    assert found.text == "process 2 works 600 ms longer in solve than the others, which end 600 ms earlier"


def test_a_process_that_waits_for_work(tmp_path: Path) -> None:
    (found,) = team(tmp_path, (SOLVE, 0, 1000), (SOLVE, 0, 1000), asleep=(*WAITS, (1, 100, 700, GET)))
    assert found.loss_ns == 600 * MS
    assert found.text == "process 2 works 600 ms longer in solve than the others, which wait 600 ms for work"


def test_different_processes(tmp_path: Path) -> None:
    """Each process waits for the other one, for about the same time."""
    asleep = (*WAITS, (1, 100, 400, GET), (2, 500, 790, GET))
    (found,) = team(tmp_path, (SOLVE, 0, 1000), (SOLVE, 0, 1000), asleep=asleep)
    assert found.loss_ns == 590 * MS
    assert found.culprit == ""
    assert found.text == ("processes wait 590 ms for work while another one works in solve, a different one each time")


def test_the_first_process_works_meanwhile(tmp_path: Path) -> None:
    """Only the time counts in which it waits."""
    (found,) = team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 1000), asleep=((0, 0, 500, WAIT), (0, 900, 1000, WAIT)))
    assert found.loss_ns == 200 * MS


def test_a_crashed_process(tmp_path: Path) -> None:
    """It ends early; it does not wait for work, as a process of a pool that the first process kills at the end."""
    (found,) = team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 1000), asleep=WAITS, died=(1,))
    assert found.text == "process 2 works 600 ms longer in solve than the others, which end 600 ms earlier"


@pytest.mark.parametrize("queue", [POOL, GET], ids=["pool", "queue"])
def test_workers_that_are_killed(tmp_path: Path, queue: str) -> None:
    asleep = (*WAITS, (1, 300, 400, queue), (2, 0, 10, queue))
    (found,) = team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 1000), asleep=asleep, died=(1, 2))
    assert "which wait" in found.text


def test_a_cycle_of_creators(tmp_path: Path) -> None:
    """A damaged archive: process 0 is a child of process 1, its own child; no search for the first process hangs."""
    assert len(team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 1000), asleep=WAITS, first=1)) < 2


def test_a_large_team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tables of all processes and waits that would take gigabytes."""
    monkeypatch.setattr(process_teams, "_MOST_CELLS", 1)
    assert not team(tmp_path, (SOLVE, 0, 400), (SOLVE, 0, 1000), asleep=WAITS)


HEALTHY: dict[str, tuple[tuple[Worker, ...], tuple[Asleep, ...], tuple[str, ...]]] = {
    "even": (((SOLVE, 0, 1000), (SOLVE, 0, 1000)), WAITS, ()),
    "nobody waits": (((SOLVE, 0, 400), (SOLVE, 0, 1000)), ((0, 0, 1000, SLEEP),), ()),
    "other functions": (((STORE, 0, 400), (SOLVE, 0, 1000)), WAITS, ()),
    "unknown functions": (((NONE, 0, 400), (NONE, 0, 1000)), WAITS, ()),
    "one after the other": (((SOLVE, 0, 400), (SOLVE, 400, 1000)), WAITS, ()),
    "make": (((SOLVE, 0, 400), (SOLVE, 0, 1000)), WAITS, ("make", "cc", "cc")),
    "other programs": (((SOLVE, 0, 400), (SOLVE, 0, 1000)), WAITS, ("a", "a", "b")),
    "all wait": (((SOLVE, 0, 1000), (SOLVE, 0, 1000)), (*WAITS, (1, 100, 700, GET), (2, 100, 700, GET)), ()),
}


@pytest.mark.parametrize(("workers", "asleep", "programs"), HEALTHY.values(), ids=HEALTHY)
def test_no_team_or_no_loss(
    tmp_path: Path, workers: tuple[Worker, ...], asleep: tuple[Asleep, ...], programs: tuple[str, ...]
) -> None:
    assert team(tmp_path, *workers, asleep=asleep, programs=programs) == []
