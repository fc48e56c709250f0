# SPDX-License-Identifier: BSD-3-Clause
"""Functions that were not recorded, in which different ranks take longer, with losses in closed form."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED
from support.synthetic_runs.random_mpi import archive, region
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.grown_places import _windows
from vtrace.analysis.findings.sleeping_calls import sleeping_call
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.local import records
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.findings.iterations import Iterations

MS = 10**6
COLL = region("MPI_Coll")


def site(names: str) -> str:
    """The stack of a call that sleeps. names: of the functions around it, with blanks between them."""
    return " <- ".join(["nanosleep@x.c:1", *(f"{name}@/a/x.c:3" for name in names.split())])


def found(
    where: Path,
    phases: list[list[tuple[str, int]]],
    kinds: tuple[str, ...],
    *,
    last_call: bool = False,
    around: str = "",
) -> list[Finding]:
    """The findings of kinds of a run whose ranks do one phase after another; in each one every rank sleeps in a
    function for so many ms, then meets all others. last_call: rank 0 makes one more call than
    the others, after 90 ms. around: the recorded functions that
    do all this."""
    events: dict[int, list[tuple[Any, ...]]] = {rank: [] for rank in range(len(phases[0]))}
    rows: list[tuple[int, int, int, str]] = []
    now = 0
    for phase in [[("", 0)] * len(events), *phases]:
        last = now + max(ms for _, ms in phase)
        for rank, (function, ms) in enumerate(phase):
            begin, end = (now + ms) * MS, last * MS
            events[rank] += [(begin, "Enter", COLL), (begin, "MpiCollectiveBegin")]
            events[rank] += [(end, "MpiCollectiveEnd", 0, 0, UNDEFINED, 1, 1), (end, "Leave", COLL)]
            rows += [(rank, now * MS, begin, function)] if function else []
        now = last
    events[0] += [((now + 90) * MS, "Enter", COLL), ((now + 90) * MS, "Leave", COLL)] * last_call
    path, inside = records.PATH_START, [region(name) for name in around.split()]
    for each in inside:
        path = (path ^ each) * records.PATH_FACTOR % 2**64
    for each in reversed(inside):
        for made in events.values():
            made[:] = [(0, "Enter", each), *made, (now * MS, "Leave", each)]
    anchor = archive(where, events)
    texts = [site(name) for name in sorted({row[3] for row in rows})]
    table = {
        name: np.array(column, np.uint64)
        for name, column in zip(("location", "from", "to"), zip(*rows, strict=True), strict=False)
    }
    table["ns"] = table["to"] - table["from"]
    table["site"] = np.array([texts.index(site(row[3])) for row in rows], np.uint64)
    for name, value in (("region", inside[-1] if inside else UNDEFINED), ("count", 1), ("path", path)):
        table[name] = np.full(len(rows), value, np.uint64)
    identity = sidecar.identity(anchor, Trace(anchor).properties)
    sidecar.write(anchor.parent, *sidecar.BLOCKED, identity, sidecar.SidecarTable(table, {"site": texts}))
    return [one for one in Trace(anchor).diagnosis(Selection()).findings if one.kind in kinds]


@pytest.mark.parametrize("around", ["", "main"])
def test_each_rank_takes_longer_in_another_function(around: str, tmp_path: Path) -> None:
    """Rank 1 takes 30 ms more in solve, rank 0 15 ms more in output."""
    phases = [[("solve", 15), ("solve", 45)], [("output", 20), ("output", 5)]] * 15
    told = found(tmp_path / "a", phases, ("imbalance", "serialisation"), around=around)
    assert [(one.kind, one.culprit, one.loss_ns) for one in told] == [
        ("imbalance", "rank 1, solve (x.c:3, asleep in nanosleep)", 15 * 30 * MS),
        ("imbalance", "rank 0, output (x.c:3, asleep in nanosleep)", 15 * 15 * MS),
    ]


def test_functions_that_sleep_by_the_same_helpers(tmp_path: Path) -> None:
    """Rank 0 takes 60 ms more in forces, rank 1 takes 40 ms more in sort: both by pause and nap."""
    forces, sort = ("nap pause forces", 10), ("nap pause sort", 10)
    longer = ("nap pause forces", 70), ("nap pause sort", 50)
    phases = [[longer[0], forces, forces], [sort, longer[1], sort]] * 10
    told = found(tmp_path / "a", phases, ("imbalance", "serialisation"))
    assert [(one.culprit, one.loss_ns) for one in told] == [
        ("rank 0, nap (x.c:3, called by pause in forces, asleep in nanosleep)", 10 * 60 * 2 * MS),
        ("rank 1, nap (x.c:3, called by pause in sort, asleep in nanosleep)", 10 * 40 * 2 * MS),
    ]


@pytest.mark.parametrize(
    ("stack", "culprit"),
    [("solve", "solve (x.c:3, called by work, asleep in nanosleep)"),
     ("work forces", "work (x.c:3, called by forces, asleep in nanosleep)"), ("work", "work in main")],
)  # fmt: skip
def test_functions_inlined_into_a_recorded_one(stack: str, culprit: str, tmp_path: Path) -> None:
    """In work, or between main and work."""
    phases = [[(stack, 15), (stack, 45)]] * 15
    (told,) = found(tmp_path / "a", phases, ("imbalance", "serialisation"), around="main work")
    assert told.culprit == f"rank 1, {culprit}"


def test_a_late_rank_that_never_calls_the_function(tmp_path: Path) -> None:
    """Rank 0 sleeps 30 ms more in store. Rank 2 is 10 ms late, in no function that is known."""
    phases = [[("store", 40), ("solve", 10), ("solve", 10)], [("solve", 10), ("solve", 10), ("", 20)]] * 10
    (told,) = found(tmp_path / "a", phases, ("imbalance", "serialisation"))
    assert told.culprit == "rank 0, store (x.c:3, asleep in nanosleep)"


@pytest.mark.parametrize(
    ("less", "text"),
    [(10, "the rank that takes longer in solve (x.c:3, asleep in nanosleep) changes: 600 ms of waiting in MPI_Coll"),
     (0, "ranks take turns instead of working at once: solve (x.c:3, asleep in nanosleep) delays the next rank, ")],
)  # fmt: skip
def test_equal_sleep_is_no_finding_of_one_rank(less: int, text: str, tmp_path: Path) -> None:
    """Each time the other rank takes 30 ms more, in the same function, while the first one works as well, or waits."""
    phases = [[("solve", 30 + less), ("solve", less)], [("solve", less), ("solve", 30 + less)]] * 10
    (told,) = found(tmp_path / "a", phases, ("imbalance", "serialisation"))
    assert told.text.startswith(text), told.text
    assert told.culprit.startswith("ranks 0-1, ")


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            "advance",
            "advance",
            "take longer from iteration 14 on: the last quarter 1.4 x the first; ranks 0-1, advance (",
        ),
        ("advect", "react", ""),
    ],
    ids=["slower", "other code"],
)
def test_iterations_that_take_longer_at_once(before: str, after: str, text: str, tmp_path: Path) -> None:
    """After 13 iterations, a function takes 1.4 x as long; or another part of the program begins."""
    phases = [[(before, 50)] * 2] * 13 + [[(after, 70)] * 2] * 12
    told = found(tmp_path / "a", phases, ("drift", "slow_iterations"))
    assert [text in one.text for one in told] == [True] * bool(text), told


@pytest.mark.parametrize("last_call", [False, True], ids=["as many", "one less"])
@pytest.mark.parametrize("after", [0, 17], ids=["at the end", "amid"])
def test_iterations_of_a_rank_that_has_less_of_them(after: int, last_call: bool, tmp_path: Path) -> None:
    """After 13 iterations, the first one in another function, rank 1 takes 40 ms more in each of 12."""
    phases = [[("advance", 50), ("advance", 50 + more)] for more in [0] * 12 + [40] * 12 + [0] * after]
    phases.insert(0, [("start", 50)] * 2)
    told = found(tmp_path / "a", phases, ("drift", "slow_iterations"), last_call=last_call)
    assert [one.culprit for one in told] == ["rank 1, advance (x.c:3, asleep in nanosleep)"]


def test_windows_of_iterations_that_a_location_lacks() -> None:
    """The location has the first two of four."""
    begins, times = np.array([[0], [10], [-1], [-1]]), np.array([[10], [20], [-1], [-1]])
    iterations = cast("Iterations", SimpleNamespace(locations=[0], begins=begins, times=times))
    assert _windows(iterations, 0, [(1, 2), (3, 3)]) == ([(10, 30)], 1.0)


def test_iterations_vary_little_before_they_take_longer(tmp_path: Path) -> None:
    """The second quarter is 1 ms faster than the first, the last one 40 ms slower."""
    phases = [[("advance", ms)] * 2 for ms in (50, 49, 60, 90) for _ in range(8)]
    (told,) = found(tmp_path / "a", phases, ("drift",))
    assert "take longer" in told.text


def test_periodic_slow_iterations_name_the_sleep(tmp_path: Path) -> None:
    """Each eighth iteration takes 40 ms more, in a function that no other iteration calls."""
    phases = [[("solve", 20) if n % 8 else ("rebuild", 60)] * 2 for n in range(40)]
    (told,) = found(tmp_path / "a", phases, ("slow_iterations",))
    assert told.culprit == "ranks 0-1, rebuild (x.c:3, asleep in nanosleep)"
    assert told.text.endswith("40 ms more in the slowest"), told.text


def test_turns_in_a_function_that_takes_less_than_others(tmp_path: Path) -> None:
    """All ranks march for 40 ms, then one after the other writes for 10."""
    turns = [[("write", 10) if rank == turn else ("", 0) for rank in range(3)] for turn in range(3)]
    phases = [[("march", 40)] * 3, *turns] * 10
    (told,) = found(tmp_path / "a", phases, ("imbalance", "serialisation"))
    assert told.text.startswith(
        "ranks take turns instead of working at once: write (x.c:3, asleep in nanosleep) delays"
    )


def test_code_without_a_name_is_no_caller() -> None:
    call = sleeping_call(("usleep@u.c:1", "chunk@/a/x.c:6", "[unknown]@libgomp.so.1+0x1", "region@/a/x.c:9"))
    assert call
    assert (call.function, call.callers) == ("chunk", ("region",))
