# SPDX-License-Identifier: BSD-3-Clause
"""Printing of text from files and from the environment."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from vtrace.text import html_text, json_text, plain

ODD = "a\x1b\x07\x7f\x85\u202e\n\udcff"


def test_plain() -> None:
    assert plain(ODD) == r"a\x1b\x07\x7f\x85\u202e\n\udcff"
    assert plain("é b") == "é b"


def test_json_has_no_control_characters() -> None:
    text = json_text({"name": ODD})
    assert text.isprintable()
    assert text.isascii()
    assert json.loads(text) == {"name": ODD}


@pytest.mark.parametrize("text", ["<script>", "a & b", "'\"", ODD])
def test_html(text: str) -> None:
    shown = html_text(text)
    assert shown.isprintable()
    assert not set("<>'\"") & set(shown)


def test_it_loads_little() -> None:
    """vtrace.text imports few modules, because the compiler wrappers use it."""
    code = "import __future__, sys; old = set(sys.modules); import vtrace.text; print(sorted(set(sys.modules) - old))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "['vtrace', 'vtrace.text']\n"
