# SPDX-License-Identifier: BSD-3-Clause
"""The tables of vtrace profile: time by function, loop, line, call path, rank or thread, and lines of a source file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.definition_tables import has_line, source_text
from vtrace.analysis.questions.cost_rows import CostRows
from vtrace.analysis.questions.costs import CostQuestion, Costs, generator_names
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.questions.timeline_data import location_names, process_names, span
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array
from vtrace.console import some
from vtrace.errors import UsageError
from vtrace.reports.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace

BLOCKS, PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
"""Characters for the heights of a bar; PLAIN for an output that cannot show BLOCKS."""
_BAR = 16
"""Width of a bar in characters; with more ranks, ranks share a character."""
_APART = 0.1
"""A period of samples that differs from the generator's by more than this share gets a note."""
ALL = "--top shows more, all with --json or --csv"


@dataclass(kw_only=True)
class ProfileNumbers:
    """A profile. notes: damage, and facts about the samples, one line each."""

    trace: Trace
    window: Selection
    patterns: Patterns
    costs: Costs
    by: str
    notes: list[str]

    @cached_property
    def found(self) -> CostRows:
        """The rows."""
        return CostRows(self.trace, self.window, costs=self.costs, by=self.by, patterns=self.patterns)

    @cached_property
    def names(self) -> list[str]:
        """The names of ranks or threads, by their rows, or of regions."""
        if self.by in ("rank", "thread"):
            return [*process_names(self.trace), ""] if self.by == "rank" else location_names(self.trace)
        found: list[str] = self.trace.regions["name"].tolist()
        return found

    @property
    def caveats(self) -> list[str]:
        """trace.caveats of the selection."""
        return self.window.caveats(self.trace)


def read(trace: Trace, window: Selection, by: str, patterns: Patterns) -> ProfileNumbers:
    """Reads the events of a selection once. by: one of table_names.COST_UNITS."""
    question = CostQuestion()
    met = ask(trace, [question], window)
    costs = question.answer()
    notes = [f"{met.stray:,} Leave events without an Enter are left out"] if met.stray else []
    notes += [f"{met.unknown:,} events are of kinds that the installed OTF2 does not know"] if met.unknown else []
    if costs.full:
        notes.append("too many call paths: further calls count in the path of their caller")
    if by == "loop" and costs.samples.rows and not trace.loops.table.rows:
        notes.append("no loops are known: build the program with -g, and unify where its files are")
    return ProfileNumbers(
        trace=trace,
        window=window,
        patterns=patterns,
        costs=costs,
        by=by,
        notes=notes + _periods(trace, costs) + met.problems,
    )


def _periods(trace: Trace, costs: Costs) -> list[str]:
    """Lines about generators whose samples have another rate than the archive states."""
    names, lines = generator_names(trace), []
    for number in np.unique(costs.periods["generator"]).tolist():
        mine = costs.periods.take(costs.periods["generator"] == number)
        period, nominal = float(np.median(mine["ns"])), float(mine["nominal"][0])
        if not period:
            lines.append(f"samples of {names[number]} have no time: too few to estimate their period")
        elif not nominal:
            lines.append(f"samples of {names[number]} come by count: times are estimated, {span(period)} a sample")
        elif abs(period - nominal) > _APART * nominal:
            lines.append(
                f"samples of {names[number]} come every {span(period)}, not every {span(nominal)}: each counts as"
                f" {span(period)}"
            )
    return lines


# ---- The table ----


def sheet(numbers: ProfileNumbers, sort: str = "exclusive", most: int | None = None) -> Sheet:
    """The rows, the largest first. sort: a number of the rows, or name. most: number of rows, None: all."""
    by, found = numbers.by, numbers.found
    everything = _order(numbers, sort)
    order = everything[:most]
    bars = _bars(numbers, order)
    rows: list[Row] = []
    for r, bar in zip(found.table.take(order).records(), bars, strict=True):
        rows.append({
            by: row_name(numbers, r["key"]),
            "exclusive_ns": round(r["exclusive"]), "inclusive_ns": round(r["inclusive"]),
            "share": r["share"], "calls": r["calls"], "samples": r["samples"],
            "source": "samples" if r["estimated"] else "events", "share_error": r["error"], "mpi_ns": round(r["mpi"]),
            "barrier_ns": round(r["barrier"]), "min_ns": round(r["min"]), "mean_ns": r["mean"],
            "max_ns": round(r["max"]), "bar": bar, **_idle(by, r["not_running"]), **_about(numbers, r["key"]),
        })  # fmt: skip
    kind = "path" if by == "callpath" else "text"
    idle = any(row.get("not_running_ns") is not None for row in rows)
    sampled, ranks = numbers.costs.samples.rows > 0, len(found.processes) > 1 and by not in ("rank", "thread")
    columns = [
        Column(by, kind=kind), Column("exclusive_ns", "exclusive s", "ns"), Column("inclusive_ns", "inclusive s", "ns"),
        Column("share", "%", "fraction"), Column("calls", "calls" if any(r["calls"] for r in rows) else ""),
        Column("samples", "samples" if sampled else ""), Column("source", "from" if sampled else "", "text"),
        Column("share_error", "± %" if sampled else "", "fraction"),
        Column("mpi_ns", "MPI s" if any(r["mpi_ns"] for r in rows) else "", "ns", minor=True),
        Column("barrier_ns", "barriers s" if any(r["barrier_ns"] for r in rows) else "", "ns", minor=True),
        Column("min_ns", "min" if ranks else "", "span", minor=True),
        Column("mean_ns", "mean" if ranks else "", "span", minor=True),
        Column("max_ns", "max of a rank" if ranks else "", "span", minor=True),
        *([Column("not_running_ns", "not running s" if idle else "", "ns")] if by in ("rank", "thread") else []),
        *(Column(name, kind="text") for name in _FACTS[by]),
    ]  # fmt: skip
    made = Sheet(name="profile", title=f"{_TITLES[by]} by {sort}", columns=columns, rows=rows)
    if rows:
        made.notes.append(whole_text(numbers) + "; ± is the standard error" * sampled)
    if len(order) < len(everything):
        made.notes.append(f"the first {len(order):,} of {len(everything):,}: {ALL}")
    return made


def _idle(by: str, ns: float) -> Row:
    return {"not_running_ns": None if np.isnan(ns) else round(ns)} if by in ("rank", "thread") else {}


_TITLES = {
    "function": "Functions", "loop": "Loops, each without those inside,", "line": "Lines", "callpath": "Call paths",
    "rank": "Ranks", "thread": "Threads",
}  # fmt: skip


def whole_text(numbers: ProfileNumbers) -> str:
    """The note on the time that shares are of."""
    count = some(len(numbers.window.rows(numbers.trace)), "location")
    whole = f"100 % are {numbers.found.whole / 1e9:,.6g} s"
    if not numbers.costs.samples.rows:
        return f"{whole} in recorded calls on {count}"
    taken = int(numbers.costs.samples["count"].sum())
    return f"{whole} in samples ({taken:,}) and recorded calls on {count}"


def timer_sheet(timers: list[Row], most: int | None) -> Sheet:
    """The table of the timers of questions.timers. most: number of rows, None: all."""
    columns = [
        Column("rank"), Column("process", kind="text"), Column("thread", "thread", "text"),
        Column("label", "timer", "text"), Column("class", kind="text"), Column("file", kind="text"), Column("line"),
        Column("calls", "calls"), Column("total_ns", "total s", "ns"), Column("min_ns", "min", "span", minor=True),
        Column("max_ns", "max", "span", minor=True), Column("mean_ns", "mean", "span"),
        Column("deviation_ns", "± of a call", "span", minor=True), Column("bytes", "bytes"), Column("flops", "flops"),
    ]  # fmt: skip
    made = Sheet(name="timers", title="Timers, by thread and total time", columns=columns, rows=timers[:most])
    if len(made.rows) < len(timers):
        made.notes.append(f"the first {len(made.rows):,} of {len(timers):,}: {ALL}")
    return made


def shown(made: Sheet) -> Sheet:
    """The table for people: the name of a row, which may be long, comes last."""
    name = made.columns[0]
    bar = Column("bar", "ranks" if name.key not in ("rank", "thread") else "share", "text", minor=True)
    one_rank = all(not row.get("bar") for row in made.rows)
    columns = [*made.columns[1:], *([] if one_rank else [bar]), Column(name.key, name.key, name.kind)]
    return Sheet(name=made.name, title=made.title, columns=columns, rows=made.rows, notes=made.notes)


def _order(numbers: ProfileNumbers, sort: str) -> Array:
    table = numbers.found.table
    if sort == "name":
        names = [str(row_name(numbers, key)) for key in table["key"].tolist()]
        return np.array(sorted(range(table.rows), key=names.__getitem__), np.int64)
    return np.lexsort((table["key"], -table["exclusive"], -table[sort]))


def row_name(numbers: ProfileNumbers, key: int) -> Any:
    """The name of a row by its key in numbers.found.table: a text, or the list of names of a call path."""
    if numbers.by == "callpath":
        return path_names(numbers.costs.tree, numbers.trace.regions["name"], key) or [numbers.names[-1]]
    if numbers.by == "line":
        region, file, line = numbers.found.lines(key)
        return f"{file}:{line}" if file and has_line(line) else numbers.names[region]
    if numbers.by == "loop":
        return _loop_name(numbers, *numbers.found.loop(key))
    return numbers.names[key]


def _loop_facts(numbers: ProfileNumbers, region: int, loop: int) -> Row:
    """The values of _FACTS of a loop. loop: -1 for the region's time outside of its loops."""
    found: Row = dict.fromkeys(_FACTS["loop"]) | {"function": numbers.names[region], "file": ""}
    if loop >= 0:
        (one,) = numbers.trace.loops.table.take(np.array([loop])).records()
        found |= {"file": one["file"], "first_line": one["first"], "last_line": one["last"]}
        found |= {"level": one["level"], "kind": one["kind"]}
    return found


def _loop_name(numbers: ProfileNumbers, region: int, loop: int) -> str:
    if loop < 0:
        inside = (numbers.trace.loops.table["region"] == region).any()
        return f"{numbers.names[region]}, outside of its loops" if inside else numbers.names[region]
    one = _loop_facts(numbers, region, loop)
    lines = f"{one['file']}:{one['first_line']}-{one['last_line']}"
    return f"{one['function']}, {one['kind']} loop of level {one['level']} at {lines}"


_FACTS = {
    "function": ("class", "defined"), "loop": ("function", "file", "first_line", "last_line", "level", "kind"),
    "line": ("function", "file", "line_number"), "callpath": ("class",), "rank": ("number", "host"),
    "thread": ("process", "name"),
}  # fmt: skip
"""Further values of a row, for programs."""


def _about(numbers: ProfileNumbers, key: int) -> Row:
    trace, by = numbers.trace, numbers.by
    regions, processes = trace.regions, trace.processes
    if by == "rank":
        rank = int(processes["rank"][key]) if key >= 0 else -1
        return {"number": rank if rank >= 0 else None, "host": str(processes["host"][key]) if key >= 0 else ""}
    if by == "thread":
        process = int(trace.places.process[key])
        name = str(processes["name"][process]) if process >= 0 else ""
        return {"process": name, "name": str(trace.locations["name"][key])}
    if by == "line":
        region, file, line = numbers.found.lines(key)
        return {
            "function": numbers.names[region],
            "file": file,
            "line_number": line if file and has_line(line) else None,
        }
    if by == "loop":
        return _loop_facts(numbers, *numbers.found.loop(key))
    region = key if by == "function" else int(numbers.costs.tree["region"][key])
    return {"class": str(regions.classes[regions["class"][region]]), "defined": source_text(regions, region)}


def _bars(numbers: ProfileNumbers, order: Array) -> list[str]:
    """A bar for each row of order: the row's time on each rank; in a table of ranks or threads, the time compared with
    the largest."""
    found, levels = numbers.found, _levels()
    if numbers.by in ("rank", "thread"):
        most = max(found.table["exclusive"].max(initial=0), 1.0)
        return [levels[-1] * round(_BAR * ns / most) for ns in found.table["exclusive"][order].tolist()]
    if len(found.processes) < 2:
        return [""] * len(order)
    place = np.full(found.table.rows, -1)
    place[order] = np.arange(len(order))
    sums, count = found.by_rank.take(place[found.by_rank["row"]] >= 0), len(found.processes)
    width = min(count, _BAR)
    column = np.searchsorted(found.processes, sums["process"]) * width // count
    heights = np.zeros((len(order), width))
    np.add.at(heights, (place[sums["row"]], column), sums["ns"])
    heights /= np.bincount(np.arange(count) * width // count, minlength=width)
    highest = heights.max(axis=1, keepdims=True, initial=0)
    steps = np.ceil(heights / np.maximum(highest, 1e-9) * (len(levels) - 1)).astype(int)
    return ["".join(levels[step] for step in row) for row in steps.tolist()]


def _levels() -> str:
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS


# ---- A source file with the time of its lines ----


def listing(numbers: ProfileNumbers, path: Path) -> Sheet:
    """The lines of a source file with their times; numbers are by line.

    path: the file to read. Its times come from the file in the trace with the most equal last parts of the name. Raises
    UsageError if the file cannot be read, or the trace has no times of its lines.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"--source {path} is not a regular file", "give the path of a source file")
    try:
        text = path.read_text("utf-8", "replace").expandtabs().removesuffix("\n").split("\n")
    except OSError as error:
        raise UsageError(
            f"--source {path}: {error.strerror}", "give the path of the source file on this machine"
        ) from None
    found = numbers.found
    rows_of: dict[str, list[tuple[int, int]]] = {}
    for row, key in enumerate(found.table["key"].tolist()):
        _, file, line = found.lines(key)
        if file and has_line(line):
            rows_of.setdefault(file, []).append((row, line))
    known = _fitting(path, rows_of)
    if not known:
        named = ", ".join(sorted(rows_of)[:8]) or "none: build with -g"
        raise UsageError(f"--source {path}: the trace has no times of its lines", f"files with times: {named}")
    sums: dict[int, Row] = {}
    for row, line in rows_of[known]:
        r = {name: column[row].item() for name, column in found.table.items()}
        one = sums.setdefault(line, {"exclusive_ns": 0, "share": 0.0, "calls": 0, "samples": 0})
        for name, value in (
            ("exclusive_ns", round(r["exclusive"])),
            *((n, r[n]) for n in ("share", "calls", "samples")),
        ):
            one[name] += value
    rows = [{"line": place, "text": line, **sums.get(place, {})} for place, line in enumerate(text, 1)]
    beyond = sum(line > len(text) for line in sums)
    columns = [
        Column("line", "line"), Column("exclusive_ns", "exclusive s", "ns"), Column("share", "%", "fraction"),
        Column("calls"), Column("samples", "samples" if numbers.costs.samples.rows else ""),
        Column("text", "source", "text"),
    ]  # fmt: skip
    made = Sheet(name="source", title=f"{path} ({known} in the trace)", columns=columns, rows=rows)
    if beyond:
        made.notes.append(f"{some(beyond, 'line')} with times beyond the end of the file: is the file another version?")
    return made


def _fitting(path: Path, files: Iterable[str]) -> str:
    """The name of the file in the trace that fits a path best, "" if none fits."""
    mine = path.absolute().parts[::-1]

    def equal(name: str) -> int:
        theirs = PurePosixPath(name).parts[::-1]
        return next(
            (n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs))
        )

    best = max(files, key=equal, default="")
    return best if best and equal(best) else ""
