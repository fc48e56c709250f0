# SPDX-License-Identifier: BSD-3-Clause
"""Reads vtunify's properties of a run in an archive: JSON texts, which are damaged in some archives.

The types are checked here, once: a value of a property has the type in this table, or is missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vtrace.errors import FormatError

PROPERTY = "VTRACE::"
EXECUTABLE, COMMAND, CORES = PROPERTY + "EXECUTABLE", PROPERTY + "COMMAND", PROPERTY + "CORES"
"""Properties of a location group: its program, its command line, and the cores that it may use, such as 0-3,8."""
CPU_MAX_MHZ, PMUS = PROPERTY + "CPU_MAX_MHZ", PROPERTY + "PMUS"
"""Properties of a location group with counters: the maximum clock rate of its host's processor in MHz, and the names of
the host's performance monitoring units with blanks between."""
PID, TID = PROPERTY + "PID", PROPERTY + "TID"
"""Properties with the kernel's ids: PID of a location group, TID of a location. The second thread of a location has
TID.2, the next one TID.3."""
LANE = PROPERTY + "LANE"
"""Property of locations without a thread, for imported data and ranges of annotations: thread, process, host or run, to
which the data belong. Calls on such a location are intervals, which may overlap those of another lane."""
HELPER_PROPERTY = PROPERTY + "HELPER"
"""Property that marks the locations of threads that a library made for itself."""
Check = Callable[[Any, str, list[str]], Any]
"""Takes a value, the name of its place and a list of problems; returns the checked value, or _BAD."""
_BAD = object()
_MOST = 1 << 64


@dataclass(frozen=True, kw_only=True)
class Properties:
    """An archive's own description. texts: all properties by their names; vtrace: those of vtunify, without VTRACE::;
    problems: a line for each damaged one."""

    creator: str
    machine: str
    texts: dict[str, str]
    vtrace: dict[str, Any]
    problems: list[str] = field(default_factory=list)


def read_properties(handle: Any, anchor: Path) -> Properties:
    """The properties of an OTF2_Reader. Raises FormatError if libotf2 cannot read them."""
    import _otf2

    try:
        creator, machine = _otf2.Reader_GetCreator(handle) or "", _otf2.Reader_GetMachineName(handle) or ""
        texts = {name: _otf2.Reader_GetProperty(handle, name) for name in _otf2.Reader_GetPropertyNames(handle)}
    except (_otf2.Error, ValueError) as error:
        raise FormatError(f"{anchor}: its properties cannot be read: {error}", "the file is damaged") from error
    problems: list[str] = []
    own = {name.removeprefix(PROPERTY): text for name, text in texts.items() if name.startswith(PROPERTY)}
    vtrace = {name: value for name, text in own.items() if (value := parsed(name, text, problems)) is not None}
    return Properties(
        creator=creator,
        machine=machine,
        texts=texts,
        vtrace=vtrace,
        problems=[f"{anchor}: {text}" for text in problems],
    )


def parsed(name: str, text: str, problems: list[str]) -> Any:
    """The value of a property of vtunify; None if the whole value is damaged, which adds a line to problems.

    A damaged part is left out. The value of an unknown name is not checked.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if name in _FORMS:
            problems.append(f"property {PROPERTY}{name} is damaged and left out (not JSON)")
        return None if name in _FORMS else text
    if name not in _FORMS:
        return value
    found = _FORMS[name](value, f"property {PROPERTY}{name}", problems)
    return None if found is _BAD else found


def _wrong(where: str, wanted: str, problems: list[str]) -> Any:
    problems.append(f"{where} is damaged and left out (expected: {wanted})")
    return _BAD


def _text(value: Any, where: str, problems: list[str]) -> Any:
    return value if isinstance(value, str) else _wrong(where, "text", problems)


def _flag(value: Any, where: str, problems: list[str]) -> Any:
    return value if isinstance(value, bool) else _wrong(where, "truth value", problems)


def _count(value: Any, where: str, problems: list[str]) -> Any:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST
    return value if fine else _wrong(where, "count", problems)


def _number(value: Any, where: str, problems: list[str]) -> Any:
    fine = isinstance(value, int | float) and not isinstance(value, bool)
    return value if fine and math.isfinite(value) and 0 <= value < _MOST else _wrong(where, "number", problems)


def _maybe(check: Check) -> Check:
    """A value of a type, or null."""
    return lambda value, where, problems: None if value is None else check(value, where, problems)


def _list(check: Check) -> Check:
    """A list of values of a type; damaged ones are left out."""

    def read(value: Any, where: str, problems: list[str]) -> Any:
        if not isinstance(value, list):
            return _wrong(where, "list", problems)
        found = (check(item, f"{where}[{n}]", problems) for n, item in enumerate(value))
        return [item for item in found if item is not _BAD]

    return read


def _object(needed: Mapping[str, Check], optional: Mapping[str, Check], others: Check | None = None) -> Check:
    """An object with these members. If a needed member is damaged, so is the object; other damaged ones are left out.

    others: type of the members without a name here; None: they are left out.
    """

    def read(value: Any, where: str, problems: list[str]) -> Any:
        if not isinstance(value, dict):
            return _wrong(where, "object", problems)
        found = {}
        for name, member in value.items():
            check = needed.get(name) or optional.get(name) or others
            member = check(member, f"{where}: {name}", problems) if check else _BAD
            if member is not _BAD:
                found[name] = member
        if lacking := [name for name in needed if name not in found]:
            problems.append(f"{where} is damaged and left out ({', '.join(lacking)} is missing)")
            return _BAD
        return found

    return read


def _any(value: Any, where: str, problems: list[str]) -> Any:
    return value


_REPAIR = dict.fromkeys(
    ("messages", "reversed_messages", "collectives", "reversed_collectives", "left", "corrections", "largest_ns"),
    _count,
)
_COMPARED = {"reference": _text, "compared": _count, "measured": _count, "error_ns": _maybe(_number)}
_ONE_CLOCK = {"count": _count}
_LIMITS = {"host": _text, "measured": _count, "error_ns": _maybe(_number)}
_COUNTS = _object({}, {}, _count)
_CLOCKS = _object(
    _ONE_CLOCK | _COMPARED, {"bounds": _list(_object(_LIMITS, {})), "repair": _object(_REPAIR, {}, _any)}, _any
)


def _clocks(value: Any, where: str, problems: list[str]) -> Any:
    """There is no entry for a single clock. error_ns is null if no clock was compared with another."""
    if isinstance(value, dict) and value.get("count") in (0, 1):
        return _object(_ONE_CLOCK, {"reference": _text}, _any)(value, where, problems)
    found = _CLOCKS(value, where, problems)
    if found is not _BAD and found["compared"] and found["error_ns"] is None:
        return _wrong(f"{where}: error_ns", "number", problems)
    return found


_LOOP = dict.fromkeys(("number", "region", "first", "last", "level"), _count) | {
    "outer": _maybe(_count), "file": _text, "kind": _text,
}  # fmt: skip
"""region: its id. outer: number of the loop around; lines: those of samples whose innermost loop it is."""
_ABOUT = dict.fromkeys(("executable", "directory", "user", "run", "prefix", "recorded_by", "missing_ranks"), _text)
_FORMS: dict[str, Check] = {
    "ABOUT": _object(
        dict.fromkeys(("unified_by", "unified_on", "clock"), _text),
        _ABOUT | dict.fromkeys(("start", "ranks", "processes"), _count) | {"command": _list(_text), "shim.mpi": _text},
        _any,
    ),
    "SETTINGS": _object({}, {}, _text),
    "EVENTS": _COUNTS,
    "COVERAGE": _object(
        {"complete": _flag, "shortfalls": _list(_text)}
        | dict.fromkeys(("lost", "clamped", "limit"), _count)
        | dict.fromkeys(("flushed", "off"), _number),
        {"seconds": _number, "lost_by": _COUNTS, "untimed": _list(_text)}
        | dict.fromkeys(("died", "dropped", "unknown"), _count),
        _any,
    ),
    "CLOCKS": _clocks,
    "SAMPLES": _object(
        {"samples": _count, "lost": _count},
        {"counted": _count, "weight_ns": _maybe(_count), "overruns": _count, "early": _COUNTS}, _any,
    ),
    "IMPORTED": _list(_object(dict.fromkeys(("file", "digest"), _text), {"host": _maybe(_text)}, _any)),
    "SAMPLES_IN": _text,
    "SAMPLES_OF": _text,
    "LOOPS": _list(_object(_LOOP | {"lines": _list(_count)}, {}, _any)),
    "INLINED": _list(_object({"into": _text, "name": _text, "loop": _flag, "bytes": _count}, {}, _any)),
    "EVENT_BYTES": _count,
    "PROFILE": _object({"calls": _count}, {}, _any),
    "LEFT_OUT": _object({"functions": _list(_text)}, {}, _any),
    "ITERATIONS": _object({"all": _count, "left_out": _count}, {}, _any),
    "CUT": _object(
        {"of": _text, "from_ns": _count, "to_ns": _count, "duration_ns": _count},
        {"window": _text, "select": _list(_text), "locations": _count, "of_locations": _count, "halves": _count},
        _any,
    ),
}  # fmt: skip
"""The properties that unify/account/archive_texts.py, io/sidecar/samples_archive.py, io/archive/writer.py,
transform/cut.py and transform/importer.py write. Members of later versions are not checked; add a member here before
reading it."""
