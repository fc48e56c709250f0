# SPDX-License-Identifier: BSD-3-Clause
"""How far each location is recorded: what stands with it in the archive, and what an archive falls short of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vtrace.io.kernel import Transcoded
from vtrace.io.overview import PROPERTY
from vtrace.io.records import LOST_REASONS
from vtrace.unify.elsewhere import unseen
from vtrace.unify.find import Run, ranges
from vtrace.unify.process import Process

_COVERAGE = ("RECORDED_NS", "FLUSHED_NS", "OFF_NS", "LOST", "CLAMPED", "STOPPED", "DIED", "DROPPED")
_WORDS = ("seconds", "flushed", "off", "lost", "clamped", "limit", "died", "dropped")
_UNTOLD = "UNTOLD"
"""Why events were lost where nobody could say it any more."""
_SHOWN = 8
_LOST_WORDS = {
    "SIGNAL": "in signal handlers that interrupted recording", "MEMORY": "without memory", "WRITE": "not written",
    "LIMIT": "behind VT_MAX_FLUSHES", "THREAD": "of threads that are not recorded",
}  # fmt: skip
"""What stands in records.LOST_REASONS, as people say it."""
HEAP = -1
"""Number of a process's location that has no thread: for what it has in use of its heap."""


@dataclass(frozen=True)
class Row:
    """What became of one location. Seconds: from its first to its last event, and parts of these."""

    id: int
    """The OTF2 location."""
    process: Process
    number: int
    result: Transcoded | None = None

    @property
    def lost(self) -> int:
        """Events that happened and were not recorded."""
        summary = self.process.definitions.summaries.get(self.number)
        return max(self.result.lost if self.result else 0, summary.lost if summary else 0)

    @property
    def lost_by(self) -> dict[str, int]:
        """Why they were not: LOST records say it, and for what came after the last one the definitions."""
        told = self.result.lost_by if self.result else {}
        found = Counter({LOST_REASONS.get(why, _UNTOLD): n for why, n in told.items()})
        rest = self.lost - found.total()
        for (location, why), n in sorted(self.process.definitions.lost.items()):
            if location == self.number:
                found[LOST_REASONS.get(why, _UNTOLD)] += min(n, rest)
                rest -= min(n, rest)
        found[_UNTOLD] += rest
        return {why: n for why, n in sorted(found.items()) if n > 0}

    @property
    def clamped(self) -> int:
        """Times that would have gone backwards, when recording and when unifying."""
        summary = self.process.definitions.summaries.get(self.number)
        return (self.result.clamped if self.result else 0) + (summary.clamped if summary else 0)

    @property
    def coverage(self) -> dict[str, int]:
        """How far the location is recorded: ns from its first to its last event and parts of these; counts."""
        r = self.result
        if self.number == HEAP:
            return dict.fromkeys(_COVERAGE, 0)
        died = int(self.process.died)
        if r is None:
            return dict.fromkeys(_COVERAGE, 0) | {"LOST": self.lost, "DIED": died}
        stopped = int(r.limit_ns is not None)
        values = (r.last_ns - r.first_ns, r.flush_ns, r.off_ns, self.lost, self.clamped, stopped, died, r.dropped)
        return dict(zip(_COVERAGE, values, strict=True))


def sums(rows: Sequence[Row]) -> dict[str, Any]:
    """Over all locations; died: processes."""
    of_rows = [row.coverage for row in rows]
    total = {word: sum(values[key] for values in of_rows) for key, word in zip(_COVERAGE, _WORDS, strict=True)}
    by: Counter[str] = Counter()
    for row in rows:
        by.update(row.lost_by if row.number != HEAP else {})
    times = {word: total[word] / 1e9 for word in _WORDS[:3]}
    died = sum(row.process.died for row in rows if row.number == 0)
    return total | times | {"died": died, "lost_by": dict(sorted(by.items()))}


def shortfalls(run: Run, rows: Sequence[Row]) -> list[str]:
    """Why the archive does not hold all that the program did while it was recorded; nothing: it is complete."""
    total, hidden = sums(rows), unseen(run.processes)
    found = [f"no files of {_ranks(run.missing)}"] if run.missing else []
    for one, many, wanted in (
        ("ended early", "ended early", [p for p in run.processes if p.died and p not in hidden]),
        (
            "has a buffer that was not read",
            "have buffers that were not read",
            [p for p in run.processes if p in hidden],
        ),
        ("was still running", "were still running", [p for p in run.processes if p.running]),
        ("has damaged files", "have damaged files", [p for p in run.processes if p.problems]),
    ):
        found += [f"{labels(wanted)} {one if len(wanted) == 1 else many}"] if wanted else []
    if lost := total["lost"]:
        why = ", ".join(f"{n:,} {_LOST_WORDS.get(name, 'for another reason')}" for name, n in total["lost_by"].items())
        found.append(f"{lost:,} {'event' if lost == 1 else 'events'} lost ({why})")
    if stopped := total["limit"]:
        found.append(f"{stopped:,} {'location' if stopped == 1 else 'locations'} stopped at VT_MAX_FLUSHES")
    return found


def _ranks(numbers: Sequence[int]) -> str:
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {ranges(numbers)}"


def labels(processes: Sequence[Process]) -> str:
    """Ranks together, and a few of the others by name."""
    ranked = [p.rank for p in processes if p.main and p.world and p.rank is not None]
    others = [p.label for p in processes if not (p.main and p.world)]
    names = ([_ranks(ranked)] if ranked else []) + others[:_SHOWN]
    more = len(others) - _SHOWN
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def location_properties(row: Row) -> dict[str, int]:
    """What stands with each thread's location in the archive. How many were lost why: only what is not 0."""
    if row.number == HEAP:
        return {}
    values = row.coverage | {f"LOST_{why}": n for why, n in row.lost_by.items()}
    return {PROPERTY + key: value for key, value in values.items()}
