# SPDX-License-Identifier: BSD-3-Clause
"""A recording of another tool as data that are added to a run of vtrace, on the run's clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.archive.properties import PID
from vtrace.transform.external_data import POINT, ExternalData
from vtrace.transform.recordings.recording import THREAD, Key, Recording

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace


def external_data(trace: Trace, recording: Recording, digest: str) -> Iterator[ExternalData]:
    """The tracks and counters of a recording, each with its place. digest: SHA-256 of the file. Raises VtraceError if
    the recording has none, or does not say when it was made."""
    recording.span()
    if recording.since is None:
        raise VtraceError(f"{recording.path} does not say when it was recorded", "import it into an archive of its own")
    owners, since = recording.owners(), recording.since
    names = [activity.name for activity in recording.activities]
    for track in [track for track in recording.tracks.values() if track.begin]:
        pid = _number(track.pid if track.pid in owners else owners[0])
        is_thread = track.kind == THREAD
        if track.flow:
            recording.left_out["flows"] += len(track.flow)
        begin, end, name, _ = track.take()
        yield ExternalData(
            path=recording.path, clock="UTC", begin=begin + since, end=end + since, pid=np.full(len(begin), pid),
            tid=np.full(len(begin), _number(track.tid) if is_thread else -1), name=name, names=names, digest=digest,
            host=_host(trace, recording, pid), title="" if is_thread else str(track.tid),
        )  # fmt: skip
    for counter in recording.counters.values():
        pid = _number(counter.pid if counter.pid in owners else owners[0])
        times = np.frombuffer(counter.times, np.int64) + since
        yield ExternalData(
            path=recording.path, clock="UTC", begin=times, end=None, pid=np.full(len(times), pid),
            tid=np.full(len(times), -1), counters=[counter.name], modes=[POINT],
            values=[np.frombuffer(counter.values, np.float64)], digest=digest, host=_host(trace, recording, pid),
        )  # fmt: skip


def _number(key: Key) -> int:
    return key if isinstance(key, int) and 0 <= key < 2**31 else -1


def _host(trace: Trace, recording: Recording, pid: int) -> str | None:
    """The host of a process: the recording's, else that of the process with this pid, else the only one."""
    hosts = list(dict.fromkeys(trace.processes["host"].tolist()))
    if recording.host in hosts:
        return recording.host
    properties, processes = trace.group_properties, trace.processes
    chosen = (properties["name"] == PID) & (properties["value"] == str(pid))
    with_pid = processes["host"][np.isin(processes["group"], properties["group"][chosen])]
    found = set(with_pid.tolist()) or set(hosts)
    return found.pop() if len(found) == 1 else None
