# SPDX-License-Identifier: BSD-3-Clause
"""The profiles of a process with VT_MODE=PROFILE, with the regions and times of the archive."""

from __future__ import annotations

from typing import Any

import numpy as np

from vtrace.io.common.arrays import Array
from vtrace.io.local.kernel import UNMAPPED, Transcoded
from vtrace.io.local.maps import Maps
from vtrace.io.local.profiles import end_call, off_ticks
from vtrace.io.local.records import (
    CLASS_ALL,
    CODE_MASK,
    FUNCTION,
    GAP_REASONS,
    GAP_UNKNOWN,
    ID_MAX,
    OPEN_ADDRESS,
    PROFILE_ROW,
)
from vtrace.unify.model.process import Process

PROFILE = np.dtype(
    [(name, "<u4") for name in ("path", "parent", "region")]
    + [(name, "<u8") for name in ("calls", "inclusive", "exclusive", "min", "max")]
    + [("deviations", "<f8"), ("out", "<u8"), ("in", "<u8")]
)
"""A call path of a location. path: from 0, a parent's is smaller. Times in ns; deviations (ns**2): of the calls' times
from their mean; out, in: bytes. Path 0 is outside all regions: calls is the number of calls without a row, inclusive
the time of the location, min its begin, max the largest heap in bytes."""
ROW = "ROW"
"""The reason for events that are in no row."""
_OFF = next(number for number, name in GAP_REASONS.items() if name == "OFF")
_MOST = (1 << 63) - 1


def archive_rows(process: Process, number: int) -> Array | None:
    """Returns the call paths of a location, PROFILE, parents first; None for a location with events."""
    rows = process.contents.profiles.get(number)
    if rows is None or process.maps is None or process.curve is None:
        return None
    scan = process.contents.scans[number]
    made = _Paths(rows, process.maps.common, scan.last_ticks).table(*process.curve.rate)
    first, last = (process.archive_ns(ticks) for ticks in (scan.first_ticks, scan.last_ticks))
    inside = int(made["inclusive"][1:][made["parent"][1:] == 0].sum())
    made["inclusive"][0], made["exclusive"][0], made["min"][0] = last - first, max(0, last - first - inside), first
    return made


def calls_without_row(process: Process, number: int) -> int:
    """Returns the number of calls whose paths have no row, since the table was full or the path too long."""
    rows = process.contents.profiles.get(number)
    return 0 if rows is None else int(rows["turns"][rows["what"] == 0].sum()) // 2


def transcoded(process: Process, number: int) -> Transcoded:
    """Returns the result of writing a location without events, whose times are those of its profile."""
    scan = process.contents.scans[number]
    first, last = (process.archive_ns(ticks) for ticks in (scan.first_ticks, scan.last_ticks))
    maps, unmapped = process.maps, 0
    if maps is not None:
        known = np.unique(process.contents.profiles[number]["what"]).tolist()
        unmapped = sum(region_of(what, maps.common) == maps.common.unknown_region for what in known)
    ticks, ns = process.curve.rate if process.curve else (1, 1)
    off = min(off_ticks(process.contents.profiles[number], scan.last_ticks) * ns // ticks, _MOST)
    return Transcoded(
        counts={}, first_ns=first, last_ns=last, events=0, lost=0, clamped=0, unmapped=unmapped, closed=0,
        stray_leaves=0, flush_ns=0, off_ns=off, limit_ns=None, flushes=0,
        gaps=[(first, last, off, GAP_UNKNOWN, CLASS_ALL, _OFF)] if off else [],
    )  # fmt: skip


def region_of(what: int, maps: Maps) -> int:
    """Returns OTF2's region of a row; UNMAPPED outside all regions."""
    if not what:
        return UNMAPPED
    if what & OPEN_ADDRESS:
        return _found(maps.addresses, maps.address_regions, what & OPEN_ADDRESS - 1, maps.unknown_region)
    if what & FUNCTION:
        return _found(maps.function_offsets, maps.function_regions, what & CODE_MASK, maps.unknown_region)
    local = what & ID_MAX
    region = int(maps.regions[local]) if local < len(maps.regions) else UNMAPPED
    return maps.unknown_region if region == UNMAPPED else region


def _found(keys: Array, regions: Array, key: int, unknown: int) -> int:
    at = int(np.searchsorted(keys, np.array(key, keys.dtype)))
    return int(regions[at]) if at < len(keys) and int(keys[at]) == key else unknown


class _Paths:
    """The call paths of a location: rows of one path are one. last: ticks at which open calls end."""

    def __init__(self, rows: Array, maps: Maps, last: int) -> None:
        self._paths: list[dict[str, Any]] = [_path(0, UNMAPPED)]
        self._number: dict[tuple[int, int], int] = {}
        path_of: dict[int, int] = {}
        regions = {what: region_of(what, maps) for what in np.unique(rows["what"]).tolist()}
        for values in rows.tolist():
            row = dict(zip(PROFILE_ROW.names or (), values, strict=True))
            if not row["what"]:
                path_of[row["number"]] = 0
                self._paths[0]["calls"] += row["turns"] // 2
                self._paths[0]["most"] = max(self._paths[0]["most"], row["most"])
                continue
            parent = path_of.get(row["parent"], 0)
            key = parent, regions[row["what"]]
            path = path_of[row["number"]] = self._number.setdefault(key, len(self._paths))
            if path == len(self._paths):
                self._paths.append(_path(*key))
            self._add(self._paths[path], row, last)

    @staticmethod
    def _add(path: dict[str, Any], row: dict[str, Any], last: int) -> None:
        path["calls"] += (row["turns"] + 1) // 2
        if row["turns"] & 1:
            end_call(row, last)
        path["ticks"] += row["ticks"]
        low, high = (int(half) for half in row["squares"])
        path["squares"] += high << 64 | low
        path["least"], path["most"] = min(path["least"], row["least"]), max(path["most"], row["most"])
        path["out"] += row["out"]
        path["in"] += row["in"]

    def table(self, ticks: int, ns: int) -> Array:
        """PROFILE. ticks, ns: the rate of the clock."""
        inside = [0] * len(self._paths)
        for path in self._paths[1:]:
            inside[path["parent"]] += path["ticks"]
        made = np.zeros(len(self._paths), PROFILE)
        for number, path in enumerate(self._paths):
            times = (
                path["ticks"],
                max(0, path["ticks"] - inside[number]),
                min(path["least"], path["most"]),
                path["most"],
            )
            if number:
                times = tuple(min(time * ns // ticks, _MOST) for time in times)
            calls = min(max(path["calls"], 0), _MOST)
            spread = (path["squares"] - path["ticks"] ** 2 / calls) * (ns / ticks) ** 2 if calls and number else 0
            bytes_ = (min(path[name], _MOST) for name in ("out", "in"))
            made[number] = (number, path["parent"], path["region"], calls, *times, max(0.0, float(spread)), *bytes_)
        return made


def _path(parent: int, region: int) -> dict[str, Any]:
    return {"parent": parent, "region": region, "least": (1 << 64) - 1} | dict.fromkeys(
        ("calls", "ticks", "most", "squares", "out", "in"), 0
    )
