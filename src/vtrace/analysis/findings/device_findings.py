# SPDX-License-Identifier: BSD-3-Clause
"""Findings about devices: threads that wait for them, kernels that are shorter than the calls that start them, copies
while no kernel runs, and kernels that take longer on one process's device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import BOUND, ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, rule
from vtrace.analysis.findings.run_facts import RunFacts, locations_text
from vtrace.analysis.questions.device_activities import DeviceActivities, common, device_activities, union
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up

_PARADIGMS = ("OPENCL", "CUDA", "HIP")
_WAITS = ("clFinish", "clWaitForEvents",
          *(f"{api}{name}" for api in ("cuda", "hip") for name in (
              "DeviceSynchronize", "StreamSynchronize", "EventSynchronize", "Memcpy", "Memcpy2D", "Memset",
          )), "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemcpy", "cuMemcpyHtoD",
          "cuMemcpyDtoH")  # fmt: skip
"""The calls that wait for commands."""
_MAY_WAIT = ("clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueMapBuffer", "clEnqueueReadBufferRect",
             "clEnqueueWriteBufferRect", "clEnqueueReadImage", "clEnqueueWriteImage", "clEnqueueMapImage",
             "clEnqueueSVMMemcpy", "clEnqueueSVMMap")  # fmt: skip
"""The calls that wait if they block."""
_STARTS = ("clEnqueueNDRangeKernel", "clEnqueueTask", "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
           "cuLaunchKernelEx", "hipLaunchKernel", "hipExtLaunchKernel", "hipModuleLaunchKernel")  # fmt: skip
_MANY, _SHORT = 100, 20_000
"""Kernels of fewer ns than this, if there are so many."""
_COPIES = ("Memcpy", "EnqueueRead", "EnqueueWrite", "EnqueueCopy", "EnqueueMap")
"""Parts of the names of calls that copy."""
_SLOWER = 1.1
"""The least ratio of times of the same kernels on a slower device."""


@rule(
    FindingKind(
        "device_wait",
        "threads wait in calls such as clFinish or cudaDeviceSynchronize while a device of their process runs",
        about=("waits",),
        action="give the thread work meanwhile, or make the kernels and copies shorter",
    ),
    FindingKind(
        "device_latency",
        "threads wait in such calls while no device of their process runs",
        about=("waits",),
        action="wait less often: enqueue more commands before each wait",
    ),
    FindingKind(
        "small_kernels",
        "the calls that start kernels, where the kernels are many and shorter than these calls",
        action="join kernels, or give each more work",
    ),
    FindingKind(
        "copies_alone",
        "devices copy while none of their kernels runs, as far as kernels run at other times",
        about=("waits",),
        action="copy in another stream than the kernels, from pinned memory, and in parts",
    ),
    FindingKind(
        "slow_device",
        "the kernels of a process take longer than the same kernels of other processes",
        about=("waits",),
        action="compare the devices: clock, power, temperature, other users; or the sizes of the work",
    ),
)
def devices(diagnosis: Diagnosis) -> Iterator[Finding]:
    """The times in which threads wait and devices run, or not, of each process; and the calls for short kernels."""
    facts = diagnosis.facts
    if not facts.trace.locations["device"].any():
        return
    found = device_activities(facts.trace, facts.window)
    if found.rows:
        yield from _waits(facts, found)
        yield from _small_kernels(facts, found)
        yield from _copies_alone(facts, found)
        yield from _slow_device(facts, found)


def _regions(facts: RunFacts, names: tuple[str, ...]) -> Array:
    known = facts.trace.regions
    return np.flatnonzero(
        np.isin(known["paradigm"].astype(str), _PARADIGMS) & np.isin(known["name"].astype(str), names)
    )


def _waits(facts: RunFacts, found: Table) -> Iterator[Finding]:
    question, process = (
        DeviceActivities(tuple(_regions(facts, _WAITS + _MAY_WAIT).tolist())),
        facts.trace.places.process,
    )
    ask(facts.trace, [question], facts.window)
    calls = question.answer()
    calls = calls.take(np.isin(calls["region"], _regions(facts, _WAITS)) | (calls["blocking"] > 0))
    during, without = np.zeros((2, facts.trace.locations.rows), np.int64)
    for row in np.unique(calls["location"]).tolist():
        mine, of_process = calls["location"] == row, process[found["location"]] == process[row]
        waiting = union(calls["begin"][mine], calls["end"][mine])
        busy = union(found["begin"][of_process], found["end"][of_process])
        during[row] = common(waiting, busy)
        without[row] = int((waiting[:, 1] - waiting[:, 0]).sum()) - during[row]
    lengths = add_up(found["region"], found["end"] - found["begin"], facts.trace.regions.rows)
    longest = str(facts.trace.regions["name"][int(np.argmax(lengths))])
    part = 100 * lengths.max() / max(1, int(lengths.sum()))
    path = _path(facts, np.unique(calls["region"]))
    for kind, times, while_ in (
        ("device_wait", during, f"for a device, which spends {part:.0f} % of its time in {longest}"),
        ("device_latency", without, "while no device of its process runs"),
    ):
        rows = np.flatnonzero(times)
        if len(rows):
            loss = int(times.sum())
            verb = "waits" if len(rows) == 1 else "wait"
            who, place = locations_text(facts.trace, rows.tolist()), facts.call_text(facts.paths, path)
            text = f"{who} {verb} {span(loss)} {while_}, in {place}"
            yield facts.finding(kind, loss, path, locations=rows, text=text, evidence=("summary", "--only", "devices"))


def _path(facts: RunFacts, regions: Array) -> int:
    """The call path of these regions with the longest time."""
    n = facts.numbers
    mine = np.isin(facts.paths["region"][n["path"]], regions)
    sums = add_up(n["path"][mine], n["exclusive"][mine], facts.paths.rows)
    return int(np.argmax(sums))


def _small_kernels(facts: RunFacts, found: Table) -> Iterator[Finding]:
    kernels = found.take(facts.trace.regions["role"][found["region"]] != "DATA_TRANSFER")
    regions, n = _regions(facts, _STARTS), facts.numbers
    calls = np.isin(facts.paths["region"][n["path"]], regions) & np.isin(n["location"], facts.rows)
    loss, ran = int(n["exclusive"][calls].sum()), int((kernels["end"] - kernels["begin"]).sum())
    if kernels.rows < _MANY or ran / kernels.rows >= _SHORT or loss <= ran:
        return
    text = (
        f"{kernels.rows:,} kernels of {span(ran / kernels.rows)} on average are shorter than the calls that start "
        f"them, which take {span(loss)}"
    )
    yield facts.finding(
        "small_kernels", loss, _path(facts, regions), locations=np.unique(n["location"][calls]), text=text,
        evidence=("summary", "--only", "kernels"),
    )  # fmt: skip


def _copies_alone(facts: RunFacts, found: Table) -> Iterator[Finding]:
    """The copies that kernels of the same device could hide."""
    groups = facts.trace.locations["group"][found["location"]]
    copies = facts.trace.regions["role"][found["region"]] == "DATA_TRANSFER"
    loss, alone, streams = 0, 0, []
    for device in np.unique(groups).tolist():
        moving, computing = (
            union(found["begin"][which], found["end"][which])
            for which in ((groups == device) & copies, (groups == device) & ~copies)
        )
        both = common(moving, computing)
        moving_ns, computing_ns = (int((part[:, 1] - part[:, 0]).sum()) - both for part in (moving, computing))
        if moving_ns and computing_ns:
            loss, alone = loss + min(moving_ns, computing_ns), alone + moving_ns
            streams += np.unique(found["location"][groups == device]).tolist()
    if not loss:
        return
    known = facts.trace.regions
    names = known["name"].astype(str)
    calls = np.flatnonzero(
        np.isin(known["paradigm"].astype(str), _PARADIGMS)
        & np.any([np.char.find(names, word) >= 0 for word in _COPIES], axis=0)
    )
    text = f"devices copy {span(alone)} while none of their kernels runs; kernels could hide {span(loss)} of it"
    yield facts.finding(
        "copies_alone", loss, _path(facts, calls), locations=streams, text=text, certainty=BOUND,
        evidence=("summary", "--only", "devices"),
    )  # fmt: skip


def _slow_device(facts: RunFacts, found: Table) -> Iterator[Finding]:
    """The process whose kernels take the most time above the mean of the same kernels in other processes."""
    kernels = found.take(facts.trace.regions["role"][found["region"]] != "DATA_TRANSFER")
    process = facts.trace.places.process[kernels["location"]]
    _, region = np.unique(kernels["region"], return_inverse=True)
    owners, owner = np.unique(process, return_inverse=True)
    times, calls = np.zeros((2, len(owners), region.max(initial=-1) + 1))
    np.add.at(times, (owner, region), kernels["end"] - kernels["begin"])
    np.add.at(calls, (owner, region), 1)
    others_calls = calls.sum(axis=0) - calls
    shared = (calls > 0) & (others_calls > 0)
    means = (times.sum(axis=0) - times) / np.maximum(1, others_calls)
    took, usual = (times * shared).sum(axis=1), (calls * means * shared).sum(axis=1)
    if not shared.any():
        return
    slowest = int(np.argmax(took - usual))
    loss = int(took[slowest] - usual[slowest])
    if not usual[slowest] or took[slowest] < _SLOWER * usual[slowest]:
        return
    streams = np.unique(kernels["location"][owner == slowest]).tolist()
    name = str(facts.trace.processes["name"][owners[slowest]])
    text = (
        f"kernels on the device of {name} take {span(took[slowest])}, {took[slowest] / usual[slowest]:.2f} times as "
        "long as the same kernels of other processes"
    )
    yield facts.finding(
        "slow_device", loss, _path(facts, _regions(facts, _STARTS)), locations=streams, text=text, culprit=name,
        certainty=ESTIMATE, evidence=("summary", "--only", "devices"),
    )  # fmt: skip
