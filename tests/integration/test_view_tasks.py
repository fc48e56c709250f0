# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of users with the page of vtrace view in a real browser: each takes at most three actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.synthetic_runs import uneven
from support.synthetic_runs.viewed import served
from support.users.browser import Browser, browser
from support.users.viewer import NAMES, Viewer

OUTLIER = (0xE0, 0, 0)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def places(view: Viewer, colour: tuple[int, int, int]) -> list[tuple[float, float]]:
    """The places of a colour in the chart, in CSS pixels."""
    found = view.run(
        "const c = document.getElementById('picture'), s = c.width / c.clientWidth, [r, g, b] = arguments[0];"
        "const {data} = c.getContext('2d').getImageData(0, 0, c.width, c.height), found = [];"
        "for (let n = 0; n < data.length; n += 4) if (data[n] === r && data[n + 1] === g && data[n + 2] === b)"
        "  found.push([(n / 4 % c.width) / s, Math.floor(n / 4 / c.width) / s]);"
        "return found;", colour,
    )  # fmt: skip
    return [(x, y) for x, y in found]


@pytest.mark.parametrize(("threads", "calls"), [(600, 40), (3, 400), pytest.param(100, 10_000, marks=pytest.mark.full)])
def test_an_outlier(page: Browser, tmp_path: Path, threads: int, calls: int) -> None:
    """The one long call among all calls has a mark far out, also in a row of a pixel: a click on the mark."""
    thread, begin, length = uneven.write(tmp_path / "uneven.trace", threads, calls)
    with served(tmp_path, tmp_path / "uneven") as (address, _):
        view = Viewer(page, address)
        page.until(lambda: places(view, OUTLIER))
        found = places(view, OUTLIER)
        assert 4 <= len(found) <= 40
        x, y = (sum(place[n] for place in found) / len(found) for n in (0, 1))
        assert abs(x - NAMES - begin / length * (view.width - NAMES)) < 6
        view.click(x, y)  # 1: the mark
        facts = view.facts()
        assert facts["duration"] == "60 us (60,000 ns)"
        assert facts["row"].endswith(f"thread {thread}")
        assert view.actions == 1
        view.run("const s = document.getElementById('rare'); s.value = 'none'; s.dispatchEvent(new Event('change'))")
        view.settled()
        assert places(view, OUTLIER) == []
        assert page.complaints() == []
