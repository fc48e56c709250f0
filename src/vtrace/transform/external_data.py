# SPDX-License-Identifier: BSD-3-Clause
"""Files of intervals or values that another tool recorded: VTune's format of external data."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.arrays import Array
from vtrace.transform import rewriter_abi as abi

CLOCKS = ("RDTSC", "CLOCK_MONOTONIC_RAW", "UTC")
"""The clocks of times, as a file names them."""
ACCUMULATED, POINT = "COUNT", "INST"
"""Endings of the names of values: cumulative, and instantaneous."""
_HOST = "-hostname-"
_QPC = "QPC is the clock of Windows, which vtrace does not record"
_HEAD_MOST = 1 << 20
_INTERVALS = "name,start_tsc.CLOCK,end_tsc[,pid][,tid]"
_FIELD = re.compile(r"""[ \t]*(?:(?P<quoted>"(?:[^"]|"")*")[ \t]*|(?P<plain>[^ \t",][^,]*|))(?=,|\Z)""")
"""A field of the first line. A field that begins with a quote may contain commas, and writes a quote as two."""
_VALUES = "tsc.CLOCK,NAME.COUNT|INST[,...][,pid][,tid]"


@dataclass(kw_only=True)
class ExternalData:
    """The content of a file, an item of each array for each line. clock: of CLOCKS; UTC: ns since the epoch.

    begin, end, name (number in names): of intervals; values have begin only. pid, tid: -1 for none. values: of each
    counter; modes: its ending in the file. digest: SHA-256 of the file. host: None if unknown; title: of the lanes, ""
    for that of their owner."""

    path: Path
    clock: str
    begin: Array
    end: Array | None
    pid: Array
    tid: Array
    name: Array | None = None
    names: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    digest: str = ""
    host: str | None = None
    title: str = ""

    @property
    def rows(self) -> int:
        return len(self.begin)


def host_of(path: Path) -> str | None:
    """The host in the name of a file; None: the name has none."""
    _, found, host = path.name.removesuffix(".csv").rpartition(_HOST)
    return host if found and host else None


def read_external(path: Path) -> ExternalData:
    """Reads a whole file. Raises VtraceError, for a bad line with its number, its column and the reason."""
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise VtraceError(f"cannot read {path}: {error.strerror}") from error


def _read(path: Path, file: IO[bytes]) -> ExternalData:
    head = file.readline(_HEAD_MOST)
    size = file.seek(0, 2)
    if not size:
        raise _fault(path, 1, column=1, reason="the file is empty", hint=f"expected: {_INTERVALS} or {_VALUES}")
    uses, clock, counters = _columns(path, head)
    text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = _lines(path, text, begin=len(head), uses=uses, clock=clock, counters=counters)
    return replace(found, digest=hashlib.sha256(text).hexdigest(), host=host_of(path))


def _fault(path: Path, line: int, column: int, reason: str, *, hint: str | None = None) -> FormatError:
    return FormatError(f"{path}:{line}:{column}: {reason}", hint)


def _columns(path: Path, head: bytes) -> tuple[list[str], str, list[str]]:
    """The use of each column, the clock, and the counters with their endings."""
    try:
        text = head.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _fault(
            path, 1, column=1, reason="the first line is not text", hint=f"expected: {_INTERVALS} or {_VALUES}"
        ) from None
    words, places = _words(path, text)
    intervals = words[0] == "name"
    form = _INTERVALS if intervals else _VALUES
    at = 1 if intervals else 0
    prefix = "start_tsc." if intervals else "tsc."
    clock = words[at].removeprefix(prefix) if len(words) > at and words[at].startswith(prefix) else ""
    if clock == "QPC":
        raise _fault(path, 1, column=places[at], reason=_QPC, hint=f"use {', '.join(CLOCKS[:-1])} or {CLOCKS[-1]}")
    if clock not in CLOCKS:
        raise _fault(
            path,
            1,
            column=places[min(at, len(words) - 1)],
            reason=f"expected: {prefix}{'|'.join(CLOCKS)}",
            hint=f"form: {form}",
        )
    uses = ["NAME", "BEGIN"] if intervals else ["BEGIN"]
    if intervals:
        if words[2:3] != ["end_tsc"]:
            raise _fault(path, 1, column=[*places, len(text) + 1][2], reason="expected: end_tsc", hint=f"form: {form}")
        uses.append("END")
    counters = []
    rest = words[len(uses) :]
    while rest and rest[0] not in ("pid", "tid") and not intervals:
        if not re.fullmatch(rf".+\.({ACCUMULATED}|{POINT})", rest[0]):
            reason = f"the name of a value ends with .{ACCUMULATED} or .{POINT}"
            raise _fault(path, 1, column=places[len(uses)], reason=reason, hint=f"form: {form}")
        counters.append(rest.pop(0))
        uses.append("VALUE")
    if not intervals and not counters:
        raise _fault(path, 1, column=len(text) + 1, reason="no column has values", hint=f"form: {form}")
    if rest not in ([], ["pid"], ["tid"], ["pid", "tid"]):
        raise _fault(
            path,
            1,
            column=places[len(uses)],
            reason="expected: pid and tid at the end, or one of them",
            hint=f"form: {form}",
        )
    return [*uses, *map(str.upper, rest)], clock, counters


def _words(path: Path, text: str) -> tuple[list[str], list[int]]:
    """The fields of the first line, and their columns."""
    words, places, at = list[str](), list[int](), 0
    while at <= len(text):
        found = _FIELD.match(text, at)
        if not found:
            reason = "the name has a quote without its end"
            raise _fault(path, 1, column=at + 1, reason=reason, hint=f'quote the whole field: "NAME.{POINT}"')
        words.append(found["plain"].strip() if found["quoted"] is None else _name(found["quoted"].encode()))
        places.append(at + 1)
        at = found.end() + 1
    return words, places


def _lines(
    path: Path, text: mmap.mmap, begin: int, uses: list[str], *, clock: str, counters: list[str]
) -> ExternalData:  # fmt: skip
    data = np.frombuffer(text, np.uint8)
    room = int(np.count_nonzero(data == ord("\n"))) + 1
    arrays: dict[str, Array] = {"begin": np.empty(room, np.int64)}
    arrays |= {name: np.full(room, -1, np.int64) for name in ("pid", "tid")}
    if "NAME" in uses:
        arrays["end"], arrays["name"] = np.empty(room, np.int64), np.empty(room, np.uint32)
        arrays |= {name: np.empty(room, np.uint64) for name in ("name_at", "name_size")}
    width = max(len(counters), 1)
    arrays |= {"integers": np.zeros((room, width), np.int64), "reals": np.zeros((room, width))} if counters else {}
    arrays |= {"is_real": np.zeros(width, np.uint8), "uses": np.array([abi.FIELDS[use] for use in uses], np.uint8)}
    fields = abi.ExternalLines(
        text=data.ctypes.data, size=len(data), columns=len(uses), nvalues=len(counters), dates=int(clock == "UTC"),
        at=begin, line=2, rows=room, **{name: array.ctypes.data for name, array in arrays.items()},
    )  # fmt: skip
    done = abi.rewriter().vt_external_read(ctypes.addressof(fields))
    names = [
        _name(bytes(data[at : at + size]))
        for at, size in zip(
            *(arrays[name][: fields.names].tolist() for name in ("name_at", "name_size")), strict=True
        )
    ] if "NAME" in uses else []  # fmt: skip
    if not done:
        reason = fields.fault.decode()
        if reason == "memory":
            raise MemoryError
        raise _fault(path, fields.line, fields.column, reason)
    rows, is_real = fields.rows, arrays["is_real"].tolist()
    values = [arrays["reals" if is_real[n] else "integers"][:rows, n] for n in range(len(counters))]
    ends = [name.rpartition(".") for name in counters]
    return ExternalData(
        path=path,
        clock=clock,
        begin=arrays["begin"][:rows],
        end=arrays["end"][:rows] if "END" in uses else None,
        pid=arrays["pid"][:rows],
        tid=arrays["tid"][:rows],
        name=arrays["name"][:rows] if "NAME" in uses else None,
        names=names,
        counters=[name for name, _, _ in ends],
        modes=[mode for _, _, mode in ends],
        values=values,
    )


def _name(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
