# SPDX-License-Identifier: BSD-3-Clause
"""vtrace import of traces of other tools: each interval with its exact time, process, thread and stream."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.build.run import vtrace
from support.readers.archive import Trace, read
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import MPI_SEND, START, unified, world, write_rank
from support.tools import call, need
from vtrace.analysis.questions.links import Links
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.trace import Trace as Opened

SECOND = 10**9
_ID = 1 << 24


def calls(trace: Trace) -> dict[str, list[tuple[int, str, str]]]:
    """Time, kind and region of the calls of each location, by process and name of the location."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for event in trace.events:
        if event.kind in ("Enter", "Leave"):
            location = trace.locations[event.location]
            row = event.time, event.kind, trace.region_of(event).name
            found.setdefault(f"{location.group}: {location.name}", []).append(row)
    return found


def flows(trace: Trace) -> list[list[str]]:
    """The regions of each flow, by time."""
    found: dict[int, list[str]] = {}
    for event in trace.events:
        if "FLOW" in event.more:
            found.setdefault(event.more["FLOW"], []).append(trace.region_of(event).name)
    return [*found.values()]


def made(where: Path, *words: str | Path) -> Trace:
    done = vtrace(where, "import", *words, "-o", "new", "--force")
    assert done.stdout.startswith("new.trace: ")
    return read(where / "new.trace")


def pair(begin: int, end: int, name: str) -> list[tuple[int, str, str]]:
    return [(begin, "Enter", name), (end, "Leave", name)]


def kineto(rank: int, pid: int, events: str) -> str:
    """A trace of PyTorch's profiler, with the numbers as texts, since Python would round them."""
    return f"""{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA H200"}}],
    "distributedInfo": {{"backend": "gloo", "rank": {rank}, "world_size": 2}}, "host_name": "node{rank}",
    "traceEvents": [{events},
    {{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "python"}}}},
    {{"ph": "M", "name": "thread_name", "pid": {pid}, "tid": {pid}, "args": {{"name": "main"}}}}],
    "traceName": "x.json", "baseTimeNanoseconds": {START}}}"""


def test_ranks_of_pytorch(tmp_path: Path) -> None:
    """A file a rank, in any order; times are exact, where a double has steps of 1 us; a kernel is on a stream."""
    first = """{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 70, "tid": 70, "ts": 5224289044542.146,
        "dur": 1931.827},
    {"ph": "X", "cat": "python_function", "name": "net.py(12): forward", "pid": 70, "tid": 70, "ts": 5224289044542.146,
        "dur": 1931.828},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5224289044543.5, "dur": 2,
        "args": {"device": 0, "stream": 7}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 5224289044545.500, "dur": 0.001,
        "args": {"device": 0, "stream": 7, "bytes": 4096}},
    {"ph": "s", "id": 1, "pid": 70, "tid": 70, "ts": 5224289044542, "cat": "ac2g", "name": "ac2g"},
    {"ph": "s", "id": 2, "pid": 70, "tid": 70, "ts": 5224289044542.146, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 2, "pid": 0, "tid": 7, "ts": 5224289044543.5, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
        "ts": 5224289044542.146, "dur": 3}"""
    second = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 71, "tid": 71, "ts": 5224289044542.145, "dur": 1}'
    (tmp_path / "a.json").write_text(kineto(1, 71, second))
    (tmp_path / "b.json").write_text(kineto(0, 70, first))
    done = vtrace(tmp_path, "import", "a.json", "b.json", "-o", "new")
    assert "new.trace: 2 processes, 6 intervals on 4 locations" in done.stdout
    assert "b.json: left out: flows without an interval (1)" in done.stderr
    trace = read(tmp_path / "new.trace")
    assert flows(trace) == [["aten::mm", "gemm"]]
    assert calls(trace) == {
        "Rank 0: main": [
            (1, "Enter", "forward"), (1, "Enter", "aten::mm"), (1931828, "Leave", "aten::mm"),
            (1931829, "Leave", "forward"),
        ],
        "Rank 0: CUDA[0]: CUDA[0:7]": [*pair(1355, 3355, "gemm"), *pair(3355, 3356, "Memcpy HtoD")],
        "Rank 0: PyTorch Profiler": pair(1, 3001, "PyTorch Profiler (0)"),
        "Rank 1: main": pair(0, 1000, "aten::mm"),
    }  # fmt: skip
    assert trace.realtime == START + 5224289044542145
    forward = trace.region("forward")
    assert (forward.file, forward.line) == ("net.py", 12)
    assert trace.region("gemm").role == "KERNEL"
    assert trace.region("gemm").paradigm == "CUDA"
    summary = json.loads(vtrace(tmp_path, "summary", "new", "--json").stdout)
    assert summary["processes"] == 2
    (device,) = summary["devices"]
    assert (device["device"], device["kernels"], device["copies"], device["bytes"]) == ("Rank 0: CUDA[0]", 1, 1, 4096)
    assert (device["kernels_ns"], device["copies_ns"]) == (2000, 1)
    assert [row["location"] for row in summary["classes"]] == ["Rank 0 on node0, main", "Rank 1 on node1"]


FLOWS = """[{"ph":"X","name":"outer","pid":5,"tid":5,"ts":0,"dur":10},
{"ph":"X","name":"a","pid":5,"tid":5,"ts":1,"dur":1}, {"ph":"X","name":"b","pid":5,"tid":6,"ts":3,"dur":2},
{"ph":"X","name":"c","pid":5,"tid":7,"ts":8,"dur":1},
{"ph":"s","cat":"x","name":"n","id":"0x10","pid":5,"tid":5,"ts":1.5},
{"ph":"t","cat":"x","name":"n","id":16,"pid":5,"tid":6,"ts":4},
{"ph":"f","cat":"x","name":"n","id":16,"pid":5,"tid":7,"ts":6},
{"ph":"s","cat":"y","name":"n","id":16,"pid":5,"tid":5,"ts":3},
{"ph":"f","bp":"e","cat":"y","name":"n","id":16,"pid":5,"tid":7,"ts":9},
{"ph":"s","cat":"x","name":"n","id":"w","pid":5,"tid":9,"ts":4},
{"ph":"f","cat":"x","name":"n","id":"w","pid":5,"tid":7,"ts":9.5},
{"ph":"s","cat":"z","name":"n","id":1.5,"pid":5,"tid":9,"ts":4},
{"ph":"s","cat":"x","name":"n","id2":{"global":"0x1"},"pid":5,"tid":5,"ts":1},
{"ph":"t","id":16,"pid":5,"tid":5,"ts":1}]"""


def test_flows(tmp_path: Path) -> None:
    """A flow belongs to the innermost interval around its time, its end without bp to the next one; of an interval with
    two flows the first stays. vtrace view draws links. A flow without an id or a name stops no import."""
    (tmp_path / "a.json").write_text(FLOWS)
    (tmp_path / "b.json").write_text(FLOWS)
    done = vtrace(tmp_path, "import", "a.json", "b.json", "-o", "new")
    assert "a.json: left out: flows without an id or a name (2), flows without an interval (4)" in done.stderr
    assert sorted(flows(read(tmp_path / "new.trace"))) == [["a", "b", "c"]] * 2 + [["outer"]] * 2
    links = Links(100)
    ask(Opened(tmp_path / "new.trace/traces.otf2"), [links])
    found = [(row["send"], row["receive"]) for row in links.answer().records()]
    assert found == [(1000, 3000)] * 2 + [(3000, 8000)] * 2


PHASES = """[{"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"server"}},
{"ph":"B","name":"f","pid":5,"tid":5,"ts":1}, {"ph":"B","name":"g","pid":5,"tid":5,"ts":2.0005},
{"ph":"E","pid":5,"tid":5,"ts":3}, {"ph":"i","s":"t","name":"tick","pid":5,"tid":5,"ts":4},
{"ph":"E","pid":5,"tid":5,"ts":5e0}, {"ph":"E","pid":5,"tid":5,"ts":6},
{"ph":"b","cat":"req","id":"0x1","name":"get","pid":5,"ts":1},
{"ph":"b","cat":"req","id":"0x2","name":"put","pid":5,"ts":2},
{"ph":"e","cat":"req","id":"0x1","name":"get","pid":5,"ts":3},
{"ph":"e","cat":"req","id":"0x2","name":"put","pid":5,"ts":4},
{"ph":"C","name":"load","pid":5,"ts":1,"args":{"value":1}},
{"ph":"C","name":"load","pid":5,"ts":2,"args":{"value":2.5}},
{"ph":"X","name":"f","pid":5,"tid":"pool","ts":"7.25","dur":"0.75"}, {"ph":"B","name":"open","pid":5,"tid":6,"ts":2},
{"ph":"X","name":"h","pid":5,"tid":6,"ts":3,"dur":4}, {"ph":"O","name":"object","pid":5,"ts":1}"""


@pytest.mark.parametrize("packed", [False, True])
def test_phases_of_chrome(tmp_path: Path, packed: bool) -> None:
    """Begins and ends, intervals that overlap, counters, remarks; an array without its end, times without an epoch."""
    data = PHASES.encode()
    (tmp_path / "x.json").write_bytes(gzip.compress(data) if packed else data)
    done = vtrace(tmp_path, "import", "x.json", "-o", "new")
    trace = read(tmp_path / "new.trace")
    assert calls(trace) == {
        "server 5: Thread 5": [(0, "Enter", "f"), (1000, "Enter", "g"), (2000, "Leave", "g"), (4000, "Leave", "f")],
        "server 5: Thread pool": pair(6250, 7000, "f"),
        "server 5: Thread 6": [(1000, "Enter", "open"), *pair(2000, 6000, "h"), (6000, "Leave", "open")],
        "server 5: req": pair(0, 2000, "get"),
        "server 5: req 2": pair(1000, 3000, "put"),
    }
    values = [(event.time, event.attrs["values"]) for event in trace.events if event.kind == "Metric"]
    assert values == [(0, [1.0]), (1000, [2.5])]
    assert [(marker.time, marker.text) for marker in trace.markers] == [(3000, "tick")]
    assert trace.realtime == 2**64 - 1
    for line in ("left out: ends without a begin (1), objects (1)", "x.json: 1 interval without an end"):
        assert line in done.stderr


def test_viztracer(tmp_path: Path) -> None:
    """A real trace: each call of a function of the script, with its file and line."""
    program = tmp_path / "work.py"
    program.write_text("def f(n):\n    return n\n\ndef g():\n    for i in range(3):\n        f(i)\n\ng()\ng()\n")
    call([need("viztracer"), "--quiet", "-o", "work.json", program], tmp_path)
    trace = made(tmp_path, "work.json")
    assert (trace.calls()["f"], trace.calls()["g"]) == (6, 2)
    assert (trace.region("g").file, trace.region("g").line) == (str(program), 4)
    diagnosis = vtrace(tmp_path, "diagnose", "new")
    assert diagnosis.stdout.startswith("new\n")
    assert "work.py" in vtrace(tmp_path, "profile", "new", "--by", "line").stdout


def database(path: Path, tables: dict[str, tuple[str, Sequence[Sequence[Any]]]]) -> None:
    with sqlite3.connect(path) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            places = ", ".join("?" * (columns.count(",") + 1))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)
    connection.close()


def test_nsight_systems(tmp_path: Path) -> None:
    """Two processes of one report: host calls, ranges of NVTX, kernels and copies, by the columns of its manual."""
    thread, process = (100 * _ID) + 107, 100 * _ID
    words = [(1, "cudaLaunchKernel_v7000"), (2, "gemm<float>"), (3, "MPI_Barrier"), (4, "worker"), (5, "epoch")]
    database(tmp_path / "report.sqlite", {
        "StringIds": ("id, value", words),
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs", [(START,)]),
        "TARGET_INFO_SYSTEM_ENV": ("name, value", [("Hostname", "node7")]),
        "PROCESSES": ("globalPid, pid, name", [(process, 100, "train")]),
        "ThreadNames": ("nameId, priority, globalTid", [(4, 0, thread)]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            "start, end, globalTid, correlationId, nameId", [(10, 15, thread, 1, 1), (20, 25, thread, 2, 1)]
        ),
        "MPI_COLLECTIVES_EVENTS": ("start, end, globalTid, textId", [(30, 40, 200 * _ID + 200, 3)]),
        "NVTX_EVENTS": (
            "start, end, eventType, text, textId, globalTid",
            [(5, 50, 59, None, 5, thread), (6, 60, 60, "across", None, thread), (7, None, 34, "now", None, thread),
             (8, None, 59, "open", None, thread)],
        ),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            "start, end, deviceId, streamId, correlationId, globalPid, demangledName",
            [(12, 30, 0, 7, 1, process, 2), (25, 35, 0, 8, 2, process, 2)],
        ),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (
            "start, end, deviceId, streamId, globalPid, bytes, copyKind", [(31, 33, 0, 7, process, 4096, 1)]
        ),
    })  # fmt: skip
    done = vtrace(tmp_path, "import", "report.sqlite", "-o", "new")
    trace = read(tmp_path / "new.trace")
    launches = [*pair(5, 10, "cudaLaunchKernel"), *pair(15, 20, "cudaLaunchKernel")]
    assert calls(trace) == {
        "train 100: worker": [(0, "Enter", "epoch"), *launches, (45, "Leave", "epoch")],
        "process 200: Thread 200": pair(25, 35, "MPI_Barrier"),
        "train 100: NVTX": pair(1, 55, "across"),
        "train 100: CUDA[0]: CUDA[0:7]": [*pair(7, 25, "gemm<float>"), *pair(26, 28, "Memcpy HtoD")],
        "train 100: CUDA[0]: CUDA[0:8]": pair(20, 30, "gemm<float>"),
    }
    assert trace.realtime == START + 5
    assert "left out: ranges of NVTX without an end (1)" in done.stderr
    assert [marker.text for marker in trace.markers] == ["now"]


@pytest.mark.parametrize("agent", ["agent_abs_index", "agent_absolute_index"])
def test_rocprofv3(tmp_path: Path, agent: str) -> None:
    """The views of rocpd, of two versions: HIP's calls, kernels and copies."""
    database(tmp_path / "run_results.db", {
        "processes": ("pid, hostname, command", [(55, "node1", "/opt/bin/solve -n 4")]),
        "regions": ("name, category, pid, tid, start, end", [("hipLaunchKernel", "HIP_RUNTIME_API", 55, 55, 100, 110)]),
        "kernels": (f"name, pid, {agent}, queue_id, stream_id, start, end", [("saxpy", 55, 2, 1, 3, 120, 150)]),
        "memory_copies": (
            f"name, pid, tid, dst_{agent}, stream_id, size, start, end", [("H2D", 55, 55, 2, 3, 64, 105, 115)]
        ),
    })  # fmt: skip
    trace = made(tmp_path, "run_results.db")
    assert calls(trace) == {
        "solve 55: Thread 55": pair(0, 10, "hipLaunchKernel"),
        "solve 55: HIP[2]: HIP[2:3]": [*pair(5, 15, "H2D"), *pair(20, 50, "saxpy")],
    }
    assert trace.region("saxpy").paradigm == "HIP"


def test_beside_a_run(tmp_path: Path) -> None:
    """Intervals of a thread of the run, of a stream, and values, at the run's times; the run's events stay."""
    chunk = Chunk(0, 0, 1000, pair=(1000, 1000, START))
    known = [
        world(0, 1),
        MPI_SEND,
        ["CLOCK", 1000, 1000, START],
        ["CLOCK", 1000 + SECOND, 1000 + SECOND, START + SECOND],
    ]
    known += [["LOCATION", 0, 100, None, 1000]]
    write_rank(
        tmp_path, 0, 1, known, {0: [chunk.record("ENTER", 0, 1).record("LEAVE", SECOND, 1)]}, host="node0",
        pair=(1000, 1000, START),
    )  # fmt: skip
    unified(tmp_path)
    events = [
        {"ph": "X", "name": "step", "pid": 100, "tid": 100, "ts": 1, "dur": 2},
        {"ph": "X", "name": "gemm", "cat": "kernel", "pid": 0, "tid": 7, "ts": 2, "dur": 2},
        {"ph": "X", "name": "late", "pid": 100, "tid": 100, "ts": 2_000_000, "dur": 2},
        {"ph": "C", "name": "load", "pid": 100, "ts": 3, "args": {"value": 7}},
    ]
    (tmp_path / "x.json").write_text(json.dumps({"baseTimeNanoseconds": START, "traceEvents": events}))
    done = vtrace(tmp_path, "import", "t", "x.json", "-o", "new")
    trace = read(tmp_path / "new.trace")
    own = f"{trace.locations[0].group}: "
    assert calls(trace) == {
        f"{own}Master thread": pair(0, SECOND, "MPI_Send"),
        f"{own}Tasks of Master thread": pair(1000, 3000, "step"),
        f"{own}CUDA[0:7]": pair(2000, 4000, "gemm"),
    }
    assert trace.kinds()["Metric"] == 1
    assert "x.json: 1 line before or after the run left out" in done.stderr
    again = vtrace(tmp_path, "import", "new", "x.json", "-o", "third", check=False)
    assert "new.trace has these lines already" in again.stderr


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.json", '{"a": 1}', "no member traceEvents"),
        ("a.json", "[1, 2]", "event 1 lacks a name, phase or time"),
        ("a.json", '[{"ph": "X", "name": "f", "ts": "soon"}]', "event 1 lacks a name, phase or time"),
        ("a.json", '[{"ph": "X", "name": "f", "ts": 1e999, "dur": 1}]', "event 1 lacks a name, phase or time"),
        ("a.json", '[{"ph": "X", "name": "f", "ts": 1, "dur": -1}]', "event 1 lacks a name, phase or time"),
        ("a.json", '[{"ph": "M", "name": "x"} {}]', "character 27: expected: , or ]"),
        ("a.json", "[{]", "character 3: Expecting property name"),
        ("a.json", "[" * 100_000, "a.json: character 2"),
        ("a.json", "[]", "no interval or value"),
        ("a.json", '[{"ph": "i", "s": "g", "name": "x", "ts": 1, "pid": 5}]', "no interval or value"),
        ("a.json", "{", "no member traceEvents"),
        ("a.db", "SQLite format 3\0 and no more", "cannot be read: "),
        ("a.nsys-rep", "x", "a.nsys-rep"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path: Path, name: str, content: str, line: str) -> None:
    (tmp_path / name).write_text(content)
    done = vtrace(tmp_path, "import", name, "-o", "new", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert line in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert os.listdir(tmp_path) == [name]


def test_a_file_that_ends_early(tmp_path: Path) -> None:
    """What is whole is imported, and a line says so."""
    text = kineto(0, 7, '{"ph": "X", "name": "f", "pid": 7, "tid": 7, "ts": 1, "dur": 1}')
    (tmp_path / "a.json").write_text(text[: text.index("process_name")])
    done = vtrace(tmp_path, "import", "a.json", "-o", "new")
    assert "a.json ends early: 1 event before it" in done.stderr
    assert read(tmp_path / "new.trace").calls() == {"f": 1}


def test_a_missing_file(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "import", "a.json", "-o", "new", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a.json does not exist" in done.stderr
