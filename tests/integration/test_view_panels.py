# SPDX-License-Identifier: BSD-3-Clause
"""The panels of vtrace view in a real browser: findings, tables, matrix, iterations, notes, and use by keyboard."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import vtrace
from support.synthetic_runs import grid, stepping, viewed
from support.synthetic_runs.archives import Foreign
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.viewer import NAMES, Viewer
from vtrace.analysis.findings.finding import store_findings
from vtrace.analysis.questions.efficiencies import STARTING

PANELS = "Findings Call Profile Tree Flame Iterations Ranks Messages Collectives Files Search Notes".split()


@pytest.fixture(scope="module")
def slow_step(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """An archive with a slow iteration, and the iteration's begin and end."""
    where = tmp_path_factory.mktemp("steps") / "steps.trace"
    return where.parent / "steps", *stepping.write(where)


@pytest.fixture(scope="module")
def address(slow_step: tuple[Path, int, int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served"), slow_step[0]) as (found, _):
        yield found


@pytest.fixture
def steps(page: Browser, address: str) -> Iterator[Callable[..., Viewer]]:
    """Reloads the page at an address's fragment."""
    yield lambda fragment="": Viewer(page, address + fragment)
    assert page.complaints() == []


def texts(view: Viewer, which: str) -> list[str]:
    found: list[str] = view.run(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText.trim())", which
    )
    return found


def of_slow_step(view: Viewer) -> str:
    """The row of the finding about the slow iteration."""
    (place,) = (
        n
        for n, text in enumerate(texts(view, "#findings-table tbody tr"), 1)
        if f"iteration {stepping.SLOW_STEP}" in text
    )
    return f"#findings-table tbody tr:nth-child({place})"


def test_findings_come_first(steps: Callable[..., Viewer], slow_step: tuple[Path, int, int]) -> None:
    """One action leads to the cause: the guilty row, the worst occurrence, and the call that shows it. The list
    stays as it is when the window moves."""
    view = steps()
    assert texts(view, "[role=tab][aria-selected=true]") == ["Findings"]
    row = of_slow_step(view)
    assert "estimate" in texts(view, row)[0]
    view.choose(row)  # 1
    assert view.window == slow_step[1:]
    assert f"pick=0.{stepping.SLOW_RANK}" in view.state
    assert "panel=findings" in view.state
    facts = view.facts()
    assert (facts["region"], facts["row"]) == ("work", f"process {stepping.SLOW_RANK}")
    assert facts["duration"].startswith("3 ms")
    assert "vtrace view" in texts(view, row)[0]
    assert texts(view, "#picked")[0].startswith(f"rows: process {stepping.SLOW_RANK}")
    scroll = view.run("const p = document.getElementById('panel'); p.scrollTop = 40; return p.scrollTop")
    assert scroll > 0
    view.key("d", "s")
    assert view.window != slow_step[1:]
    assert view.facts()["region"] == "work"
    assert view.run("return document.getElementById('panel').scrollTop") == scroll
    view.press("Profile")
    assert "selected rows" in view.panel()
    view.key("\ue00c")  # Escape
    assert ("pick=" in view.state, texts(view, "#picked")) == (False, [""])


OPEN = "#findings-table tr[aria-current=true]"


def test_an_address_keeps_its_panel(steps: Callable[..., Viewer]) -> None:
    """A link to a finding shows the findings again with this one open, not the panel of its call; so does Back."""
    view = steps()
    view.choose(of_slow_step(view))
    assert "call=" in view.state
    opened, state = texts(view, OPEN), view.state
    assert [text.count("3 ms") > 0 for text in opened] == [True]
    link = steps(view.run("return location.hash"))
    assert texts(link, "[role=tab][aria-selected=true]") == ["Findings"]
    assert link.state == state
    assert texts(link, OPEN) == opened
    link.step()
    link.choose("#findings-table tbody tr:not([aria-current=true])")
    assert [text == opened[0] for text in texts(link, OPEN)] == [False]
    link.page.driver.back()
    link.settled()
    assert texts(link, OPEN) == opened
    link.press("Call")
    assert link.facts()["region"] == "work"
    link.press("Findings")
    link.step()
    link.click(link.x(sum(link.window) / 2), link.row(0))
    assert "panel=call" in link.state
    link.page.driver.back()
    link.settled()
    assert link.state == view.state
    assert texts(link, "[role=tab][aria-selected=true]") == ["Findings"]
    link.click(link.x(sum(link.window) / 2), link.row(0))
    assert "panel=call" in link.state


def quiet(where: Path) -> None:
    """Writes an archive with a call that is no loss."""
    archive = Foreign(where)
    archive.events(0, [(10, "Enter", 0), (1000, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=1, length=1010)
    archive.location(0, group=0)
    archive.region(0, "MPI_Init", 1, 4)
    archive.close()


@pytest.mark.parametrize("stored", [False, True])
def test_no_findings(page: Browser, tmp_path: Path, stored: bool) -> None:
    """The profile is the first panel of an archive without a loss, and Back knows nothing of the search for losses."""
    quiet(tmp_path / "quiet.trace")
    if stored:
        trace = vtrace.open(tmp_path / "quiet")
        store_findings(trace, trace.findings(), ["ranks share cores"])
    with served(tmp_path, tmp_path / "quiet") as (address, _):
        view = Viewer(page, address)
        assert texts(view, "[role=tab][aria-selected=true]") == ["Profile"]
        before = view.run("return history.length")
        view.step()
        view.press("Ranks")
        assert view.run("return history.length") == before + 1


def test_diagnosis_of_a_range(steps: Callable[..., Viewer], slow_step: tuple[Path, int, int]) -> None:
    """A selection says its length, its share of the window, and leads to its own findings."""
    _, begin, end = slow_step
    view = steps("#panel=profile")
    y = 24 + 10
    view.drag(view.x(begin), y, view.x(end), y + 90)
    assert texts(view, "#picked")[0].startswith("selected 3.0")
    assert "ms of the framed rows, " in texts(view, "#picked")[0]
    share = 100 * (end - begin) / (view.window[1] - view.window[0])
    assert abs(float(texts(view, "#picked")[0].split(", ")[1].split(" %")[0]) - share) < 1
    view.choose("#diagnose")
    assert texts(view, "[role=tab][aria-selected=true]") == ["Findings"]
    assert "selection: 3.0" in view.panel()
    view.choose("#run-findings")
    assert "the whole run" in view.panel()
    view.drag(view.x(begin), 10, view.x(end), 10)  # on the axis: all rows
    assert "framed" not in texts(view, "#picked")[0]
    assert texts(view, "#picked")[0].startswith("selected 3.0")


CUT = (
    "const box = document.getElementById('panel').getBoundingClientRect();"
    "return [...document.querySelectorAll('#panel td.number, #panel th, #panel caption button')].filter((cell) => {"
    " const own = cell.getBoundingClientRect();"
    " return own.right > box.right + 0.5 || own.left < box.left - 0.5 || cell.scrollWidth > cell.clientWidth + 1; })"
    ".map((cell) => cell.innerText);"
)
WRAPS = (
    "const lines = (which) => new Set([...document.querySelectorAll(which)].map((one) =>"
    " Math.round(one.getBoundingClientRect().top + one.getBoundingClientRect().bottom) >> 4)).size;"
    "const buttons = [...document.querySelectorAll('#tabs > *, #bar > button')];"
    "return [lines('#bar > *'), lines('#tabs > *'), buttons.filter((one) =>"
    " one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth).length];"
)


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900)])
def test_nothing_is_cut(page: Browser, steps: Callable[..., Viewer], size: tuple[int, int]) -> None:
    """The bar is one line, the tabs are two; no number of a table and no head is cut."""
    page.driver.set_window_size(*size)
    try:
        view = steps()
        assert view.run(WRAPS) == [1, 2, 0]
        for panel in PANELS:
            view.press(panel)
            assert (panel, view.run(CUT)) == (panel, [])
    finally:
        page.driver.set_window_size(1400, 900)


def test_two_runs_fit(page: Browser, slow_step: tuple[Path, int, int], tmp_path: Path) -> None:
    """Also in a small window; the table names archives of one name by their order."""
    page.driver.set_window_size(1250, 720)
    try:
        with served(tmp_path, slow_step[0], slow_step[0]) as (two, _):
            view = Viewer(page, two)
            assert view.run(WRAPS) == [1, 2, 0]
            assert texts(view, "#compare th")[2:] == ["first", "second", "first calls", "second calls"]
            assert view.run(CUT) == []
    finally:
        page.driver.set_window_size(1400, 900)


def test_a_table_leaves_the_page(page: Browser, steps: Callable[..., Viewer], tmp_path: Path) -> None:
    """Copied, with tabs between its cells, and saved as CSV: all rows in the order of the screen, with full numbers."""
    view = steps("#panel=profile")
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    view.choose("[aria-label='Copy the table profile']")
    page.until(lambda: "Copied" in view.panel())
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    view.choose("[aria-label='Save the table profile as CSV']")
    page.until(lambda: (tmp_path / "profile.csv").exists())
    saved = [*csv.reader((tmp_path / "profile.csv").open(newline=""))]
    assert [line.split("\t") for line in copied.splitlines()] == saved
    assert saved[0] == ["region", "calls", "exclusive (ns)", "%", "inclusive (ns)", "mean (ns)", "max (ns)"]
    assert saved[1][:3] == ["work", "80", str(stepping.US * 600 * (stepping.RANKS * stepping.STEPS + 4))]
    shown = [row.split("\t")[0].strip() for row in texts(view, "#profile tbody tr")]
    assert [row[0] for row in saved[1:]] == shown


def test_the_side_becomes_wider(page: Browser, steps: Callable[..., Viewer]) -> None:
    """By dragging its border and by the keyboard; a page that is loaded again has the width."""
    from selenium.webdriver.common.action_chains import ActionChains

    view, width = steps(), "return document.getElementById('side').clientWidth"
    before = view.run(width)
    border = page.driver.find_element("id", "border")
    ActionChains(page.driver).drag_and_drop_by_offset(border, -100, 0).perform()
    assert abs(view.run(width) - before - 100) < 10
    border.send_keys("\ue012")  # left
    wide = view.run(width)
    assert abs(wide - before - 140) < 10
    assert view.run("return document.getElementById('border').getAttribute('aria-valuenow')") == str(
        round(100 * wide / view.run("return innerWidth"))
    )
    page.driver.refresh()
    page.until(lambda: view.run("return document.body.dataset.ready"))
    assert view.run(width) == wide
    ActionChains(page.driver).double_click(page.driver.find_element("id", "border")).perform()
    assert view.run(width) == before


def test_the_matrix(page: Browser, tmp_path: Path) -> None:
    """Axes, metrics and a legend; a click on a cell picks both rows, and shows only their messages."""
    viewed.write(tmp_path / "odd.trace")
    with served(tmp_path, tmp_path / "odd") as (address, _):
        view = Viewer(page, address + "#panel=matrix")
        at = view.run(
            "const box = document.getElementById('matrix-plot').getBoundingClientRect(); return [box.left, box.top]"
        )
        said = []
        for metric in ("bytes", "count", "time", "rate"):
            view.run(
                "const s = document.getElementById('matrix-metric'); s.value = arguments[0];"
                "s.dispatchEvent(new Event('change'))", metric,
            )  # fmt: skip
            view.settled()
            view.run(POINT, "mousemove", at[0] + 300, at[1] + 60)
            said += texts(view, "#matrix .hint[role=status]")
        ends = [f"process 0 to process 1: {text}" for text in ("800 bytes", "100", "200 us", "4 MB/s")]
        assert said == ends
        view.run(POINT, "click", at[0] + 300, at[1] + 60)
        view.settled()
        assert "pick=0.0_0.1&between=1" in view.state
        assert texts(view, "#pairs tbody tr") == ["process 0\n\t\nprocess 1\n\t100\t800 bytes\t200 us\t4 MB/s"]
        assert "100 messages, 800 bytes" in texts(view, "#status")[0]
        again = Viewer(page, address + view.state)
        assert "100 messages" in texts(again, "#status")[0]
        alone = Viewer(page, address + "#panel=matrix&pick=0.1&between=1")
        assert "0 messages" in texts(alone, "#status")[0]
        assert page.complaints() == []


POINT = (
    "document.getElementById('matrix-plot').dispatchEvent(new MouseEvent(arguments[0],"
    " {clientX: arguments[1], clientY: arguments[2], bubbles: true}))"
)


def test_collectives_by_rank(steps: Callable[..., Viewer], page: Browser) -> None:
    """A line for each operation with a cell for each rank; a click on a cell picks the rank's row."""
    view = steps("#panel=collectives")
    assert (
        texts(view, "#collectives tbody tr")[0].split()
        == "0 Allreduce world 80 20 ms 250 us 640 bytes 640 bytes".split()
    )
    at = view.run(
        "const box = document.getElementById('operations-plot').getBoundingClientRect(); return [box.left, box.top]"
    )
    cell = at[0] + 62 + 340 * (stepping.SLOW_RANK + 0.5) / stepping.RANKS, at[1] + 50
    view.run(POINT.replace("matrix-plot", "operations-plot"), "mousemove", *cell)
    assert "Allreduce on world, process 1: 4.2 ms" in view.panel()
    view.run(POINT.replace("matrix-plot", "operations-plot"), "click", *cell)
    view.settled()
    assert f"pick=0.{stepping.SLOW_RANK}&" in view.state
    assert "between" not in view.state


def test_iterations(steps: Callable[..., Viewer], slow_step: tuple[Path, int, int]) -> None:
    """The slow iteration beside the median one; buttons and the keyboard zoom to one."""
    view = steps("#panel=iterations")
    assert f"{stepping.STEPS} iterations of step, median 820 us, 1 slow" in view.panel()
    view.press("slowest")
    begin, end = slow_step[1:]
    assert view.window[0] < begin < end < view.window[1]
    assert view.window[1] - view.window[0] < 2 * (end - begin)
    work = next(row.split("\t") for row in texts(view, "#beside-region tbody tr") if row.startswith("work"))
    assert [cell.strip() for cell in work] == ["work", "4.8 ms", "2.4 ms", "+2.4 ms"]
    view.press("median")
    assert view.window[1] - view.window[0] < 1300 * stepping.US
    first = view.window
    view.run("document.querySelector('.strip').focus()")
    view.key("\ue014")  # right
    assert view.window[0] > first[0]


def test_notes(page: Browser, steps: Callable[..., Viewer]) -> None:
    """A note at the mouse lies in the address, and a link shows it; what an address has wrong is left out."""
    view = steps("#panel=notes")
    assert "key n" in view.panel()
    view.mouse([("mousemove", NAMES + 300, view.row(1))])
    view.key("n")
    view.key(*"slow | here, <b>50.5 %</b>", "\ue007")
    (row,) = texts(view, "#notes-table tbody tr")
    assert row.startswith("slow | here, <b>50.5 %</b>")
    assert "process 1" in row
    assert "n" in view.state
    assert "note=0." in view.run("return location.hash")
    other = steps(view.run("return location.hash"))
    assert texts(other, "#notes-table tbody tr") == [row]
    assert other.run("return location.hash") == view.run("return location.hash")
    other.choose("#notes-table button[aria-label^=Remove]")
    assert "note=" not in other.state
    wrong = steps("#panel=notes&note=0.1.l0.%25E0%25A4%7C9.9.x.y%7Cnonsense%7C0.5.l1.good&pick=x_0.1_7.7")
    assert texts(wrong, "#notes-table .sentence") == ["good"]
    assert "pick=0.1&" in wrong.state


def test_a_note_at_a_thin_row(page: Browser, tmp_path: Path) -> None:
    """Its words are above the row, below that at the top, where the frame of a selected call does not cross them."""
    grid.write(tmp_path / "grid.trace", 64, 3)
    for row in (0, 40):
        with served(tmp_path, tmp_path / "grid") as (address, _):
            view = Viewer(page, f"{address}#note=0.3000000.l{row}.late")
        assert view.row(1) - view.row(0) < 12
        (high,) = (y + h / 2 for text, _, y, _, h in view.texts() if text == "late")
        assert (high < view.row(row, 0)) == bool(row)
        assert not view.row(row, 0) < high < view.row(row, 1)


def test_limits_of_the_numbers(page: Browser, tmp_path: Path) -> None:
    """What the terminal says first stands above the chart once, and a button closes it. The page has no efficiencies,
    so no limit of theirs."""
    stepping.write(tmp_path / "one.trace")
    trace = vtrace.open(tmp_path / "one")
    line, of_efficiencies = "4 ranks shared 2 cores on h", f"{STARTING} 50% of the time"
    limits = (line, of_efficiencies)
    store_findings(trace, [replace(one, caveats=limits) for one in trace.findings()], [*limits])
    with served(tmp_path, tmp_path / "one") as (address, _):
        view = Viewer(page, address)
        assert texts(view, "#caveats li") == [line]
        assert [each in view.panel() for each in limits] == [False, False]
        high = view.run("return document.getElementById('chart').clientHeight")
        view.choose("#caveats button")
        assert view.run("return document.getElementById('chart').clientHeight") > high
        view.press("Profile")
        view.press("Findings")
        assert view.run("return getComputedStyle(document.getElementById('caveats')).display") == "none"


CONTROLS = (
    "const labels = (one) => [...(one.labels ?? [])].map((label) => label.textContent).join(' ');"
    "const name = (one) => one.getAttribute('aria-label') || labels(one) || one.innerText || one.title || '';"
    "const all = [...document.querySelectorAll('button, input, select, summary, a, [tabindex], dialog')];"
    "return all.filter((one) => !name(one).trim() && !one.hasAttribute('aria-labelledby') && one.tagName !== 'TR')"
    "  .map((one) => one.outerHTML.slice(0, 120));"
)


def test_names_and_roles(steps: Callable[..., Viewer]) -> None:
    """Each control of each panel has a name; tabs are a tab list of which one is in the order of focus."""
    view = steps()
    for panel in PANELS:
        view.press(panel)
        assert (panel, view.run(CONTROLS)) == (panel, [])
        tab = "#" + str(view.run("return document.querySelector('[role=tab][aria-selected=true]').id"))
        assert texts(view, tab) == [panel]
        assert (
            view.run("return [...document.querySelectorAll('[role=tab]')].filter((t) => t.tabIndex === 0).length") == 1
        )
        assert view.run("return '#' + document.getElementById('panel').getAttribute('aria-labelledby')") == tab
        assert view.run("return document.querySelector(arguments[0]).getAttribute('aria-controls')", tab) == "panel"


def test_tabs_and_rows_by_keyboard(steps: Callable[..., Viewer]) -> None:
    """Arrow keys move along the tabs and leave the chart alone; Enter presses a row of a table once; focus is seen."""
    view = steps("#panel=profile&row=0:l0")
    view.run("document.getElementById('tab-profile').focus()")
    view.key("\ue014")  # right
    assert texts(view, "[role=tab][aria-selected=true]") == ["Tree"]
    assert view.run("return document.activeElement.id") == "tab-tree"
    assert view.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    view.key("\ue012", "\ue010")  # left, End
    assert view.run("return document.activeElement.id") == "tab-notes"
    view.run("document.getElementById('tab-profile').click()")
    view.settled()
    before = view.window
    view.run("document.querySelector('#profile tbody tr').focus()")
    view.key("\ue007")  # Enter
    assert texts(view, "[role=tab][aria-selected=true]") == ["Search"]
    assert view.window == before
