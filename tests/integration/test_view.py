# SPDX-License-Identifier: BSD-3-Clause
"""vtrace view and vtrace report in a real browser: contents, clicks, and network requests."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.synthetic_runs import viewed
from support.synthetic_runs.viewed import served
from support.users.browser import Browser, browser

SCRIPT = viewed.NAMES[viewed.SCRIPT]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewed.write(tmp_path_factory.mktemp("archive") / "odd.trace").parent


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def report(archive: Path, page: Browser, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    where = tmp_path_factory.mktemp("report")
    done = vtrace(where, "report", archive)
    assert done.stdout.startswith("odd.html: ")
    assert (where / "odd.html").stat().st_size < 15e6
    page.asked(), page.complaints()
    page.open(where / "odd.html")
    page.until(lambda: page.run("return document.querySelectorAll('.js-plotly-plot').length") == 5)
    assert page.asked() <= {"file://", "data://"}
    assert page.complaints() == []
    return page


def test_view(archive: Path, page: Browser, tmp_path: Path) -> None:
    """The page has ranks, calls and communicators. A search finds a call, and for a receive also the send."""
    from selenium.webdriver.common.keys import Keys

    with served(tmp_path, archive, "--most", "1000") as (address, process):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
        page.asked()
        page.open(address)
        assert "odd" in page.text()
        page.driver.switch_to.frame("ui")
        page.until(lambda: {"process 0", "process 1", "Collective operations"} <= set(page.text().splitlines()))
        page.until(lambda: viewed.WORLD in page.text())
        assert page.text().index("process 0") < page.text().index("process 1")
        search = page.until(lambda: page.driver.find_element("css selector", "input[placeholder*=Search]"))
        search.send_keys(SCRIPT)
        page.until(lambda: " / 2\n" in page.text())
        search.send_keys("\n")
        page.until(lambda: {"odd & <file>.c", "line_numberarrow_drop_down"} <= set(page.text().splitlines()))
        assert SCRIPT in page.text()
        assert page.run("return window.hit") is None
        search.send_keys(Keys.CONTROL, "a")
        search.send_keys("MPI_Recv")
        page.until(lambda: " / 100\n" in page.text())
        search.send_keys("\n")
        page.until(lambda: "ing Flows" in page.text())  # the search goes through the begins of calls
        page.until(lambda: "MPI_Send" in page.text())
        page.driver.switch_to.default_content()
        assert page.asked() <= {"http://127.0.0.1", "data://", "blob://"}
        assert page.complaints() == []
        process.send_signal(signal.SIGINT)
        assert (process.wait(30), process.stdout and process.stdout.read()) == (0, "")
        assert process.stderr
        assert process.stderr.read().splitlines()[-1] == "vtrace: stopped"


def test_ssh_line(archive: Path, tmp_path: Path) -> None:
    """On a login node: vtrace prints the ssh command for the user's machine, and leaves no temporary files."""
    with served(tmp_path, archive) as (address, process):
        port = address.split(":")[2].split("/")[0]
        assert process.stderr
        assert "209 calls and 100 messages" in process.stderr.readline()
        assert f"ssh -L {port}:127.0.0.1:{port} " in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert list(tmp_path.iterdir()) == []


def test_report_names_are_text(report: Browser) -> None:
    assert report.run("return window.hit") is None
    cells = report.run("return [...document.querySelectorAll('#profile tbody td:first-child')].map(c => c.textContent)")
    assert set(cells) == set(viewed.NAMES.values())
    labels = report.run("return [...document.querySelectorAll('#flame .slicetext')].map(t => t.textContent)")
    assert any(label.startswith("<script>window") for label in labels), labels
    assert report.run("return document.querySelectorAll('#flame b, main img, nav script').length") == 0


def test_report_offers_no_way_out(report: Browser) -> None:
    """The report lacks Plotly's button that sends a chart to a server of Plotly."""
    titles = report.run("return [...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)")
    assert "Zoom in" in titles
    assert not [title for title in titles if "hare" in title or "loud" in title]


def test_report_tables_sort(report: Browser) -> None:
    """A click on a column head sorts the table, and so does the keyboard; the search hides other rows."""
    read = "return [...document.querySelectorAll('#profile tbody tr')].map(r => Number(r.cells[2].dataset.v))"
    head = report.driver.find_elements("css selector", "#profile th button")[2]
    report.run("arguments[0].scrollIntoView({block: 'center'})", head)
    head.click()
    assert report.run(read) == [100, 100, 3, 2, 2, 2]
    head.send_keys("\n")
    assert report.run(read) == [2, 2, 2, 3, 100, 100]
    find = report.driver.find_element("id", "find")
    find.send_keys("mpi_s")
    shown = "return [...document.querySelectorAll('#profile tbody tr:not([hidden])')].map(r => r.cells[0].textContent)"
    assert report.run(shown) == ["MPI_Send"]


def test_report_charts(report: Browser) -> None:
    """The charts have the numbers of the archive."""
    assert report.run("return document.getElementById('matrix-text').textContent").startswith("100 messages, 800 bytes")
    z = report.run("return document.getElementById('matrix').data[0].hovertext")
    assert z == [
        ["process 0 → process 0<br>0 bytes", "process 0 → process 1<br>800 bytes"],
        ["process 1 → process 0<br>0 bytes", "process 1 → process 1<br>0 bytes"],
    ]
    report.run(
        "const s = document.getElementById('matrix-what'); s.value = 'count'; s.dispatchEvent(new Event('change'))"
    )
    assert report.run("return document.getElementById('matrix').data[0].hovertext[0][1]").endswith("100 messages")
    bars = report.run("return document.getElementById('classes').data.map(t => [t.name, t.x])")
    assert [(name, [round(value, 9) for value in values]) for name, values in bars] == [
        ("user", [0.0007, 0.0006]), ("MPI", [0.0003, 0.0004]),
    ]  # fmt: skip


def test_report_topology(page: Browser, build: Builder, tmp_path: Path) -> None:
    """The chart has each rank at its place in the largest grid, with the times of the profile."""
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_grids.c"), tmp_path, ranks=4)
    unify(tmp_path, "mpi_grids")
    vtrace(tmp_path, "report", "mpi_grids")
    page.open(tmp_path / "mpi_grids.html")
    page.until(lambda: page.run("return document.getElementById('topology').data"))
    title = page.run("return document.getElementById('topology-text').textContent")
    assert title.startswith("plane: 2 \u00d7 2 processes; the largest has ")
    page.run(
        "const s = document.getElementById('topology-what'); [...s.options].forEach((o) => { o.selected = "
        "o.text.endsWith('MPI'); }); s.dispatchEvent(new Event('change'))"
    )
    z, text = (page.run(f"return document.getElementById('topology').data[0].{name}") for name in ("z", "hovertext"))
    words = ("profile", "mpi_grids", "--by", "rank", "--select", "class=MPI", "--json")
    rows = json.loads(vtrace(tmp_path, *words).stdout)["profile"]
    inside = [row["exclusive_ns"] / 1e9 for row in sorted(rows, key=lambda row: row["rank"])]
    assert [value for row in z for value in row] == pytest.approx(inside, abs=2e-9)
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    for rank, (x, y) in enumerate(places):
        assert text[x][y].startswith(f"MPI Rank {rank} at ({x}, {y})<br>")


def test_report_zooms_and_turns_dark(report: Browser) -> None:
    slices = report.driver.find_elements("css selector", "#flame .slice")
    before = len(slices)
    report.run("arguments[0].scrollIntoView({block: 'center'})", slices[-1])
    report.run("Plotly.restyle('flame', {level: document.getElementById('flame').data[0].ids[2]})")
    report.until(lambda: len(report.driver.find_elements("css selector", "#flame .slice")) < before)
    report.dark()
    report.until(lambda: report.run("return document.getElementById('classes').layout.font.color") == "#e6e6e6")
    assert report.run("return getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 28)"
    report.dark(False)
    assert report.complaints() == []
