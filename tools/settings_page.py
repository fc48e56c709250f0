#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the table of docs/settings.md from that of the runtime (csrc/core/settings_table.h).

tools/settings_page.py            with the vtrace that this Python finds; prints nothing
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from vtrace.settings import in_force

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
_TABLE = re.compile(r"(?<=\|---\|---\|---\|\n)(?:\| VT_.*\n)+")
"""The rows of the page's first table."""


def table() -> str:
    """The rows, as Markdown."""
    return "".join(f"| {one.name} | {one.standard} | {one.meaning} |\n" for one in in_force())


def main() -> None:
    """Replaces the rows of the page."""
    for name in [name for name in os.environ if name.startswith("VT_")]:
        del os.environ[name]
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text(), count=1))


if __name__ == "__main__":
    main()
