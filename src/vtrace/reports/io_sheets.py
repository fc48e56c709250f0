# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace summary about I/O: files, variables, directories, layers. Totals count each byte once, in the
outermost layer that moved the byte."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Protocol

import numpy as np

from vtrace.analysis.activity import LAYERS
from vtrace.analysis.questions.io_files import by_layer, is_variable, reduce_io
from vtrace.analysis.table import Table, add_up
from vtrace.console import some
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_NO_FILE = "(no file)"
_SUMS = "opens reads writes bytes_read bytes_written read_ns write_ns unknown_reads unknown_writes".split()
_BYTES = ("bytes_read", "bytes_written")


class NumbersOfIo(Protocol):
    """The numbers of a report with I/O. io: from Trace.io."""

    @property
    def trace(self) -> Source: ...
    @property
    def io(self) -> Table: ...


def io(numbers: NumbersOfIo, top: int, where: str) -> list[Sheet]:
    """The tables files, variables, directories and layers. top: rows in text; where: text on how to get all rows."""
    rows = _files(numbers)
    return [files(rows, top, where), variables(numbers, top, where), directories(rows, top, where), layers(numbers)]


def _key(layer: int) -> str:
    return LAYERS[layer].replace("-", "_")


def _files(numbers: NumbersOfIo) -> list[Row]:
    """A row for each file, and one for operations without a file; the longest times first."""
    names = [*numbers.trace.files["name"].tolist(), _NO_FILE]
    each: dict[int, dict[int, Row]] = {}
    for one in by_layer(numbers.io).records():
        each.setdefault(one["file"], {})[one["layer"]] = one
    rows: list[Row] = []
    for r in reduce_io(numbers.io, "file").records():
        of = each[r["file"]]
        used = [layer for layer in sorted(of, reverse=True) if of[layer]["reads"] + of[layer]["writes"]]
        moved = {f"{_key(layer)}_{name}": of.get(layer, {}).get(name, 0) for layer in _layers() for name in _BYTES}
        row = {key: r[key] for key in _SUMS} | moved
        rows.append(row | {"layers": " > ".join(LAYERS[layer] for layer in used), "file": str(names[r["file"]])})
    rows.sort(key=lambda row: -(row["read_ns"] + row["write_ns"]))
    return rows


def _layers() -> range:
    return range(len(LAYERS))


def _columns(last: str) -> list[Column]:
    return [
        Column("read_ns", "reading s", "ns"), Column("write_ns", "writing s", "ns"),
        Column("bytes_read", "bytes read"), Column("bytes_written", "bytes written"),
        Column("reads", "reads", minor=True), Column("writes", "writes", minor=True),
        Column("opens", "opens", minor=True), Column("unknown_reads"), Column("unknown_writes"),
        *(Column(f"{_key(layer)}_{name}") for layer in _layers() for name in _BYTES if last == "file"),
        *([Column("layers", "layers", "text", minor=True)] if last == "file" else [Column("files", "files")]),
        Column(last, last, "text"),
    ]  # fmt: skip


def files(rows: list[Row], top: int, where: str) -> Sheet:
    """The table of files. Text shows the files that the program used; the rows also have files that only the MPI
    library used."""
    read, written = (sum(row[key] for row in rows) for key in _BYTES)
    sheet = Sheet(
        name="files", title=f"Files: {read:,} bytes read, {written:,} written", columns=_columns("file"), rows=rows
    )
    own = [place for place, row in enumerate(rows) if any(row[key] for key in _SUMS)]
    sheet.cut(top, where, own)
    if len(own) < len(rows):
        sheet.totals = _runtime([row for row in rows if not any(row[key] for key in _SUMS)])
        sheet.notes.append(f"files that libraries use for themselves (class runtime) are not in the totals: {where}")
    _note_unknown(sheet, rows)
    return sheet


def _runtime(rows: list[Row]) -> Row:
    """One row for the files of libraries. Each file counts with the larger sum of its layers, since a stream may read
    through a descriptor of the same file."""

    what = some(len(rows), "file, pipe or socket", "files, pipes and sockets")
    sums = {key: sum(max(row[f"{_key(layer)}_{key}"] for layer in _layers()) for row in rows) for key in _BYTES}
    return {**sums, "file": f"({what} of MPI: start-up and communication)"}


def _note_unknown(sheet: Sheet, rows: list[Row]) -> None:
    unknown = sum(row["unknown_reads"] + row["unknown_writes"] for row in rows)
    if unknown:
        sheet.notes.append(f"unknown bytes of {some(unknown, 'operation')}: not in the sums")


def variables(numbers: NumbersOfIo, top: int, where: str) -> Sheet:
    """The table of datasets of HDF5, all processes together: the rate is that of one process."""
    trace = numbers.trace
    names, files = trace.io_handles["name"].tolist(), [*trace.files["name"].tolist(), _NO_FILE]
    inside, group = is_variable(trace), trace.locations["group"]
    found: dict[tuple[str, int], Row] = {}
    ranks: dict[tuple[str, int], set[int]] = {}
    for one in reduce_io(numbers.io, "location", "handle", "file").records():
        if not inside[one["handle"]]:
            continue
        key = names[one["handle"]], one["file"]
        row = found.setdefault(key, dict.fromkeys(_SUMS, 0))
        for name in _SUMS:
            row[name] += one[name] + one[f"nested_{name}"]
        ranks.setdefault(key, set()).add(int(group[one["location"]]))
    for (name, file), row in found.items():
        moved, ns = row["bytes_read"] + row["bytes_written"], row["read_ns"] + row["write_ns"]
        row |= {"rate": moved * 10**9 // max(ns, 1), "processes": len(ranks[name, file])}
        row |= {"variable": name or "(without a name)", "file": str(files[file])}
    rows = sorted(found.values(), key=lambda row: (-(row["read_ns"] + row["write_ns"]), row["variable"]))
    columns = [column for column in _columns("variable")[:-2] if column.key != "opens"]
    columns += [
        Column("rate", "bytes/s"), Column("processes", "processes"), Column("variable", "variable", "text"),
        Column("file", "file", "text", minor=True),
    ]  # fmt: skip
    return Sheet(name="variables", title="Variables", columns=columns, rows=rows).cut(top, where)


def directories(rows: list[Row], top: int, where: str) -> Sheet:
    """The table of directories: the sums of files() for each directory."""
    found: dict[str, Row] = {}
    for row in rows:
        if not row["file"].startswith("/") or not any(row[key] for key in _SUMS):
            continue
        name = posixpath.dirname(row["file"])
        sums = found.setdefault(name, {**dict.fromkeys(_SUMS, 0), "files": 0, "directory": name})
        for key in _SUMS:
            sums[key] += row[key]
        sums["files"] += 1
    ordered = sorted(found.values(), key=lambda row: -(row["read_ns"] + row["write_ns"]))
    sheet = Sheet(name="directories", title="Files by directory", columns=_columns("directory"), rows=ordered)
    if len(ordered) < 2:
        sheet.shown = []
    return sheet.cut(top, where)


def layers(numbers: NumbersOfIo) -> Sheet:
    """The table of layers: all operations of a layer, and the bytes that count in a higher layer. Text shows the table
    only if there are such bytes."""
    table, own = by_layer(numbers.io), reduce_io(numbers.io, "layer")
    inside = {r["layer"]: {key: r[f"nested_{key}"] for key in _BYTES} for r in own.records()}
    rows: list[Row] = []
    for layer in reversed(_layers()):
        mine = Table(table.take(table["layer"] == layer))
        names = [name for name in table if name not in ("file", "layer")]
        sums = {name: int(add_up(np.zeros(mine.rows, np.int64), mine[name], 1)[0]) for name in names}
        if sums["reads"] + sums["writes"]:
            rows.append(sums | {f"nested_{key}": n for key, n in inside[layer].items()} | {"layer": LAYERS[layer]})
    columns = [
        Column("read_ns", "reading s", "ns"), Column("write_ns", "writing s", "ns"),
        Column("bytes_read", "bytes read"), Column("bytes_written", "bytes written"),
        Column("nested_bytes_read", "read for a higher layer"),
        Column("nested_bytes_written", "written for a higher layer"),
        Column("reads", "reads", minor=True), Column("writes", "writes", minor=True), Column("unknown_reads"),
        Column("unknown_writes"), Column("layer", "layer", "text"),
    ]  # fmt: skip
    sheet = Sheet(name="layers", title="I/O by layer", columns=columns, rows=rows)
    if not any(row["nested_bytes_read"] or row["nested_bytes_written"] for row in rows):
        sheet.shown = []
    return sheet
