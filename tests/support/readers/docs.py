# SPDX-License-Identifier: BSD-3-Clause
"""The indented blocks of docs/*.md: lines to type, and lines that commands print."""

from __future__ import annotations

from dataclasses import dataclass

from support.tools import ROOT


@dataclass(frozen=True)
class Block:
    """An indented block of a page, without the indentation."""

    page: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """Page and first line other than #include, which identify the block."""
        return self.page, next(line for line in self.text.splitlines() if line and not line.startswith("#include"))

    @property
    def typed(self) -> str:
        """The lines to type: lines with $, or, in a block without $, all lines up to an empty line."""
        lines = self.text.splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        return "\n".join(prompted or lines[: [*lines, ""].index("")])

    @property
    def shown(self) -> list[str]:
        """The lines that commands print."""
        lines = [line for line in self.text.splitlines() if not line.startswith("$ ") and line.strip() != "..."]
        return lines if self.text.startswith("$ ") else []


def blocks() -> list[Block]:
    """All blocks, by page, from the top."""
    found = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        lines: list[str] = []
        for line in [*path.read_text().splitlines(), "#"]:
            if line.startswith("    ") or (lines and not line):
                lines.append(line[4:])
            elif lines:
                found.append(Block(path.name, "\n".join(lines).rstrip("\n")))
                lines = []
    return found


_UNITS = {"ns", "us", "ms", "s"}


def missing(shown: list[str], printed: str) -> list[str]:
    """The shown lines without a similar printed line. Words with digits and units of time may differ; "..." stands for
    any end of a line."""
    actual = [line.split() for line in printed.splitlines()]
    return [line for line in shown if not any(_alike(line.split(), words) for words in actual)]


def _alike(shown: list[str], printed: list[str]) -> bool:
    if shown[-1] == "...":
        shown, printed = shown[:-1], printed[: len(shown) - 1]
    return len(shown) == len(printed) and all(
        a == b or (any(c.isdigit() for c in a) and any(c.isdigit() for c in b)) or {a, b} <= _UNITS
        for a, b in zip(shown, printed, strict=True)
    )
