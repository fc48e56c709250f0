# SPDX-License-Identifier: BSD-3-Clause
"""vtrace cut: a whole copy has the same events; a part has the calls and messages that a slow computation finds, and
keeps the invariants of archives."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import vtrace as package
from support.build.builder import Builder
from support.build.kinds import KINDS
from support.build.run import vtrace
from support.damage.damaged_archives import Mutant, rich
from support.oracles import slow_cut
from support.oracles.check import check
from support.readers.archive import Trace, read
from support.synthetic_runs import fapp_run
from support.synthetic_runs.archives import UNDEFINED, Foreign, calls, simple
from support.tools import call, need

OWN = ("messages", "rma", "mpi-io", "openmp", "heap", "markers", "killed")
SCOREP = ("scorep-heat2d", "scorep-sampling")


@pytest.fixture(scope="module", params=[*OWN, *SCOREP])
def archive(request: pytest.FixtureRequest, build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return KINDS[request.param](build, tmp_path_factory.mktemp("cut")).archive


def printed(archive: Path, *options: str) -> str:
    """The text of otf2-print without the line that names the archive."""
    return call([need("otf2-print"), *options, archive / "traces.otf2"], archive).stdout


def files(archive: Path) -> dict[str, bytes]:
    """All files of an archive but the anchor file, which has a random number."""
    found = sorted(path for path in archive.rglob("*") if path.is_file() and path.name != "traces.otf2")
    return {str(path.relative_to(archive)): path.read_bytes() for path in found}


def cut(archive: Path, where: Path, *options: str) -> Path:
    vtrace(where, "cut", archive, "-o", "part", "--force", *options)
    return where / "part.trace"


def ticks(trace: Trace, ns: int) -> int:
    return trace.offset - (-ns * trace.resolution // 10**9)


def windows(trace: Trace, count: int) -> list[tuple[int, int]]:
    """Windows in ns that begin and end at events."""
    draw, found = random.Random(7), []
    for _ in range(count):
        a, b = sorted((draw.choice(trace.events).time - trace.offset) * 10**9 // trace.resolution for _ in range(2))
        found.append((a, b + (a == b)))
    return found


def test_whole(archive: Path, tmp_path: Path) -> None:
    copy = cut(archive, tmp_path)
    assert printed(copy) == printed(archive)
    assert printed(copy, "-G") == printed(archive, "-G")
    old, new = package.open(archive), package.open(copy)
    assert list(new.markers().records()) == list(old.markers().records())
    assert new.ledger.rows() == old.ledger.rows()
    assert {*new.properties} - {"VTRACE::CUT", "VTRACE::EVENT_BYTES"} == {*old.properties} - {"VTRACE::EVENT_BYTES"}


def test_windows(archive: Path, tmp_path: Path) -> None:
    source = read(archive)
    messages = slow_cut.messages(source)
    for begin, end in windows(source, 3):
        options = "--from", f"{begin}ns", "--to", f"{end}ns"
        copy = cut(archive, tmp_path, *options)
        part = read(copy) if "VTRACE::ABOUT" not in source.properties else check(copy)
        start, stop = ticks(source, begin), ticks(source, end)
        for old, new in zip(sorted(source.locations), sorted(part.locations), strict=True):
            assert slow_cut.steps(part, new, 0, 2**63) == slow_cut.steps(source, old, start, stop)
            assert slow_cut.balanced(part, new)
        inside = [one for one in messages if all(start <= time < stop for time in one[5:])]
        assert sorted(slow_cut.messages(part)) == sorted(inside)
        assert slow_cut.others(part) == slow_cut.others(source, start, stop)
        assert part.offset == max(start, source.offset)
        first = files(copy)
        assert files(cut(archive, tmp_path, *options)) == first
        (tmp_path / "again").mkdir(exist_ok=True)
        assert printed(cut(copy, tmp_path / "again")) == printed(copy)


def test_sections(tmp_path: Path) -> None:
    """A section across an edge of the window is cut there like a call, and stays for any selection."""
    source = package.open(fapp_run.write(tmp_path / "source.trace"))
    windows = [
        (1_500_000_000, 2_500_000_000),
        (0, 1_500_000_000),
        (2_100_000_000, 4_000_000_001),
        (500_000_000, 600_000_000),
    ]
    for start, stop in windows:
        wanted = source.sections(start, stop)
        for more in ((), ("--select", "region=MPI_Send")):
            copy = cut(source.path, tmp_path, "--from", f"{start}ns", "--to", f"{stop}ns", *more)
            found = package.open(copy).sections()
            mine = [
                (wanted.sections[row["section"]], row["location"], row["begin"] - start, row["end"] - start)
                for row in wanted.records()
                if row["section"]
            ]
            assert [
                (found.sections[row["section"]], row["location"], row["begin"], row["end"])
                for row in found.records()
                if row["section"]
            ] == mine
            assert not found.unpaired.rows


def test_cut_of_a_cut(archive: Path, tmp_path: Path) -> None:
    """A window of a window is the same as that window of the archive."""
    source = read(archive)
    (a, b), (c, d) = windows(source, 2)
    a, c, d, b = sorted((a, b, c, d))
    outer = cut(archive, tmp_path, "--from", f"{a}ns", "--to", f"{b}ns")
    begin = read(outer).offset - source.offset
    zero = begin * 10**9 // source.resolution
    if source.resolution != 10**9 or not a < c < d < b:
        pytest.skip("times of this archive cannot be given exactly")
    (tmp_path / "inner").mkdir()
    inner = cut(outer, tmp_path / "inner", "--from", f"{c - zero}ns", "--to", f"{d - zero}ns")
    direct = cut(archive, tmp_path, "--from", f"{c}ns", "--to", f"{d}ns")
    one, other = read(inner), read(direct)
    for number in one.locations:
        assert slow_cut.steps(one, number, 0, 2**63) == slow_cut.steps(other, number, 0, 2**63)


def test_ranks(build: Builder, tmp_path: Path) -> None:
    """Communicators have the ranks that stay; definitions that nothing refers to are left out."""
    for kind in ("messages", "rma", "mpi-io"):
        (tmp_path / kind).mkdir()
        source = KINDS[kind](build, tmp_path / kind).archive
        copy = cut(source, tmp_path / kind, "--ranks", "1-2")
        old, new = read(source), check(copy)
        assert [one.group for one in new.locations.values()] == ["MPI Rank 1", "MPI Rank 2"]
        assert {one.members for one in new.comms.values()} <= {(0, 1), (1, 0), (0,), (1,), None}
        kept = [one for one in slow_cut.messages(old) if all("Rank 0" not in name for name in one[1:3])]
        without = [one[:1] + one[3:] for one in sorted(kept)]
        assert sorted(without) == sorted(one[:1] + one[3:] for one in slow_cut.messages(new))
        assert {event.attrs.get("region") for event in new.events} - {None} == set(new.regions)


def test_selected(build: Builder, tmp_path: Path) -> None:
    source = KINDS["messages"](build, tmp_path).archive
    old = read(source)
    for options in (("region=MPI_*",), ("class=MPI",), ("path=*MPI_*",)):
        new = check(cut(source, tmp_path, "--select", *options))
        names = {region.name for region in new.regions.values()}
        assert names == {region.name for region in old.regions.values() if region.name.startswith("MPI_")}
        assert slow_cut.messages(new) == slow_cut.messages(old)
    new = check(cut(source, tmp_path, "--select", "region=MPI_Recv,MPI_Send", "--to", "90%"))
    assert {region.name for region in new.regions.values()} == {"MPI_Recv", "MPI_Send"}
    new = read(cut(source, tmp_path, "--select", "location=*Rank 1*"))
    assert [one.group for one in new.locations.values()] == ["MPI Rank 1"]
    assert not slow_cut.messages(new)


def test_nothing_selected(tmp_path: Path) -> None:
    source = simple(tmp_path / "simple.trace", {0: calls(3)}, length=20).parent
    for pattern, said in (
        ("region=Mian", "region=Mian; no region matches Mian; did you mean main?"), ("path=f > main", "path=f > main"),
        ("region=m*", ""),
    ):  # fmt: skip
        done = vtrace(tmp_path, "cut", source, "-o", "part", "--force", "--select", pattern)
        warnings = [line for line in done.stderr.splitlines() if "warning" in line]
        assert warnings == ([f"vtrace: warning: no calls match {said}"] if said else [])


def test_reports_tell(build: Builder, tmp_path: Path) -> None:
    """Commands report that an archive is a part of another one, and the events that its counts lack."""
    source = KINDS["messages"](build, tmp_path).archive
    sent = min(event.time for event in read(source).events if event.kind in ("MpiSend", "MpiIsend"))
    begin = f"{sent + 1 - read(source).offset}ns"  # the first message's other half is in the part
    done = vtrace(tmp_path, "cut", source, "--from", begin, "--ranks", "0-1", "-o", "part")
    assert "next: vtrace summary part" in done.stderr
    for command in ("info", "summary"):
        text = vtrace(tmp_path, command, "part").stdout
        assert "cut " in text
        assert f"of {source.name}, 2 of 3 locations" in text
    known = json.loads(vtrace(tmp_path, "info", "part", "--json").stdout)
    assert known["cut"]["of"] == source.name
    assert sum(row["count"] for row in known["not_recorded"] if row["reason"] == "cut") == known["cut"]["halves"] > 0
    made = json.loads(vtrace(tmp_path, "cut", source, "-o", "part", "--force", "--json").stdout)
    assert made["events"] == len(read(source).events)


def test_ledger_of_a_cut_of_a_cut(build: Builder, tmp_path: Path) -> None:
    """The halves that both cuts left out are one interval: the window of the second one."""
    source = KINDS["messages"](build, tmp_path).archive
    vtrace(tmp_path, "cut", source, "--ranks", "0", "-o", "first")
    vtrace(tmp_path, "cut", "first", "--from", "10%", "-o", "second")
    known = json.loads(vtrace(tmp_path, "info", "second", "--json").stdout)
    (row,) = [row for row in known["not_recorded"] if row["reason"] == "cut"]
    trace = package.open(tmp_path / "second")
    assert row["ns"] == pytest.approx(trace.duration, abs=2)


def test_every_kind_of_event(tmp_path: Path) -> None:
    """A copy has all kinds of events and definitions, also those that vtrace does not write, with their attributes."""
    source = rich(Foreign(tmp_path / "rich.trace"))
    copy = cut(source, tmp_path)
    assert printed(copy) == printed(source)
    events = int(package.open(copy).locations["events"][0])
    assert printed(copy, "-G") == printed(source, "-G").replace("# Events: 0", f"# Events: {events}")


def test_other_numbers(tmp_path: Path) -> None:
    """Numbers of definitions need not be dense; a part has dense ones, and no definition that it does not need."""
    archive = Foreign(tmp_path / "sparse.trace")
    archive.events(7, [(1, "Enter", 900), (2, "MpiSend", 0, 5, 3, 8), (4, "Leave", 900), (9, "Enter", 40)])
    archive.begin_definitions()
    archive.machine(length=10)
    archive.location(7)
    archive.region(40, "late")
    archive.region(900, "early")
    archive.define("Group", 2, "", 4, 4, 0, [7])
    archive.define("Group", 3, "", 5, 4, 0, [0])
    archive.define("Comm", 5, "world", 3, UNDEFINED, 0)
    source = archive.close().parent
    assert printed(cut(source, tmp_path)) == printed(source)
    part = read(cut(source, tmp_path, "--to", "5ns"))
    assert [(one.id, one.name) for one in part.regions.values()] == [(0, "early")]
    assert [event.kind for event in part.events] == ["Enter", "MpiSend", "Leave"]
    assert {*part.locations} == {7}


def test_refused(tmp_path: Path) -> None:
    source = simple(tmp_path / "simple.trace", {0: calls(3)}, length=20).parent
    for words, code, text in (
        ((source, "-o", "simple"), 1, "exists (--force replaces it)"),
        ((source, "-o", "none/part"), 1, "in an existing directory"),
        (("missing", "-o", "part"), 1, "no such archive"),
        ((source, "-o", "part", "--from", "9ns", "--to", "3ns"), 2, "is not before"),
        ((source, "-o", "part", "--ranks", "9"), 2, "the trace has ranks"),
        ((source, "-o", "part", "--ranks", "3-1"), 2, "--ranks 3-1: 3 is after 1 (write 1-3)"),
        ((source, "-o", "part", "--select", "thing=x"), 2, "KIND is one of"),
        ((source,), 2, "-o"),
    ):
        done = vtrace(tmp_path, "cut", *words, check=False)
        assert (done.returncode, done.stdout) == (code, ""), str(done)
        assert text in done.stderr.splitlines()[-1], str(done)
    assert {path.name for path in tmp_path.iterdir()} == {"simple.trace"}


@pytest.mark.parametrize("seed", range(6))
def test_damaged(tmp_path: Path, seed: int) -> None:
    """A damaged archive gives an archive that can be read, or one line and no archive."""
    draw = random.Random(seed)
    source = rich(Mutant(tmp_path / "bad.trace", draw, 0.02 * (seed % 3)))
    for path in (*(source / "traces").glob("*.evt"), source / "traces.def"):
        data = bytearray(path.read_bytes())
        for _ in range(seed % 2):
            data[draw.randrange(24, len(data))] = draw.randrange(256)
        path.write_bytes(data[: len(data) - (seed % 3 == 2)])
    for options in ((), ("--to", "50%"), ("--ranks", "0", "--from", "10ns")):
        done = vtrace(tmp_path, "cut", source, "-o", "part", "--force", *options, check=False)
        assert done.returncode in (0, 1, 2), str(done)
        assert "Traceback" not in done.stderr, str(done)
        if done.returncode:
            assert done.stderr.splitlines()[-1].startswith("vtrace: error: "), str(done)
        else:
            call([need("otf2-print"), "--silent", tmp_path / "part.trace" / "traces.otf2"], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"bad.trace", "part.trace"}
