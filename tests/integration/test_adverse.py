# SPDX-License-Identifier: BSD-3-Clause
"""Failing system calls, removed directories and a bad clock during a recording: the result of the program stays the
same, one line reports the failure, and the recorded events stay readable."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.damage.failing_calls import inject, injected
from support.oracles.check import check
from support.tools import Done, call, need

CALLS = 30000
CALLS_OF_TWO_SEGMENTS = 300000
SMALL = {"VT_BUFFER_SIZE": "200K", "VT_MAX_FLUSHES": "0"}


def told_once(done: Done, text: str) -> None:
    said = [line for line in done.stderr.splitlines() if text in line]
    assert len(said) == 1, str(done)
    assert said[0].startswith("vtrace: ")


@pytest.fixture
def where(tmp_path: Path) -> Path:
    """A directory for the local files alone; strace writes its log beside the directory."""
    place = tmp_path / "run"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    ("name", "first"), [("fallocate", 1), ("fallocate", 2), *(("pwritev", n) for n in range(1, 7))]
)
def test_quota(build: Builder, tmp_path: Path, where: Path, name: str, first: int) -> None:
    """Every call from the first, the second, ... one on fails with EDQUOT, as over a quota. The buffer moves to memory;
    or recording stops, one line says so, and the archive counts the lost events."""
    failing = inject(f"{name}:error=EDQUOT:when={first}+", tmp_path / "log")
    grows = (name, first) == ("fallocate", 2)  # only a buffer above 4 MiB has a second segment
    calls, env = (CALLS_OF_TWO_SEGMENTS, {}) if grows else (CALLS, SMALL)
    done = call([*failing, build("many.c"), str(calls), "7"], where, env, check=False)
    assert (done.returncode, done.stdout) == (7, f"done {calls}\n"), str(done)
    assert injected(tmp_path / "log") > 0
    unify(where, "many")
    trace = check(where / "many.trace", complete=False)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    if name == "fallocate":
        assert trace.calls()["work"] == calls, "the buffer must move to memory without loss"
        told_once(done, "(quota used up): vtrace records into memory")
    else:
        told_once(done, "cannot be written (quota used up): the thread stops recording, and its records stay")
        kept = sum(trace.kinds()[kind] for kind in ("Enter", "Leave"))
        assert kept > 16000
        # vtunify may add the last leave of main.
        assert 0 <= kept + coverage["lost"] - 2 * (CALLS + 1) <= 2
        assert (coverage["complete"], list(coverage["lost_by"])) == (False, ["WRITE"])
    assert names(where) == {"many.trace"}


@pytest.mark.parametrize("name", ["renameat", "unlinkat", "fcntl", "getrandom", "madvise"])
def test_calls_that_fail(build: Builder, tmp_path: Path, where: Path, name: str) -> None:
    """All calls of one system call fail with EACCES. The result of the program stays the same. Events are missing only
    if the files cannot be renamed to their final names."""
    failing = inject(f"{name}:error=EACCES:when=1+", tmp_path / "log")
    done = call([*failing, build("many.c"), str(CALLS), "7"], where, check=False)
    assert (done.returncode, done.stdout) == (7, f"done {CALLS}\n"), str(done)
    assert injected(tmp_path / "log") > 0
    assert all(line.startswith("vtrace: ") for line in done.stderr.splitlines()), str(done)
    if name == "renameat":
        told_once(done, "cannot be written (permission denied): the thread stops recording, and its records stay")
    else:
        unify(where, "many")
        assert check(where / "many.trace", complete=False).calls()["work"] == CALLS


@pytest.mark.parametrize("gone", ["scratch", "files", "files scratch"])
def test_directory_is_removed(build: Builder, tmp_path: Path, gone: str) -> None:
    for name in ("files", "scratch"):
        (tmp_path / name).mkdir()
    env = {"VT_PFORM_GDIR": str(tmp_path / "files"), "VT_PFORM_LDIR": str(tmp_path / "scratch")}
    done = run(build("removes.c"), tmp_path, "10000", f"rm -r {gone}", env=env, code=7)
    if gone == "files scratch":
        told_once(done, "cannot be written (no such directory): the thread stops recording, and its records may be")
        told_once(done, "events of rank 0 could not be recorded")
        assert "vtunify reads the other records" not in done.stderr
        return
    where = tmp_path / "files" if gone == "scratch" else tmp_path / "scratch"
    told_once(done, f"next: vtunify {where}/removes")
    if gone == "files":
        told_once(done, "cannot be written (no such directory): the thread stops recording, and its records stay")
    unify(tmp_path, str(where / "removes"))
    assert check(where / "removes.trace", complete=False).calls()["work"] == 20000
    assert names(where) == {"removes.trace"}


@pytest.mark.parametrize("env", [{}, {"VT_PTHREAD_REUSE": "no"}, SMALL], ids=["late", "own", "small"])
def test_64_threads_end_at_the_same_moment(build: Builder, tmp_path: Path, env: dict[str, str]) -> None:
    run(build("threads.c", flags=("-O1", "-pthread")), tmp_path, "together", "64", "1500", env=env)
    unify(tmp_path, "threads")
    trace = check(tmp_path / "threads.trace")
    calls = Counter(tuple(sorted(trace.calls(location).items())) for location in trace.locations)
    assert calls == {(("main", 1), ("work", 1500)): 1, (("body", 1), ("work", 1500)): 64}
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["complete"] is True


SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def test_clock_that_steps_back(build: Builder, tmp_path: Path) -> None:
    """The kernel does not trust the TSC, so vtrace reads the kernel's clock, and a preloaded library sets that clock
    back. Times then stand still until the clock has caught up: no event is lost, and the archive counts the adjusted
    times."""
    if os.geteuid() != 0:
        pytest.skip("only root may show the program another clock source")
    steps = build("steps.c", flags=("-O1", "-shared", "-fPIC"), plain=True, output="steps.so")
    (tmp_path / "source").write_text("hpet\n")
    script = f'mount --bind source {SOURCE} && exec env LD_PRELOAD="$1" "$0" {CALLS}'
    done = call([need("unshare"), "-m", "sh", "-c", script, build("many.c"), steps], tmp_path, check=False)
    if "mount" in done.stderr:
        pytest.skip(f"no mount in a name space of its own: {done.stderr.strip()}")
    done = unify(tmp_path, "many")
    trace = check(tmp_path / "many.trace")
    assert trace.calls() == {"main": 1, "work": CALLS}
    assert json.loads(trace.properties["VTRACE::ABOUT"])["clock"] == "CLOCK_MONOTONIC_RAW"
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert coverage["clamped"] > 100
    assert (coverage["lost"], coverage["complete"]) == (0, True)
    assert "times would have gone backwards" in done.stderr
