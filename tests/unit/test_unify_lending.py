# SPDX-License-Identifier: BSD-3-Clause
"""A process larger than a rank's share lends locations to other ranks, if these can read its files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.build.parallel import in_threads
from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.process import Process
from vtrace.unify.writing.writing import WriteTask, lend_tasks

MIB = 1 << 20


def crew(views: list[int], hosts: list[str] | None = None) -> Any:
    return SimpleNamespace(views=views, hosts=hosts or ["node"] * len(views))


def lent(stored: list[dict[int, int]], seen: Any, buffers: tuple[int, ...] = ()) -> list[list[tuple[int, int]]]:
    """The (process, location) pairs that each rank writes. Rank n read process n, with stored[n] bytes by location."""

    def work(ranks: Ranks) -> list[tuple[int, int]]:
        process = Process(head=None, number=ranks.rank)  # type: ignore[arg-type]
        process.buffer = Path("buffer") if ranks.rank in buffers else None
        tasks = [WriteTask(100 * ranks.rank + n, process, n, size) for n, size in stored[ranks.rank].items()]
        found = lend_tasks(tasks, seen, ranks)
        for task in found:
            assert (task.process is process) == (task.process.reader is None)
            assert task.process.reader in (None, task.process.number)
        return sorted((task.process.number, task.number) for task in found)

    return in_threads(len(stored), work)


def bytes_of(stored: list[dict[int, int]], tasks: list[tuple[int, int]]) -> int:
    return sum(stored[process][location] for process, location in tasks)


def test_one_process_on_several_ranks() -> None:
    stored = [dict.fromkeys(range(64), MIB), {}, {}, {}]
    found = lent(stored, crew([0] * 4))
    assert [len(tasks) for tasks in found] == [16] * 4
    assert sorted(task for tasks in found for task in tasks) == [(0, n) for n in range(64)]


def test_what_is_even_stays() -> None:
    stored = [{0: 100 * MIB, 1: MIB}, {0: 95 * MIB}]
    assert lent(stored, crew([0, 0])) == [[(0, 0), (0, 1)], [(1, 0)]]


def test_the_largest_first() -> None:
    stored = [{0: 90 * MIB, 1: 40 * MIB, 2: 40 * MIB, 3: 10 * MIB}, {0: 20 * MIB}, {}]
    found = lent(stored, crew([0] * 3))
    assert [bytes_of(stored, tasks) // MIB for tasks in found] == [90, 60, 50]


@pytest.mark.parametrize("view", [0, 2])
def test_only_to_those_that_see_the_files(view: int) -> None:
    stored = [dict.fromkeys(range(8), MIB), {}, {}]
    found = lent(stored, crew([0, view, 2]))
    assert [len(tasks) for tasks in found] == ([4, 4, 0] if view == 0 else [8, 0, 0])


def test_what_lies_in_a_buffer_stays_on_its_host() -> None:
    stored = [dict.fromkeys(range(8), MIB), {}, {}]
    found = lent(stored, crew([0, 0, 0], ["a", "b", "a"]), buffers=(0,))
    assert [len(tasks) for tasks in found] == [4, 0, 4]
