# SPDX-License-Identifier: BSD-3-Clause
"""The rows of a profile: random archives with calls, contexts and samples, against a slow computation."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import _otf2
import numpy as np
import pytest

from support.oracles.slow_profile import Rows, pieces
from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.questions.path_sums import inclusive
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer
from vtrace.reports import profile_sheets
from vtrace.reports.table_names import COST_UNITS

REGIONS = (
    ("main", 1, 2), ("f", 1, 2), ("g", 1, 21), ("h", 1, 21), ("MPI_Send", 28, 4), ("MPI_Bcast", 23, 4),
    ("!$omp barrier", 15, 3), ("!$omp parallel", 5, 3), ("write", 27, 1),
)  # fmt: skip
"""Name, role and paradigm in OTF2's numbers: compiled functions, sampled ones, MPI, barriers, parallel regions, I/O."""
CONTEXTS, PLACES, EVENTS = 24, 6, 150
FILES, LINES = ("a.c", "b.c"), (1, 2, 3)


def random_events(choose: random.Random, contexts: bool, samples: bool) -> list[tuple[Any, ...]]:
    """Calls that nest, and samples anywhere."""
    events: list[tuple[Any, ...]] = []
    stack: list[int] = []
    now = 0
    prefix = "CallingContext" if contexts else ""
    for _ in range(EVENTS):
        now += choose.choice((0, 1, 5, 40, 300))
        what = choose.choice(("enter", "leave", "sample"))
        if what == "enter" and len(stack) < 6:
            stack.append(choose.randrange(CONTEXTS if contexts else len(REGIONS)))
            events.append((now, f"{prefix}Enter", stack[-1], *((1,) if contexts else ())))
        elif what == "leave" and stack:
            events.append((now, f"{prefix}Leave", stack.pop()))
        elif what == "sample" and samples:
            events.append((now, "CallingContextSample", choose.randrange(CONTEXTS), 1, choose.randrange(2)))
    while stack:
        now += 7
        events.append((now, f"{prefix}Leave", stack.pop()))
    return events


def random_loops(choose: random.Random) -> list[dict[str, Any]]:
    """Loops of some functions in some files, in the form of the archive's property. Each line is in one of them or in
    none."""
    found: list[dict[str, Any]] = []
    for region in range(len(REGIONS)):
        for file in FILES:
            mine: list[dict[str, Any]] = []
            for level in range(1, choose.choice((0, 2, 4))):
                number = len(found) + len(mine)
                about = {"number": number, "outer": number - 1 if level > 1 else None, "region": region, "file": file}
                about |= {"first": 10 * number, "last": 10 * number + 9, "level": level, "kind": "for", "lines": []}
                mine.append(about)
            for line in LINES:
                if mine and choose.random() < 0.7:
                    choose.choice(mine)["lines"].append(line)
            found += mine
    return found


def loop_names(trace: Trace) -> dict[tuple[str, str, int], list[str]]:
    """The loops at each line as the oracle wants them."""
    known, found = trace.vtrace["LOOPS"], {}
    for loop in known:
        name, chain, one = REGIONS[loop["region"]][0], [], loop
        while one is not None:
            place = f"{one['file']}:{one['first']}-{one['last']}"
            chain.insert(0, f"{name}, {one['kind']} loop of level {one['level']} at {place}")
            one = None if one["outer"] is None else known[one["outer"]]
        for line in loop["lines"] or [-loop["number"]]:  # a loop without lines makes a function one with loops, too
            found[name, loop["file"], line] = chain
    return found


def random_archive(where: Path, seed: int) -> Path:
    """Two processes with three threads. By the seed: calls only, samples only, or both; with contexts or without."""
    choose = random.Random(seed)
    samples = seed % 4 > 0
    archive = Foreign(where)
    for location in range(3):
        archive.events(location, random_events(choose, seed % 4 != 1 and samples, samples))
    archive.begin_definitions()
    archive.machine(groups=2, resolution=choose.choice((10**9, 10**9, 2_500_000_000)), length=10**6)
    for location in range(3):
        archive.location(location, location % 2)
    for number, (name, role, paradigm) in enumerate(REGIONS):
        file = archive.text("prog.c") if paradigm == 2 else UNDEFINED
        archive.define("Region", number, name, name, "", role, paradigm, 0, file, number + 1, 0)
    for number in range(PLACES):
        archive.define("SourceCodeLocation", number, choose.choice(FILES), choose.choice(LINES))
    for number in range(CONTEXTS):
        around = choose.randrange(number) if number and choose.random() < 0.8 else UNDEFINED
        source = choose.choice((UNDEFINED, *range(PLACES)))
        archive.define("CallingContext", number, choose.randrange(len(REGIONS)), source, around)
    for number in range(2):
        archive.define("InterruptGenerator", number, f"timer {number}", 0, 1, -9, choose.choice((1, 50, 1000)))
    _otf2.Archive_SetProperty(archive.archive, "VTRACE::LOOPS", json.dumps(random_loops(choose)), True)
    return archive.close()


def told(trace: Trace, window: Selection, by: str) -> dict[Any, list[Any]]:
    """The rows of vtrace profile: by the keys of the oracle, the numbers."""
    made = profile_sheets.sheet(profile_sheets.read(trace, window, by, Patterns()))
    found = {}
    for row in made.rows:
        key = tuple(row[by]) if by == "callpath" else row["name"] if by == "thread" else row[by]
        if by == "line":
            key = (row["line"] if row["line_number"] else "", row["function"])
        assert key not in found
        numbers = [row[f"{name}_ns"] for name in ("exclusive", "inclusive", "mpi", "barrier", "max")]
        found[key] = [*numbers, row["calls"], row["samples"], row["source"]]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_random_archives(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (3, 50, 1 << 16)[seed % 3]
    monkeypatch.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(size))
    path = random_archive(tmp_path / "a", seed)
    trace = Trace(path)
    for ends in ((None, None), (500, 3000)):
        found = pieces(path.parent, *(end for end in ends if end is not None))
        assert found
        for by in COST_UNITS:
            expected = {
                key: [
                    pytest.approx(number, abs=1.01)
                    for number in (
                        row.exclusive,
                        row.inclusive,
                        row.mpi,
                        row.barrier,
                        max(row.ranks.values(), default=0),
                    )
                ]
                + [row.calls, row.samples, "samples" if row.estimated else "events"]
                for key, row in Rows(found, by, loop_names(trace)).items()
            }
            assert told(trace, Selection.of(*ends, None), by) == expected, (by, ends)


def test_sums_without_keys() -> None:
    """--select that matches no row leaves no keys, but paths with values of their own."""
    parents, nobody = np.array([-1, 0, 1, 0]), np.full(4, -1)
    assert inclusive(parents, nobody, np.array([0, 1, 2, 3]), 0).tolist() == []
