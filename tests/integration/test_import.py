# SPDX-License-Identifier: BSD-3-Clause
"""vtrace import: lines of files become exact events at the right places; bad files are refused, with line and
column. vtrace export --to vtune writes the files back."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path

import pytest

import vtrace as package
from support.build.builder import Builder
from support.build.run import run as run_program
from support.build.run import unify, vtrace
from support.readers.archive import Trace, read
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import MPI_SEND, START, unified, world, write_rank
from support.tools import Done, call, need

SECOND = 10**9
NODE0 = [(2000, 1000, START), (2000 + 4 * SECOND, 1000 + 2 * SECOND, START + 2 * SECOND)]
"""Pairs of node0: its counter has two ticks a ns. The trace begins at the first pair and ends at the second one."""
NODE1 = [(50, 7000, START + 500), (50 + SECOND, 7000 + SECOND, START + 500 + SECOND)]


def write(where: Path, rank: int, host: str, pairs: list[tuple[int, int, int]], threads: dict[int, int]) -> None:
    """A rank whose locations have these kernel ids, each with one call of MPI_Send from the first to the last pair."""
    known = [world(rank, 2), MPI_SEND, *(["CLOCK", *pair] for pair in pairs)]
    known += [["LOCATION", number, tid, None, pairs[0][0]] for number, tid in threads.items()]
    chunks = {}
    for number in threads:
        chunk = Chunk(number, 0, pairs[0][0], pair=pairs[0])
        chunks[number] = [chunk.record("ENTER", 0, 1).record("LEAVE", pairs[1][0] - pairs[0][0], 1)]
    write_rank(where, rank, 2, known, chunks, host=host, pair=pairs[0])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of rank 0 (process 100, threads 100 and 107) on node0 and rank 1 (process 101) on node1."""
    where = tmp_path_factory.mktemp("import")
    write(where, 0, "node0", NODE0, {0: 100, 1: 107})
    write(where, 1, "node1", NODE1, {0: 101})
    return unified(where).path


def imported(run: Path, where: Path, **files: str) -> tuple[Trace, Done]:
    """Imports files; the words of a name are split by __, such as a__hostname__node0."""
    paths = []
    for name, text in files.items():
        paths.append(where / f"{name.replace('__', '-')}.csv")
        paths[-1].write_text(text)
    done = vtrace(where, "import", run, *paths, "-o", "new", "--force")
    return read(where / "new.trace"), done


def calls(trace: Trace) -> dict[str, list[tuple[int, str, str]]]:
    """Time, kind and region of the events of each lane, by process and name of the location."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for event in trace.events:
        location = trace.locations[event.location]
        if event.location > 2 and event.kind != "Metric":
            key = f"{location.group}: {location.name}"
            found.setdefault(key, []).append((event.time, event.kind, trace.region_of(event).name))
    return found


def utc(ns: int) -> str:
    return datetime.fromtimestamp(ns // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S") + f".{ns % SECOND:09d}"


@pytest.mark.parametrize(
    ("clock", "begin", "end"),
    [
        ("RDTSC", 2000 + 2 * 1500, 2000 + 2 * 4000 + 1),
        ("CLOCK_MONOTONIC_RAW", 1000 + 1500, 1000 + 4000),
        ("UTC", utc(START + 1500), utc(START + 4000)),
    ],
)
def test_each_clock(run: Path, tmp_path: Path, clock: str, begin: object, end: object) -> None:
    text = f"name,start_tsc.{clock},end_tsc,pid,tid\nstep,{begin},{end},100,107\n"
    trace, done = imported(run, tmp_path, phases__hostname__node0=text)
    assert calls(trace) == {"MPI Rank 0: Tasks of Thread 1": [(1500, "Enter", "step"), (4000, "Leave", "step")]}
    assert done.stdout.splitlines()[0].endswith("new.trace: 1 interval, 0 values on 1 location")


def test_another_host(run: Path, tmp_path: Path) -> None:
    text = f"name,start_tsc.RDTSC,end_tsc,tid\na,{50 + 1000},{50 + 2000},101\n"
    trace, _ = imported(run, tmp_path, x__hostname__node1=text)
    assert calls(trace) == {"MPI Rank 1: Tasks of Master thread": [(1500, "Enter", "a"), (2500, "Leave", "a")]}


@pytest.mark.parametrize(
    ("head", "fields", "place"),
    [
        (",pid,tid", ",100,107", "MPI Rank 0: Tasks of Thread 1"),
        (",tid", ",107", "MPI Rank 0: Tasks of Thread 1"),
        (",pid,tid", ",,107", "MPI Rank 0: Tasks of Thread 1"),
        (",pid,tid", ",100,", "MPI Rank 0: Frames"),
        (",pid", ",100", "MPI Rank 0: Frames"),
        (",pid,tid", ",,", "MPI Rank 0: Frames"),
        ("", "", "MPI Rank 0: Frames"),
        (",pid,tid", ",100,999", "MPI Rank 0: Tasks of thread 999"),
    ],
)
def test_ids(run: Path, tmp_path: Path, head: str, fields: str, place: str) -> None:
    text = f"name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc{head}\r\nx,1010,1020{fields}\r\n"
    trace, _ = imported(run, tmp_path, x__hostname__node0=text)
    assert calls(trace) == {place: [(10, "Enter", "x"), (20, "Leave", "x")]}


def test_overlap(run: Path, tmp_path: Path) -> None:
    """Intervals that nest share a lane, others do not; lines are in any order; a name may have commas in quotes."""
    lines = ["b,1030,1050", "a,1010,1040", '"f(1, ""x"")",1020,1040', "a,1050,1050", "z,1060,1070"]
    text = "\n".join(["name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc", *lines])
    trace, _ = imported(run, tmp_path, x__hostname__node0=text)
    name = 'f(1, "x")'
    assert calls(trace) == {
        "MPI Rank 0: Frames": [
            (10, "Enter", "a"), (20, "Enter", name), (40, "Leave", name), (40, "Leave", "a"), (50, "Enter", "a"),
            (50, "Leave", "a"), (60, "Enter", "z"), (70, "Leave", "z"),
        ],
        "MPI Rank 0: Frames 2": [(30, "Enter", "b"), (50, "Leave", "b")],
    }  # fmt: skip


def test_values(run: Path, tmp_path: Path) -> None:
    text = "tsc.CLOCK_MONOTONIC_RAW,Miles.COUNT,Power.INST,pid,tid\n1020,7,-2.5e1,100,107\n1010,5,3,100,107\n"
    trace, _ = imported(run, tmp_path, x__hostname__node0=text)
    printed = call([need("otf2-print"), trace.path / "traces.otf2"], tmp_path).stdout
    told = [" ".join(line.split()) for line in printed.splitlines() if line.startswith("METRIC ")]
    values = [f'("Miles" <0>; INT64; {miles}), ("Power" <1>; DOUBLE; {power})' for miles, power in ((5, 3), (7, -25))]
    assert told == [f"METRIC 3 {t} Metric: 0, 2 Values: {v}" for t, v in zip((10, 20), values, strict=True)]
    opened = package.open(trace.path)
    assert opened.metric_members["mode"].tolist() == ["ACCUMULATED_START", "ABSOLUTE_POINT"]
    assert str(opened.locations["name"][3]) == "Values of Thread 1"


def test_lanes_are_no_threads(run: Path, tmp_path: Path) -> None:
    """Tables have the same numbers as without the import."""
    text = "name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc\nx,1010,1020\n"
    imported(run, tmp_path, x__hostname__node0=text)
    tables = []
    for archive in (run, tmp_path / "new.trace"):
        found = json.loads(vtrace(tmp_path, "summary", "--json", archive).stdout)
        tables.append([found[name] for name in ("regions", "classes")])
    assert tables[0] == tables[1]
    assert "1 lane of intervals" in vtrace(tmp_path, "summary", "new").stdout


def test_host_of_the_file(run: Path, tmp_path: Path) -> None:
    """A file without a host, or of another one: UTC times only, and data of no thread."""
    text = f"name,start_tsc.UTC,end_tsc,pid,tid\nx,{utc(START + 10)},{utc(START + 20)},100,107\n"
    for name in ("plain", "x__hostname__elsewhere"):
        trace, done = imported(run, tmp_path, **{name: text})
        assert calls(trace) == {"MPI Rank 0: Frames": [(10, "Enter", "x"), (20, "Leave", "x")]}
        assert "its data belong to no thread or process" in done.stderr
    refused(run, tmp_path, "plain", "name,start_tsc.RDTSC,end_tsc\nx,1,2\n", "plain.csv names no host (node0, node1): ")


def test_outside_of_the_run(run: Path, tmp_path: Path) -> None:
    late = 1000 + 3 * SECOND
    text = f"name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc\nx,500,900\nx,990,1010\nx,{late},{late}\n"
    trace, done = imported(run, tmp_path, x__hostname__node0=text)
    assert calls(trace) == {"MPI Rank 0: Frames": [(0, "Enter", "x"), (10, "Leave", "x")]}
    assert "x-hostname-node0.csv: 2 lines before or after the run left out" in done.stderr
    assert "x-hostname-node0.csv: 1 interval cut at the start or end of the run" in done.stderr
    only = "name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc\nx,1,2\n"
    refused(run, tmp_path, "x-hostname-node0", only, "no line is within the time of the run")


def refused(run: Path, where: Path, name: str, text: str, reason: str) -> None:
    """The import prints one line with this text, and writes nothing, although another file is fine."""
    fine = where / "fine-hostname-node0.csv"
    fine.write_text("name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc\nx,1010,1020\n")
    (where / f"{name}.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = vtrace(where, "import", run, fine.name, f"{name}.csv", "-o", "none", check=False)
    assert (done.returncode, done.stdout) == (1, ""), str(done)
    assert reason in done.stderr
    assert len([line for line in done.stderr.splitlines() if "error" in line]) == 1
    assert not list(where.glob("*none.trace*"))


INTERVAL, VALUE = "name,start_tsc.RDTSC,end_tsc,pid,tid\n", "tsc.UTC,a.COUNT,tid\n"
BAD = {
    "": ":1:1: the file is empty",
    "hello\n": ":1:1: expected: tsc.RDTSC|CLOCK_MONOTONIC_RAW|UTC",
    "name,start_tsc.QPC,end_tsc\n": ":1:6: QPC is the clock of Windows",
    "name,start_tsc.TSC,end_tsc\n": ":1:6: expected: start_tsc.RDTSC|CLOCK_MONOTONIC_RAW|UTC",
    "name,start_tsc.RDTSC\n": ":1:21: expected: end_tsc",
    "name,start_tsc.RDTSC,end_tsc,tid,pid\n": ":1:30: expected: pid and tid at the end",
    "tsc.RDTSC\n": ":1:10: no column has values",
    "tsc.RDTSC,power\n": ":1:11: the name of a value ends with .COUNT or .INST",
    'tsc.RDTSC,"a, b".INST\n': ":1:11: the name has a quote without its end (quote the whole field",
    'tsc.RDTSC,"a, b"\n': ":1:11: the name of a value ends with .COUNT or .INST",
    INTERVAL + "x,1,2,,\nx,1\n": ":3:4: fields are missing",
    INTERVAL + "x,1,2,,,\n": ":2:8: more fields than in the first line",
    INTERVAL + "x,5,4,,\n": ":2:5: the end is before the start",
    INTERVAL + "x,1.5,4,,\n": ":2:3: expected: a time as a whole number",
    INTERVAL + "x,1,99999999999999999999,,\n": ":2:5: expected: a time as a whole number",
    INTERVAL + "x,1,2,me,\n": ":2:7: expected: a process id, or nothing",
    INTERVAL + "x,1,2,1,-3\n": ":2:9: expected: a thread id, or nothing",
    INTERVAL + ",1,2,,\n": ":2:1: the name is empty",
    INTERVAL + '"x,1,2,,\n': ":2:1: the name has a quote without its end",
    VALUE + "2026-02-29 01:02:03.5,1,\n": ":2:1: expected: a time in UTC as YYYY-MM-DD hh:mm:ss.sssss",
    VALUE + "2026-02-28 01:02:03.5,1,\n2026-02-28 01:02:03.5,,\n": ":3:23: expected: a number",
    VALUE + "2026-02-28 01:02:03.5,1e999,\n": ":2:23: expected: a number",
    VALUE + "2026-02-28 01:02:03.5,0x1,\n": ":2:23: expected: a number",
    "\udcff\n": ":1:1: the first line is not text",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_files(run: Path, tmp_path: Path, text: str) -> None:
    refused(run, tmp_path, "x-hostname-node0", text, f"x-hostname-node0.csv{BAD[text]}")


def test_archive_without_clocks(run: Path, tmp_path: Path) -> None:
    """Archives of other tools have the real time only."""
    (tmp_path / "old.trace").mkdir()
    for path in sorted(run.rglob("*")):
        if path.is_file() and path.parent.name != "vtrace":
            (tmp_path / "old.trace" / path.relative_to(run)).parent.mkdir(exist_ok=True)
            (tmp_path / "old.trace" / path.relative_to(run)).write_bytes(path.read_bytes())
    text = f"name,start_tsc.UTC,end_tsc,tid\nx,{utc(START + 10)},{utc(START + 20)},107\n"
    trace, _ = imported(tmp_path / "old.trace", tmp_path, x__hostname__node0=text)
    assert calls(trace) == {"MPI Rank 0: Tasks of Thread 1": [(10, "Enter", "x"), (20, "Leave", "x")]}
    raw = "name,start_tsc.RDTSC,end_tsc\nx,2010,2020\n"
    refused(tmp_path / "old.trace", tmp_path, "x-hostname-node0", raw, "the trace has no table of clocks")


MANUAL = ("-vt:inst", "manual", "-DVTRACE", "-O1", "-pthread")
INTERVALS = "name,start_tsc.CLOCK_MONOTONIC_RAW,end_tsc,pid,tid\n"
VALUES = 'tsc.CLOCK_MONOTONIC_RAW,n.COUNT,"w, ""x"".INST",pid,tid\n'


def test_round_trip(run: Path, tmp_path: Path) -> None:
    """Import, export, import: the files and the events are the same."""
    files = {
        "a__hostname__node0": f'{INTERVALS}x,1010,1030,,\n"y,z",1015,1025,100,107\nx,1020,1040,,\nq,1030,1035,100,\n',
        "b__hostname__node1": f"{INTERVALS}x,7010,7030,101,101\n",
        "c__hostname__node0": f"{VALUES}1010,5,0.1,100,100\n1020,7,-2.5,100,100\n1025,8,1e+30,,\n",
        "d": f"name,start_tsc.UTC,end_tsc,pid,tid\nall,{utc(START + 10)},{utc(START + 20)},,\n",
    }
    first, _ = imported(run, tmp_path, **files)
    assert package.open(first.path).metric_members["name"].tolist() == ["n", 'w, "x"']
    done = vtrace(tmp_path, "export", "new", "--to", "vtune", "-o", "back.csv")
    written = {
        "back-intervals-hostname-node0.csv": "a__hostname__node0",
        "back-intervals-hostname-node1.csv": "b__hostname__node1",
        "back-values-hostname-node0.csv": "c__hostname__node0",
        "back-intervals.csv": "d",
    }
    assert {Path(line.partition(":")[0]).name for line in done.stdout.splitlines()} == set(written)
    for name, origin in written.items():
        assert (tmp_path / name).read_text() == files[origin]
    vtrace(tmp_path, "import", run, *sorted(written, key=written.__getitem__), "-o", "again")
    again = read(tmp_path / "again.trace")
    assert [(e.location, e.time, e.kind, e.attrs) for e in again.events] == [
        (e.location, e.time, e.kind, e.attrs) for e in first.events
    ]


def test_export_of_threads(run: Path, tmp_path: Path) -> None:
    """An archive without imported data: the calls of its threads."""
    vtrace(tmp_path, "export", run, "--to", "vtune", "-o", "x")
    call_of = f"MPI_Send,1000,{1000 + 2 * SECOND},100"
    first, second = ((tmp_path / f"x-intervals-hostname-node{n}.csv").read_text() for n in (0, 1))
    assert first == f"{INTERVALS}{call_of},100\n{call_of},107\n"
    assert second == f"{INTERVALS}MPI_Send,7000,{7000 + SECOND},101,101\n"
    codes = [vtrace(tmp_path, "export", run, "--to", "vtune", check=False) for _ in range(2)]
    assert [(done.returncode, done.stderr.count("exists")) for done in codes] == [(0, 0), (1, 1)]


@pytest.mark.parametrize("rate", ["0", "1000"])
def test_recorded_program(build: Builder, tmp_path: Path, rate: str) -> None:
    """Readings of all clocks inside of calls are inside of these calls, on the threads that read the clocks. With
    samples the intervals are calling contexts, as the calls are."""
    program = build("external.c", flags=MANUAL)
    done = run_program(program, tmp_path, "4", env={"VT_SAMPLE_RATE": rate})
    unify(tmp_path, "external")
    told = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    own = package.open(tmp_path / "external.trace").vtrace["ABOUT"]["clock"]
    clocks = ["RDTSC", "CLOCK_MONOTONIC_RAW", "UTC"]
    for place, clock in enumerate(clocks[own != "rdtsc" :]):
        place += own != "rdtsc"
        lines = [f"name,start_tsc.{clock},end_tsc,pid,tid"]
        for pid, tid, *readings in told:
            begin, end = (utc(each) if clock == "UTC" else each for each in readings[2 * place : 2 * place + 2])
            lines.append(f"{clock},{begin},{end},{pid},{tid}")
        (tmp_path / f"{clock}-hostname-{platform.node()}.csv").write_text("\n".join(lines))
    vtrace(tmp_path, "import", "external", *sorted(tmp_path.glob("*.csv")), "-o", "new")
    trace = package.open(read(tmp_path / "new.trace").path)
    assert (rate != "0") == bool(trace.contexts.rows)
    names, found = trace.regions["name"], trace.slices()
    for thread in ("Master thread", "Thread 1"):
        row = trace.locations["name"].tolist().index(thread)
        steps = found.take((found["location"] == row) & (names[found["region"]] == "step"))
        lanes = [n for n, name in enumerate(trace.locations["name"]) if str(name).startswith(f"Tasks of {thread}")]
        for clock in clocks[own != "rdtsc" :]:
            mine = found.take([i for i in range(found.rows) if found["location"][i] in lanes
                               and names[found["region"][i]] == clock])  # fmt: skip
            assert mine.rows == steps.rows == 4
            assert (steps["begin"] < mine["begin"]).all()
            assert (mine["end"] < steps["end"]).all()


def test_at_vtunify(build: Builder, tmp_path: Path) -> None:
    """vtunify takes the files of its hosts beside the local files; a bad file gives a warning, and the others count."""
    program = build("external.c", flags=MANUAL)
    done = run_program(program, tmp_path, "2")
    host = platform.node()
    rows = [line.split() for line in done.stdout.splitlines()]
    lines = [f"mine,{row[4]},{row[5]},{row[0]},{row[1]}\n" for row in rows]
    (tmp_path / f"a-hostname-{host}.csv").write_text(INTERVALS + "".join(lines))
    (tmp_path / f"b-hostname-{host}.csv").write_text(f"{INTERVALS}x,2,1,,\n")
    (tmp_path / "c-hostname-elsewhere.csv").write_text("not a table")
    unified_first = unify(tmp_path, "-k", "external", "-o", "first")
    assert f"a-hostname-{host}.csv: 4 intervals, 0 values imported on 2 locations" in unified_first.stdout
    assert f"b-hostname-{host}.csv:2:5: the end is before the start" in unified_first.stderr
    assert "c-hostname" not in unified_first.stderr
    trace = read(tmp_path / "first.trace")
    assert trace.calls()["mine"] == trace.calls()["step"] == 4
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    again = vtrace(tmp_path, "import", "first", f"a-hostname-{host}.csv", "-o", "second", check=False)
    assert (again.returncode, again.stdout) == (1, "")
    assert f"a-hostname-{host}.csv: first.trace has these lines already" in again.stderr
    assert not (tmp_path / "second.trace").exists()
    (tmp_path / f"d-hostname-{host}.csv").write_text(INTERVALS + lines[0])
    more = vtrace(tmp_path, "import", "first", f"d-hostname-{host}.csv", "-o", "second")
    assert "1 interval, 0 values" in more.stdout
    words = ("import", "second", f"d-hostname-{host}.csv", "-o", "third")
    assert "second.trace has these lines already" in vtrace(tmp_path, *words, check=False).stderr


@pytest.mark.parametrize("ns", [2**62, 2**63 - 2])
def test_clock_readings_that_cannot_be(tmp_path: Path, ns: int) -> None:
    """The last pair of the clock is damaged: its moments fit into no column of the table of clocks."""
    known = [world(0, 1), MPI_SEND, *(["CLOCK", *pair] for pair in [*NODE0, (ns, ns, ns)])]
    chunk = Chunk(0, 0, NODE0[0][0], pair=NODE0[0])
    write_rank(
        tmp_path, 0, 1, known, {0: [chunk.record("ENTER", 0, 1).record("LEAVE", 5, 1)]}, host="node0", pair=NODE0[0]
    )
    assert unified(tmp_path).calls() == {"MPI_Send": 1}
