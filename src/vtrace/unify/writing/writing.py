# SPDX-License-Identifier: BSD-3-Clause
"""Writing, the sixth phase of unifying: pass 2 over the local files, location by location."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import NamedTuple, Protocol

from vtrace.console import some
from vtrace.io.archive.writer import Archive
from vtrace.io.local.kernel import NO_LISTENER, Listener, Transcoded
from vtrace.io.local.starts import Starts, count_events
from vtrace.parallel.crew import Crew
from vtrace.parallel.lending import lend, return_results
from vtrace.parallel.ranks import Ranks, work_on
from vtrace.unify.model.context import Context
from vtrace.unify.model.process import HEAP, OPENING_A_FILE, Process, Run
from vtrace.unify.model.profiles import transcoded


class WriteTask(NamedTuple):
    """A location to write. id: OTF2's; number: the process's number, or HEAP; bytes: of its stored events."""

    id: int
    process: Process
    number: int
    bytes: int


Results = dict[int, Transcoded | None]
"""Results of locations, by OTF2's id; None: the location has no events."""


class EventListener(Protocol):
    """Gets all events while they are written. order: the order in which the locations (OTF2's ids) should come."""

    order: Sequence[int]

    def location(self, id: int) -> AbstractContextManager[Listener]:
        """The listener for a location (OTF2's id), which is written in the context."""

    def end(self, ranks: Ranks) -> None:
        """Called on all ranks after the last location."""


class _Nobody:
    order: Sequence[int] = ()

    def location(self, id: int) -> AbstractContextManager[Listener]:
        return nullcontext(NO_LISTENER)

    def end(self, ranks: Ranks) -> None:
        pass


def write_events(
    run: Run, crew: Crew, archive: Archive, heap_class: int, *, with_samples: bool, context: Context,
    listener: EventListener | None, starts: dict[int, Starts] | None = None,
) -> Results:  # fmt: skip
    """Writes the events of all locations into the archive, the largest first, or in the order of a listener; all ranks
    call write_events.

    One rank reads a process and has its definitions; any rank that sees its files may write its locations.
    heap_class: the metric class of the heap. with_samples: False for an archive without calling contexts. starts: gets
    the starts of this rank's locations, for a packed archive; then there is no listener. Returns the results of the
    locations of this rank's processes. Raises FormatError for damage.
    """
    ranks, console, kernel, threads = context.ranks, context.console, context.kernel, context.request.threads
    own = [
        WriteTask(id, process, number, process.contents.stored_of(number))
        for process in run.processes
        for number, id in process.locations.items()
    ]
    own += [WriteTask(p.place.heap, p, HEAP, p.contents.stored) for p in run.processes if p.place.heap is not None]
    done: Results = {}
    listeners: EventListener = listener or _Nobody()

    def write(task: WriteTask) -> None:
        maps = task.process.maps
        with archive.event_writer(task.id) as writer, listeners.location(task.id) as heard, ExitStack() as stack:
            result = None
            if task.number == HEAP and maps is not None:
                streams = stack.enter_context(task.process.all_events())
                result = kernel.heap(writer, streams, maps.common, heap_class, heard)
            elif maps is not None and not task.process.counts:
                events, samples = stack.enter_context(task.process.events(task.number))
                sampled = maps.sampled(task.number, samples) if with_samples else None
                own = maps.of(task.number)
                if events is None and (sampled is None or samples is None):
                    pass
                elif starts is not None:
                    result, starts[task.id] = count_events(kernel, events, own, sampled)
                else:
                    result = kernel.transcode(writer, events, maps=own, sampled=sampled, listener=heard)
        done[task.id] = result

    with context.salvageable():
        locations, stored = ranks.total([len(own), sum(task.bytes for task in own)])
        console.detail(
            f"writing the events of {some(locations, 'location')} with {some(ranks.size * threads, 'thread')}"
        )
        tasks = lend_tasks(own, crew, ranks)
        if moved := ranks.total([sum(task.process.reader is not None for task in tasks)])[0]:
            are = some(moved, "location is", "locations are")
            console.detail(f"{are} written by another rank than the one that read their process")
        with console.steps("events", stored, "bytes") as advance:
            place = {id: number for number, id in enumerate(listeners.order)}
            order = (lambda task: place[task.id]) if place else None
            work_on(
                ranks, threads, items=tasks, work=write, weigh=lambda task: task.bytes, advance=advance, place=order
            )
        lent = [task for task in tasks if task.process.reader is not None]
        back = [(t.process.reader or 0, t.id, (done.pop(t.id), (starts or {}).pop(t.id, None))) for t in lent]
        returned = return_results(back, ranks)
    if starts is not None:
        starts |= {id: found for id, (_, found) in returned.items() if found is not None}
    return done | {id: result for id, (result, _) in returned.items()} | _of_profiles(run)


def _of_profiles(run: Run) -> Results:
    return {
        id: transcoded(process, number)
        for process in run.processes
        for number, id in process.locations.items()
        if process.counts and number in process.contents.profiles
    }


def lend_tasks(tasks: Sequence[WriteTask], crew: Crew, ranks: Ranks) -> list[WriteTask]:
    """Returns the tasks of this rank: its own without lent ones, then borrowed ones; all ranks call lend_tasks. A
    location of a process with a left-over buffer is lent within the host only."""
    slim: dict[int, Process] = {}

    def pack(task: WriteTask) -> WriteTask:
        if task.process.number not in slim:
            slim[task.process.number] = task.process.lent_copy(ranks.rank)
        return task._replace(process=slim[task.process.number])

    weights = [task.bytes + OPENING_A_FILE for task in tasks]
    return lend(
        tasks, weights, near=[task.process.buffer is not None for task in tasks], pack=pack, crew=crew, ranks=ranks
    )
