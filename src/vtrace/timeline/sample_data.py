# SPDX-License-Identifier: BSD-3-Clause
"""The samples of a trace for the page: call stacks over time, the functions in rows without recorded calls, and the
facts of one sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.definition_tables import has_line
from vtrace.analysis.questions.costs import SAMPLES, generator_names
from vtrace.analysis.table import Array
from vtrace.text import plain
from vtrace.timeline.answers import Content, pack
from vtrace.timeline.sample_store import LocationSamples, SampleStore

if TYPE_CHECKING:
    from vtrace.analysis.source import Source
    from vtrace.io.sidecar.tile_file import TileFile

_MOST = 8_000
"""The most samples of a call stack over time; of more samples, each n-th is shown."""
_SLICES = 20_000
"""With more slices of a call stack than this, short slices are left out."""


class SampleData:
    """Answers about samples."""

    def __init__(self, trace: Source, tiles: TileFile) -> None:
        self._trace, self._store = trace, SampleStore(trace, tiles)
        self.known = self._store.known

    def stacks(self, location: int, window: tuple[int, int], shortest: int) -> Content:
        """The call stacks of a location's samples in a window as slices: begin, end, region, depth (0: outermost),
        count (samples); ascending by begin. If there are many, slices shorter than `shortest` are left out. A sample
        lasts to its end (sample_store); equal calls of adjacent samples are one slice. The note step: only each step-th
        sample of the window is used."""
        found = self._store.near(location, *window)
        jump = -(-len(found.time) // _MOST) or 1
        end = found.end
        if jump > 1:  # a sample also represents the left out samples after it, up to a gap
            found, end = found.take(slice(None, None, jump)), found.end[_last_of(len(end), jump)]
        columns = slices(found.time, end, self._chains(found.context))
        if len(columns["begin"]) > _SLICES:
            kept = columns["end"] - columns["begin"] >= shortest
            columns = {name: column[kept] for name, column in columns.items()}
        regions = self._path_regions()
        path = columns.pop("path")
        columns |= {"region": regions[path], "depth": columns["depth"].astype(np.int32)}
        return pack(columns, step=found.step * jump)

    def _path_regions(self) -> Array:
        """(paths + 2,) int32: the region of each call path; the last entry is for unknown contexts."""
        regions = self._trace.context_paths[0]["region"]
        return np.concatenate([[-1], regions, [self._trace.regions.rows - 1]]).astype(np.int32)

    def _chains(self, contexts: Array) -> Array:
        """(samples, depth) the call paths from the root to each context, the outermost first; 0 after the innermost."""
        paths, numbers = self._trace.context_paths
        parents = np.concatenate([[0], paths["parent"], [0]]).astype(np.int64)
        number = np.append(numbers, len(paths) + 1).astype(np.int64)
        used, member = np.unique(number[contexts], return_inverse=True)
        levels = [used]
        while levels[-1].any():
            levels.append(parents[levels[-1]])
        up = np.stack(levels[:-1], axis=1) if len(levels) > 1 else np.zeros((len(used), 0), np.int64)
        depth = np.count_nonzero(up, axis=1)
        at = depth[:, np.newaxis] - 1 - np.arange(up.shape[1])
        found: Array = np.where(at >= 0, np.take_along_axis(up, np.maximum(at, 0), 1), 0)
        return found[member.ravel()]

    def leaves(self, rows: Sequence[Array], window: tuple[int, int], bins: int) -> Content:
        """region: for each row and bin of a window the function (1 + row of trace.regions, 0: none) with the most
        samples outside of recorded calls, row by row."""
        found = np.zeros((len(rows), bins), np.uint32)
        for number, locations in enumerate(rows if self.known else ()):
            if not len(locations):
                continue
            each = [self._loose(location, window) for location in locations.tolist()]
            time, end, region = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in zip(*each, strict=True))
            _mark(found[number], (time, end, region), window)
        return pack({"region": found.ravel()})

    def _loose(self, location: int, window: tuple[int, int]) -> tuple[Array, Array, Array]:
        """The samples in a window outside of recorded calls: time, end, region."""
        found = self._store.of(location).within(*window)
        found = found.take(found.inside < 0)
        return found.time, found.end, self._regions(found)

    def _regions(self, found: LocationSamples) -> Array:
        regions: Array = np.append(self._trace.contexts["region"], self._trace.regions.rows - 1)[found.context]
        return regions.astype(np.int64)

    def sample(self, location: int, time: int, slack: int, step: int) -> dict[str, Any] | None:
        """The facts of the sample at a time, at most slack ns away; step: of the sample this many samples later. None:
        there is no such sample."""
        found = self._store.of(location)
        if not step and found.step > 1:
            found = self._store.near(location, time - slack, time + slack + 1)
        at = found.at(time, slack)
        if at < 0 or not 0 <= at + step < len(found.time):
            return None
        at += step
        weight, inside = float(found.weight[at]) / found.step, int(found.inside[at])
        names = self._trace.regions["name"]
        path = [self._frame(row) for row in self._around(int(found.context[at]))]
        return {
            "location": location, "time": int(found.time[at]), "end": int(found.end[at]), "weight": round(weight),
            "exact": SAMPLES in self._trace.vtrace, "path": path,
            "source": plain(str(generator_names(self._trace)[found.generator[at]])),
            "inside": plain(str(names[inside])) if inside >= 0 else "",
        }  # fmt: skip

    def _around(self, context: int) -> list[int]:
        """A context and its callers, the outermost first. In a damaged archive the callers may form a circle."""
        found: dict[int, None] = {}
        while context not in found:
            found[context] = None
            context = int(self._trace.contexts["parent"][context]) if context >= 0 else context
            if context < 0:
                break
        return [*found][::-1]

    def _frame(self, context: int) -> dict[str, Any]:
        """Function, class, file and line of a context (-1: unknown); file "" and line 0 if the place is unknown."""
        contexts, regions = self._trace.contexts, self._trace.regions
        region = int(contexts["region"][context]) if context >= 0 else regions.rows - 1
        known = context >= 0 and bool(has_line(contexts["line"][context])) and bool(contexts["file"][context])
        return {
            "name": plain(str(regions["name"][region])), "region": region,
            "activity": regions.activities[int(regions["activity"][region])],
            "file": plain(str(contexts["file"][context])) if known else "",
            "line": int(contexts["line"][context]) if known else 0,
        }  # fmt: skip


def _last_of(count: int, jump: int) -> Array:
    """The last row of each group of `jump` rows."""
    found: Array = np.minimum(np.arange(0, count, jump) + jump - 1, count - 1)
    return found


def slices(begin: Array, end: Array, chains: Array) -> dict[str, Array]:
    """Joins samples to slices: columns begin, end, path, depth, count. begin, end: (n,) ns, ascending; chains: (n,
    depths) call paths, 0 after the innermost."""
    gap = np.append(True, begin[1:] > end[:-1]) if len(begin) else np.empty(0, bool)
    parts: list[dict[str, Array]] = []
    for depth, paths in enumerate(chains.T):
        first = np.flatnonzero(gap | np.append(True, paths[1:] != paths[:-1]))
        last = np.append(first[1:], len(paths)) - 1
        known = paths[first] > 0
        first, last = first[known], last[known]
        each = {"begin": begin[first], "end": end[last], "path": paths[first], "count": last - first + 1}
        parts.append(each | {"depth": np.full(len(first), depth)})
    names = ("begin", "end", "path", "depth", "count")
    found = {name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)]) for name in names}
    order = np.lexsort((found["depth"], found["begin"]))
    return {name: column[order] for name, column in found.items()}


def _mark(line: Array, samples: tuple[Array, Array, Array], window: tuple[int, int]) -> None:
    """Sets each bin of a row to 1 + the region with the most samples (time, end, region) in the bin."""
    time, end, region = samples
    bins, width = len(line), max(1, window[1] - window[0])
    first = np.clip((time - window[0]) * bins // width, 0, bins - 1)
    last = np.clip((end - 1 - window[0]) * bins // width, first, bins - 1)
    size = last - first + 1
    places = np.repeat(first - (np.cumsum(size) - size), size) + np.arange(size.sum())
    many = int(region.max(initial=0)) + 1
    cells, counts = np.unique(places * many + np.repeat(region, size), return_counts=True)
    cells = cells[np.argsort(counts, kind="stable")]  # the last write to a bin wins
    line[cells // many] = cells % many + 1
