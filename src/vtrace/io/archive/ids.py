# SPDX-License-Identifier: BSD-3-Clause
"""Maps OTF2's ids, which need not be dense, to rows of tables."""

from __future__ import annotations

import numpy as np

from vtrace.io.common.arrays import Array

_DIRECT = 1 << 22
"""Up to this largest id, an array indexed by id has the rows."""


class IdRows:
    """Maps the ids of one kind of definition, which need not be dense, to rows of the table of that kind."""

    def __init__(self, ids: Array, rows: Array | None = None) -> None:
        """ids: ascending; rows: of each id (None: in this order). Several ids may have one row."""
        rows = np.arange(len(ids)) if rows is None else rows
        self._ids, self._rows = ids, np.append(rows, -1)
        last = int(ids[-1]) if len(ids) else -1
        self._direct: Array | None = None
        if last < _DIRECT:
            self._direct = np.full(last + 2, -1, np.int64)
            self._direct[ids.astype(np.int64)] = rows
        self.dense = last == len(ids) - 1 and bool(np.all(rows == np.arange(len(ids))))
        """True if every id is its own row."""

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def pairs(self) -> tuple[Array, Array]:
        """The ids, ascending, and the row of each."""
        return self._ids, self._rows[:-1]

    def rows(self, ids: Array) -> Array:
        """The row of each id, -1 for undefined ids."""
        ids = np.asarray(ids, np.uint64)
        found: Array
        if self._direct is not None:
            found = self._direct[np.minimum(ids, len(self._direct) - 1).astype(np.int64)]
        else:
            at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            found = np.where(self._ids[at] == ids, self._rows[at], -1)
        return found


def ascending(raw: Array) -> Array:
    """Entries by id; of two with one id the last one counts."""
    if not len(raw):
        return raw
    _, first = np.unique(raw["id"][::-1], return_index=True)
    return raw[len(raw) - 1 - first]
