# SPDX-License-Identifier: BSD-3-Clause
"""axe-core finds nothing serious in the page of vtrace view, in a saved page and in a report, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.build.run import vtrace
from support.synthetic_runs import stepping
from support.synthetic_runs.viewed import served
from support.users.axe import violations
from support.users.browser import Browser
from support.users.viewer import Viewer

PANELS = "Findings Call Profile Flame Iterations Ranks Messages Collectives Files Search Notes".split()
FULL = (
    "#w=0-9000000&find=work&sel=1000000-5000000.l0.l1&pick=0.1&note=0.5000.l1.here&call=0.1.10000.1&row=0:l1&pin=0.l2"
)
"""An address with a search, a selection, a picked and a pinned row, a note and a call."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("steps")
    stepping.write(where / "steps.trace")
    return where / "steps"


@pytest.fixture(scope="module")
def address(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served"), archive) as (found, _):
        yield found


def faults(page: Browser) -> dict[str, list[list[str]]]:
    """What axe-core finds in a page with light and with dark colours."""
    found = {}
    for scheme in ("dark", "light"):
        page.dark(scheme == "dark")
        page.settled()
        found[scheme] = violations(page)
    return found


NONE: dict[str, list[list[str]]] = {"dark": [], "light": []}


def panels(view: Viewer) -> None:
    for name in PANELS:
        view.press(name)
        assert (name, faults(view.page)) == (name, NONE)


def test_first_picture_and_panels(page: Browser, address: str) -> None:
    view = Viewer(page, address)
    assert faults(page) == NONE
    view.run("document.querySelector('#findings-table tbody tr').click()")
    view.settled()
    assert faults(page) == NONE
    panels(Viewer(page, address + FULL))


def test_dialogs_and_menus(page: Browser, address: str) -> None:
    view = Viewer(page, address + FULL)
    for key in ("?", "n"):
        view.key(key)
        assert view.run("return document.querySelectorAll('dialog[open]').length") == 1
        assert (key, faults(page)) == (key, NONE)
        view.key("\ue00c")  # Escape
    view.press("Command")
    assert faults(page) == NONE
    view.key("\ue00c")
    for menu in ("show", "filter"):
        view.run("document.getElementById(arguments[0]).open = true", menu)
        assert (menu, faults(page)) == (menu, NONE)
        view.run("document.getElementById(arguments[0]).open = false", menu)
    view.mouse([("contextmenu", 20, view.row(1))])
    assert view.run("return document.getElementById('row-menu').hidden") is False
    assert faults(page) == NONE


def test_two_runs(page: Browser, archive: Path, tmp_path: Path) -> None:
    with served(tmp_path, archive, archive) as (address, _):
        Viewer(page, f"{address}#panel=compare").run("document.getElementById('align').open = true")
        assert faults(page) == NONE


def test_saved_page(page: Browser, archive: Path, tmp_path: Path) -> None:
    vtrace(tmp_path, "view", "--save", "page.html", archive)
    view = Viewer(page, (tmp_path / "page.html").as_uri())
    assert faults(page) == NONE
    panels(view)


def test_report(page: Browser, archive: Path, tmp_path: Path) -> None:
    vtrace(tmp_path, "report", archive, "-o", "report.html")
    page.open(tmp_path / "report.html")
    page.until(lambda: page.run("return document.querySelectorAll('.js-plotly-plot').length"))
    assert faults(page) == NONE
