# SPDX-License-Identifier: BSD-3-Clause
"""A sample of the planted programs: the first finding of vtrace diagnose is their cause. make planted tries all."""

from __future__ import annotations

from pathlib import Path

import pytest

from planted.judge import judged, record
from planted.plants import PLANTS, Plant
from support.build.builder import Builder

BY_FUNCTION, BY_SAMPLES = (
    ("straggler", "single_slow", "uneven_threads"),
    ("late_sender", "late_receiver", "single_slow"),
)
SAMPLE = [
    (plant, mode)
    for plant in PLANTS
    for mode in plant.modes
    if plant.ranks in (0, 2) and not plant.computes and (mode in ("run", "locks") or plant.name.startswith(BY_FUNCTION))
]
SAMPLE += [(plant, "sample") for plant in PLANTS if plant.computes and plant.name.startswith(BY_SAMPLES)]


@pytest.mark.parametrize(("plant", "mode"), [pytest.param(*case, id=f"{case[0].name}-{case[1]}") for case in SAMPLE])
def test_first_finding(build: Builder, tmp_path: Path, plant: Plant, mode: str) -> None:
    verdict = judged(record(build, plant, mode, tmp_path), plant, mode)
    assert verdict.first, verdict.told
