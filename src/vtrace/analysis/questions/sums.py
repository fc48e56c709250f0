# SPDX-License-Identifier: BSD-3-Clause
"""Sums by keys over small pieces of many locations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from vtrace.analysis.table import Array, Table, add_up, group, stack

_MANY, _TABLES = 1 << 16, 64
"""Rows to add up at once, since a call of numpy takes as long as hundreds of rows; sums to keep before joining
them."""


class Sums:
    """Adds up whole numbers with equal keys. Several threads may call add at the same time."""

    def __init__(
        self, keys: Sequence[str], values: Sequence[str], columns: Callable[[list[Any]], dict[str, Array]]
    ) -> None:
        """columns: a function that turns pieces into int64 columns."""
        self._keys, self._values, self._columns = keys, values, columns
        self._pieces: list[Any] = []
        self._rows = 0
        self._tables: list[Table] = []
        self._lock = Lock()

    def add(self, rows: int, piece: Any) -> None:
        """Adds a piece. rows: the number of its rows."""
        with self._lock:
            self._pieces.append(piece)
            self._rows += rows
            if self._rows >= _MANY:
                self._join()

    def table(self) -> Table:
        """A row for each combination of keys, ascending, with the sums."""
        with self._lock:
            self._join()
            return self._tables[0] if self._tables else self._summed([])

    def _join(self) -> None:
        if self._pieces:
            self._tables.append(self._summed([self._columns(self._pieces)]))
        if len(self._tables) > (1 if self._rows < _MANY else _TABLES):
            self._tables = [self._summed(self._tables)]
        self._pieces, self._rows = [], 0

    def _summed(self, parts: Sequence[Any]) -> Table:
        table = stack(parts, dict.fromkeys((*self._keys, *self._values), np.int64))
        first, member = group([table[key] for key in self._keys])
        sums = {name: add_up(member, table[name], len(first)) for name in self._values}
        return Table({key: table[key][first] for key in self._keys} | sums)
