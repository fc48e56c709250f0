# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a copy of an archive beside its events and definitions: tables of the sidecar, and markers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vtrace.analysis.host_clocks import clocks_of
from vtrace.analysis.ledger import UNKNOWN
from vtrace.analysis.long_calls import long_calls_of
from vtrace.analysis.processor_waits import path_hashes, waits_of
from vtrace.analysis.trace import Trace
from vtrace.io.archive.definitions import Marker
from vtrace.io.archive.markers import read_markers
from vtrace.io.archive.properties import read_properties
from vtrace.io.archive.reader import Reader
from vtrace.io.common.arrays import Array
from vtrace.io.local.records import UNMAPPED
from vtrace.io.sidecar import sidecar
from vtrace.reasons import CUT
from vtrace.transform.rewrite import Rewriter

_LedgerRow = tuple[Any, ...]
"""location, from, to, ns, class, reason, count"""


def write_tables(
    copy: Rewriter, directory: Path, *,
    change: Callable[[sidecar.SidecarTable], sidecar.SidecarTable] = lambda table: table, clocks: bool = True,
) -> list[str]:  # fmt: skip
    """Writes the tables of the copy in this directory; returns their names. change: makes the table to write.
    clocks: writes that of the hosts' clocks, too."""
    made = {}
    if copy.trace.ledger.has_intervals:
        made[sidecar.COVERAGE] = _coverage(copy)
    if clocks and (known := clocks_of(copy.trace)) is not None:  # the times of a copy are those of the source
        made[sidecar.CLOCKS] = known
    for name in (sidecar.WAITS, sidecar.BLOCKED):
        if (waits := waits_of(copy.trace, name)) is not None:
            made[name] = _waits(copy, waits, directory)
    if (calls := long_calls_of(copy.trace)) is not None:
        made[sidecar.LONG_CALLS] = _long_calls(copy, calls)
    anchor = directory / "traces.otf2"
    with Reader(anchor) as reader:
        identity = sidecar.identity(anchor, read_properties(reader.handle, anchor).texts)
    for name, table in made.items():
        sidecar.write(directory, *name, identity, change(table))
    return [name for name, _ in made]


def left_tables(trace: Trace, tables: Sequence[str]) -> list[str]:
    """The files of the sidecar that a copy with these tables lacks. The folder of the copied archive is none of
    them."""
    known = (trace.folder / sidecar.FOLDER).glob("*")
    return sorted({path.name for path in known if path != trace.anchor.parent} - {*tables})


def _stay(copy: Rewriter, ids: Array) -> tuple[Array, Array]:
    """(ids,) bool: the location stays; (ids,) its number in the copy."""
    if not len(copy.ids):
        return np.zeros(len(ids), bool), np.zeros(len(ids), np.uint64)
    at = np.minimum(np.searchsorted(copy.ids, ids), len(copy.ids) - 1)
    return copy.ids[at] == ids, copy.numbers[at]


def _window(copy: Rewriter) -> tuple[int, int]:
    """The begin and end of the copy, in ticks of the source."""
    _, offset, length, _ = copy.trace.definitions.clock
    return max(copy.part.start, offset), min(copy.part.stop, offset + length)


def _coverage(copy: Rewriter) -> sidecar.SidecarTable:
    part, table = copy.part, copy.trace.ledger.intervals
    chosen, numbers = _stay(copy, table["location"])
    begin, end = _window(copy)
    if not copy.whole:
        chosen &= (table["from"] <= np.uint64(end)) & (table["to"] >= np.uint64(begin))
    old = {name: table[name][chosen] for name in ("location", "from", "to", "ns", "class", "reason", "count")}
    old["location"] = numbers[chosen]
    if not copy.whole:
        old |= _clipped(old, begin, end)
    of_row = dict(zip(part.locations, copy.numbers.tolist(), strict=True))
    is_device = copy.trace.locations["device"]
    halves = [
        (of_row[row], begin, end, end - begin, "library" if is_device[row] else "mpi", CUT, count)
        for row, count in copy.result.halves.items()
        if count
    ]
    rows = _joined([*zip(*(old[name].tolist() for name in old), strict=True), *halves])
    rows.sort(key=lambda row: (row[0], row[1], row[2]))
    kinds, reasons = (sorted({str(row[n]) for row in rows}) for n in (4, 5))
    columns = {
        name: np.array([row[n] for row in rows], "<u8")
        for n, name in ((0, "location"), (1, "from"), (2, "to"), (3, "ns"), (6, "count"))
    }
    columns["class"] = np.array([kinds.index(str(row[4])) for row in rows], "<u4")
    columns["reason"] = np.array([reasons.index(str(row[5])) for row in rows], "<u4")
    order = ("location", "from", "to", "ns", "class", "reason", "count")
    return sidecar.SidecarTable({name: columns[name] for name in order}, {"class": kinds, "reason": reasons})


def _waits(copy: Rewriter, waits: sidecar.SidecarTable, directory: Path) -> sidecar.SidecarTable:
    """The waits for a processor, or times asleep, of locations that stay, in the window: of a wait that reaches beyond,
    its part. directory: of the copy."""
    if copy.whole:
        return waits
    table = waits.columns
    rows, numbers = _stay(copy, table["location"])
    begin, end = _window(copy)
    first, last = (np.clip(table[name], begin, end).astype(np.uint64) for name in ("from", "to"))
    rows &= first < last
    old = {name: column[rows] for name, column in table.items()}
    part = (last - first)[rows] / (old["to"] - old["from"])
    regions, of_row = np.unique(old["region"], return_inverse=True)
    new = [copy.number("Region", region) for region in regions.tolist()]
    changed = {
        "location": numbers[rows], "from": first[rows], "to": last[rows], "ns": np.rint(old["ns"] * part),
        "region": np.array([UNMAPPED if number is None else number for number in new], np.uint32)[of_row],
        "path": _paths(copy, old["path"], directory),
    }  # fmt: skip
    columns = {name: changed.get(name, column).astype(column.dtype) for name, column in old.items()}
    return sidecar.SidecarTable(columns, waits.names)


def _long_calls(copy: Rewriter, calls: sidecar.SidecarTable) -> sidecar.SidecarTable:
    """The long calls of locations and regions that stay, of the whole time."""
    if copy.whole:
        return calls
    table = calls.columns
    stays, numbers = _stay(copy, table["location"])
    regions = [copy.number("Region", region) for region in table["region"].tolist()]
    stays &= np.array([region is not None for region in regions], bool)
    changed = {"location": numbers, "region": np.array([region or 0 for region in regions], np.uint64)}
    columns = {name: changed.get(name, column)[stays].astype(column.dtype) for name, column in table.items()}
    return sidecar.SidecarTable(columns, calls.names)


def _paths(copy: Rewriter, paths: Array, directory: Path) -> Array:
    """The column `path` of waits, which depends on the numbers of regions, for the copy in a directory."""
    if not len(paths):
        return paths
    made = Trace(directory / "traces.otf2")
    tree, _ = made.call_tree()
    before = {copy.number("Region", region): region for region in copy.trace.regions["id"].tolist() if region >= 0}
    ids = made.regions["id"].tolist()
    old, new = path_hashes(tree, [before.get(number, UNMAPPED) for number in ids]), path_hashes(tree, ids)
    order = np.argsort(old, kind="stable")
    at = order[np.minimum(np.searchsorted(old[order], paths), len(old) - 1)]
    return np.where(old[at] == paths, new[at], 0)  # 0: unknown


def _joined(rows: list[_LedgerRow]) -> list[_LedgerRow]:
    """Joins rows of one interval, class and reason, as the halves of a cut of a cut are. A sum with an unknown
    count is unknown."""
    found: dict[_LedgerRow, int] = {}
    for *about, count in rows:
        key = tuple(about)
        before = found.get(key, 0)
        found[key] = UNKNOWN if UNKNOWN in (before, count) else before + count
    return [(*key, count) for key, count in found.items()]


def _clipped(rows: dict[str, Array], begin: int, end: int) -> dict[str, Array]:
    """Intervals inside the window. The events and the time of an interval that reaches beyond are unknown, unless the
    whole of the interval was without recording."""
    since, until = rows["from"].astype(np.uint64), rows["to"].astype(np.uint64)
    new_since, new_until = np.maximum(since, np.uint64(begin)), np.minimum(until, np.uint64(end))
    new_until = np.maximum(new_since, new_until)
    same = (since == new_since) & (until == new_until)
    solid = rows["ns"] == until - since
    unknown = np.uint64(UNKNOWN)
    ns = np.where(same, rows["ns"], np.where(solid, new_until - new_since, unknown))
    return {"from": new_since, "to": new_until, "ns": ns, "count": np.where(same, rows["count"], unknown)}


def copied_markers(copy: Rewriter) -> list[Marker]:
    """The markers in the window, of places that stay."""
    part, found = copy.part, []
    numbers = dict(zip(copy.ids.tolist(), copy.numbers.tolist(), strict=True))
    kinds = {"LOCATION_GROUP": "LocationGroup", "SYSTEM_TREE_NODE": "SystemTreeNode", "GROUP": "Group", "COMM": "Comm"}
    with Reader(copy.trace.anchor) as reader:
        markers = read_markers(reader)
    for marker in markers:
        place: int | None = None
        if marker.scope == "LOCATION":
            place = numbers.get(marker.scope_id)
        elif marker.scope in kinds:
            place = copy.number(kinds[marker.scope], marker.scope_id)
        if not part.start <= marker.time < part.stop or (place is None and marker.scope != "GLOBAL"):
            continue
        about = (marker.category, marker.text, place, marker.group, marker.severity, marker.duration)
        found.append(Marker(marker.time, *about, marker.scope if place is not None else "LOCATION"))
    return found
