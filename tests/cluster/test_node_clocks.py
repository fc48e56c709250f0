# SPDX-License-Identifier: BSD-3-Clause
"""Clocks of nodes with a known offset and drift: the archive's times against the true ones, which the program reads by
a system call. Node K is AHEAD * K seconds ahead; a preloaded library makes clocks drift.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import vtrace
from support.cluster.launch import MPIS, ROUNDS, SUM, Job
from support.cluster.nodes import AHEAD, Cluster
from support.oracles.check import check
from support.readers.archive import Trace, read
from support.tools import PROGRAMS, call, need

PPM = 300
"""The clock of rank R runs R * PPM parts per million too fast."""


@dataclass(frozen=True)
class Calls:
    """The calls of timed of a rank: their times in the archive, and true times before and after, in ns."""

    enters: list[int]
    leaves: list[int]
    before: list[int]
    after: list[int]

    @property
    def least(self) -> int:
        """The archive's time is ahead of the true one by this time at least, at the worst call."""
        return max(leave - after for leave, after in zip(self.leaves, self.after, strict=True))

    @property
    def most(self) -> int:
        """The archive's time is ahead of the true one by this time at most, at the best call."""
        return min(enter - before for enter, before in zip(self.enters, self.before, strict=True))


def calls(trace: Trace, where: Path, rank: int) -> Calls:
    timed = [e for e in trace.of(rank) if "region" in e.attrs and trace.regions[e.attrs["region"]].name == "timed"]
    enters, leaves = ([e.time for e in timed if e.kind == kind] for kind in ("Enter", "Leave"))
    lines = (where / f"marks.{rank}").read_text().splitlines()
    before, after = ([int(line.split()[i]) - (rank + 1) * AHEAD * 10**9 for line in lines] for i in (0, 1))
    assert len(lines) == ROUNDS
    return Calls(enters, leaves, before, after)


def assert_true_times(trace: Trace, where: Path, bounds: dict[str, int], more: int = 0) -> None:
    """No call is further away from its true time than the bound of its node. The clock of rank 0 is that of the
    archive: its calls show the difference of archive and true time. more: ns by which the repair puts each clock
    forward."""
    first = calls(trace, where, 0)
    assert first.least <= first.most + more
    for rank in range(1, 4):
        other, bound = calls(trace, where, rank), bounds[f"node{rank + 1}"] + more
        assert other.least <= first.most + bound
        assert other.most >= first.least - bound


def info(where: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(where, "info", "--json", name).stdout)["clocks"]
    return found


@pytest.mark.parametrize("clock", ["counter", "offset", "drift"])
def test_times(cluster: Cluster, build: Builder, tmp_path: Path, clock: str) -> None:
    """The processor's counter, CLOCK_MONOTONIC_RAW with an offset, and the same with drift, too."""
    job = Job(cluster, MPIS[0], build)
    env = {} if clock == "counter" else {"VT_CLOCK_COUNTER": "no"}
    words = [drifting(tmp_path)] if clock == "drift" else []
    program = [job.program(), str(ROUNDS), "clocks"]
    assert job.start(tmp_path, *job.launch(), *words, *program, env=env).stdout == SUM
    job.unify(tmp_path, "-k", "--no-repair", "-o", "measured", "nodes")
    said = job.unify(tmp_path, "-v", "nodes").stderr
    assert "clocks: 4, times are those of node1" in said
    assert re.search(r"3 were compared with it [3-6] times, the worst \(node[234]\) within [0-9.]+ (us|ms|s)", said)

    measured = info(tmp_path, "measured")
    bounds = {each["host"]: each["error_ns"] for each in measured["bounds"]}
    assert set(bounds) == {"node2", "node3", "node4"}
    assert max(bounds.values()) == measured["error_ns"]
    assert_true_times(read(tmp_path / "measured.trace"), tmp_path, bounds)

    repair = info(tmp_path, "nodes")["repair"]
    assert repair["left"] == 0
    assert_true_times(check(tmp_path / "nodes.trace"), tmp_path, bounds, repair["largest_ns"])


def drifting(where: Path) -> Path:
    """A script that gives a program the clocks of its node."""
    library, script = where / "skewed.so", where / "drifting"
    call([need("gcc"), "-O1", "-shared", "-fPIC", PROGRAMS / "skewed.c", "-o", library, "-ldl"], where)
    script.write_text(
        f'#!/bin/sh\nexport SKEW_PPM=$((($(hostname | tr -dc 0-9) - 1) * {PPM})) LD_PRELOAD={library}\nexec "$@"\n'
    )
    script.chmod(0o755)
    return script
