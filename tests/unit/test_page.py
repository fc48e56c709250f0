# SPDX-License-Identifier: BSD-3-Clause
"""The page of vtrace view: its size, its rules, its types, and the tests of its pure part by node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.tools import ROOT, need, unavailable
from vtrace.timeline.answers import Content
from vtrace.timeline.saved_page import html_of
from vtrace.timeline.viewer_site import ViewerSite

PAGE = ROOT / "src" / "vtrace" / "timeline" / "page"
CODE = sorted(path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html"))
"""All that is served: each line and byte of it counts. The types are checked and not served, so they do not count."""
CHECKED = sorted(path for path in PAGE.rglob("*") if path.is_file() and path not in CODE)


def test_what_is_served_stays_small() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in CODE}
    assert sum(lines.values()) <= 6000
    assert sum(path.stat().st_size for path in CODE) <= 320_000
    assert [path.name for path, count in lines.items() if count > 400] == []


def test_all_is_served_but_what_is_checked_only() -> None:
    """By vtrace view, and the modules in a saved page."""
    site, saved = ViewerSite([]), html_of(PAGE, {}, b"").decode()
    served = {path for path in (*CODE, *CHECKED) if site.answer(_address(path), {}, lambda: True)}
    kept = {path for path in (*CODE, *CHECKED) if f'"vtrace/{_address(path)}":' in saved}
    assert served == {*CODE}
    assert kept == {path for path in CODE if path.suffix == ".js"}
    assert [path.name for path in CHECKED] == ["jsconfig.json", "types.d.ts"]


def test_the_front_page_asks_for_all_modules_at_once() -> None:
    front = ViewerSite([]).answer("", {}, lambda: True)
    assert isinstance(front, Content)
    asked = re.findall(r'<link rel="modulepreload" href="([^"]+)">', front.data.decode())
    assert sorted(asked) == sorted(_address(path) for path in CODE if path.suffix == ".js")


def _address(path: Path) -> str:
    name = path.relative_to(PAGE).as_posix()
    return "" if name == "index.html" else name


def test_it_makes_no_markup_of_texts_and_asks_no_other_server() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser")
    for path in CODE:
        text = path.read_text()
        assert not forbidden.search(text), path
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        assert not re.search(r"<[a-z]+ [^>]*\b(style|on\w+)=", text) or path.suffix != ".html", path


def test_model_depends_on_nothing() -> None:
    """Modules of model import modules of model only, and use no browser."""
    for path in (PAGE / "model").glob("*.js"):
        text = re.sub(r"/\*.*?\*/|//.*", "", path.read_text(), flags=re.DOTALL)
        assert all(name.startswith("./") for name in re.findall(r"from '(.*?)'", text)), path
        assert not re.search(r"\b(document|window\.|fetch|requestAnimationFrame|localStorage)\b(?!:)", text), path


BELOW = {"model": "", "net": "model", "draw": "model", "panels": "model draw hands", "hands": "model draw panels"}
"""Folder of the page -> the other folders whose modules its own may import: docs/architecture.md."""


@pytest.mark.parametrize("folder", BELOW)
def test_folders_depend_in_one_direction(folder: str) -> None:
    for path in (PAGE / folder).glob("*.js"):
        for name in re.findall(r"from '(.*?)'", path.read_text()):
            used = (path.parent / name).resolve().relative_to(PAGE).parts[0]
            assert used in (folder, *BELOW[folder].split()), f"{path.name} imports {name}"


def test_model() -> None:
    done = subprocess.run([need("node"), "--test", str(ROOT / "tests" / "page")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"^# pass (\d+)", done.stdout, re.MULTILINE)[0]) >= 13


def compiler() -> Path:
    """tsc: the installed one, else that of .ci/run."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "vtrace-ci", "typescript")
    for found in (shutil.which("tsc"), cache / "node_modules" / ".bin" / "tsc"):
        if found and Path(found).exists():
            return Path(found)
    unavailable("tsc is not installed: npm install typescript")


def test_types() -> None:
    """The types in the comments fit."""
    done = subprocess.run([str(compiler()), "-p", str(PAGE / "jsconfig.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_layout(path: Path) -> None:
    text = path.read_text()
    assert "SPDX-License-Identifier: BSD-3-Clause" in text.splitlines()[0] or path.suffix == ".html"
    assert "\t" not in text
    assert not re.search(r" $", text, re.MULTILINE)
