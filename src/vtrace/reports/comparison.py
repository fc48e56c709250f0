# SPDX-License-Identifier: BSD-3-Clause
"""Runs compared by name, since ids differ between archives: for vtrace diff, profile and report."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from vtrace.reports.profile_sheets import ALL, ProfileNumbers, row_name
from vtrace.reports.sheet import Column, Row, Sheet

MOST_RUNS = 3
_NUMBERS = ("exclusive", "inclusive", "share", "calls", "samples", "mpi", "barrier", "max")

_Name = TypeVar("_Name", bound=Hashable)
_Values = TypeVar("_Values")


def matched(runs: Sequence[Mapping[_Name, _Values]]) -> Iterator[tuple[_Name, list[_Values | None]]]:
    """Each name of any run, with its values in all runs, None where a run does not have the name."""
    for name in dict.fromkeys(name for run in runs for name in run):
        yield name, [run.get(name) for run in runs]


def comparison(runs: list[ProfileNumbers], sort: str = "exclusive", most: int | None = None) -> Sheet:
    """A row for each name of any run, the rows with the largest number in a run first.

    sort: a number of the rows, or name. most: number of rows, None: all. The keys of run 1 end with _1; their values
    are None if the run has no such row."""
    by = runs[0].by
    found = [_by_name(run) for run in runs]
    every = list(matched(found))

    def largest(values: Sequence[dict[str, float] | None]) -> float:
        return max(one[sort] for one in values if one)

    every.sort(key=lambda row: str(row[0]) if sort == "name" else (-largest(row[1]), str(row[0])))
    rows: list[Row] = []
    for name, of_runs in every[:most]:
        row: Row = {by: list(name) if isinstance(name, tuple) else name}
        for number, values in enumerate(of_runs, 1):
            row |= {
                f"exclusive_ns_{number}": round(values["exclusive"]) if values else None,
                f"inclusive_ns_{number}": round(values["inclusive"]) if values else None,
                f"share_{number}": values["share"] if values else None,
                f"calls_{number}": values["calls"] if values else None,
                f"samples_{number}": values["samples"] if values else None,
            }
        rows.append(row)
    columns = [Column(by, kind="path" if by == "callpath" else "text")]
    for number in range(1, len(runs) + 1):
        columns += [
            Column(f"exclusive_ns_{number}", f"exclusive s {number}", "ns"),
            Column(f"share_{number}", f"% {number}", "fraction"),
            Column(f"inclusive_ns_{number}", f"inclusive s {number}", "ns", minor=True), Column(f"calls_{number}", ""),
            Column(f"samples_{number}", ""),
        ]  # fmt: skip
    made = Sheet(name="comparison", title=f"Time by {by} in {len(runs)} runs, by {sort}", columns=columns, rows=rows)
    if rows:
        wholes = ", ".join(f"{run.found.whole / 1e9:,.6g} s in {number}" for number, run in enumerate(runs, 1))
        made.notes.append(f"100 % are {wholes}")
    if len(rows) < len(every):
        made.notes.append(f"the first {len(rows):,} of {len(every):,}: {ALL}")
    return made


def metric_comparison(sheets: Sequence[Sheet], most: int | None = None) -> Sheet:
    """The tables of metrics of several runs as one: the rows of the first run, then the rows that only other runs have.
    The keys of run 1 end with _1. most: number of rows, None: all."""
    name = sheets[0].columns[0]
    found: list[dict[Any, Row]] = [{_hashable(row[name.key]): row for row in one.rows} for one in sheets]
    every = list(matched(found))
    rows: list[Row] = []
    for key, of_runs in every[:most]:
        row: Row = {name.key: list(key) if isinstance(key, tuple) else key}
        for number, (one, made) in enumerate(zip(of_runs, sheets, strict=True), 1):
            row |= {f"{column.key}_{number}": (one or {}).get(column.key) for column in made.columns[1:]}
        rows.append(row)
    own = {column.key: column for made in sheets for column in made.columns[1:]}
    columns = [name]
    for column in own.values():
        having = [n for n, made in enumerate(sheets, 1) if column.key in {other.key for other in made.columns}]
        columns += [replace(column, key=f"{column.key}_{n}", head=f"{column.head or column.key} {n}") for n in having]
    made = Sheet(name=sheets[0].name, title=f"{sheets[0].title} in {len(sheets)} runs", columns=columns, rows=rows)
    made.notes += [note for note in sheets[0].notes if all(note in one.notes for one in sheets)]
    if len(rows) < len(every):
        made.notes.append(f"the first {len(rows):,} of {len(every):,}: {ALL}")
    return made


def _hashable(name: Any) -> Any:
    return tuple(name) if isinstance(name, list) else name


def _by_name(run: ProfileNumbers) -> dict[Any, dict[str, float]]:
    """The sums of the rows of each name; a call path is a tuple of names."""
    sums: dict[Any, dict[str, float]] = {}
    for record in run.found.table.records():
        name = row_name(run, record["key"])
        one = sums.setdefault(_hashable(name), dict.fromkeys(_NUMBERS, 0))
        for number in _NUMBERS:
            one[number] += record[number]
    return sums
