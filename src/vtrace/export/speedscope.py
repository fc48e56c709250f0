# SPDX-License-Identifier: BSD-3-Clause
"""Export for speedscope: the recorded calls of each location in the order of time, and its samples by call stack.

The format is that of https://www.speedscope.app/file-format-schema.json. Times are in ns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from vtrace import __version__
from vtrace.analysis.definition_tables import has_line
from vtrace.analysis.questions.calls import Calls, CallSteps
from vtrace.analysis.questions.costs import CostQuestion, Costs
from vtrace.analysis.questions.stacks import SampleStacks, Stacks
from vtrace.analysis.questions.timeline_data import label, location_names, span
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.io.common.outfile import complete
from vtrace.text import json_text

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_AT_ONCE = 50_000


@dataclass(kw_only=True)
class Profiled:
    """Calls and samples to write. step: one of step samples is kept. notes: contents that are left out."""

    trace: Source
    window: Selection
    calls: Calls
    costs: Costs
    stacks: dict[int, SampleStacks]
    step: int
    notes: list[str]

    @property
    def samples(self) -> int:
        """The number of samples to write."""
        return sum(len(stacks.contexts) for stacks in self.stacks.values())


def gather(trace: Source, window: Selection, most: int) -> Profiled:
    """Reads calls and samples, at most `most` of each: the longest calls, and each n-th sample."""
    calls, costs = CallSteps(most), CostQuestion()
    met = ask(trace, [calls, costs], window)
    found, notes = costs.answer(), list(met.problems)
    made = Profiled(trace=trace, window=window, calls=calls.answer(), costs=found, stacks={}, step=1, notes=notes)
    count = int(found.samples["count"].sum())
    if count:
        made.step = -(-count // most)
        stacks = Stacks(made.step)
        ask(trace, [stacks], window)
        made.stacks = stacks.answer()
    if calls.dropped:
        notes.append(f"calls shorter than {span(calls.shortest)} are left out; --most writes more")
    if made.step > 1:
        notes.append(f"one of {made.step} samples is written, with the time of all; --most writes more")
    if met.stray:
        notes.append(f"{met.stray:,} Leave events without an Enter are left out")
    return made


class _Frames:
    """The frames of a file: each a region, with the line of a place in it if known."""

    def __init__(self, trace: Source) -> None:
        self._trace = trace
        self._number: dict[tuple[int, str, int], int] = {}
        self._stacks: dict[int, list[int]] = {}

    def of_region(self, region: int) -> int:
        """The number of the frame of a recorded call."""
        regions = self._trace.regions
        return self._of(region, str(regions["file"][region]), int(regions["line"][region]))

    def of_context(self, context: int) -> list[int]:
        """The numbers of the frames of a calling context, the outermost first."""
        if context not in self._stacks:
            contexts, found, at = self._trace.contexts, dict[int, int](), context
            while at >= 0 and at not in found:  # contexts of a damaged archive may form a circle
                region, file, line = (contexts[name][at] for name in ("region", "file", "line"))
                found[at] = self._of(int(region), str(file), int(line))
                at = int(contexts["parent"][at])
            self._stacks[context] = [*found.values()][::-1] or [self.of_region(self._trace.regions.rows - 1)]
        return self._stacks[context]

    def _of(self, region: int, file: str, line: int) -> int:
        return self._number.setdefault((region, file, line), len(self._number))

    def all(self) -> list[dict[str, Any]]:
        """The frames in the order of their numbers."""
        names = self._trace.regions["name"]
        return [
            {"name": label(str(names[region])), **({"file": file} if file else {})}
            | ({"line": line} if file and has_line(line) else {})
            for region, file, line in self._number
        ]


def write(made: Profiled, path: Path) -> None:
    """Writes a JSON file with a profile of the calls and a profile of the samples of each location. The file appears
    when it is complete, or not at all."""
    trace, frames = made.trace, _Frames(made.trace)
    names = location_names(trace)
    caveats = made.window.caveats(trace)
    other = json_text({"creator": f"vtrace {__version__}", "caveats": caveats})
    with complete(path) as file:
        file.write(f'{{"otherData":{other},"$schema":"{_SCHEMA}","exporter":"vtrace {__version__}",')
        file.write(f'"name":{json_text(path.name)},"activeProfileIndex":0,"profiles":[')
        comma = ""
        for row in made.window.rows(trace):
            for text in (_evented(made, frames, row, names[row]), _sampled(made, frames, row, names[row])):
                for place, part in enumerate(text):
                    file.write(part if place else comma + part)
                    comma = ","
        file.write("],")
        _write_frames(file, frames)


def _write_frames(file: IO[str], frames: _Frames) -> None:
    file.write(f'"shared":{{"frames":{json_text(frames.all())}}}}}\n')


def _head(kind: str, name: str, begin: int, end: int) -> str:
    return f'{{"type":"{kind}","name":{json_text(name)},"unit":"nanoseconds","startValue":{begin},"endValue":{end},'


def _evented(made: Profiled, frames: _Frames, location: int, name: str) -> Iterator[str]:
    """The calls of a location as begins (O) and ends (C)."""
    calls = made.calls
    first, last = (2 * np.searchsorted(calls.track, [location, location + 1])).tolist()
    if first == last:
        return
    begin, end = made.window.ends(made.trace)
    times = calls.time[first:last]
    yield _head("evented", name, min(begin, int(times[0])), max(end, int(times[-1]))) + '"events":['
    regions = calls.region[calls.call[first:last]]
    number = np.zeros(made.trace.regions.rows, np.int64)
    for region in np.unique(regions).tolist():
        number[region] = frames.of_region(region)
    shown, ends = number[regions], calls.is_end[first:last]
    for at in range(0, last - first, _AT_ONCE):
        rows = slice(at, at + _AT_ONCE)
        steps = zip(ends[rows].tolist(), times[rows].tolist(), shown[rows].tolist(), strict=True)
        text = ",".join(f'{{"type":"{"C" if is_end else "O"}","at":{t},"frame":{frame}}}' for is_end, t, frame in steps)
        yield ("," if at else "") + text
    yield "]}"


def _sampled(made: Profiled, frames: _Frames, location: int, name: str) -> Iterator[str]:
    """The samples of a location, each with the time for which it stands."""
    if location not in made.stacks or not len(made.stacks[location].contexts):
        return
    _, contexts, generators = made.stacks[location]
    periods = made.costs.periods.take(made.costs.periods["location"] == location)
    weight = dict(zip(periods["generator"].tolist(), periods["ns"].tolist(), strict=True))
    weights = [round(weight[number] * made.step) for number in generators.tolist()]
    yield _head("sampled", f"{name}, samples", 0, sum(weights)) + '"samples":['
    for at in range(0, len(contexts), _AT_ONCE):
        part = contexts[at : at + _AT_ONCE].tolist()
        yield ("," if at else "") + ",".join(json_text(frames.of_context(context)) for context in part)
    yield f'],"weights":{json_text(weights)}}}'
