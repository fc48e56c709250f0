# SPDX-License-Identifier: BSD-3-Clause
"""How far each location is recorded: what stands with it in the archive, and what an archive falls short of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vtrace.io.archive import Marker
from vtrace.io.kernel import Transcoded
from vtrace.io.local import FileHead
from vtrace.io.overview import PROPERTY
from vtrace.io.records import LOST_REASONS
from vtrace.unify.elsewhere import unseen
from vtrace.unify.find import ranges
from vtrace.unify.process import Process
from vtrace.unify.ranks import Ranks
from vtrace.unify.user import user_markers

_COVERAGE = ("RECORDED_NS", "FLUSHED_NS", "OFF_NS", "LOST", "CLAMPED", "STOPPED", "DIED", "DROPPED")
_NAMES = [PROPERTY + key for key in _COVERAGE]
_WORDS = ("seconds", "flushed", "off", "lost", "clamped", "limit", "died", "dropped")
_UNTOLD = "UNTOLD"
"""Why events were lost where nobody could say it any more."""
_SHOWN = 8
_LOST_WORDS = {
    "SIGNAL": "in signal handlers that interrupted recording", "MEMORY": "without memory", "WRITE": "not written",
    "LIMIT": "behind VT_MAX_FLUSHES", "THREAD": "of threads that are not recorded",
    "SIZE": "behind VT_MAX_SIZE", "FILE": "in files that are missing",
}  # fmt: skip
"""What stands in records.LOST_REASONS, as people say it, and FILE."""
FILE = "FILE"
"""Why they were lost that were recorded, in files that are missing."""
HEAP = -1
"""Number of a process's location that has no thread: for what it has in use of its heap."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one location, as the rank that has written it tells rank 0."""

    id: int
    """The OTF2 location."""
    number: int
    """That of the process."""
    label: str
    """What people call the process."""
    died: bool
    """The process ended without completing its files."""
    lost: int
    """Events that happened and were not recorded, or are in files that are missing."""
    lost_by: dict[str, int]
    """Why they were not."""
    clamped: int
    """Times that would have gone backwards, when recording and when unifying."""
    max_flushes: str
    result: Transcoded | None = None
    markers: Sequence[Marker] = ()
    notes: Sequence[str] = ()
    """What the process says of the run, told with its main thread."""

    @property
    def coverage(self) -> dict[str, int]:
        """How far the location is recorded: ns from its first to its last event and parts of these; counts."""
        r = self.result
        if self.number == HEAP:
            return dict.fromkeys(_COVERAGE, 0)
        died = int(self.died)
        if r is None:
            return dict.fromkeys(_COVERAGE, 0) | {"LOST": self.lost, "DIED": died}
        stopped = int(r.limit_ns is not None)
        values = (r.last_ns - r.first_ns, r.flush_ns, r.off_ns, self.lost, self.clamped, stopped, died, r.dropped)
        return dict(zip(_COVERAGE, values, strict=True))


def row_of(location: int, process: Process, number: int, result: Transcoded | None) -> Row:
    """What is to be told of a process's location."""
    known = process.definitions
    summary = known.summaries.get(number)
    lost = max(result.lost if result else 0, summary.lost if summary else 0)
    clamped = (result.clamped if result else 0) + (summary.clamped if summary else 0)
    lost_by = _lost_by(process, number, lost, result)
    if unseen_records := process.unseen_records.get(number, 0):
        lost, lost_by[FILE] = lost + unseen_records, unseen_records
    return Row(
        location, number, process.label, process.died, lost, lost_by, clamped,
        str(known.properties.get("setting.VT_MAX_FLUSHES", "?")), result and replace(result, notes=()),
        (*user_markers(location, known, result),) if result else (), known.notes if number == 0 else (),
    )  # fmt: skip


def _lost_by(process: Process, number: int, lost: int, result: Transcoded | None) -> dict[str, int]:
    """LOST records say it, and for what came after the last one the definitions."""
    if not lost:
        return {}
    told = result.lost_by if result else {}
    found = Counter({LOST_REASONS.get(why, _UNTOLD): n for why, n in told.items()})
    rest = lost - found.total()
    for why, name in sorted(LOST_REASONS.items()):
        n = min(process.definitions.lost.get((number, why), 0), rest)
        found[name] += n
        rest -= n
    found[_UNTOLD] += rest
    return {why: n for why, n in sorted(found.items()) if n > 0}


@dataclass(frozen=True)
class Fate:
    """A process of which something is missing. hidden: its buffer cannot be seen; problems: damage of its files; lacks:
    files that are missing or end too early."""

    head: FileHead
    label: str
    world: int
    rank: int | None
    main: bool
    died: bool
    running: bool
    hidden: bool
    problems: Sequence[str]
    lacks: Sequence[str] = ()


def fates(processes: Sequence[Process], ranks: Ranks) -> list[Fate]:
    """At rank 0 those of all ranks' processes, in their order."""
    found = {}
    for p in processes:
        if p.died or p.running or p.problems or p.lacks or unseen(p):
            state = (p.died, p.running, unseen(p), p.problems, p.lacks)
            found[p.number] = Fate(p.head, p.label, p.world, p.rank, p.main, *state)
    return [*ranks.gather(found).values()]


def sums(rows: Sequence[Row]) -> dict[str, Any]:
    """Over all locations; died: processes."""
    of_rows = [row.coverage for row in rows]
    total = {word: sum(values[key] for values in of_rows) for key, word in zip(_COVERAGE, _WORDS, strict=True)}
    by: Counter[str] = Counter()
    for row in rows:
        by.update(row.lost_by if row.number != HEAP else {})
    times = {word: total[word] / 1e9 for word in _WORDS[:3]}
    died = sum(row.died for row in rows if row.number == 0)
    return total | times | {"died": died, "lost_by": dict(sorted(by.items()))}


def shortfalls(missing: Sequence[int], incomplete: Sequence[Fate], rows: Sequence[Row]) -> list[str]:
    """Why the archive does not hold all that the program did while it was recorded; nothing: it is complete."""
    total = sums(rows)
    found = [f"no files of {_ranks(missing)}"] if missing else []
    for one, many, wanted in (
        ("ended early", "ended early", [p for p in incomplete if p.died and not p.hidden]),
        (
            "has a buffer that was not read",
            "have buffers that were not read",
            [p for p in incomplete if p.hidden],
        ),
        ("was still running", "were still running", [p for p in incomplete if p.running]),
        ("lacks local files", "lack local files", [p for p in incomplete if p.lacks]),
        ("has damaged files", "have damaged files", [p for p in incomplete if p.problems]),
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


def labels(processes: Sequence[Fate]) -> str:
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
    named = zip(_NAMES, row.coverage.values(), strict=True)
    return dict(named) | {f"{PROPERTY}LOST_{why}": n for why, n in row.lost_by.items()}
