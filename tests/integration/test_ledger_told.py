# SPDX-License-Identifier: BSD-3-Clause
"""Every command prints the caveats on unrecorded events before any number, and timelines draw the intervals."""

from __future__ import annotations

import html
import json
import re
import urllib.request
from pathlib import Path

import pytest

import vtrace
from support.build.builder import Builder
from support.build.run import run, unify
from support.build.run import vtrace as command
from support.oracles.check import check
from support.readers.archive import Trace as Readback
from support.readers.mpip_report import parse
from support.synthetic_runs.viewed import served
from support.tools import unavailable

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    unavailable("the package perfetto is not installed")

COMPLETE, CUT, MPI = "complete", "cut", "mpi"
LOWER = "counts and bytes below are lower bounds; the time of missing calls counts as that of their callers"


@pytest.fixture(scope="module")
def where(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with three archives: complete; recording switched off, then ended by VT_MAX_FLUSHES=1; MPI with
    flushes, where functions ended at VT_MAX_SIZE."""
    place = tmp_path_factory.mktemp("runs")
    program = build("stops.c", flags=("-O1", "-DVTRACE"))
    run(program, place, "end", "100", env={"VT_FILE_PREFIX": COMPLETE})
    limits = {"VT_BUFFER_SIZE": "200K", "VT_MAX_FLUSHES": "1", "VT_FILE_PREFIX": CUT}
    run(program, place, "off", "36000", env=limits)
    small = {"VT_MAX_SIZE": "1M", "VT_BUFFER_SIZE": "200K", "VT_COMPRESSION": "no", "VT_FILE_PREFIX": MPI}
    run(build("mpi_flood.c", compiler="mpicc"), place, "400", "300", ranks=2, env=small)
    for name in (COMPLETE, CUT, MPI):
        unify(place, name)
    return place


def caveats(where: Path, name: str = CUT) -> list[str]:
    """The caveats of an archive. Checks that they have the numbers of the sidecar."""
    trace = vtrace.open(where / f"{name}.trace")
    lines = trace.caveats()
    (gap,) = [row for row in trace.ledger.sums.records() if row["reason"] in ("VT_MAX_FLUSHES", "VT_MAX_SIZE")]
    assert gap["count"] > 5_000
    assert any(f"{gap['count']:,} events" in line for line in lines)
    assert lines[-1] == LOWER
    return lines


def warned(lines: list[str]) -> str:
    return "".join(f"vtrace: warning: {line}\n" for line in lines)


@pytest.mark.parametrize("kind", ["csv", "parquet", "chrome", "perfetto"])
def test_export(where: Path, tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    done = command(where, "export", CUT, "--to", kind, "-o", tmp_path / "x")
    assert done.stderr.startswith(warned(caveats(where)))
    assert command(where, "export", COMPLETE, "--to", kind, "-o", tmp_path / "y").stderr == ""


def test_parquet_holds_them(where: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    command(where, "export", CUT, "--to", "parquet", "-o", tmp_path / "x")
    assert json.loads(parquet.read_schema(tmp_path / "x").metadata[b"vtrace.caveats"]) == caveats(where)


def intervals(where: Path, name: str = CUT) -> list[tuple[str, float, float]]:
    """Reason, begin and end (ns since the trace's start) of all intervals but flushes, from the sidecar."""
    trace = vtrace.open(where / f"{name}.trace")
    table = trace.ledger.intervals
    zero = trace.definitions.clock[1]
    return sorted(
        (row["reason"], row["from"] - zero, row["to"] - zero)
        for row in table.records() if row["reason"] != "flush"
    )  # fmt: skip


def test_chrome_draws_them(where: Path, tmp_path: Path) -> None:
    command(where, "export", CUT, "--to", "chrome", "-o", tmp_path / "x")
    found = json.loads((tmp_path / "x").read_text())
    assert found["otherData"] == {"creator": f"vtrace {vtrace.__version__}", "caveats": caveats(where)}
    drawn = [event for event in found["traceEvents"] if event.get("cat") == "not recorded"]
    begins, ends = ({e["id"]: e for e in drawn if e["ph"] == ph} for ph in "be")
    assert sorted(
        (e["name"].removeprefix("not recorded: "), round(e["ts"] * 1000), round(ends[n]["ts"] * 1000))
        for n, e in begins.items()
    ) == intervals(where)
    (limit,) = [event for event in begins.values() if "VT_MAX_FLUSHES" in event["name"]]
    assert f"{limit['args']['events']:,} events" in " ".join(caveats(where))


def test_perfetto_draws_them(where: Path, tmp_path: Path) -> None:
    """The intervals are slices on tracks below the thread, read with Perfetto's own classes."""
    command(where, "export", CUT, "--to", "perfetto", "-o", tmp_path / "x")
    trace = Trace()
    trace.ParseFromString((tmp_path / "x").read_bytes())
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    mine = {number for number, track in tracks.items() if track.name == "not recorded"}
    assert all(tracks[tracks[number].parent_uuid].HasField("thread") for number in mine)
    open_slices: dict[int, tuple[str, int]] = {}
    found = []
    for packet in trace.packet:
        event = packet.track_event
        if event.track_uuid not in mine or not packet.HasField("track_event"):
            continue
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_slices, "slices on one track must not overlap"
            open_slices[event.track_uuid] = event.name, packet.timestamp
        else:
            found.append((*open_slices.pop(event.track_uuid), packet.timestamp))
    assert not open_slices
    assert sorted(found) == intervals(where)


def test_report(where: Path, tmp_path: Path) -> None:
    done = command(where, "report", CUT, "-o", tmp_path / "x.html")
    lines = caveats(where)
    assert done.stderr.startswith(warned(lines))
    text = (tmp_path / "x.html").read_text()
    body = text[text.index("<body>") : text.index("<script")]
    places = [body.index(html.escape(line)) for line in lines]
    assert places == sorted(places)
    assert places[-1] < body.index("class=lead") < body.index("s-overview")
    table = body[body.index("id=not-recorded") :]
    count = vtrace.open(where / f"{CUT}.trace").ledger.sums
    assert all(f"<td>{reason}" in table for reason in count["reason"])
    assert "No event was lost" not in body
    command(where, "report", COMPLETE, "-o", tmp_path / "y.html")
    assert "class=caveats" not in (tmp_path / "y.html").read_text()


def test_view(where: Path) -> None:
    """The page has the caveats above the timeline; standard error has them before the address."""
    with served(where, CUT) as (address, process):
        about = json.loads(urllib.request.urlopen(f"{address}data/1/traces", timeout=30).read())
        process.terminate()
        _, said = process.communicate(timeout=30)
    lines = caveats(where)
    assert about[0]["caveats"] == lines
    assert said.startswith(warned(lines))


def test_timers_and_summary(where: Path) -> None:
    lines = caveats(where)
    for words in (("timers", "--all"), ("profile", "--json"), ("summary", "--json")):
        text = command(where, *words, CUT).stdout
        found = json.loads(text)
        assert found["caveats"] == lines
        assert next(iter(found)) == "caveats", "the caveats must come before any number"
    info = json.loads(command(where, "info", "--json", CUT).stdout)
    assert found["not_recorded"] == info["not_recorded"]
    assert {row["reason"] for row in found["not_recorded"]} == {"flush", "switched off", "VT_MAX_FLUSHES"}
    assert json.loads(command(where, "summary", "--json", COMPLETE).stdout)["not_recorded"] == []
    assert command(where, "summary", "--csv", CUT).stderr.startswith(warned(lines))
    for words in ((), ("--only", "regions"), ("--only", "messages")):
        text = command(where, "summary", CUT, *words).stdout
        before = text[: text.index(lines[0])].strip()
        assert before in ("", CUT)


def before_all(where: Path) -> int:
    """The last ns before the first unrecorded interval."""
    trace = vtrace.open(where / f"{CUT}.trace")
    return int(trace.ns(trace.ledger.intervals["from"]).min()) - 1


def test_of_a_window(where: Path) -> None:
    """An export of a window has only the caveats of this window: none at the start of the trace, some at its end."""
    until = f"{before_all(where)}ns"
    assert command(where, "export", CUT, "--to", "csv", "-o", "part.csv", "--to", until).stderr == ""
    assert "incomplete" in command(where, "export", CUT, "--to", "csv", "-o", "part.csv", "--from", "99%").stderr


def test_mpip(where: Path, tmp_path: Path) -> None:
    """The caveats are in the header of the report, where readers of mpiP's reports know them."""
    lines = caveats(where, MPI)
    done = command(where, "mpip", MPI)
    head = done.stdout[: done.stdout.index("@--- MPI Time")]
    assert re.findall("^@ Caveat +: (.*)$", head, re.M) == lines
    assert head.index("Caveat") < head.index("MPI Task Assignment")
    assert command(where, "mpip", MPI, "-o", tmp_path / "x").stderr.startswith(warned(lines))


def test_mpip_with_flushes(build: Builder, tmp_path: Path) -> None:
    """Flushes inside of MPI calls count neither as MPI time nor as application time; an independent reader gives the
    expected times."""
    # With call sites a round trip has 10 words, which do not divide a chunk: it ends in each part of a round trip.
    small = {"VT_BUFFER_SIZE": "200K", "VT_COMPRESSION": "no", "VT_MPI_CALLSITES": "1"}
    run(build("mpi_flood.c", compiler="mpicc"), tmp_path, "20000", "0", ranks=2, env=small)
    unify(tmp_path, "mpi_flood")
    trace = check(tmp_path / "mpi_flood.trace")
    found = parse(command(tmp_path, "mpip", "mpi_flood").stdout)
    assert "Caveat" not in found.head
    inside = 0
    for rank, row in enumerate(found.sections["MPI Time (seconds)"].rows[:2]):
        app, mpi, within = times(trace, rank)
        inside += within
        assert (float(row[1]), float(row[2])) == (
            pytest.approx(app / 1e9, rel=0.006),
            pytest.approx(mpi / 1e9, rel=0.006),
        )
        assert float(row[3]) == pytest.approx(100 * mpi / app, abs=0.01)
    assert inside > 0, "a flush must lie inside of an MPI call"


def times(trace: Readback, location: int) -> tuple[int, int, int]:
    """Times in ns: from the end of MPI_Init to the start of MPI_Finalize, and in MPI calls in between, both without
    flushes; then the time of flushes in MPI calls."""
    app = mpi = inside = entered = init = 0
    for event in trace.of(location):
        name = trace.region_of(event).name if event.kind in ("Enter", "Leave") else ""
        if event.kind == "BufferFlush":
            took = event.attrs["stop_time"] - event.time
            app -= took if init else 0
            if entered:
                mpi, inside = mpi - took, inside + took
        elif name == "MPI_Init" and event.kind == "Leave":
            init = event.time
        elif name == "MPI_Finalize" and event.kind == "Enter":
            return app + event.time - init, mpi, inside
        elif name.startswith("MPI_") and init:
            mpi += event.time - entered if event.kind == "Leave" else 0
            entered = event.time if event.kind == "Enter" else 0
    raise AssertionError("no MPI_Finalize")


def test_python(where: Path) -> None:
    trace = vtrace.open(where / f"{CUT}.trace")
    lines = caveats(where)
    tables = [trace.profile(), trace.messages(), trace.collective_totals(), *trace.collectives(), trace.slices()]
    for table in tables:
        assert table.caveats == lines
        assert table.take([]).caveats == lines
    for shown in (trace._repr_html_(), tables[0]._repr_html_()):
        assert [html.unescape(text) for text in re.findall("<li>(.*?)</li>", shown)] == lines
        assert shown.index(lines[0]) < shown.index("<table>")
    assert trace.profile(stop=before_all(where)).caveats == []
    assert "<li>" not in vtrace.open(where / f"{COMPLETE}.trace")._repr_html_()
