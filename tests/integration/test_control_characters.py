# SPDX-License-Identifier: BSD-3-Clause
"""Names with control characters, markup and invalid UTF-8. The output of commands does not control a terminal, and
the written files are what their readers expect."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.kinds import background
from support.build.run import run, unify, vtrace
from support.synthetic_runs.odd_names import ODD, TERMINAL, odd_archive
from support.tools import PROGRAMS, Done, call, command, environment, injected, need
from support.users.terminal import on_terminal

READ = (
    "info", "info --all", "info --json", "summary", "summary --csv", "summary --json", "summary --top 1", "score",
    "score --json", "score --fit 100", "timers", "timers --all", "mpip", "mpip -v", "mpip -vv",
    "profile", "profile --by line --csv", "profile --by callpath --json", "profile --by thread",
)  # fmt: skip
"""Commands that print to standard output."""
REAL = (
    "info --all",
    "summary --csv",
    "profile",
    "score",
    "timers",
    "mpip",
    "report -o r.html",
    "export --to csv -o x.csv",
)
NAMED = f"{TERMINAL}<script>\udcff"
"""An odd part of a file name; the prefix of a run may have such a name."""


def harmless(text: str) -> bool:
    """True if a terminal shows every character of the text and obeys none."""
    return all(line.isprintable() for line in text.split("\n"))


def well(done: Done) -> str:
    """The standard output of a command. Checks that the command succeeded and that its output is harmless."""
    assert "Traceback" not in done.stderr, str(done)
    assert done.returncode == 0, str(done)
    assert harmless(done.stdout + done.stderr), repr(done.stdout + done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two different archives with odd names of all definitions; the file name of the first one is odd, too."""
    where = tmp_path_factory.mktemp("odd")
    odd_archive(where / "a.trace").rename(where / f"{NAMED}.trace")
    return where / f"{NAMED}.trace", odd_archive(where / "b.trace", more=3)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a recorded program that gives odd names to everything that it can name."""
    where = tmp_path_factory.mktemp("real")
    words = ["run", "--unify", "--io", "--memory", "--python", "-o", "odd", sys.executable, PROGRAMS / "odd_names.py"]
    well(call([*command("vtrace"), *words, NAMED], where, {"VT_PTHREAD": "locks", "PYTHONNOUSERSITE": "1"}))
    return where / "odd.trace"


@pytest.mark.parametrize("words", READ)
def test_commands_that_print(archives: tuple[Path, Path], tmp_path: Path, words: str) -> None:
    shown = well(vtrace(tmp_path, *words.split(), archives[0], check=False))
    assert shown
    if "--json" in words or words.startswith("timers"):
        assert json.dumps(TERMINAL)[1:-1] in json.dumps(json.loads(shown)), "JSON must hold the original names"


def test_diff(archives: tuple[Path, Path], tmp_path: Path) -> None:
    for words in ([], ["--relative"], ["--per-rank"]):
        assert r"\x1b[31m" in well(vtrace(tmp_path, "diff", *words, *archives, check=False))
    told = json.loads(well(vtrace(tmp_path, "diff", "--json", *archives, check=False)))
    assert json.dumps(TERMINAL)[1:-1] in json.dumps(told)


def test_on_a_terminal(archives: tuple[Path, Path], tmp_path: Path) -> None:
    """On a terminal the output has no escape sequences except the colours of vtrace."""
    for words in (["info"], ["summary"], ["score"], ["timers"], ["profile"], ["diff", archives[1]]):
        shown = on_terminal([*command("vtrace"), *words, archives[0]], tmp_path, 200)
        assert harmless(re.sub(r"\x1b\[[\d;]*m", "", shown.replace("\r\n", "\n"))), repr(shown)
        assert "\x1b[31m\x1b]" not in shown


def test_exports(archives: tuple[Path, Path], tmp_path: Path) -> None:
    for aim in ("csv", "chrome", "speedscope", "parquet", "perfetto"):
        well(vtrace(tmp_path, "export", archives[0], "--to", aim, "-o", f"x.{aim}", check=False))
    text = (tmp_path / "x.csv").read_bytes().decode()
    assert harmless(text.replace("\r\n", "\n"))
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["region"].startswith(r"main\x1b[31m\x1b]0;owned\x07")
    assert any(r"counter\x1b" in row["metric"] for row in rows)
    chrome = (tmp_path / "x.chrome").read_text()
    assert chrome.isprintable()
    assert f"main{TERMINAL}" in "".join(event["name"] for event in json.loads(chrome)["traceEvents"])
    scope = (tmp_path / "x.speedscope").read_text()
    assert harmless(scope)
    frames = json.loads(scope)["shared"]["frames"]
    assert any(frame["name"].startswith(f"main{TERMINAL}") for frame in frames)
    import pyarrow.parquet

    regions = pyarrow.parquet.read_table(tmp_path / "x.parquet")["region"].to_pylist()
    assert any(region and region.startswith(f"main{TERMINAL}") for region in regions), "Parquet needs original names"
    perfetto = (tmp_path / "x.perfetto").read_bytes()
    assert rb"main\x1b[31m" in perfetto
    assert b"\x1b[" not in perfetto
    assert b"\x1b]" not in perfetto


class _Page(HTMLParser):
    """A parsed HTML page: its number of script and img elements, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts, self.images, self.text = 0, 0, ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.scripts += tag == "script"
        self.images += tag == "img"

    def handle_data(self, data: str) -> None:
        self.text += data if self.cdata_elem is None else ""


def test_report(archives: tuple[Path, Path], tmp_path: Path) -> None:
    """The report has the same script elements as with plain names, no images, and harmless text."""
    well(vtrace(tmp_path, "report", archives[0], "-o", "r.html", check=False))
    page = _Page((tmp_path / "r.html").read_text())
    assert (page.scripts, page.images) == (3, 0)
    assert r"main\x1b[31m" in page.text
    assert harmless(page.text)


def test_view(archives: tuple[Path, Path], tmp_path: Path) -> None:
    process = background([*command("vtrace"), "view", "--no-browser", archives[0]], tmp_path)
    try:
        assert process.stdout
        address = process.stdout.readline().strip()
        texts = []
        for name in ("data/1/traces", "data/1/regions?trace=0&rows=0,1,2,3"):
            with urllib.request.urlopen(address + name, timeout=60) as answer:
                texts.append(json.dumps(json.loads(answer.read()), ensure_ascii=False))
        assert all(map(harmless, texts))
        assert r"\\x1b[31m" in texts[0]
        assert r"\\x1b[31m" in texts[1]
        process.terminate()
        assert harmless(process.communicate(timeout=60)[1])
    finally:
        process.kill()
        process.communicate()


def test_filter_of_a_score(archives: tuple[Path, Path], tmp_path: Path) -> None:
    """Each line of the filter is a pattern that matches the function with the odd name."""
    well(vtrace(tmp_path, "score", archives[0], "--fit", "100", "-o", "f.filter", check=False))
    text = (tmp_path / "f.filter").read_text()
    assert harmless(text)
    assert "1 rule\n" in well(vtrace(tmp_path, "filter", "f.filter"))
    shown = well(vtrace(tmp_path, "filter", "f.filter", "--explain", f"main{ODD}"))
    assert "is not recorded: f.filter:" in shown
    for option in ("--explain", "--group"):
        well(vtrace(tmp_path, "filter", "f.filter", "--explain", "x", option, ODD, "--json"))


def test_mpip_files(archives: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    well(vtrace(tmp_path, "mpip", archives[0], "-f", "d", check=False))
    (report,) = (tmp_path / "d").iterdir()
    assert harmless(os.fsdecode(report.name))
    assert harmless(report.read_text())


@pytest.mark.parametrize("words", REAL)
def test_a_real_program(real: Path, tmp_path: Path, words: str) -> None:
    well(vtrace(tmp_path, *words.split(), real, check=False))
    if "x.csv" in words:
        text = (tmp_path / "x.csv").read_bytes().decode()
        assert harmless(text.replace("\r\n", "\n"))
        for label in ("region", "counter", "win", "comm", "file"):
            assert rf"{label}\x1b[31m" in text, label


def test_a_python_api(archives: tuple[Path, Path], tmp_path: Path) -> None:
    code = (
        "import sys, vtrace; t = vtrace.open(sys.argv[1]); print(ascii([t._repr_html_(), t.markers()._repr_html_(),"
        " t.regions._repr_html_()]))"
    )
    shown = well(call([sys.executable, "-c", code, archives[0]], tmp_path, check=False))
    assert "<td>" in shown
    assert "<script>" not in shown


def test_a_poor_locale(archives: tuple[Path, Path], tmp_path: Path) -> None:
    """In ISO 8859-5 a letter outside of the encoding is shown by its number. (With ASCII, click writes UTF-8.)"""
    code = "import sys\nfor stream in (sys.stdout, sys.stderr):\n    stream.reconfigure(encoding='iso8859-5')\n"
    env = injected(tmp_path / "locale", code)
    for words in ("info", "summary", "score", "mpip"):
        done = subprocess.run([*command("vtrace"), words, archives[0]], env=environment(env), capture_output=True)
        shown = well(Done([words], done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")))
        assert shown.isascii()
        assert r"\xe9" in shown


@pytest.fixture
def prefix(build: Builder, tmp_path: Path) -> str:
    """The prefix of a run's local files; the names of the run and of the program have control characters."""
    program = build("many.c").with_name(f"many{NAMED}")
    if not program.exists():
        program.write_bytes(build("many.c").read_bytes())
        program.chmod(0o755)
    run(program, tmp_path)
    return f"many{NAMED}"


def test_local_files(prefix: str, tmp_path: Path) -> None:
    for words in (["dump"], ["dump", "--json"], ["info"], ["info", "--json"], ["score"], ["clean", "--dry-run"]):
        well(vtrace(tmp_path, *words, prefix, check=False))
    well(unify(tmp_path, "-vv", prefix, check=False))
    for word in ("info", "summary", "score"):
        well(vtrace(tmp_path, word, prefix, check=False))


def test_an_mpi_program(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    program = build("mpi_rounds.c", compiler=mpi.mpicc, mode="mpi")
    odd = program.with_name(f"rounds{NAMED}")
    odd.write_bytes(program.read_bytes())
    odd.chmod(0o755)
    run(odd, tmp_path, "10", "2")
    unify(tmp_path, odd.name)
    assert "Command" in well(vtrace(tmp_path, "mpip", odd.name))


def test_wrappers_and_run(tmp_path: Path) -> None:
    """Odd names of missing files, and odd names as compilers, MPIs and directories: one line of harmless output."""
    for words in (
        ["vtrace", "run", f"./{NAMED}"], ["vtrace", "run", "-v", "-o", f"{NAMED}/x", need("true")],
        ["vtrace-cc", "-vt:cc", f"./{NAMED}", "x.c"], ["vtrace-cc", f"-vt:{NAMED}"], ["vtunify", NAMED],
        ["vtrace", "summary", NAMED], ["vtrace", NAMED], ["vtrace", "shim", "build", "--mpicc", f"./{NAMED}"],
        ["vtrace", "filter", NAMED], ["vtrace", "dump", NAMED], ["vtrace", "mpip", "-f", NAMED, NAMED],
    ):  # fmt: skip
        done = call([*command(words[0]), *words[1:]], tmp_path, check=False)
        assert "Traceback" not in done.stderr, str(done)
        assert harmless(done.stdout + done.stderr), repr(str(done))
        assert done.stderr.count("\n") == 1 or need("true") in words, str(done)


def test_list_of_shims(tmp_path: Path) -> None:
    """A copy of the shim cache in an oddly named directory: the list is harmless, and clean removes only the copy."""
    shim = Path(vtrace(tmp_path, "shim", "build", "--mpicc", need("mpicc")).stdout.strip()).parent
    shutil.copytree(shim, tmp_path / NAMED / shim.name)
    env = {"VT_SHIM_CACHE": str(tmp_path / NAMED)}
    (line,) = vtrace(tmp_path, "shim", "list", env=env).stdout.splitlines()
    assert harmless(line.replace("\t", ""))
    assert line.count("\t") == 3
    removed = vtrace(tmp_path, "shim", "clean", env=env).stdout
    assert harmless(removed)
    assert removed.startswith("removed ")
    assert not (tmp_path / NAMED / shim.name).exists()
    assert shim.exists()
