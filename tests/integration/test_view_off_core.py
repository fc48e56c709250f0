# SPDX-License-Identifier: BSD-3-Clause
"""Times off the processor on the page of vtrace view, in a real browser: the edge below rows, its words, its toggle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import vtrace
from support.build.builder import Builder
from support.build.run import unify
from support.synthetic_runs.viewed import served
from support.tools import DEFAULTS, call
from support.users.browser import browser
from support.users.page_site import Asked
from support.users.viewer import AXIS, Viewer
from vtrace.analysis.processor_waits import BlockedTimes

BLOCKED = (0x5B, 0x7F, 0xB0)
"""As in page/draw/processor_layer.js."""


def recorded(build: Builder, where: Path) -> Path:
    program = str(build("asleep.c", compiler="gcc", flags=("-g",)))
    call([program], where, {"VT_FILE_PREFIX": "a"} | DEFAULTS)
    unify(where, "a")
    return where / "a"


def said(view: Viewer, x: float, y: float) -> str:
    """The words of the page about the place of the mouse."""
    view.mouse([("mousemove", x, y)])
    return str(view.run("return [...document.querySelectorAll('#status, #tip')].map((one) => one.innerText).join(' ')"))


def edges(view: Viewer, x: int) -> list[int]:
    """The y of the chart with the colour of sleep at an x."""
    data = view.run(
        "const c = document.getElementById('picture'), s = c.width / c.clientWidth;"
        "return [...c.getContext('2d').getImageData(arguments[0] * s, 0, 1, c.height).data]", x,
    )  # fmt: skip
    return [y for y in range(AXIS, len(data) // 4) if tuple(data[4 * y : 4 * y + 3]) == BLOCKED]


def test_sleep_in_the_rows(build: Builder, tmp_path: Path) -> None:
    """Long sleep of a thread has an edge below its row, and words with the call; without the toggle there are none."""
    blocked = BlockedTimes(vtrace.open(recorded(build, tmp_path)))
    calls = [at for at, site in enumerate(blocked.sites) if site and blocked.ns[at] > 25e6]
    at = max(calls, key=lambda at: blocked.ns[at] / (blocked.end[at] - blocked.begin[at]))
    with browser(tmp_path) as page, served(tmp_path, tmp_path / "a") as (address, _):
        view = Viewer(page, address)
        x = round(view.x((blocked.begin[at] + blocked.end[at]) / 2))
        found = edges(view, x)
        assert found
        texts = [said(view, x, y - 4) for y in found]
        assert any("blocked 30" in text and "nanosleep, called by rest (asleep.c:" in text for text in texts), texts
        assert "edge: blocked" in view.run("return document.getElementById('legend').innerText")
        view.run("document.querySelector('[data-state=processor]').click()")
        view.settled()
        assert "processor=0" in view.state
        assert edges(view, x) == []
        assert page.complaints() == []


def test_shares_are_those_of_the_table(build: Builder, tmp_path: Path) -> None:
    """The shares of bins add up to the sleep of each row, in the whole run and in a part; a row of several threads has
    their mean."""
    where = recorded(build, tmp_path)
    trace = vtrace.open(where)
    blocked, every = BlockedTimes(trace), np.ones(trace.regions.rows + 1, bool)
    asked = Asked(where)
    for begin, end, bins in ((0, trace.duration, 300), (trace.duration // 3, trace.duration // 2, 50)):
        words: dict[str, Any] = {"from": begin, "to": end, "bins": bins}
        table = asked.table("processor", rows="l0,l1,l2,p0", **words)
        shares = np.array(table.columns["blocked"], float).reshape(4, bins)
        expected = blocked.by_location(begin, end, regions=every) / (end - begin) * 255
        assert np.abs(shares[:3].mean(axis=1) - expected).max() < 1.01
        assert np.abs(shares[3] - shares[:3].mean(axis=0)).max() < 1.01
        inside = (blocked.begin < end) & (blocked.end > begin)
        assert table.columns["kind"].count(1) == np.count_nonzero(inside)
        calls = ("nanosleep, called by rest", "futex until a time, called by wait_for_nobody")
        named = sum(table.notes["texts"][text].startswith(calls) for text in table.columns["text"])
        assert named == sum(bool(blocked.sites[at]) for at in np.flatnonzero(inside))
