# SPDX-License-Identifier: BSD-3-Clause
"""vtrace.open: an OTF2 archive of any tool, and what can be asked of its events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.activity_bins import Timeline
from vtrace.analysis.questions.collectives import Collectives, CollectiveTotals
from vtrace.analysis.questions.events import Events, frame
from vtrace.analysis.questions.io_files import Io
from vtrace.analysis.questions.messages import Matrix, MessageMatrix, Messages
from vtrace.analysis.questions.metrics import Allocations, Metrics, heap_curve, heap_metrics
from vtrace.analysis.questions.profile import CallTree, Profile, Slices
from vtrace.analysis.questions.rma import Rma, synchronization
from vtrace.analysis.selection import Selection
from vtrace.analysis.source import Source
from vtrace.analysis.table import Array, Table
from vtrace.errors import VtraceError
from vtrace.io.archive.overview import find_anchor

__all__ = ["Trace", "open_trace"]

_Asked = TypeVar("_Asked", bound=Callable[..., Any])

_PREPARED: dict[str, Callable[[], AnyQuestion]] = {
    "profile": Profile, "call_tree": CallTree, "message_matrix": MessageMatrix, "collective_totals": CollectiveTotals,
    "collectives": Collectives, "rma": Rma, "io": Io, "allocations": Allocations,
}  # fmt: skip
"""What prepare() can answer with others in one pass."""


def _told(method: _Asked) -> _Asked:
    """Adds to the tables of an answer, as table.caveats, lines of text that say what their numbers cannot know."""

    @wraps(method)
    def ask(
        self: Trace, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        *more: Any, **named: Any,
    ) -> Any:  # fmt: skip
        found = method(self, start, stop, locations, *more, **named)
        for table in found if isinstance(found, tuple) else (found,):
            table.notes["caveats"] = self.caveats(locations, start, stop)
        return found

    return cast(_Asked, ask)


def open_trace(path: str | Path) -> Trace:
    """Opens the archive at path: its directory, its anchor file (traces.otf2) or its prefix (heat for heat.trace).

    Reads the definitions; events are read when something is asked for. Raises VtraceError: there is no archive, or it
    cannot be read.
    """
    anchor = find_anchor(Path(path))
    if anchor is None:
        raise VtraceError(f"{path}: there is no OTF2 archive", "give its directory, its .otf2 file or the prefix")
    return Trace(anchor)


class Trace(Source):
    """An archive. Every question takes the same window: start, stop in ns since the trace's start (what lies outside
    does not count; a call that is cut counts with its part inside) and locations (rows of trace.locations).

    Every table of an answer has caveats: lines of text that say what its numbers cannot know, none where they are
    whole; notebooks show them above the table.

    Answers are kept: asking again for the same window costs nothing. Each new question is a pass over the events;
    prepare() answers several in one.
    """

    def __init__(self, anchor: Path) -> None:
        super().__init__(anchor)
        self._answers: dict[Any, AnyQuestion] = {}

    def prepare(
        self, *names: str, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> None:
        """Answers several questions in one pass: names of methods ("profile", "call_tree", "message_matrix", ...),
        which answer at once then, with the same window and their other arguments left out.
        """
        selection = Selection.of(start, stop, locations)
        wanted = {(name, selection): _PREPARED[name]() for name in names if (name, selection) not in self._answers}
        self._pass(wanted, selection)

    def _pass(self, wanted: dict[Any, AnyQuestion], selection: Selection) -> None:
        if wanted:
            self.scan(list(wanted.values()), **selection.arguments())
            self._answers |= wanted

    def _ask(
        self, name: str, start: int | None, stop: int | None, locations: Sequence[int] | None,
        make: Callable[[], AnyQuestion] | None = None, *more: Any,
    ) -> Any:  # fmt: skip
        """The answer of a question. more: what else tells it from others of its name."""
        selection = Selection.of(start, stop, locations)
        key = (name, selection, *more)
        if key not in self._answers:
            self._pass({key: (make or _PREPARED[name])()}, selection)
        return self._answers[key].answer()

    @_told
    def events(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        kinds: Collection[str] | None = None, attributes: bool = False,
    ) -> Table:  # fmt: skip
        """All events as columns, ascending by time: time (int64), location (int32, row), kind (uint8, place in .kinds,
        OTF2's names), and an int64 column for each value that any of them has: region, comm, handle, win, file (rows,
        -1: not defined), peer, tag, bytes, request, op, root, sent, received, ...; events.NO_VALUE where a kind has
        none. kinds: only these. attributes: also a column "@name" for each attribute. A Metric is one row; see
        metrics() for its values.

        For all events some 30 bytes an event and column are needed: take windows of large archives, or scan().
        """
        question = Events(kinds, attributes)
        self.scan([question], locations, start, stop)
        return question.answer()

    def frame(self, **window: Any) -> Any:
        """events(**window) as a pandas.DataFrame with pipit's columns: "Timestamp (ns)", "Event Type" (Enter, Leave,
        Instant), "Name", "Process" (row of processes: the rank), "Thread" (0 for the first location of a process), and
        the other values of events, NaN where there is none. Raises VtraceError without pandas.
        """
        return frame(self, self.events(**window))

    @_told
    def profile(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> Table:
        """Rows (location, region) with calls: calls, inclusive (ns; a recursive call inside another of its region does
        not count again), exclusive (ns, without the calls made from it), total (ns of all calls: total / calls is the
        mean), min, max (ns of one call), deviations (ns**2: sum over the calls of the square of the difference from
        their mean; see profile.mean_and_deviation).
        profile.reduce joins rows by columns.
        """
        table: Table = self._ask("profile", start, stop, locations)
        return table

    @_told
    def call_tree(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> tuple[Table, Table]:
        """Call paths: rows parent (row of this table, smaller than its own), region, depth (row 0: outside all regions,
        region -1). And their numbers: rows (location, path) with the columns of profile(). A million paths at most are
        kept apart in a thread of reading; calls beyond belong to the path around them.
        """
        tables: tuple[Table, Table] = self._ask("call_tree", start, stop, locations)
        return tables

    @_told
    def slices(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        most: int = 2_000_000,
    ) -> Table:  # fmt: skip
        """Calls: location, begin, end (ns, cut to the window), region, depth (0: nothing around it), by location and
        begin.

        Of more than most calls the shortest are left out: .shortest (ns, 0: none was) is the bound.
        """
        question = Slices(most)
        self.scan([question], locations, start, stop)
        return question.answer()

    def message_matrix(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> Matrix:
        """Messages sent between processes, by number and bytes; see messages.Matrix."""
        matrix: Matrix = self._ask("message_matrix", start, stop, locations)
        return matrix

    @_told
    def messages(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        most: int = 2_000_000,
    ) -> Table:  # fmt: skip
        """Messages with both ends, by the time of the send: sender, receiver (location rows), send, receive (ns: the
        events of sending, and of a complete receive), comm, tag, bytes, send_region, receive_region (of the calls).
        MPI's order: the n-th send with a receiver, communicator and tag goes to the n-th receive posted for it. With a
        window those received after start and sent before stop.

        Of more than most messages one of .share is kept, whatever its size. .unmatched_sends, .unmatched_receives: ends
        (of those kept) without another.
        """
        table: Table = self._ask("messages", start, stop, locations, lambda: Messages(most), most)
        return table

    @_told
    def collective_totals(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> Table:
        """Rows (location, op, comm): calls, sent, received (bytes), ns (between begin and end). op: OTF2's number, see
        collectives.op_name. In constant memory.
        """
        table: Table = self._ask("collective_totals", start, stop, locations)
        return table

    @_told
    def collectives(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> tuple[Table, Table]:
        """Instances: comm, op, root (rank in comm, -1: none), begin, last_begin, first_end, end (ns; begin: of the
        first to come, last_begin: of the last), locations (how many took part), sent, received (bytes of all). And
        those who took part: instance (row of the first table), location, begin, end, sent, received, region.
        """
        tables: tuple[Table, Table] = self._ask("collectives", start, stop, locations)
        return tables

    @_told
    def rma(self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None) -> Table:
        """One-sided operations by those who called them: rows (location, window, target, operation): calls, sent (bytes
        to the target), received (bytes from it), unknown (calls of which the trace does not tell the bytes, which count
        0). window: row of windows; target: row of processes, -1: not defined; operation: see rma.operation_name.
        """
        table: Table = self._ask("rma", start, stop, locations)
        return table

    @_told
    def rma_synchronization(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> Table:
        """Rows (location, kind): calls, ns in MPI's functions that synchronize windows. kind: place in .kinds: fence,
        PSCW (post, start, complete, wait, test), lock, flush, sync, window (making and freeing them).
        """
        return synchronization(self, self.profile(start, stop, locations))

    @_told
    def io(self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None) -> Table:
        """Rows (location, handle, file): opens, closes, seeks, reads, writes, flushes (complete operations),
        bytes_read, bytes_written, read_ns, write_ns, flush_ns (between begin and end of each operation), cancelled,
        unknown_reads, unknown_writes (operations of which the trace does not tell the bytes, which count 0). All of
        these are of operations that count: those inside a call of a higher layer of I/O (the pwrite of an
        MPI_File_write) stand in nested_opens, nested_bytes_written and so on. handle: row of io_handles; file: row of
        files, -1: not a file; layer: of the handle, place in .layers. files.reduce_io joins rows.
        """
        table: Table = self._ask("io", start, stop, locations)
        return table

    @_told
    def memory(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        most: int = 200_000,
    ) -> Table:  # fmt: skip
        """The heap of each process over time: process, time, bytes, blocks (-1: not recorded), by process and time.
        Empty where none was recorded. Of more than most values of a process the extremes of equal stretches of time are
        kept.
        """
        wanted = np.array(list(heap_metrics(self).values()), np.int64)
        values: Table = self._ask("memory", start, stop, locations, lambda: Metrics(wanted, most), most)
        return heap_curve(values, self)

    @_told
    def allocations(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> Table:
        """Rows (location, region, caller): allocations, allocated (bytes), frees, freed (bytes), failed (allocations
        that got nothing, and count nowhere else) by functions of the heap (region) and who called them (caller, -1:
        none).
        """
        table: Table = self._ask("allocations", start, stop, locations)
        return table

    @_told
    def metric_values(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        metrics: Sequence[int] | None = None, most: int = 2_000_000,
    ) -> Table:  # fmt: skip
        """Values of metrics (rows of metrics; None: all): location, time, metric, value (float64), integer (int64: the
        value of one that is a whole number, exactly), by location and time. Of more than most values of a location the
        first, last, lowest and highest of equal stretches of time are kept.
        """
        wanted = None if metrics is None else np.array(metrics, np.int64)
        question = Metrics(wanted, most)
        self.scan([question], locations, start, stop)
        return question.answer()

    def timeline(
        self, bins: int = 200, start: int | None = None, stop: int | None = None, rows: Array | None = None,
        class_of: Array | None = None,
    ) -> Array:  # fmt: skip
        """(rows, classes + 1, bins) float32: seconds that each location spent in each class of regions, in bins of
        equal width from start (0) to stop (the duration); the last class is the time outside all regions.

        rows: (locations,) which row a location is added to, -1 for none; None: each its own. timeline.grouped makes
        such groups. class_of: (regions,) classes below 256; None: those of activity.
        """
        window = 0 if start is None else start, self.duration if stop is None else stop
        classes = self.regions["class"] if class_of is None else np.asarray(class_of)
        count = int(classes.max(initial=0)) + 1 if class_of is not None else len(self.regions.classes)
        rows = np.arange(self.locations.rows) if rows is None else np.asarray(rows)
        question = Timeline(bins, classes, count, rows, window)
        self.scan([question], np.flatnonzero(rows >= 0).tolist(), stop=window[1])
        return question.answer()
