# SPDX-License-Identifier: BSD-3-Clause
"""Kills a traced program at a random moment, and compares the calls that the program counted with the archive."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from collections import Counter
from pathlib import Path

import vtrace
from support.tools import need
from vtrace.console import QUIET, Console
from vtrace.errors import VtraceError
from vtrace.unify.run import Request, unify

SLOTS = 32
SMALL = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
_PR_SET_CHILD_SUBREAPER = 36


def become_reaper() -> None:
    """Makes this process the parent of killed programs' children, to wait for their end."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def life(program: Path, directory: Path, env: dict[str, str], seed: int) -> tuple[float, float]:
    """Seconds from the start of a program to its first counted call, and from there to its end, without a kill.

    Both depend on the load of the machine.
    """
    where = directory / f"life-{seed}"
    where.mkdir()
    process = _start(program, where, env, seed)
    begin = time.monotonic()
    _await_call(process, where)
    called = time.monotonic()
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    end = time.monotonic()
    _end(process)
    shutil.rmtree(where)
    return called - begin, end - called


def kill_once(program: Path, directory: Path, env: dict[str, str], life: tuple[float, float], seed: int) -> int:
    """Starts a program and kills it at a random moment, in 3 of 10 cases before the first call. Returns the number of
    published calls.

    life: result of life(). Raises AssertionError with the seed, and keeps all files in this case.
    """
    chance = random.Random(seed)
    where = directory / str(seed)
    where.mkdir()
    kind = chance.choice([{}, SMALL, {**SMALL, "VT_COMPRESSION": "no"}, {"VT_PTHREAD_REUSE": "no"}])
    process = _start(program, where, {**env, **kind}, seed)
    if chance.random() < 0.3:
        time.sleep(chance.random() ** 2 * life[0])
    else:
        _await_call(process, where)
        time.sleep(chance.random() ** 1.3 * life[1])
    _end(process)
    published = _counts(where)
    try:
        found = _unified(where, sum(published), seed % 8 == 0)
        for slot, count in enumerate(published):
            # The program counts a call after vtrace has recorded the call, so each function may have one call more.
            assert 0 <= found[f"w{slot:02}"] - count <= 1, f"w{slot:02}: {count} counted, {found[f'w{slot:02}']} found"
    except Exception as error:
        raise AssertionError(f"seed {seed}, {kind}, in {where}: {error!r}") from error
    shutil.rmtree(where)
    return sum(published)


def _counts(where: Path) -> tuple[int, ...]:
    return struct.unpack_from(f"{SLOTS}q", (where / "counts").read_bytes())


def _await_call(process: int, where: Path) -> None:
    while not any(_counts(where)) and not os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        time.sleep(0.0005)


def _start(program: Path, where: Path, env: dict[str, str], seed: int) -> int:
    """Starts the program and returns its process id at once, because life() measures from here."""
    (where / "counts").write_bytes(bytes(4096))
    process = os.fork()
    if not process:
        try:
            os.setsid()
            os.chdir(where)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            os.execve(program, [program, "counts", str(seed)], env)
        finally:
            os._exit(127)
    return process


def _end(process: int) -> None:
    for kill in (os.killpg, os.kill):  # the process may have no group yet
        with contextlib.suppress(ProcessLookupError):
            kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-process, 0)


def _unified(where: Path, published: int, removes: bool) -> Counter[str]:
    """Calls by function, as the otf2 package reads them; otf2-print must read the archive, too. The local files stay
    for the analysis of a failure, unless the test checks that vtunify removes them.
    """
    try:
        unify(Request(prefix=where / "torture", name="torture", keep=not removes, jobs=1), Console("vtunify", QUIET))
    except VtraceError as error:
        if published:
            raise AssertionError(f"{published} calls published, but {error}") from error
        return Counter()
    archive = where / "torture.trace" / "traces.otf2"
    left = {path.name for path in where.iterdir()} - {"counts", "torture.trace"}
    assert not (left and removes), f"left: {left}"
    printed = subprocess.run([need("otf2-print"), archive], capture_output=True, check=False)
    assert (printed.returncode, printed.stderr) == (0, b""), printed.stderr
    trace = vtrace.open(archive)
    return _counted(trace) if trace.recorded_profile else _calls(archive)


def _counted(trace: vtrace.Trace) -> Counter[str]:
    """Calls by function of a profile."""
    found: Counter[str] = Counter()
    table = trace.profile()
    assert (table["exclusive"] >= 0).all()
    assert (table["exclusive"] <= table["inclusive"]).all()
    assert (table["inclusive"] <= trace.duration).all()
    for region, calls in zip(table["region"].tolist(), table["calls"].tolist(), strict=True):
        found[trace.regions["name"][region]] += calls
    return found


def _calls(archive: Path) -> Counter[str]:
    import otf2

    found: Counter[str] = Counter()
    with otf2.reader.open(str(archive)) as reader:
        stacks: dict[int, list[str]] = {}
        for location, event in reader.events:
            if isinstance(event, otf2.events.Enter):
                found[event.region.name] += 1
                stacks.setdefault(location._ref, []).append(event.region.name)
            elif isinstance(event, otf2.events.Leave):
                assert stacks[location._ref].pop() == event.region.name
        assert not any(stacks.values()), "a call without an end"
    return found
