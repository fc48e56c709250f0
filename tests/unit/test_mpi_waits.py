# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of random programs against the oracle, path by path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support.oracles.slow_waits import Cause, Delays, WaitKey, Waits
from support.readers.archive import read
from support.synthetic_runs.archives import UNDEFINED
from support.synthetic_runs.random_mpi import archive, program
from support.tools import call
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer


def found(trace: Trace, **window: Any) -> dict[WaitKey, tuple[int, int]]:
    """The waits of Trace.waits as the oracle gives them."""
    table = trace.waits(**window)
    sums: dict[WaitKey, tuple[int, int]] = {}
    for row in table.records():
        path = tuple(path_names(table.paths, trace.regions["name"], row["path"]))
        key = table.kinds[row["kind"]], path, row["location"], row["partner"]
        ns, count = sums.get(key, (0, 0))
        sums[key] = ns + row["time_ns"], count + row["count"]
    return sums


@pytest.mark.parametrize(("seed", "batch"), [(seed, (1, 7, 1 << 16)[seed % 3]) for seed in range(9)])
def test_random_programs(seed: int, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(batch))
    anchor = archive(tmp_path / "a", program(seed, 2 + seed % 4))
    trace, oracle = Trace(anchor), Waits(read(anchor.parent))
    assert found(trace) == oracle.waits()
    half = trace.duration // 2
    assert found(trace, start=half // 2, stop=half) == oracle.waits(half // 2, half)
    ideal = trace._replay(causes=False).of(Selection()).places["ideal"].tolist()
    assert ideal == [ns for _, ns in sorted(oracle.ideal().items())]


def causes(trace: Trace) -> dict[Cause, tuple[float, float, int, int]]:
    """The causes of Trace.delays as the oracle gives them."""
    table, names = trace.delays(), trace.regions["name"]
    sums: dict[Cause, tuple[float, float, int, int]] = {}
    for row in table.records():
        cause, waiting = (tuple(path_names(table.paths, names, row[name])) for name in ("path", "waiting_path"))
        values = row["direct_ns"], row["indirect_ns"], row["excess_ns"], row["count"]
        sums[row["location"], cause, table.kinds[row["kind"]], waiting] = values
    return sums


@pytest.mark.parametrize("causal", [False, True], ids=["any times", "causal"])
@pytest.mark.parametrize("seed", range(8))
def test_root_causes_of_random_programs(seed: int, causal: bool, tmp_path: Path) -> None:
    anchor = archive(tmp_path / "a", program(seed, 2 + seed % 4, causal=causal))
    got, expected = causes(Trace(anchor)), Delays(Waits(read(anchor.parent))).causes()
    assert got.keys() == expected.keys()
    for cause, values in expected.items():
        assert got[cause] == pytest.approx(values)


def test_processes_that_are_no_members(tmp_path: Path) -> None:
    """In a damaged archive rank 1 takes part in operations of a communicator that has ranks 0 and 2 only."""
    begins, ends = "NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete"
    own, both = (0, 1, UNDEFINED, 1, 1), (0, 0, UNDEFINED, 1, 1)
    first, last = (begins, 1), (ends, *own, 1)

    def with_rank(other: int) -> tuple[tuple[Any, ...], ...]:
        return ("MpiSend", other, 0, 0, 8), ("MpiRecv", other, 0, 0, 8)

    (send, recv), (reply, hear) = with_rank(1), with_rank(0)
    of_0 = [first, recv, last, send, recv, send, ("MpiCollectiveEnd", *both)]
    of_1 = [first, reply, hear, last, reply, hear, (begins, 2), ("MpiCollectiveEnd", *both), (ends, *own, 2)]
    events = {
        rank: [(0, "Enter", 0), *((10 * i + rank + 1, *event) for i, event in enumerate(each)), (99, "Leave", 0)]
        for rank, each in enumerate((of_0, of_1, []))
    }
    anchor = archive(tmp_path / "a", events)
    code = "import sys, pathlib; from vtrace.analysis.trace import Trace; trace = Trace(pathlib.Path(sys.argv[1])); "
    code += "print(trace.waits().counts['collectives'])"
    done = call([sys.executable, "-c", code, anchor], tmp_path, timeout=60)
    assert done.stdout == "5\n"
