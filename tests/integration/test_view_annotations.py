# SPDX-License-Identifier: BSD-3-Clause
"""Colours of annotations in the page, in a real browser."""

from __future__ import annotations

import sys
from pathlib import Path

from support.build.run import unify, vtrace
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import NAMES, Viewer

RED, BLACK = (0xEE, 0x11, 0), (0, 0, 1)  # black has the number of the colour beside it

PYTHON = """
import time, nvtx
for name, colour in (("hot", 0xee1100), ("dark", 0)):
    for _ in range(2):
        with nvtx.annotate(name, color=colour, category="phase"): time.sleep(0.05)
"""


def test_colours(page: Browser, tmp_path: Path) -> None:
    """A region has its annotation's colour, also in a saved page. The details of a call have colour and category."""
    (tmp_path / "annotated.py").write_text(PYTHON)
    vtrace(tmp_path, "run", "-o", "run", sys.executable, "annotated.py")
    unify(tmp_path, "run")
    vtrace(tmp_path, "view", "run", "--save", "run.html")
    view = Viewer(page, (tmp_path / "run.html").absolute().as_uri())
    line = view.pixels(view.row(0, 0.5))
    assert line.count(RED) > 100
    assert line.count(BLACK) > 100
    with served(tmp_path, "run") as (address, _):
        view = Viewer(page, address)
        line = view.pixels(view.row(0, 0.5))
        view.click(NAMES + line.index(RED) + 5, view.row(0, 0.5))
        told = view.panel()
    for text in ("ANNOTATION_COLOR\t#ee1100", "ANNOTATION_CATEGORY\tphase"):
        assert text in told
    assert page.complaints() == []
