# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that believe to be on several hosts, whose clocks are wrong: that is measured, and nothing runs backwards."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from support.build import Builder
from support.check import check
from support.mpis import NAMES, Mpi, find
from support.readback import Trace
from support.run import run, unify, vtrace

SUM = sum(4 * i + 6 for i in range(20))


def hosts(mpi: Mpi, place: Path, per_host: int) -> list[str]:
    """Words before a program that give each rank a host name and the host's clock."""
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
export SKEW_NS=$((host * -3000000000)) SKEW_PPM=$((host * 80)) VT_CLOCK_COUNTER=no PRELOAD={library}
exec {" ".join(words)} sh -c "hostname node$host; LD_PRELOAD=$PRELOAD"' exec "$@"' sh "$@"
"""
    )
    script.chmod(0o755)
    return [*mpi.launch, "-n", "4", str(script)]


def offsets(place: Path) -> int:
    done = vtrace(place, "dump", "--only", "CLOCK_OFFSET", "clocks")
    return done.stdout.count(" CLOCK_OFFSET ")


def longest(trace: Trace) -> int:
    """The ns of the longest message."""
    sent = {(e.location, e.attrs["msg_tag"]): e.time for e in trace.events if e.kind == "MpiSend"}
    got = {((e.location - 1) % 4, e.attrs["msg_tag"]): e.time for e in trace.events if e.kind == "MpiIrecv"}
    assert sent.keys() == got.keys()
    assert len(sent) == 80
    assert all(sent[key] <= got[key] for key in sent)
    return max(got[key] - sent[key] for key in sent)


@pytest.mark.parametrize("per_host", [1, 2])
def test_hosts(mpi: Mpi, tmp_path: Path, per_host: int) -> None:
    """Offsets of seconds are measured at the begin, at VT_TIMESYNC and at the end."""
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
    assert 2 <= int(compared[1]) / (count - 1) <= 3  # one that took long, between two others, does not count
    assert longest(check(tmp_path / "clocks.trace")) < 2_000_000_000


def test_one_host(build: Builder, tmp_path: Path) -> None:
    """There is nothing to measure."""
    mpi = find(NAMES[0], build)
    mpi.run(mpi.build("clocks.c", flags=("-O1", "-DVTRACE")), tmp_path, ranks=4)
    assert offsets(tmp_path) == 0
    assert "clocks: all processes share that of" in unify(tmp_path, "-v", "clocks").stderr
    longest(check(tmp_path / "clocks.trace"))
