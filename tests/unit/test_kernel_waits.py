# SPDX-License-Identifier: BSD-3-Clause
"""Waits for a processor: from records to the table of the sidecar, with a bound on their memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from support.synthetic_runs.transcoding import chunk, transcode
from vtrace.io.local.kernel import NO_WAITS, UNMAPPED, Kernel
from vtrace.unify.account.account import blocked_table, waits_table
from vtrace.unify.account.coverage import CoverageRow

MOST = 1024
"""As in csrc/otf2_writer/processor_waits.c."""
KNOTS = {
    "knot_ticks": np.array([1000, 10_001_000], np.uint64), "knot_ns": np.array([0, 10_000_000], np.uint64),
}  # fmt: skip


def test_a_wait_is_a_row(tmp_path: Path) -> None:
    made = chunk().enter(1, 10).record("PROCESSOR_WAIT", 500, 0, 300).leave(1).record("PROCESSOR_WAIT", 100, 0, 40)
    _, result = transcode(tmp_path, Kernel(), [made], **KNOTS)
    assert [wait[:5] for wait in result.waits.tolist()] == [(10, 510, 300, 1, 1), (510, 610, 40, UNMAPPED, 1)]


def test_a_time_asleep_is_a_row(tmp_path: Path) -> None:
    """Of the last ticks, if the record tells them, else since the last event, or since the last such time after it.
    What does not fit was before, in an unknown call."""
    made = chunk().enter(1, 10).record("BLOCKED", 500, 0, 200, 250, 7).record("BLOCKED", 100, 0, 90, 0, 0).leave(1)
    _, result = transcode(tmp_path, Kernel(), [made.record("BLOCKED", 50, 0, 1000, 40, 8)], **KNOTS)
    rows = [(*wait[:5], wait[6]) for wait in result.blocked.tolist()]
    assert rows == [(260, 510, 200, 1, 1, 7), (510, 610, 90, 1, 1, 0), (610, 620, 10, UNMAPPED, 1, 0),
                    (620, 660, 40, UNMAPPED, 1, 8)]  # fmt: skip
    assert result.blocked["path"][2] == 0
    assert not len(result.waits)


def test_sites_of_times_asleep() -> None:
    """The texts of all processes are one list, and each row has its number."""
    waits = np.zeros(3, NO_WAITS.dtype)
    waits["site"] = [5, 0, 6]
    rows = [cast(CoverageRow, SimpleNamespace(id=id, blocked=waits, sites={5: "b", 6: f"a{id}"})) for id in (1, 0)]
    rows.append(cast(CoverageRow, SimpleNamespace(id=2, blocked=NO_WAITS, sites={})))
    table = blocked_table(rows)
    assert table.columns["location"].tolist() == [0] * 3 + [1] * 3
    texts = [table.names["site"][number] for number in table.columns["site"].tolist()]
    assert texts == ["b", "", "a0", "b", "", "a1"]


def test_the_shortest_waits_are_joined(tmp_path: Path) -> None:
    """Of 3000 waits the 100 longest stay as they are, and the others keep their sum, their order and their times."""
    chunks = [chunk(part, 1000 + 1_000_000 * part) for part in range(3)]
    for n in range(3000):
        chunks[n // 1000].enter(1).record("PROCESSOR_WAIT", 1000, 0, 900 if n % 30 == 7 else 100 + n % 13).leave(1)
    waits = transcode(tmp_path, Kernel(), chunks, **KNOTS)[1].waits
    assert MOST / 2 < len(waits) <= MOST
    assert waits["count"].sum() == 3000
    assert waits["ns"].sum() == sum(900 if n % 30 == 7 else 100 + n % 13 for n in range(3000))
    assert (waits["from"][1:] >= waits["to"][:-1]).all()
    assert ((waits["to"] - waits["from"]) == 1000 * waits["count"]).all()
    alone = waits[(waits["count"] == 1) & (waits["ns"] == 900)]
    assert alone["from"].tolist() == [1000 * n for n in range(3000) if n % 30 == 7]
    assert waits["count"].max() <= 9


def test_memory_of_the_table() -> None:
    """Many locations with as many waits as there may be: the table needs no object for each of them."""
    waits = np.zeros(MOST, NO_WAITS.dtype)
    waits["from"] = np.arange(MOST)
    rows = [cast(CoverageRow, SimpleNamespace(id=id, waits=waits.copy())) for id in range(255, -1, -1)]
    tracemalloc.start()
    columns: dict[str, Any] = waits_table(rows).columns
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 256 * waits.nbytes
    assert columns["location"].tolist() == [id for id in range(256) for _ in range(MOST)]
    assert columns["from"].tolist() == [*range(MOST)] * 256
    assert [*columns] == ["location", "from", "to", "ns", "region", "count", "path"]
