# SPDX-License-Identifier: BSD-3-Clause
"""The ticks of iterations in the strip of vtrace view, in a real browser: their places, colours and words."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import vtrace
from support.build.run import vtrace as run_vtrace
from support.synthetic_runs import stepping
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import Viewer

TICK, SLOW = (0x20, 0x21, 0x24), (0xC0, 0x00, 0x60)
APART = 6
"""The least px between two ticks."""
LINE = "const c = document.getElementById('strip');return [...c.getContext('2d').getImageData(0, 3, c.width, 1).data]"


def ticks(view: Viewer) -> dict[int, bool]:
    """The x of each tick, and True for a slow one; without the borders of the window."""
    view.page.until(lambda: TICK in colours(view)[1:-1] or SLOW in colours(view))
    line = colours(view)
    return {x: line[x] == SLOW for x in range(1, len(line) - 1) if line[x] in (TICK, SLOW)}


def colours(view: Viewer) -> list[tuple[int, ...]]:
    data = view.run(LINE)
    return [tuple(data[at : at + 3]) for at in range(0, len(data), 4)]


def tip(view: Viewer, x: int) -> str:
    """The box at the mouse at an x of the strip."""
    view.run(
        "const c = document.getElementById('strip'), b = c.getBoundingClientRect();"
        "c.dispatchEvent(new MouseEvent('mousemove',"
        " {clientX: b.left + arguments[0], clientY: b.top + 3, bubbles: true}))", x,
    )  # fmt: skip
    view.settled()
    return str(view.run("const t = document.getElementById('tip'); return t.hidden ? '' : t.textContent"))


def places(archive: Path, wide: int) -> list[int]:
    """The x of each iteration as vtrace diagnose finds them."""
    trace = vtrace.open(archive)
    return [int(begin * wide / trace.duration) for begin in trace.iterations()["begin"].tolist()]


def test_each_iteration_has_a_tick(page: Browser, tmp_path: Path) -> None:
    """Also in a saved page; the box at the mouse tells its number and length, and leaves with the mouse."""
    stepping.write(tmp_path / "steps.trace")
    file = tmp_path / "page.html"
    run_vtrace(tmp_path, "view", "--save", file.name, "steps")
    with served(tmp_path, tmp_path / "steps") as (address, _):
        for where in (address, file.as_uri()):
            view = Viewer(page, where)
            every = places(tmp_path / "steps", view.run("return document.getElementById('strip').clientWidth"))
            found = ticks(view)
            assert [*found] == [x for x in every if x > 0]
            slow = every[stepping.SLOW_STEP]
            assert [x for x, is_slow in found.items() if is_slow] == [slow]
            assert tip(view, slow) == f"iteration {stepping.SLOW_STEP}: 3.02 ms, slow"
            assert tip(view, every[4] + 1) == "iteration 4: 820 us"
            assert tip(view, (every[4] + every[5]) // 2) == ""
    assert page.complaints() == []


def test_many_iterations_share_ticks(page: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks never touch, in a narrow strip either, and the slow iteration has one."""
    monkeypatch.setattr(stepping, "STEPS", 1000)
    stepping.write(tmp_path / "steps.trace")
    with served(tmp_path, tmp_path / "steps") as (address, _):
        view = Viewer(page, f"{address}#panel=profile")
        for size in (1400, 900):
            view.resize(size, 800)
            wide = view.run("return document.getElementById('strip').clientWidth")
            found = ticks(view)
            every = places(tmp_path / "steps", wide)
            assert set(found) <= set(every)
            assert all(after - before >= APART for before, after in pairwise(found))
            assert len(found) > 0.6 * wide / (APART + 1)
            assert every[stepping.SLOW_STEP] in [x for x, is_slow in found.items() if is_slow]
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        view.settled()  # the page asks for the ticks of its old size, while the server is there
    assert page.complaints() == []


def test_no_iterations_no_ticks(page: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepping, "STEPS", 2)
    stepping.write(tmp_path / "steps.trace")
    with served(tmp_path, tmp_path / "steps") as (address, _):
        view = Viewer(page, address)
        assert not {TICK, SLOW} & set(colours(view)[1:-1])
