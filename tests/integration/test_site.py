# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documentation, as make docs builds it."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from support.tools import ROOT, Done, call
from support.users.browser import browser

PAGES = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}


def build(docs: Path, site: Path, check: bool = True) -> Done:
    return call([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", docs, site], docs, check=check)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "html"
    assert not build(ROOT / "docs", made).stderr
    return made


def test_every_page(site: Path) -> None:
    assert {path.relative_to(site) for path in site.rglob("*.html")} >= PAGES


def test_nothing_comes_from_another_host(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|iframe)[^>]*\bsrc=\"([^\"]*)|<link[^>]*\bhref=\"([^\"]*)")
    found = [a or b for page in site.rglob("*.html") for a, b in loaded.findall(page.read_text())]
    assert len(found) > len(PAGES)
    assert not [address for address in found if address.startswith(("http:", "https:", "//"))]


def test_search_without_a_server(site: Path, tmp_path: Path) -> None:
    """The pages are opened as files."""
    with browser(tmp_path, requests=True) as page:
        page.open(f"{site.as_uri()}/search.html?q=imbalance")
        page.until(lambda: "tutorial.html" in page.run("return document.getElementById('search-results').innerHTML"))
        assert {address.partition(":")[0] for address in page.asked()} == {"file", "data"}


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    """A link to a missing page, and one to a missing heading."""
    shutil.copy(ROOT / "docs" / "conf.py", tmp_path)
    shutil.copy(ROOT / "docs" / "run.md", tmp_path)
    start, tree = "# Start\n\n", "\n\n```{toctree}\nrun\n```\n"
    (tmp_path / "index.md").write_text(f"{start}[x](no-such-page.md) [x](run.md#no-such-heading){tree}")
    text = (tmp_path / "run.md").read_text()
    (tmp_path / "run.md").write_text(re.sub(r"\]\([a-z-]+\.md[^)]*\)", "]", text))
    done = build(tmp_path, tmp_path / "html", check=False)
    assert done.returncode == 1
    assert [*map(done.stderr.count, ("WARNING: ", "no-such-page", "no-such-heading"))] == [2, 1, 1]
    (tmp_path / "index.md").write_text(f"{start}[x](run.md){tree}")
    assert build(tmp_path, tmp_path / "html").returncode == 0
