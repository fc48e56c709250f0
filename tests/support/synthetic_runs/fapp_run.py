# SPDX-License-Identifier: BSD-3-Clause
"""An archive with a section, counters with the names of SPARC64 XIfx, and messages, whose values are round: two ranks,
the first with two threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2

from support.synthetic_runs.archives import Foreign

SECOND, MILLION = 10**9, 10**6
_MPI = 4
THREADS = {(0, 0): (1, 1), (0, 1): (2, 2), (1, 0): (4, 2)}
"""By (rank, thread): the factor for the counts below, and the seconds of the section loop/1."""
COUNTS = {
    "effective_instruction_counts": 1000 * MILLION, "cycle_counts": 2000 * MILLION, "L1I_miss": 10 * MILLION,
    "L1D_miss": 20 * MILLION, "L2_miss_dm": 3 * MILLION, "L2_miss_pf": MILLION, "L2_wb_dm": MILLION // 2,
    "L2_wb_pf": MILLION // 2, "load_store_instructions": 100 * MILLION, "SIMD_load_store_instructions": 50 * MILLION,
    "4SIMD_load_store_instructions": 50 * MILLION, "1FLOPS_instructions": 100 * MILLION,
    "2FLOPS_instructions": 50 * MILLION, "4FLOPS_instructions": 25 * MILLION, "8FLOPS_instructions": 0,
    "16FLOPS_instructions": 12_500_000, "uDTLB_miss": 4 * MILLION, "DTLB_write": 2 * MILLION,
    "XSIMD_load_store_instructions": 200 * MILLION, "XSIMD_floating_instructions": 150 * MILLION,
    "XSIMD_fma_instructions": 100 * MILLION, "XSIMD_fixed_point_instructions": 50 * MILLION,
    "prefetch_instructions": 30 * MILLION, "nonSIMD_XSIMD_indirect_prefetch_instructions": 20 * MILLION,
    "floating_instructions": 40 * MILLION, "fma_instructions": 30 * MILLION, "fixed_point_instructions": 20 * MILLION,
    "0endop": 800 * MILLION, "1endop": 400 * MILLION, "eu_comp_wait": 200 * MILLION, "op_stv_wait": 300 * MILLION,
    "op_stv_wait_sxmiss": 200 * MILLION, "cse_window_empty": 200 * MILLION,
    "cse_window_empty_sp_full": 100 * MILLION, "ru_utime": MILLION // 2, "ru_stime": MILLION // 4,
}  # fmt: skip
SENT = (100, 4096, 70_000, 1 << 20)
"""Bytes of the messages that rank 0 sends in the section, 0.1 s each; rank 1 sends the last one only."""
_TYPES = [_otf2.TYPE_UINT64]


def _section(time: int, value: int) -> tuple[Any, ...]:
    return (time, "Metric", 1, _TYPES, [_otf2.MetricValue(unsigned_int=value)])


def _counters(time: int, times: int) -> tuple[Any, ...]:
    values = [_otf2.MetricValue(unsigned_int=times * count) for count in COUNTS.values()]
    return (time, "Metric", 0, _TYPES * len(COUNTS), values)


def _messages(rank: int, begin: int) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for place, size in enumerate(SENT if rank == 0 else SENT[-1:]):
        at = begin + (2 * place + 1) * SECOND // 10
        found += [(at, "Enter", 1), (at, "MpiSend", 1 - rank, 0, place, size), (at + SECOND // 10, "Leave", 1)]
    return found


def write(where: Path, section: str = "loop/1") -> Path:
    """Writes the archive; returns its anchor file. The section begins after 1 s, and main lasts 4 s."""
    archive = Foreign(where)
    for (rank, thread), (times, seconds) in THREADS.items():
        begin, end = SECOND, (1 + seconds) * SECOND
        inside = [] if thread else _messages(rank, begin)
        archive.events(10 * rank + thread, [
            (0, "Enter", 0), _counters(begin, 0), _section(begin, 1), *inside, _counters(end, times), _section(end, 0),
            (4 * SECOND, "Leave", 0),
        ])  # fmt: skip
    archive.begin_definitions()
    archive.machine(groups=2, length=4 * SECOND)
    for rank, thread in THREADS:
        archive.location(10 * rank + thread, rank)
    archive.region(0, "main")
    archive.region(1, "MPI_Send", 28, _MPI)
    archive.define("Group", 0, "", 4, _MPI, 0, [0, 10])
    archive.define("Group", 1, "", 5, _MPI, 1, [0, 1])
    archive.define("Comm", 0, "MPI_COMM_WORLD", 1, 0xFFFFFFFF, 0)
    kind = _otf2.TYPE_UINT64.value
    for number, name in enumerate(COUNTS):
        unit = "us" if name.startswith("ru_") else "#"
        mode = _otf2.METRIC_ACCUMULATED_START.value
        archive.define("MetricMember", number, name, "", 0, mode, kind, _otf2.BASE_DECIMAL.value, 0, unit)
    point = _otf2.METRIC_ABSOLUTE_NEXT.value
    archive.define("MetricMember", len(COUNTS), section, "", 0, point, kind, _otf2.BASE_DECIMAL.value, 0, "section")
    archive.define("MetricClass", 0, [*range(len(COUNTS))], 0, 0)
    archive.define("MetricClass", 1, [len(COUNTS)], 0, 0)
    return archive.close()
