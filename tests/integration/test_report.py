# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report printed on paper, and for many locations."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.synthetic_runs import viewed
from support.synthetic_runs.archives import Foreign
from support.tools import call, need
from support.users.browser import Browser, browser


def test_on_paper(tmp_path: Path) -> None:
    """The printed page has all sections, light colours also in dark mode, and nothing outside of the page."""
    vtrace(tmp_path, "report", viewed.write(tmp_path / "odd.trace").parent)
    with browser(tmp_path / "browser") as page:
        page.dark()
        page.open(tmp_path / "odd.html")
        page.until(lambda: page.run("return document.querySelectorAll('.js-plotly-plot').length") == 5)
        titles = page.run("return [...document.querySelectorAll('section:not([hidden]) h2')].map(h => h.textContent)")
        pdf = tmp_path / "odd.pdf"
        pdf.write_bytes(base64.b64decode(page.driver.print_page()))
    text = call([need("pdftotext"), "-layout", pdf, "-"], tmp_path).stdout
    assert len(titles) >= 6
    assert titles[:2] == ["Timeline", "Time by class and rank"]  # pictures, then tables
    assert titles.index("Messages") < titles.index("Overview") < titles.index("Profile")
    for title in titles:
        assert re.search(rf"^\s*{title}\s*$", text, re.MULTILINE), title
    for word in (viewed.NAMES[viewed.SCRIPT], "MPI_Recv", "process 0", "seconds", "Allreduce"):
        assert word in re.sub(r"\s*\n\s*", "", text) or word in text
    assert "Find" not in text
    boxes = call([need("pdftotext"), "-bbox", pdf, "-"], tmp_path).stdout
    width = float(re.search(r'<page width="([\d.]+)"', boxes)[1])  # type: ignore[index]
    assert max(float(right) for right in re.findall(r'xMax="([\d.]+)"', boxes)) < width - 30


RANKS, ROWS = 600, 256


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The data of the charts in a report on many ranks."""
    where = tmp_path_factory.mktemp("many")
    archive = Foreign(where / "many.trace")
    for rank in range(RANKS):
        archive.events(rank, [(0, "Enter", 0), (100, "Enter", 1), (100 + rank, "Leave", 1), (1000, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=RANKS, length=1000)
    for rank in range(RANKS):
        archive.location(rank, rank)
    archive.region(0, "main")
    archive.region(1, "MPI_Wait", paradigm=4)
    archive.close()
    vtrace(where, "report", "many")
    assert (where / "many.html").stat().st_size < 15e6
    text = (where / "many.html").read_text()
    found: dict[str, Any] = json.loads(re.search(r"<script type=.application/json. id=data>(.*?)</script>", text)[1])  # type: ignore[index]
    return found


def test_many_locations_share_rows(many: dict[str, Any]) -> None:
    """Neighbouring locations share a row with a name for all of them; the sum of the times stays."""
    line = many["timeline"]
    assert (len(line["rows"]), line["locations"]) == (ROWS, RANKS)
    first = [rank for rank in range(RANKS) if rank * ROWS // RANKS == 0]
    assert line["rows"][0] == f"process 0 to process {first[-1]}"
    assert line["rows"][-1].endswith(f"process {RANKS - 1}")
    mpi = many["classes"].index("MPI")
    assert sum(row[mpi] for row in line["seconds"]) == pytest.approx(sum(range(RANKS)) / 1e9, rel=1e-3)
    assert line["seconds"][0][mpi] == pytest.approx(sum(first) / 1e9, abs=2e-9)


def assert_parts(page: Any, where: Path, name: str) -> None:
    """The charts of time in MPI and in barriers add up to these times in the profile."""
    profile = {row["function"]: row for row in json.loads(vtrace(where, "profile", name, "--json").stdout)["profile"]}
    measures = page.run("return [...document.getElementById('spread-measure').options].map((o) => o.value)")
    assert measures == ["own", "mpi", "barrier"]
    for measure in ("mpi", "barrier", "own"):
        function = next(n for n, row in profile.items() if row["source"] == "samples" and row.get(f"{measure}_ns", 1))
        page.run(
            "const [measure, name] = arguments, choose = (id, at) => { const s = document.getElementById(id); "
            "s.value = at; s.dispatchEvent(new Event('change')); }; choose('spread-measure', measure); "
            "choose('spread-0', [...document.getElementById('spread-0').options].find((o) => o.text === name).value);",
            measure,
            function,
        )
        values = page.run("return document.getElementById('spread-chart-0').data[0].x")
        key = "exclusive_ns" if measure == "own" else f"{measure}_ns"
        assert sum(values) == pytest.approx(profile[function][key] / 1e9, abs=1e-5)
    page.run("const s = document.getElementById('spread-0'); s.selectedIndex = 0; s.dispatchEvent(new Event('change'))")


def assert_thread(page: Any, where: Path, name: str) -> None:
    """The view of a thread of the second run has its functions, as the profile. The thread is the one with most
    samples of busy: on a loaded machine a thread may have none, and then no chart."""
    words = ("profile", name, "--by", "thread", "--select", "region=busy", "--json")
    rows = {row["thread"]: row["exclusive_ns"] / 1e9 for row in json.loads(vtrace(where, *words).stdout)["profile"]}
    thread = max(rows, key=lambda row: rows[row])
    page.run(
        "const choose = (id, at) => { const s = document.getElementById(id); s.value = at; "
        "s.dispatchEvent(new Event('change')); }; choose('spread-view', 'thread'); choose('spread-run-0', 1); "
        "choose('spread-which', [...document.getElementById('spread-which').options]"
        ".find((o) => o.text === arguments[0]).value);",
        thread,
    )
    title, times = page.run(
        "const c = document.getElementById('spread-chart-0'); return [c.layout.title.text, c.data[0].x]"
    )
    assert title == f"functions of {thread}, {name}"
    assert max(times) == pytest.approx(rows[thread], abs=1e-6)


def assert_differences(page: Browser, functions: dict[str, Any], where: Path) -> None:
    """The report begins with the differences of the runs, by rank and by function; the findings of the first run
    follow."""
    titles = page.run("return [...document.querySelectorAll('section:not([hidden]) h2')].map(h => h.textContent)")
    assert titles[:4] == ["Comparison", "Findings of the first run", "Timeline", "Time by class and rank"]
    assert "header" not in page.run(
        "return [...document.querySelectorAll('.findings')].map(f => f.parentElement.localName)"
    )
    function, first, other = page.run(
        "return [...document.querySelector('#runs-table tbody tr').cells].filter((_, i) => i !== 3 && i !== 4)"
        ".map((cell) => cell.dataset.v ? Number(cell.dataset.v) : cell.textContent)"
    )[:3]
    more = {name: (row["exclusive_ns_2"] or 0) - (row["exclusive_ns_1"] or 0) for name, row in functions.items()}
    assert function == max(more, key=lambda name: abs(more[name]))
    assert (first, other) == pytest.approx((more[function], functions[function]["exclusive_ns_1"]), rel=1e-8)
    drawn = page.run("const {x} = document.getElementById('runs-functions').data[0]; return x")
    assert drawn[0] == pytest.approx(more[function] / 1e9)
    ranks = page.run("return document.getElementById('runs-ranks').layout.yaxis.ticktext")
    assert ranks == [f"MPI Rank {rank}, {thread}" for rank in range(4) for thread in ("Master thread", "Thread 1")]
    for trace in page.run("return document.getElementById('runs-ranks').data.map((one) => [one.name, one.x])"):
        if trace[0] == "MPI":
            times = [mpi_times(where, name) for name in ("short", "long")]
            by_rank = [sum(trace[1][at : at + 2]) for at in range(0, 8, 2)]
            assert by_rank == pytest.approx([b - a for a, b in zip(*times, strict=True)], abs=1e-6)


def mpi_times(where: Path, name: str) -> list[float]:
    """The seconds of each rank in MPI."""
    found = [0.0] * 4
    for row in json.loads(vtrace(where, "profile", name, "--by", "rank", "--select", "class=MPI", "--json").stdout)[
        "profile"
    ]:
        found[int(row["rank"].split()[-1])] += row["exclusive_ns"] / 1e9
    return found


def test_report_compares_runs(build: Builder, tmp_path: Path) -> None:
    """A report of two runs has the times of both as the comparison of the profile, and a function's time by rank of
    both runs under each other on one scale, with bars and at their places in the grid."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("sampled_grid.c", flags=("-g", "-O1", "-pthread"))
    for name, work in (("short", "20"), ("long", "40")):
        settings = {"VT_SAMPLE_RATE": "200", "VT_PTHREAD": "locks", "VT_FILE_PREFIX": name}
        mpi.run(program, tmp_path, work, ranks=4, env=settings)
        unify(tmp_path, name)
    vtrace(tmp_path, "report", "short", "long", "-o", "runs.html")
    with browser(tmp_path / "browser") as page:
        page.open(tmp_path / "runs.html")
        page.until(lambda: page.run("return document.getElementById('spread-chart-1').data"))
        rows = json.loads(vtrace(tmp_path, "profile", "short", "long", "--json").stdout)["comparison"]
        expected = {row["function"]: row for row in rows}
        bars = page.run("return document.getElementById('runs-chart').data.map((t) => [t.name, t.x])")
        names = page.run("return document.getElementById('runs-chart').layout.yaxis.ticktext")
        assert [name for name, _ in bars] == ["short", "long"]
        assert {"busy", "MPI_Init"} <= set(names)
        for number, (_, values) in enumerate(bars, 1):
            times = [expected[name][f"exclusive_ns_{number}"] for name in names]
            assert values == pytest.approx([ns and ns / 1e9 for ns in times])
        assert_differences(page, expected, tmp_path)
        rows_shown = page.run("return document.querySelectorAll('#runs-table tbody tr').length")
        assert rows_shown == len(rows)

        def chart(number: int, name: str) -> Any:
            return page.run(f"return document.getElementById('spread-chart-{number}').{name}")

        function = page.run("return document.getElementById('spread-1').selectedOptions[0].text")
        for number, name in enumerate(("short", "long")):
            words = ("profile", name, "--by", "rank", "--select", f"region={function}", "--json")
            ranks = {
                row["rank"]: row["exclusive_ns"] / 1e9 for row in json.loads(vtrace(tmp_path, *words).stdout)["profile"]
            }
            values = [ranks.get(f"MPI Rank {rank}", 0) for rank in range(4)]
            assert chart(number, "data[0].x") == pytest.approx(values, abs=1e-6)
            assert f"{function}, {name}: " in chart(number, "layout.title.text")
        assert chart(0, "layout.xaxis.range") == chart(1, "layout.xaxis.range")
        assert chart(2, "hidden")
        assert_parts(page, tmp_path, "short")
        page.run(
            "const s = document.getElementById('spread-shape'); s.value = 'topology'; "
            "s.dispatchEvent(new Event('change'))"
        )
        assert [cell for row in chart(1, "data[0].z") for cell in row] == pytest.approx(values, abs=1e-6)
        assert chart(0, "data[0].zmax") == chart(1, "data[0].zmax") == pytest.approx(max(values), abs=1e-6)
        assert_thread(page, tmp_path, "long")


def test_report_threads_without_samples(build: Builder, tmp_path: Path) -> None:
    """The charts have the time in MPI and in barriers of threads that no sample fell into."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("sampled_grid.c", flags=("-g", "-O1", "-pthread"))
    settings = {"VT_SAMPLE_RATE": "20", "VT_PTHREAD": "locks", "VT_FILE_PREFIX": "seldom"}
    mpi.run(program, tmp_path, "20", ranks=4, env=settings)
    unify(tmp_path, "seldom")
    vtrace(tmp_path, "report", "seldom")
    with browser(tmp_path / "browser") as page:
        page.open(tmp_path / "seldom.html")
        page.until(lambda: page.run("return document.getElementById('spread-chart-0').data"))
        assert_parts(page, tmp_path, "seldom")


def test_report_lists_of_samples(build: Builder, tmp_path: Path) -> None:
    """CPU times with their spread over threads, the source files, and the callers of functions, searched."""
    program = build("called_twice.c", flags=("-g", "-O1", "-pthread"), plain=True)
    vtrace(tmp_path, "run", "--unify", "--sample=1000", program)
    vtrace(tmp_path, "report", "called_twice")
    cells = (
        "return [...document.querySelectorAll('#%s tbody tr:not([hidden])')].map(r => "
        "[...r.cells].map(c => c.dataset.v || c.textContent))"
    )
    with browser(tmp_path / "browser") as page:
        page.open(tmp_path / "called_twice.html")
        times = {row[0]: [float(cell) / 1e9 for cell in row[1:]] for row in page.run(cells % "times")}
        source, *_ = page.run(cells % "sources")  # the file with most samples; libc's may have one
        pairs = {(row[0], row[1]): float(row[3]) / 1e9 for row in page.run(cells % "callers")}
        page.driver.find_element("css selector", "[data-finds=callers]").send_keys("two")
        found = {tuple(row[:2]) for row in page.run(cells % "callers")}
    assert found == {("main", "two"), ("two", "leaf")}
    assert source[0].endswith("called_twice.c")
    assert pairs["one", "leaf"] + pairs["two", "leaf"] == pytest.approx(pairs["", "main"] + pairs["", "work"], rel=0.05)
    application, process = times.pop("application"), *times.values()
    assert len(times) == 1
    assert application[4] == process[4] == pytest.approx(2 * process[5]) == pytest.approx(process[6] + process[7])
    assert process[0] == process[3] > process[2]


def test_report_sections(build: Builder, tmp_path: Path) -> None:
    """The sections of the page are those of the profile: times, functions of MPI, counters."""
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build("sections_mpi.c", flags=("-vt:inst", "manual", "-DVTRACE", "-pthread"))
    mpi.run(program, tmp_path, ranks=2, env={"VT_METRICS": "page-faults", "VT_FILE_PREFIX": "parts"})
    unify(tmp_path, "parts")
    vtrace(tmp_path, "report", "parts")
    page = (tmp_path / "parts.html").read_text()

    def shown(name: str) -> list[list[str]]:
        body = re.search(rf"<table class=sortable id={name}>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
        assert body, name
        return [re.split(r"<td[^>]*>", row)[1:] for row in body[1].split("<tr>")[1:]]

    told = json.loads(vtrace(tmp_path, "profile", "parts", "--by", "section", "--json").stdout)
    rows = {(row["process"], row["section"]): row for row in told["sections_by_process"]}
    times = {(row[0], row[-1]): row for row in shown("sections-by-process")}
    assert times.keys() == rows.keys()
    for key, row in rows.items():
        assert float(times[key][1]) == pytest.approx(row["elapsed_ns"] / 1e9, abs=1e-6)
        assert int(times[key][4]) == row["calls"]
    calls = {(row[-2], row[-1]): row for row in shown("section-mpi-by-process") if row[0].startswith("MPI Rank 0")}
    assert int(calls["MPI_Allreduce", "over/1"][3]) == 3
    assert {row[-1] for row in shown("section-counters")} >= {"once/1", "team/1"}


def test_report_of_four_runs(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "report", *["short"] * 4, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "up to 3" in done.stderr
