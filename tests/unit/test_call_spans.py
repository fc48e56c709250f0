# SPDX-License-Identifier: BSD-3-Clause
"""The replay of calls alone, which the tiles need, gives the same as that of all kinds of events."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vtrace
from support.synthetic_runs.archives import Foreign
from vtrace.analysis.replay import Replay
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import ALWAYS, NEVER, BatchBuffer
from vtrace.io.common.arrays import view

REGIONS = 6
SPAN = np.dtype([("end", "<i8"), ("region", "<u4"), ("depth", "<u2"), ("class", "<u2")])
RUNTIME = 16
"""The mark of a region in which a library works by itself."""


def deep_archive(where: Path, seed: int) -> Trace:
    """Calls up to 700 deep, leaves without enter, of outer calls and of unknown regions, flushes, and other events."""
    draw = random.Random(seed)
    stack: list[int] = []
    events: list[tuple[Any, ...]] = []
    for time in sorted(draw.randrange(100_000) for _ in range(20_000)):
        kind = draw.random()
        if kind < (0.6 if len(events) // 4000 % 2 == 0 else 0.35) and len(stack) < 700:
            stack.append(draw.randrange(REGIONS))
            events.append((time, "Enter", stack[-1]))
        elif kind < 0.95 and stack:
            events.append((time, "Leave", stack.pop()))
        elif kind < 0.96:
            events.append((time, "Leave", draw.randrange(REGIONS + 2)))
            if events[-1][2] in stack:
                while stack.pop() != events[-1][2]:
                    pass
        elif kind < 0.965:
            events.append((time, "BufferFlush", time + draw.randrange(50)))
        else:
            events.append((time, "MpiIrecvRequest", 1))
    made = Foreign(where)
    made.events(0, events)
    made.begin_definitions()
    made.machine(length=100_000)
    made.location(0)
    for region in range(REGIONS):
        made.region(region, f"f{region}")
    return vtrace.open(made.close())


def followed(trace: Trace, marks: np.ndarray[Any, Any], stats: bool, events: int) -> list[Any]:
    """The spans, open calls, time of the runtime and deepest stack after each batch of this number of events, and the
    checkpoints. stats: also sums the calls, unlike a replay of calls alone."""
    replay, classes = Replay(trace, False, ALWAYS, NEVER), np.arange(trace.regions.rows, dtype=np.uint8)
    runtime = np.arange(trace.regions.rows, dtype=np.uint8) % 2
    fields = replay.fields
    fields.want_spans = fields.want_checkpoints = 1
    fields.want_stats = stats
    fields.class_of, fields.mark_of, fields.runtime_of = (each.ctypes.data for each in (classes, marks, runtime))
    found: list[Any] = []
    batch = BatchBuffer(events)
    replay.begin()
    with trace.reader() as reader:
        for _ in reader.batches(0, batch, None):
            replay.batch(batch)
            spans = view(fields.spans, fields.nspans, SPAN)
            found.append((spans.tolist(), replay.stack().tolist(), fields.runtime, fields.deepest, fields.stray))
    return [*found, *(each.tolist() for each in replay.checkpoints())]


@pytest.mark.parametrize("seed", range(2))
def test_calls_alone(seed: int, tmp_path: Path) -> None:
    trace = deep_archive(tmp_path / "a.trace", seed)
    marks = np.zeros(trace.regions.rows, np.uint8)
    for marked in ([], [(2, 1)], [(2, 1), (3, RUNTIME)]):
        for region, mark in marked:
            marks[region] = mark
        alone = followed(trace, marks, False, 1000)
        assert alone == followed(trace, marks, True, 1000)
        assert len(alone[-2]) == 4  # checkpoints
        assert max(len(stack) for _, stack, *_ in alone[:-2]) > 256  # more calls than there is room for at first
