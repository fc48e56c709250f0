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


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest, page: Browser) -> Iterator[Browser]:
    """The browser with a scheme of colours."""
    page.dark(request.param == "dark")
    yield page
    page.dark(False)


def panels(view: Viewer) -> None:
    for name in PANELS:
        view.press(name)
        assert (name, violations(view.page)) == (name, [])


def test_first_picture_and_panels(scheme: Browser, address: str) -> None:
    view = Viewer(scheme, address)
    assert violations(scheme) == []
    view.run("document.querySelector('#findings-table tbody tr').click()")
    view.settled()
    assert violations(scheme) == []
    panels(Viewer(scheme, address + FULL))


def test_dialogs_and_menus(scheme: Browser, address: str) -> None:
    view = Viewer(scheme, address + FULL)
    for key in ("?", "n"):
        view.key(key)
        assert view.run("return document.querySelectorAll('dialog[open]').length") == 1
        assert (key, violations(scheme)) == (key, [])
        view.key("\ue00c")  # Escape
    view.press("Command")
    assert violations(scheme) == []
    view.key("\ue00c")
    for menu in ("show", "filter"):
        view.run("document.getElementById(arguments[0]).open = true", menu)
        assert (menu, violations(scheme)) == (menu, [])
        view.run("document.getElementById(arguments[0]).open = false", menu)
    view.mouse([("contextmenu", 20, view.row(1))])
    assert view.run("return document.getElementById('row-menu').hidden") is False
    assert violations(scheme) == []


def test_two_runs(scheme: Browser, archive: Path, tmp_path: Path) -> None:
    with served(tmp_path, archive, archive) as (address, _):
        Viewer(scheme, f"{address}#panel=compare").run("document.getElementById('align').open = true")
        assert violations(scheme) == []


def test_saved_page(scheme: Browser, archive: Path, tmp_path: Path) -> None:
    vtrace(tmp_path, "view", "--save", "page.html", archive)
    view = Viewer(scheme, (tmp_path / "page.html").as_uri())
    assert violations(scheme) == []
    panels(view)


def test_report(scheme: Browser, archive: Path, tmp_path: Path) -> None:
    vtrace(tmp_path, "report", archive, "-o", "report.html")
    scheme.open(tmp_path / "report.html")
    scheme.until(lambda: scheme.run("return document.querySelectorAll('.js-plotly-plot').length"))
    assert violations(scheme) == []
