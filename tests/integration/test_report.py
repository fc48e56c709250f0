# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report printed on paper, and for many locations."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.build.run import vtrace
from support.synthetic_runs import viewed
from support.synthetic_runs.archives import Foreign
from support.tools import call, need
from support.users.browser import browser


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
