# SPDX-License-Identifier: BSD-3-Clause
"""The way from a finding to its cause in vtrace view, in a real browser: the path of a delay, the call tree,
stacks of several rows, the work of each row, distances of notes, counters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from support.readers import archive as reader
from support.recorded_archives import unpack
from support.synthetic_runs import archives, grid, stepping
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import AXIS, NAMES, Viewer
from vtrace.commands import view as command
from vtrace.console import QUIET, Console
from vtrace.timeline import call_store
from vtrace.timeline.server import Server
from vtrace.timeline.viewer_site import ViewerSite
from vtrace.timeline.window_reader import WindowReader

PICK, MOST, LEAST = (0xC0, 0, 0x60), (0x60, 0x10, 0x30), (0xF9, 0xDF, 0x8F)
US, SLOW = stepping.US, stepping.SLOW_RANK
OTHERS = [rank for rank in range(stepping.RANKS) if rank != SLOW]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    where = tmp_path_factory.mktemp("steps")
    stepping.write(where / "steps.trace")
    with served(where, where / "steps") as (found, _):
        yield found


@pytest.fixture(scope="module")
def slow_step(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The begin of the slow iteration."""
    return stepping.write(tmp_path_factory.mktemp("again") / "steps.trace")[0]


def texts(view: Viewer, which: str) -> list[str]:
    found: list[str] = view.run(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText.trim())", which
    )
    return found


def cells(view: Viewer, table: str) -> list[list[str]]:
    """The words of each row of a table."""
    return [[cell.strip() for cell in row.split("\t")] for row in texts(view, f"{table} tbody tr")]


def choose(view: Viewer, menu: str, value: str) -> None:
    view.run(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))",
        menu, value,
    )  # fmt: skip
    view.settled()


def above(view: Viewer, time: float, y: float) -> bool:
    """True if the layer above the picture has the colour of a selection near a place."""
    data = view.run(
        "const c = document.getElementById('over'), s = c.width / c.clientWidth;"
        "return [...c.getContext('2d').getImageData(arguments[0] * s, (arguments[1] - 4) * s, 1, 9 * s).data]",
        view.x(time), y,
    )  # fmt: skip
    return any(tuple(data[at : at + 4]) == (*PICK, 255) for at in range(0, len(data), 4))


def open_finding(view: Viewer, words: str) -> None:
    (place,) = (n for n, text in enumerate(texts(view, "#findings-table tbody tr"), 1) if words in text)
    view.choose(f"#findings-table tbody tr:nth-child({place})")


def test_the_path_of_a_delay(page: Browser, address: str, slow_step: int) -> None:
    """A click on a finding draws a line in the guilty row while it is late, and from its end to each row that waits,
    along the wait. A link to the finding draws the path again; another selection ends it."""
    view = Viewer(page, address)
    open_finding(view, f"iteration {stepping.SLOW_STEP}")
    for shown in (view, Viewer(page, address + view.run("return location.hash"))):
        late, works = slow_step + 1500 * US, slow_step + 300 * US
        for rank in range(stepping.RANKS):
            assert (rank, above(shown, late, shown.row(rank, 0.75))) == (rank, True)
            assert (rank, above(shown, works, shown.row(rank, 0.75))) == (rank, False)
        end = slow_step + 3000 * US
        assert all(above(shown, end, shown.row(rank, 0.2)) for rank in (SLOW + 1, SLOW + 2))
        assert any(text == "late: 2.4 ms" for text, *_ in shown.texts())
    view.key("\ue00c")  # Escape
    assert not any(above(view, slow_step + 1500 * US, view.row(rank, 0.75)) for rank in range(stepping.RANKS))
    assert page.complaints() == []


def test_a_saved_page_has_them_too(page: Browser, address: str, slow_step: int, tmp_path: Path) -> None:
    """The path of the delay, the tree, stacks and colours."""
    view = Viewer(page, address)
    open_finding(view, f"iteration {stepping.SLOW_STEP}")
    choose(view, "colour", "work")
    begin, end = view.window
    words = {"from": begin, "to": end, "shift": "0,0", "state": view.run("return location.hash")}
    with urlopen(f"{address}data/1/save?{urlencode(words)}") as answer:
        (tmp_path / "page.html").write_bytes(answer.read())
    saved = Viewer(page, (tmp_path / "page.html").as_uri())
    assert all(above(saved, slow_step + 1500 * US, saved.row(rank, 0.75)) for rank in range(stepping.RANKS))
    assert MOST in saved.pixels(saved.row(SLOW, 0.4))
    saved.press("Tree")
    assert [row[0].lstrip("\u25be\n ") for row in cells(saved, "#tree")][:4] == [
        "main",
        "step",
        "MPI_Allreduce",
        "work",
    ]
    assert page.complaints() == []


def test_the_call_tree(page: Browser, address: str) -> None:
    """Each path with its calls and times, the heaviest one open; a button folds a path, a click searches its region."""
    view = Viewer(page, address + "#panel=tree")
    work = f"{600 * US * (stepping.RANKS * stepping.STEPS + 4) / 1e6:.4g} ms"
    rows = cells(view, "#tree")
    assert [row[0].lstrip("\u25be\n ") for row in rows] == ["main", "step", "work", "MPI_Allreduce", "write_results"]
    assert [row[1] for row in rows] == ["4", "80", "80", "80", "20"]
    assert rows[2][2:] == [work, work]
    assert rows[1][3] == "0 ns"
    view.choose("#tree tbody tr:nth-child(2) .fold")
    assert [row[0].lstrip("\u25be\u25b8\n ") for row in cells(view, "#tree")] == ["main", "step"]
    assert view.run("return document.activeElement.ariaExpanded") == "false"
    view.run("document.activeElement.click()")
    view.choose("#tree tbody tr:nth-child(3)")
    assert "find=work&exact=1" in view.state
    one = Viewer(page, address + f"#panel=tree&pick=0.{SLOW}")
    assert [row[1] for row in cells(one, "#tree")] == ["1", "20", "20", "20"]
    assert page.complaints() == []


def test_the_tree_of_deep_recursion(page: Browser, tmp_path: Path) -> None:
    """The first 100 levels are open, and a button opens the next one."""
    levels = 2000
    calls = [(level, "Enter", min(level, 1)) for level in range(levels)]
    ends = [(3 * levels - level, "Leave", min(level, 1)) for level in reversed(range(levels))]
    archives.simple(tmp_path / "deep.trace", {0: [*calls, *ends]}, length=3 * levels)
    with served(tmp_path, tmp_path / "deep") as (address, _):
        view = Viewer(page, address + "#panel=tree")
        assert len(cells(view, "#tree")) == 100
        view.choose("#tree tbody tr:nth-child(100) .fold")
        assert [row[1:3] for row in cells(view, "#tree")[99:]] == [["1", "5.802 us"], ["1", "5.8 us"]]
        assert page.complaints() == []


FLAME = (
    "const c = document.querySelector('#flame canvas'), s = c.width / c.clientWidth;"
    "return [0, 1, 2].map((depth) => [...c.getContext('2d').getImageData(s, (17 * depth + 2) * s, 1, 1).data].join())"
)


def test_the_colours_of_the_flame_graph(page: Browser, address: str) -> None:
    """They are those of classes, whatever colours the rows have."""
    found = []
    for colour in ("class", "region", "heat"):
        view = Viewer(page, f"{address}#panel=profile&colour={colour}")
        view.press("Flame")
        found.append(page.until(lambda view=view: shown if len({*(shown := view.run(FLAME))}) > 1 else None))
    assert found == [found[0]] * 3
    assert page.complaints() == []


def test_stacks_of_several_rows(page: Browser, address: str) -> None:
    """The pane has the stack of the selected row and those of picked rows, each with its name; a click on a call of one
    of them selects it. Names that are clicked with Shift are picked."""
    view = Viewer(page, address + "#row=0:l0&panel=profile")
    press = (
        "const c = document.getElementById('chart'), b = c.getBoundingClientRect();"
        "for (const kind of ['mousedown', 'mouseup']) c.dispatchEvent(new MouseEvent(kind,"
        " {clientX: b.left + 20, clientY: b.top + arguments[0], bubbles: true, shiftKey: true}));"
    )
    view.run(press, view.row(SLOW))
    view.settled()
    assert f"pick=0.{SLOW}&" in view.state
    bottom = view.run("return document.getElementById('chart').layout().bottom")
    assert [text for text, _, y, *_ in view.texts() if text.startswith("process") and y > bottom] == [
        "process 0", f"process {SLOW}",
    ]  # fmt: skip
    view.click(view.x(view.window[1] / 2), view.stack(2) + 52)
    facts = view.facts()
    assert facts["row"] == f"process {SLOW}"
    assert facts["region"] in ("work", "MPI_Allreduce")
    view.key("e")  # leaves the selected row
    assert "pick=" not in view.state
    assert page.complaints() == []


def test_colours_by_work(page: Browser, address: str) -> None:
    """The row that computes most of the window has the strongest colour, and the box at the mouse its share."""
    view = Viewer(page, address + "#panel=profile")
    choose(view, "colour", "work")
    seen = {rank: {*view.pixels(view.row(rank, 0.6))} & {MOST, LEAST} for rank in range(stepping.RANKS)}
    assert seen == {SLOW: {MOST}} | {rank: {LEAST} for rank in OTHERS}
    begin, end = view.window
    share = 100 * 600 * US * (stepping.STEPS + 4) / (end - begin)
    assert f"computes {share:.0f} % of the window" in view.tip(view.x((begin + end) / 2), view.row(SLOW))
    assert f" to {share:.0f} % of the window" in texts(view, "#status")[0]
    assert "computes most" in texts(view, "#legend")[0]
    assert "OpenMP" not in texts(view, "#legend")[0]
    choose(view, "colour", "wait")
    assert texts(view, "#legend")[0].startswith("calls that work")
    choose(view, "colour", "class")
    assert "OpenMP" in texts(view, "#legend")[0]
    assert page.complaints() == []


def test_the_distance_of_notes(page: Browser, address: str) -> None:
    """The panel has the time from each note to the one before it in time."""
    view = Viewer(page, address + "#panel=notes&note=0.5000000.l0.late|0.1000000.l1.first|0.3500000.l2.middle")
    assert [row[:4] for row in cells(view, "#notes-table")] == [
        ["late", "process 0", "5 ms", "1.5 ms"], ["first", "process 1", "1 ms", ""],
        ["middle", "process 2", "3.5 ms", "2.5 ms"],
    ]  # fmt: skip


def test_the_panel_of_counters(page: Browser, tmp_path: Path) -> None:
    """Each counter with its values in the window; a click shows one below the rows, again hides it."""
    trace = reader.read(unpack("scorep-io", tmp_path))
    events = [event for event in trace.of(0) if event.kind == "Metric"]
    times = [(event.time - trace.offset) * 10**9 // trace.resolution for event in events]
    with served(tmp_path, tmp_path / "scorep-io") as (address, _):
        for begin, end in ((0, times[-1] + 1), (times[len(times) // 3], times[len(times) // 2])):
            values = [
                event.attrs["values"][2] for event, time in zip(events, times, strict=True) if begin <= time < end
            ]
            view = Viewer(page, f"{address}#panel=counters&w={begin}-{end}")
            (row,) = (row for row in cells(view, "#counters") if row[0] == "ru_minflt")
            numbers = [float(cell.replace(",", "")) for cell in row[2:]]
            assert numbers[0] == pytest.approx(len(values), abs=1)
            assert numbers[1:] == pytest.approx(
                [min(values), sum(values) / len(values), max(values), sum(values)], rel=2e-3
            )
        view.choose("#counters tbody tr:nth-child(3)")
        assert "curve=ru_minflt" in view.state
        assert len(texts(view, "#counters tr[aria-current=true]")) == 1
        view.choose("#counters tbody tr:nth-child(3)")
        assert "curve" not in view.state
        assert page.complaints() == []


@pytest.mark.parametrize(("ranks", "most"), [(64, 1 / 6), (150, 1 / 6), (300, 0)])
def test_marks_of_a_search_leave_thin_rows_visible(page: Browser, tmp_path: Path, ranks: int, most: float) -> None:
    """After a click on a finding, too."""
    grid.write(tmp_path / "grid.trace", ranks, 3)
    with served(tmp_path, tmp_path / "grid") as (address, _):
        view = Viewer(page, address)
        open_finding(view, "takes longer")
        assert "find=stencil" in view.state
        bottom = view.run("return document.getElementById('chart').layout().bottom")
        marked = (view.picture(AXIS + 1, int(bottom) - AXIS - 2) == PICK).all(axis=2).mean()
        assert (marked > 0) == (most > 0)
        assert marked <= most
    assert view.width > NAMES


def test_a_stack_of_too_many_calls(page: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pane says why there is no stack."""
    stepping.write(tmp_path / "steps.trace")
    window = WindowReader.window
    monkeypatch.setattr(call_store, "LARGE", 0)
    monkeypatch.setattr(WindowReader, "window", lambda self, *where: window(self, *where, limit=10))
    quiet = Console("test", QUIET)
    server = Server(ViewerSite([lambda: command._shown(str(tmp_path / "steps"), command.WHOLE, quiet)]))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        view = Viewer(page, server.address + "#row=0:l0")
        assert "Too many calls for the stack: zoom in" in [text for text, *_ in view.texts()]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
