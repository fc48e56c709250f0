# SPDX-License-Identifier: BSD-3-Clause
"""The arrangement of rows in vtrace view, in a real browser: rows that stay at the top, orders by time, alike rows."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.synthetic_runs import grid
from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.grid import Run, run_of
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import AXIS, NAMES, Viewer

RANKS = (64, 1000)


@pytest.fixture(scope="module", params=RANKS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with run_of(tmp_path_factory.mktemp("grid"), request.param) as found:
        yield found


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


def places(row: dict[str, Any]) -> list[int]:
    """The locations of a row, which are ranks here."""
    ends = [each.split("-") for each in row["key"][1:].split("_")]
    return [rank for each in ends for rank in range(int(each[0]), int(each[-1]) + 1)]


def keep(view: Viewer, file: Path) -> None:
    """Saves the page as the button does."""
    view.run("const make = URL.createObjectURL; URL.createObjectURL = (b) => ((window.savedBlob = b), make(b))")
    view.press("Save page")
    view.page.until(lambda: view.run("return Boolean(window.savedBlob)"))
    data = view.page.driver.execute_async_script(
        "const done = arguments[0], reader = new FileReader(); reader.onload = () => done(reader.result.split(',')[1]);"
        "reader.readAsDataURL(window.savedBlob)"
    )
    file.write_bytes(base64.b64decode(data))


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
    middle = rows(view)[run.ranks // 7]
    menu(view, middle, "Keep at the top")
    shared = view.state.partition("row=0:")[2].partition("&")[0]  # a pixel has one or two rows
    pinned = [row["key"] for row in rows(view) if row["pinned"]]
    assert pinned == [f"l{rank}" for rank in places({"key": shared})]
    assert abs(int(pinned[0][1:]) - places(middle)[0]) <= 8
    view = Viewer(page, f"{run.address}#pin=0.l1_0.p3")
    assert [row["key"] for row in rows(view)][:2] == ["l1", "l3"]
    others = [place for row in rows(view) if not row["pinned"] for place in places(row)]
    assert sorted(others) == sorted({*range(run.ranks)} - {1, 3})
    assert page.complaints() == []


def test_a_saved_page_has_the_rows_at_the_top(run: Run, page: Browser, tmp_path: Path) -> None:
    view = Viewer(page, f"{run.address}#pin=0.l{run.slow}&messages=none")
    [row] = [row for row in rows(view) if row["pinned"]]
    picture = colours(view, row)
    keep(view, tmp_path / "page.html")
    saved = Viewer(page, (tmp_path / "page.html").as_uri())
    [again] = [row for row in rows(saved) if row["pinned"]]
    assert again == row
    assert alike(colours(saved, again), picture)
    assert page.complaints() == []


def choose(view: Viewer, value: str) -> None:
    """Chooses an order of rows in the bar."""
    view.run(
        "const s = document.querySelector('#order'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))",
        value,
    )
    view.settled()


def test_rows_in_the_order_of_times(run: Run, page: Browser) -> None:
    """The rank with more work is first by the time in its class and in its region, and last by waits."""
    view = Viewer(page, f"{run.address}#find=stencil&exact=1")
    before = rows(view)
    user = view.run("return [...document.querySelectorAll('#order option')].find((o) => o.text === 'by user').value")
    work = sorted({*range(run.ranks)} - {run.slow}, key=lambda rank: (-(rank % 7), rank))
    for order in (user, "found"):
        choose(view, order)
        assert f"order={order}" in view.state
        found = rows(view)
        assert len(found) == len(before)
        each = len(places(found[0]))
        assert places(found[0]) == sorted([run.slow, *work[: each - 1]])
        assert [rank for row in found for rank in places(row)][each:] == [
            rank for at in range(each - 1, run.ranks - 1, each) for rank in sorted(work[at : at + each])
        ]
    keep(view, file := run.archive.parent / f"found{run.ranks}.html")
    saved = [places(row) for row in rows(Viewer(page, file.as_uri()))]
    assert sorted(saved[0]) == sorted([run.slow, *work[: len(saved[0]) - 1]])  # the bar may be higher
    view = Viewer(page, run.address + view.state)
    view.go(view.run("return location.hash").replace("find=stencil", "find=").replace("exact=1", "exact=0"))
    assert [row["key"] for row in rows(view)] == [row["key"] for row in before]  # nothing is found
    choose(view, "wait")
    assert run.slow in places(rows(view)[-1])
    view.go(f"w=0-{view.window[0]}&order={user}")  # MPI_Init
    assert [row["key"] for row in rows(view)] == [row["key"] for row in before]
    choose(view, "")
    assert [row["key"] for row in rows(view)] == [row["key"] for row in before]
    assert "order" not in view.state
    assert page.complaints() == []


def test_alike_rows_are_joined(run: Run, page: Browser) -> None:
    """One row for all ranks that do the same, and the odd ones; a click on the name, or a key, shows all."""
    view = Viewer(page, f"{run.address}#order=alike")
    joined = [("l0", f"process 0 and {run.ranks - 3} alike")]
    joined += [(f"l{rank}", f"process {rank}") for rank in (run.slow, run.slow + 1)]
    assert [(row["key"], row["name"]) for row in rows(view)] == joined
    names = [text for text, x, *_ in view.texts() if x < 20]
    assert joined[0][1] in names
    click_name(view, rows(view)[0])
    assert "apart=0.l0" in view.state
    if run.ranks == 64:
        alike = [rank for rank in range(1, 64) if rank not in (run.slow, run.slow + 1)]
        names = [joined[0][1], *(f"  process {rank}" for rank in alike), *(name for _, name in joined[1:])]
        assert [row["name"] for row in rows(view)] == names
    else:
        assert len(rows(view)) > 100
    view.key("o")
    assert [(row["key"], row["name"]) for row in rows(view)] == joined
    menu(view, rows(view)[1], "Keep at the top")
    assert [row["key"] for row in rows(view)] == [joined[1][0], "l0", joined[2][0]]
    state = view.state
    keep(view, file := run.archive.parent / f"alike{run.ranks}.html")
    assert [row["name"] for row in rows(Viewer(page, file.as_uri()))] == [joined[n][1] for n in (1, 0, 2)]
    assert [row["key"] for row in rows(Viewer(page, run.address + state))] == [joined[n][0] for n in (1, 0, 2)]
    assert page.complaints() == []


def test_alike_rows_count_all_their_calls(run: Run, page: Browser) -> None:
    """Search and messages are about all rows that a row stands for; the row shows a call of any of them."""
    steps = grid.STEPS if run.ranks < 1000 else grid.FEW_STEPS
    send = steps * (int(grid.WORK * grid.LATE) + 3 * grid.HALO) // 3 + grid.WORK
    view = Viewer(page, f"{run.address}#w=0-99999999&order=alike&find=stencil&exact=1&call=0.0.{send}.2")
    view.press("Search")
    assert f"{run.ranks * steps:,} calls" in view.run("return document.getElementById('panel').textContent")
    assert f"{run.ranks * steps:,} messages" in view.run("return document.getElementById('status').textContent")
    view.key("m")
    assert "row=0:l1&" in view.state
    assert "call=0.1." in view.state
    assert "process 1" in [text for text, *_ in view.texts()]
    view.key("o")
    assert "apart=0.l0" in view.state
    assert page.complaints() == []


def test_a_selection_keeps_its_rows(run: Run, page: Browser) -> None:
    """Of rows on the screen, also from a pinned one on; in another order it is the same rows."""
    view = Viewer(page, f"{run.address}#pin=0.l{run.slow}&zoom=4&messages=none")
    view.wheel(400, 300, 400)
    view.drag(NAMES + 100, AXIS + 5, NAMES + 200, AXIS + 60)
    chosen = view.state.split("&sel=")[1].split("&")[0].split(".")[1:]
    hidden = rows(view)[1]
    assert chosen[0] == chosen[1]
    ranks = places({"key": chosen[0]})
    assert run.slow in ranks
    assert not set(places(hidden)) & set(ranks)
    assert 1 < len(ranks) < 40
    choose(view, "wait")
    assert f".{chosen[0]}.{chosen[0]}&" in view.state
    view.press("Profile")
    assert f"{len(ranks)}\n" in view.run("return document.getElementById('panel').innerText").replace("\t", "\n")
    assert page.complaints() == []


def test_pins_of_two_archives(tmp_path: Path, page: Browser) -> None:
    """All pinned rows are above; a scrolled page knows the row below the mouse; keys open the menu of a row."""
    grid.write(tmp_path / "grid.trace", 16, 4)
    with served(tmp_path, tmp_path / "grid.trace", tmp_path / "grid.trace") as (address, _):
        view = Viewer(page, f"{address}#pin=0.l3_1.l5&zoom=3&row=1:l5&messages=lines")
        page_layout = view.run("return document.getElementById('chart').layout()")
        assert [(part["rows"][0]["key"], part["pinned"]) for part in page_layout["parts"]] == [("l3", 1), ("l5", 1)]
        view.wheel(400, 300, 10_000)
        assert view.tip(NAMES + 300, page_layout["bottom"] - 5).startswith("process 15")
        view.run(
            "const c = document.getElementById('chart'); c.focus();"
            "c.dispatchEvent(new KeyboardEvent('keydown', {key: 'F10', shiftKey: true, bubbles: true}))"
        )
        view.key("\ue015", "\ue007")  # the second item
        assert "pin=" not in view.state
        assert not any(row["pinned"] for row in rows(view))
        assert page.complaints() == []


COUNTS = "return document.getElementById('status').textContent"
MOVED = (
    "const done = arguments[0]; document.getElementById('chart').focus();"
    "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'd', bubbles: true}));"
    "requestAnimationFrame(() => done(document.getElementById('status').textContent));"
)


def test_messages_of_the_window_are_counted(run: Run, page: Browser) -> None:
    """Also of more rows than have lines between them; until the answer arrives the page says that it counts."""
    steps = grid.STEPS if run.ranks < 1000 else grid.FEW_STEPS
    long = (run.end - run.begin) // steps
    view = Viewer(page, f"{run.address}#zoom=16&w={run.begin}-{run.begin + 2 * long - 1}")
    assert len(rows(view)) == run.ranks
    assert f"{2 * run.ranks:,} messages" in view.run(COUNTS)
    words = page.driver.execute_async_script(MOVED)
    assert "counting messages" in words
    assert f"{2 * run.ranks:,} messages" not in words
    view.go(f"zoom=16&w={run.begin}-{run.begin + long - 1}")
    assert f"{run.ranks:,} messages" in view.run(COUNTS)
    assert ("too many to draw" in view.run(COUNTS)) == (run.ranks == 1000)
    assert page.complaints() == []


def test_a_node_opens(page: Browser, tmp_path: Path) -> None:
    """Into its processes, whose names stand below that of the node; the other node stays folded."""
    archive = Foreign(tmp_path / "nodes.trace")
    for rank in range(4):
        archive.events(rank, [(10, "Enter", 0), (1000, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=2, length=1010)
    archive.define("SystemTreeNode", 1, "other", "node", UNDEFINED)
    for rank in range(4):
        if rank > 1:
            archive.define("LocationGroup", rank, f"process {rank}", 1, 1, UNDEFINED)
        archive.location(rank, group=rank)
    archive.region(0, "main")
    archive.close()
    with served(tmp_path, tmp_path / "nodes") as (address, _):
        view = Viewer(page, f"{address}#fold=node&row=0:n0")
        assert [row["name"] for row in rows(view)] == ["host", "other"]
        view.key("o")
        assert [row["name"] for row in rows(view)] == ["host, process 0", "  process 1", "other"]
        again = Viewer(page, f"{address}{view.run('return location.hash')}")
        assert [row["name"] for row in rows(again)] == ["host, process 0", "  process 1", "other"]
        again.key("o")
        assert [row["name"] for row in rows(again)] == ["host", "other"]
        assert page.complaints() == []
