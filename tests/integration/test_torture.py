# SPDX-License-Identifier: BSD-3-Clause
"""SIGKILL at random moments: before the start, while threads and children begin, during a flush, after the end.

The archive has every published record, or its profile every call, and no reader refuses the archive.
`make torture KILLS=10000`."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from support.build.builder import Builder
from support.damage.kills import become_reaper, kill_once, life
from support.tools import environment

KILLS = int(os.environ.get("VT_TORTURE_KILLS", "60"))
SEED = int(os.environ.get("VT_TORTURE_SEED", "1"))
FLAGS = ("-O1", "-pthread", "-DVTRACE")


@pytest.mark.parametrize("mode", ["TRACE", "PROFILE"])
def test_killed_at_random_moments(build: Builder, tmp_path: Path, mode: str) -> None:
    program = build("torture.c", flags=FLAGS)
    begin, events, empty = time.monotonic(), 0, 0
    env = environment() | {"VT_MODE": mode}
    with ProcessPoolExecutor(2, initializer=become_reaper) as pool:
        for done in range(0, KILLS, 20):
            seeds = range(SEED + done, SEED + min(done + 20, KILLS))
            lives = [*pool.map(partial(life, program, tmp_path, env), seeds[:4])]
            usual = median(before for before, _ in lives), median(behind for _, behind in lives)
            for calls in pool.map(partial(kill_once, program, tmp_path, env, usual), seeds):
                events += 2 * calls
                empty += not calls
            if done % 500 == 480:
                told = f"{done + 20} kills, {events} events, {time.monotonic() - begin:.0f} s"
                print(told, file=sys.stderr, flush=True)
    print(f"{KILLS} kills, {empty} before the first event, {events} published events: none is missing", file=sys.stderr)
    assert KILLS // 20 <= empty <= KILLS // 2 or KILLS < 40, "the random moments are too early or too late"
