# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of users with the page of vtrace view in a real browser: each takes at most three actions."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.synthetic_runs import stepping, uneven
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import NAMES, Viewer

OUTLIER = (0xE0, 0, 0)


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


def steady(view: Viewer) -> list[tuple[float, float]]:
    """The places of marks of outliers, once they are drawn and stay: the pane of the selected row moves rows."""

    def stays() -> list[tuple[float, float]]:
        before = places(view, OUTLIER)
        view.settled()
        return before if before == places(view, OUTLIER) else []

    found: list[tuple[float, float]] = view.page.until(stays)
    return found


@pytest.mark.parametrize(("threads", "calls"), [(600, 40), (3, 400), pytest.param(100, 10_000, marks=pytest.mark.full)])
def test_an_outlier(page: Browser, tmp_path: Path, threads: int, calls: int) -> None:
    """The one long call among all calls has a mark far out, also in a row of a pixel: a click on the mark."""
    thread, begin, length = uneven.write(tmp_path / "uneven.trace", threads, calls)
    with served(tmp_path, tmp_path / "uneven") as (address, _):
        view = Viewer(page, address)
        found = steady(view)
        assert 4 <= len(found) <= 40
        x, y = (sum(place[n] for place in found) / len(found) for n in (0, 1))
        assert abs(x - NAMES - begin / length * (view.width - NAMES)) < 6
        view.click(x, y)  # 1: the mark
        facts = view.facts()
        assert facts["duration"] == "60 us (60,000 ns)"
        assert facts["row"].endswith(f"thread {thread}")
        assert view.actions == 1
        for below in range(3):  # on each line of the mark
            assert f"outlier: {facts['region']}, 60 us" in view.tip(x, min(place[1] for place in found) + below + 0.5)
        view.run("const s = document.getElementById('rare'); s.value = 'none'; s.dispatchEvent(new Event('change'))")
        view.settled()
        assert places(view, OUTLIER) == []
        assert page.complaints() == []


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("runs")
    stepping.write(where / "before.trace")
    stepping.write(where / "after.trace", 700)
    return where


def first_row(view: Viewer, table: str) -> list[str]:
    """The cells of the first row of a table of the panel."""
    found = view.page.until(
        lambda: view.run(
            "return [...document.querySelector(arguments[0] + ' tbody tr').cells].map((cell) => cell.innerText)", table
        )
    )
    return [str(cell) for cell in found]


def test_the_slowest_iteration(page: Browser, runs: Path, tmp_path: Path) -> None:
    """The first panel names it, and shows it at a click."""
    begin, end = stepping.write(tmp_path / "steps.trace")
    with served(tmp_path, tmp_path / "steps") as (address, _):
        view = Viewer(page, address)
        texts = view.page.until(
            lambda: view.run("return [...document.querySelectorAll('#findings tbody tr')].map((row) => row.innerText)")
        )
        (place,) = (n for n, text in enumerate(texts) if f"iteration {stepping.SLOW_STEP} of" in text)
        assert "process 1" in texts[place] or "rank 1" in texts[place]
        view.choose(f"#findings tbody tr:nth-child({place + 1})")  # 1
        assert view.window == (begin, end)
        assert view.actions == 1


def test_the_rank_that_does_the_io(page: Browser, runs: Path, tmp_path: Path) -> None:
    """The panel of ranks, sorted by the time of I/O."""
    with served(tmp_path, runs / "before") as (address, _):
        view = Viewer(page, address)
        view.press("Ranks")  # 1
        heads = view.run("return [...document.querySelectorAll('#ranks-table th')].map((head) => head.innerText)")
        place = [head.strip("\u25be\u25b4 ") for head in heads].index("I/O")
        view.choose(f"#ranks-table th:nth-child({place + 1}) button")  # 2
        row = first_row(view, "#ranks-table")
        assert (row[0], row[place]) == (f"process {stepping.WRITER}", "4 ms")
        assert view.actions <= 3


def test_what_differs(page: Browser, runs: Path, tmp_path: Path) -> None:
    """The first panel of two traces begins with the region whose time differs most; a click finds its calls in both."""
    with served(tmp_path, runs / "before", runs / "after") as (address, _):
        view = Viewer(page, address)
        row = first_row(view, "#compare")
        ns = stepping.US * (stepping.RANKS * stepping.STEPS + 4)  # of a us more for each step, one of them five times
        heads = view.run("return [...document.querySelectorAll('#compare th')].map((head) => head.innerText)")
        assert heads[2:] == ["before", "after", "before calls", "after calls"]
        assert row[0] == "work"
        assert row[1] == f"+{100 * ns / 1e6:.3g} ms"
        assert [cell.split()[0] for cell in row[2:]] == [f"{600 * ns / 1e6:.4g}", f"{700 * ns / 1e6:.4g}", "80", "80"]
        assert view.actions == 0
        view.choose("#compare tbody tr")
        assert view.page.until(lambda: view.panel().count("80 calls in the window")) == 2
        assert page.complaints() == []


SLOWEST = "select ts, dur from slice where name = 'step' order by dur desc limit 1"
WRITES = (
    "select thread.name, sum(dur) from slice join thread_track on track_id = thread_track.id join thread using (utid) "
    "where slice.name = 'write_results' group by utid order by 2 desc"
)


@pytest.mark.full
@pytest.mark.parametrize(
    ("query", "answer"), [(SLOWEST, "10670000 3020000"), (WRITES, f"thread {stepping.WRITER} 4000000")]
)
def test_the_same_tasks_in_perfetto(page: Browser, runs: Path, tmp_path: Path, query: str, answer: str) -> None:
    """Perfetto's page answers a query in SQL: the field, the query, Enter. docs/view.md compares the actions."""
    from selenium.webdriver.common.action_chains import ActionChains

    stepping.write(tmp_path / "steps.trace")
    with served(tmp_path, tmp_path / "steps", "--perfetto") as (address, _):
        page.open(address)
        page.driver.switch_to.frame("ui")
        page.until(lambda: "process 3" in page.text().splitlines())
        page.until(lambda: page.driver.find_element("css selector", "input[placeholder*=Search]"))
        hint = "return document.activeElement.placeholder || ''"
        # 1: a key; 2: the query, whose colon changes the field; 3: Enter
        for keys, ready in (("/", "Search"), (":", "select"), (query, "select"), ("\n", "")):
            ActionChains(page.driver).send_keys(keys).perform()
            page.until(lambda ready=ready: not ready or ready in page.run(hint))
        page.until(lambda: answer in " ".join(page.text().split()))
