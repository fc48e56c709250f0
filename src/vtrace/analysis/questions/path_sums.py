# SPDX-License-Identifier: BSD-3-Clause
"""Sums over the call paths of a tree: the values below each path, and the outermost marked call above a path.

A tree is given by the parent of each row, -1 or the row itself for none, and in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.analysis.table import Array


def outermost(parents: Array, marked: Array, fresh: Array | None = None) -> Array:
    """(rows,) the outermost marked row among each row and those above it, 0 for none.

    parents: (rows,) each smaller than its row; row 0 is the root. marked: (rows,) bool. fresh: (rows,) bool, rows for
    which those above do not count.
    """
    found = [0] * len(parents)
    marks, cuts = marked.tolist(), [False] * len(parents) if fresh is None else fresh.tolist()
    for row, parent in enumerate(parents.tolist()):
        if row:
            above = 0 if cuts[row] else found[parent]
            found[row] = above or (row if marks[row] else 0)
    return np.array(found, np.int64)


def folded(parents: Array, keys: Array) -> Array:
    """(rows,) the row that stands for each row without recursion: the row of the same key above it, or the first row
    whose keys, without those between two equal ones, are the same. parents: as of outermost. keys: (rows,) numbers."""
    found = [0] * len(parents)
    above, key_of = parents.tolist(), keys.tolist()
    known: dict[tuple[int, int], int] = {}
    for row in range(1, len(parents)):
        parent = up = found[above[row]]
        while up and key_of[up] != key_of[row]:
            up = found[above[up]]
        found[row] = up or known.setdefault((parent, key_of[row]), row)
    return np.array(found, np.int64)


def without_recursion(names: Sequence[str]) -> list[str]:
    """The names of a call path without those between two equal ones."""
    found: list[str] = []
    for name in names:
        found = [*found[: found.index(name)], name] if name in found else [*found, name]
    return found


def _order(parents: Array, needed: Array) -> list[int]:
    """The needed rows, parents first. A row without a parent among them comes first."""
    children: dict[int, list[int]] = {}
    rows = np.flatnonzero(needed).tolist()
    above = parents.tolist()
    top = []
    for row in rows:
        if 0 <= above[row] != row and needed[above[row]]:
            children.setdefault(above[row], []).append(row)
        else:
            top.append(row)
    order = []
    while top:
        row = top.pop()
        order.append(row)
        top += children.get(row, ())
    return order


def _needed(parents: Array, own: Array) -> Array:
    """(rows,) bool: the rows with an own value, and all above them."""
    needed = np.zeros(len(parents), bool)
    level = np.flatnonzero(own)
    while len(level):
        needed[level] = True
        level = parents[level]
        level = np.unique(level[level >= 0])
        level = level[~needed[level]]
    return needed


def below(parents: Array, own: Array) -> Array:
    """(rows,) the sum of the own values of each row and of all rows below it."""
    sums = own.astype(np.float64).tolist()
    above = parents.tolist()
    for row in reversed(_order(parents, _needed(parents, own))):
        if 0 <= above[row] != row:
            sums[above[row]] += sums[row]
    return np.array(sums, np.float64)


def inclusive(parents: Array, keys: Array, own: Array, count: int) -> Array:
    """(count,) for each key, the sum of the own values of all rows that have the key or are below a row with the key.

    A row below two rows of one key (recursion) counts once. keys: (rows,) numbers below count, -1: none.
    """
    sums = below(parents, own)
    found = np.zeros(count)
    above, key_of = parents.tolist(), keys.tolist()
    depth_of: dict[int, int] = {}
    path: list[int] = []
    open_keys = [0] * count
    for row in _order(parents, _needed(parents, own)):
        depth = depth_of.get(above[row], -1) + 1 if above[row] != row else 0
        depth_of[row] = depth
        while len(path) > depth:
            key = path.pop()
            if key >= 0:
                open_keys[key] -= 1
        key = key_of[row]
        if key >= 0:
            if not open_keys[key]:
                found[key] += sums[row]
            open_keys[key] += 1
        path.append(key)
    return found
