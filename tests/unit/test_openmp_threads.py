# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP's thread numbers, from the teams of a process."""

from __future__ import annotations

import pytest

from vtrace.io.local.records import DEFINITIONS
from vtrace.unify.model.openmp_threads import in_order, openmp_threads
from vtrace.unify.model.process_definitions import ProcessDefinitions, read

Member = tuple[int, int, int, int]
"""Team, location, thread number, and the location that forks the team."""
FLAT: list[Member] = [(1, 0, 0, 0), (1, 1, 3, 0), (1, 2, 1, 0), (1, 4, 2, 0)]


def definitions(members: list[Member]) -> ProcessDefinitions:
    return read([[DEFINITIONS["TEAM"], *member, 0] for member in members], "heat.1.def.z")


@pytest.mark.parametrize(("members", "wanted"), [
    (FLAT, {1: ["3"], 2: ["1"], 4: ["2"]}),
    ([*FLAT, (2, 2, 0, 2), (2, 5, 1, 2)], {1: ["3"], 2: ["1"], 4: ["2"], 5: ["1:1"]}),
    ([(1, 0, 0, 0), (1, 1, 1, 0), (2, 0, 0, 0), (2, 2, 1, 0)], {1: ["1"], 2: ["0:1"]}),
    ([*FLAT, (1, 4, 5, 0)], {1: ["3"], 2: ["1"], 4: ["2", "5"]}),
    ([(1, 6, 0, 6), (1, 7, 1, 6)], {7: ["1"]}),
    ([(1, 0, 0, 0), (1, 1, 1, 0), (2, 1, 0, 1), (2, 0, 1, 1)], {0: ["1:1"], 1: ["1"]}),
], ids=["flat", "nested", "nested of the master thread", "renumbered", "of another thread", "in turn"])  # fmt: skip
def test_numbers(members: list[Member], wanted: dict[int, list[str]]) -> None:
    assert {one: [*map(str, found)] for one, found in openmp_threads(definitions(members)).items()} == wanted


def test_order() -> None:
    """Location 3 has no team, and location 5 has two numbers."""
    known = definitions([*FLAT, (1, 5, 4, 0), (1, 5, 1, 0)])
    assert in_order([0, 1, 2, 3, 4, 5], known) == [0, 2, 4, 3, 1, 5]
