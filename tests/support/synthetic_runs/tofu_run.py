# SPDX-License-Identifier: BSD-3-Clause
"""An archive with sections of Tofu PA and statistics of two network interfaces: three ranks on two nodes. Rank 1 has
the first node's statistics, as if it had been the first process to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2

from support.synthetic_runs.archives import Foreign

FIELDS = ("tx_packets", "tx_bytes", "rx_packets", "rx_bytes")
NAMES = [f"net/{port}/{field}" for port in ("eth0", "ib0") for field in FIELDS]
SECTIONS = ("tofupa/1", "tofupa/7")
_TYPE = [_otf2.TYPE_UINT64]
_MPI = 4


def _numbers(time: int, metric: int, values: list[int]) -> tuple[Any, ...]:
    return (time, "Metric", metric, _TYPE * len(values), [_otf2.MetricValue(unsigned_int=value) for value in values])


def _counted(time: int, factor: int) -> tuple[Any, ...]:
    """Values proportional to the time: in a section of T ns field n of eth0 grows by factor * T * (n + 1), of ib0 by
    ten times as much."""
    base = [factor * (place + 1) for place in range(len(FIELDS))]
    return _numbers(time, 0, [time * one for one in (*base, *(10 * one for one in base))])


def _events(factor: int) -> list[tuple[Any, ...]]:
    """factor: 0 for a process that reads no counters."""
    found: list[tuple[Any, ...]] = [(0, "Enter", 0)]
    ends = [(100, 0, 1), (110, 0, 0), (200, 0, 1), (220, 0, 0), (300, 0, 1), (330, 0, 0), (400, 1, 1), (405, 1, 0)]
    for time, leave in ((50, "Leave"), (1000, "Enter")):
        ends.append((time, leave, 0 if leave == "Leave" else 1))  # type: ignore[arg-type]
    for time, what, value in sorted(ends, key=lambda end: end[0]):
        found += [_counted(time, factor)] if factor else []
        found.append((time, what, value) if isinstance(what, str) else _numbers(time, 1 + what, [value]))
    return [*found, (1100, "Leave", 1)]


def write(where: Path) -> Path:
    """Writes the archive; returns its anchor file. Region 1 is called for 10, 20 and 30 ns, region 7 for 5 ns, region 0
    lasts 950 ns."""
    archive = Foreign(where)
    for rank, factor in enumerate((0, 1, 3)):
        archive.events(rank, _events(factor))
    archive.begin_definitions()
    archive.define("ClockProperties", 10**9, 0, 1100, 2**64 - 1)
    for node in range(2):
        archive.define("SystemTreeNode", node, f"node{node}", "node", 0xFFFFFFFF)
    for rank in range(3):
        archive.define("LocationGroup", rank, f"MPI Rank {rank}", 1, rank // 2, 0xFFFFFFFF)
        archive.location(rank, rank)
    archive.region(0, "MPI_Init", 1, _MPI)
    archive.region(1, "MPI_Finalize", 1, _MPI)
    archive.define("Group", 0, "", 4, _MPI, 0, [0, 1, 2])
    kind, scale = _otf2.TYPE_UINT64.value, (_otf2.BASE_DECIMAL.value, 0)
    for number, name in enumerate(NAMES):
        archive.define("MetricMember", number, name, "", 0, _otf2.METRIC_ACCUMULATED_START.value, kind, *scale, "#")
    for number, name in enumerate(SECTIONS, len(NAMES)):
        archive.define("MetricMember", number, name, "", 0, _otf2.METRIC_ABSOLUTE_NEXT.value, kind, *scale, "section")
    archive.define("MetricClass", 0, [*range(len(NAMES))], 0, 0)
    for place in range(len(SECTIONS)):
        archive.define("MetricClass", 1 + place, [len(NAMES) + place], 0, 0)
    return archive.close()
