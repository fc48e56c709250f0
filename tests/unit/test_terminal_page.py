# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the documentation, formatted for a terminal."""

from __future__ import annotations

import re

import pytest

from support.tools import ROOT
from vtrace.reports.terminal_page import formatted

PAGE = r"""# Title

A paragraph with `code`, [a link](view.md), [its name](#below), [view.md](view.md)
and **two
words**.

    a long line of code that | is not ** touched ** at all

| a | pipe \| b |
|---|---|
| one | 1 |
| two | some more words |

1. first
   goes on
2. second, which is long
"""
SHOWN = r"""<Title>

A paragraph with `code`, a link
(view.md), its name, view.md and <two
words>.

    a long line of code that | is not ** touched ** at all

<a    pipe | b>
one  1
two  some more words

1. first goes on
2. second, which is long
"""
ROWS = """<one>
  b: 1
<two>
  b: some more
    words
"""


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_formatted() -> None:
    shown = formatted(PAGE, 38)
    assert shown.replace("\x1b[1m", "<").replace("\x1b[0m", ">") == SHOWN.removesuffix("\n")


def test_narrow() -> None:
    """A table whose last column gets too little room is shown row by row, and a terminal without bold gets none."""
    shown = formatted("| a | b |\n|---|---|\n| one | 1 |\n| two | some more words |", 18)
    assert shown.replace("\x1b[1m", "<").replace("\x1b[0m", ">") == ROWS.removesuffix("\n")


def test_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert formatted("# Title\n\n**bold**", 80) == "Title\n\nbold"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_all_words_of_all_pages(width: int) -> None:
    """Each page keeps its words, but the first head of a table may go. Only code and long words are wider than the
    terminal."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.stem == "index":  # the start of the site; vtrace help does not have this page
            continue
        shown = re.sub(r"\x1b\[\d+m", "", formatted(page.read_text(), width))
        code = "".join(line + "\n" for line in page.read_text().splitlines() if line.startswith("    "))
        wide = [line for line in shown.splitlines() if len(line) > width and line not in code]
        assert not [line for line in wide if " " in line.strip(" -*")], page.name
        text = re.sub(r"^\|[^|]+\|(?=.*\n\|-)|\]\(#[^)]*\)|\*\*", "", page.read_text(), flags=re.MULTILINE)
        assert not set(re.findall(r"\w{4,}", text)) - set(re.findall(r"\w{4,}", shown)), page.name
