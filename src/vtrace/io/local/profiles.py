# SPDX-License-Identifier: BSD-3-Clause
"""The profiles of local files (VT_MODE=PROFILE): rows of call paths, and the last records of a killed process, which
its profile has not counted yet (docs/file-format.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from vtrace.errors import FormatError
from vtrace.io.common.arrays import Array
from vtrace.io.local import records as r
from vtrace.io.local.index import BLOCK_FORM
from vtrace.io.local.kernel import Kernel, Scan
from vtrace.io.local.local_files import Stream
from vtrace.io.local.maps import empty4

_KINDS = {number: name for name, (number, _, _) in r.KINDS.items()}
_ENTERS = {
    "ENTER", "ENTER_ALLOC", "ENTER_FREE", "ENTER_REALLOC", "THREAD_FORK", "THREAD_TEAM_END", "THREAD_TASK_BEGIN",
}  # fmt: skip
_LEAVES = {"LEAVE", "LEAVE_ALLOC", "THREAD_JOIN", "THREAD_TASK_END"}
_REGION = r.what("ENTER")
_NONE = (1 << 64) - 1
"""The minimum of no times."""


def read_rows(kernel: Kernel, stream: Stream) -> Array:
    """The rows of a stream of content PROFILE: struct vt_profile_row, ascending by number. Raises FormatError (path,
    offset of the block) for damage."""
    parts = [np.empty(0, r.PROFILE_ROW)]
    for number in range(len(stream.index)):
        data = kernel.words(stream, number).tobytes()
        first = int(stream.index[number]["sequence"]) * r.PROFILE_ROWS
        whole = len(data) - len(data) % r.PROFILE_ROW.itemsize
        rows = np.frombuffer(data[:whole], r.PROFILE_ROW)
        good = len(data) == whole and (rows["number"] == first + np.arange(len(rows))).all()
        if not good or (rows["parent"] > rows["number"]).any():
            path, offset = stream.where(number)
            raise FormatError(f"{path}: damaged rows of a profile in the block at byte {offset}")
        parts.append(rows)
    return np.concatenate(parts)


def keeps_events(stream: Stream) -> bool:
    """True if a stream of events has a block or a full chunk: those of a ring, which are in the rows (VT_TRIGGER)."""
    forms, records = stream.index["form"], stream.index["records"]
    return bool(((forms == BLOCK_FORM) | (records > 0)).any())


def count_rest(kernel: Kernel, rows: Array, stream: Stream) -> Array:
    """The rows with the records of a stream of events that they lack: those of chunks."""
    table = _Table(rows)
    for number in np.flatnonzero(stream.index["form"] != BLOCK_FORM).tolist():
        path, offset = stream.where(number)
        file = next(file for file in stream.files if file.path == path)
        counted = int(np.frombuffer(file.read(offset, r.CHUNK.itemsize), r.CHUNK, 1)[0]["counted"])
        table.count(kernel.words(stream, number).tolist(), counted, int(stream.index[number]["ticks"]))
    return table.rows()


def scan_of(rows: Array) -> Scan:
    """The functions and regions of rows, as those of the events that they count."""
    what = np.unique(rows["what"])
    outside = rows[rows["what"] == 0]
    is_address = what & np.uint64(r.OPEN_ADDRESS) != 0
    is_function = ~is_address & (what & np.uint64(r.FUNCTION) != 0)
    first, last = (int(outside["least"].min()), int(outside["entered"].max())) if len(outside) else (0, 0)
    return Scan(
        functions=(what[is_function] & np.uint64(r.CODE_MASK)).astype(np.uint32),
        addresses=what[is_address] & np.uint64(r.OPEN_ADDRESS - 1),
        regions=(what[~is_address & ~is_function & (what != 0)] & np.uint64(r.ID_MAX)).astype(np.uint32),
        comms=empty4(), handles=empty4(), first_ticks=min(first, last), last_ticks=last, memory=False,
    )  # fmt: skip


def with_rows(scan: Scan, rows: Array) -> Scan:
    """The scan of the events of a location, with the functions and regions of rows that count further calls."""
    other = scan_of(rows)
    return replace(
        scan,
        functions=np.union1d(scan.functions, other.functions),
        addresses=np.union1d(scan.addresses, other.addresses),
        regions=np.union1d(scan.regions, other.regions),
    )


def off_ticks(rows: Array, last: int) -> int:
    """The time while recording was off, in ticks. last: end of the location."""
    outside = rows[rows["what"] == 0]
    return sum(int(ticks) for ticks in outside["ticks"]) + sum(
        max(0, last - int(since)) for since in outside["squares"][:, 0] if since
    )


class _Table:
    """The rows as Python's objects, with the stack of open calls, as in csrc/core/profile_fold.c."""

    def __init__(self, rows: Array) -> None:
        self._rows: list[dict[str, Any]] = [
            dict(zip(r.PROFILE_ROW.names or (), row, strict=True)) for row in rows.tolist()
        ]
        if not (rows["what"] == 0).any():
            outside = self._add(0, 0)
            outside["parent"] = outside["number"]
        self._index = {(row["parent"], row["what"]): row for row in self._rows}
        outside = [row for row in self._rows if not row["what"]][-1]
        self._stack = [outside]
        for row in self._rows:
            if row["turns"] & 1 and row["parent"] == self._stack[-1]["number"]:
                self._stack.append(row)

    def rows(self) -> Array:
        """The rows as an array."""
        made = np.zeros(len(self._rows), r.PROFILE_ROW)
        for place, row in enumerate(self._rows):
            made[place] = tuple(row[name] for name in r.PROFILE_ROW.names or ())
        return made

    def count(self, words: list[int], counted: int, now: int) -> None:
        """Counts the records of a chunk from word `counted` on; now: ticks at its start."""
        outside = self._stack[0]
        if outside["least"] == _NONE:
            outside["least"] = now
        is_first = True
        for at, what, payload in _records(words):
            now += words[at] >> 32
            if _KINDS.get(what >> 24) == "TIME":
                now += payload[0]
            if at < counted:
                continue
            if not (is_first and self._is_counted(what, now)):
                self._count(what, payload, now)
            is_first = False
        outside["entered"] = max(now, outside["entered"])

    def _is_counted(self, what: int, now: int) -> bool:
        """True if the process was killed after it had counted this record, and before it noted that."""
        top = self._stack[-1]
        if what & r.FUNCTION and what & r.FUNCTION_LEAVE:
            key = what & ~r.FUNCTION_LEAVE
            return bool(top["what"] != key and (top["number"], key) in self._index)
        key = what if what & r.FUNCTION else _REGION | what & r.ID_MAX
        return bool(top["what"] == key and top["entered"] == now)

    def _count(self, what: int, payload: list[int], now: int) -> None:
        kind = "" if what & r.FUNCTION else _KINDS.get(what >> 24, "")
        region = _REGION | what & r.ID_MAX
        if what & r.FUNCTION:
            (self._leave if what & r.FUNCTION_LEAVE else self._enter)(what & ~r.FUNCTION_LEAVE, now)
        elif kind in _ENTERS:
            self._enter(region, now)
        elif kind in _LEAVES:
            self._leave(region, now)
        elif kind == "ENTER_ADDRESS":
            self._enter(payload[0] | r.OPEN_ADDRESS, now)
        elif kind == "LEAVE_ADDRESS":
            self._leave(payload[0] | r.OPEN_ADDRESS, now)
        elif kind == "THREAD_TEAM_BEGIN" and payload[0] & r.ID_MAX:
            self._enter(_REGION | payload[0] & r.ID_MAX, now)
        elif kind == "THREAD":
            self._end_above(0, now)
        elif kind in ("OFF", "ON"):
            self._switch(kind == "OFF", now)

    def _switch(self, off: bool, now: int) -> None:
        outside = self._stack[0]
        since = int(outside["squares"][0])
        if not off and since:
            outside["ticks"] += now - since
        outside["squares"] = [now if off else 0, 0]

    def _add(self, parent: int, what: int) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(r.PROFILE_ROW.names or (), 0)
        row |= {"what": what, "parent": parent, "least": _NONE, "squares": [0, 0]}
        row["number"] = self._rows[-1]["number"] + 1 if self._rows else 0
        self._rows.append(row)
        return row

    def _enter(self, what: int, now: int) -> None:
        parent = self._stack[-1]["number"]
        row = self._index.get((parent, what))
        if row is None:
            row = self._index[parent, what] = self._add(parent, what)
        row["entered"] = now
        row["turns"] += 1
        self._stack.append(row)

    def _leave(self, what: int, now: int) -> None:
        depth = next((d for d in range(len(self._stack) - 1, 0, -1) if self._stack[d]["what"] == what), 0)
        if depth:
            self._end_above(depth - 1, now)

    def _end_above(self, depth: int, now: int) -> None:
        while len(self._stack) > depth + 1:
            end_call(self._stack.pop(), now)


def end_call(row: Any, now: int) -> None:
    """Ends the open call of a row (a dict with the members of vt_profile_row) at a time in ticks."""
    ticks = max(0, now - row["entered"])
    low, high = (int(half) for half in row["squares"])
    squares = (high << 64 | low) + ticks * ticks
    row["squares"] = [squares & _NONE, squares >> 64 & _NONE]
    row["ticks"] += ticks
    row["least"], row["most"] = min(row["least"], ticks), max(row["most"], ticks)
    row["turns"] += 1


def _records(words: list[int]) -> Iterator[tuple[int, int, list[int]]]:
    """The records: place, lower half of the first word, payload."""
    at = 0
    while at < len(words):
        what = words[at] & 0xFFFFFFFF
        more = 0 if what & r.FUNCTION else what >> 21 & 7
        if at + 1 + more > len(words):
            return
        yield at, what, words[at + 1 : at + 1 + more]
        at += 1 + more
