# SPDX-License-Identifier: BSD-3-Clause
"""Kills a traced program at a random moment, and compares what it counted with what two readers find in the archive."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from collections import Counter
from pathlib import Path

from support.tools import need
from vtrace.console import QUIET, Console
from vtrace.errors import VtraceError
from vtrace.unify.run import Request, unify

SLOTS = 32
LIFE = 0.06
"""Seconds that the program takes, about; the kill may come later."""
SMALL = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
_PR_SET_CHILD_SUBREAPER = 36


def become_reaper() -> None:
    """Children of killed programs become ours, so that we know when they have ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_once(program: Path, directory: Path, env: dict[str, str], seed: int) -> int:
    """One program, one kill, one archive; how many calls were published. Raises AssertionError with the seed; what is
    left then stays for who wants to see."""
    chance = random.Random(seed)
    where = directory / str(seed)
    where.mkdir()
    counts = where / "counts"
    counts.write_bytes(bytes(4096))
    kind = chance.choice([{}, SMALL, {**SMALL, "VT_COMPRESSION": "no"}, {"VT_PTHREAD_REUSE": "no"}])
    with counts.open("r+b") as file, mmap.mmap(file.fileno(), 4096) as shared:
        process = subprocess.Popen(
            [program, counts, str(seed)], cwd=where, env={**env, **kind}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(chance.random() ** 1.5 * LIFE)
        _end(process)
        published = struct.unpack_from(f"{SLOTS}q", shared)
    try:
        found = _unified(where, sum(published), seed % 8 == 0)
        for slot, count in enumerate(published):
            # One call of each may be recorded and not yet counted.
            assert 0 <= found[f"w{slot:02}"] - count <= 1, f"w{slot:02}: {count} counted, {found[f'w{slot:02}']} found"
    except Exception as error:
        raise AssertionError(f"seed {seed}, {kind}, in {where}: {error!r}") from error
    shutil.rmtree(where)
    return sum(published)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-process.pid, 0)


def _unified(where: Path, published: int, removes: bool) -> Counter[str]:
    """Calls by function, as the otf2 package reads them; otf2-print must read the archive, too. The local files stay,
    to be looked at after a failure, unless vtunify is to show that it removes all."""
    try:
        unify(Request(where / "torture", "torture", keep=not removes, jobs=1), Console("vtunify", QUIET))
    except VtraceError as error:
        if published:
            raise AssertionError(f"{published} calls published, but {error}") from error
        return Counter()
    archive = where / "torture.trace" / "traces.otf2"
    left = {path.name for path in where.iterdir()} - {"counts", "torture.trace"}
    assert not (left and removes), f"left: {left}"
    printed = subprocess.run([need("otf2-print"), archive], capture_output=True, check=False)
    assert (printed.returncode, printed.stderr) == (0, b""), printed.stderr
    return _calls(archive)


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
