# SPDX-License-Identifier: BSD-3-Clause
"""The sums over the sections of the program, by process and by thread, and the memory of glibc's malloc at their starts
and stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.questions.sections import ALL, Sections
from vtrace.analysis.questions.timeline_data import location_names
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, add_up, group
from vtrace.io.archive.batches import ALWAYS, NEVER
from vtrace.io.archive.definitions import SECTION_UNIT

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CPU = {"ru_utime": "user_ns", "ru_stime": "system_ns"}
"""Counters of CPU time in us, and their columns."""
_MISSING = {(True, False): "its end was", (False, True): "its start was", (True, True): "starts and ends were",
            (False, False): "its start and end were"}  # fmt: skip
"""By starts and stops without the other one."""
LEVELS = ("malloc-arena", "malloc-in-use", "malloc-free", "malloc-mmapped", "malloc-mmapped-bytes", "malloc-arenas")
"""Counters of mallinfo2, values for the whole process."""
MEMORY = (
    "memory_bytes", "arenas", "arena_bytes", "in_use_bytes", "free_bytes", "in_use_start", "in_use_end", "mmapped",
    "mmapped_bytes",
)  # fmt: skip
"""Sums of the changes from start to stop, but for in_use_start and in_use_end: the part (0 to 1) of the arenas in
use at the first start and at the last stop."""
SectionValues = dict[str, float | None]


@dataclass
class SectionNumbers:
    """The numbers of each section by process and by thread (row of processes or locations), and of the counters, summed
    over all threads, by section. notes: sections that are left out, and damage, one line each."""

    processes: dict[tuple[int, str], SectionValues] = field(default_factory=dict)
    threads: dict[tuple[int, str], SectionValues] = field(default_factory=dict)
    counters: dict[str, SectionValues] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    table: Table = field(default_factory=lambda: Table({}))
    """The answer of the question Sections."""


def read(trace: Source, window: Selection, counters: Sequence[int] = (), levels: Sequence[int] = ()) -> SectionNumbers:
    """Reads the events of a selection once. counters: rows of trace.metric_members to sum up; levels: rows of counters
    whose values at both ends of each section are in the table."""
    every = [*dict.fromkeys([*_of_cpu(trace), *counters, *levels])]
    question = Sections(trace, every, window.bounds, levels)
    met = ask(trace, [question], Selection.of(locations=window.rows(trace)))
    table = _of_application(trace, question.answer())
    made = SectionNumbers(table=table)
    process = trace.places.process[table["location"]]
    for (place, name), numbers in _sums(table, table["location"]):
        made.threads[place, name] = numbers
    for (place, name), numbers in _sums(table, process, of_threads=False):
        made.processes[place, name] = numbers
    for (_, name), numbers in _sums(table, np.zeros(table.rows, np.int64)):
        made.counters[name] = numbers
    for unit in (made.threads, made.processes):
        for (place, _), numbers in unit.items():
            whole = unit[place, ALL]["elapsed_ns"]
            numbers["share"] = (numbers["elapsed_ns"] or 0) / whole if whole else None
    made.notes = [*met.problems, *_left_out(trace, table)]
    return made


def _of_cpu(trace: Source) -> Iterator[int]:
    """Rows of trace.metric_members. vtrace has the unit us, Score-P s with the exponent -6."""
    for row, metric in enumerate(trace.metric_members.records()):
        if metric["name"] in _CPU and (metric["unit"], metric["exponent"]) in (("us", 0), ("s", -6)):
            yield row


def _of_application(trace: Source, table: Table) -> Table:
    """The sections of the processes of the application: with MPI the ranks, else the processes that have a section of
    their own, if any process has one. The others are shells and helper programs."""
    process = trace.places.process[table["location"]]
    of_program = np.array([name != ALL for name in table.sections], bool)[table["section"]]
    chosen = np.append(trace.processes["rank"] >= 0, False)[process]
    if not chosen.any():
        chosen = np.isin(process, process[of_program])
    if not chosen.any():
        return table
    found = table.take(chosen)
    found.notes["unpaired"] = table.unpaired.take(
        np.isin(trace.places.process[table.unpaired["location"]], process[chosen])
    )
    return found


def _sums(table: Table, places: Array, of_threads: bool = True) -> Iterator[tuple[tuple[int, str], SectionValues]]:
    """The sums of each place and section, with the columns of _VALUES and the counters. of_threads: False for places
    that are processes, whose whole run is from the start of the first thread to the end of the last one."""
    first, member = group([places, table["section"]])
    count, begin, end = len(first), table["begin"], table["end"]
    calls, elapsed = np.bincount(member, minlength=count), add_up(member, end - begin, count)
    lowest, highest = np.full(count, NEVER), np.full(count, ALWAYS)
    np.minimum.at(lowest, member, begin)
    np.maximum.at(highest, member, end)
    whole = np.array([table.sections[section] == ALL for section in table["section"][first].tolist()], bool)
    whole &= not of_threads
    columns = {"calls": np.where(whole, 1, calls), "elapsed_ns": np.where(whole, highest - lowest, elapsed)}
    columns |= {name: add_up(member, table[name], count) for name in ("mpi_ns", "mpi_calls")}
    columns |= {name[1:]: np.bincount(member, table[name], count) for name in table if name.startswith("@")}
    columns |= {of: columns.get(name, np.full(count, np.nan)) * 1000 for name, of in _CPU.items()}  # us
    lists = {name: column.tolist() for name, column in columns.items()}
    for row, place in enumerate(first.tolist()):
        numbers = {name: None if np.isnan(column[row]) else column[row] for name, column in lists.items()}
        yield (int(places[place]), table.sections[table["section"][place]]), numbers


def _left_out(trace: Source, table: Table) -> Iterator[str]:
    labels = location_names(trace)
    has_counters = (trace.metric_members["unit"] != SECTION_UNIT).any()
    for row in table.unpaired.records():
        name, where = table.sections[row["section"]], labels[row["location"]]
        if name == ALL:
            if has_counters and trace.locations["type"][row["location"]] == "CPU_THREAD":
                yield f"{ALL} has no counters of {where}: {_MISSING[row['starts'] > 0, row['stops'] > 0]} not recorded"
            continue
        for count, one, other in ((row["starts"], "start", "stop"), (row["stops"], "stop", "start")):
            if count:
                yield f"section {name} of {where}: {count:,} {one}{'s' * (count > 1)} without {other}: left out"


def memory_of(openings: Table, location: int, section: str) -> SectionValues:
    """The values of MEMORY of a section of a thread, None without a reading at a start or stop. openings: of the
    question Sections with LEVELS as levels."""
    place = openings.sections.index(section)
    mine = openings.take(np.flatnonzero((openings["location"] == location) & (openings["section"] == place)))
    values = dict.fromkeys(LEVELS, np.nan) | {name: _change(mine, name) for name in LEVELS if f"@{name}" in mine}
    arena, used, free, mmapped, mmapped_bytes, arenas = values.values()
    parts = [_part_in_use(mine, "before", 0), _part_in_use(mine, "after", -1)]
    found = (arena + mmapped_bytes, arenas, arena, used, free, *parts, mmapped, mmapped_bytes)
    return {name: None if np.isnan(value) else value for name, value in zip(MEMORY, found, strict=True)}


def _change(openings: Table, name: str) -> float:
    """NaN if a start or stop has no reading."""
    return float(openings[f"@{name}"].sum()) if openings.rows else np.nan


def _part_in_use(openings: Table, when: str, row: int) -> float:
    columns = [openings.get(f"{when}@{name}") for name in LEVELS[:2]]
    arena, used = (np.nan if column is None or not len(column) else float(column[row]) for column in columns)
    return used / arena if arena else np.nan
