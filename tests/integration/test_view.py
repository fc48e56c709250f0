# SPDX-License-Identifier: BSD-3-Clause
"""vtrace view and vtrace report in a real browser: contents, clicks, and network requests."""

from __future__ import annotations

import json
import random
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles import slow
from support.readers import archive as reader
from support.recorded_archives import unpack
from support.synthetic_runs import viewed
from support.synthetic_runs.viewed import served
from support.users.browser import Browser, browser
from support.users.viewer import Viewer

SCRIPT = viewed.NAMES[viewed.SCRIPT]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return viewed.write(tmp_path_factory.mktemp("archive") / "odd.trace").parent


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser"), requests=True) as found:
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
    """The page shows the rows and asks no other server; vtrace view ends with Ctrl-C."""
    with served(tmp_path, archive) as (address, process):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
        page.asked(), page.complaints()
        viewer = Viewer(page, address)
        assert page.run("return document.title") == "odd - vtrace"
        assert viewer.window == (0, viewed.LENGTH)
        for panel in ("Profile", "Flame", "Messages", "Collectives", "Files", "Search", "Ranks", "Findings", "Call"):
            viewer.press(panel)
        assert page.asked() <= {"http://127.0.0.1", "data://"}
        assert page.complaints() == []
        assert page.run("return window.hit") is None
        process.send_signal(signal.SIGINT)
        assert (process.wait(30), process.stdout and process.stdout.read()) == (0, "")
        assert process.stderr
        assert process.stderr.read().splitlines()[-1] == "vtrace: stopped"


@pytest.fixture(scope="module")
def viewer(archive: Path, page: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Viewer]]:
    """Reloads the page at an address's fragment."""
    with served(tmp_path_factory.mktemp("served"), archive) as (address, _):
        yield lambda fragment="": Viewer(page, address + fragment)


def test_pixels(viewer: Callable[[str], Viewer], archive: Path) -> None:
    """Each pixel has the colour of the class of the call that is innermost there: blue for user, orange for MPI."""
    trace = reader.read(archive)
    every = slow.calls(trace)
    rng, checked = random.Random(3), 0
    begins = rng.sample(range(900_000), 4)
    view = viewer("")
    for first, last in [(0, 1_000_000), *((begin, begin + rng.choice((40, 900, 30_000))) for begin in begins)]:
        view.go(f"#w={first}-{last}&messages=0&collectives=0")
        begin, end = view.window
        step = (end - begin) / (view.width - 170)
        for rank in (0, 1):
            line = view.pixels(view.row(rank, 0.8))  # below the names of calls
            for at in range(2, len(line) - 2):
                low, high = begin + (at - 1) * step, begin + (at + 2) * step
                near = [c for c in every if c.location == rank and c.begin <= high and c.end >= low]
                around = [c for c in near if c.begin <= low and c.end >= high]
                inner = max(around, key=lambda c: len(c.path), default=None)
                if inner is None or any(len(c.path) > len(inner.path) for c in near):
                    continue  # a border of calls
                red, _, blue = line[at]
                assert (red > blue) == viewed.NAMES[inner.path[-1]].startswith("MPI"), (first, last, rank, at)
                checked += 1
    assert checked > 1000


def test_a_call(viewer: Callable[[str], Viewer]) -> None:
    """The facts of a call, and the ways from a receive to its send, to its caller, to the next call."""
    view = viewer("#w=100000-120000")
    view.click(view.x(106_500), view.row(1))  # rank 1's receive from 104 to 107 us
    facts = view.facts()
    assert facts["region"] == "MPI_Recv"
    assert facts["source"] == f"odd & <file>.c:{viewed.RECV}"
    assert facts["start"].replace("\u202f", "") == "0.000104000 s"
    assert facts["duration"] == "3 us (3,000 ns)"
    assert facts["call"] == "21 of 100 on this row"
    assert facts["received"] == "8 bytes in 1 message"
    assert "tag 20" in view.panel()
    view.key("m")
    assert (view.facts()["region"], view.facts()["row"]) == ("MPI_Send", "process 0")
    assert "call=0.0.105000.1" in view.state
    view.key("u")
    assert view.facts()["region"] == "main"
    assert view.run("return window.hit") is None


def test_the_stack_and_odd_names(viewer: Callable[[str], Viewer]) -> None:
    """A click into the stack of the selected row; a name with markup is text."""
    view = viewer("#w=780000-920000&row=0:l0")
    view.click(view.x(800_500), view.stack(1))
    assert view.facts()["region"] == SCRIPT
    view.press("all calls")
    assert "2 calls in the window" in view.panel() or "1 calls in the window" in view.panel()
    assert view.run("return document.querySelectorAll('#panel script, #panel img, #panel b').length") == 0
    assert view.run("return window.hit") is None


def test_back_undoes_a_zoom(viewer: Callable[[str], Viewer], page: Browser) -> None:
    """Zooms by keys, wheel, selection; the address restores the view, also in a second page."""
    view = viewer("#w=0-1000000")
    view.step()
    view.wheel(view.x(500_000), 60, -400, ctrl=True)
    first = view.window
    assert first[0] > 0
    assert abs(sum(first) / 2 - 500_000) < 50_000
    view.step()
    view.drag(view.x(first[0] + 1000), view.row(0), view.x(first[0] + 50_000), view.row(1))
    assert "sel=" in view.state
    view.step()
    view.key("\ue007")  # Enter
    assert view.window[1] - view.window[0] == pytest.approx(49_000, rel=0.05)
    state = view.state
    page.driver.back()
    view.settled()
    assert view.window == first
    page.driver.back()
    page.driver.back()
    view.settled()
    assert view.window == (0, viewed.LENGTH)
    other = viewer(state)
    assert other.state == state


def test_everything_by_keyboard(viewer: Callable[[str], Viewer]) -> None:
    view = viewer("#w=400000-600000")
    view.key("?")
    assert "zoom in" in view.run("return document.getElementById('keys').innerText")
    view.key("\ue00c")  # Escape
    before = view.window
    view.key("d", "w")
    assert view.window[0] > before[0]
    view.key("\ue015", "c")  # down: the second row; its call in the middle
    assert view.facts()["row"] == "process 1"
    view.key("l")
    assert view.facts()["region"] in viewed.NAMES.values()
    view.key("/")
    view.key(*"recv", "\ue007")
    assert "100 calls" in view.panel() or "calls in the window" in view.panel()
    view.key("t", "t", "t", "0", "p", "x")
    assert view.window == (0, viewed.LENGTH)


def test_tasks(viewer: Callable[[str], Viewer]) -> None:
    """Users find the usual things in at most three actions."""
    view = viewer("")
    view.search("Allreduce")  # 1: a collective operation
    view.run("document.querySelector('.longest button').click()")
    view.actions += 1  # 2: the longest of all, an outlier
    assert view.facts()["duration"].startswith("100 us")
    assert view.actions <= 3
    view = viewer("#w=100000-120000")
    view.click(view.x(104_500), view.row(1))  # 1: a receive that waits
    view.key("m")  # 2: the culprit
    assert view.facts()["row"] == "process 0"
    view = viewer("")
    view.press("Ranks")  # 1: the time of each process by class
    assert "MPI" in view.panel()


def test_two_archives(archive: Path, page: Browser, tmp_path: Path) -> None:
    """Two archives above each other, aligned at a call."""
    with served(tmp_path, archive, archive) as (address, _):
        view = Viewer(page, address)
        assert view.run("return document.querySelectorAll('#compare').length") == 1
        view.press("Profile")
        assert view.run("return document.querySelectorAll('#profile').length") == 2
        view.run("document.getElementById('align').open = true")
        fields = "return [...document.querySelectorAll('#align input')]"
        number, name = view.run(fields)
        name.send_keys("MPI_Allreduce")
        number.clear()
        number.send_keys("2")
        view.run("[...document.querySelectorAll('#align button')][0].click()")
        view.settled()
        assert "align=2*MPI_Allreduce" in view.state
        assert aligned(view, "nosuch") == "odd has no region nosuch, odd has no region nosuch"
        assert aligned(view, "main") == ", ".join(["odd has 2 calls of main"] * 2)
        assert page.complaints() == []


def aligned(view: Viewer, region: str) -> str:
    """The line about a region whose third call is looked for."""
    view.run(
        "const [number, name] = document.querySelectorAll('#align input'); number.value = 3; name.value = arguments[0];"
        "document.querySelector('#align button').click()", region,
    )  # fmt: skip
    view.settled()
    return str(view.run("return document.querySelector('#align output').innerText"))


def test_filters_without_meaning(archive: Path, page: Browser, tmp_path: Path) -> None:
    """The page refuses them with a hint, and asks the server for nothing. What an address has of a second archive is
    left out."""
    with served(tmp_path, archive) as (address, _):
        view = Viewer(page, address + "#panel=compare&row=1:l0&call=1.0.5.0")
        assert "MPI_Send" in view.panel()
        type_in = (
            "const field = document.querySelector(arguments[0]); field.closest('details').open = true;"
            "field.value = arguments[1]; field.dispatchEvent(new Event('change'))"
        )
        for field, text, hint in (
            ("[placeholder=tag]", "9" * 20, "the tag must be a number from 0 to 4294967295"),
            ("[placeholder=bytes]", "9" * 20, "bytes must be a whole number of at most 15 digits"),
            ("[placeholder=tag]", "7", ""),
        ):
            view.run(type_in, field, text)
            view.settled()
            assert view.run("return document.querySelector('details output').innerText") == hint
        assert "tag=7" in view.state
        assert page.complaints() == []


def test_samples(page: Browser, tmp_path: Path) -> None:
    """An archive of samples alone: marks in the row, the stacks below, and a sample at a click on either."""
    unpack("scorep-sampling", tmp_path)
    page.asked(), page.complaints()
    with served(tmp_path, tmp_path / "scorep-sampling") as (address, _):
        view = Viewer(page, address + "#panel=profile")
        assert "117 samples (timer)" in view.panel()
        marks = view.pixels(view.row(0))
        assert sum(blue > red + 40 for red, _, blue in marks) > 0.9 * len(marks)
        assert not any(blue > red + 40 for red, _, blue in view.pixels(view.row(0, 0.15)))
        view.click(view.x(13e6), view.row(0))
        facts = view.facts()
        assert (facts["function"], facts["source"]) == ("tiny", "examples/funcs.c:12")
        assert (facts["time"].replace("\u202f", ""), facts["taken by"]) == ("0.011615564 s", "timer")
        assert facts["weight"] == "4.00181 ms (4,001,812 ns), estimated"
        assert "main examples/funcs.c:15" in view.panel()
        view.press("next")
        assert view.facts()["function"] == "body"
        view.click(view.x(232e6), view.stack(2))
        assert (view.facts()["function"], "sample=0.0.231595071" in view.state) == ("tiny", True)
        view.run("document.querySelector('[data-state=samples]').click()")
        view.settled()
        assert not any(blue > red + 40 for red, _, blue in view.pixels(view.row(0)))
        view.press("Flame")
        assert "117 samples (timer)" in view.panel()
        assert page.complaints() == []


def test_export(viewer: Callable[[str], Viewer], page: Browser, tmp_path: Path) -> None:
    """SVG and PNG of the picture, and the command for the window."""
    view = viewer("#w=100000-200000")
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for kind in ("SVG", "PNG"):
        view.press(kind)
    page.until(lambda: {"odd.svg", "odd.png"} <= {path.name for path in tmp_path.iterdir()})
    text = (tmp_path / "odd.svg").read_text()
    ElementTree.fromstring(text)
    assert ">main</text>" in text
    assert ">odd: 100 us from 100 us of 1 ms</text>" in text
    assert {"user", "MPI", "no call"} <= {*re.findall(r">([^<]*)</text>", text)}
    assert ">I/O</text>" not in text
    assert text.count("<rect") > 40
    assert (tmp_path / "odd.png").read_bytes().startswith(b"\x89PNG")
    view.press("Command")
    assert "--from 100000ns --to 200000ns" in view.run("return document.querySelector('#command code').textContent")


def test_ranks(archive: Path, page: Browser, tmp_path: Path) -> None:
    """Of chosen ranks the command has its options, and a rank that is not chosen has its name as a receiver."""
    with served(tmp_path, "--ranks", "0", "--helpers", archive) as (address, _):
        view = Viewer(page, address)
        view.press("Messages")
        cells = view.run("return [...document.querySelectorAll('#matrix td')].map((one) => one.textContent)")
        assert cells == ["process 0", "process 1", "100", "800 bytes", "", ""]
        view.press("Command")
        text = view.run("return document.querySelector('#command code').textContent")
        assert re.fullmatch(r"vtrace view \S+odd\.trace/traces\.otf2 --ranks 0,helpers", text)
    page.complaints()


def test_a_server_that_has_ended(archive: Path, page: Browser, tmp_path: Path) -> None:
    """The page says that the server is gone, and keeps its picture."""
    with served(tmp_path, archive) as (address, process):
        view = Viewer(page, address)
        process.send_signal(signal.SIGINT)
        process.wait(30)
        view.key("w")
        page.until(lambda: "start vtrace view again" in page.text())
    page.complaints()


def test_perfetto(archive: Path, page: Browser, tmp_path: Path) -> None:
    """Perfetto's page has ranks, calls and communicators. A search finds a call, and for a receive also the send."""
    from selenium.webdriver.common.keys import Keys

    with served(tmp_path, archive, "--perfetto", "--most", "1000") as (address, _):
        page.asked(), page.complaints()
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
        page.until(lambda: "ing Flows" in page.text())  # the search goes through the starts of calls
        page.until(lambda: "MPI_Send" in page.text())
        page.driver.switch_to.default_content()
        assert page.asked() <= {"http://127.0.0.1", "data://", "blob://"}
        assert page.complaints() == []


def test_ssh_line(archive: Path, tmp_path: Path) -> None:
    """On a login node: vtrace prints the ssh command for the user's machine, and leaves no temporary files."""
    with served(tmp_path, archive) as (address, process):
        port = address.split(":")[2].split("/")[0]
        assert process.stderr
        assert "of 2 locations" in process.stderr.readline()
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


def test_report_ranks_and_threads(page: Browser, build: Builder, tmp_path: Path) -> None:
    """The charts of a sampled run have the times of the profile: by rank as bars, panel and at their places in the
    grid, by thread of a rank, and the functions of a thread; up to three appear below each other."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("sampled_grid.c", flags=("-g", "-O1", "-pthread"))
    mpi.run(program, tmp_path, "60", ranks=4, env={"VT_SAMPLE_RATE": "200"})
    unify(tmp_path, "sampled_grid")
    vtrace(tmp_path, "report", "sampled_grid")
    page.open(tmp_path / "sampled_grid.html")
    page.until(lambda: page.run("return document.getElementById('spread-chart-0').data"))

    def choose(**choices: str) -> None:
        for name, value in choices.items():
            page.run(
                "const s = document.getElementById(arguments[0]); [...s.options].forEach((o) => { o.selected = o.text "
                "=== arguments[1] || o.value === arguments[1]; }); s.dispatchEvent(new Event('change'))",
                f"spread-{name}",
                value,
            )

    def chart(number: int, name: str) -> list[Any]:
        found: list[Any] = page.run(f"return document.getElementById('spread-chart-{number}').data[0].{name}")
        return found

    def times(by: str, function: str) -> dict[str, float]:
        words = ("profile", "sampled_grid", "--by", by, "--select", f"region={function}", "--json")
        rows = json.loads(vtrace(tmp_path, *words).stdout)["profile"]
        return {row[by]: row["exclusive_ns"] / 1e9 for row in rows}

    choose(**{"0": "busy", "1": "quick"})
    ranks = [f"MPI Rank {rank}" for rank in range(4)]
    for number, function in enumerate(("busy", "quick")):
        expected = times("rank", function)
        assert chart(number, "x") == pytest.approx([expected.get(rank, 0) for rank in ranks], abs=1e-6)
    assert page.run("return document.getElementById('spread-chart-2').hidden")
    busy = times("rank", "busy")
    for rank, name in enumerate(ranks):  # within 5 standard errors of random distances around 5 ms
        assert abs(busy[name] - 0.06 * (rank + 2)) < 5 * (0.06 * (rank + 2) * 0.006) ** 0.5
    for shape, rows in (("panel", [ranks]), ("topology", [ranks[:2], ranks[2:]])):
        choose(shape=shape)
        assert chart(0, "z") == [pytest.approx([busy[rank] for rank in row], abs=1e-6) for row in rows]
    choose(view="rank", which="MPI Rank 3", shape="bars")
    threads = {name: ns for name, ns in times("thread", "busy").items() if name.startswith("MPI Rank 3")}
    assert len(threads) == 2
    assert sorted(chart(0, "x")) == pytest.approx(sorted(threads.values()), abs=1e-6)
    choose(view="thread", which=max(threads, key=lambda name: threads[name]))
    hover = dict(text.split("<br>") for text in chart(0, "hovertext"))
    assert {"busy", "quick"} <= set(hover)
    assert chart(0, "x")[chart(0, "hovertext").index(f"busy<br>{hover['busy']}")] == pytest.approx(
        max(threads.values())
    )


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
