# SPDX-License-Identifier: BSD-3-Clause
"""What may happen to files while a program records: the program's result stays, one line says it, the rest is kept."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.damage.failing_calls import inject
from support.oracles.check import check
from support.tools import Done, call, need

CALLS = 30000
SMALL = {"VT_BUFFER_SIZE": "200K", "VT_MAX_FLUSHES": "0"}


def told_once(done: Done, text: str) -> None:
    said = [line for line in done.stderr.splitlines() if text in line]
    assert len(said) == 1, str(done)
    assert said[0].startswith("vtrace: ")


@pytest.mark.parametrize(
    ("name", "first"), [("fallocate", 1), ("fallocate", 2), *(("pwritev", n) for n in range(1, 7))]
)
def test_quota(build: Builder, tmp_path: Path, name: str, first: int) -> None:
    """strace lets the calls fail from the first one on, from the second one on, ... as they do over a quota."""
    failing = inject(f"{name}:error=EDQUOT:when={first}+")
    done = call([*failing, build("many.c"), str(CALLS), "7"], tmp_path, SMALL, check=False)
    assert (done.returncode, done.stdout) == (7, f"done {CALLS}\n"), str(done)
    unify(tmp_path, "many")
    trace = check(tmp_path / "many.trace", complete=False)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    if name == "fallocate":
        assert trace.calls()["work"] == CALLS, "memory takes the buffer's place"
        assert done.stderr.count("(quota used up): recording goes on in memory") <= 1
    else:
        told_once(done, "cannot be written (quota used up): recording of the thread stops, what is recorded stays")
        kept = sum(trace.kinds()[kind] for kind in ("Enter", "Leave"))
        assert kept > 16000
        # main's last leave may be added by vtunify.
        assert 0 <= kept + coverage["lost"] - 2 * (CALLS + 1) <= 2
        assert (coverage["complete"], list(coverage["lost_by"])) == (False, ["WRITE"])
    assert names(tmp_path) == {"many.trace"}


@pytest.mark.parametrize("name", ["renameat", "ftruncate", "unlinkat", "fcntl", "getrandom", "madvise"])
def test_calls_that_fail(build: Builder, tmp_path: Path, name: str) -> None:
    """The program's result stays; events are missing only where files cannot get their names."""
    done = call([*inject(f"{name}:error=EACCES:when=1+"), build("many.c"), str(CALLS), "7"], tmp_path, check=False)
    assert (done.returncode, done.stdout) == (7, f"done {CALLS}\n"), str(done)
    assert all(line.startswith("vtrace: ") for line in done.stderr.splitlines()), str(done)
    if name == "renameat":
        told_once(done, "cannot be written (permission denied): recording of the thread stops, what is recorded stays")
    else:
        unify(tmp_path, "many")
        assert check(tmp_path / "many.trace", complete=False).calls()["work"] == CALLS


@pytest.mark.parametrize("gone", ["scratch", "files", "files scratch"])
def test_directory_is_removed(build: Builder, tmp_path: Path, gone: str) -> None:
    for name in ("files", "scratch"):
        (tmp_path / name).mkdir()
    env = {"VT_PFORM_GDIR": str(tmp_path / "files"), "VT_PFORM_LDIR": str(tmp_path / "scratch")}
    done = run(build("removes.c"), tmp_path, "10000", f"rm -r {gone}", env=env, code=7)
    if gone == "files scratch":
        told_once(done, "cannot be written (no such directory): recording of the thread stops, what is recorded may be")
        told_once(done, "events of rank 0 could not be recorded")
        assert "vtunify takes the rest" not in done.stderr
        return
    where = tmp_path / "files" if gone == "scratch" else tmp_path / "scratch"
    told_once(done, f"next: vtunify {where}/removes")
    if gone == "files":
        told_once(done, "cannot be written (no such directory): recording of the thread stops, what is recorded stays")
    unify(tmp_path, str(where / "removes"))
    assert check(where / "removes.trace", complete=False).calls()["work"] == 20000
    assert names(where) == {"removes.trace"}


@pytest.mark.parametrize("env", [{}, {"VT_PTHREAD_REUSE": "no"}, SMALL], ids=["late", "own", "small"])
def test_64_threads_end_at_the_same_moment(build: Builder, tmp_path: Path, env: dict[str, str]) -> None:
    run(build("threads.c", flags=("-O1", "-pthread")), tmp_path, "together", "64", "3000", env=env)
    unify(tmp_path, "threads")
    trace = check(tmp_path / "threads.trace")
    calls = Counter(tuple(sorted(trace.calls(location).items())) for location in trace.locations)
    assert calls == {(("main", 1), ("work", 3000)): 1, (("body", 1), ("work", 3000)): 64}
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["complete"] is True


SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def test_clock_that_steps_back(build: Builder, tmp_path: Path) -> None:
    """Where the kernel does not trust the counter its own clock is read; a library in front of that lets it step back.
    Times stand still until it has come as far again: no event is lost, and how many times were moved is told."""
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
