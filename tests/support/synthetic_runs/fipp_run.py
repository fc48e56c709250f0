# SPDX-License-Identifier: BSD-3-Clause
"""An archive with samples whose costs are known: two ranks with two threads each, OpenMP, MPI, a library, and a deep
recursion in the second thread of rank 1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import _otf2

from support.synthetic_runs.archives import UNDEFINED, Foreign

PERIOD = 10_000_000
DEEP = 140
"""The depth of the recursion of deep."""
_COMPILER, _MPI, _OPENMP, _SAMPLING = 2, 4, 3, 21
_REGIONS = (
    ("main", 1, _SAMPLING, "prog.c", 1, 30), ("solve", 1, _SAMPLING, "prog.c", 40, 60),
    ("solve._omp_fn.0", 1, _SAMPLING, "prog.c", 50, 58), ("MPI_Send", 28, _MPI, "", 0, 0),
    ("!$omp implicit barrier", 16, _OPENMP, "", 0, 0), ("memcpy", 1, _SAMPLING, "", 0, 0),
    ("deep", 1, _SAMPLING, "deep.f90", 5, 9), ("solver_._omp_fn.1", 1, _SAMPLING, "deep.f90", 12, 20),
)  # fmt: skip
_CONTEXTS = (
    (0, "prog.c", 10, None), (1, "prog.c", 45, 0), (2, "prog.c", 52, 1), (3, "", 0, 1), (4, "", 0, 2), (5, "", 0, 2),
    (7, "deep.f90", 14, 0), (1, "prog.c", 47, 0),
)  # fmt: skip
"""Region, file, line, parent context."""
COSTS: dict[tuple[int, int], dict[int, int]] = {
    (0, 0): {0: 5, 1: 10, 3: 8, 7: 2}, (0, 1): {2: 20, 4: 5, 5: 3}, (1, 0): {1: 30, 6: 7},
    (1, 1): {2: 4, 7 + DEEP: 6},
}  # fmt: skip
"""By (rank, thread): samples by context."""
LINES = 30
"""Lines of prog.c on this machine."""


def write(where: Path, counters: Mapping[str, int] | None = None) -> Path:
    """Writes the archive; returns its anchor file. The thread of a location is the last digit of its id. counters:
    increases of counters by name from start to end; once in the first thread, twice in the second ..."""
    archive = Foreign(where)
    for times, ((rank, thread), costs) in enumerate(COSTS.items(), 1):
        events: list[tuple[Any, ...]] = []
        for context, count in costs.items():
            events += [(0, "CallingContextSample", context, 1, 0)] * count
        made = [((place + 1) * PERIOD, *event[1:]) for place, event in enumerate(events)]
        ends = [_counters(10**9 * end, times * end, counters) for end in (0, 1)] if counters else []
        archive.events(10 * rank + thread, [*ends[:1], *made, *ends[1:]])
    archive.begin_definitions()
    archive.machine(groups=2, length=10**9)
    for rank, thread in COSTS:
        archive.location(10 * rank + thread, rank)
    _mpi(archive)
    for number, (name, role, paradigm, file, line, end) in enumerate(_REGIONS):
        source = archive.text(file) if file else UNDEFINED
        library = "/lib/libc.so.6" if name == "memcpy" else ""
        archive.define("Region", number, name, name, library, role, paradigm, 0, source, line, end)
    for number, (_, file, line, _) in enumerate(_CONTEXTS):
        if file:
            archive.define("SourceCodeLocation", number, file, line)
    for number, (region, file, _, parent) in enumerate(_CONTEXTS):
        source = number if file else UNDEFINED
        archive.define("CallingContext", number, region, source, UNDEFINED if parent is None else parent)
    for number in range(len(_CONTEXTS), len(_CONTEXTS) + DEEP):
        first = number == len(_CONTEXTS)
        archive.define("CallingContext", number, 6, UNDEFINED, 0 if first else number - 1)
    archive.define("InterruptGenerator", 0, "timer", 0, 1, -9, PERIOD)
    if counters:
        member = _otf2.METRIC_ACCUMULATED_START.value, _otf2.TYPE_UINT64.value, _otf2.BASE_DECIMAL.value
        for number, name in enumerate(counters):
            archive.define("MetricMember", number, name, "", 0, *member, 0, "#")
        archive.define("MetricClass", 0, [*range(len(counters))], 0, 0)
    return archive.close()


def _counters(time: int, times: int, counters: Mapping[str, int]) -> tuple[Any, ...]:
    values = [_otf2.MetricValue(unsigned_int=times * count) for count in counters.values()]
    return (time, "Metric", 0, [_otf2.TYPE_UINT64] * len(values), values)


def _mpi(archive: Foreign) -> None:
    """The ranks: the first thread of each process."""
    archive.define("Group", 0, "", 4, _MPI, 0, [0, 10])
