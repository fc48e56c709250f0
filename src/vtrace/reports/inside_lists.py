# SPDX-License-Identifier: BSD-3-Clause
"""Lists of the page of vtrace report about the program's own code: CPU times, source files, callers of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.questions.path_sums import below
from vtrace.analysis.questions.timeline_data import process_names
from vtrace.analysis.table import Array

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


class LevelTimes(NamedTuple):
    """The times of a level, and those of its parts: the ranks of the application, or the threads of a rank. Each in
    ns: the total, then mean, least and largest of the parts."""

    level: str
    elapsed: tuple[float, ...]
    user: tuple[float, ...]
    system: tuple[float, ...]


def times(trace: Source) -> list[LevelTimes]:
    """The application, and each process with several threads. Processes whose CPU times are unknown are left out."""
    coverage, process = trace.coverage(), trace.places.process
    of: dict[int, list[tuple[float, ...]]] = {}
    for row in coverage.records():
        values = tuple(1e9 * float(row[name]) for name in ("seconds", "user", "system"))
        of.setdefault(int(process[row["location"]]), []).append(values)
    known = {number: parts for number, parts in sorted(of.items()) if number >= 0 and np.isfinite(parts).all()}
    if not known:
        return []
    names = process_names(trace)
    found = [_level("application", [_sums(parts) for parts in known.values()])]
    return found + [_level(names[number], parts) for number, parts in known.items() if len(parts) > 1]


def _sums(parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The times of a process: the longest elapsed time of its threads, and the sums of the others."""
    elapsed, user, system = zip(*parts, strict=True)
    return max(elapsed), sum(user), sum(system)


def _level(name: str, parts: Sequence[tuple[float, ...]]) -> LevelTimes:
    elapsed, user, system = zip(*parts, strict=True)

    def spread(values: tuple[float, ...], total: float) -> tuple[float, ...]:
        return total, sum(values) / len(values), min(values), max(values)

    return LevelTimes(name, spread(elapsed, max(elapsed)), spread(user, sum(user)), spread(system, sum(system)))


def source_files(trace: Source, costs: Costs) -> list[tuple[str, int, int]]:
    """Source files with the samples and the ns of their lines, the highest first."""
    contexts, samples = trace.contexts, costs.samples
    files = np.append(contexts["file"], "")[samples["context"]]
    sums: dict[str, list[int]] = {}
    for file, count, ns in zip(files.tolist(), samples["count"].tolist(), samples["ns"].tolist(), strict=True):
        if file:
            mine = sums.setdefault(file, [0, 0])
            mine[0] += count
            mine[1] += int(count * ns)
    rows = [(file, count, ns) for file, (count, ns) in sums.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def callers(trace: Source, costs: Costs) -> list[tuple[str, str, int, int]]:
    """Callers and called functions on the stacks of samples: samples and ns in the called function and below, from all
    routes, the highest first. Calls inside of a call of the same pair (recursion) count once."""
    paths, number = trace.context_paths
    at = np.append(number, 0)[costs.samples["context"]].astype(np.int64)
    parents = np.append(0, paths["parent"]).astype(np.int64)
    regions = np.append(-1, paths["region"]).astype(np.int64)

    def sums(weights: Array) -> Array:
        return below(parents, np.bincount(at, weights, len(parents)).astype(np.float64))

    count, ns = sums(costs.samples["count"]), sums(costs.samples["count"] * costs.samples["ns"])
    found: dict[tuple[int, int], list[float]] = {}
    for path in np.flatnonzero(count > 0).tolist():
        pair = int(regions[parents[path]]), int(regions[path])
        if path and pair not in _pairs_above(path, parents, regions):
            mine = found.setdefault(pair, [0, 0])
            mine[0] += count[path]
            mine[1] += ns[path]
    names = [*trace.regions["name"].tolist(), ""]
    rows = ((names[caller], names[called], int(c), int(n)) for (caller, called), (c, n) in found.items())
    return sorted(rows, key=lambda row: (-row[3], row[0], row[1]))


def _pairs_above(path: int, parents: Array, regions: Array) -> Iterator[tuple[int, int]]:
    """The pairs of caller and called function on the way to the outermost function, without the first one."""
    path = int(parents[path])
    for _ in range(len(parents)):  # in a damaged archive the parents may form a circle
        if not path:
            return
        yield int(regions[parents[path]]), int(regions[path])
        path = int(parents[path])
