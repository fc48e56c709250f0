# SPDX-License-Identifier: BSD-3-Clause
"""OpenCL by vtrace's layer, with pocl: streams, times, bytes, and what the program sees."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.readers.devices import calls, one_sided, seen, streams
from support.tools import PROGRAMS, ROOT, call, unavailable

ROUNDS = 10
ROUND = {"copy to device": 4096, "scale": None, "copy on device": 2048, "copy to host": 1024}
"""The activities of a round, and their bytes."""
LAST = {"map": 512, "unmap": None}
FIRST = 2**32 + 1
"""The number of the first command: CUDA's are smaller."""


def program(build: Builder, *flags: str) -> Path:
    if not Path("/usr/include/CL/cl.h").exists() or not Path("/etc/OpenCL/vendors/pocl.icd").exists():
        unavailable("ocl-icd-opencl-dev, opencl-headers or pocl-opencl-icd is not installed")
    return build("opencl_calls.c", flags=("-O1", *flags, "-lOpenCL", "-lpthread"), plain=True)


def unified(place: Path, *words: str | Path, code: int = 0, env: dict[str, str] | None = None) -> tuple[Trace, str]:
    done = vtrace(place, "run", "--devices", "-o", "run", *words, check=False, env=env)
    assert done.returncode == code, str(done)
    unify(place, "run")
    return check(place / "run.trace", complete=code == 0), done.stderr


def expected(rounds: int = ROUNDS) -> list[tuple[str, int | None]]:
    return [*ROUND.items()] * rounds + [*LAST.items()]


def test_layouts(build: Builder, tmp_path: Path) -> None:
    """The places in OpenCL's table of functions, and the numbers, are those of its headers."""
    program(build)
    entries = ROOT / "csrc" / "openclwrap" / "entries.h"
    compared = build("opencl_layouts.c", flags=("-O1", f'-DENTRIES="{entries}"'), plain=True)
    assert call([compared], tmp_path).stdout == ""


def test_a_queue_in_order(build: Builder, tmp_path: Path) -> None:
    """Each command is once on the stream, in order, between the call that enqueues it and the end of a call that waits
    for it. The calls of the thread are regions of OpenCL."""
    trace, _ = unified(tmp_path, program(build), "order", str(ROUNDS))
    (stream,) = streams(trace)
    assert trace.locations[stream].name == "OpenCL[0:0]"
    found = calls(trace)
    assert seen(found[stream]) == expected()
    numbers = [one.values["DEVICE_COMMAND"] for one in found[stream]]
    assert numbers == [*range(FIRST, FIRST + 4 * ROUNDS + 2)]
    by_number = {one.values["DEVICE_COMMAND"]: one for one in found[0] if "DEVICE_COMMAND" in one.values}
    assert [*by_number] == numbers
    waits = [one for one in found[0] if one.name in ("clEnqueueReadBuffer", "clEnqueueMapBuffer", "clFinish")]
    for one in found[stream]:
        call_of = by_number[one.values["DEVICE_COMMAND"]]
        assert one.begin >= call_of.begin
        assert one.end <= next(wait.end for wait in waits if wait.end >= call_of.end)
        assert one.values["DEVICE_SUBMITTED"] <= one.values["DEVICE_QUEUED"]
    host = Counter(one.name for one in found[0] if one.name.startswith("cl"))
    assert host == {
        "clBuildProgram": 1, "clEnqueueWriteBuffer": ROUNDS, "clEnqueueNDRangeKernel": ROUNDS,
        "clEnqueueCopyBuffer": ROUNDS, "clEnqueueReadBuffer": ROUNDS, "clEnqueueMapBuffer": 1,
        "clEnqueueUnmapMemObject": 1, "clFinish": 1,
    }  # fmt: skip
    assert one_sided(trace, stream) == [
        ("RmaGet", 0, 4096), ("RmaGet", stream, 2048), ("RmaPut", 0, 1024),
    ] * ROUNDS  # fmt: skip
    roles = {name: (trace.region(name).role, trace.region(name).paradigm) for name in ("scale", "map", "clFinish")}
    assert roles == {
        "scale": ("KERNEL", "OPENCL"), "map": ("DATA_TRANSFER", "OPENCL"), "clFinish": ("FUNCTION", "OPENCL"),
    }  # fmt: skip
    assert trace.creators == {trace.locations[stream].process: trace.locations[0].process}


def test_a_small_buffer(build: Builder, tmp_path: Path) -> None:
    """Writing full buffers moves no times of the device: they stay before the ends of the calls that wait."""
    trace, _ = unified(tmp_path, program(build), "order", "3000", env={"VT_BUFFER_SIZE": "100K"})
    (stream,) = streams(trace)
    found = calls(trace)
    assert trace.kinds()["BufferFlush"] > 0
    assert seen(found[stream]) == expected(3000)
    reads = {one.values["DEVICE_COMMAND"]: one for one in found[0] if one.name == "clEnqueueReadBuffer"}
    copies = [one for one in found[stream] if one.name == "copy to host"]
    assert all(one.end <= reads[one.values["DEVICE_COMMAND"]].end for one in copies)


def test_filter(build: Builder, tmp_path: Path) -> None:
    """A rule leaves a kernel out, or a function; the other commands stay."""
    (tmp_path / "rules").write_text("scale -- 0\nclFinish -- 0\n")
    trace, _ = unified(tmp_path, program(build), "order", "2", env={"VT_FILTER_SPEC": str(tmp_path / "rules")})
    (stream,) = streams(trace)
    found = calls(trace)
    assert seen(found[stream]) == [pair for pair in expected(2) if pair[0] != "scale"]
    names = Counter(one.name for one in found[0])
    assert (names["clEnqueueNDRangeKernel"], names["clFinish"]) == (2, 0)


def test_limits(build: Builder, tmp_path: Path) -> None:
    """A limit counts the calls of a function and the activities of a kernel or of a kind of copy."""
    (tmp_path / "rules").write_text(
        "scale -- 3\ncopy on device -- 2\nclFlush;clFinish -- 1\nclEnqueueReadBuffer -- 4\n"
    )
    trace, _ = unified(tmp_path, program(build), "order", str(ROUNDS), env={"VT_FILTER_SPEC": str(tmp_path / "rules")})
    (stream,) = streams(trace)
    found = calls(trace)
    counts = Counter(name for name, _ in seen(found[stream]))
    assert (counts["scale"], counts["copy on device"], counts["copy to device"]) == (3, 2, ROUNDS)
    host = Counter(one.name for one in found[0])
    assert (host["clEnqueueReadBuffer"], host["clFinish"], host["clEnqueueNDRangeKernel"]) == (4, 1, ROUNDS)
    blocking = {one.name for one in found[0] if one.values.get("DEVICE_BLOCKING")}
    assert blocking == {"clEnqueueReadBuffer", "clEnqueueMapBuffer"}


def test_a_queue_without_order(build: Builder, tmp_path: Path) -> None:
    """Kernels that overlap are on lanes, which nest nothing."""
    trace, _ = unified(tmp_path, program(build), "overlap", str(ROUNDS))
    lanes, found = streams(trace), calls(trace)
    names = ["OpenCL[0:0]", *(f"OpenCL[0:0] lane {n}" for n in range(2, len(lanes) + 1))]
    assert [*lanes.values()] == names
    assert sum(len(found[lane]) for lane in lanes) == ROUNDS
    numbers = sorted(one.values["DEVICE_COMMAND"] for lane in lanes for one in found[lane])
    assert numbers == [*range(FIRST, FIRST + ROUNDS)]
    for lane in lanes:
        assert all(one.end <= other.begin for one, other in zip(found[lane], found[lane][1:], strict=False))


def test_the_program_sees_what_it_would(build: Builder, tmp_path: Path) -> None:
    """A queue without profiling looks so, and its events give no times; a queue with profiling gives them."""
    made = program(build)
    plain = call([made, "profile"], tmp_path).stdout
    assert "asked 0: code -7, times 0, properties 0, array of 0" in plain
    done = vtrace(tmp_path, "run", "--devices", "-o", "run", made, "profile")
    assert done.stdout == plain
    unify(tmp_path, "run")
    trace = check(tmp_path / "run.trace")
    fills = [one for stream in streams(trace) for one in calls(trace)[stream]]
    assert seen(fills) == [("fill", 4096)] * 2


def test_commands_that_do_not_finish(build: Builder, tmp_path: Path) -> None:
    """The kernel that waits for an event has no times; the ledger says so."""
    trace, said = unified(tmp_path, program(build), "unfinished")
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == [("scale", None)]
    assert "OpenCL commands that had not finished at the program's end: 1" in said
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert not coverage["complete"]
    assert "had not finished at the program's end: 1" in coverage["shortfalls"][0]


def test_kill(build: Builder, tmp_path: Path) -> None:
    """The commands that were complete at the kill are in the archive, which says that the process died."""
    trace, _ = unified(tmp_path, program(build), "kill", str(ROUNDS), code=-9)
    (stream,) = streams(trace)
    found = seen(calls(trace)[stream])
    assert found == expected()[: len(found)]
    assert len(found) >= 4 * ROUNDS  # read at the latest in the calls after them
    assert "process died" in vtrace(tmp_path, "summary", "run").stdout


def test_fork(build: Builder, tmp_path: Path) -> None:
    """Parent and child each have a stream of their own."""
    trace, _ = unified(tmp_path, program(build), "fork", str(ROUNDS))
    found, lanes = calls(trace), streams(trace)
    assert [seen(found[stream]) for stream in lanes] == [expected()] * 2
    creators = [trace.creators[trace.locations[stream].process] for stream in lanes]
    assert len({*creators}) == 2


@pytest.mark.parametrize(("how", "count", "rounds"), [("threads", 4, ROUNDS), ("queues", 1, 1)])
def test_several_queues(build: Builder, tmp_path: Path, how: str, count: int, rounds: int) -> None:
    """Each queue has a stream; queues that follow each other share one."""
    trace, _ = unified(tmp_path, program(build), how, str(ROUNDS))
    found, lanes = calls(trace), streams(trace)
    assert sorted(lanes.values()) == [f"OpenCL[0:{n}]" for n in range(count)]
    per_stream = expected(rounds) * (ROUNDS if how == "queues" else 1)
    assert [seen(found[stream]) for stream in lanes] == [per_stream] * count


def test_two_ranks(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    made = build(
        "opencl_calls.c", compiler=str(mpi.mpicc), flags=("-O1", "-DWITH_MPI", "-lOpenCL", "-lpthread"), plain=True,
    )  # fmt: skip
    trace, _ = unified(tmp_path, *mpi.launch, "-n", "2", made, "order", str(ROUNDS), env=dict(mpi.env))
    found, lanes = calls(trace), streams(trace)
    assert [seen(found[stream]) for stream in lanes] == [expected()] * 2
    groups = [trace.locations[stream].group for stream in lanes]
    assert [group.partition(": ")[0] for group in groups] == ["MPI Rank 0", "MPI Rank 1"]
    creators = [trace.creators[trace.locations[stream].process] for stream in lanes]
    assert [trace.locations[n].group for n in trace.locations if trace.locations[n].name == "Master thread"] == [
        "MPI Rank 0", "MPI Rank 1",
    ]  # fmt: skip
    assert creators == [0, 1]


def test_tables(build: Builder, tmp_path: Path) -> None:
    """vtrace summary has the kernels, copies and bytes, and leaves streams out of all other numbers."""
    unified(tmp_path, program(build), "order", str(ROUNDS))
    found = json.loads(vtrace(tmp_path, "summary", "run", "--json").stdout)
    kernels = {row["activity"]: row for row in found["kernels"]}
    assert {name: (row["calls"], row["bytes"]) for name, row in kernels.items()} == {
        **{name: (ROUNDS, ROUNDS * (size or 0)) for name, size in ROUND.items()},
        **{name: (1, size or 0) for name, size in LAST.items()},
    }
    (device,) = found["devices"]
    assert (device["kernels"], device["copies"]) == (ROUNDS, 3 * ROUNDS + 2)
    assert device["bytes"] == ROUNDS * (4096 + 2048 + 1024) + 512
    assert 0 < device["busy_ns"] <= device["from_first_to_last_ns"]
    assert device["busy_ns"] == device["kernels_ns"] + device["copies_ns"]  # in order
    assert not any("OpenCL[" in row["location"] for row in found["classes"])
    assert found["processes"] == 1
    text = vtrace(tmp_path, "summary", "run").stdout
    assert "on 1 location (without 1 device stream)" in text
    assert re.search(r"^ *processes +1, locations 2,", vtrace(tmp_path, "info", "run").stdout, re.MULTILINE)


def test_anonymised(build: Builder, tmp_path: Path) -> None:
    """Names of the interface and of streams are public, those of kernels and of the device are not; bytes stay."""
    unified(tmp_path, program(build), "order", "1")
    vtrace(tmp_path, "anonymise", "run", "-o", "shared")
    found = json.loads(vtrace(tmp_path, "summary", "shared", "--json", "--ranks", "helpers").stdout)
    assert {row["activity"]: row["bytes"] for row in found["kernels"]} == {
        "copy to device": 4096, "function_1": 0, "copy on device": 2048, "copy to host": 1024, "map": 512, "unmap": 0,
    }  # fmt: skip
    assert "pthread" not in found["devices"][0]["device"]
    assert "OpenCL[0:0]" in {row["thread"] for row in found["classes"]}


def test_off(build: Builder, tmp_path: Path) -> None:
    """Without --devices nothing of OpenCL is recorded; the user's own layers stay, before vtrace's."""
    done = vtrace(tmp_path, "run", "-o", "run", program(build), "order", "1")
    assert done.returncode == 0
    assert not [*tmp_path.glob("run.*")]
    shown = vtrace(
        tmp_path, "run", "--devices=opencl", "sh", "-c", "echo $OPENCL_LAYERS", env={"OPENCL_LAYERS": "/x.so"}
    )
    first, second = shown.stdout.strip().split(":")
    assert (first, Path(second).name) == ("/x.so", "libvtrace-opencl.so")
    wrong = vtrace(tmp_path, "run", "--devices=cpu", "true", check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("vtrace: error: --devices=cpu: cpu is no kind of devices")


def test_pyopencl(build: Builder, tmp_path: Path) -> None:
    program(build)  # a driver is there
    if not find_spec("pyopencl"):
        unavailable("pyopencl is not installed")
    trace, _ = unified(tmp_path, sys.executable, "-W", "ignore", PROGRAMS / "opencl_calls.py")
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == [*[("twice", None)] * 5, ("copy to host", 4000)]


def test_findings(build: Builder, tmp_path: Path) -> None:
    """vtrace diagnose states the time in which the thread waits for the device, as the events have it, and not that
    nothing else runs meanwhile."""
    trace, _ = unified(tmp_path, program(build), "overlap", str(ROUNDS))
    found = calls(trace)
    busy = sorted((one.begin, one.end) for stream in streams(trace) for one in found[stream])
    waited, until = 0, 0
    for wait in (one for one in found[0] if one.name == "clFinish"):
        for begin, end in busy:
            begin = max(begin, wait.begin, until)
            waited += max(0, min(end, wait.end) - begin)
            until = max(until, min(end, wait.end))
    told = json.loads(vtrace(tmp_path, "diagnose", "run", "--json").stdout)["findings"]
    by_kind = {finding["kind"]: finding for finding in told}
    assert by_kind["device_wait"]["loss_ns"] == waited
    assert by_kind["device_wait"]["region"] == "clFinish"
    assert "spends 100 % of its time in spin" in " ".join(vtrace(tmp_path, "diagnose", "run").stdout.split())
    assert not any(finding["kind"] == "blocked" and finding["region"] == "clFinish" for finding in told)
