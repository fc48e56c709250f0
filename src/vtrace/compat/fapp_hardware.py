# SPDX-License-Identifier: BSD-3-Clause
"""The hardware monitor information of the Instant and the Advanced Profiler: the items of each event, Figures 2.18 to
2.20 and 3.17 to 3.23 of the guide, and their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vtrace.analysis.definition_tables import is_count
from vtrace.analysis.derived.event_file import EventFile
from vtrace.analysis.derived.event_set import CLOCK_RATE, EventSet
from vtrace.analysis.derived.known_events import CORES, ELAPSED, LINUX, known_files, natives, unqualified
from vtrace.errors import VtraceError

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
STANDARD = "Statistics"
"""The event of -H by default."""
_INST = ("Inst", "effective_instruction_counts")
_MIPS = (("MIPS", "MIPS"), ("MIPS/PEAK(%)", "MIPS_PEAK"))
_PREFETCH = ("Prefetch", "Indirect_prefetch")
_FEW = 4
"""The least number of counters of most processors."""
COUNTS = ("Inst", "Prefetch", "Indirect_pf")
"""Heads of items that are counts, not rates."""


class HardwareEvent(NamedTuple):
    """An event of -H: the title of its part, and its tables of (head, derived event)."""

    title: str
    tables: tuple[tuple[tuple[str, str], ...], ...]


def _instructions(name: str, words: tuple[str, str, str, str, str], rate: tuple[str, str]) -> HardwareEvent:
    names = [f"{name}.{item}" for item in ("Load_Store", "Floating_operand", "FMA", "Fixed_operand")]
    whole = name.partition("_")[2]
    prefetches = zip(("Prefetch", "Indirect_pf"), (f"{name}.{item}" for item in _PREFETCH), strict=True)
    last = ((f"{whole}(%)", f"{name}.{whole}"), rate, *prefetches)
    title = f"Performance monitor event: {words[0]}"
    return HardwareEvent(title, ((_INST, *_MIPS), tuple(zip(words[1:], names, strict=True)), last))


EVENTS = {
    "Cache": HardwareEvent("Performance monitor : Cache", (
        (_INST, ("L1I miss(%)", "Cache.L1_instruction_cache_miss"), ("L1D miss(%)", "Cache.L1_operand_cache_miss")),
        (("L2 miss(%)", "Cache.L2_cache_miss"), ("L2 dm miss(%)", "Cache.L2_demand_cache_miss"),
         ("L2 pf miss(%)", "Cache.L2_prefetch_miss")),
    )),
    "Instructions_SIMD": _instructions(
        "Instructions_SIMD",
        ("Instruction_SIMD", "LS_SIMD-or(%)", "Float_SIMD-or(%)", "Fma_SIMD-or(%)", "Fixed_SIMD-or(%)"),
        ("LS_SIMD_rate(%)", "Instructions_SIMD.SIMD_load_store_instruction_rate"),
    ),
    "Instructions_NOSIMD": _instructions(
        "Instructions_NOSIMD", ("Instruction_NOSIMD", "LS-or(%)", "Float-or(%)", "Fma-or(%)", "Fixed-or(%)"),
        ("LS_rate(%)", "Instructions_NOSIMD.NOSIMD_load_store_instruction_rate"),
    ),
    "MEM_access": HardwareEvent("Performance monitor event: MEM_access", (
        (("LS_SIMD-or(%)", "MEM_access.Load_Store_SIMD"), ("LS-or(%)", "MEM_access.Load_Store_NOSIMD"),
         ("Mem throughput(GB/s)", "MEM_access.Memory_access_throughput")),
        (("mem_write(%)", "MEM_access.Write_back_rate"),
         ("Mem throughput PEAK(GB/s)", "MEM_access.Memory_access_throughput_PEAK"),
         ("Mem throughput/PEAK(%)", "MEM_access.Memory_access_throughput_peak_rate")),
    )),
    "Performance": HardwareEvent("Performance monitor event: Performance", (
        (("2-4icmit(S)", "Performance.2-4_instruction_commit"), ("1i_cmit(S)", "Performance.1_instruction_commit"),
         ("op_wait(S)", "Performance.Operation_wait"), ("cache_wait(S)", "Performance.Cache_access_wait")),
        (("Mem_wait(S)", "Performance.Memory_access_wait"), ("fetch_wait(S)", "Performance.Fetch_wait"),
         ("other_wait(S)", "Performance.Other_wait")),
    )),
    "Statistics": HardwareEvent("Performance monitor event: Statistics", (
        (("MFLOPS", "MFLOPS"), ("MFLOPS/PEAK(%)", "MFLOPS_PEAK")),
        (*_MIPS, ("Floating-op(%)", "Statistics.Floating_operand")),
    )),
    "TLB": HardwareEvent("Performance monitor event: TLB", (
        (_INST, ("uTLB-op(%)", "TLB.uTLB_miss"), ("mTLB-op(%)", "TLB.mTLB_miss")),
    )),
}  # fmt: skip
"""The events by their names in -H."""


def counters_of(trace: Source) -> dict[int, str]:
    """The counters of a trace: the rows of metrics that count, with their names."""
    modes, names = trace.metric_members["mode"].tolist(), trace.metric_members["name"]
    return {row: str(names[row]) for row, mode in enumerate(modes) if is_count(mode)}


def items(event: str) -> list[str]:
    """The derived events of an event of -H."""
    return [name for table in EVENTS[event].tables for _, name in table]


def needed(items: Sequence[str], files: Sequence[EventFile]) -> tuple[list[str], list[str], list[str]]:
    """The counters that items need: those of Linux, and those that the user's file (after vtrace's) takes for the
    guide's events; the guide's other events, which no machine but SPARC64 XIfx has; and problems."""
    of_guide = {*natives(items, known_files(None))[0]}
    found, problems = natives(items, files)
    wanted = [LINUX.get(name, name) for name in found]
    missing = [name for name in wanted if name in of_guide]
    return [name for name in wanted if name not in missing], missing, problems


def dealt(names: Sequence[str], run: int, runs: int) -> list[str]:
    """The counters of a run of precision PA, from 1 on: all runs together have all counters, each run as few as
    possible, but four if there are as many."""
    each = max(_FEW, -(-len(names) // runs))
    groups = [names[first : first + each] for first in range(0, len(names), each)] or [[]]
    return [*groups[(run - 1) % len(groups)]]


def bases(counters: Mapping[str, float | None], seconds: float, cores: int, mhz: str) -> dict[str, float]:
    """The values that formulas take, by the guide's names. counters: increases by name; mhz: no number if unknown."""
    known = {unqualified(name): value for name, value in counters.items() if value is not None}
    known |= {name: value for name, value in counters.items() if value is not None}
    known |= {guide: known[linux] for guide, linux in LINUX.items() if linux in known and guide not in known}
    clock = {CLOCK_RATE: float(mhz)} if _NUMBER.fullmatch(mhz) else {}
    return {**known, ELAPSED: seconds, CORES: float(cores), **clock}


def value(name: str, given: Mapping[str, float], events: EventSet) -> float | None:
    """The value of an item; None without its events, or with a division by zero."""
    if name in given:
        return given[name]
    try:
        return float(events.value(name, given)) if name in events.events else None
    except VtraceError:
        return None
