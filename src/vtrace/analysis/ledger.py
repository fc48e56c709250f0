# SPDX-License-Identifier: BSD-3-Clause
"""The ledger of an archive: intervals without recording, with the classes of missing events and the reasons."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vtrace.analysis.table import Array, Table, add_up, group, texts
from vtrace.console import some
from vtrace.errors import FormatError
from vtrace.io.archive.event_files import damage
from vtrace.io.archive.properties import PROPERTY, parsed
from vtrace.io.common.arrays import distinct
from vtrace.io.sidecar import sidecar
from vtrace.left_out import WHOLE_RUN, left_out
from vtrace.reasons import (
    CHOSEN,
    COUNTING,
    EXCEEDED,
    FLUSH,
    LOSSES,
    MISSING_VALUES,
    NOT_LOST,
    ONLY_CALLS,
    OVERHEAD,
    OVERWRITTEN,
    THINNED,
    UNKEPT,
)

__all__ = ["UNKNOWN", "Ledger"]

UNKNOWN = 2**64 - 1
_LEFT_OUT = CHOSEN | WHOLE_RUN.keys()
LOWER_BOUNDS = "counts and bytes below are lower bounds; the time of missing calls counts as that of their callers"
_LATEST = 2**63 - 1
_EMPTY = {"location": np.uint64, "from": np.uint64, "to": np.uint64, "ns": np.uint64, "count": np.uint64}


@dataclass
class Ledger:
    """The intervals without recording, and the totals.

    intervals: location (OTF2's id), from, to (times of the archive's events, in ticks), ns (time not recorded: less
    than to - from if intervals were joined; UNKNOWN: the end is unknown), class (a path of the tree of activities,
    several joined by +, or "all"), reason, count (of events; UNKNOWN: not counted).

    has_intervals: True if the archive has intervals, False if there are only totals. notes: reasons why the intervals
    cannot be used, one line each. totals: VTRACE::COVERAGE of the archive; empty for other tools' archives. settings:
    settings that exclude events for the whole run, and the classes of these events. damage: missing parts of the
    archive's own files, one line each.
    """

    intervals: Table
    has_intervals: bool
    notes: list[str]
    totals: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    damage: Sequence[str] = ()

    @property
    def told(self) -> bool:
        """Deprecated: the former name of has_intervals."""
        warnings.warn("Ledger.told is deprecated: use Ledger.has_intervals", DeprecationWarning, stacklevel=2)
        return self.has_intervals

    @property
    def complete(self) -> bool | None:
        """True: no event is missing. None: unknown, as for other tools' archives."""
        return False if self.damage else self.totals.get("complete")

    @property
    def shortfalls(self) -> list[str]:
        """Reasons why the archive is not complete, one line each."""
        return [*self.damage, *self.totals.get("shortfalls", [])]

    @cached_property
    def sums(self) -> Table:
        """Rows (class, reason): locations (their number), first (the earliest from), ns (-1: unknown for some), count
        (UNKNOWN: not counted for some)."""
        table = self.intervals
        keys = [np.unique(table[name].astype(str), return_inverse=True)[1] for name in ("reason", "class")]
        first, member = group(keys)
        n = len(first)
        earliest = np.full(n, UNKNOWN, np.uint64)
        np.minimum.at(earliest, member, table["from"])
        known = table["count"] != UNKNOWN
        count = np.zeros(n, np.uint64)
        np.add.at(count, member[known], table["count"][known])
        count[np.unique(member[~known])] = UNKNOWN
        ns = add_up(member, np.where(table["ns"] == UNKNOWN, 0, table["ns"]).astype(np.int64), n)
        ns[np.unique(member[table["ns"] == UNKNOWN])] = -1
        pairs = np.unique(np.stack([member, table["location"].astype(np.int64)]), axis=1)
        return Table({
            "class": table["class"][first], "reason": table["reason"][first],
            "locations": np.bincount(pairs[0], minlength=n), "first": earliest,
            "ns": ns, "count": count,
        })  # fmt: skip

    def rows(self) -> list[dict[str, Any]] | None:
        """The intervals for JSON, with None for unknown times and counts. None: there are only totals."""
        if not self.has_intervals:
            return None
        known = self.intervals.records()
        return [row | {key: None if row[key] == UNKNOWN else row[key] for key in ("ns", "count")} for row in known]

    def select(self, locations: Collection[int] | None, start: int | None, stop: int | None) -> Ledger:
        """The intervals of some locations (OTF2's ids; None: all) that overlap a window (ticks; None: open)."""
        table = self.intervals
        kept = np.ones(table.rows, bool)
        if locations is not None:
            kept &= np.isin(table["location"], np.array([*locations], np.uint64))
        if start is not None:
            kept &= table["to"] >= np.uint64(max(0, start))
        if stop is not None:
            kept &= table["from"] <= np.uint64(max(0, stop))
        return replace(self, intervals=table.take(kept))


def read_ledger(
    anchor: Path, properties: Mapping[str, str], coverage: Mapping[str, Any], ids: Array, *, events: Array
) -> Ledger:
    """Reads the ledger of an archive.

    anchor: the anchor file. properties: of the archive, by their full names. coverage: VTRACE::COVERAGE. ids, events:
    (locations,) OTF2's ids, and the numbers of events in the definitions. A damaged table, or a table of another
    archive, gives a note instead of intervals.
    """
    notes: list[str] = []
    found = None
    totals = coverage if isinstance(coverage, Mapping) else {}
    settings = parsed("SETTINGS", properties.get(f"{PROPERTY}SETTINGS", "{}"), [])
    kinds = dict(left_out(settings or {}))
    missing = damage(anchor, properties, ids, events)
    if f"{PROPERTY}COVERAGE" in properties:
        try:
            found = sidecar.read(anchor.parent, *sidecar.COVERAGE, sidecar.identity(anchor, properties))
            if found is not None:
                return Ledger(
                    intervals=_intervals(found),
                    has_intervals=True,
                    notes=notes,
                    totals=totals,
                    settings=kinds,
                    damage=missing,
                )
        except (FormatError, KeyError, IndexError) as error:
            text = str(error.args[0]) if isinstance(error, FormatError) else "its table of coverage is damaged"
            notes.append(f"{text}: only the totals of events not recorded are known")
    return Ledger(
        intervals=_intervals(None), has_intervals=False, notes=notes, totals=totals, settings=kinds, damage=missing
    )


def _intervals(found: sidecar.SidecarTable | None) -> Table:
    """The table of intervals. Raises KeyError and IndexError if the columns are not those that vtunify writes."""
    if found is None:
        none: Array = np.empty(0, object)
        empty = {name: np.empty(0, kind) for name, kind in _EMPTY.items()}
        return Table({**empty, "class": none, "reason": none})
    columns = {name: found.columns[name].astype(kind) for name, kind in _EMPTY.items()}
    known = columns["ns"][columns["ns"] != UNKNOWN]
    if np.any(columns["from"] > columns["to"]) or np.any(columns["to"] > _LATEST) or np.any(known > _LATEST):
        raise IndexError("a time")
    for name in ("class", "reason"):
        named, numbers = found.names[name], found.columns[name]
        if len(numbers) and int(numbers.max()) >= len(named):
            raise IndexError(name)
        columns[name] = texts(named)[numbers.astype(np.int64)]
    return Table({name: columns[name] for name in ("location", "from", "to", "ns", "class", "reason", "count")})


def caveats(ledger: Ledger, zero: int = 0, resolution: int = 10**9) -> list[str]:
    """Lines about events that an archive's numbers lack, to show above the numbers. No line: the numbers are
    complete.

    zero (ticks), resolution (ticks a second): of the archive's clock.
    """
    lines, without_values = [], []
    rows = list(ledger.sums.records())
    for row in rows:
        if row["reason"] == FLUSH or row["reason"].startswith(NOT_LOST):
            continue
        where = some(row["locations"], "location")
        what = "" if row["class"] == "all" else f" of {_listed(row['class'])}"
        since = f"from {max(0, row['first'] - zero) / resolution:.6g} s on"
        known = row["count"] != UNKNOWN
        count = f"{row['count']:,}" if known else "an unknown number of"
        events, are = ("event", "is") if known and row["count"] == 1 else ("events", "are")
        if row["class"] in MISSING_VALUES:
            without_values.append(f"incomplete ({row['reason']}): {row['class']} are missing on {where}, {since}")
        elif row["reason"] == OVERWRITTEN:
            records = f"{count} records" if count != "1" else "1 record"
            lines.append(f"left out ({OVERWRITTEN}): {records}{what} before the last ones on {where}")
        elif row["reason"] in _LEFT_OUT:
            time = f"{row['ns'] / resolution:.6g} s" if row["ns"] >= 0 else "an unknown time"
            lines.append(f"left out ({row['reason']}): events{what} on {where}, {time} altogether")
        else:
            lines.append(f"incomplete ({row['reason']}): {count} {events}{what} {are} missing on {where}, {since}")
    lines += [*_counted_only(rows, zero, resolution), *_without_functions(rows, zero, resolution)]
    if not ledger.has_intervals:
        lines += [f"left out ({name}): events of {_listed(kind)}" for name, kind in ledger.settings.items()]
    lines += [f"incomplete: {text}" for text in [*ledger.damage, *_untimed(ledger)]]
    if any(line.startswith("incomplete") for line in lines):
        lines.append(LOWER_BOUNDS)
    return ledger.notes + without_values + lines


def _counted_only(rows: Sequence[Mapping[str, Any]], zero: int, resolution: int) -> list[str]:
    """The line about calls that are only counted (VT_BUDGET, VT_KEEP)."""
    thinned = [row for row in rows if row["reason"].startswith(THINNED)]
    unkept = [row for row in rows if row["reason"] == UNKEPT]
    if not thinned and not unkept:
        return []
    first = min(row["first"] for row in thinned + unkept)
    since = f"from {max(0, first - zero) / resolution:.6g} s on"
    calls = sum(int(row["count"]) for row in thinned + unkept if row["count"] != UNKNOWN) // 2
    lengths = [row["reason"].removeprefix(THINNED) for row in thinned]
    limits = [f"shorter than {max(lengths, key=_ns)}"] if thinned else []
    limits += ["in iterations that are left out, without communication"] if unkept else []
    settings = ", ".join(["VT_BUDGET"] * bool(thinned) + [UNKEPT] * bool(unkept))
    kinds = _listed((thinned + unkept)[0]["class"])
    return [
        f"counted only ({settings}): {calls:,} calls of {kinds}, each {' or '.join(limits)}, {since}; they are in "
        "tables of calls of the whole run, and in no timeline"
    ]


def _without_functions(rows: Sequence[Mapping[str, Any]], zero: int, resolution: int) -> Iterator[str]:
    """Lines about functions that are left out, since recording took too much time (VT_BUDGET)."""
    for row in rows:
        if row["reason"].startswith(EXCEEDED):
            since = f"from {max(0, row['first'] - zero) / resolution:.6g} s on"
            yield (
                f"{row['reason']} of the time of a thread, {since}, more than the bound: only functions compiled by "
                "vtrace-cc or of Python and calls of malloc can be left out"
            )
    costs = [row["reason"].removeprefix(COUNTING) for row in rows if row["reason"].startswith(COUNTING)]
    each = f", at {max(costs, key=_ns)} each" if costs else ""
    for start, what in ((OVERHEAD, "not counted"), (ONLY_CALLS, f"only counted{each}")):
        found = [row for row in rows if row["reason"].startswith(start)]
        if left_out := sorted((row["first"], row["reason"], row["count"]) for row in found):
            first, reason, _ = left_out[0]
            calls = sum(int(count) for _, _, count in left_out if count != UNKNOWN) // 2
            names = reason.removeprefix(start) + (", later others" if len(left_out) > 1 else "")
            since = f"from {max(0, first - zero) / resolution:.6g} s on"
            number = f"{calls:,} " if calls else ""
            yield (
                f"left out (VT_BUDGET): {number}calls of {names}, {since}; they are {what}, and their time is that of "
                "their callers"
            )


def _ns(length: str) -> float:
    number, unit = length.split(" ")
    return float(number.replace(",", "")) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit]


def _listed(kind: str) -> str:
    return kind.replace("+", ", ")


def _untimed(ledger: Ledger) -> list[str]:
    """Losses that vtunify reports and that no interval shows."""
    if ledger.has_intervals:
        return list(ledger.totals.get("untimed", []))
    return list(ledger.totals.get("shortfalls", [])) if ledger.totals.get("complete") is False else []


_STOPS = {loss.name: loss.stop for loss in LOSSES.values() if loss.stop}
"""Reasons for which a location stops recording before its process ends, in the words of coverage_line."""


def coverage_line(ledger: Ledger, sums: Mapping[str, float]) -> str:
    """The line about the recording that every command prints.

    sums: over the locations of the ledger, named as in VTRACE::COVERAGE: lost, dropped (records), limit, unknown
    (locations), clamped (times), off, flushed (s).
    """
    table = ledger.intervals
    reasons = table["reason"].astype(str)
    known = np.logical_or.reduce([reasons == reason for reason in _LEFT_OUT])
    known |= np.logical_or.reduce([np.char.startswith(reasons, start) for start in NOT_LOST])
    classes = table["class"].astype(str)
    missing, uncounted = ~known & ~np.isin(classes, MISSING_VALUES), table["count"] == UNKNOWN
    lost = max(int(sums["lost"]), int(table["count"][missing & ~uncounted].sum()))
    parts = [f"{some(lost, 'event')} lost"] if lost else []
    unknown, why = int(sums["unknown"]), ""
    if ledger.has_intervals:
        unknown = len(distinct(table["location"][missing & uncounted]))
        why = f" ({', '.join(sorted(set(reasons[missing & uncounted].tolist())))})"
    parts += [f"an unknown number of events missing on {some(unknown, 'location')}{why}"] if unknown else []
    for kind in MISSING_VALUES:
        if (these := classes == kind).any():
            where = some(len(distinct(table["location"][these])), "location")
            parts.append(f"{kind} missing on {where} ({', '.join(sorted(set(reasons[these].tolist())))})")
    parts += [f"incomplete: {text}" for text in ledger.damage]
    parts += [f"incomplete: {text}" for text in _untimed(ledger)] if not parts else []
    settings = left_out_by(ledger)
    if not parts:
        whole = ledger.has_intervals and not settings and set(reasons.tolist()) <= {FLUSH}
        parts = ["all events recorded" if whole else "no event lost"]
    parts += [f"{', '.join(settings)} {'leaves' if len(settings) == 1 else 'leave'} events out"] if settings else []
    if sums["dropped"]:
        parts.append(
            f"{some(int(sums['dropped']), 'record')} before the last ones overwritten (VT_MODE=RING or VT_TRIGGER)"
        )
    return ", ".join([*parts, *_stopped(ledger, int(sums["limit"])), *_parts_of_time(sums)])


def _stopped(ledger: Ledger, limit: int) -> list[str]:
    if not limit:
        return []
    reasons = sorted(set(ledger.intervals["reason"].astype(str).tolist()) & _STOPS.keys())
    why = f" ({', '.join(_STOPS[reason] for reason in reasons)})" if reasons else ""
    return [f"{some(limit, 'location')} stopped early{why}"]


def _parts_of_time(sums: Mapping[str, float]) -> Iterator[str]:
    for key, word in (("off", "off"), ("flushed", "flushing")):
        if sums[key] > 0:
            yield f"{sums[key]:.6g} s {word}"
    if sums["clamped"]:
        yield f"{some(int(sums['clamped']), 'time')} clamped"


def left_out_by(ledger: Ledger) -> list[str]:
    """The settings that leave events out for the whole run."""
    found = set(ledger.intervals["reason"].astype(str).tolist()) if ledger.has_intervals else set(ledger.settings)
    return [name for name in WHOLE_RUN if name in found]
