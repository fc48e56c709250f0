# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace diagnose --about io: sizes and order of accesses, shared files, skew over processes, metadata,
files, directories and layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import LAYERS
from vtrace.analysis.findings.run_facts import RunFacts
from vtrace.analysis.questions.io_accesses import SIZES, IoAccesses
from vtrace.analysis.questions.io_files import Io, reduce_io
from vtrace.analysis.questions.timeline_data import process_names, span
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up, group
from vtrace.console import some
from vtrace.reports.io_sheets import io
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_DATA = ("read_ns", "write_ns", "flush_ns")
_UNITS = ((10**9, "GB"), (10**6, "MB"), (1000, "kB"), (1, "bytes"))


@dataclass
class IoNumbers:
    """The I/O of a selection. io: from Trace.io; accesses: from IoAccesses."""

    trace: Source
    facts: RunFacts
    io: Table
    accesses: Table


def read_io(facts: RunFacts) -> IoNumbers:
    """Reads the events of the facts' selection once."""
    files, accesses = Io(), IoAccesses()
    ask(facts.trace, [files, accesses], facts.window)
    return IoNumbers(facts.trace, facts, files.answer(), accesses.answer())


def sheets(numbers: IoNumbers, top: int, where: str) -> list[Sheet]:
    """All tables. top: rows in text; where: text on how to get all rows."""
    made = [sizes(numbers), skew(numbers).cut(top, where), metadata(numbers).cut(top, where)]
    return [*made, shared(numbers).cut(top, where), *io(numbers, top, where)]


def line(numbers: IoNumbers) -> str:
    """The I/O in one sentence."""
    facts, sums = numbers.facts, {name: int(numbers.io[name].sum()) for name in ("bytes_read", "bytes_written")}
    time = int(_io_times(facts).sum())
    if not time and not any(sums.values()):
        return "no I/O was recorded: vtrace run --io records it"
    meta = int(sum(row["time_ns"] for row in metadata(numbers).rows))
    used = numbers.io["opens"] + numbers.io["reads"] + numbers.io["writes"] > 0
    files = len(np.unique(numbers.io["file"][used & (numbers.io["file"] >= 0)]))
    return (
        f"{span(time)} in I/O, {100 * time / facts.whole:.3g} % of the time of all threads: "
        f"{sums['bytes_read']:,} bytes read, {sums['bytes_written']:,} written, {some(files, 'file')}; "
        f"{span(meta)} for metadata"
    )


def _io_times(facts: RunFacts) -> Array:
    """(processes,) ns in calls of I/O."""
    n = facts.numbers
    mine = facts.io[n["path"]] & np.isin(n["location"], facts.rows)
    process = facts.trace.places.process[n["location"][mine]]
    return add_up(process, n["exclusive"][mine], facts.trace.processes.rows)


def _size(count: int) -> str:
    return next(f"{count // unit:,} {word}" for unit, word in _UNITS if count >= unit)


def sizes(numbers: IoNumbers) -> Sheet:
    """Accesses by layer, mode and size, and the number of consecutive ones; the most accesses first."""
    table = numbers.accesses
    first, member = group([table["layer"], table["mode"]])
    keys = ["accesses", "consecutive", "sequential", *(f"size_{n}" for n in range(len(SIZES) + 1))]
    sums = {key: add_up(member, table[key], len(first)) for key in keys}
    rows: list[Row] = []
    for number, row in enumerate(first.tolist()):
        one: Row = {key: int(sums[key][number]) for key in keys}
        one |= {"layer": LAYERS[table["layer"][row]], "mode": table.modes[table["mode"][row]]}
        one |= {f"{key}_share": one[key] / one["accesses"] for key in ("consecutive", "sequential")}
        rows.append(one)
    rows.sort(key=lambda row: -row["accesses"])
    used = [n for n in range(len(SIZES) + 1) if any(row[f"size_{n}"] for row in rows)]
    heads = [f"to {_size(end)}" for end in SIZES] + [f"from {_size(SIZES[-1])}"]
    columns = [
        Column("layer", "layer", "text"), Column("mode", "access", "text"), Column("accesses", "accesses"),
        Column("consecutive_share", "consecutive %", "fraction"),
        Column("sequential_share", "sequential %", "fraction"),
        Column("consecutive"), Column("sequential"),
        *(Column(f"size_{n}", heads[n] if n in used else "") for n in range(len(SIZES) + 1)),
    ]  # fmt: skip
    return Sheet(name="accesses", title="Sizes and order of accesses to files, by layer", columns=columns, rows=rows)


def skew(numbers: IoNumbers) -> Sheet:
    """The I/O of each process; the longest time first."""
    trace, times = numbers.trace, _io_times(numbers.facts)
    process, names = trace.places.process[numbers.io["location"]], process_names(trace)
    sums = {
        key: add_up(process[process >= 0], numbers.io[key][process >= 0], trace.processes.rows)
        for key in ("bytes_read", "bytes_written", "opens", "reads", "writes")
    }  # fmt: skip
    rows: list[Row] = [
        {"process": names[at], "time_ns": int(times[at]), **{key: int(column[at]) for key, column in sums.items()}}
        for at in np.argsort(-times, kind="stable").tolist()
    ]  # fmt: skip
    columns = [
        Column("time_ns", "time s", "ns"), Column("bytes_read", "bytes read"), Column("bytes_written", "bytes written"),
        Column("reads", "reads"), Column("writes", "writes"), Column("opens", "opens"),
        Column("process", "process", "text"),
    ]  # fmt: skip
    sheet = Sheet(name="io_by_process", title="I/O of each process", columns=columns, rows=rows if times.any() else [])
    if len(rows) > 1 and times.any():
        sheet.notes.append(f"the longest is {times.max() / times.mean():.3g} x the mean of all processes")
    return sheet


def metadata(numbers: IoNumbers) -> Sheet:
    """Calls that move no bytes: open, close, stat, seek ... by region."""
    facts, regions = numbers.facts, numbers.trace.regions
    n = facts.numbers
    moves = [*(regions["role"] == "FILE_IO").tolist(), False]
    region = facts.paths["region"][n["path"]]
    names = regions["name"].tolist()
    mine = facts.io[n["path"]] & np.isin(n["location"], facts.rows) & ~np.array(moves)[region]
    rows: list[Row] = []
    first, member = group([region[mine]])
    for number, place in enumerate(first.tolist()):
        of = member == number
        rows.append({
            "time_ns": int(n["exclusive"][mine][of].sum()), "calls": int(n["calls"][mine][of].sum()),
            "region": str(names[region[mine][place]]),
        })  # fmt: skip
    rows.sort(key=lambda row: -row["time_ns"])
    columns = [Column("time_ns", "time s", "ns"), Column("calls", "calls"), Column("region", "region", "text")]
    return Sheet(name="metadata", title="Metadata: calls that move no bytes", columns=columns, rows=rows)


def shared(numbers: IoNumbers) -> Sheet:
    """Files that several processes read or write, the longest time first."""
    trace = numbers.trace
    table = reduce_io(numbers.io, "location", "file")
    process = trace.places.process[table["location"]]
    moved = (table["reads"] + table["writes"] > 0) & (table["file"] >= 0) & (process >= 0)
    rows: list[Row] = []
    for file in np.unique(table["file"][moved]).tolist():
        mine = moved & (table["file"] == file)
        ranks = np.unique(process[mine])
        if len(ranks) < 2:
            continue
        moved_by = table["bytes_read"] + table["bytes_written"]
        each = np.array([moved_by[mine & (process == rank)].sum() for rank in ranks])
        rows.append({
            "time_ns": int(sum(table[key][mine].sum() for key in _DATA)), "processes": len(ranks),
            **{key: int(table[key][mine].sum()) for key in ("bytes_read", "bytes_written")},
            "skew": float(each.max() / each.mean()) if each.any() else 1.0, "file": str(trace.files["name"][file]),
        })  # fmt: skip
    rows.sort(key=lambda row: -row["time_ns"])
    columns = [
        Column("time_ns", "time s", "ns"), Column("processes", "processes"), Column("bytes_read", "bytes read"),
        Column("bytes_written", "bytes written"), Column("skew", "largest / mean", "ratio"),
        Column("file", "file", "text"),
    ]  # fmt: skip
    return Sheet(name="shared_files", title="Files of several processes", columns=columns, rows=rows)
