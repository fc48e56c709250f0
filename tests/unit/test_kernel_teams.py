# SPDX-License-Identifier: BSD-3-Clause
"""Records of teams and tasks as OTF2 events: waits that later records end, and ends without a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.transcoding import chunk, transcode
from vtrace.io.local.kernel import Kernel

NESTING = 1 << 32
TEAM = {
    "teams": np.array([0xFFFFFFFF, 1, 2], np.uint32), "team_first": np.array([0, 0, 2], np.uint32),
    "team_members": np.array([0, 3, 0], np.uint32), "team_joined": np.array([1900, 0, 0], np.uint64),
}  # fmt: skip
"""Team 1 has the locations 0 and 3, team 2 has 0; location 0 waited for the end of team 1 until 1900."""


def events(tmp_path: Path, *chunks: Chunk, **changes: Any) -> list[tuple[str, int]]:
    """Transcodes the chunks; returns kind and time of each event."""
    tmp_path.mkdir(exist_ok=True)
    found, _ = transcode(tmp_path, Kernel(), chunks, **(TEAM | changes))
    return [(event.kind.removeprefix("Thread"), event.time) for event in found]


def worker() -> Chunk:
    """A member of team 1 from 1010 to 1020."""
    return chunk().record("THREAD_TEAM_BEGIN", 10, 1, 1 | NESTING, 0).record("THREAD_TEAM_END", 10, 2, 1)


BEGUN = [("TeamBegin", 10), ("Enter", 10), ("Enter", 20)]


def ended(at: int) -> list[tuple[str, int]]:
    return [("Leave", at), ("Leave", at), ("TeamEnd", at)]


def test_region_of_the_forking_thread(tmp_path: Path) -> None:
    records = chunk().record("THREAD_FORK", 5, 1, 2 | NESTING).record("THREAD_TEAM_BEGIN", 5, 1, NESTING, 0)
    records.record("THREAD_TEAM_END", 10, 2, 1).record("THREAD_JOIN", 30, 1, 1)
    assert events(tmp_path, records) == [
        ("Enter", 5), ("Fork", 5), ("TeamBegin", 10), ("Enter", 20), ("Leave", 50), ("TeamEnd", 50), ("Join", 50),
        ("Leave", 50),
    ]  # fmt: skip


def test_next_region_says_when_the_wait_ended(tmp_path: Path) -> None:
    records = worker().record("THREAD_TEAM_BEGIN", 80, 1, 1 | NESTING, 1045)
    records.record("THREAD_TEAM_END", 5, 2, 1).record("THREAD_TEAM_JOINED", 50, 0, 1130)
    again = [("TeamBegin", 100), ("Enter", 100), ("Enter", 105)]
    assert events(tmp_path, records) == [*BEGUN, *ended(45), *again, *ended(130)]


def test_unknown_and_impossible_ends(tmp_path: Path) -> None:
    """Join times of a team: 0 (unknown) and a future time end the wait now; a time before the wait makes it empty."""
    for joined, end in ((0, 100), (1, 20), (5000, 100)):
        records = worker().record("THREAD_TEAM_JOINED", 80, 0, joined)
        assert events(tmp_path / str(joined), records) == [*BEGUN, *ended(end)]


def test_last_wait_ends_beyond_the_last_record(tmp_path: Path) -> None:
    assert events(tmp_path / "known", worker()) == [*BEGUN, *ended(900)]
    nobody = {"team_joined": np.zeros(3, np.uint64)}
    assert events(tmp_path / "killed", worker(), **nobody) == [*BEGUN, *ended(20)]


def test_end_that_was_not_recorded(tmp_path: Path) -> None:
    """Recording was off when the first parallel region ended."""
    records = chunk().record("THREAD_FORK", 5, 1, 2 | NESTING).record("THREAD_TEAM_BEGIN", 5, 1, NESTING, 0)
    records.record("THREAD_FORK", 40, 1, 2 | NESTING).record("THREAD_JOIN", 5, 1, 1).record("THREAD_JOIN", 5, 1, 1)
    assert events(tmp_path, records) == [
        ("Enter", 5), ("Fork", 5), ("TeamBegin", 10), ("TeamEnd", 50), ("Join", 50), ("Leave", 50),
        ("Enter", 50), ("Fork", 50), ("Join", 55), ("Leave", 55),
    ]  # fmt: skip


def test_team_without_members_is_left_out(tmp_path: Path) -> None:
    records = chunk().record("THREAD_TEAM_BEGIN", 10, 9, 1 | NESTING, 0).record("THREAD_TEAM_END", 10, 2, 1)
    assert events(tmp_path, records) == [("Enter", 10), ("Enter", 20), ("Leave", 20), ("Leave", 20)]


def test_tasks(tmp_path: Path) -> None:
    """Location 0 suspends, resumes and completes the second task of location 3."""
    task = 2 | 3 << 32
    records = chunk().record("THREAD_TASK_CREATE", 5, 0, 7, 1).record("THREAD_TASK_BEGIN", 5, 1, task, 1)
    records.record("THREAD_TASK_END", 5, 1, task, 1 | NESTING, 0).record("THREAD_TASK_BEGIN", 5, 1, task, 1)
    records.record("THREAD_TASK_END", 5, 1, task, 1, 7)
    found, _ = transcode(tmp_path, Kernel(), [records], **TEAM)
    about = [(e.kind.removeprefix("Thread"), *(v for k, v in e.attrs.items() if k != "thread_team")) for e in found]
    assert about == [
        ("TaskCreate", 0, 7), ("TaskSwitch", 1, 2), ("Enter", 1), ("Leave", 1), ("TaskSwitch", 0, 0),
        ("TaskSwitch", 1, 2), ("Enter", 1), ("Leave", 1), ("TaskComplete", 1, 2), ("TaskSwitch", 0, 7),
    ]  # fmt: skip
