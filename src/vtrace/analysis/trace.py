# SPDX-License-Identifier: BSD-3-Clause
"""The Trace that vtrace.open returns: an OTF2 archive of any tool, and a method for each question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from vtrace.analysis.definition_tables import region_rows
from vtrace.analysis.findings.finding import Finding, stored_findings
from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.questions.activity_bins import Timeline
from vtrace.analysis.questions.collectives import Collectives, CollectiveTotals
from vtrace.analysis.questions.efficiencies import efficiencies
from vtrace.analysis.questions.events import Events, frame
from vtrace.analysis.questions.increases import Increases, counter_rows, increase_table
from vtrace.analysis.questions.io_files import Io
from vtrace.analysis.questions.messages import Matrix, MessageMatrix, Messages
from vtrace.analysis.questions.metrics import Allocations, Metrics, heap_curve, heap_metrics, metric_rows
from vtrace.analysis.questions.mpi_replay import MpiReplay
from vtrace.analysis.questions.mpi_waits import calls_table, critical_table, delays_table, waits_table
from vtrace.analysis.questions.profile import CallTree, Profile, Slices
from vtrace.analysis.questions.rma import Rma, synchronization
from vtrace.analysis.questions.sections import Sections
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.source import Source
from vtrace.analysis.table import Array, Table
from vtrace.errors import VtraceError
from vtrace.io.archive.overview import find_anchor

if TYPE_CHECKING:
    from vtrace.analysis.findings.diagnosis import Diagnosis
    from vtrace.analysis.findings.diagnosis_pass import DiagnosisPass
    from vtrace.analysis.scan import Pass

__all__ = ["Trace", "open_trace"]

_More = ParamSpec("_More")
_Answer = TypeVar("_Answer", covariant=True)

_PREPARED: dict[str, Callable[[], AnyQuestion]] = {
    "profile": Profile, "call_tree": CallTree, "message_matrix": MessageMatrix, "collective_totals": CollectiveTotals,
    "collectives": Collectives, "rma": Rma, "io": Io, "allocations": Allocations, "waits": MpiReplay,
    "critical_path": lambda: MpiReplay(times=True),
}  # fmt: skip
"""The questions that prepare() can answer together."""
_WHOLE = {"waits", "critical_path"}
"""Questions that need all events, whatever the selection."""


class _OfPart(Protocol[_More, _Answer]):
    """A question of a trace, as its callers see it."""

    def __call__(
        self, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        *args: _More.args, **kwargs: _More.kwargs,
    ) -> _Answer: ...  # fmt: skip


class _OfTrace(Protocol[_More, _Answer]):
    def __get__(self, trace: Trace, owner: type[Trace]) -> _OfPart[_More, _Answer]: ...


def _of_part(method: Callable[Concatenate[Trace, Selection, _More], _Answer]) -> _OfTrace[_More, _Answer]:
    """Gives callers of a question start, stop and locations in place of its selection."""

    @wraps(method)
    def asked(
        self: Trace, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None,
        *args: _More.args, **kwargs: _More.kwargs,
    ) -> _Answer:  # fmt: skip
        return method(self, Selection.of(start, stop, locations), *args, **kwargs)

    own, _, *more = signature(method).parameters.values()
    ends = [*signature(_OfPart.__call__).parameters.values()][1:4]
    asked.__signature__ = signature(method).replace(parameters=[own, *ends, *more])  # type: ignore[attr-defined]
    return cast("_OfTrace[_More, _Answer]", asked)


def _with_caveats(
    method: Callable[Concatenate[Trace, Selection, _More], _Answer],
) -> Callable[Concatenate[Trace, Selection, _More], _Answer]:
    """Gives the tables of an answer their caveats: lines of text about events that the numbers lack."""

    @wraps(method)
    def noted(self: Trace, selection: Selection, *args: _More.args, **kwargs: _More.kwargs) -> _Answer:
        answer: Any = method(self, selection, *args, **kwargs)
        for table in answer if isinstance(answer, tuple) else (answer,):
            table.notes["caveats"] = selection.caveats(self)
        return cast(_Answer, answer)

    return cast("Callable[Concatenate[Trace, Selection, _More], _Answer]", noted)


def open_trace(path: str | Path) -> Trace:
    """Opens an archive.

    path: its directory, its anchor file (traces.otf2) or its prefix (heat for heat.trace). Reads only the definitions;
    each question reads events. Raises VtraceError: there is no archive, or the archive cannot be read.
    """
    anchor = find_anchor(Path(path))
    if anchor is None:
        raise VtraceError(f"{path}: there is no OTF2 archive", "give its directory, its .otf2 file or the prefix")
    return Trace(anchor)


class Trace(Source):
    """An archive and the questions about its events.

    Every question takes the same selection: start, stop in ns since the archive's start (events outside do not count; a
    call that the window cuts counts with its part inside) and locations (rows of trace.locations). A question raises
    VtraceError if the archive's files are gone; of a damaged location the events before the damage count, and
    trace.problems has a line.

    Every table of an answer has caveats: lines of text about events that its numbers lack. Complete numbers have no
    caveats. Notebooks show the caveats above the table.

    A trace keeps its answers: the same question about the same selection costs nothing. Each new question reads the
    events; prepare() answers several in one pass.
    """

    def __init__(self, anchor: Path) -> None:
        super().__init__(anchor)
        self._answers: dict[Any, AnyQuestion] = {}
        self._diagnosed: tuple[Selection, str | None, Diagnosis] | None = None

    def prepare(
        self, *names: str, start: int | None = None, stop: int | None = None, locations: Sequence[int] | None = None
    ) -> None:
        """Answers several questions in one pass.

        names: methods of Trace ("profile", "call_tree", "message_matrix", ...). Called with the same selection and no
        further argument, these methods return immediately afterwards.
        """
        selection = Selection.of(start, stop, locations)
        whole = {name for name in names if name in _WHOLE} if selection != Selection() else set()
        for each, window in ((whole, Selection()), (set(names) - whole, selection)):
            wanted = {(name, window): _PREPARED[name]() for name in each if (name, window) not in self._answers}
            self._pass(wanted, window)

    def knows(self, name: str) -> bool:
        """True if the answer of a method of prepare() for all events is known."""
        return (name, Selection()) in self._answers

    def scan(  # noqa: PLR0917
        self, questions: Sequence[AnyQuestion], locations: Sequence[int] | None = None, start: int | None = None,
        stop: int | None = None, jobs: int | None = None, in_order: bool = False,
    ) -> Pass:  # fmt: skip
        """Reads the events once for several questions; see vtrace.analysis.shared_scan.ask."""
        return ask(self, questions, Selection.of(start, stop, locations), jobs=jobs, in_order=in_order)

    def _pass(self, wanted: dict[Any, AnyQuestion], selection: Selection) -> None:
        if wanted:
            ask(self, list(wanted.values()), selection)
            self._answers |= wanted

    def _ask(self, name: str, selection: Selection, make: Callable[[], AnyQuestion] | None = None, *more: Any) -> Any:
        """The answer of a question. more: further arguments, which distinguish stored answers of one name."""
        key = (name, selection, *more)
        if key not in self._answers:
            self._pass({key: (make or _PREPARED[name])()}, selection)
        return self._answers[key].answer()

    @_of_part
    @_with_caveats
    def events(self, selection: Selection, kinds: Collection[str] | None = None, attributes: bool = False) -> Table:
        """All events, ascending by time: time (int64, ns), location (int32, row), kind (uint8, place in .kinds, OTF2's
        names), and an int64 column for each value that any of the events has: region, comm, handle, win, file (rows,
        -1: not defined), peer, tag, bytes, request, op, root, sent, received, ...; events.NO_VALUE if a kind has no
        such value.

        kinds: only these kinds. attributes: adds a column "@name" for each attribute. A Metric event is one row;
        metric_values() has the values.

        Needs some 30 bytes for each event and column: choose a window of a large archive, or use scan().
        """
        question = Events(kinds, attributes)
        ask(self, [question], selection)
        return question.answer()

    def frame(self, **window: Any) -> Any:
        """events(**window) as a pandas.DataFrame with pipit's columns: "Timestamp (ns)", "Event Type" (Enter, Leave,
        Instant), "Name", "Process" (row of processes: the rank), "Thread" (0 for the first location of a process), and
        the other values of events, NaN for none. Raises VtraceError without pandas."""
        return frame(self, self.events(**window))

    @_of_part
    @_with_caveats
    def profile(self, selection: Selection) -> Table:
        """Rows (location, region) with calls: calls, inclusive (ns; a recursive call inside another call of its region
        does not count again), exclusive (ns, without the calls made from the region), total (ns of all calls: total /
        calls is the mean), min, max (ns of one call), deviations (ns**2: sum over the calls of the squared difference
        from their mean; see profile.mean_and_deviation). profile.reduce joins rows by columns."""
        table: Table = self._ask("profile", selection)
        return table

    @_of_part
    @_with_caveats
    def call_tree(self, selection: Selection) -> tuple[Table, Table]:
        """Two tables. Call paths: parent (row of this table, smaller than its own), region, depth (row 0: outside all
        regions, region -1). Numbers: rows (location, path) with the columns of profile(). Each reading thread keeps a
        million paths; further calls belong to the path around them."""
        tables: tuple[Table, Table] = self._ask("call_tree", selection)
        return tables

    @_of_part
    @_with_caveats
    def slices(self, selection: Selection, most: int = 2_000_000) -> Table:
        """Calls: location, begin, end (ns, cut to the window), region, depth (0: outermost), by location and begin.

        If there are more than most calls, the shortest are left out: .shortest is the bound in ns, 0 if no call is left
        out.
        """
        question = Slices(most)
        ask(self, [question], selection)
        return question.answer()

    @_of_part
    def message_matrix(self, selection: Selection) -> Matrix:
        """The number and bytes of the messages between processes; see messages.Matrix."""
        matrix: Matrix = self._ask("message_matrix", selection)
        return matrix

    @_of_part
    @_with_caveats
    def messages(self, selection: Selection, most: int = 2_000_000) -> Table:
        """Messages with both ends, by the time of the send: sender, receiver (rows of locations), send, receive (ns:
        the events of the send and of the completed receive), comm, tag, bytes, send_region, receive_region (of the
        calls). MPI's order: the n-th send with a receiver, communicator and tag goes to the n-th receive posted for it.
        With a window: messages received after start and sent before stop.

        If there are more than most messages, one of .share is kept, whatever its size. .unmatched_sends,
        .unmatched_receives: numbers of ends (among those kept) without a partner.
        """
        table: Table = self._ask("messages", selection, lambda: Messages(most), most)
        return table

    @_of_part
    @_with_caveats
    def collective_totals(self, selection: Selection) -> Table:
        """Rows (location, op, comm): calls, sent, received (bytes), ns (between begin and end). op: OTF2's number, see
        collectives.op_name. Needs constant memory."""
        table: Table = self._ask("collective_totals", selection)
        return table

    @_of_part
    @_with_caveats
    def collectives(self, selection: Selection) -> tuple[Table, Table]:
        """Two tables. Instances: comm, op, root (rank in comm, -1: none), begin, last_begin, first_end, end (ns; begin,
        last_begin: of the first and the last participant), locations (number of participants), sent, received (bytes of
        all). Participants: instance (row of the first table), location, begin, end (ns), sent, received (bytes),
        region."""
        tables: tuple[Table, Table] = self._ask("collectives", selection)
        return tables

    def _replay(self, causes: bool = True) -> MpiReplay:
        """The waits of all events; with causes also the critical path and the delays."""
        self.need_events()
        replay: MpiReplay = self._ask(
            "critical_path" if causes or self.knows("critical_path") else "waits", Selection()
        )
        return replay

    @_of_part
    def waits(self, selection: Selection) -> Table:
        """Wait states of MPI, the longest first: kind (place in .kinds: Scalasca's names), path (of the MPI call that
        waits, row of .paths), location, partner (the location that it waits for, -1: unknown), partner_path (of the
        partner's call), time_ns, count (calls that wait). .paths: as in call_tree().

        The times follow from the recorded times of the calls: docs/diagnose.md has the formulas. A time counts once, so
        the waits of a call are never longer than the call. Kinds in .bounds are upper bounds. locations: those that
        wait; their partners may be others. .caveats also says which waits are unknown.
        """
        return waits_table(self._replay(causes=False).of(selection))

    @_of_part
    def call_waits(self, selection: Selection, most: int = 2_000_000) -> Table:
        """The waits of waits() call by call, by location and begin: location, begin, end (ns of the MPI call), path,
        kind, partner, time_ns (the part in the window). A call may have several kinds.

        If there are more than most waits, the shortest are left out: .shortest is the bound in ns, 0 if none is.
        """
        return calls_table(self._replay(causes=False).of(selection, most), most)

    @_of_part
    def critical_path(self, selection: Selection) -> Table:
        """The critical path of the run, the longest time first: path (row of .paths), location, time_ns (on the
        critical path). .length_ns: of the critical path in the window; .jumps: its changes of location. .by_path: a
        table of path, time_ns, mean_ns (mean of the processes in this path, without waits), imbalance_ns (by how much
        time_ns is more). In a window the call paths between two calls of MPI count as one after the other."""
        return critical_table(self._replay().of(selection))

    @_of_part
    def delays(self, selection: Selection) -> Table:
        """Root causes of the waits, the most expensive first: location, path (which took longer than at the partner
        since the two met last), kind (place in .kinds) and waiting_path (of the waits that this caused), direct_ns
        (float: of these waits), indirect_ns (float: of waits that these waits caused), excess_ns (how much longer),
        count (waits). All waits together, without completions and window locks, are the sum of direct_ns and
        indirect_ns. start, stop, locations: of the waits."""
        return delays_table(self._replay().of(selection))

    def faster(self, regions: Sequence[int | str] | str, factor: float) -> dict[str, int]:
        """The length of the run if regions (rows of trace.regions, or names), with the functions called from them and
        without MPI, were factor times as fast: elapsed_ns (as recorded, of the locations with MPI), replayed_ns.

        A replay computes the waits of each MPI call again and keeps the transfers, so replayed_ns is a bound: a shorter
        run may change the transfers. Raises ValueError for a factor of 0 or less, and if a region does not exist.
        """
        if not factor > 0:
            raise ValueError(f"factor {factor} is not above 0")
        rows = region_rows(self.regions, regions)
        question: MpiReplay = self._replay()
        paths = question.of(Selection()).paths
        chosen = np.isin(paths["region"], rows)
        for path in range(1, paths.rows):
            chosen[path] |= chosen[paths["parent"][path]]
        elapsed, same = (question.modelled(chosen.astype(np.uint8), saved) for saved in (1 - 1 / factor, 0.0))
        recorded = question.of(Selection()).length()
        return {"elapsed_ns": recorded, "replayed_ns": recorded - (same - elapsed)}

    @_of_part
    def efficiencies(self, selection: Selection) -> Table:
        """Parallel efficiencies in one row, 1 for perfect, by docs/diagnose.md: parallel = load_balance *
        communication, communication = serialisation * transfer (POP); elapsed_ns, ideal_ns (the run's length if
        transfers took no time, by replay), processes, threads (the most in a process), useful_mean_ns, useful_max_ns
        (time outside of MPI by process), useful_instructions, useful_cycles (of all processes outside of MPI). With
        OpenMP's threads also hybrid_parallel = mpi_parallel * openmp_parallel, and of both load_balance and
        communication (BSC). Unknown values are NaN; .caveats says why."""
        name = "critical_path" if self.knows("critical_path") else "waits"
        self.prepare(name, "profile", **selection.arguments())
        return efficiencies(self._replay(causes=False).of(selection), self._ask("profile", selection))

    @_of_part
    @_with_caveats
    def rma(self, selection: Selection) -> Table:
        """One-sided operations by their origin: rows (location, window, target, operation): calls, sent (bytes to the
        target), received (bytes from the target), unknown (calls with unknown bytes, which count 0). window: row of
        windows; target: row of processes, -1: not defined; operation: see rma.operation_name."""
        table: Table = self._ask("rma", selection)
        return table

    @_of_part
    @_with_caveats
    def rma_synchronization(self, selection: Selection) -> Table:
        """Rows (location, kind): calls, ns in MPI's functions that synchronize windows. kind: place in .kinds: fence,
        PSCW (post, start, complete, wait, test), lock, flush, sync, window (creating and freeing)."""
        return synchronization(self, self._ask("profile", selection))

    @_of_part
    @_with_caveats
    def io(self, selection: Selection) -> Table:
        """Rows (location, handle, file): opens, closes, seeks, reads, writes, flushes (completed operations),
        bytes_read, bytes_written, read_ns, write_ns, flush_ns (between begin and end of each operation), cancelled,
        unknown_reads, unknown_writes (operations with unknown bytes, which count 0). Operations
        inside a call of a higher layer of I/O (the pwrite of an MPI_File_write) count in columns of their own:
        nested_opens, nested_bytes_written ... handle: row of io_handles; file: row of files, -1: not a file; layer: of
        the handle, place in .layers. io_files.reduce_io joins rows."""
        table: Table = self._ask("io", selection)
        return table

    @_of_part
    @_with_caveats
    def thread_waits(self, selection: Selection) -> Table:
        """Waits of threads in OpenMP, for locks and for other threads: rows (kind, path, location, partner,
        partner_path): time_ns, count (waits). kind: place in .kinds, Scalasca's names where it has one; path,
        partner_path: rows of .paths (as of call_tree; partner_path -1: unknown); partner: the location waited for, -1:
        none or unknown. The longest time first; docs/diagnose.md defines the kinds."""
        return self.diagnosis(selection).thread_waits

    @_of_part
    def findings(self, selection: Selection) -> list[Finding]:
        """Diagnosed losses of time, the largest first; see vtrace.analysis.findings.finding.Finding. Losses of the
        whole run come from the sidecar if vtunify --diagnose has stored them."""
        if selection == Selection() and (stored := stored_findings(self)) is not None:
            return stored
        return self.diagnosis(selection).findings

    def has_stored_findings(self) -> bool:
        """True if the sidecar has findings of the whole run (vtunify --diagnose)."""
        return stored_findings(self) is not None

    @_of_part
    def iterations(self, selection: Selection, region: str | None = None) -> Table:
        """The iterations of the run: iteration, begin, end (ns), time_ns (of the slowest process), mean_ns (of all),
        location (the slowest process's). An iteration is a call of the region with this name, or of the outermost call
        path that repeats on all processes. Empty if nothing repeats. .region, .source, .basis: the call, its origin and
        the rule by which it delimits iterations; .slow: pairs (first, last) of numbers of outliers; .drift: the
        last quarter by the first one."""
        return self.diagnosis(selection, region).iteration_table

    def diagnosis(
        self, window: Selection, iteration: str | None = None, known: DiagnosisPass | None = None
    ) -> Diagnosis:
        """All that vtrace diagnose shows of a selection. iteration: the region to take as an iteration. A trace keeps
        the latest diagnosis. known: the pass over the events, if it is over. Raises VtraceError for a profile."""
        self.need_events()
        if self._diagnosed is None or self._diagnosed[:2] != (window, iteration):
            from vtrace.analysis.findings.diagnosis_pass import DiagnosisPass, diagnose  # other answers do without

            asked = known or DiagnosisPass(self, window, iteration, with_mpi=not self.knows("critical_path"))
            if not known:
                ask(self, asked.questions, asked.calls.window)
            if asked.mpi:
                self._answers["critical_path", Selection()] = asked.mpi
            self._diagnosed = window, iteration, diagnose(self, window, iteration, asked=asked, replay=self._replay)
        return self._diagnosed[2]

    @_of_part
    @_with_caveats
    def sections(self, selection: Selection, metrics: Sequence[int | str] | None = None) -> Table:
        """The sections that the program has marked, each time that they were open, by location and begin: location,
        section (place in .sections: NAME/NUMBER), begin, end (ns), mpi_ns (time in calls of MPI of this thread),
        mpi_calls (begun in the section). all/0 is the whole run of the location, tofupa/0 the time from MPI_Init to
        MPI_Finalize if the program has sections of Tofu PA.

        metrics: names of counters or rows of metric_members, None: all counters; each has a column "@name" with its
        increase, NaN where it was not read at both ends. .unpaired: starts without a stop and stops without a start,
        which have no row: location, section, starts, stops. all/0 has a row with NaN then; 0 starts and 0 stops:
        neither was recorded.
        """
        question = Sections(self, counter_rows(self, metrics), selection.bounds)
        ask(self, [question], Selection.of(locations=selection.rows(self)))
        return question.answer()

    @_of_part
    @_with_caveats
    def memory(self, selection: Selection, most: int = 200_000) -> Table:
        """The heap of each process over time: process, time (ns), bytes, blocks (-1: not recorded), by process and
        time. Empty where no heap was recorded.

        If there are more than most values of a process, the extremes of equal stretches of time are kept.
        """
        wanted = np.array(list(heap_metrics(self).values()), np.int64)
        values: Table = self._ask("memory", selection, lambda: Metrics(wanted, most), most)
        return heap_curve(values, self)

    @_of_part
    @_with_caveats
    def allocations(self, selection: Selection) -> Table:
        """Rows (location, region, caller): allocations, allocated (bytes), frees, freed (bytes), failed (failed
        allocations, which count nowhere else). region: the function of the heap; caller: the region that called the
        function, -1: none."""
        table: Table = self._ask("allocations", selection)
        return table

    @_of_part
    @_with_caveats
    def metrics(self, selection: Selection, metrics: Sequence[int | str] | None = None) -> Table:
        """Increases of counters: location, region (-1: outside of all), metric (row of metric_members), exclusive,
        inclusive (with the calls made from the region; a recursive call does not count again). An increase from one
        reading to the next belongs to the call in which the second one was made. metrics: as in sections()."""
        rows = counter_rows(self, metrics)
        return increase_table(self._ask("metrics", selection, lambda: Increases(self, rows), *rows))

    @_of_part
    @_with_caveats
    def metric_values(
        self, selection: Selection, metrics: Sequence[int | str] | None = None, most: int = 2_000_000
    ) -> Table:
        """Values of metrics, by location and time: location, time (ns), metric, value (float64), integer (int64: the
        exact value of a whole number).

        metrics: names or rows of metric_members, None: all. If there are more than most values of a location, the
        first, last, lowest and highest of equal stretches of time are kept.
        """
        question = Metrics(metric_rows(self, metrics), most)
        ask(self, [question], selection)
        return question.answer()

    def timeline(  # noqa: PLR0917
        self, bins: int = 200, start: int | None = None, stop: int | None = None, rows: Array | None = None,
        class_of: Array | None = None,
    ) -> Array:  # fmt: skip
        """The time of each location by class and bin: (rows, classes + 1, bins) float32, seconds, in bins of equal
        width from start (0) to stop (the duration). The last class is the time outside all regions.

        rows: (locations,) the row that each location is added to, -1 for none; None: a row each. activity_bins.grouped
        makes such groups. class_of: (regions,) classes below 256; None: the activity classes.
        """
        window = 0 if start is None else start, self.duration if stop is None else stop
        classes = self.regions["class"] if class_of is None else np.asarray(class_of)
        count = int(classes.max(initial=0)) + 1 if class_of is not None else len(self.regions.classes)
        rows = np.arange(self.locations.rows) if rows is None else np.asarray(rows)
        question = Timeline(bins, classes, classes=count, rows=rows, window=window)
        ask(self, [question], Selection.of(stop=window[1], locations=np.flatnonzero(rows >= 0)))
        return question.answer()
