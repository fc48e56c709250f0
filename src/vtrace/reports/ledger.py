# SPDX-License-Identifier: BSD-3-Clause
"""What an archive does not hold: when each location did not record, which classes of events, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vtrace.errors import FormatError
from vtrace.io import sidecar
from vtrace.io.properties import PROPERTY
from vtrace.reports.table import Array, Table, add_up, group, texts

UNKNOWN = 2**64 - 1
FLUSH = "flush"
CHOSEN = frozenset(
    "flush,switched off,rewound,overwritten,VT_START_AFTER,VT_STOP_AFTER,VT_FILTER_SPEC,"
    "VT_MPITRACE,VT_OMPTRACE,VT_PTHREAD,VT_EXECTRACE".split(",")
)
"""Reasons that the user has asked for: nothing was lost."""
WHOLE_RUN = frozenset("VT_FILTER_SPEC VT_MPITRACE VT_OMPTRACE VT_PTHREAD VT_EXECTRACE".split())
"""Those of CHOSEN that hold for the whole run: they say what is recorded, not when."""
_LATEST = 2**63 - 1
_EMPTY = {"location": np.uint64, "from": np.uint64, "to": np.uint64, "ns": np.uint64, "count": np.uint64}


@dataclass
class Ledger:
    """intervals: location (OTF2's id), from, to (times of the archive's events, in its ticks), ns (how much of it is
    meant: less than to - from where intervals were joined), class (a path of the tree of activities, several with +
    between them, or "all"), reason, count (of events; UNKNOWN where nobody has counted them).

    told: whether the archive has intervals at all; else there are only totals. notes: why they cannot be used, one line
    each. totals: what vtunify says of the whole archive (COVERAGE); empty for other tools' archives.
    """

    intervals: Table
    told: bool
    notes: list[str]
    totals: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def sums(self) -> Table:
        """Rows (class, reason): locations, first (the earliest from), ns, count (UNKNOWN: of some it is not known)."""
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
        pairs = np.unique(np.stack([member, table["location"].astype(np.int64)]), axis=1)
        return Table({
            "class": table["class"][first], "reason": table["reason"][first],
            "locations": np.bincount(pairs[0], minlength=n), "first": earliest,
            "ns": add_up(member, table["ns"].astype(np.int64), n), "count": count,
        })  # fmt: skip

    def rows(self) -> list[dict[str, Any]] | None:
        """The intervals for JSON: a count that nobody knows is None. None: the archive has none, only totals."""
        if not self.told:
            return None
        known = self.intervals.records()
        return [{**row, "count": None if row["count"] == UNKNOWN else row["count"]} for row in known]

    def select(self, locations: Collection[int] | None, start: int | None, stop: int | None) -> Ledger:
        """Those of some locations (OTF2's ids) that lie between two moments, in part at least."""
        table = self.intervals
        kept = np.ones(table.rows, bool)
        if locations is not None:
            kept &= np.isin(table["location"], np.array([*locations], np.uint64))
        if start is not None:
            kept &= table["to"] >= np.uint64(max(0, start))
        if stop is not None:
            kept &= table["from"] <= np.uint64(max(0, stop))
        return Ledger(table.take(kept), self.told, self.notes, self.totals)


def read_ledger(anchor: Path, properties: Mapping[str, str], coverage: Mapping[str, Any]) -> Ledger:
    """The ledger of an archive with this anchor file. properties: of the archive, by their whole names; coverage: what
    vtunify says in VTRACE::COVERAGE. A table that is damaged or another archive's is left aside, with a note."""
    notes: list[str] = []
    found = None
    totals = coverage if isinstance(coverage, Mapping) else {}
    if f"{PROPERTY}COVERAGE" in properties:
        try:
            found = sidecar.read(anchor.parent, *sidecar.COVERAGE, sidecar.identity(anchor, properties))
            if found is not None:
                return Ledger(_intervals(found), True, notes, totals)
        except (FormatError, KeyError, IndexError) as error:
            text = str(error.args[0]) if isinstance(error, FormatError) else "its table of coverage is damaged"
            notes.append(f"{text}: only totals are known of what was not recorded")
    return Ledger(_intervals(None), False, notes, totals)


def _intervals(found: sidecar.Table | None) -> Table:
    """Raises KeyError and IndexError for a table that is not as vtunify writes it."""
    if found is None:
        none: Array = np.empty(0, object)
        empty = {name: np.empty(0, kind) for name, kind in _EMPTY.items()}
        return Table({**empty, "class": none, "reason": none})
    columns = {name: found.columns[name].astype(kind) for name, kind in _EMPTY.items()}
    if np.any(columns["from"] > columns["to"]) or np.any(columns["to"] > _LATEST) or np.any(columns["ns"] > _LATEST):
        raise IndexError("a time")
    for name in ("class", "reason"):
        named, numbers = found.names[name], found.columns[name]
        if len(numbers) and int(numbers.max()) >= len(named):
            raise IndexError(name)
        columns[name] = texts(named)[numbers.astype(np.int64)]
    return Table({name: columns[name] for name in ("location", "from", "to", "ns", "class", "reason", "count")})


def caveats(ledger: Ledger, zero: int = 0, resolution: int = 10**9) -> list[str]:
    """What numbers of this archive cannot know, one line each, to be said before any of them; nothing: they are whole.

    zero, resolution: of the archive's clock.
    """
    lines = []
    rows = ledger.sums.records()
    for row in rows:
        if row["reason"] == FLUSH:
            continue
        where = f"{row['locations']:,} location{'s' if row['locations'] != 1 else ''}"
        what = "" if row["class"] == "all" else f" of {row['class'].replace('+', ', ')}"
        since = f"from {max(0, row['first'] - zero) / resolution:.6g} s on"
        known = row["count"] != UNKNOWN
        count = f"{row['count']:,}" if known else "an unknown number of"
        events, are = ("event", "is") if known and row["count"] == 1 else ("events", "are")
        if row["reason"] in CHOSEN:
            lines.append(
                f"left out ({row['reason']}): events{what} on {where}, {row['ns'] / resolution:.6g} s altogether"
            )
        else:
            lines.append(f"incomplete ({row['reason']}): {count} {events}{what} {are} missing on {where}, {since}")
    if not ledger.told and ledger.totals.get("complete") is False:
        shortfalls = ledger.totals.get("shortfalls", [])
        lines += [f"incomplete: {text}" for text in shortfalls] if isinstance(shortfalls, list) else ["incomplete"]
    if any(line.startswith("incomplete") for line in lines):
        lines.append("counts, bytes and times below are lower bounds")
    return ledger.notes + lines
