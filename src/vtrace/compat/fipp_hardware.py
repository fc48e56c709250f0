# SPDX-License-Identifier: BSD-3-Clause
"""The hardware monitor information of the Instant Profiler, Figures 2.18 to 2.20 of its guide: of the whole run, from
the first to the last reading of each thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from vtrace.analysis.derived.event_set import EventSet
from vtrace.analysis.questions import section_sums
from vtrace.analysis.questions.sections import ALL
from vtrace.analysis.selection import Selection
from vtrace.compat import fapp_hardware

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_NONE = "--"


class HardwarePlace(NamedTuple):
    """The application, a process or a thread: its name, rows of its threads' locations, and the elapsed time, s."""

    name: str
    locations: Sequence[int]
    elapsed: float


@dataclass
class FippHardware:
    """title: of the part; levels: title, and tables of head and rows, the level itself first; the last cell of a row
    is the name."""

    title: str
    levels: list[tuple[str, list[tuple[list[str], list[list[str]]]]]]


class HardwareMaker:
    """Reads the counters of the threads, once."""

    def __init__(self, trace: Source, locations: Sequence[int], event: str, mhz: str, *, events: EventSet) -> None:
        """event: a key of fapp_hardware.EVENTS, else the standard; mhz: of the processors, "" if unknown."""
        self.event, self.mhz, self.events = event, mhz, events
        counters = fapp_hardware.counters_of(trace)
        self.counters = [*counters.values()]
        found = section_sums.read(trace, Selection.of(None, None, list(locations)), [*counters])
        self.threads = {location: numbers for (location, name), numbers in found.threads.items() if name == ALL}

    def make(self, levels: Iterable[tuple[str, Sequence[HardwarePlace]]]) -> FippHardware:
        """levels: title of each, and its places: the level itself, then its parts."""
        about = fapp_hardware.EVENTS.get(self.event, fapp_hardware.EVENTS[fapp_hardware.STANDARD])
        title = about.title.replace(" : ", ":").replace(": ", ":")
        made = FippHardware(title, [])
        for name, places in levels:
            tables = []
            for items in about.tables:
                rows = [[*self._cells(place, [item for _, item in items]), place.name] for place in places]
                tables.append((["Elapsed(s)", *(head for head, _ in items)], rows))
            made.levels.append((name, tables))
        return made

    def _cells(self, place: HardwarePlace, items: Sequence[str]) -> list[str]:
        """The sums over the threads; "--" where a thread has not read the counter."""
        of = [self.threads.get(location, {}) for location in place.locations]
        sums: dict[str, float | None] = {}
        for name in self.counters:
            values = [numbers.get(name) for numbers in of]
            known = [value for value in values if value is not None]
            sums[name] = sum(known) if known and len(known) == len(values) else None
        given = fapp_hardware.bases(sums, place.elapsed, len(of), self.mhz)
        found = [fapp_hardware.value(item, given, self.events) for item in items]
        texts = [_NONE if value is None else f"{value:z.4f}".removesuffix(".0000") for value in found]
        return [f"{place.elapsed:.4f}", *texts]


def text(hardware: FippHardware, rule: str, stars: str) -> Iterator[str]:
    """The lines of the part."""
    yield from ("", rule, f" {hardware.title}")
    for title, tables in hardware.levels:
        yield from ("", stars, f" {title} - performance monitor", stars)
        for head, rows in tables:
            columns = list(zip(head, *(row[:-1] for row in rows), strict=True))
            widths = [max(map(len, column)) + 2 for column in columns]
            yield from ("", "".join(f"{cell:>{width}}" for cell, width in zip(head, widths, strict=True)), rule)
            for place, row in enumerate(rows):
                yield "".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)) + f"  {row[-1]}"
                if not place:
                    yield rule


def csv_rows(hardware: FippHardware) -> Iterator[list[str]]:
    """The rows of the part in CSV."""
    for title, tables in hardware.levels:
        for head, rows in tables:
            yield from ([], [f"{hardware.title} {title}"], [*head, "Name"], *rows)
