# SPDX-License-Identifier: BSD-3-Clause
"""Reads the text of the Instant Profiler by the figures of its guide: headings between lines of asterisks, then tables
with a head, a rule, the total, a rule, and the rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_RULE = re.compile(r"-{20,}|\s*-{11}\+-{20,}")
_HEADING = re.compile(r" (?P<level>.+) - (?P<what>procedures|loops|lines)")
_CELL = re.compile(r"\S+(?: \(s\))?")


@dataclass
class Table:
    """A table of a level: head, total and rows as texts; the last cell of a row is the name."""

    head: list[str]
    total: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def tables(text: str) -> dict[tuple[str, str], list[Table]]:
    """The tables by level and kind (procedures ...): first costs, then MPI."""
    found: dict[tuple[str, str], list[Table]] = {}
    lines = iter(text.splitlines())
    key = None
    for line in lines:
        if re.fullmatch(r"\*{20,}", line):
            at = _HEADING.fullmatch(next(lines))
            assert at
            key = at["level"], at["what"]
            found[key] = []
            assert re.fullmatch(r"\*{20,}", next(lines))
        elif key and re.match(r"\s+(Cost|MPI) ", line):
            table = Table(_CELL.findall(line))
            found[key].append(table)
            assert _RULE.fullmatch(next(lines))
            table.total = _cells(next(lines), table)
            assert _RULE.fullmatch(next(lines))
            for row in lines:
                if not row or _RULE.fullmatch(row):
                    break
                table.rows.append(_cells(row, table))
    return found


def _cells(line: str, table: Table) -> list[str]:
    """The cells of a row. A total lacks some values, so its last cells are counted from the right."""
    width = len(table.head)
    parts = line.split(None, width)
    if len(parts) <= width or "--" in parts[:width]:
        parts = line.split()
        name = next(
            place for place in range(len(parts), 0, -1) if parts[place - 1] == "--" or _number(parts[place - 1])
        )
        name = max(place for place in range(1, len(parts)) if parts[place - 1] == "--") if "--" in parts else name
        return [*parts[:name], " ".join(parts[name:])]
    return [part.strip() for part in parts]


def _number(text: str) -> bool:
    return bool(re.fullmatch(r"[\d.]+", text))


def environment(text: str) -> dict[str, str]:
    """The items of Figure 2.16."""
    pairs = re.findall(r"^ ([A-Z][\w ]+?) +: (.*)$", text.partition(" Time statistics")[0], re.MULTILINE)
    return dict(pairs)


def times(text: str) -> dict[str, list[str]]:
    """Elapsed, user and system time of Figure 2.17 by level."""
    body = text.partition(" Time statistics")[2].partition("profile")[0]
    return {
        " ".join(words[3:]): words[:3]
        for words in map(str.split, body.splitlines())
        if len(words) > 3 and re.fullmatch(r"\d+\.\d+", words[0])
    }


def graph(text: str) -> dict[str, list[tuple[float, str, str, int, int]]]:
    """Rate, nest, name, cost and accumulation of Figure 2.24 by thread."""
    found: dict[str, list[tuple[float, str, str, int, int]]] = {}
    title = ""
    for line in text.partition("Call graph")[2].splitlines():
        if at := re.fullmatch(r"  (Process \d+ - Thread \d+)", line):
            title = at[1]
            found[title] = []
        elif at := re.fullmatch(r" +([\d.]+) %\| +<([\d?]+)> (.*) \[ (\d+) / (\d+) \]", line):
            found[title].append((float(at[1]), at[2], at[3], int(at[4]), int(at[5])))
    return found
