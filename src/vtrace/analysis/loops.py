# SPDX-License-Identifier: BSD-3-Clause
"""The loops of sampled functions, which vtunify finds in the machine code and keeps as a property of the archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vtrace.analysis.table import Array, Table, texts
from vtrace.io.archive.ids import IdRows

__all__ = ["Loops"]


class Loops:
    """table: region (row), file, first, last (lines), level (1: outermost of its function), kind (for, while, do, goto;
    DO, DO WHILE, ARRAY of Fortran; OTHER), outer (row of the loop around, smaller than the row itself; -1: none)."""

    def __init__(self, known: Sequence[dict[str, Any]], region_ids: IdRows) -> None:
        """known: the archive's property LOOPS."""
        ids = np.array([loop["region"] for loop in known], np.int64)
        regions = region_ids.rows(np.minimum(ids, 2**32 - 1).astype(np.uint32))
        place = {loop["number"]: row for row, loop in reversed([*enumerate(known)])}
        outer = [place.get(loop["outer"], row) for row, loop in enumerate(known)]
        self._at: dict[tuple[int, str, int], int] = {}
        for row, loop in enumerate(known):
            for line in loop["lines"]:
                self._at.setdefault((int(regions[row]), loop["file"], line), row)

        def numbers(name: str) -> Array:
            return np.array([loop[name] for loop in known], np.int64)

        self.table = Table({
            "region": regions.astype(np.int64), "file": texts([loop["file"] for loop in known]),
            "first": numbers("first"), "last": numbers("last"), "level": numbers("level"),
            "kind": texts([loop["kind"] for loop in known]),
            "outer": np.array([above if above < row else -1 for row, above in enumerate(outer)], np.int64),
        })  # fmt: skip

    def at(self, region: int, file: str, line: int) -> int:
        """The innermost loop of a region (row) at a line, -1: none. Lines without samples have no loop."""
        return self._at.get((region, file, line), -1)

    def of_contexts(self, contexts: Table) -> Array:
        """(contexts,) the innermost loop at each calling context, -1: none."""
        rows: Iterator[tuple[Any, ...]] = zip(
            *(contexts[name].tolist() for name in ("region", "file", "line")), strict=True
        )
        return np.array([self.at(*row) for row in rows], np.int64)

    def around(self, loop: int) -> list[int]:
        """The loops around a loop, the outermost first."""
        found: list[int] = []
        while (loop := int(self.table["outer"][loop])) >= 0:
            found.insert(0, loop)
        return found
