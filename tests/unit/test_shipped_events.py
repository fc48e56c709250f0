# SPDX-License-Identifier: BSD-3-Clause
"""Each formula of vtrace's own event files on values computed by hand."""

from __future__ import annotations

import pytest

from vtrace.analysis.derived.event_check import problems
from vtrace.analysis.derived.event_file import read_events
from vtrace.analysis.derived.event_set import EventSet
from vtrace.analysis.derived.known_events import SHIPPED, known_files
from vtrace.analysis.derived.pfm_names import PfmNames
from vtrace.analysis.derived.topdown import SLOTS, TREE

GUIDE = {
    "effective_instruction_counts": 1000, "load_store_instructions": 200, "SIMD_load_store_instructions": 30,
    "4SIMD_load_store_instructions": 10, "XSIMD_load_store_instructions": 40, "XSIMD_floating_instructions": 50,
    "XSIMD_fma_instructions": 60, "XSIMD_fixed_point_instructions": 70, "floating_instructions": 110,
    "fma_instructions": 120, "fixed_point_instructions": 130, "prefetch_instructions": 7,
    "nonSIMD_XSIMD_indirect_prefetch_instructions": 3, "L1I_miss": 5, "L1D_miss": 12, "L2_miss_dm": 6, "L2_miss_pf": 3,
    "L2_wb_dm": 2, "L2_wb_pf": 1, "uDTLB_miss": 6, "DTLB_write": 3, "1FLOPS_instructions": 10,
    "2FLOPS_instructions": 20, "4FLOPS_instructions": 30, "8FLOPS_instructions": 40, "16FLOPS_instructions": 50,
    "cycle_counts": 10000, "0endop": 4000, "1endop": 1000, "eu_comp_wait": 500, "op_stv_wait": 1500,
    "op_stv_wait_sxmiss": 600, "cse_window_empty": 800, "cse_window_empty_sp_full": 200, "elapsed": 2, "cores": 2,
    "cpu_max_mhz": 2000,
}  # fmt: skip
BY_HAND = {
    "memory_access_instructions": 300, "L2_miss": 9, "memory_writes": 3, "memory_transfers": 12,
    "floating_point_operations": 1290, "operands": 2140, "prefetches": 10, "MIPS": 0.0005, "MIPS_PEAK": 3.125e-6,
    "MFLOPS": 0.000645, "MFLOPS_PEAK": 1.0078125e-6,
    "Cache.L1_instruction_cache_miss": 0.5, "Cache.L1_operand_cache_miss": 4, "Cache.L2_cache_miss": 3,
    "Cache.L2_demand_cache_miss": 200 / 3, "Cache.L2_prefetch_miss": 100 / 3,
    "Instructions_SIMD.Load_Store": 4, "Instructions_SIMD.Floating_operand": 5, "Instructions_SIMD.FMA": 6,
    "Instructions_SIMD.Fixed_operand": 7, "Instructions_SIMD.SIMD": 22,
    "Instructions_SIMD.SIMD_load_store_instruction_rate": 100 / 6, "Instructions_SIMD.Prefetch": 10,
    "Instructions_SIMD.Indirect_prefetch": 3,
    "Instructions_NOSIMD.Load_Store": 20, "Instructions_NOSIMD.Floating_operand": 11, "Instructions_NOSIMD.FMA": 12,
    "Instructions_NOSIMD.Fixed_operand": 13, "Instructions_NOSIMD.NOSIMD": 56,
    "Instructions_NOSIMD.NOSIMD_load_store_instruction_rate": 500 / 6, "Instructions_NOSIMD.Prefetch": 10,
    "Instructions_NOSIMD.Indirect_prefetch": 3,
    "MEM_access.Load_Store_SIMD": 4, "MEM_access.Load_Store_NOSIMD": 20,
    "MEM_access.Memory_access_throughput": 1.536e-6, "MEM_access.Write_back_rate": 25, "memory_writes_most": 0,
    "memory_lesser_direction": 3, "MEM_access.Memory_access_throughput_PEAK": 320,
    "MEM_access.Memory_access_throughput_peak_rate": 4.8e-7,
    "Performance.2-4_instruction_commit": 2.5e-6, "Performance.1_instruction_commit": 5e-7,
    "Performance.Operation_wait": 2.5e-7, "Performance.Cache_access_wait": 4.5e-7,
    "Performance.Memory_access_wait": 4e-7, "Performance.Fetch_wait": 3e-7, "Performance.Other_wait": 6e-7,
    "Statistics.Floating_operand": 129000 / 2140, "TLB.uTLB_miss": 2, "TLB.mTLB_miss": 1,
    "load_store_instructions_of_any_kind": 240, "PA.L1I_miss_rate": 0.5, "PA.L1D_miss_rate": 5, "PA.L2_miss_rate": 3.75,
    "PA.L2_miss_dm_rate": 200 / 3, "PA.L2_miss_pf_rate": 100 / 3, "PA.uDTLB_miss_rate": 2.5, "PA.mDTLB_miss_rate": 1.25,
}  # fmt: skip
"""The guide's formulas for GUIDE."""

_BRANCHES = {"BR_MISP_RETIRED:ALL_BRANCHES": 30, "MACHINE_CLEARS:COUNT": 10}
_CODE = {"IDQ:MS_UOPS": 240, "UOPS_ISSUED:ANY": 2400}
_STALLS = {
    "CYCLE_ACTIVITY:STALLS_MEM_ANY": 300, "EXE_ACTIVITY:BOUND_ON_STORES": 100, "CYCLE_ACTIVITY:STALLS_TOTAL": 500,
    "EXE_ACTIVITY:1_PORTS_UTIL": 100, "EXE_ACTIVITY:2_PORTS_UTIL": 200,
}  # fmt: skip
_FOUR_WIDE = {
    "CPU_CLK_UNHALTED:THREAD_P": 1000, "IDQ_UOPS_NOT_DELIVERED:CORE": 600, "UOPS_RETIRED:RETIRE_SLOTS": 2000,
    "INT_MISC:RECOVERY_CYCLES": 50, "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 100,
}  # fmt: skip
_BACKEND = {"RESOURCE_STALLS:SB": 50, "INST_RETIRED:ANY_P": 1500, "RS_EVENTS:EMPTY_CYCLES": 100}
_LOADS = {"CYCLE_ACTIVITY:STALLS_LDM_PENDING": 150, "CYCLE_ACTIVITY:CYCLES_NO_EXECUTE": 250}


def _old(waits: dict[str, int], of: str = "THREAD") -> dict[str, int]:
    """Before Skylake. 200 of 400 backend cycles wait for memory; IPC is 1.5."""
    executed = {f"UOPS_EXECUTED:{of}:c={least}": cycles for least, cycles in ((1, 700), (2, 600), (3, 500))}
    return _FOUR_WIDE | _BRANCHES | _CODE | _BACKEND | waits | executed


COUNTS = {
    "skl": _FOUR_WIDE | _BRANCHES | _CODE | _STALLS,
    "snb": _old({"CYCLE_ACTIVITY:STALLS_L1D_PENDING": 150, "CYCLE_ACTIVITY:CYCLES_NO_DISPATCH": 250}),
    "ivb_ep": _old(_LOADS),
    "hsw": _old(_LOADS, "CORE"),
    "bdw": _old(_LOADS),
    "icx": {
        "TOPDOWN:SLOTS_P": 5000, "IDQ_UOPS_NOT_DELIVERED:CORE": 800, "INT_MISC:UOP_DROPPING": 50,
        "TOPDOWN:BACKEND_BOUND_SLOTS": 950, "INT_MISC:CLEARS_COUNT": 10, "UOPS_RETIRED:SLOTS": 2500,
        "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 110,
    } | _BRANCHES | _CODE | _STALLS,
    "spr": {
        "TOPDOWN:SLOTS_P": 6000, "IDQ_UOPS_NOT_DELIVERED:CORE": 960, "INT_MISC:UOP_DROPPING": 60,
        "TOPDOWN:BACKEND_BOUND_SLOTS": 1200, "UOPS_RETIRED:SLOTS": 3000, "TOPDOWN:BR_MISPREDICT_SLOTS": 675,
        "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 110, "TOPDOWN:MEMORY_BOUND_SLOTS": 600,
    } | _CODE,
    "amd64_fam1ah_zen5": {
        "CYCLES_NOT_IN_HALT": 1000, "DISPATCH_STALLS_1:FE_NO_OPS": 1200, "DISPATCH_STALLS_1:BE_STALLS": 1600,
        "DISPATCH_STALLS_1:SMT_CONTENTION": 400, "RETIRED_OPS": 3600, "DISPATCH_STALLS_1:FE_NO_OPS:c=8": 100,
        "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED": 30, "BP_REDIRECTS:RESYNC": 10, "RETIRED_UCODE_OPS": 400,
    },
    "amd64_fam19h_zen4": {
        "CYCLES_NOT_IN_HALT": 1000, "DISPATCH_STALLS_1:FE_NO_OPS": 900, "DISPATCH_STALLS_1:BE_STALLS": 1200,
        "DISPATCH_STALLS_1:SMT_CONTENTION": 300, "RETIRED_OPS": 2700, "DISPATCH_STALLS_1:FE_NO_OPS:c=6": 100,
        "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED": 30, "RESYNCS": 10,
        "CYCLES_NO_RETIRE:NOT_COMPLETE_MISSING_LOAD": 400, "CYCLES_NO_RETIRE:NOT_COMPLETE_LOAD_AND_ALU": 800,
        "RETIRED_UCODE_OPS": 300,
    },
}  # fmt: skip
SHARES = {
    "Frontend_Bound": 0.15, "Fetch_Latency": 0.1, "Fetch_Bandwidth": 0.05, "Bad_Speculation": 0.15,
    "Branch_Mispredicts": 0.1125, "Machine_Clears": 0.0375, "Backend_Bound": 0.2, "Memory_Bound": 0.1,
    "Core_Bound": 0.1, "Retiring": 0.5, "Heavy_Operations": 0.05, "Light_Operations": 0.45,
}  # fmt: skip
"""The formulas of all COUNTS; only AMD's differ in retiring, and Zen 5 has no Memory_Bound."""


def test_the_guides_formulas() -> None:
    events = EventSet([read_events(SHIPPED / "fapp.events")], None)
    assert {name: events.value(name, GUIDE) for name in events.events} == pytest.approx(BY_HAND)


@pytest.mark.parametrize(
    ("writes", "peak"), [(0, 240), (3, 320), (6, 480), (7, 240 + 240 * 5 / 7), (9, 320), (12, 240)]
)
def test_the_peak_of_memory_throughput_has_two_formulas(writes: int, peak: float) -> None:
    """Below and from 50 % of writes."""
    given = {"L2_miss_dm": 12 - writes, "L2_miss_pf": 0, "L2_wb_dm": writes, "L2_wb_pf": 0}
    events = EventSet(known_files(None), None)
    assert events.value("MEM_access.Memory_access_throughput_PEAK", given) == pytest.approx(peak)


@pytest.mark.parametrize("pmu", COUNTS)
def test_top_down(pmu: str) -> None:
    file = read_events(SHIPPED / "topdown.events")
    events = EventSet([file], pmu)
    expected = dict(SHARES)
    if pmu.startswith("amd"):
        expected |= {"SMT_Contention": 0.05, "Retiring": 0.45, "Light_Operations": 0.4}
    if pmu == "amd64_fam1ah_zen5":
        del expected["Memory_Bound"], expected["Core_Bound"]
    found = {node.name: events.value(node.name, COUNTS[pmu]) for node in TREE if node.name in events.events}
    assert found == pytest.approx(expected)
    assert events.value(SLOTS, COUNTS[pmu]) in (4000, 5000, 6000, 8000)
    level_one = [found[n] for n in ("Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring")]
    assert sum(level_one) + found.get("SMT_Contention", 0) == pytest.approx(1)


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({}, 200 / 400),
        ({"INST_RETIRED:ANY_P": 1801}, 200 / 500),  # three operations a cycle are few
        ({"IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 101}, 200 / 300),  # the empty cycles are the frontend's
        ({"INST_RETIRED:ANY_P": 4000, "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 1000}, 200 / 400),
        ({"INST_RETIRED:ANY_P": 0, "IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE": 0}, 200 / 400),
    ],
)
@pytest.mark.parametrize("pmu", ["snb", "ivb_ep", "hsw", "bdw"])
def test_the_cycles_of_the_backend_depend_on_the_speed(pmu: str, changes: dict[str, int], waits: float) -> None:
    events = EventSet([read_events(SHIPPED / "topdown.events")], pmu)
    assert events.value("Memory_Bound", COUNTS[pmu] | changes) == pytest.approx(waits * 0.2)


def test_every_name_is_known_to_libpfm4() -> None:
    try:
        PfmNames()
    except OSError:
        pytest.skip("libpfm4 is not installed")
    for path in sorted(SHIPPED.glob("*.events")):
        assert problems(read_events(path)) == [], path


def test_presets_of_every_processor() -> None:
    events = EventSet(known_files(None), "skl")
    assert [events.natives(f"PAPI_TOT_{name}") for name in ("CYC", "INS")] == [["cycles"], ["instructions"]]
