# SPDX-License-Identifier: BSD-3-Clause
"""The first picture of vtrace view in a real browser: its window, its rows, its labels, the overview, the box at the
mouse; read from the page's own layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from support.synthetic_runs.grid import Run, run_of
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import AXIS, NAMES, Viewer

SIZES = [(1280, 720), (1440, 900), (2560, 1440)]
RANKS = (2, 64, 1000)
OUTLIER, USER, MPI = (0xE0, 0, 0), (0x3D, 0x9B, 0xFF), (0xD5, 0x5E, 0x00)


@pytest.fixture(scope="module", params=RANKS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with run_of(tmp_path_factory.mktemp("grid"), request.param) as found:
        yield found


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run of four ranks."""
    with run_of(tmp_path_factory.mktemp("few"), 4) as found:
        yield found


def chip(view: Viewer) -> str:
    return str(view.run("const c = document.getElementById('chip'); return !c || c.hidden ? '' : c.innerText"))


def test_the_first_window(run: Run, page: Browser) -> None:
    """It begins after MPI_Init and ends before MPI_Finalize, to a thousandth of the run; a key shows all."""
    view = Viewer(page, run.address)
    length = run.end + 60_000
    begin, end = view.window
    assert run.begin <= begin <= run.begin + length // 500
    assert run.end - length // 500 <= end <= run.end
    assert chip(view).split("\n")[0].startswith("without MPI_Init and MPI_Finalize: 0 shows all")
    view.key("0")
    assert view.window == (0, length)
    assert chip(view) == ""
    assert Viewer(page, f"{run.address}#w=0-{length}").window == (0, length)  # an address wins
    assert page.complaints() == []


def test_the_chip_closes(few: Run, page: Browser) -> None:
    view = Viewer(page, few.address)
    view.run("document.querySelector('#chip [aria-label^=Close]').click()")
    assert chip(view) == ""
    assert view.window[0] >= few.begin
    view = Viewer(page, few.address)
    view.run("document.querySelector('#chip button').click()")  # 0 shows all
    view.settled()
    assert view.window[0] == 0


def test_a_window_of_the_command_wins(few: Run, page: Browser, tmp_path: Path) -> None:
    with served(tmp_path, few.archive, "--from", "1ms", "--to", "9ms") as (address, _):
        view = Viewer(page, address)
        assert view.window == (1_000_000, 9_000_000)
        assert chip(view) == ""


def overlapping(texts: list[tuple[str, float, float, float, float]]) -> list[tuple[str, str]]:
    """The pairs of texts whose boxes share a place."""
    x, y, wide, tall = np.array([box for _, *box in texts]).T
    over = (x < (x + wide)[:, None]) & (x[:, None] < x + wide) & (y < (y + tall)[:, None]) & (y[:, None] < y + tall)
    return [(texts[one][0], texts[other][0]) for one, other in np.argwhere(np.triu(over, 1)).tolist()]


def labels_fit(view: Viewer, ranks: int) -> None:
    rows, high, room = view.run(
        "const l = document.getElementById('chart').layout(), p = l.parts[0];"
        "return [p.rows.length, p.high, l.bottom - l.top]"
    )
    if ranks == 2:
        assert (rows, high) == (2, 90)
    else:
        assert room - 1.01 <= rows * high <= room + 0.01
        assert rows == (ranks if ranks <= room else -(-ranks // -(-ranks // int(room))))
    texts = view.texts()
    assert len(texts) > min(rows, 20)
    for _, x, y, wide, tall in texts:
        assert x >= 0
        assert y >= 0
        assert x + wide <= view.width + 0.5
        assert y + tall <= view.height + 0.5
    assert [text for text, *_ in texts if "\u2026" in text and len(text.split("\u2026")[0]) < 12] == []
    assert overlapping(texts) == []


def test_rows_and_labels(run: Run, page: Browser) -> None:
    """Rows fill the height, few rows are 90 px high; no label lies over another one, and none leaves the chart."""
    view = Viewer(page, run.address)
    for window in ("", f"#w={run.begin}-{run.begin + 3_000_000}&messages=lines&collectives=bands"):
        view.go(window)
        for size in SIZES:
            view.resize(*size)
            labels_fit(view, run.ranks)
    assert page.complaints() == []


def near(pixels: NDArray[np.uint8], colour: tuple[int, int, int]) -> NDArray[np.bool_]:
    """True for each pixel that has a colour or a shade of it."""
    found: NDArray[np.bool_] = np.abs(pixels.astype(int) - colour).sum(axis=-1) < 110
    return found


def test_nothing_hides_the_rows(run: Run, page: Browser) -> None:
    """Nearly all pixels of a row have the colour of its work or its wait, which is half as strong. Marks of outliers
    are above the colours of their rows, where rows are high enough."""
    view = Viewer(page, run.address)
    red, green, blue = ((value + 255) // 2 for value in MPI)
    rows, shared = view.run(
        "const {rows} = document.getElementById('chart').layout().parts[0]; return [rows.length, rows[0].places.length]"
    )
    slow = run.slow // shared
    work = {}
    for row in {0, rows // 2, slow, rows - 1}:
        line = view.picture(view.row(row, 0.8))
        work[row] = near(line, USER).sum()
        waits = near(line, (red, green, blue)).sum()
        assert work[row] + waits > 0.93 * line.shape[1], row
    assert shared > 1 or max(work, key=lambda row: work[row]) == slow
    if rows == 2:
        lines = view.picture(AXIS, int(view.row(1, 1)) - AXIS)
        marks = AXIS + np.flatnonzero((lines == OUTLIER).all(axis=2).any(axis=1))
        assert all(any(view.row(row, 0) <= y <= view.row(row, 0) + 5 for row in (0, 1)) for y in marks)


def status(view: Viewer) -> str:
    return str(view.run("return document.getElementById('status').innerText"))


def choose(view: Viewer, menu: str, value: str) -> None:
    """Chooses in a menu."""
    view.run(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))",
        menu, value,
    )  # fmt: skip
    view.settled()


def test_density_decides_and_a_choice_overrides(run: Run, page: Browser) -> None:
    """Messages of two ranks are lines with arrows; of 1000 ranks the page draws none, and says so."""
    view = Viewer(page, run.address)
    before = view.pixels(view.row(0, 0.5))
    assert ("too many to draw: zoom in" in status(view)) == (run.ranks == 1000)
    choose(view, "messages", "none")
    none = view.pixels(view.row(0, 0.5))
    assert (before != none) == (run.ranks < 1000)
    choose(view, "messages", "lines")
    assert "messages=lines" in view.state
    assert view.pixels(view.row(0, 0.5)) != none
    assert "too many" not in status(view)
    choose(view, "bands", "bands")
    assert "collectives=bands" in view.state


def test_waits_have_a_colour(few: Run, page: Browser) -> None:
    """Also by a menu all calls that wait have one colour, and all others another."""
    view = Viewer(page, few.address)
    choose(view, "colour", "wait")
    line = view.picture(view.row(few.slow + 1, 0.8))
    work, waits = (near(line, each).mean() for each in ((0xD9, 0xD9, 0xD6), (0x6A, 0, 0xC8)))
    assert (work + waits > 0.93, waits > 0.2) == (True, True)
    assert page.complaints() == []


def test_an_own_colour(few: Run, page: Browser, tmp_path: Path) -> None:
    """A region keeps the colour that a user chose, in a page that is loaded again too, until the user gives it back.
    The legend of a saved picture has it."""
    own = (0x12, 0x34, 0x56)
    view = Viewer(page, few.address)
    at = view.x(few.begin + 400_000), view.row(2)
    view.click(*at)
    view.run(
        "const one = document.querySelector('.own input'); one.value = '#123456'; one.dispatchEvent(new Event('input'))"
    )
    view.settled()
    assert own in view.pixels(view.row(2, 0.8))
    view = Viewer(page, few.address)
    view.press("Profile")
    assert "rgb(18, 52, 86)" in view.run(
        "return [...document.querySelectorAll('#profile .swatch')].map((one) => one.style.backgroundColor)"
    )
    assert own in view.pixels(view.row(2, 0.8))
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    view.press("SVG")
    page.until((tmp_path / "grid.svg").exists)
    legend = (tmp_path / "grid.svg").read_text().rsplit("<svg ", 1)[1]
    assert ('fill="#123456"' in legend, ">stencil</text>" in legend) == (True, True)
    view.click(*at)
    view.press("colour of the class")
    assert own not in view.pixels(view.row(2, 0.8))
    assert own not in Viewer(page, few.address).pixels(view.row(2, 0.8))
    assert page.complaints() == []


def strip(view: Viewer, *events: tuple[str, float]) -> None:
    """The mouse on the overview: kinds of events, and parts of the width."""
    view.actions += 1
    view.run(
        "const c = document.getElementById('strip'), b = c.getBoundingClientRect();"
        "for (const [kind, part] of arguments[0]) c.dispatchEvent(new MouseEvent(kind,"
        " {clientX: b.left + part * b.width, clientY: b.top + 9, bubbles: true}));", events,
    )  # fmt: skip
    view.settled()


def test_the_overview(few: Run, page: Browser) -> None:
    """The whole run: MPI_Init pale, then work; a drag zooms, a click moves the window."""
    view = Viewer(page, few.address)
    length = few.end + 60_000
    line = view.run(
        "const c = document.getElementById('strip'), x = c.getContext('2d');"
        "return [0.1, 0.5].map((part) => [...x.getImageData(part * c.width, 25, 1, 1).data])"
    )
    assert near(np.array(line[1][:3]), USER)
    assert line[0][0] > line[0][2]  # of MPI
    strip(view, ("mousedown", 0.5), ("mousemove", 0.6), ("mousemove", 0.75), ("mouseup", 0.75))
    begin, end = view.window
    assert begin == pytest.approx(0.5 * length, abs=0.01 * length)
    assert end == pytest.approx(0.75 * length, abs=0.01 * length)
    strip(view, ("mousedown", 0.3), ("mouseup", 0.3))
    assert sum(view.window) / 2 == pytest.approx(0.3 * length, abs=0.01 * length)
    assert view.window[1] - view.window[0] == pytest.approx(end - begin, abs=2)
    assert page.complaints() == []


def test_the_box_at_the_mouse(few: Run, page: Browser) -> None:
    """It names the row and the call, and stays inside the page at each border, beside the panels."""
    view = Viewer(page, few.address)
    middle = view.x(few.begin + 400_000)
    assert view.tip(middle, view.row(2)).startswith("process 2 at 5.7")
    assert "stencil" in view.tip(middle, view.row(2))
    for x in (NAMES + 2, view.width - 2):
        for row in (0, 3):
            assert view.tip(x, view.row(row))
            box = view.run(
                "const b = document.getElementById('tip').getBoundingClientRect();"
                "const side = document.getElementById('side').getBoundingClientRect();"
                "return [b.left, b.top, side.left - b.right, innerHeight - b.bottom]"
            )
            assert min(box) >= 0
    assert view.tip(middle, 5) == ""


def test_the_ruler_measures(few: Run, page: Browser) -> None:
    """A drag on the axis selects a range of all rows, and its length stands above it."""
    view = Viewer(page, few.address)
    view.drag(view.x(7_000_000), 10, view.x(9_000_000), 14)
    chosen = view.state.split("sel=")[1].split("&")[0]
    begin, end = map(int, chosen.split("-"))  # no rows
    assert begin == pytest.approx(7e6, abs=5e4)
    assert end == pytest.approx(9e6, abs=5e4)
    length = f"{(end - begin) / 1e6:.4g} ms"
    (place,) = (each for each in view.texts() if each[0] == length)
    assert place[2] < AXIS
    assert f"selected {length}" in status(view)
