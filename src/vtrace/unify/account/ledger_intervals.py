# SPDX-License-Identifier: BSD-3-Clause
"""Intervals in which locations did not record, with class, reason and count: the sidecar's table `coverage`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vtrace.io.common.arrays import Array
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Transcoded
from vtrace.io.sidecar.sidecar import SidecarTable
from vtrace.left_out import left_out, selects_all
from vtrace.reasons import (
    COUNTERS,
    COUNTING,
    EXCEEDED,
    FLUSH,
    GAPS,
    LOSSES,
    NO_SAMPLES,
    OFF,
    ONLY_CALLS,
    OVERHEAD,
    OVERWRITTEN,
    SAMPLES,
    START_AFTER,
    STOP_AFTER,
    THINNED,
    UNKEPT,
)  # fmt: skip
from vtrace.symbols.demangle import readable
from vtrace.unify.account.facts import settings_of
from vtrace.unify.model import process_definitions as own_definitions
from vtrace.unify.model.missing_records import DAMAGE, WRITE
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import LEFT_OUT, NO_PYTHON, REFUSED, STREAM, UNCOUNTED, UNSAMPLED
from vtrace.unify.model.profiles import ROW, calls_without_row

if TYPE_CHECKING:
    from vtrace.io.archive.writer import Definitions
    from vtrace.unify.account.coverage import CoverageRow

UNKNOWN = r.GAP_UNKNOWN
BEGIN, END, FOR_EVER = 0, r.GAP_OPEN, r.GAP_OPEN - 1
"""Placeholders for times that depend on all locations: start and end of the process, end of the trace."""
_REASONS = {n: LOSSES[name].name for n, name in r.LOST_REASONS.items()}
_REASONS |= {n: GAPS[name] for n, name in r.GAP_REASONS.items()}
_THINNED = next(n for n, name in r.GAP_REASONS.items() if name == "THINNED")
_NOT_WRITTEN, _DAMAGED = LOSSES[WRITE].name, LOSSES[DAMAGE].name
_CLASSES = {
    r.CLASS_FUNCTION | r.CLASS_NEW_CODE | r.CLASS_REGION | r.CLASS_USER: "user", r.CLASS_MESSAGE: "mpi/p2p",
    r.CLASS_COLLECTIVE: "mpi/collective", r.CLASS_RMA: "mpi/rma", r.CLASS_IO: "io", r.CLASS_MEMORY: "memory",
    r.CLASS_TEAM: "openmp", r.CLASS_THREAD: "threads", r.CLASS_METRIC: "metrics",
}  # fmt: skip
_FILTERED = "filter.classes"
"""Name of the property with the classes of library calls that the filter has left out (csrc/core/limits.c)."""
_FILTER_CLASSES = {"user", "mpi", "io", "memory", "processes", "threads", "openmp"}
_SHOWN, _LONG = 3, 50
"""Names of functions in a reason, and their longest one; markers have all."""
_REGION, _ALL_OF_PYTHON = "region:", "functions of Python"
_SELECTION = "functions."
"""The start of the names of properties with the functions selected from a moment on (csrc/funwrap/program_hooks.c)."""


class Gap(NamedTuple):
    """An interval in which a location did not record; times are those of the archive's events.

    ns: time without recording, less than end - begin if intervals were joined; None: end - begin; UNKNOWN: the end is
    unknown. kind: a path of the tree of activities, several joined by +, or "all". stated: by a property of the
    process, not by a record.
    """

    begin: int
    end: int
    ns: int | None = None
    events: int = UNKNOWN
    kind: str = "all"
    reason: str = ""
    stated: bool = False


def class_name(bits: int) -> str:
    """Returns the name of CLASS_ bits of records."""
    if bits & r.CLASS_ALL == r.CLASS_ALL:
        return "all"
    return "+".join(name for mask, name in _CLASSES.items() if bits & mask) or "all"


def gaps_of(process: Process, number: int, result: Transcoded | None) -> tuple[Gap, ...]:
    """Returns the intervals of one location. Only the rank that has read its process can call this function."""
    if process.missing:
        return (Gap(BEGIN, FOR_EVER, reason="rank missing"),)
    found = _thinned([_gap(gap, process, number) for gap in result.gaps] if result else [], process, number)
    last = result.last_ns if result else BEGIN
    _add_rest(found, process, number=number, result=result, last=last)
    if number in process.contents.missing_records:
        why, n = process.contents.missing_records[number]
        found.append(Gap(last, END, events=n, reason=LOSSES[why].name))
    if rowless := calls_without_row(process, number):
        found.append(Gap(BEGIN, END, events=rowless, reason=LOSSES[ROW].name))
    if number in process.contents.uncounted:
        found.append(Gap(last, END, reason=_NOT_WRITTEN))
    if process.died or process.running:
        found = [gap._replace(ns=UNKNOWN, events=UNKNOWN) if gap.end == END else gap for gap in found]
        died = f"ended by {process.ended_by}" if process.ended_by and not process.world else "process died"
        found.append(Gap(last, FOR_EVER, ns=UNKNOWN, reason=died if process.died else "still running"))
    elif process.contents.problems and number in process.contents.scans and not process.contents.is_accounted(number):
        found.append(Gap(last, END, reason=_DAMAGED))
    properties = process.definitions.properties
    return (
        *_windowed(found, properties),
        *_left_out(tuple(properties.items())),
        *_selected(process),
        *_left_out_functions(process),
        *_stated(process),
        *_without_values(process, number),
    )


def _gap(gap: tuple[int, int, int, int, int, int], process: Process, number: int) -> Gap:
    begin, end, ns, count, classes, reason = gap
    name = _REASONS.get(reason, "another reason")
    if reason >= _THINNED:
        name = THINNED + _length(process, 1 << (reason - _THINNED))
    is_stream = f"{STREAM}{number}" in process.definitions.properties  # its one-sided copies are not MPI's
    kind = "tracing" if name == FLUSH else "library" if is_stream else class_name(classes)
    if name == OVERWRITTEN and begin == BEGIN:
        begin = process.archive_ns(process.definitions.first_ticks.get(number, process.contents.pairs[0].ticks))
        ns -= begin
    return Gap(begin, end, ns=None if end == END else ns, events=count, kind=kind, reason=name)


def _thinned(found: list[Gap], process: Process, number: int) -> list[Gap]:
    """Returns the intervals; the first of those with counted calls has the number of their events."""
    rows = process.contents.profiles.get(number)
    first = next((i for i, gap in enumerate(found) if gap.reason.startswith((THINNED, UNKEPT))), None)
    found = [gap._replace(events=0) if gap.reason.startswith((THINNED, UNKEPT)) else gap for gap in found]
    if first is not None and rows is not None:
        found[first] = found[first]._replace(events=_counted_events(rows, timed=True))
    return found


def _counted_events(rows: Array, *, timed: bool) -> int:
    """Returns the number of events that rows of a profile stand for: those of calls with times, or without."""
    return int(rows["turns"][(rows["what"] != 0) & ((rows["most"] > 0) == timed)].sum())


def _length(process: Process, ticks: int) -> str:
    """Returns a length of calls."""
    of, ns = process.curve.rate if process.curve else (1, 1)
    us = ticks * ns / of / 1000
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:,.0f} ms"


def _add_rest(found: list[Gap], process: Process, number: int, result: Transcoded | None, *, last: int) -> None:
    """Adds losses after the last LOST record: to the interval of a limit, if there is one."""
    for (location, why), n in sorted(process.definitions.lost.items()):
        if location != number or not n:
            continue
        name = _REASONS.get(why, "another reason")
        at = next((i for i, gap in enumerate(found) if gap.reason == name and gap.end == END), None)
        if at is not None:
            found[at] = found[at]._replace(events=min(found[at].events + n, UNKNOWN))
        else:
            threads = r.LOST_REASONS.get(why) == "THREAD"  # their times are unknown
            found.append(Gap(BEGIN if threads else last, END, events=min(n, UNKNOWN), reason=name))


def _windowed(found: Sequence[Gap], properties: Mapping[str, Any]) -> Iterator[Gap]:
    """Yields the intervals. The first and the last interval switched off may be due to VT_START_AFTER and
    VT_STOP_AFTER."""
    off = [gap for gap in found if gap.reason == OFF]
    settings = settings_of(properties)
    for gap in found:
        if off and gap is off[0] and settings.get(START_AFTER):
            yield gap._replace(reason=START_AFTER)
        elif off and gap is off[-1] and gap.end == END and settings.get(STOP_AFTER):
            yield gap._replace(reason=STOP_AFTER)
        else:
            yield gap


@lru_cache(256)
def _left_out(properties: tuple[tuple[str, Any], ...]) -> list[Gap]:
    """Returns intervals for the classes that settings exclude for the whole run. A process states at its end which
    calls of libraries the filter has left out."""
    known, found = dict(properties), []
    for name, kind in left_out({name: str(value) for name, value in settings_of(known).items()}):
        if name == "VT_FILTER_SPEC":
            kind = "+".join(sorted({kind, *str(known.get(_FILTERED)).split("+")} & _FILTER_CLASSES))
        found.append(Gap(BEGIN, END, kind=kind, reason=name))
    return found


def _selected(process: Process) -> Iterator[Gap]:
    """Yields intervals for the functions that the program selected while it ran, after those of VT_FUNCTIONS."""
    properties = process.definitions.properties
    changes = sorted(_since(process, value) for key, value in properties.items() if key.startswith(_SELECTION))
    ends = [begin for begin, _ in changes[1:]] + [END]
    for (begin, patterns), end in zip(changes, ends, strict=False):
        if not selects_all(patterns):
            yield Gap(begin, end, kind="user", reason=f"VT_FUNCTIONS={patterns}")


class FunctionChange(NamedTuple):
    """A change of the functions that a process leaves out because of VT_BUDGET. time: ns of the archive. part: of the
    time of a thread that recording took, in %; 0: functions are recorded again. counted: their calls are
    counted. names: of some of the functions. family: those that return in the order of their changes."""

    time: int
    part: int
    functions: int
    counted: bool
    names: tuple[str, ...]
    family: str


def function_changes(process: Process) -> list[FunctionChange]:
    """Returns the changes by time. A forked child begins with those of its parent until then."""
    found = list[FunctionChange]()
    begin = process.head.pair[0]
    for key, value in process.definitions.properties.items():
        if not key.startswith(own_definitions.OVERHEAD):
            continue
        match str(value).split(" "):
            case [pid, ticks, "out" | "counted" | "in" as how, part, count, *names] if all(
                map(str.isdecimal, (pid, ticks, part, count))
            ):
                if int(pid) == process.head.pid or int(ticks) <= begin:
                    since = process.archive_ns(int(ticks)) if int(ticks) > begin else BEGIN  # of its parent
                    shown = tuple(_name(process, name) for name in names)
                    family = key.rpartition(".")[0]
                    found.append(FunctionChange(since, int(part), int(count), how == "counted", shown, family))
    return sorted(found, key=lambda change: change.time)


def _name(process: Process, stated: str) -> str:
    """Returns the name of a function that a property states: a symbol, or the region of a function of Python."""
    if not stated.startswith(_REGION):
        return readable(stated, fortran=False)
    number = stated.removeprefix(_REGION)
    region = process.definitions.regions.get(int(number)) if number.isdecimal() else None
    return region.name if region else _ALL_OF_PYTHON


def left_out_functions(process: Process) -> int:
    """Returns the number of functions that the process has left out for a time."""
    changes = [change for change in function_changes(process) if change.part]
    named = [name for change in changes for name in change.names]
    return len({*named}) + sum(change.functions for change in changes) - len(named)


def left_out_names(process: Process) -> tuple[str, ...]:
    """Returns the names of these functions, as far as they are known."""
    return tuple(sorted({name for change in function_changes(process) for name in change.names}))


def _left_out_functions(process: Process) -> Iterator[Gap]:
    """Yields intervals for the functions that the process leaves out, since recording took too much time, and for
    the time after that in which it still takes too much."""
    left_out, ended = list[FunctionChange](), list[Gap]()
    for change in function_changes(process):
        last = next((earlier for earlier in reversed(left_out) if earlier.family == change.family), None)
        if change.part:
            left_out.append(change)
        elif last:
            left_out.remove(last)
            ended.append(_without(last, change.time))
    found = ended + [_without(change, END) for change in left_out]
    counted = next((i for i, gap in enumerate(found) if gap.reason.startswith(ONLY_CALLS)), None)
    if counted is not None:  # the first has the events of all
        events = sum(_counted_events(rows, timed=False) for rows in process.contents.profiles.values())
        found = [gap._replace(events=0) if gap.reason.startswith(ONLY_CALLS) else gap for gap in found]
        found[counted] = found[counted]._replace(events=events)
    yield from found
    pid, _, tenths = str(process.definitions.properties.get(own_definitions.COUNTING, "")).partition(" ")
    if pid == str(process.head.pid) and tenths.isdecimal():
        yield Gap(BEGIN, END, events=0, kind="user", reason=f"{COUNTING}{int(tenths) / 10:g} ns")
    pid, _, rest = str(process.definitions.properties.get(own_definitions.EXCEEDED, "")).partition(" ")
    if pid == str(process.head.pid):
        begin, part = _since(process, rest)
        yield Gap(begin, END, events=0, kind="tracing", reason=f"{EXCEEDED}{part} %")


def _without(change: FunctionChange, end: int) -> Gap:
    """Returns the interval of functions that were left out together."""
    names = [name if len(name) <= _LONG else name[: _LONG - 3] + "..." for name in change.names[:_SHOWN]]
    more = f" and {change.functions - len(names)} more" if change.functions > len(names) else ""
    start = ONLY_CALLS if change.counted else OVERHEAD
    return Gap(change.time, end, kind="user", reason=f"{start}{', '.join(names)}{more}")


def _stated(process: Process) -> Iterator[Gap]:
    """Yields the intervals that only properties of the process state: events that the process leaves out, Python
    functions and counters that it does not record."""
    for key, value in process.definitions.properties.items():
        if key.startswith(LEFT_OUT):
            begin, classes = _since(process, value)
            yield Gap(begin, END, kind=classes or "all", reason=key.removeprefix(LEFT_OUT), stated=True)
        elif key.startswith(REFUSED):
            yield Gap(BEGIN, END, kind=COUNTERS, reason=f"{key.removeprefix(REFUSED)}: {value}")
        elif key == NO_PYTHON and value:
            yield Gap(BEGIN, END, kind="user", reason=f"Python functions: {value}")


def _without_values(process: Process, number: int) -> Iterator[Gap]:
    """Yields the intervals in which the location is no longer sampled, or no longer has counters."""
    for key, kind in ((UNSAMPLED, SAMPLES), (UNCOUNTED, COUNTERS)):
        if (text := process.definitions.properties.get(f"{key}{number}")) is not None:
            begin, why = _since(process, text)
            yield Gap(begin, END, kind=kind, reason=NO_SAMPLES.get(why, "another reason") if kind == SAMPLES else why)


def _since(process: Process, text: object) -> tuple[int, str]:
    """Splits the value of a property into a time (ticks) and other words. Returns the time in ns of the archive, BEGIN
    if it is unknown, and the words."""
    ticks, _, words = str(text).partition(" ")
    known = ticks.isdecimal() and int(ticks) < r.GAP_OPEN
    return process.archive_ns(int(ticks)) if known else BEGIN, words


def table(definitions: Definitions, rows: Sequence[CoverageRow]) -> SidecarTable:
    """Returns the table of all intervals, by location and begin."""
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    groups = {row.id: _process_of(definitions, row.id) for row in rows}
    for row in rows:
        group = groups[row.id]
        if row.result and row.result.events:
            begins[group] = min(begins.get(group, FOR_EVER), row.result.first_ns)
            ends[group] = max(ends.get(group, 0), row.result.last_ns)
        ends[group] = max(ends.get(group, 0), row.end_ns)
    first, last = definitions.offset, definitions.offset + definitions.length
    last = max(last, *ends.values()) if ends else last
    found = []
    for row in sorted(rows, key=lambda row: row.id):
        group = groups[row.id]
        begin, end = begins.get(group, first), max(ends.get(group, 0), begins.get(group, first))
        # overwritten records are older than the first event of their process
        own = [_placed(gap, first if gap.reason == OVERWRITTEN else begin, end, last) for gap in row.gaps]
        found += [(row.id, gap) for gap in sorted(own)]
    kinds, reasons = (sorted({getattr(gap, name) for _, gap in found}) for name in ("kind", "reason"))
    columns = {
        "location": np.array([location for location, _ in found], "<u8"),
        "from": np.array([gap.begin for _, gap in found], "<u8"),
        "to": np.array([gap.end for _, gap in found], "<u8"),
        "ns": np.array([gap.ns or 0 for _, gap in found], "<u8"),
        "class": np.array([kinds.index(gap.kind) for _, gap in found], "<u4"),
        "reason": np.array([reasons.index(gap.reason) for _, gap in found], "<u4"),
        "count": np.array([gap.events for _, gap in found], "<u8"),
    }
    return SidecarTable(columns, {"class": kinds, "reason": reasons})


def _process_of(definitions: Definitions, location: int) -> int:
    """Returns the group of the process that a location belongs to, also for a stream of a device."""
    group = definitions.locations[location].group
    creator = definitions.groups[group].creator
    return group if definitions.groups[group].type == "PROCESS" or creator is None else creator


def _placed(gap: Gap, begin: int, end: int, last: int) -> Gap:
    """Returns an interval with the times of its process and of the trace in place of placeholders."""
    at = max(gap.begin, begin)
    to = max(at, end if gap.end == END else last if gap.end == FOR_EVER else gap.end)
    ns = to - at if gap.ns is None else gap.ns
    if gap.reason == OVERWRITTEN:
        ns = max(0, ns - (at - gap.begin))
    return gap._replace(begin=at, end=to, ns=ns)
