# SPDX-License-Identifier: BSD-3-Clause
"""The locations of an archive as lines of text: all of a few locations, else only notable ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from vtrace.io.archive.overview import LocationLine, Locations
from vtrace.text import plain

MOST = 40
"""With more locations than this, only notable ones are shown, unless the user asks for all."""
_FAULTY, _ALIKE = 20, 3
"""The most locations with losses to show; the number of locations to show if all are alike."""
TIMES = {
    "RECORDED_NS": "seconds", "FLUSHED_NS": "flushed", "OFF_NS": "off", "USER_NS": "user", "SYSTEM_NS": "system",
}  # fmt: skip
COUNTS = {"LOST": "lost", "CLAMPED": "clamped"}
_FAULTS = ("LOST", "CLAMPED", "STOPPED", "DIED")
_LEFT = {1, 2, 3}
"""Columns of text."""
Marks = dict[tuple[int, str], str]


def lines(locations: Locations, everything: bool) -> Iterator[str]:
    """Yields a head and a line for each location; if there are many, only for locations with extreme values or
    losses."""
    if everything or len(locations) <= MOST:
        shown = list(range(len(locations))), Marks(), list[str]()
    else:
        shown = _notable(locations)
    rows, marks, notes = shown
    names = ["id", "process", "location", "host", "events", *TIMES.values(), *COUNTS.values()]
    widths = [len(name) for name in names]
    for cells in _cells(locations, rows, marks):
        widths = [max(width, len(cell)) for width, cell in zip(widths, cells, strict=True)]
    marked = {names.index(name) for _, name in marks}
    for cells in ([name + " " * (at in marked) for at, name in enumerate(names)], *_cells(locations, rows, marks)):
        padded = (
            c.ljust(w) if at in _LEFT else c.rjust(w) for at, (c, w) in enumerate(zip(cells, widths, strict=True))
        )
        yield "  " + "  ".join(padded).rstrip()
    yield from (f"  {note}" for note in notes)


def _cells(locations: Locations, rows: Iterable[int], marks: Marks) -> Iterator[list[str]]:
    marked = {name for _, name in marks}
    for row in rows:
        line = locations.line(row)
        numbers = {"events": f"{line.events:,}"} | _numbers(line)
        cells = [n + marks.get((row, name), " " * (name in marked)) for name, n in numbers.items()]
        yield [str(line.id), *map(plain, (line.process, line.name, line.host)), *cells]


def _numbers(line: LocationLine) -> dict[str, str]:
    known = line.properties
    times = {name: f"{known[key] / 1e9:.6g}" if key in known else "-" for key, name in TIMES.items()}
    return times | {name: f"{known[key]:,}" if key in known else "-" for key, name in COUNTS.items()}


def _notable(locations: Locations) -> tuple[list[int], Marks, list[str]]:
    """Rows with the largest (^) or smallest (v) values, and the first rows with losses; their marks; notes."""
    marks: Marks = {}
    everywhere = np.ones(len(locations), bool)
    known = {"events": (locations.events, everywhere)}
    known |= {name: locations.properties.get(key, (everywhere, ~everywhere)) for key, name in (TIMES | COUNTS).items()}
    for name, (values, present) in known.items():
        rows = np.flatnonzero(present)
        if len(rows) and values[rows].min() != values[rows].max():
            marks[int(rows[values[rows].argmax()]), name] = "^"
            marks.setdefault((int(rows[values[rows].argmin()]), name), "v")
    faulty = np.zeros(len(locations), bool)
    for key in _FAULTS:
        faulty |= locations.properties.get(key, (everywhere * 0,))[0] > 0
    missing = np.flatnonzero(faulty)
    shown = sorted({row for row, _ in marks} | set(missing[:_FAULTY].tolist()) or range(_ALIKE))
    notes = [f"^ the most and v the least of {len(locations):,}"] if marks else [f"all {len(locations):,} are alike"]
    notes[0] += f"; {len(locations) - len(shown):,} are left out here: --all shows them, --json is for scripts"
    if len(missing):
        part = f"; the first {_FAULTY} are shown" if len(missing) > _FAULTY else ""
        notes.append(f"{len(missing):,} lack events or have moved times{part}")
    return shown, marks, notes
