# SPDX-License-Identifier: BSD-3-Clause
"""The text and CSV layouts of the Instant Profiler, Figures 2.16 to 2.25 of its guide."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vtrace.compat import fipp_hardware
from vtrace.compat.fipp import FippBalance, FippLevel, FippReport
from vtrace.compat.fipp_costs import FippLoop, FippRow, execution

_RULE = "-" * 105
_STARS = "*" * 105
_BAR = 50
_NONE = "--"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole else 0:.4f}"


def _line(number: int) -> str:
    return str(number) if number else _NONE


@dataclass(kw_only=True)
class _CostKind:
    """A cost table: its title, the word in its headings, and the columns with the place of a row."""

    title: str
    word: str
    places: tuple[str, ...]
    cells: Callable[[FippRow], list[str]]
    rows: Callable[[FippLevel], list[FippRow]]


def _loop_cells(row: FippRow) -> list[str]:
    loop = row.loop or FippLoop(0, "OTHER", 0, 0)
    return [str(loop.nest), loop.kind, execution(row.name), _line(row.start), _line(row.end)]


_KINDS = (
    _CostKind(
        title="Procedures profile",
        word="procedures",
        places=("Start", "End"),
        cells=lambda row: [_line(row.start), _line(row.end)],
        rows=lambda level: level.procedures,
    ),
    _CostKind(
        title="Loops profile",
        word="loops",
        places=("Nest", "Kind", "Exec", "Start", "End"),
        cells=_loop_cells,
        rows=lambda level: level.loops,
    ),
    _CostKind(
        title="Lines profile",
        word="lines",
        places=("Line",),
        cells=lambda row: [_line(row.start)],
        rows=lambda level: level.lines,
    ),
)


@dataclass
class _CostTable:
    """One of the two tables of costs: titles, and the cells of a row by the whole cost of the level."""

    titles: list[str]
    cells: Callable[[FippRow, int], list[str]]


def _parts(report: FippReport) -> list[_CostTable]:
    def costs(row: FippRow, whole: int) -> list[str]:
        found = [str(row.cost), _percent(row.cost, whole), f"{row.operation / 1e9:.4f}"]
        return [*found, str(row.barrier), _percent(row.barrier, row.cost)] if report.threads else found

    def mpi(row: FippRow, whole: int) -> list[str]:
        return [str(row.mpi), _percent(row.mpi, row.cost), f"{row.communication / 1e9:.4f}"]

    barrier = ["Barrier", "%"] if report.threads else []
    parts = [_CostTable(["Cost", "%", "Operation (s)", *barrier], costs)]
    return [*parts, _CostTable(["MPI", "%", "Communication (s)"], mpi)] if report.mpi else parts


def _table(kind: _CostKind, part: _CostTable, level: FippLevel) -> list[list[str]]:
    """The rows of a cost table, the total first. The last cell is the name."""
    whole = level.total.cost
    blanks = [""] * (len(kind.places) - 2) + [_NONE] * min(len(kind.places), 2)
    found = [[*part.cells(level.total, whole), *blanks, level.name]]
    return found + [[*part.cells(row, whole), *kind.cells(row), row.name] for row in kind.rows(level)]


def _kinds(report: FippReport) -> list[_CostKind]:
    return [kind for kind in _KINDS if kind.word != "loops" or report.has_loops]


def _time_cells(report: FippReport) -> list[list[str]]:
    return [
        [f"{t.elapsed:.4f}", f"{t.user:.4f}", _NONE if t.system is None else f"{t.system:.4f}", t.level]
        for t in report.times
    ]


# ---- Text ----


def text(report: FippReport, version: str, sources: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of the report. version: of vtrace; sources: the lines of files that could be read."""
    yield _RULE
    yield f" Instant Performance Profiler (layout; written by vtrace {version})"
    for name, value in report.environment:
        yield f" {name:<29}: {value}"
    yield _RULE
    yield from ("", " Time statistics", "", f"{'Elapsed(s)':>14}{'User(s)':>14}{'System(s)':>14}", _RULE)
    for place, cells in enumerate(_time_cells(report)):
        yield "".join(f"{cell:>14}" for cell in cells[:3]) + f"  {cells[3]}"
        if not place:
            yield _RULE
    if report.hardware:
        yield from fipp_hardware.text(report.hardware, _RULE, _STARS)
    for kind in _kinds(report) if report.levels else ():
        yield from ("", _RULE, f" {kind.title}")
        for level in report.levels:
            yield from _cost_tables(report, kind, level)
        yield from _balances({"procedures": report.procedure_balance, "loops": report.loop_balance}.get(kind.word, []))
    if report.graphs:
        yield from ("", _RULE, " Call graph")
        for title, cost, nodes in report.graphs:
            yield from ("", f"  {title}", f"  {'-' * 11}+{'-' * 80}")
            for node in nodes:
                nest = "???" if node.nest is None else str(node.nest)
                indent = " " * min(node.nest or 0, 40)
                yield (
                    f"  {_percent(node.cost, cost):>9} %| {indent}<{nest}> {node.name}"
                    f" [ {node.cost} / {node.accumulation} ]"
                )
    yield from _sources(report.sources, sources)


def _cost_tables(report: FippReport, kind: _CostKind, level: FippLevel) -> Iterator[str]:
    yield from ("", _STARS, f" {level.title} - {kind.word}", _STARS)
    for part in _parts(report):
        titles = [*part.titles, *kind.places]
        rows = _table(kind, part, level)
        widths = [max(len(title), 9, *(len(row[at]) for row in rows)) + 2 for at, title in enumerate(titles)]
        yield ""
        yield "".join(f"{title:>{width}}" for title, width in zip(titles, widths, strict=True))
        yield _RULE
        for place, row in enumerate(rows):
            yield "".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)) + f"  {row[-1]}"
            if not place:
                yield _RULE


def _balances(balances: Iterable[FippBalance]) -> Iterator[str]:
    for balance in balances:
        most = max((cost for _, cost in balance.parts), default=0)
        yield from ("", " -- Parallel balance of cost --")
        yield f" {balance.row.name} {_line(balance.row.start)} - {_line(balance.row.end)}"
        yield f" +{'-' * _BAR}+"
        for name, cost in balance.parts:
            bar = "*" * (round(_BAR * cost / most) if most else 0)
            yield f" |{bar:<{_BAR}}| {_percent(cost, most):>9} {cost:>9}  {name}"
        yield f" +{'-' * _BAR}+"


def _sources(costs: Mapping[str, Mapping[int, int]], sources: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if costs:
        yield from ("", _RULE, " Sources profile")
    for file, lines in costs.items():
        if file not in sources:
            continue
        yield from ("", f" -----> {file}", _RULE, f"{'Line':>9}{'Costs':>11}", _RULE)
        for number, line in enumerate(sources[file], 1):
            yield f"{number:>9}{lines.get(number, ''):>11}  {line}".rstrip()


# ---- CSV ----


def csv_text(report: FippReport, version: str) -> str:
    """The report as CSV: tables with a title line and a head, and an empty line between two tables. The guide
    excludes the balance and the sources."""
    into = io.StringIO()
    writer = csv.writer(into, lineterminator="\n")
    writer.writerow(["Instant Performance Profiler", f"layout; written by vtrace {version}"])
    writer.writerows(report.environment)
    writer.writerows([[], ["Time statistics"], ["Elapsed(s)", "User(s)", "System(s)", "Level"], *_time_cells(report)])
    if report.hardware:
        writer.writerows(fipp_hardware.csv_rows(report.hardware))
    for kind in _kinds(report) if report.levels else ():
        for level in report.levels:
            for part in _parts(report):
                title = f"{level.title} - {kind.word}"
                writer.writerows([[], [title], [*part.titles, *kind.places, "Name"], *_table(kind, part, level)])
    for title, cost, nodes in report.graphs:
        writer.writerows([[], [f"Call graph {title}"], ["%", "Nest", "Name", "Cost", "Accumulation"]])
        writer.writerows(
            [_percent(node.cost, cost), "???" if node.nest is None else node.nest, node.name, node.cost,
             node.accumulation]
            for node in nodes
        )  # fmt: skip
    return into.getvalue()
