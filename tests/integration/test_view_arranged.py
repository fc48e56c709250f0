# SPDX-License-Identifier: BSD-3-Clause
"""The arrangement of rows in vtrace view, in a real browser: rows that stay at the top."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.synthetic_runs import grid
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import AXIS, Viewer

RANKS = (64, 1000)


class Run(NamedTuple):
    """slow: the rank that works longer than the others; the rank after it waits for its message."""

    archive: Path
    address: str
    ranks: int
    slow: int


@pytest.fixture(scope="module", params=RANKS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    where = tmp_path_factory.mktemp("grid")
    *_, slow = grid.write(where / "grid.trace", request.param, 12 if request.param < 1000 else 4)
    with served(where, where / "grid.trace") as (address, _):
        yield Run(where / "grid.trace", address, request.param, slow)


def rows(view: Viewer) -> list[dict[str, Any]]:
    """The rows of the page: key, name, y and height without scrolling."""
    return list(
        view.run(
            "const l = document.getElementById('chart').layout(), p = l.parts[0];"
            "return p.rows.map(({key, name}, n) => n < p.pinned"
            " ? {key, name, pinned: true, y: l.top + p.pinTop + n * p.pinHigh, high: p.pinHigh}"
            " : {key, name, pinned: false, y: l.top + l.band + p.begin + (n - p.pinned) * p.high, high: p.high})"
        )
    )


def click_name(view: Viewer, row: dict[str, Any]) -> None:
    view.click(20, row["y"] + row["high"] / 2)


def menu(view: Viewer, row: dict[str, Any], item: str) -> None:
    """Chooses an item of the menu of a row's name."""
    view.mouse([("contextmenu", 20, row["y"] + row["high"] / 2)])
    words = "const b = [...document.querySelectorAll('#row-menu:not([hidden]) button')]; "
    assert view.run(f"{words} return b.length && document.activeElement === b[0]")
    view.run(f"{words} b.find((one) => one.textContent.startsWith(arguments[0])).click()", item)
    view.settled()


def colours(view: Viewer, row: dict[str, Any]) -> list[tuple[int, int, int]]:
    """The colours of a pinned row above the names of its calls, and below the edge for marks."""
    return view.pixels(row["y"] + 6)


def alike(line: list[tuple[int, int, int]], other: list[tuple[int, int, int]]) -> bool:
    return sum(a != b for a, b in zip(line, other, strict=True)) <= len(other) // 50


def test_a_row_stays_at_the_top(run: Run, page: Browser) -> None:
    """By key and by menu; while others scroll; with its own calls, and a height for their names; in the address."""
    view = Viewer(page, f"{run.address}#row=0:l{run.slow}&messages=none")
    view.key("y")
    first, *others = rows(view)
    assert (first["key"], first["pinned"], first["y"]) == (f"l{run.slow}", True, AXIS)
    assert first["high"] >= 28
    assert not any(row["pinned"] for row in others)
    assert f"pin=0.l{run.slow}" in view.state
    picture = colours(view, first)
    view.key("+")
    view.wheel(400, 300, 90)
    assert view.run("return document.getElementById('chart').layout().most") > 0
    assert "scroll=90" in view.state
    [again] = [row for row in rows(view) if row["pinned"]]
    assert again["y"] == AXIS
    assert alike(colours(view, again), picture)
    names = [text for text, x, y, _, _ in view.texts() if x < 170 and y < AXIS + again["high"]]
    assert names == [f"process {run.slow}"]
    assert [row["key"] for row in rows(Viewer(page, run.address + view.state)) if row["pinned"]] == [again["key"]]
    menu(view, again, "Let go back")
    assert not any(row["pinned"] for row in rows(view))
    assert "pin" not in view.state
    assert page.complaints() == []


def test_shared_rows_go_to_the_top_one_by_one(run: Run, page: Browser) -> None:
    """The row is at the top alone, and no row shows its location twice."""
    view = Viewer(page, run.address)
    shared = rows(view)[2]
    menu(view, shared, "Keep at the top")
    pinned = [row["key"] for row in rows(view) if row["pinned"]]
    each = -(-run.ranks // len(rows(Viewer(page, run.address))))
    assert pinned == [f"l{rank}" for rank in range(2 * each, 3 * each)]
    view = Viewer(page, f"{run.address}#pin=0.l1_0.p3")
    assert [row["key"] for row in rows(view)][:2] == ["l1", "l3"]
    others = [row["key"] for row in rows(view) if not row["pinned"]]
    places = [
        place
        for key in others
        for first, _, last in (each.partition("-") for each in key[1:].split("_"))
        for place in range(int(first), int(last or first) + 1)
    ]
    assert sorted(places) == sorted({*range(run.ranks)} - {1, 3})
    assert page.complaints() == []


def test_a_saved_page_has_the_rows_at_the_top(run: Run, page: Browser, tmp_path: Path) -> None:
    view = Viewer(page, f"{run.address}#pin=0.l{run.slow}&messages=none")
    [row] = [row for row in rows(view) if row["pinned"]]
    picture = colours(view, row)
    page.run("const make = URL.createObjectURL; URL.createObjectURL = (b) => ((window.savedBlob = b), make(b))")
    view.press("Save page")
    page.until(lambda: page.run("return Boolean(window.savedBlob)"))
    data = page.driver.execute_async_script(
        "const done = arguments[0], reader = new FileReader(); reader.onload = () => done(reader.result.split(',')[1]);"
        "reader.readAsDataURL(window.savedBlob)"
    )
    (tmp_path / "page.html").write_bytes(base64.b64decode(data))
    saved = Viewer(page, (tmp_path / "page.html").as_uri())
    [again] = [row for row in rows(saved) if row["pinned"]]
    assert again == row
    assert alike(colours(saved, again), picture)
    assert page.complaints() == []
