# SPDX-License-Identifier: BSD-3-Clause
"""Every command that reads traces, in a separate process, on an archive of every kind.

A separate process also finds an import that a command lacks; in the process of pytest another module may have loaded
it. The process is forked from one with the modules that the same command has loaded before (support/forked.py)."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import sys
import urllib.request
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.kinds import KINDS, Kind, background
from support.build.run import vtrace
from support.tools import Done, call, command
from support.users.terminal import on_terminal

FEW = ("killed", "markers", "messages", "one-event", "scorep-sampling")
"""Kinds for the test of the Python API."""


class Made:
    """The archives. The first use of an archive writes it."""

    def __init__(self, build: Builder, factory: pytest.TempPathFactory) -> None:
        self._build, self._factory, self._kinds = build, factory, dict[str, Kind]()

    def __call__(self, name: str) -> Kind:
        if name not in self._kinds:
            self._kinds[name] = KINDS[name](self._build, self._factory.mktemp(name))
        return self._kinds[name]


@pytest.fixture(scope="module")
def made(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(build, tmp_path_factory)


MORE = ("1000-locations", "10000-locations", "io", "markers", "ring", "rma", "scorep-io", "scorep-omp", "threads")
"""Kinds for the full tests only: the first two take as long as all others, and test_packed.py has most commands on the
others."""


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.full) if name in MORE else name for name in KINDS])
def kind(request: pytest.FixtureRequest, made: Made) -> Kind:
    return made(request.param)


def well(done: Done) -> str:
    """The standard output of a command. Checks that the command succeeded and printed something."""
    assert "Traceback" not in done.stdout + done.stderr, str(done)
    assert done.returncode == 0, str(done)
    assert done.stdout.strip(), str(done)
    return done.stdout


def tables(text: str) -> list[list[list[str]]]:
    """The tables of CSV text, which empty lines separate: the rows of each, with the head. Checks that all rows of a
    table have the same number of cells."""
    found: list[list[list[str]]] = [[]]
    for row in csv.reader(io.StringIO(text)):
        if row:
            found[-1].append(row)
        else:
            found.append([])
    found = [table for table in found if table]
    assert all(len({len(row) for row in table[1:]} | {len(table[0])}) == 1 for table in found if len(table) > 1), text
    return found


def test_diagnose(kind: Kind, tmp_path: Path) -> None:
    well(vtrace(tmp_path, "diagnose", kind.archive, check=False))
    for words in ((), ("--about", "io"), ("--about", "openmp"), ("--about", "waits"))[: 1 if kind.is_large else 4]:
        found = json.loads(well(vtrace(tmp_path, "diagnose", "--json", *words, kind.archive, check=False)))
        assert {"findings", "waits", "efficiencies", "critical_path", "iterations", "notes"} <= set(found)


def test_info(kind: Kind, tmp_path: Path) -> None:
    assert "locations" in well(vtrace(tmp_path, "info", kind.archive, check=False))
    about = json.loads(well(vtrace(tmp_path, "info", "--json", kind.archive, check=False)))
    assert len(about["locations"]) >= 1
    shown = well(vtrace(tmp_path, "info", "--all", kind.archive, check=False))
    assert len(shown.splitlines()) >= len(about["locations"])


def test_summary(kind: Kind, tmp_path: Path) -> None:
    assert "Time by class" in well(vtrace(tmp_path, "summary", kind.archive, check=False)) or not kind.has_calls
    found = json.loads(well(vtrace(tmp_path, "summary", "--json", kind.archive, check=False)))
    assert bool(found["regions"]) == kind.has_calls
    assert tables(well(vtrace(tmp_path, "summary", "--csv", "--only", "regions", kind.archive, check=False)))


PANELS = ("findings", "profile", "flame", "matrix", "collectives", "files", "ranks")


def test_view(kind: Kind, tmp_path: Path) -> None:
    process = background([*command("vtrace"), "view", "--no-browser", kind.archive], tmp_path)
    try:
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address, process.communicate()[1]
        fetched = {}
        for name in ("", "main.js", "style.css", "data/1/traces", "data/1/marks?trace=0"):
            with urllib.request.urlopen(address + name, timeout=60) as answer:
                fetched[name] = answer.read()
        assert all(fetched.values())
        (about,) = json.loads(fetched["data/1/traces"])
        row = f"l{about['rows']['locations'][0]}" if about["rows"]["locations"] else ""
        window = f"trace=0&rows={row}&from=0&to={about['duration']}"
        for question in (
            f"tiles?trace=0&rows={row}&level={about['top']}&number=0", f"calls?{window}&shortest=0",
            f"messages?{window}&lines=100&smallest=0&comm=-1", f"collectives?{window}", f"counters?{window}",
            f"search?{window}&text=a&bins=100", *(f"panel?{window}&name={name}" for name in PANELS),
        ):  # fmt: skip
            with urllib.request.urlopen(f"{address}data/1/{question}", timeout=60) as answer:
                assert answer.read().startswith(b"VTW1"), question
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert "Traceback" not in said
    finally:
        process.kill()
        process.communicate()


def test_report(kind: Kind, tmp_path: Path) -> None:
    well(vtrace(tmp_path, "report", kind.archive, "-o", "r.html", check=False))
    page = (tmp_path / "r.html").read_text()
    assert page.rstrip().endswith("</html>")


def test_exports(kind: Kind, tmp_path: Path) -> None:
    import pyarrow.parquet
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    for aim in ("perfetto", "chrome", "speedscope", "csv", "parquet"):
        well(vtrace(tmp_path, "export", kind.archive, "--to", aim, "-o", f"x.{aim}", check=False))
    trace = pb.Trace()
    trace.ParseFromString((tmp_path / "x.perfetto").read_bytes())
    assert len(trace.packet) >= 1
    assert any("ph" in event for event in json.loads((tmp_path / "x.chrome").read_text())["traceEvents"])
    profiles = json.loads((tmp_path / "x.speedscope").read_text())["profiles"]
    assert bool(profiles) == (kind.has_calls or "scorep-sampling" in kind.archive.parts)
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert bool(rows) == kind.has_events
    if rows:
        assert rows[0]["event"]
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert [*rows[0]] == table.column_names if rows else table.num_rows == 0
    assert [row["event"] for row in rows] == table["event"].to_pylist()
    groups = pyarrow.parquet.read_metadata(tmp_path / "x.parquet").num_row_groups
    assert groups <= 1 + len(rows) // 10_000  # a row group for each location would take far more space than its events


def test_profile(kind: Kind, tmp_path: Path) -> None:
    for by in ("thread",) if kind.is_large else ("function", "line", "callpath", "rank", "thread"):
        found = json.loads(well(vtrace(tmp_path, "profile", "--by", by, "--json", kind.archive, check=False)))
        assert bool(found["profile"]) == (kind.has_calls or bool(found["samples"]))
        (table,) = tables(well(vtrace(tmp_path, "profile", "--by", by, "--csv", kind.archive, check=False)))
        assert (table[0][0], len(table) - 1) == (by, len(found["profile"]))
    well(vtrace(tmp_path, "profile", kind.archive, check=False))


def test_diff(kind: Kind, tmp_path: Path) -> None:
    assert "no differences" in well(vtrace(tmp_path, "diff", kind.archive, kind.archive, check=False))
    assert json.loads(well(vtrace(tmp_path, "diff", "--json", kind.archive, kind.archive, check=False)))


def test_timers_and_score(kind: Kind, tmp_path: Path) -> None:
    found = json.loads(well(vtrace(tmp_path, "timers", "--all", kind.archive, check=False)))
    assert bool(found["timers"]) == kind.has_calls
    assert isinstance(json.loads(well(vtrace(tmp_path, "score", "--json", kind.archive, check=False))), list)
    well(vtrace(tmp_path, "score", kind.archive, check=False))


def test_filter(kind: Kind, tmp_path: Path) -> None:
    """vtrace filter reads the filter that vtrace score has written. For a trace that lacks calls, score writes no
    filter and prints one line."""
    done = vtrace(tmp_path, "score", kind.archive, "--fit", "1", "-o", "f.filter", check=False)
    if done.returncode:
        assert "does not have all calls" in done.stderr.splitlines()[-1], str(done)
        assert not (tmp_path / "f.filter").exists()
        (tmp_path / "f.filter").write_text("main -- 0\n")
    assert " rule" in well(vtrace(tmp_path, "filter", "f.filter", check=False))
    assert well(vtrace(tmp_path, "filter", "f.filter", "--explain", "main", "--rank", "1", check=False))
    rules = [line.rpartition(" -- ")[0] for line in (tmp_path / "f.filter").read_text().splitlines() if line[0] != "#"]
    for rule in rules[:1]:
        (found,) = json.loads(well(vtrace(tmp_path, "filter", "f.filter", "--explain", rule, "--json", check=False)))
        assert found["limit"] == 0


def test_mpip(kind: Kind, tmp_path: Path) -> None:
    """vtrace mpip refuses an archive without MPI calls with one line."""
    done = vtrace(tmp_path, "mpip", kind.archive, check=False)
    if kind.ranks:
        assert well(done).startswith("@ mpiP")
        assert f"MPI Task Assignment      : {kind.ranks - 1} " in done.stdout
    else:
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)


def test_local_files(kind: Kind, tmp_path: Path) -> None:
    if kind.local is None:
        pytest.skip("there are no local files beside it")
    assert "record" in well(vtrace(tmp_path, "info", kind.local, check=False))
    for words in (("dump",), ("dump", "--json"), ("score",)):
        place = kind.local.parent
        well(vtrace(place, *words, kind.local.name, check=False))


@pytest.mark.parametrize("name", ["messages", "one-event"])
def test_on_a_terminal(made: Made, tmp_path: Path, name: str) -> None:
    archive = made(name).archive
    for words in (["summary"], ["info"], ["timers"], ["profile"], ["score"]):
        assert on_terminal([*command("vtrace"), *words, archive], tmp_path, 100).strip()


@pytest.mark.parametrize("name", FEW)
def test_python(made: Made, tmp_path: Path, name: str) -> None:
    """The main functions of the Python API, in a fresh interpreter."""
    code = (
        "import sys, vtrace; t = vtrace.open(sys.argv[1]); print(t.markers().rows, t.profile().rows, t.messages().rows,"
        " len(t.collectives()), t.io().rows, t.timeline(10).shape, t.coverage().rows, t)"
    )
    well(call([sys.executable, "-c", code, made(name).archive], tmp_path, check=False))


def test_perfetto_has_the_markers(made: Made, tmp_path: Path) -> None:
    """An export for Perfetto has the text of a marker."""
    well(vtrace(tmp_path, "export", made("markers").archive, "--to", "perfetto", "-o", "x.pftrace", check=False))
    assert b"it broke" in (tmp_path / "x.pftrace").read_bytes()


def test_names_are_found(made: Made, tmp_path: Path) -> None:
    """A command finds an archive by its prefix, its directory and its anchor file."""
    shutil.copytree(made("messages").archive, tmp_path / "mpi_messages.trace")
    for name in ("mpi_messages", "mpi_messages.trace", "mpi_messages.trace/traces.otf2"):
        well(vtrace(tmp_path, "summary", name, check=False))
