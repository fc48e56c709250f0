# SPDX-License-Identifier: BSD-3-Clause
"""Formats pages of the documentation for a terminal. Supports the Markdown that docs/ uses."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from vtrace.console import bold

_ITEM = re.compile(r" *(?:[-*]|\d+\.) +")
_LINK = re.compile(r"!?\[([^]]+)\]\(([^)]+)\)")
_LEAST = 30
"""The least width, in columns, at which the last cells of a table stand beside the other cells."""


def formatted(page: str, width: int) -> str:
    """A page for a terminal of this width: headings in bold, paragraphs wrapped, tables in columns, code unchanged."""
    return "\n\n".join(_part(part, width) for part in re.split(r"\n{2,}", page.strip("\n")))


def _part(part: str, width: int) -> str:
    if part.startswith("    "):
        return part
    if part.startswith("#"):
        return bold(_fill(part.lstrip("# "), width, "", ""))
    part = _LINK.sub(_link, part)
    if part.startswith("|"):
        head, _, *rows = [_cells(line) for line in part.split("\n")]
        return _bold(_table([head, *rows], width))
    lines = part.split("\n")
    begins = [place for place, line in enumerate(lines) if not place or _ITEM.match(line)]
    return _bold("\n".join(_wrapped(lines[a:b], width) for a, b in zip(begins, [*begins[1:], len(lines)], strict=True)))


def _bold(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", lambda found: bold(found[1]), text, flags=re.DOTALL)


def _link(found: re.Match[str]) -> str:
    """The text of a link, and the linked page if the text does not name the page."""
    text, page = found[1], found[2]
    return text if page.startswith("#") or page == text else f"{text} ({page})"


def _wrapped(lines: Sequence[str], width: int) -> str:
    """A paragraph, or an item of a list, whose further lines begin below the item's text."""
    mark = _ITEM.match(lines[0])
    hang = mark.end() if mark else len(lines[0]) - len(lines[0].lstrip())
    first = lines[0][:hang]
    return _fill(" ".join([lines[0][hang:], *map(str.strip, lines[1:])]), width, first, " " * hang)


def _fill(text: str, width: int, first: str, further: str) -> str:
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def _table(rows: list[list[str]], width: int) -> str:
    """A table in columns, the last column wrapped; if the other columns leave too little room, several lines a row."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width - sum(widths[:-1]) - 2 * (len(widths) - 1)
    if room < min(_LEAST, widths[-1]):
        return "\n".join(_lines(rows[0], row, width) for row in rows[1:])
    lines = []
    for row in rows:
        begin = "".join(f"{cell:{size}}  " for cell, size in zip(row[:-1], widths[:-1], strict=True))
        lines.append(_fill(row[-1], max(width, len(begin) + 1), begin, " " * len(begin)) or begin.rstrip())
    return "\n".join([bold(lines[0]), *lines[1:]])


def _lines(heads: list[str], row: list[str], width: int) -> str:
    """A row: the first cell, and below this cell each other cell after the head of its column."""
    lines = [bold(_fill(row[0], width, "", ""))]
    for head, cell in zip(heads[1:], row[1:], strict=True):
        text = f"{head}: {cell}" if head else cell
        lines += [_fill(text, width, "  ", "    ")] if cell else []
    return "\n".join(lines)
