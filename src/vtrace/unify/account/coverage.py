# SPDX-License-Identifier: BSD-3-Clause
"""Coverage: the completeness of each location, and the archive's shortfalls compared with the run."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from vtrace.console import some
from vtrace.io.archive.overview import PROPERTY
from vtrace.io.archive.writer import Marker
from vtrace.io.common.arrays import Array
from vtrace.io.local.kernel import NO_WAITS, UNMAPPED, Transcoded
from vtrace.io.local.records import LOST_REASONS, MARKERS, SITE_SHARED, SITE_TIMED
from vtrace.io.sidecar.sidecar import SHARED, TIMED
from vtrace.reasons import LOSSES, MISSING_VALUES
from vtrace.unify.account.facts import settings_of
from vtrace.unify.account.ledger_intervals import (
    BEGIN,
    Gap,
    function_changes,
    gaps_of,
    left_out_functions,
    left_out_names,
)
from vtrace.unify.model.process import HEAP, Process
from vtrace.unify.model.process_definitions import ITERATIONS, ProcessDefinitions, Summary
from vtrace.unify.model.profiles import ROW, archive_rows, calls_without_row
from vtrace.unify.reading.incomplete_processes import IncompleteProcess, by_signal, labels, ranks_of

_COVERAGE = ("RECORDED_NS", "FLUSHED_NS", "OFF_NS", "LOST", "CLAMPED", "STOPPED", "DIED", "DROPPED")
_NAMES = [PROPERTY + key for key in _COVERAGE]
_USAGE = {
    "USER_NS": 1000, "SYSTEM_NS": 1000, "MINOR_FAULTS": 1, "MAJOR_FAULTS": 1, "IN_CALLS_NS": 1000, "RESIDENT_PAGES": 1,
}  # fmt: skip
"""The members of struct vt_usage (csrc/core/location.h) as properties, and their factors."""
_WORDS = ("seconds", "flushed", "off", "lost", "clamped", "limit", "died", "dropped")
_MOST_USED = 1 << 53
"""Above all microseconds and page faults of a location; a larger value in a file is damage."""
_WITHOUT_RECORD = "UNTOLD"
"""The reason for losses without a record of their reason."""
_LACKS = "lacks local files", "lack local files"
_MOST_NS = (1 << 63) - 1
_SEVERITIES = {MARKERS["ERROR"]: "HIGH", MARKERS["WARNING"]: "MEDIUM", MARKERS["HINT"]: "LOW"}


class LongCalls(NamedTuple):
    """Calls in which a thread waited long. region: OTF2's; site: where the program makes the calls, function@file:line,
    "" for others; number and sum of their times in ns."""

    region: int
    site: str
    calls: int
    ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """The result of one location; the rank of its process sends the row to rank 0."""

    id: int
    """The OTF2 location."""
    number: int
    """The process's number of the location."""
    label: str
    """The name of the process in messages."""
    died: bool
    """The process ended without completing its files."""
    lost: int
    """Events that were not recorded, or are in missing files."""
    lost_by: dict[str, int]
    """The same events by reason."""
    clamped: int
    """Number of times that would have run backwards, while recording and while unifying."""
    unknown: bool
    """True: more events may be lost than were counted."""
    setting: str
    """The reason why the location stopped before the process: a setting such as VT_MAX_FLUSHES=1, else some words;
    empty: it did not stop."""
    result: Transcoded | None = None
    markers: Sequence[Marker] = ()
    notes: Sequence[str] = ()
    """The process's comments on the run, in the row of its main thread."""
    gaps: Sequence[Gap] = ()
    """The intervals in which the location did not record."""
    profile: Array | None = None
    """The profile of a location that counts in place of recording events: model.profiles.PROFILE."""
    counted: Array | None = None
    """The calls of a location that are not among its events (VT_BUDGET, VT_KEEP), in the same form."""
    iterations: tuple[int, int] = (0, 0)
    """The numbers of its iterations, and of those that are left out (VT_KEEP)."""
    left_out: int = 0
    left_out_names: tuple[str, ...] = ()
    """The functions that the process has left out for a time (VT_BUDGET), in the row of its main thread."""
    waits: Array = field(default_factory=lambda: NO_WAITS, compare=False)
    """The intervals in which the thread waited for a processor, as in Transcoded."""
    blocked: Array = field(default_factory=lambda: NO_WAITS, compare=False)
    """Those in which it slept, as in Transcoded."""
    sites: Mapping[int, str] = field(default_factory=dict)
    """The texts of their calls."""
    calls: Sequence[LongCalls] = ()
    """Its long calls."""
    end_ns: int = 0
    """End of the process, in ns of the archive; 0: unknown."""
    missing: bool = False
    """The process has no files: its existence only follows from the number of ranks."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """CPU time and page faults of its threads, by names of _USAGE; empty: not known."""

    @property
    def times(self) -> list[int]:
        """Times of the first and last event, of sleep, and of the remarks, in ns of the archive."""
        r, found = self.result, [marker.time for marker in self.markers]
        if len(self.blocked):
            found += [int(self.blocked["from"].min()), int(self.blocked["to"].max())]
        if r and (r.events or self.profile is not None):
            found += [r.first_ns, r.last_ns]
        if r and r.limit_ns is not None:
            found.append(r.limit_ns)
        return found

    @property
    def coverage(self) -> dict[str, int]:
        """Coverage: ns from the first to the last event, ns of flushes and switched off, counts."""
        r = self.result
        if self.number == HEAP:
            return dict.fromkeys(_COVERAGE, 0)
        died = int(self.died)
        if r is None:
            return dict.fromkeys(_COVERAGE, 0) | {"LOST": self.lost, "DIED": died}
        stopped = int(r.limit_ns is not None)
        values = (r.last_ns - r.first_ns, r.flush_ns, r.off_ns, self.lost, self.clamped, stopped, died, r.dropped)
        return dict(zip(_COVERAGE, values, strict=True))


def calls_of(profiles: Iterable[Array | None]) -> int | None:
    """Returns the number of calls in the profiles of all locations; None: there is none."""
    known = [profile for profile in profiles if profile is not None]
    return sum(int(profile["calls"].sum()) for profile in known) if known else None


def ends_of(rows: Sequence[CoverageRow]) -> tuple[int, int]:
    """Returns the begin and the end of the trace, in ns of the archive: of the events, markers and sleep, but the trace
    lasts until its last process ends. Without any it begins with the first process."""
    times = [time for row in rows for time in row.times] or [0]
    return min(times), max([*times, *(row.end_ns for row in rows)])


def _iterations(known: ProcessDefinitions, number: int) -> tuple[int, int]:
    all_, _, left_out = str(known.properties.get(f"{ITERATIONS}{number}", "")).partition(" ")
    return (int(all_), int(left_out)) if all_.isdecimal() and left_out.isdecimal() else (0, 0)


def row_of(location: int, process: Process, number: int, result: Transcoded | None) -> CoverageRow:
    """Returns the row of a process's location. result: None for a location without events."""
    known = process.definitions
    summary = known.summaries.get(number)
    lost = max(result.lost if result else 0, summary.lost if summary else 0)
    clamped = (result.clamped if result else 0) + (summary.clamped if summary else 0)
    lost_by = _lost_by(process, number, lost, result)
    if number in process.contents.missing_records:
        why, missing = process.contents.missing_records[number]
        lost, lost_by[why] = lost + missing, lost_by.get(why, 0) + missing
    if rowless := calls_without_row(process, number):
        lost, lost_by[ROW] = lost + rowless, rowless
    blocked = result.blocked if result else NO_WAITS
    return CoverageRow(
        id=location,
        number=number,
        label=process.label,
        died=process.died,
        lost=lost,
        lost_by=lost_by,
        clamped=clamped,
        unknown=_is_unknown(process, number, result),
        setting=_stop(result, known.properties),
        result=replace(result, notes=(), gaps=(), waits=NO_WAITS, blocked=NO_WAITS) if result else result,
        markers=_markers(location, process, number, result),
        notes=known.notes if number == 0 else (),
        gaps=gaps_of(process, number, result) if number != HEAP else (),
        profile=archive_rows(process, number) if process.counts else None,
        counted=None if process.counts else archive_rows(process, number),
        iterations=_iterations(known, number),
        left_out=left_out_functions(process) if number == 0 else 0,
        left_out_names=left_out_names(process) if number == 0 else (),
        waits=result.waits if result else NO_WAITS,
        blocked=blocked,
        sites={site: _site(known, site) for site in np.unique(blocked["site"]).tolist() if site},
        calls=_long_calls(process, number),
        end_ns=process.end_ns if number == 0 else 0,
        missing=process.missing,
        usage=_usage(summary),
    )


def _long_calls(process: Process, number: int) -> tuple[LongCalls, ...]:
    """Returns the long calls of a location whose region is known."""
    known, curve, found = process.definitions, process.curve, []
    if process.maps is None or curve is None:
        return ()
    regions = process.maps.common.regions
    for (region, site), (calls, ticks) in known.call_times.get(number, {}).items():
        if region < len(regions) and int(regions[region]) != UNMAPPED:
            text = "" if site is None else known.texts.get(site, "")
            ns = min(ticks * curve.rate[1] // curve.rate[0], _MOST_NS)
            found.append(LongCalls(int(regions[region]), text, calls, ns))
    return tuple(found)


def _site(known: ProcessDefinitions, site: int) -> str:
    """Returns the text of a call that slept. The flags of a record BLOCKED follow the name of the function."""
    innermost, arrow, callers = known.texts.get(site & UNMAPPED, "").partition(" <- ")
    if not innermost:
        return ""
    function, at, place = innermost.rpartition("@")
    words = SHARED * bool(site & SITE_SHARED) + TIMED * bool(site & SITE_TIMED)
    return f"{function}{words}{at}{place}{arrow}{callers}"


def _markers(location: int, process: Process, number: int, result: Transcoded | None) -> tuple[Marker, ...]:
    found = [*_user_markers(location, process.definitions, result)] if result else []
    for change in function_changes(process) if number == 0 else ():
        if change.time == BEGIN:
            continue
        what = f"{', '.join(change.names)} left out: recording took {change.part} % of the time of a thread"
        if not change.part:
            what = f"{some(change.functions, 'function')} recorded again"
        kind = "fewer functions recorded" if change.part else "more functions recorded"
        found.append(Marker(change.time, kind, f"vtrace: {what} (VT_BUDGET)", location))
    return tuple(found)


def _user_markers(location: int, known: ProcessDefinitions, result: Transcoded) -> Iterator[Marker]:
    """Yields the markers and comments of the user API."""
    for time, marker, text in result.notes:
        said = known.texts.get(text, "?")
        if marker == UNMAPPED:
            yield Marker(time, "comment", text=said, location=location, group="user", severity="NONE")
            continue
        kind = known.markers.get(marker)
        name, severity = (kind.name, _SEVERITIES[kind.severity]) if kind else ("?", "NONE")
        yield Marker(time, name, text=said, location=location, group="user", severity=severity)


def _usage(summary: Summary | None) -> dict[str, int]:
    numbers = len(summary.usage) // 8 if summary and summary.usage else 0
    if summary is None or not summary.usage or numbers not in (2, len(_USAGE)):
        return {}
    values = struct.unpack_from(f"<{numbers}Q", summary.usage)
    found = {name: value * factor for (name, factor), value in zip(_USAGE.items(), values, strict=False)}
    return found if max(values) < _MOST_USED else {}


def _stop(result: Transcoded | None, properties: Mapping[str, Any]) -> str:
    if result is None or result.limit_ns is None:
        return ""
    why = LOSSES.get(LOST_REASONS.get(result.limit_why, _WITHOUT_RECORD))
    if why is None or not why.stop:
        return "an unknown limit"
    return f"{why.stop}={settings_of(properties).get(why.stop, '?')}" if why.keeps else why.stop


def _is_unknown(process: Process, number: int, result: Transcoded | None) -> bool:
    """Returns True if not all losses of a location are counted: its process has no files, could not write the summary,
    or was killed after the location had stopped or while a part of the buffer was in memory."""
    killed = process.died or process.running
    stopped = result is not None and result.limit_ns is not None
    contents = process.contents
    return process.missing or number in contents.uncounted or (killed and (stopped or contents.in_memory))


def _lost_by(process: Process, number: int, lost: int, result: Transcoded | None) -> dict[str, int]:
    """Returns the losses by reason: from LOST records, and from definitions for losses after the last record."""
    if not lost:
        return {}
    by_number = result.lost_by if result else {}
    found = Counter({LOST_REASONS.get(why, _WITHOUT_RECORD): n for why, n in by_number.items()})
    rest = lost - found.total()
    for why, name in sorted(LOST_REASONS.items()):
        n = min(process.definitions.lost.get((number, why), 0), rest)
        found[name] += n
        rest -= n
    found[_WITHOUT_RECORD] += rest
    return {why: n for why, n in sorted(found.items()) if n > 0}


def sums(rows: Sequence[CoverageRow]) -> dict[str, Any]:
    """Returns the sums over all locations, times in seconds; died: processes; unknown: locations whose losses are not
    all counted."""
    of_rows = [row.coverage for row in rows]
    total = {word: sum(values[key] for values in of_rows) for key, word in zip(_COVERAGE, _WORDS, strict=True)}
    by: Counter[str] = Counter()
    for row in rows:
        by.update(row.lost_by if row.number != HEAP else {})
    times = {word: total[word] / 1e9 for word in _WORDS[:3]}
    died = sum(row.died for row in rows if row.number == 0)
    unknown = sum(row.unknown for row in rows)
    return total | times | {"died": died, "lost_by": dict(sorted(by.items())), "unknown": unknown}


def shortfalls(
    missing: Sequence[int], incomplete: Sequence[IncompleteProcess], rows: Sequence[CoverageRow]
) -> list[str]:
    """Returns a text for each reason why the archive lacks parts of the run; none if the archive is complete."""
    total = sums(rows)
    unread = [p for p in incomplete if p.buffer_unseen]
    found = [f"no files of {ranks_of(missing)}"] if missing else []
    dead = by_signal([p for p in incomplete if p.died and not p.buffer_unseen])
    for one, many, wanted in (
        *((f"was ended by {n}", f"were ended by {n}", p) if n else ("ended early", "ended early", p) for n, p in dead),
        ("has a buffer that was not read", "have buffers that were not read", unread),
        ("was still running", "were still running", [p for p in incomplete if p.running]),
        (*_LACKS, [p for p in incomplete if p.missing_files]),
        ("has damaged files", "have damaged files", [p for p in incomplete if p.problems]),
    ):
        found += [f"{labels(wanted)} {one if len(wanted) == 1 else many}"] if wanted else []
    if lost := total["lost"]:
        words = {why: LOSSES[why].words if why in LOSSES else "for another reason" for why in total["lost_by"]}
        by = ", ".join(f"{n:,} {words[why]}" for why, n in total["lost_by"].items())
        found.append(f"{some(lost, 'event')} lost ({by})")
    if unknown := sum(row.unknown and not row.missing for row in rows):
        found.append(f"an unknown number of {'further ' if lost else ''}events lost on {some(unknown, 'location')}")
    stops = Counter(row.setting.partition("=")[0] for row in rows if row.setting)
    found += [f"{some(n, 'location')} stopped at {why}" for why, n in sorted(stops.items())]
    without = Counter((gap.kind, gap.reason) for row in rows for gap in row.gaps if gap.kind in MISSING_VALUES)
    found += [f"{kind} missing on {some(n, 'location')} ({why})" for (kind, why), n in sorted(without.items())]
    stated = Counter(gap.reason for row in rows for gap in row.gaps if gap.stated)
    found += [f"events missing on {some(n, 'location')} ({why})" for why, n in sorted(stated.items())]
    return found


def untimed(separate: str, incomplete: Sequence[IncompleteProcess]) -> list[str]:
    """Returns the shortfalls that have no interval in the ledger. separate: the sentence of separate_worlds."""
    lacking = [p for p in incomplete if p.missing_files]
    found = [f"{labels(lacking)} {_LACKS[0] if len(lacking) == 1 else _LACKS[1]}"] if lacking else []
    return [separate, *found] if separate else found


def location_properties(row: CoverageRow) -> dict[str, int]:
    """Returns the OTF2 properties of a thread's location. Losses by reason, and UNKNOWN, only if not 0; usage only if
    known."""
    if row.number == HEAP:
        return {}
    named = zip(_NAMES, row.coverage.values(), strict=True)
    lost = {f"{PROPERTY}LOST_{why}": n for why, n in row.lost_by.items()}
    used = {PROPERTY + name: value for name, value in row.usage.items()}
    return dict(named) | lost | ({f"{PROPERTY}UNKNOWN": 1} if row.unknown else {}) | used
