# SPDX-License-Identifier: BSD-3-Clause
"""vtrace view --save, the button Save page, and links, in a real browser: the file shows the same as the page."""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.build.run import vtrace
from support.synthetic_runs import viewed
from support.synthetic_runs.viewed import served
from support.users.browser import Browser, browser
from support.users.viewer import Viewer
from vtrace.console import QUIET, Console

QUIETLY = Console("vtrace", QUIET)
PANELS = ("Profile", "Flame", "Messages", "Collectives", "Files", "Ranks", "Findings")
HEIGHTS = (30, 40, 50, 70, 100, 130)
"""Of the lines of pixels that are compared."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewed.write(tmp_path_factory.mktemp("archive") / "odd.trace").parent


def saved(where: Path, *words: str | Path) -> Path:
    done = vtrace(where, "view", "--save", "page.html", *words)
    assert done.stdout.startswith("page.html: ")
    assert (where / "page.html").stat().st_size <= 5_000_000
    return where / "page.html"


def opened(page: Browser, file: Path, fragment: str = "") -> Viewer:
    return Viewer(page, file.absolute().as_uri() + fragment)


def compared(view: Viewer) -> NDArray[np.uint8]:
    """The lines of pixels at HEIGHTS."""
    return view.picture(HEIGHTS[0], HEIGHTS[-1] - HEIGHTS[0] + 1)[np.array(HEIGHTS) - HEIGHTS[0]]


def lines(view: Viewer) -> list[str]:
    """The text of the panel without the line about its window."""
    return [line for line in view.panel().splitlines() if not line.startswith(("window", "the saved part"))]


def test_the_file_shows_what_the_page_shows(archive: Path, tmp_path: Path) -> None:
    """Pixels, panels, calls, related calls and a search; the file asks no server."""
    windows = ("", "#w=100000-120000&row=0:l1", "#w=780000-920000&row=0:l0&colour=region", "#w=0-1000000&fold=node")
    call = "#w=100000-120000"
    with browser(tmp_path / "browser", requests=True) as page:
        with served(tmp_path, archive) as (address, _):
            pictures, texts, view = [], {}, Viewer(page, address)
            for window in windows:
                view.go(window)
                pictures.append(compared(view))
            view.go("")
            for panel in PANELS:
                view.press(panel)
                texts[panel] = lines(view)
            view = Viewer(page, address + call)
            view.click(view.x(106_500), view.row(1))
            facts = view.facts()
            view.search("Allreduce")
            found = lines(view)
        file = saved(tmp_path, archive)
        page.asked(), page.complaints()
        view = opened(page, file)
        assert page.run("return document.title") == "odd - vtrace"
        assert "Saved page: the whole run, all calls." in page.text()
        for window, picture in zip(windows, pictures, strict=True):
            view.go(window)
            differ = (compared(view) != picture).any(axis=2).sum(axis=1)
            rounded = 0.04 * view.width if "fold" in window else 0  # the file joins rounded shares of locations
            assert differ.max() <= rounded, window
        view.go("")
        for panel in PANELS:
            view.press(panel)
            assert lines(view) == texts[panel], panel
        view = opened(page, file, call)
        view.click(view.x(106_500), view.row(1))
        assert {name: text for name, text in facts.items() if name in view.facts()} == view.facts()
        view.key("m")
        assert (view.facts()["region"], view.facts()["row"]) == ("MPI_Send", "process 0")
        view.key("u")
        assert view.facts()["region"] == "main"
        view = opened(page, file, call)
        view.search("Allreduce")
        assert lines(view) == found
        assert page.asked() <= {"file://", "data://"}
        assert page.complaints() == []
        assert view.run("return window.hit") is None


def test_a_window_of_some_ranks(archive: Path, page: Browser, tmp_path: Path) -> None:
    """The file has only the rows of --ranks, and tells which part it has. The server's buttons are hidden."""
    view = opened(page, saved(tmp_path, "--from", "100us", "--to", "120us", "--ranks", "1", archive))
    assert view.window == (100_000, 120_000)
    assert "Saved page: 20 us from 100 us, all calls. For the rest, open the trace with vtrace view." in page.text()
    assert "process 0" not in view.panel()
    shown = page.run(
        "return [...document.querySelectorAll('header button')].filter((b) => b.offsetWidth).map((b) => b.textContent)"
    )
    assert shown == ["Whole", "SVG", "PNG", "?"]
    view.key("0")  # all: outside of the window there are coarse tiles only
    assert page.complaints() == []


def test_two_runs_in_a_file(archive: Path, page: Browser, tmp_path: Path) -> None:
    file = saved(tmp_path, archive, archive)
    view = opened(page, file, "#panel=compare")
    assert view.panel().startswith("the saved part")
    assert "All regions: " in view.panel()
    assert page.complaints() == []


def test_the_button(archive: Path, page: Browser, tmp_path: Path) -> None:
    """The file begins with the window, the row and the panel of the page."""
    with served(tmp_path, archive) as (address, _):
        view = Viewer(page, address + "#w=200000-500000&row=0:l1&panel=ranks&sel=300000-400000")
        state = view.state
        page.run("const make = URL.createObjectURL; URL.createObjectURL = (b) => ((window.savedBlob = b), make(b))")
        view.press("Save page")
        page.until(lambda: page.run("return Boolean(window.savedBlob)"))
        text = page.driver.execute_async_script(
            "const done = arguments[0], reader = new FileReader(); reader.onload = () => done(reader.result);"
            "reader.readAsDataURL(window.savedBlob)"
        )
    (tmp_path / "button.html").write_bytes(base64.b64decode(text.partition(",")[2]))
    view = opened(page, tmp_path / "button.html")
    assert view.state == state
    assert "process 1" in view.panel()


def test_names_of_files(archive: Path, tmp_path: Path) -> None:
    """A file is replaced only if vtrace wrote it; bad names and options give one line and an exit code."""
    saved(tmp_path, archive)
    saved(tmp_path, archive)
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    for code, line, words in (
        (1, "mine.html exists, and vtrace has not written it (give --save another name)", ("--save", "mine.html")),
        (2, "--save page is not the name of a page (give a name that ends in .html)", ("--save", "page")),
        (1, "cannot write no/page.html (give --save a file name in an existing directory)", ("--save", "no/page.html")),
        (2, "--save has no effect with --text (leave one of them out)", ("--save", "page.html", "--text")),
        (2, "--port has no effect with --save (leave one of them out)", ("--save", "page.html", "--port", "4")),
    ):  # fmt: skip
        done = vtrace(tmp_path, "view", *words, archive, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr == f"vtrace: error: {line}\n"
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.html", "page.html"]


def test_a_link_restores_the_view(archive: Path, page: Browser, tmp_path: Path) -> None:
    """Window, folding, row, selected rows and time, search, panel and a call, in a browser that has never seen the
    page."""
    link = "#w=200000-500000&fold=process&zoom=2&row=0:l1&sel=300000-400000.l0.l1&find=MPI&colour=region&panel=ranks"
    with served(tmp_path, archive) as (address, _):
        view = Viewer(page, address + link)
        state, panel, picture = view.state, view.panel(), view.pixels(40)
        assert {*state[1:].split("&")} == {*link[1:].split("&")}
        (tmp_path / "new").mkdir()
        with browser(tmp_path / "new") as fresh:
            other = Viewer(fresh, address + state)
            assert (other.state, other.panel(), other.pixels(40)) == (state, panel, picture)
            assert fresh.complaints() == []
            other = Viewer(fresh, address + "#w=100000-120000&call=0.1.104000.1&panel=call")
            assert other.facts()["region"] == "MPI_Recv"
    shutil.rmtree(tmp_path / "new")


def test_what_does_not_fit_is_said(
    archive: Path, page: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little room the file has the coarse tiles and the longest calls, or no calls, and says so."""
    from vtrace.commands import view as command
    from vtrace.timeline import saved_data, saved_page
    from vtrace.timeline.viewer_site import ViewerSite

    def made(name: str) -> Viewer:
        (tmp_path / name).write_bytes(
            ViewerSite([lambda: command._shown(str(archive), command.WHOLE, QUIETLY)]).saved()
        )
        return opened(page, tmp_path / name, "#w=100000-120000&row=0:l1")

    monkeypatch.setattr(saved_data, "_CALLS", 100)
    view = made("few.html")
    shortest = re.search(r"the whole run, no calls shorter than (\S+ us)", page.text())
    assert shortest, page.text()
    assert {"Search", "Flame"} <= {
        *page.run("return [...document.querySelectorAll('#tabs button')].map((b) => b.innerText)")
    }
    monkeypatch.setattr(saved_data, "_READ", 0)
    view = made("none.html")
    assert re.search(r"the whole run, no single calls, steps of \S+ [nu]s\. For the rest, open the trace", page.text())
    assert not view.run("return document.getElementById('search').offsetWidth")
    assert any(blue > red + 40 or red > blue + 40 for red, _, blue in view.pixels(40))  # tiles
    view.press("Findings")
    assert "No findings here" in view.panel() or "lost" in view.panel()
    size = (tmp_path / "none.html").stat().st_size
    monkeypatch.setattr(saved_page, "LARGEST", size - 2000)
    made("small.html")
    assert (tmp_path / "small.html").stat().st_size <= size - 2000
    assert page.complaints() == []


def test_waiting_is_said(archive: Path, page: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel whose answer takes long says that the server reads the trace, and how far it is."""
    from vtrace.commands import view as command
    from vtrace.timeline.panel_data import PanelData
    from vtrace.timeline.server import Server
    from vtrace.timeline.viewer_site import ViewerSite

    site, go_on, answer = (
        ViewerSite([lambda: command._shown(str(archive), command.WHOLE, QUIETLY)]),
        Event(),
        PanelData.answer,
    )

    def slowly(*words: Any) -> Any:
        with site.shown[0].reading.begin(200) as advance:
            advance(86)
            assert go_on.wait(60)
        return answer(*words)

    monkeypatch.setattr(PanelData, "answer", slowly)
    server = Server(site)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        page.open(server.address)
        shown = "return getComputedStyle(document.getElementById('panel'), '::before').content"
        page.until(lambda: page.run(shown) == '"Reading the trace: 43 %"')
        assert page.run("return document.getElementById('waiting').innerText") == "Reading the trace: 43 %"
        go_on.set()
        page.until(lambda: "MPI_Recv" in page.text())
        page.until(lambda: page.run("return document.getElementById('waiting').innerText") == "")
        assert page.complaints() == []
    finally:
        go_on.set()
        server.shutdown()
        server.server_close()
