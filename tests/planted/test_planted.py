# SPDX-License-Identifier: BSD-3-Clause
"""A sample of the planted programs: the first finding of vtrace diagnose is their cause. make planted tries all."""

from __future__ import annotations

from pathlib import Path

import pytest

from planted.judge import judged, record
from planted.plants import PLANTS, Plant
from support.build.builder import Builder

SAMPLE = {
    "run": "late_sender 2,late_receiver 2,late_broadcast 2,early_reduce 2,at_barrier 2,at_nxn 2,straggler 2,"
    "main_only 2,periodic 2,single_slow 2,drift 2,pipeline 2,healthy 2,uneven_threads 2,healthy_threads 2,serial 2,"
    "critical 2,healthy_lock 2,starved_pool 2,page_storm memory,healthy_first_use memory,"
    "third_section inlined,input_in_single inlined,one_long_block inlined,healthy_single inlined,healthy_master 4,"
    "uneven_slopes static,healthy_commands processes",
    "cc": "straggler 2,single_slow 2,uneven_threads 2,loop 2,single 2,slow_server inlined,input_in_single inlined,"
    "late_put static",
    "sample": "late_sender 2 computing,late_receiver 2 computing,single_slow 2 computing",
    "locks": "starved_pool 2,healthy_mutex 2,held_lock 2,healthy_threads 2,slow_consumer inlined,"
    "tries inlined,held_in_save inlined Python",
    "memory": "page_storm memory",
    "python": "uneven_pool 2 team,uneven_processes 2 team,healthy_pool 2 team,pipeline 2 team",
    "io": "io_by_one 2,long_io 2,healthy_io 2",
}
"""Names by mode."""
CASES = [(plant, mode) for plant in PLANTS for mode in plant.modes if plant.name in SAMPLE.get(mode, "").split(",")]


@pytest.mark.parametrize(("plant", "mode"), [pytest.param(*case, id=f"{case[0].name}-{case[1]}") for case in CASES])
def test_first_finding(build: Builder, tmp_path: Path, plant: Plant, mode: str) -> None:
    verdict = judged(record(build, plant, mode, tmp_path), plant, mode)
    assert verdict.first, verdict.told
