# SPDX-License-Identifier: BSD-3-Clause
"""A thread with a full buffer writes it in small steps."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.ledger import ledger
from support.oracles.user_api import MANUAL, pair, story

WORDS = (65536 - 512) // 8
"""Of a chunk, at most."""
STEP = 6
"""VT_STEP of csrc/core/location.h."""
SIZE = {"VT_BUFFER_SIZE": "1M"}
QUOTA = 12
"""Chunks of the first thread: 70 % of SIZE, rounded up."""


def test_steps(build: Builder, tmp_path: Path) -> None:
    """From the first full buffer on, a step frees at most STEP chunks, so that no event waits for more. Until
    none is left, the thread fills half as many before the next step."""
    run(build("many.c"), tmp_path, "250000", env=SIZE)
    unify(tmp_path, "many")
    events = check(tmp_path / "many.trace").events
    at = [n for n, event in enumerate(events) if event.kind == "BufferFlush"]
    assert (QUOTA - 1) * WORDS < at[0] <= QUOTA * WORDS
    gaps = [b - a for a, b in pairwise(at)]
    assert max(gaps) <= STEP * WORDS
    assert len(events) - at[-1] <= STEP * WORDS
    emptying = (QUOTA - STEP) // (STEP // 2)
    assert max(gaps[:emptying]) <= STEP // 2 * WORDS < min(gaps[emptying:])


def test_flushes_count_full_buffers(build: Builder, tmp_path: Path) -> None:
    """VT_MAX_FLUSHES counts how often the thread fills its buffer, not the steps."""
    settings = {**SIZE, "VT_COMPRESSION": "no"}
    recorded = []
    for flushes in range(1, 4):
        (where := tmp_path / str(flushes)).mkdir()
        run(build("many.c"), where, "250000", env=settings | {"VT_MAX_FLUSHES": str(flushes)})
        recorded.append(ledger(where, "many").functions)
    for n, events in enumerate(recorded, 1):
        assert (n * QUOTA - 1) * WORDS < events <= n * QUOTA * WORDS


def test_rewind_between_steps(build: Builder, tmp_path: Path) -> None:
    """A rewind works although the buffer became full, as long as the chunk with its mark is not written."""
    pairs = 30_000  # 8 chunks before the mark, 8 chunks behind it
    done = run(build("user_rewind.c", flags=MANUAL), tmp_path, "plain", str(pairs), env=SIZE)
    assert "VT_" not in done.stderr
    unify(tmp_path, "user_rewind")
    told = [event for event in story(check(tmp_path / "user_rewind.trace")) if event != "BufferFlush"]
    assert told == ["+all", *pair("before", pairs), "OFF", "ON", *pair("after", pairs), "-all"]
