# SPDX-License-Identifier: BSD-3-Clause
"""The differences between two traces of the page: calls and exclusive time of each region, matched by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vtrace.analysis.table import Array, Table
from vtrace.text import plain
from vtrace.timeline.columns import pack
from vtrace.timeline.server import Content

_MOST = 2000
"""The most regions that the page gets, those with the largest differences."""


class ComparedSide(NamedTuple):
    """One trace: rows (key: region, calls, exclusive), and the names and the classes of all regions."""

    table: Table
    names: Array
    classes: Array


def compared(sides: tuple[ComparedSide, ComparedSide]) -> Content:
    """Regions by the difference of their exclusive time: first_calls, first_ns, second_calls, second_ns, class; names.
    Regions with the same name are one."""
    every = np.concatenate([side.names[side.table["key"]].astype(str) for side in sides])
    names, member = np.unique(every, return_inverse=True)
    columns: dict[str, Array] = {}
    classes, begin = np.zeros(len(names), np.uint8), 0
    for word, side in zip(("first", "second"), sides, strict=True):
        mine = member[begin : begin + side.table.rows]
        begin += side.table.rows
        classes[mine] = side.classes[side.table["key"]]
        for column, name in (("calls", "calls"), ("ns", "exclusive")):
            columns[f"{word}_{column}"] = np.bincount(mine, side.table[name].astype(float), len(names))
    order = np.lexsort((names, -np.abs(columns["second_ns"] - columns["first_ns"])))[:_MOST]
    columns = {name: column[order] for name, column in columns.items()}
    return pack(columns | {"class": classes[order]}, names=[plain(name) for name in names[order].tolist()])
