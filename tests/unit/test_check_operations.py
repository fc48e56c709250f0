# SPDX-License-Identifier: BSD-3-Clause
"""The checkers of RMA and I/O operations find each kind of error, and accept a correct trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.oracles.check_operations import check_io, check_windows
from support.readers.archive import Trace
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import unified, world, write_rank

Records = list[tuple[Any, ...]]
MADE = ("RMA_WIN_CREATE", 1)
PUT = ("RMA_PUT", 1, 0, 8, 4)
PUT_DONE = ("RMA_COMPLETE_REMOTE", 1, 4)
LOCK, UNLOCK = ("RMA_REQUEST_LOCK", 1, 0, 7), ("RMA_RELEASE_LOCK", 1, 0, 7)
FREED = ("RMA_WIN_DESTROY", 1)
OPENED, CLOSED = ("IO_CREATE", 1, 0, 0), ("IO_DESTROY", 1)
READ, READ_DONE = ("IO_BEGIN", 1, 0, 8, 3), ("IO_COMPLETE", 1, 8, 3)


def trace_of(where: Path, records: Records) -> Trace:
    chunk = Chunk()
    for kind, identifier, *payload in records:
        chunk.record(kind, 1, identifier, *payload)
    handles = [["IO_HANDLE", n, f"h{n}", None, 1, int(n == 3), None, None, None, None] for n in (1, 2, 3)]
    write_rank(where, 0, 1, [world(0, 1), ["RMA_WIN", 1, 1, 0], *handles], {0: [chunk]})
    return unified(where)


SOUND: Records = [
    MADE, LOCK, PUT, PUT_DONE, UNLOCK, FREED, ("RMA_COLL_END", 1, 18 | 0xFFFFFFFF << 32, 0, 0, 0), OPENED, READ,
    READ_DONE, ("IO_DUPLICATE", 1, 2), CLOSED, ("IO_BEGIN", 2, 0, 8, 3), ("IO_CANCELLED", 2, 3), ("IO_DESTROY", 2),
    ("IO_SEEK", 3, 0, 0, 0),
]  # fmt: skip


def test_sound(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, SOUND)
    check_windows(trace, True)
    check_io(trace, True)
    assert len(trace.events) == len(SOUND)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([PUT], "outside the life"),
        ([MADE, FREED, PUT], "outside the life"),
        ([MADE, PUT, PUT], "has been used"),
        ([MADE, PUT_DONE], "completes nothing"),
        ([MADE, UNLOCK], "asked for -1 times"),
        ([MADE, LOCK, LOCK], "asked for 2 times"),
        ([MADE, LOCK], "still held"),
    ],
)
def test_windows(tmp_path: Path, records: Records, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_windows(trace_of(tmp_path, records), True)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([READ, READ_DONE], "is not open"),
        ([OPENED, CLOSED, READ, READ_DONE], "is not open"),
        ([("IO_DUPLICATE", 1, 2)], "not open"),
        ([OPENED, READ, READ], "runs already"),
        ([OPENED, READ_DONE], "has not begun"),
        ([OPENED, READ, READ_DONE, READ_DONE], "has not begun"),
        ([OPENED, READ], "without an end"),
    ],
)
def test_io(tmp_path: Path, records: Records, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_io(trace_of(tmp_path, records), True)
