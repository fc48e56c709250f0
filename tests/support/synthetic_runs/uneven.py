# SPDX-License-Identifier: BSD-3-Clause
"""An archive of many threads that call a short function; one call is long."""

from __future__ import annotations

import random
from pathlib import Path

from support.synthetic_runs import archives

LONG = 60_000
"""ns of the long call."""
STEP = 20_000


def write(where: Path, threads: int, calls: int) -> tuple[int, int, int]:
    """Writes the archive of threads that each make `calls` calls of f of about 1 us. Returns the thread and the start
    of the long call, and the length of the archive, ns."""
    rng = random.Random(threads)
    place = rng.randrange(threads), rng.randrange(calls // 4, calls // 2)
    events, begin, length = dict[int, list[tuple[object, ...]]](), 0, (calls + 4) * STEP
    for thread in range(threads):
        found: list[tuple[object, ...]] = [(0, "Enter", 0)]
        now = 0
        for number in range(calls):
            now = max(now, number * STEP + rng.randrange(STEP // 2))
            found.append((now, "Enter", 1))
            if (thread, number) == place:
                begin, now = now, now + LONG
            else:
                now += rng.randrange(500, 1500)
            found.append((now, "Leave", 1))
        events[thread] = [*found, (length, "Leave", 0)]
    archives.simple(where, events, length=length)
    return place[0], begin, length
