# SPDX-License-Identifier: BSD-3-Clause
"""Sums by keys do not depend on the division into pieces, nor on the number of additions."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from vtrace.analysis.questions import sums


@pytest.mark.parametrize("many", [1, 5, 1 << 16])
@pytest.mark.parametrize("tables", [1, 3, 64])
def test_as_a_dictionary_adds_up(monkeypatch: pytest.MonkeyPatch, many: int, tables: int) -> None:
    monkeypatch.setattr(sums, "_MANY", many)
    monkeypatch.setattr(sums, "_TABLES", tables)
    chance, wanted = random.Random(many), Counter[tuple[int, int]]()

    def columns(pieces: list[list[tuple[int, int, int]]]) -> dict[str, Any]:
        rows = np.array([row for piece in pieces for row in piece], np.int64)
        return dict(zip(("here", "there", "bytes"), rows.T, strict=True))

    found = sums.Sums(("here", "there"), ("bytes",), columns)
    assert found.table().rows == 0
    for _ in range(200):
        piece = [
            (chance.randrange(4), chance.randrange(3), chance.randrange(2**60)) for _ in range(chance.randint(1, 4))
        ]
        for here, there, size in piece:
            wanted[here, there] += size % 2**54
        found.add(len(piece), [(here, there, size % 2**54) for here, there, size in piece])
    table = found.table()
    rows = list(zip(*(table[name].tolist() for name in ("here", "there", "bytes")), strict=True))
    assert rows == [(*key, total) for key, total in sorted(wanted.items())]
    assert found.table() is table, "asking again adds nothing"
