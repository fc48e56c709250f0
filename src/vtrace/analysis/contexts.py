# SPDX-License-Identifier: BSD-3-Clause
"""The call paths of an archive's calling contexts.

A calling context of OTF2 is a place in the code with the place that called it, so several contexts (the lines of a
function) have one call path.
"""

from __future__ import annotations

import numpy as np

from vtrace.analysis.table import Array, group
from vtrace.io.archive.reader_abi import PATH
from vtrace.io.common.arrays import children_of


def context_paths(parents: Array, regions: Array) -> tuple[Array, Array]:
    """The call paths of calling contexts: PATH without the root, parents first, and (contexts,) uint32 the number of
    each context's path, from 1.

    parents: (contexts,) rows, -1: none. regions: (contexts,) rows of regions. A context whose parents form a circle, as
    in damaged archives, begins a path.
    """
    count = len(parents)
    number = np.zeros(count, np.uint32)
    order = np.argsort(parents, kind="stable")
    bounds = np.searchsorted(parents[order], np.arange(count + 1))
    found: list[Array] = []
    used = 0

    def add(level: Array, around: Array) -> None:
        nonlocal used
        first, member = group([around, regions[level]])
        paths = np.zeros(len(first), PATH)
        paths["parent"], paths["region"] = around[first], regions[level][first]
        found.append(paths)
        number[level] = used + 1 + member
        used += len(first)

    level = np.flatnonzero((parents < 0) | _in_circles(order, bounds, parents))
    around = np.zeros(len(level), np.uint32)
    while len(level):
        add(level, around)
        level = children_of(level, order, bounds)
        level = level[number[level] == 0]
        around = number[parents[level]]
    return np.concatenate([np.empty(0, PATH), *found]), number


def _in_circles(order: Array, bounds: Array, parents: Array) -> Array:
    """(contexts,) bool: contexts that have no root above them."""
    met = np.zeros(len(parents), bool)
    level = np.flatnonzero(parents < 0)
    while len(level):
        met[level] = True
        level = children_of(level, order, bounds)
    return ~met
