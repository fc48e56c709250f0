# SPDX-License-Identifier: BSD-3-Clause
"""Reads the text of the Advanced Profiler by the figures of its guide: titles of parts, levels between lines of
asterisks, then tables with a head, a rule, and rows in groups between rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_STARS = re.compile(r"\*{20,}")
_RULE = re.compile(r"-{20,}")


@dataclass
class FigureTable:
    """A table. head: without Kind. rows: kind (or ""), cells, the text after the cells. title: the line above the rule
    and the head."""

    head: list[str]
    rows: list[tuple[str, list[str], str]] = field(default_factory=list)
    title: str = ""

    def cells(self, name: str, kind: str = "") -> list[str]:
        """The cells of a row. The rows MAX and MIN are below the row with the name."""
        at = next(place for place, row in enumerate(self.rows) if row[2] == name)
        return next(cells for found, cells, _ in self.rows[at:] if found == kind)


def tables(text: str) -> dict[tuple[str, str], list[FigureTable]]:
    """The tables by title of the part and level; a thread's level includes its process: Process 0 - Thread 1."""
    found: dict[tuple[str, str], list[FigureTable]] = {}
    lines = text.splitlines()
    title = process = of = ""
    table: FigureTable | None = None
    key = ("", "")
    for place, line in enumerate(lines):
        after = lines[place + 1] if place + 1 < len(lines) else ""
        if _STARS.fullmatch(line) and _STARS.fullmatch(lines[min(place + 2, len(lines) - 1)]):
            process = after if after.startswith("Process") else process
            key = title, f"{process} - {after}" if after.startswith("Thread") else after
            found[key], table = [], None
        elif re.fullmatch(r"(Kind)? +\S.*", line) and _RULE.fullmatch(after) and (of or not lines[place - 1]):
            table = FigureTable(re.split(r" {2,}", line.removeprefix("Kind").strip()), title=of)
            found[key].append(table)
            of = ""
        elif line and not lines[place - 1] and _RULE.fullmatch(after):
            of = line
        elif table and (row := re.fullmatch(r"(?P<kind>AVG|MAX|MIN|) +(?P<rest>\S.*)", line)):
            words = row["rest"].split(None, len(table.head))
            width = len(table.head)
            table.rows.append((row["kind"], words[:width], " ".join(words[width:])))
        elif (
            line
            and " = " not in line
            and not _STARS.fullmatch(line)
            and not _RULE.fullmatch(line)
            and not lines[place - 1]
        ):
            title, key = line, (line, "")
    return found


def environment(text: str) -> dict[str, str]:
    """The items of Figure 3.13."""
    return dict(re.findall(r"^([A-Z][\w ]+?) +: (.*)$", text.partition("Basic profile")[0], re.MULTILINE))
