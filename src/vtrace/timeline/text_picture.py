# SPDX-License-Identifier: BSD-3-Clause
"""The timeline as text: a row for each location or group of neighbours, a character for each step of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.activity import OPENMP, TREE
from vtrace.analysis.questions.activity_bins import Timeline, grouped
from vtrace.analysis.questions.timeline_data import location_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array
from vtrace.console import some
from vtrace.io.sidecar.tile_file import COLUMN, TileFile
from vtrace.left_out import WHOLE_RUN
from vtrace.reasons import CHOSEN, FLUSH, NOT_LOST
from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

LETTERS = "=MIsOTL#R~.-!"
"""A letter for each class of TREE, for the program's time outside of all calls, for other time without calls, for the
time in which the user switched recording off, and for losses."""
_PROGRAM, _NOTHING, _OFF = -3, -2, -1
"""Places of these times in TextPicture.ns."""
_SILENT = len(LETTERS) - 1
_FINE = 4
"""With this many bins in a column tiles are exact enough: a bin that a column's border cuts counts by its share."""
_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_NAME, _FEWEST = 28, 10
"""The most characters of a row's name, and the least of the picture beside the name."""
_LIFE_BINS = 4096
"""The most bins to read for the first and the last event of a location."""
_TOGETHER = 1000
"""The locations whose events are read in one pass; each needs memory for its times."""
_CALLS = WHOLE_RUN.keys() | {FLUSH}
"""Reasons of intervals in which calls were recorded nevertheless."""


@dataclass(kw_only=True)
class TextPicture:
    """The picture in numbers.

    names: of the rows. ns: (rows, classes + 3, columns) time in each class, of the program outside of all calls, other
    time without calls, and without recording by the user's choice (VT_OFF, VT_STOP_AFTER, VT_MODE=RING). silent:
    (rows, columns) bool, True where all events were lost according to the ledger; lossy: (rows,) bool, True for rows
    with any loss in the ledger. markers: (columns,) the number of markers. begin, end: of the window, ns.
    """

    names: list[str]
    ns: Array
    silent: Array
    lossy: Array
    markers: Array
    begin: int
    end: int


def picture(trace: Source, tiles: TileFile, window: Selection, width: int, *, most_rows: int) -> TextPicture:
    """The times of a selection from tiles; reads events only where tiles are too coarse.

    width: characters of a line; most_rows: if there are more locations, neighbours share rows. Raises FormatError.
    """
    locations, (begin, end) = window.rows(trace), window.ends(trace)
    end = max(end, begin + 1)
    rows = grouped(range(len(locations)), min(most_rows, len(locations)))
    names = _names(trace, locations, rows)
    columns = max(_FEWEST, width - max(map(len, names), default=0) - 2)
    classes = len(trace.regions.classes)
    ns, step = np.zeros((len(names), classes + 3, columns)), (end - begin) / columns
    borders = np.linspace(begin, end, columns + 1)
    off, silent, lossy = _missing(trace, window, rows, columns)
    for n, times in _times(trace, tiles, locations=locations, window=(begin, end), columns=columns):
        left_out = np.minimum(off.get(locations[n], np.zeros(columns)), step)
        recorded, inside = step - left_out, times.sum(axis=0)
        ns[rows[n], :classes] += times * np.minimum(1, recorded / np.maximum(inside, 1))  # without open calls meanwhile
        outside = np.maximum(0, recorded - inside)
        program = _program_times(outside, borders, _life(trace, tiles, locations[n]))
        ns[rows[n], _PROGRAM] += program
        ns[rows[n], _NOTHING] += outside - program
        ns[rows[n], _OFF] += left_out
    return TextPicture(
        names=names,
        ns=ns,
        silent=silent,
        lossy=lossy,
        markers=_markers(trace, begin, end, columns),
        begin=begin,
        end=end,
    )


def _program_times(outside: Array, borders: Array, life: tuple[int, int]) -> Array:
    """(columns,) ns of the program outside of calls. outside: ns without calls in each column; life: see _life. At the
    ends of the life, bins that a border of columns cuts leave times that are none."""
    step = borders[1] - borders[0]
    found: Array = np.clip(np.diff(np.clip(borders, *life)) - (step - outside), 0, outside)
    cut = step / _FINE
    for end in life:
        near = (borders[:-1] <= end + cut) & (borders[1:] >= end - cut)
        found[near & (found < cut)] = 0
    return found


def _life(trace: Source, tiles: TileFile, location: int) -> tuple[int, int]:
    """The first and the last event of a location (ns), between which it runs the program outside of its calls; the same
    time twice for locations that do not: devices, and threads of OpenMP, which wait between parallel regions. Raises
    FormatError."""
    levels = tiles.levels(location)
    if not levels or str(trace.locations["type"][location]) != "CPU_THREAD":
        return 0, 0
    coarse = next((level for level in levels if trace.duration >> level <= _LIFE_BINS), levels[-1])
    found = tiles.bins(location, coarse, 0, (trace.duration >> coarse) + 1)
    places = trace.places.process
    first_of_process = places[location] >= 0 and location == int(np.argmax(places == places[location]))
    if found[COLUMN["FIRST_CLASS"] + OPENMP].any() and not first_of_process:
        return 0, 0
    bins = np.flatnonzero(found[COLUMN["EVENTS"]]).tolist()
    if not bins:
        return 0, 0
    fine, ends = levels[0], []
    for at, last in ((bins[0], 0), (bins[-1], -1)):
        first = at << (coarse - fine)
        inside = tiles.bins(location, fine, first, (at + 1) << (coarse - fine))
        place = np.flatnonzero(inside[COLUMN["EVENTS"]])[last]
        calls = int(inside[COLUMN["FIRST_CLASS"] :, place].sum())  # the first call begins, the last one ends in the bin
        edge = (first + int(place)) << fine
        ends.append(edge + calls if last else edge + (1 << fine) - calls)
    return ends[0], max(ends)


def _times(
    trace: Source, tiles: TileFile, locations: list[int], window: tuple[int, int], *, columns: int
) -> Iterator[tuple[int, Array]]:
    """Yields the place of each location and (classes, columns) ns in each class. Raises FormatError."""
    classes = len(trace.regions.classes)
    coarse = []
    for n, location in enumerate(locations):
        if _is_fine(tiles, location, (window[1] - window[0]) / columns):
            yield n, class_times(tiles, location, window=window, classes=classes, columns=columns)
        else:
            coarse.append(n)
    for part in (coarse[first : first + _TOGETHER] for first in range(0, len(coarse), _TOGETHER)):
        own = np.full(trace.locations.rows, -1, np.int64)
        chosen = [locations[n] for n in part]
        own[chosen] = np.arange(len(part))
        line = Timeline(columns, trace.regions["class"], classes=classes, rows=own, window=window)
        ask(trace, [line], Selection.of(stop=window[1], locations=chosen))
        yield from zip(part, line.answer()[:, :-1].astype(float) * 1e9, strict=True)


def _names(trace: Source, locations: list[int], rows: Array) -> list[str]:
    """The names of rows. Long names lose their middle, since the end names the thread."""
    shown, names = location_names(trace), []
    for row in range(int(rows.max(initial=-1)) + 1):
        members = np.flatnonzero(rows == row)
        first, last = (plain(shown[locations[members[n]]]) for n in (0, -1))
        name = first if len(members) == 1 else f"{first} to {last}"
        names.append(name if len(name) <= _NAME else f"{name[: _NAME // 2 - 2]}..{name[-_NAME // 2 :]}")
    return names


def _is_fine(tiles: TileFile, location: int, step: float) -> bool:
    """Returns True if the bins of a location are fine enough for columns of step ns."""
    levels = tiles.levels(location)
    return bool(levels) and (1 << levels[0]) * _FINE <= step


def class_times(tiles: TileFile, location: int, window: tuple[int, int], classes: int, *, columns: int) -> Array:
    """(classes, columns): ns of a location in each class. Raises FormatError."""
    begin, end = window
    step = (end - begin) / columns
    level = max(level for level in tiles.levels(location) if (1 << level) * _FINE <= step)
    first, width = begin >> level, 1 << level
    times = tiles.bins(location, level, first, (end >> level) + 1)[COLUMN["FIRST_CLASS"] :]
    borders = np.linspace(begin, end, columns + 1)
    edges = (first + np.arange(times.shape[1] + 1)) * float(width)
    found = np.zeros((classes, columns))
    for number in range(min(classes, len(times))):
        sums = np.concatenate([[0.0], np.cumsum(times[number], dtype=np.float64)])
        found[number] = np.diff(np.interp(borders, edges, sums))
    return found


def _missing(trace: Source, window: Selection, rows: Array, columns: int) -> tuple[dict[int, Array], Array, Array]:
    """(columns,) ns without recording by the user's choice, by location; silent and lossy of a TextPicture. A loss
    after the last event is in the last column."""
    begin, end = window.ends(trace)
    end = max(end, begin + 1)
    silent = np.zeros((int(rows.max(initial=-1)) + 1, columns), bool)
    off: dict[int, Array] = {}
    lossy = np.zeros(len(silent), bool)
    places = zip(window.rows(trace), rows.tolist(), strict=True)
    borders = np.linspace(begin, end, columns + 1)
    row_of = {int(trace.locations["id"][location]): (location, row) for location, row in places}
    for interval in trace.not_recorded(window.recorded, begin, end).intervals.records():
        location, row = row_of.get(interval["location"], (-1, -1))
        if row < 0 or interval["reason"] in _CALLS or interval["reason"].startswith(NOT_LOST):
            continue
        chosen = interval["reason"] in CHOSEN
        lossy[row] |= not chosen
        if interval["class"] == "all":
            times = trace.ns(np.array([interval["from"], interval["to"]], np.uint64)).tolist()
            first, last = (min(max(0, (time - begin) * columns // (end - begin)), columns - 1) for time in times)
            if chosen:
                ends = np.clip(borders[first : last + 2], *times)
                off.setdefault(location, np.zeros(columns))[first : last + 1] += np.diff(ends)
            else:
                silent[row, first : last + 1] = True
    return off, silent, lossy


def _markers(trace: Source, begin: int, end: int, columns: int) -> Array:
    """markers of a TextPicture; markers outside of the trace's time count at its border."""
    times = np.clip(trace.markers()["time"], 0, trace.duration)
    inside = times[(times >= begin) & (times <= end)]
    found: Array = np.bincount(
        np.minimum((inside - begin) * columns // max(1, end - begin), columns - 1), minlength=columns
    )
    return found


def draw(shown: TextPicture, colour: bool) -> Iterator[str]:
    """Yields the lines of the picture: times, rows, losses and markers, legend."""
    columns = shown.ns.shape[2]
    width = max(map(len, shown.names), default=0)
    yield from _scale(shown, width, columns)
    totals = shown.ns.sum(axis=(0, 2))
    for name, times, silent, lossy in zip(shown.names, shown.ns, shown.silent, shown.lossy, strict=True):
        classes = np.where(silent, _SILENT, times.argmax(axis=0)).tolist()
        cells = "".join(_cell(number, colour) for number in classes)
        yield f"{name.ljust(width)} {'!' if lossy else ' '}{cells}"
    if shown.markers.any():
        yield f"{'markers'.ljust(width)[:width]}  " + "".join("v" if n else " " for n in shown.markers).rstrip()
    yield from _legend(shown, totals)


def duration_text(ns: float) -> str:
    """A duration with its unit: 23.1 ms."""
    size, unit = next(pair for pair in _UNITS if ns >= pair[0] or pair[0] == 1)
    return f"{ns / size:.4g} {unit}"


def _scale(shown: TextPicture, width: int, columns: int) -> Iterator[str]:
    """The line with times: of the left border, then of every 20th column since the start of the window."""
    line = f"|{duration_text(shown.begin)}"
    for column in range(20, columns - 10, 20):
        since = (shown.end - shown.begin) * column / columns
        line = line.ljust(column) + f"|{'+' if shown.begin else ''}{duration_text(since)}"
    yield " " * (width + 2) + line


def _cell(number: int, colour: bool) -> str:
    if not colour or number >= len(TREE):
        return LETTERS[number]
    red, green, blue = (int(TREE[number].colour[at : at + 2], 16) for at in (1, 3, 5))
    text = 97 if TREE[number].light_text else 30
    return f"\x1b[{text};48;2;{red};{green};{blue}m{LETTERS[number]}\x1b[0m"


def _legend(shown: TextPicture, totals: Array) -> Iterator[str]:
    names = [*(one.name for one in TREE), "program outside of calls", "no call", "not recorded"]
    whole = totals.sum() or 1
    order = np.argsort(-totals, kind="stable")
    words = [f"{LETTERS[n]} {names[n]} {100 * totals[n] / whole:.1f} %" for n in order.tolist() if totals[n] > 0]
    yield "  ".join(words)
    if shown.lossy.any():
        yield f"! events are missing in {some(int(shown.lossy.sum()), 'row')}: vtrace info lists the losses"
