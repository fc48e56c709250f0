# SPDX-License-Identifier: BSD-3-Clause
"""Calls of MPI that find nothing: runs of them are one call in the archive, and each of them counts."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import signal
import struct
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import otf2
import pytest

import vtrace as vtrace_module
from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.readers.archive import Trace
from support.readers.contents import Event
from support.tools import need
from vtrace.timeline.window_reader import WindowReader

FUNCTIONS = ("MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome")
SMALL = {"VT_BUFFER_SIZE": "100K"}


@dataclass(frozen=True)
class Polled:
    """A run of mpi_polls.c. said: the numbers that it has printed."""

    cwd: Path
    trace: Trace
    said: dict[str, int]

    @property
    def expected(self) -> dict[str, int]:
        return {name: self.said[name] for name in FUNCTIONS if self.said[name]}


def built(mpi: Mpi) -> Path:
    return mpi.build("mpi_polls.c", (*MANUAL, "-pthread"))


def record(mpi: Mpi, cwd: Path, *steps: str, threads: int = 1, env: dict[str, str] | None = None) -> Polled:
    done = mpi.run(built(mpi), cwd, str(threads), *steps, ranks=1, env=env)
    unify(cwd, "mpi_polls")
    said = {name: int(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    return Polled(cwd, check(cwd / "mpi_polls.trace", complete=False), said)


def leaves(trace: Trace) -> list[Event]:
    return [e for e in trace.events if e.kind == "Leave" and trace.region_of(e).name in FUNCTIONS]


def counted(trace: Trace) -> dict[str, int]:
    """The number of calls of each function, by the attributes of Leaves, from the otf2 package."""
    found: Counter[str] = Counter()
    for event in leaves(trace):
        found[trace.region_of(event).name] += event.more.get("calls", 1)
    return dict(found)


def profiled(cwd: Path, command: str = "profile", *options: str, prefix: str = "mpi_polls") -> dict[str, int]:
    """The same from a command's CSV."""
    text = vtrace(cwd, command, prefix, "--csv", *options).stdout
    rows = csv.DictReader(text.splitlines())
    names = [(row.get("function") or row["region"], int(row["calls"])) for row in rows]
    return {name: calls for name, calls in names if name in FUNCTIONS}


def test_runs_of_polls_count_exactly(mpi: Mpi, tmp_path: Path) -> None:
    steps = "p5000 t3000 u2000 a700 y600 s500 m400 e1 p800 p50 r1 t5 f2 p3 k2 p9 b40".split()
    found = record(mpi, tmp_path, *steps)
    assert found.expected["MPI_Test"] == 3000 + 2000 + 5 + 2 * 40
    assert counted(found.trace) == found.expected
    assert len(leaves(found.trace)) < sum(found.expected.values()) / 10
    assert profiled(tmp_path) == found.expected
    assert profiled(tmp_path, "summary", "--only", "regions") == found.expected
    report = vtrace(tmp_path, "mpip", "mpi_polls").stdout
    statistics = report[report.index("Callsite Time statistics (all") :]
    for name, calls in found.expected.items():
        assert re.search(rf"^{name.removeprefix('MPI_')} +\d+ +0 +{calls} ", statistics, re.MULTILINE), statistics


def test_copies_and_exports_keep_the_number(mpi: Mpi, tmp_path: Path) -> None:
    found = record(mpi, tmp_path, "p2000", "e1", "t1500", "c50", "p100")
    vtrace(tmp_path, "cut", "mpi_polls", "-o", "part", "--from", "0s")
    assert counted(check(tmp_path / "part.trace", complete=False)) == found.expected
    assert profiled(tmp_path, "profile", prefix="part") == found.expected
    vtrace(tmp_path, "export", "mpi_polls", "--to", "csv", "-o", "events.csv")
    exported: Counter[str] = Counter()
    with (tmp_path / "events.csv").open() as file:
        for row in csv.DictReader(file):
            if row["event"] == "Leave" and row["region"] in FUNCTIONS:
                exported[row["region"]] += int(row["calls"] or 1)
    assert exported == found.expected
    by_path = vtrace(tmp_path, "profile", "mpi_polls", "--by", "callpath", "--csv").stdout
    text = "\n".join(line for line in by_path.splitlines() if "MPI_Iprobe" in line)
    assert "2100" in text, by_path


def test_polls_in_sections(mpi: Mpi, tmp_path: Path) -> None:
    """A section separates rows, and has the calls between its start and its stop."""
    found = record(mpi, tmp_path, "p700", "[1", "p1000", "t300", "]1", "p50", "[2", "t40", "]2", "t900")
    assert counted(found.trace) == found.expected
    words = ("--by", "section", "--json")
    rows = json.loads(vtrace(tmp_path, "profile", "mpi_polls", *words).stdout)["sections"]
    assert {row["section"]: row["mpi_calls"] for row in rows if row["kind"] == "maximum"} == {
        "all/0": sum(found.expected.values()) + 7,
        "polls/1": 1300, "polls/2": 40,
    }  # fmt: skip
    rows = json.loads(vtrace(tmp_path, "profile", "mpi_polls", *words, "--metrics", "mpi").stdout)
    functions = {(row["section"], row["function"]): row["calls"] for row in rows["section_mpi_by_process"]}
    expected = {("polls/1", "MPI_Iprobe"): 1000, ("polls/1", "MPI_Test"): 300, ("polls/2", "MPI_Test"): 40}
    assert {key: calls for key, calls in functions.items() if key[0] != "all/0"} == expected


def test_the_page_and_perfetto_show_the_number(mpi: Mpi, tmp_path: Path) -> None:
    found = record(mpi, tmp_path, "p700", "t600", "e1", "p500")
    trace = vtrace_module.open(tmp_path / "mpi_polls")
    calls = WindowReader(trace, None).window([0], 0, trace.duration + 1).calls
    counts: Counter[str] = Counter()
    for region, number in zip(calls["region"].tolist(), calls["calls"].tolist(), strict=True):
        counts[str(trace.regions["name"][region])] += number
    assert {name: counts[name] for name in found.expected} == found.expected
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    vtrace(tmp_path, "export", "mpi_polls", "--to", "perfetto", "-o", "polls.pftrace")
    packets = protos.Trace()
    packets.ParseFromString((tmp_path / "polls.pftrace").read_bytes())
    words = {
        entry.iid: entry.name for packet in packets.packet for entry in packet.interned_data.debug_annotation_names
    }
    shown = sorted(
        one.int_value
        for packet in packets.packet
        for one in packet.track_event.debug_annotations
        if words[one.name_iid] == "calls"
    )
    assert shown == sorted(e.more["calls"] for e in leaves(found.trace) if e.more.get("calls", 1) > 1)


def test_a_filter_counts_records(mpi: Mpi, tmp_path: Path) -> None:
    """vtrace score estimates the bytes of records, of which a row of calls has few."""
    found = record(mpi, tmp_path, "p4000", "t4000")
    rows = json.loads(vtrace(tmp_path, "score", "mpi_polls", "--json").stdout)
    (poll,) = (row for row in rows if row["name"] == "MPI_Iprobe")
    assert poll["calls"] == found.expected["MPI_Iprobe"]
    assert poll["bytes"] < 4000


def test_the_mean_of_a_run(mpi: Mpi, tmp_path: Path) -> None:
    """Sums are those of the events; minimum and maximum of a run are its mean."""
    found = record(mpi, tmp_path, "p3000", "e1", "p3000")
    times: list[tuple[int, int]] = []
    begin = 0
    for event in found.trace.events:
        if event.kind in ("Enter", "Leave") and found.trace.region_of(event).name == "MPI_Iprobe":
            if event.kind == "Enter":
                begin = event.time
            else:
                times.append((event.time - begin, event.more.get("calls", 1)))
    (row,) = (
        row
        for row in csv.DictReader(
            vtrace(tmp_path, "summary", "mpi_polls", "--only", "regions", "--csv").stdout.splitlines()
        )
        if row["region"] == "MPI_Iprobe"
    )
    assert int(row["inclusive_ns"]) == sum(ns for ns, _ in times)
    assert int(row["min_ns"]) == min(ns // calls for ns, calls in times)
    assert int(row["max_ns"]) == max(ns // calls for ns, calls in times)
    assert float(row["mean_ns"]) == pytest.approx(sum(ns for ns, _ in times) / 6000)


def test_the_attribute_tells_its_meaning(mpi: Mpi, tmp_path: Path) -> None:
    mpi.run(built(mpi), tmp_path, "1", "t1000", ranks=1)
    dump = vtrace(tmp_path, "dump", "mpi_polls").stdout.splitlines()
    assert len([line for line in dump if "ATTRIBUTE" in line and "name=calls" in line]) == 1
    shown = [line for line in dump if "ATTRIBUTE calls <" in line]
    found = record(mpi, tmp_path, "t1000")
    runs = [event for event in leaves(found.trace) if "calls" in event.more]
    assert runs
    assert shown
    tests = [e for e in found.trace.events if e.kind == "MpiRequestTest"]
    assert len(tests) == len(leaves(found.trace))  # each recorded call still names its request


def test_polls_between_computation_are_single_calls(mpi: Mpi, tmp_path: Path) -> None:
    """The computation between the calls never counts as time of MPI."""
    found = record(mpi, tmp_path, "i300", "c1000", "i300", "p1000", "c2000", "p1000")
    assert counted(found.trace) == found.expected
    begin: dict[int, int] = {}
    inside = 0
    for event in found.trace.events:
        if event.kind in ("Enter", "Leave") and found.trace.region_of(event).name in FUNCTIONS:
            if event.kind == "Enter":
                begin[event.location] = event.time
            else:
                inside += event.time - begin.pop(event.location)
    times = [e.time for e in found.trace.events if e.kind == "Enter" and found.trace.region_of(e).name in FUNCTIONS]
    ends = [e.time for e in leaves(found.trace)]
    assert inside <= max(ends) - min(times) - found.said["computed"] - 3_000_000 * 9 // 10


def test_off_and_rewind(mpi: Mpi, tmp_path: Path) -> None:
    """Calls while recording is off, and calls that a rewind discards, do not count."""
    found = record(mpi, tmp_path, "p100", "o20", "p100", "l20", "p100", "l1", "p50")
    assert counted(found.trace) == found.expected


def test_chunks_change(mpi: Mpi, tmp_path: Path) -> None:
    rounds = [step for n in range(35) for step in (f"p{n % 7 + 1}", f"t{n % 5 + 1}", "e1")]
    found = record(mpi, tmp_path, *rounds, "#40", env=SMALL)
    assert counted(found.trace) == found.expected
    assert found.trace.calls()["event"] == 35 * 40


def test_a_handler_records(mpi: Mpi, tmp_path: Path) -> None:
    """A signal comes at any instruction. Its records separate runs; if it comes within a record, its own are lost."""
    found = record(mpi, tmp_path, "j70", "p200000", "t200000", "j0")
    assert found.said["handled"] > 10
    assert counted(found.trace) == found.expected
    assert found.trace.calls()["handled"] <= found.said["handled"]


def test_threads_have_runs_of_their_own(mpi: Mpi, tmp_path: Path) -> None:
    done = mpi.run(built(mpi), tmp_path, "3", "p1", ranks=1, code=None)
    if done.returncode == 77:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    found = record(mpi, tmp_path, "p3000", "e1", "t3000", "b20", "a100", threads=3)
    assert counted(found.trace) == found.expected
    assert profiled(tmp_path) == found.expected


def test_each_poll(mpi: Mpi, tmp_path: Path) -> None:
    found = record(mpi, tmp_path, "p300", "t200", "a100", env={"VT_MPI_POLLS": "yes"})
    assert counted(found.trace) == found.expected
    assert len(leaves(found.trace)) == 600


@pytest.mark.parametrize(
    "env", [{"VT_MPI_CALLSITES": "1"}, {"VT_METRICS": "minor-faults"}, {"VT_STOP_AFTER": "MPI_Iprobe:100000"}]
)
def test_settings_that_need_each_call(mpi: Mpi, tmp_path: Path, env: dict[str, str]) -> None:
    found = record(mpi, tmp_path, "p300", "t200", env=env)
    assert len(leaves(found.trace)) == 500


def test_the_clock_of_the_system(mpi: Mpi, tmp_path: Path) -> None:
    found = record(mpi, tmp_path, "p3000", "t2000", env={"VT_CLOCK_COUNTER": "no"})
    assert counted(found.trace) == found.expected
    assert len(leaves(found.trace)) < 2500


def test_a_sampled_thread(mpi: Mpi, tmp_path: Path) -> None:
    found = record(mpi, tmp_path, "p60000", "e1", "t60000", env={"VT_SAMPLE_RATE": "1000"})
    assert profiled(tmp_path) == found.expected


def test_a_process_is_killed(mpi: Mpi, tmp_path: Path) -> None:
    """All calls before the kill count."""
    mpi.run(built(mpi), tmp_path, "1", "p5000", "t4000", "z1", ranks=1, code=None)
    unify(tmp_path, "mpi_polls", "--partial", check=False)
    trace = check(tmp_path / "mpi_polls.trace", complete=False)
    assert counted(trace) == {"MPI_Iprobe": 5000, "MPI_Test": 4000}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full), pytest.param(3, marks=pytest.mark.full)])
def test_a_process_is_killed_at_any_moment(mpi: Mpi, tmp_path: Path, seed: int) -> None:
    """The archive has as many calls as the program has begun, or one less: that of the kill."""
    for number in range(4):
        where = tmp_path / str(number)
        where.mkdir()
        counts = where / "counts"
        env = {**os.environ, **mpi.env, "MPI_POLLS_COUNTS": str(counts)}
        process = subprocess.Popen([built(mpi), "1", "t2000000000"], cwd=where, env=env, stderr=subprocess.DEVNULL)
        while not counts.exists() or not any(counts.read_bytes()):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(random.Random(f"{seed} {number}").random() / 5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        begun, ended, _ = struct.unpack_from("3q", counts.read_bytes())
        unify(where, "mpi_polls", "--partial", check=False)
        found = counted(check(where / "mpi_polls.trace", complete=False))["MPI_Test"]
        assert ended <= found <= begun


def test_threads_poll_while_the_program_ends(mpi: Mpi, tmp_path: Path) -> None:
    """The thread that ends the program finds complete records of the others, each call counted once."""
    for number in range(5):
        where = tmp_path / str(number)
        where.mkdir()
        env = {"MPI_POLLS_COUNTS": str(where / "counts")}
        done = mpi.run(built(mpi), where, "4", f"x{3000 + 7777 * number}", "t2000000000", ranks=1, env=env, code=None)
        if done.returncode == 77:
            pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
        unify(where, "mpi_polls", "--partial", check=False)
        trace = check(where / "mpi_polls.trace", complete=False)
        calls: Counter[int] = Counter()
        for event in leaves(trace):
            calls[event.location] += event.more.get("calls", 1)
        rows = [*struct.iter_unpack("3q", (where / "counts").read_bytes()[24:96])]
        begun, before = sorted(row[0] for row in rows), sorted(row[2] for row in rows)
        found = sorted([*calls.values(), 0, 0, 0])[-3:]  # a thread may not have begun
        for least, n, most in zip(before, found, begun, strict=True):
            assert least <= n <= most


@pytest.mark.parametrize("flags", [("-fallow-argument-mismatch",), ("-DF08",)])
@pytest.mark.parametrize("name", ["mpich", pytest.param("openmpi", marks=pytest.mark.full)])
def test_fortran(name: str, flags: tuple[str, ...], build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find(name, build)
    compiler = need(f"mpifort.{mpi.name}")
    program = mpi.builder("mpi_polls.F90", compiler=compiler, flags=(*MANUAL, *flags))
    trace = mpi.record(program, tmp_path, ranks=1)
    assert counted(trace) == {"MPI_Iprobe": 1000, "MPI_Test": 2000, "MPI_Testall": 300}
    assert len(leaves(trace)) < 500


def steps_of(seed: str) -> list[str]:
    """A random program."""
    chance = random.Random(seed)
    found = []
    for _ in range(chance.randrange(20, 120)):
        letter = chance.choice("pppptttuuabysmmeekkrfoclib")
        most = {"c": 60, "i": 5, "f": 2, "k": 3, "o": 3, "l": 4}.get(letter, chance.choice((1, 2, 3, 8, 90, 2000)))
        found.append(f"{letter}{chance.randrange(1, most + 1)}")
    return found


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.full) for n in range(4, 40))])
def test_random_polls(mpi: Mpi, tmp_path: Path, seed: int) -> None:
    steps = steps_of(f"polls {seed}")
    timer = ["j90"] if seed % 2 else []
    found = record(mpi, tmp_path, *timer, *steps, "j0", env=SMALL if seed % 4 > 1 else None)
    assert counted(found.trace) == found.expected, steps
    assert profiled(tmp_path) == found.expected, steps


@pytest.mark.parametrize("value", [0, 2**32, 2**62, 2**63, 2**64 - 1])
def test_numbers_that_no_run_has(tmp_path: Path, value: int) -> None:
    """A damaged number of calls counts as one call: four of 2**62 would be no call at all, by which a mean divides."""
    with otf2.writer.open(str(tmp_path / "odd"), timer_resolution=10**9) as trace:
        define = trace.definitions
        group = define.location_group("process", system_tree_parent=define.system_tree_node("host", "node"))
        calls = define.attribute("calls", "number of calls that found nothing, recorded as one", otf2.enums.Type.UINT64)
        region = define.region("MPI_Iprobe", paradigm=otf2.enums.Paradigm.MPI)
        writer = trace.event_writer_from_location(define.location("Master thread", group=group))
        for number in range(4):
            writer.enter(10 * number, region)
            writer.leave(10 * number + 7, region, attributes={calls: value})
    rows = json.loads(vtrace(tmp_path, "profile", "odd/traces.otf2", "--json").stdout)["profile"]
    assert [(row["function"], row["calls"], row["exclusive_ns"]) for row in rows] == [("MPI_Iprobe", 4, 28)]
