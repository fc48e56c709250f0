#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the table of docs/performance.md from a run of the benchmarks.

bench/run.py --json FILE          on an idle machine
tools/performance_page.py FILE    replaces the table; the text above it names the machine and the commit
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
HEAD = "| what | `--only` | measured | floor | ratio | to hold |\n|---|---|---|---|---|---|\n"


def table(rows: list[dict[str, Any]]) -> str:
    """The rows that `bench/run.py --json` has written, as Markdown."""
    return HEAD + "".join(_line(row) for row in rows)


def _line(row: dict[str, Any]) -> str:
    unit = row["unit"]
    floor = "" if row["floor"] is None else f"{_number(row['floor'])} {unit}"
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
    bar = row["bar"] if row["held"] else f"{row['bar']}: **missed**"
    what = row["what"].replace("|", "\\|")
    return f"| {what} | {row['group']} | {_number(row['measured'])} {unit} | {floor} | {ratio} | {bar} |\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main() -> None:
    """Replaces all lines of the page's table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    rows = json.loads(parser.parse_args().file.read_text())
    text = PAGE.read_text()
    begin = text.index(HEAD)
    end = text.find("\n\n", begin)
    PAGE.write_text(text[:begin] + table(rows).rstrip("\n") + (text[end:] if end >= 0 else "\n"))


if __name__ == "__main__":
    main()
