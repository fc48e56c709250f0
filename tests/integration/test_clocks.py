# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on several simulated hosts with wrong clocks: vtrace measures the offsets, and no message runs backwards."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.mpis import NAMES, Mpi, find
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace, read

SUM = sum(4 * i + 6 for i in range(20))


def hosts(mpi: Mpi, place: Path, per_host: int, wave: int = 0) -> list[str]:
    """The command words before a program that give each rank a host name and a host clock. wave: ns by which the clock
    swings."""
    for words in (["unshare", "--uts"], ["unshare", "-r", "--uts"]):
        if subprocess.run([*words, "hostname", "node"], capture_output=True).returncode == 0:
            break
    else:
        pytest.skip("unshare --uts: no permission to give a process a host name of its own")
    library = place / "skewed.so"
    source = Path(__file__).parents[1] / "programs" / "skewed.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    script = place / "on_host"
    script.write_text(
        f"""#!/bin/sh
host=$((${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} / {per_host}))
export SKEW_NS=$((host * -3000000000)) SKEW_PPM=$((host * 80)) SKEW_WAVE=$((host * {wave}))
export VT_CLOCK_COUNTER=no PRELOAD={library}
exec {" ".join(words)} sh -c "hostname node$host; LD_PRELOAD=$PRELOAD"' exec "$@"' sh "$@"
"""
    )
    script.chmod(0o755)
    return [*mpi.launch, "-n", "4", str(script)]


def offsets(place: Path, prefix: str = "clocks") -> int:
    done = vtrace(place, "dump", "--only", "CLOCK_OFFSET", prefix)
    return done.stdout.count(" CLOCK_OFFSET ")


def longest(trace: Trace) -> int:
    """The duration of the longest message in ns. Checks that no message arrives before it is sent."""
    sent = {(e.location, e.attrs["msg_tag"]): e.time for e in trace.events if e.kind == "MpiSend"}
    got = {((e.location - 1) % 4, e.attrs["msg_tag"]): e.time for e in trace.events if e.kind == "MpiIrecv"}
    assert sent.keys() == got.keys()
    assert len(sent) == 80
    assert all(sent[key] <= got[key] for key in sent)
    return max(got[key] - sent[key] for key in sent)


@pytest.mark.parametrize("per_host", [1, 2])
def test_hosts(mpi: Mpi, tmp_path: Path, per_host: int) -> None:
    """One and two ranks a host, whose clocks differ by seconds. The runtime measures the offsets at MPI_Init, at
    VT_TIMESYNC and at MPI_Finalize, and vtunify corrects the times."""
    done = run(
        mpi.build("clocks.c", flags=("-O1", "-DVTRACE")), tmp_path, launch=hosts(mpi, tmp_path, per_host), env=mpi.env
    )
    assert done.stdout.split() == ["sum", str(SUM)]
    count = 4 // per_host
    assert offsets(tmp_path) == 3 * (count - 1)
    said = unify(tmp_path, "-v", "clocks").stderr
    assert f"clocks: {count}, times are those of node0" in said
    compared = re.search(rf"{count - 1} were compared with it (\d+) times", said)
    assert compared is not None
    assert 2 <= int(compared[1]) / (count - 1) <= 3  # vtunify discards a slow comparison between two others
    assert longest(check(tmp_path / "clocks.trace")) < 2_000_000_000
    shown = vtrace(tmp_path, "info", "clocks").stdout
    known = rf"clocks +{count}, times are those of node0, compared {compared[1]} times, within [0-9.]+ us\n"
    assert re.search(known, shown)
    assert re.search(r"repair +\d+ of \d+ messages and \d+ of 80 collective calls ran backwards, 0 after \d+ ", shown)


def test_one_host(build: Builder, tmp_path: Path) -> None:
    """Four ranks on one host: the runtime records no offsets."""
    mpi = find(NAMES[0], build)
    mpi.run(mpi.build("clocks.c", flags=("-O1", "-DVTRACE")), tmp_path, ranks=4)
    assert offsets(tmp_path) == 0
    assert "clocks: all processes share that of" in unify(tmp_path, "-v", "clocks").stderr
    longest(check(tmp_path / "clocks.trace"))


def disordered(trace: Trace) -> int:
    """Counts the messages that arrive before they are sent, and the collectives and fences that end before all ranks
    have begun (for Scan: before all lower ranks have begun)."""
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    got: dict[tuple[int, int], list[int]] = defaultdict(list)
    begun: dict[tuple[int, bool], list[int]] = defaultdict(list)
    ended: dict[tuple[int, bool], list[tuple[int, str]]] = defaultdict(list)
    for event in trace.events:
        rank = trace.locations[event.location].process
        if event.kind == "MpiSend":
            sent[rank, event.attrs["receiver"]].append(event.time)
        elif event.kind == "MpiRecv":
            got[event.attrs["sender"], rank].append(event.time)
        elif event.kind in ("MpiCollectiveBegin", "RmaCollectiveBegin"):
            begun[rank, event.kind.startswith("Rma")].append(event.time)
        elif event.kind in ("MpiCollectiveEnd", "RmaCollectiveEnd"):
            ended[rank, event.kind.startswith("Rma")].append((event.time, event.attrs["collective_op"]))
    assert {key: len(times) for key, times in sent.items()} == {key: len(times) for key, times in got.items()}
    count = sum(a < b for key, times in got.items() for a, b in zip(times, sent[key], strict=True))
    assert {key: len(times) for key, times in begun.items()} == {key: len(times) for key, times in ended.items()}
    for rank, one_sided in begun:
        # Neither the creation of a window nor the first fence has to wait for other ranks.
        for i, (end, op) in list(enumerate(ended[rank, one_sided]))[2 * one_sided :]:
            lower = range(rank + 1 if op == "SCAN" else 4)
            count += end < max(begun[other, one_sided][i] for other in lower)
    return count


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.full) for name in NAMES[1:])])
def test_threads_and_common_flushes(build: Builder, tmp_path: Path, name: str) -> None:
    """Two threads a rank and swinging clocks. The runtime measures offsets at each synchronised flush, vtunify repairs
    the order of messages, and the events of the threads of a process keep their order."""
    mpi = find(name, build)
    program = mpi.build("hosts.c", flags=("-O1", "-fopenmp"))
    env = {"VT_SYNC_FLUSH": "yes", "VT_SYNC_FLUSH_LEVEL": "20", "VT_BUFFER_SIZE": "1M", "VT_MAX_FLUSHES": "0"}
    done = run(program, tmp_path, "1500", "20", launch=hosts(mpi, tmp_path, 1, 40_000), env={**mpi.env, **env})
    assert done.stdout.split() == ["sum", str(20 * (4 + 2 + 3 + 4)), "failed", "20"]
    unify(tmp_path, "-k", "--no-repair", "hosts")
    before = read(tmp_path / "u_hosts.trace")
    said = unify(tmp_path, "-kv", "--force", "hosts").stderr
    trace = check(tmp_path / "u_hosts.trace")
    masters = [n for n, location in trace.locations.items() if location.name == "Master thread"]
    flushes = [trace.kinds(location)["BufferFlush"] for location in masters]
    assert offsets(tmp_path, "hosts") == 3 * (2 + flushes[0] - 1), "the last flush, at the end, measures no offset"
    assert len(set(flushes)) == 1
    assert flushes[0] >= 3
    assert disordered(before) > 0
    assert disordered(trace) == 0
    assert "between clocks: 0 after" in said
    assert trace.kinds()["MpiRequestCancelled"] == trace.kinds()["MpiIsend"] == 80
    for process in {location.process for location in trace.locations.values()}:
        threads = [n for n, location in trace.locations.items() if location.process == process]
        assert len(threads) == 2
        times = {n: ([e.time for e in before.of(n)], [e.time for e in trace.of(n)]) for n in threads}
        pairs = sorted(pair for old, new in times.values() for pair in zip(old, new, strict=True))
        assert all(a[1] <= b[1] for a, b in pairwise(pairs)), "ordered times of a process must stay in order"
        forks = [e.time for e in trace.of(threads[0]) if e.kind == "ThreadFork"]
        assert len(forks) == 20
        for n in threads:
            begins = [e.time for e in trace.of(n) if e.kind == "ThreadTeamBegin"]
            assert all(fork <= begin for fork, begin in zip(forks, begins, strict=True))
