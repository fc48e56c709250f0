# SPDX-License-Identifier: BSD-3-Clause
"""tools/performance_page.py makes one line of each row of the benchmarks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import performance_page

ROWS = [
    {"group": "functions", "what": "a|b", "unit": "ns", "floor": 9.34, "measured": 10.02, "ratio": 1.0731,
     "bar": "<= 1.3 x floor", "held": True},
    {"group": "unify", "what": "memory", "unit": "MiB", "floor": None, "measured": 12345.6, "ratio": None,
     "bar": "<= 200 MiB", "held": False},
]  # fmt: skip


def test_the_table_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, file = tmp_path / "page.md", tmp_path / "rows.json"
    page.write_text(f"# Performance\n\n{performance_page.HEAD}| old | x |\n\nMore text.\n")
    file.write_text(json.dumps(ROWS))
    monkeypatch.setattr(performance_page, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["performance_page.py", str(file)])
    performance_page.main()
    assert page.read_text().splitlines() == [
        "# Performance", "",
        "| what | `--only` | measured | floor | ratio | to hold |", "|---|---|---|---|---|---|",
        "| a\\|b | functions | 10 ns | 9.34 ns | 1.07 | <= 1.3 x floor |",
        "| memory | unify | 12,346 MiB |  |  | <= 200 MiB: **missed** |",
        "", "More text.",
    ]  # fmt: skip
