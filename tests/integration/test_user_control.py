# SPDX-License-Identifier: BSD-3-Clause
"""VT_REWIND, VT_OFF and VT_ON of the user API."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build.builder import AS_WRITTEN, Builder
from support.build.mpis import Mpi
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.user_api import INCLUDE, MANUAL, pair, story
from support.readers.archive import short
from support.tools import PROGRAMS

LEVEL = "VT_REWIND is at another level of the call stack"
N = 9000
"""Number of pairs of events; they fill more than two chunks."""
BEFORE, AFTER = pair("before", 2), pair("after", 2)
GAP = ["OFF", "ON"]
CASES = {
    "plain": ([*GAP, *AFTER], None),
    "again": ([*GAP, *AFTER], None),
    "late": ([*pair("gone", 2), "BufferFlush", *AFTER], "are already in the local files; set a larger VT_BUFFER_SIZE"),
    "sibling": (["+marks", "-marks", *GAP, "+rewinds", "-rewinds", *AFTER], None),
    "deeper": ([*GAP, "+rewinds", "-rewinds", *AFTER], LEVEL),
    "higher": (["+marks", "-marks", *GAP, *AFTER], LEVEL),
    "unmarked": (AFTER, "VT_REWIND without VT_SET_REWIND_MARK"),
    "off": ([*GAP, *GAP, *AFTER], None),
    "on": ([*GAP, *AFTER], None),
}


@pytest.mark.parametrize("name", CASES)
def test_rewind(build: Builder, tmp_path: Path, name: str) -> None:
    expected, said = CASES[name]
    done = run(build("user_rewind.c", flags=MANUAL), tmp_path, name)
    assert (said in done.stderr) if said else "VT_" not in done.stderr
    warned = unify(tmp_path, "user_rewind").stderr
    assert "warning" not in warned
    assert story(check(tmp_path / "user_rewind.trace")) == ["+all", *BEFORE, *expected, "-all"]


@pytest.mark.parametrize("name", ["plain", "again", "sibling", "deeper"])
def test_rewind_over_chunks_with_functions(build: Builder, tmp_path: Path, name: str) -> None:
    """The discarded events fill several chunks. A function that the program first calls there has its name later."""
    run(build("user_rewind.c", flags=("-DVTRACE", "-O1")), tmp_path, name, str(N))
    unify(tmp_path, "user_rewind")
    trace = check(tmp_path / "user_rewind.trace")
    calls = trace.calls()
    assert (calls["before"], calls["after"], calls["gone"]) == (N, N, 0)
    assert calls["helps"] == N
    assert calls["pairs"] == 2
    assert "UNKNOWN" not in calls


@pytest.mark.parametrize("pairs", [2, N])
def test_killed_behind_a_rewind(build: Builder, tmp_path: Path, pairs: int) -> None:
    run(build("user_rewind.c", flags=MANUAL), tmp_path, "killed", str(pairs), code=-9)
    unify(tmp_path, "user_rewind")
    trace = check(tmp_path / "user_rewind.trace", complete=False)
    assert story(trace) == ["+all", *pair("before", pairs), *GAP, "-all"]


def test_small_buffer(build: Builder, tmp_path: Path) -> None:
    """A flush between mark and rewind: all events stay, and the trace is valid."""
    settings = {"VT_BUFFER_SIZE": "150K", "VT_MAX_FLUSHES": "0"}
    done = run(build("user_rewind.c", flags=MANUAL), tmp_path, "plain", str(N), env=settings)
    assert "are already in the local files" in done.stderr
    unify(tmp_path, "user_rewind")
    calls = check(tmp_path / "user_rewind.trace").calls()
    assert (calls["before"], calls["gone"], calls["after"]) == (N, N, N)


def test_off_and_on_with_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """VT_OFF and VT_ON have the effect of MPI_Pcontrol(0) and MPI_Pcontrol(1), also on the state of MPI objects."""
    text = (PROGRAMS / "mpi_pcontrol.c").read_text()
    assert {"MPI_Pcontrol(0)", "MPI_Pcontrol(1)"} <= set(re.findall(r"MPI_Pcontrol\(\d\)", text))
    changed = text.replace("MPI_Pcontrol(0)", "VT_OFF()").replace("MPI_Pcontrol(1)", "VT_ON()")
    source = tmp_path / "switched.c"
    source.write_text(f'#include "vt_user.h"\n{changed}')
    stories = []
    for program in (mpi.build("mpi_pcontrol.c"), mpi.build(source, flags=("-DVTRACE", INCLUDE, *AS_WRITTEN))):
        place = tmp_path / program.name
        place.mkdir()
        mpi.run(program, place, ranks=2)
        unify(place, program.name)
        trace = check(place / f"{program.name}.trace", complete=False)
        stories.append([[told for told in map(short, story(trace, rank)) if "Pcontrol" not in told] for rank in (0, 1)])
    assert stories[0] == stories[1]
    assert stories[0][0].count("OFF") == stories[0][0].count("ON") > 0
