# SPDX-License-Identifier: BSD-3-Clause
"""vtrace help: the pages of the documentation in the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build.run import vtrace
from support.tools import ROOT, command
from support.users.terminal import on_terminal

DOCS = {path.stem: path.read_text() for path in (ROOT / "docs").glob("*.md") if path.stem != "index"}


def test_all_pages(tmp_path: Path) -> None:
    """The list has each page with its title, and each page is shown as it is."""
    lines = vtrace(tmp_path, "help").stdout.splitlines()
    assert [line.split(None, 1) for line in lines] == [
        [name, text.splitlines()[0].removeprefix("# ")] for name, text in sorted(DOCS.items())
    ]
    for name in ("sampling", "clocks.md"):
        assert vtrace(tmp_path, "help", name).stdout == DOCS[name.removesuffix(".md")]
    before, after = DOCS["settings"].split("<!-- the table of settings -->\n")
    settings = vtrace(tmp_path, "help", "settings").stdout
    assert settings.startswith(f"{before}| variable | default | meaning |\n")
    assert settings.endswith(after)


def test_parts_with_words(tmp_path: Path) -> None:
    """Paragraphs and rows of tables with all words, in any case, below their headings."""
    shown = vtrace(tmp_path, "help", "settings", "vt_max_size", "1g").stdout
    assert "| VT_MAX_SIZE |" in shown
    assert "| VT_MODE |" not in shown
    assert shown.startswith("# Settings\n\n| variable | default | meaning |\n")
    assert "**VT_MAX_SIZE** ends recording" not in shown  # this paragraph has "1 GiB"
    assert "**VT_MAX_SIZE** ends recording" in vtrace(tmp_path, "help", "settings", "VT_MAX_SIZE", "twentieth").stdout


def test_on_a_terminal(tmp_path: Path) -> None:
    """Formatted: without the marks of Markdown, in the terminal's width."""
    shown = on_terminal([*command("vtrace"), "help", "settings", "VT_MODE"], tmp_path, columns=70)
    assert shown.startswith("\x1b[1mSettings\x1b[0m\r\n\r\n\x1b[1mvariable ")
    assert "\r\nVT_MODE          TRACE    TRACE: all; RING:" in shown
    assert max(map(len, re.sub(r"\x1b\[\d+m", "", shown).splitlines())) in range(60, 71)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("samplin",), "no page samplin (did you mean sampling?)"),
        (("../README",), "no page ../README (vtrace help lists the pages)"),
        (("settings", "zebra", "x"), "no part of settings contains zebra and x (vtrace help settings shows all of it)"),
    ],
)
def test_no_such_page(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = vtrace(tmp_path, "help", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"vtrace: error: {said}\n"
