# SPDX-License-Identifier: BSD-3-Clause
"""Functions that were not recorded, in which different ranks take longer, with losses in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED
from support.synthetic_runs.random_mpi import archive, region
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.local import records
from vtrace.io.sidecar import sidecar

MS = 10**6
COLL = region("MPI_Coll")


def found(where: Path, phases: list[list[tuple[str, int]]], kinds: tuple[str, ...]) -> list[Finding]:
    """The findings of kinds of a run whose ranks do one phase after another; in each one every rank sleeps in a
    function for so many ms, then meets all others."""
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
    anchor = archive(where, events)
    texts = [f"nanosleep@x.c:1 <- {name}@/a/x.c:3" for name in sorted({row[3] for row in rows})]
    table = {
        name: np.array(column, np.uint64)
        for name, column in zip(("location", "from", "to"), zip(*rows, strict=True), strict=False)
    }
    table["ns"] = table["to"] - table["from"]
    table["site"] = np.array([texts.index(f"nanosleep@x.c:1 <- {row[3]}@/a/x.c:3") for row in rows], np.uint64)
    for name, value in (("region", UNDEFINED), ("count", 1), ("path", records.PATH_START)):
        table[name] = np.full(len(rows), value, np.uint64)
    identity = sidecar.identity(anchor, Trace(anchor).properties)
    sidecar.write(anchor.parent, *sidecar.BLOCKED, identity, sidecar.SidecarTable(table, {"site": texts}))
    return [one for one in Trace(anchor).diagnosis(Selection()).findings if one.kind in kinds]


def test_each_rank_takes_longer_in_another_function(tmp_path: Path) -> None:
    """Rank 1 takes 30 ms more in solve, rank 0 15 ms more in output."""
    phases = [[("solve", 15), ("solve", 45)], [("output", 20), ("output", 5)]] * 15
    told = found(tmp_path / "a", phases, ("imbalance", "serialisation"))
    assert [(one.kind, one.culprit, one.loss_ns) for one in told] == [
        ("imbalance", "rank 1, solve (x.c:3, asleep in nanosleep)", 15 * 30 * MS),
        ("imbalance", "rank 0, output (x.c:3, asleep in nanosleep)", 15 * 15 * MS),
    ]


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
