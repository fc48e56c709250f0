# SPDX-License-Identifier: BSD-3-Clause
"""Pass 2: the events of each location, written by itself."""

from __future__ import annotations

from contextlib import ExitStack

from vtrace.console import Console
from vtrace.io.archive.writer import Archive
from vtrace.io.local.kernel import Kernel, Transcoded
from vtrace.parallel.ranks import Ranks, work_on
from vtrace.unify.account.coverage import HEAP, CoverageRow, row_of
from vtrace.unify.discover.select_run import Run
from vtrace.unify.discover.share import Crew
from vtrace.parallel.lending import WriteTask, lend


def write_events(
    archive: Archive, run: Run, crew: Crew, kernel: Kernel, heap_class: int, threads: int, ranks: Ranks,
    console: Console,
) -> list[CoverageRow]:  # fmt: skip
    """All locations, the largest first; returns what became of each, at rank 0.

    heap_class: the metrics of what a process has in use.
    """
    own = [
        WriteTask(process.first + i, process, n, process.stored_of(n))
        for process in run.processes
        for i, n in enumerate(process.locations)
    ]
    own += [WriteTask(p.heap, p, HEAP, p.stored) for p in run.processes if p.heap is not None]
    done: dict[int, Transcoded | None] = {}

    def write(task: WriteTask) -> None:
        maps = task.process.maps_of(task.number)
        with archive.event_writer(task.id) as writer, ExitStack() as stack:
            result = None
            if task.number == HEAP and maps is not None:
                streams = stack.enter_context(task.process.all_events())
                result = kernel.heap(writer, streams, maps, heap_class)
            elif (stream := stack.enter_context(task.process.events(task.number))) is not None and maps is not None:
                result = kernel.transcode(writer, stream, maps)
        done[task.id] = result

    locations, stored = ranks.total([len(own), sum(task.bytes for task in own)])
    console.detail(f"writing the events of {locations} locations with {ranks.size * threads} threads")
    tasks = lend(own, crew, ranks)
    if moved := ranks.total([sum(task.process.owner is not None for task in tasks)])[0]:
        console.detail(f"{moved} locations are written by another rank than has read their process")
    with console.steps("events", stored, "bytes") as advance:
        work_on(ranks, threads, tasks, write, lambda task: task.bytes, advance)
    _hand_back(tasks, done, ranks)
    rows = {task.id: row_of(task.id, task.process, task.number, done[task.id]) for task in own}
    return [*ranks.gather(rows).values()]


def _hand_back(tasks: list[WriteTask], done: dict[int, Transcoded | None], ranks: Ranks) -> None:
    """What came of the tasks of others goes to these, who know the definitions."""
    if ranks.size == 1:
        return
    back: list[dict[int, Transcoded | None]] = [{} for _ in range(ranks.size)]
    for task in tasks:
        if task.process.owner not in (None, ranks.rank):
            back[task.process.owner or 0][task.id] = done.pop(task.id)
    for results in ranks.exchange(back):
        done.update(results)
