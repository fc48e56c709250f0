# SPDX-License-Identifier: BSD-3-Clause
"""Devices in small archives of any tool: their place among the processes, their tables, and findings about them, with
times in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _otf2
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.users.page_site import Asked
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.questions.device_activities import device_activities
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace
from vtrace.io.archive.overview import read_overview

FINISH, START, KERNEL, COPY, MAIN, TARGET, SUBMIT, TO_HOST, WRITE = range(9)
OPENCL, TRANSFER = _otf2.PARADIGM_OPENCL.value, _otf2.REGION_ROLE_DATA_TRANSFER.value
OPENMP = _otf2.PARADIGM_OPENMP.value
STREAM, DEVICE = _otf2.LOCATION_TYPE_ACCELERATOR_STREAM.value, _otf2.LOCATION_GROUP_TYPE_ACCELERATOR.value
Event = tuple[Any, ...]


def call(begin: int, end: int, region: int, *inside: Event) -> list[Event]:
    return [(begin, "Enter", region), *inside, (end, "Leave", region)]


def archive(path: Path, host: list[Event], *streams: list[Event], creator: int = 0) -> Trace:
    made = Foreign(path / "a")
    for number, events in enumerate((host, *streams)):
        made.events(number, events)
    made.begin_definitions()
    made.machine(length=2000)
    made.define("LocationGroup", 7, "gpu", DEVICE, 0, creator)
    made.location(0)
    for number in range(1, len(streams) + 1):
        made.location(number, 7, STREAM)
    made.region(FINISH, "clFinish", 1, OPENCL)
    made.region(START, "clEnqueueNDRangeKernel", 1, OPENCL)
    made.region(KERNEL, "spin", _otf2.REGION_ROLE_KERNEL.value, OPENCL)
    made.region(COPY, "copy to host", TRANSFER, OPENCL)
    made.region(MAIN, "main")
    made.region(WRITE, "clEnqueueWriteBuffer", 1, OPENCL)
    made.region(TARGET, "!$omp target", _otf2.REGION_ROLE_CODE.value, OPENMP)
    made.region(SUBMIT, "!$omp target submit", _otf2.REGION_ROLE_KERNEL.value, OPENMP)
    made.region(TO_HOST, "!$omp target copy to host", TRANSFER, OPENMP)
    for number, name in enumerate(("DEVICE_BYTES", "DEVICE_QUEUED", "DEVICE_BLOCKING", "DEVICE_COMMAND")):
        made.define("Attribute", number, name, "", _otf2.TYPE_UINT64.value)
    return Trace(made.close())


def findings(trace: Trace) -> dict[str, Finding]:
    part = Selection.of_options(trace, None, end=None, ranks=None)
    return {finding.kind: finding for finding in trace.diagnosis(part).findings}


def test_waits_for_a_device(tmp_path: Path) -> None:
    """The thread waits from 100 to 300, two streams run from 150 to 250 and from 200 to 400."""
    host = call(0, 1000, MAIN, *call(100, 300, FINISH))
    found = findings(archive(tmp_path, host, call(150, 250, KERNEL), call(200, 400, COPY)))
    assert (found["device_wait"].loss_ns, found["device_latency"].loss_ns) == (150, 50)
    assert "which spends 67 % of its time in copy to host" in found["device_wait"].text
    assert found["device_wait"].share == pytest.approx(0.15)  # of the thread's 1000 ns: streams are no threads
    assert found["device_wait"].region == "clFinish"


def test_only_calls_that_block_wait(tmp_path: Path) -> None:
    """Two writes while the device is busy, of which the second one waits."""
    writes = [(100, "Enter", WRITE), (200, "Leave", WRITE), (300, "Enter", WRITE, {2: 1}), (350, "Leave", WRITE)]
    found = findings(archive(tmp_path, call(0, 1000, MAIN, *writes), call(50, 900, KERNEL)))
    assert (found["device_wait"].loss_ns, found["device_wait"].region) == (50, "clEnqueueWriteBuffer")


def test_links(tmp_path: Path) -> None:
    """The page draws a line from the call that starts a kernel to the kernel, and does not count it as a message."""
    host = [(10, "Enter", START, {3: 1}), (20, "Leave", START), (30, "Enter", START, {3: 2}), (40, "Leave", START)]
    stream = [
        (50, "Enter", KERNEL, {3: 2}),
        (60, "Leave", KERNEL),
        (70, "Enter", KERNEL, {3: 9}),
        (80, "Leave", KERNEL),
    ]
    trace = archive(tmp_path, call(0, 100, MAIN, *host), [(15, "Enter", COPY, {3: 1}), (25, "Leave", COPY)], stream)
    asked = Asked(trace.archive)
    words = {"from": 0, "to": 100, "rows": "l0,l1,l2", "smallest": 0, "comm": -1}
    lines = asked.table("messages", **words, lines=10)
    columns = (lines.columns[name] for name in ("sender", "receiver", "send", "receive"))
    assert [*zip(*columns, strict=True)] == [(0, 1, 10, 15), (0, 2, 30, 50)]
    assert lines.notes["messages"] == 0
    started, kernel = (
        asked.json("call", location=row, begin=at, depth=depth) for row, at, depth in ((0, 30, 1), (2, 50, 0))
    )
    assert ["link to", "process 0, thread 2, 20 ns later"] in started["values"]
    assert ["link from", "process 0, thread 0, 20 ns earlier"] in kernel["values"]
    assert (started["sends"], kernel["receives"]) == ([], [])


def test_links_take_no_time_of_messages(tmp_path: Path) -> None:
    """A process that sends a message to itself, which takes 30 ns, and starts a kernel: the matrix has the message."""
    host = [(10, "MpiSend", 0, 0, 1, 8), (40, "MpiRecv", 0, 0, 1, 8)]
    host += [(50, "Enter", START, {3: 1}), (60, "Leave", START)]
    made = Foreign(tmp_path / "a")
    made.events(0, call(0, 100, MAIN, *host))
    made.events(1, [(80, "Enter", KERNEL, {3: 1}), (90, "Leave", KERNEL)])
    made.begin_definitions()
    made.machine(length=2000)
    made.define("LocationGroup", 7, "gpu", DEVICE, 0, 0)
    made.location(0)
    made.location(1, 7, STREAM)
    made.region(START, "clEnqueueNDRangeKernel", 1, OPENCL)
    made.region(KERNEL, "spin", _otf2.REGION_ROLE_KERNEL.value, OPENCL)
    made.region(MAIN, "main")
    made.define("Attribute", 3, "DEVICE_COMMAND", "", _otf2.TYPE_UINT64.value)
    mpi = _otf2.PARADIGM_MPI.value
    made.define("Group", 0, "", _otf2.GROUP_TYPE_COMM_LOCATIONS.value, mpi, 0, [0])
    made.define("Group", 1, "", _otf2.GROUP_TYPE_COMM_GROUP.value, mpi, 0, [0])
    made.define("Comm", 0, "world", 1, UNDEFINED, 0)
    asked = Asked(made.close())
    assert len(asked.site.shown[0].data.messages()["comm"]) == 2
    matrix = asked.table("panel", name="matrix", rows="", **{"from": 0, "to": 100}).columns
    assert (matrix["count"], matrix["ns"]) == ([1], [30])


def test_kernels_without_time_are_no_slow_device(tmp_path: Path) -> None:
    """The same kernel takes 0 ns on the device of another process."""
    made = Foreign(tmp_path / "a")
    events = {0: call(0, 1000, MAIN), 1: call(0, 1000, MAIN), 2: call(100, 900, KERNEL), 3: call(100, 100, KERNEL)}
    for number, each in events.items():
        made.events(number, each)
    made.begin_definitions()
    made.machine(groups=2, length=2000)
    for number in (0, 1):
        made.define("LocationGroup", 7 + number, "gpu", DEVICE, 0, number)
        made.location(number, number)
    for number in (0, 1):
        made.location(2 + number, 7 + number, STREAM)
    made.region(KERNEL, "spin", _otf2.REGION_ROLE_KERNEL.value, OPENCL)
    made.region(MAIN, "main")
    assert "slow_device" not in findings(Trace(made.close()))


def test_many_small_kernels(tmp_path: Path) -> None:
    """100 kernels of 2 ns, each started by a call of 5 ns."""
    host = [event for n in range(100) for event in call(10 * n, 10 * n + 5, START)]
    stream = [event for n in range(100) for event in call(10 * n + 5, 10 * n + 7, KERNEL)]
    (kind,) = (found for kind, found in findings(archive(tmp_path, host, stream)).items() if kind == "small_kernels")
    assert kind.loss_ns == 500
    assert kind.text.startswith(
        "100 kernels of 2 ns on average are shorter than the calls that start them, which take 500"
    )
    longer = [event for n in range(100) for event in call(10 * n + 5, 10 * n + 11, KERNEL)]
    assert "small_kernels" not in findings(archive(tmp_path / "longer", host, longer))


def test_copies_that_kernels_could_hide(tmp_path: Path) -> None:
    """Copies run alone for 300 of their 400 ns, and kernels for 150 of their 250 ns."""
    host = call(0, 1000, MAIN)
    copies, kernels = call(100, 500, COPY), [*call(400, 500, KERNEL), *call(600, 750, KERNEL)]
    found = findings(archive(tmp_path, host, copies, kernels))["copies_alone"]
    assert found.loss_ns == 150
    assert found.text == "devices copy 300 ns while none of their kernels runs; kernels could hide 150 ns of it"
    assert "copies_alone" not in findings(archive(tmp_path / "hidden", host, copies, call(50, 600, KERNEL)))
    assert "copies_alone" not in findings(archive(tmp_path / "copies", host, copies))


@pytest.mark.parametrize("creator", [0, UNDEFINED])
def test_devices_are_no_processes(tmp_path: Path, creator: int) -> None:
    """A device belongs to the process that uses it, or to the only process (rocprofv3 states none)."""
    trace = archive(tmp_path, call(0, 10, MAIN), call(2, 4, KERNEL), creator=creator)
    assert trace.processes["name"].tolist() == ["process 0"]
    assert trace.places.process.tolist() == [0, 0]
    assert trace.locations["device"].tolist() == [False, True]
    assert Selection.of_options(trace, None, end=None, ranks=None).locations == (0,)
    locations = read_overview(trace.anchor).locations
    assert (locations.processes, locations.threads) == (1, 1)


def test_activities_in_a_window(tmp_path: Path) -> None:
    """Activities are cut at the ends of the window; bytes and the time in the queue are those of the attributes."""
    stream = [
        (10, "Enter", COPY, {0: 640, 1: 5}), (20, "Leave", COPY), (30, "Enter", KERNEL, {1: 8}), (60, "Leave", KERNEL),
    ]  # fmt: skip
    trace = archive(tmp_path, call(0, 100, MAIN), stream)
    whole = device_activities(trace, Selection())
    assert [[*row.values()] for row in whole.records()] == [[1, COPY, 10, 20, 640, 5, 0], [1, KERNEL, 30, 60, 0, 8, 0]]
    part = device_activities(trace, Selection(start=15, stop=40))
    assert [(row["begin"], row["end"]) for row in part.records()] == [(15, 20), (30, 40)]


def test_copies_of_target_regions(tmp_path: Path) -> None:
    """A target region has a kernel of 30 ns and two copies of 100 ns each; another copy is outside."""
    copies = [event for begin in (110, 210, 350) for event in (
        (begin, "Enter", TO_HOST, {0: 640}), (begin + 100, "Leave", TO_HOST),
    )]  # fmt: skip
    host = call(0, 1000, MAIN, *call(50, 320, TARGET, *call(60, 90, SUBMIT), *copies[:4]), *copies[4:])
    (found,) = (finding for kind, finding in findings(archive(tmp_path, host)).items() if kind == "target_copies")
    assert (found.loss_ns, found.region) == (300, "!$omp target copy to host")
    assert "300 ns in copies of 1,920 bytes and allocations for target regions" in found.text
