# SPDX-License-Identifier: BSD-3-Clause
"""The findings of vtrace diagnose as text, and its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.findings.kinds import kind_of
from vtrace.analysis.findings.run_facts import location_text, place_text
from vtrace.analysis.findings.serving_rank import serving_rank
from vtrace.analysis.questions.efficiencies import scaled
from vtrace.analysis.questions.profile import path_names
from vtrace.analysis.questions.timeline_data import span
from vtrace.analysis.selection import Patterns
from vtrace.analysis.table import Array, Table
from vtrace.console import fold, ranges, some, terminal_width
from vtrace.reports.sheet import Column, Row, Sheet
from vtrace.short_names import shortened

if TYPE_CHECKING:
    from vtrace.analysis.findings.diagnosis import Diagnosis
    from vtrace.analysis.source import Source
    from vtrace.analysis.trace import Trace

_WIDTH = 100
_LINES, _FINDINGS = 21, 5
"""The most lines and findings without details: with the archive's name and the next command a screen of 25 lines."""
_BELOW = " " * 6
_UNEVEN = 0.9
"""Below this load balance ranks lose time, known or not."""

ABOUT = {
    "waits": ("mpi_", "pthread_"), "openmp": ("omp_",), "io": ("io_",), "processor": (),
    "": ("mpi_", "pthread_", "omp_", "io_"),
}  # fmt: skip
"""Prefixes of the kinds of waits for each value of --about."""


def findings_about(findings: list[Finding], about: str) -> list[Finding]:
    """The findings that belong to --about."""
    shown = ("diagnose", "--about", about)
    return [one for one in findings if not about or about in kind_of(one.kind).about or one.evidence == shown]


def selected(trace: Source, findings: list[Finding], patterns: Patterns) -> list[Finding]:
    """The findings whose region, its class and domain, and call path match --select."""
    paths = np.array([" > ".join(one.callpath) for one in findings], object)
    kept = patterns.matching("path", paths)
    if patterns.limits_regions:
        matching = {*trace.regions["name"][patterns.regions(trace)].tolist()}
        kept &= np.array([one.region in matching for one in findings], bool)
    return [one for one, keep in zip(findings, kept.tolist(), strict=True) if keep]


def headline(diagnosis: Diagnosis) -> str:
    """The run in one line: its efficiency, if known, and its threads."""
    facts = diagnosis.facts
    size = f"{some(len(facts.rows), 'thread')}, {span(facts.elapsed)}"
    one = diagnosis.mpi.efficiencies if diagnosis.mpi else None
    if one is None or not one.rows or not np.isfinite(one["parallel"][0]):
        return f"{size}; parallel efficiency unknown"
    parts = [
        f"{100 * one[name][0]:.0f} % {name.replace('_', ' ')}"
        for name in ("load_balance", "serialisation", "transfer") if np.isfinite(one[name][0])
    ]  # fmt: skip
    return f"{size}; {100 * one['parallel'][0]:.0f} % parallel efficiency = {' x '.join(parts)}"


def blocks(findings: list[Finding], trace: Source, known: Sequence[str], *, details: bool) -> Iterator[list[str]]:
    """The lines of each finding: the loss, the certainty and what helps; with details also who loses time, where, and
    the command that shows the evidence. known: caveats that are printed already; the first finding with another caveat
    prints it."""
    known, short = [*known], _short_names(trace)
    for number, one in enumerate(findings, 1):
        found = wrapped(short(one.headline()), f"{number:>3}  ", _BELOW)
        below = [_detail(one, trace.processes) if details else _sure(one)]
        below += [line for line in one.caveats if line not in known]
        known += one.caveats
        found += [line for text in below for line in wrapped(short(text), _BELOW, _BELOW)]
        yield [*found, f"{_BELOW}$ {one.command}"] if details else found


def first_findings(diagnosis: Diagnosis, most: int) -> Iterator[str]:
    """The largest findings, and the line that says what to record."""
    if diagnosis.findings:
        yield from wrapped(_head(diagnosis, diagnosis.findings), "", "  ")
    for block in blocks(diagnosis.findings[:most], diagnosis.facts.trace, diagnosis.notes, details=False):
        yield from block
    yield from wrapped(diagnosis.to_record, "", "")


def _head(diagnosis: Diagnosis, findings: list[Finding]) -> str:
    """findings: those to show of all."""
    every, mpi = diagnosis.findings, diagnosis.mpi
    if every and not findings:
        return f"Findings; none about this, {len(every)} without --about"
    if findings and kind_of(findings[0].kind).is_loss:
        return "Findings; 100 % are the time of all threads"
    balance = mpi.efficiencies["load_balance"][0] if mpi and mpi.efficiencies.rows else 1
    balance = 1 if serving_rank(diagnosis.facts) >= 0 else balance
    if balance < _UNEVEN and not any(kind_of(one.kind).is_loss for one in every):
        return f"Findings; the cause of the load balance of {100 * balance:.0f} % is unknown"
    return "Findings; no loss above 2 % of the time of all threads was found"


def page(diagnosis: Diagnosis, findings: list[Finding], *, details: bool, most: int = _LINES) -> Iterator[str]:
    """The limits of the numbers, the efficiency and the findings as text. Without details at most so many lines with at
    most _FINDINGS findings, the largest first; a line says how many are left out."""
    head = [
        line
        for text in (*diagnosis.notes, diagnosis.to_record, headline(diagnosis))
        for line in wrapped(text, "  ", "  ")
    ]
    yield from [*head, "", *wrapped(_head(diagnosis, findings), "", "  ")]
    made = [*blocks(findings, diagnosis.facts.trace, diagnosis.notes, details=details)]
    ends = np.cumsum([len(block) for block in made])
    on_screen = int(np.count_nonzero(ends <= most - len(head) - 3))
    fitting = len(made) if details else min(_FINDINGS, max(1, on_screen))
    yield from (line for block in made[:fitting] for line in block)
    if fitting < len(made):
        yield f"     {some(len(made) - fitting, 'smaller finding')}: --tables"


def wrapped(text: str, first: str, below: str) -> list[str]:
    """Text in lines of a page's width, or of the terminal's width if that is smaller. Names stay whole. first, below:
    before the first line and before the others."""
    width = min(_WIDTH, terminal_width() or _WIDTH)
    return fold(text, first, below, width=width).split("\n") if text else []


def _short_names(trace: Source) -> Callable[[str], str]:
    """A function that shortens the names of functions in a text for a terminal."""
    width = terminal_width()
    if width is None:
        return str
    names = trace.regions["name"].tolist()
    short = {name: text for name, text in shortened(names, width // 2).items() if text != name}
    by_size = sorted(short, key=lambda name: (-len(name), name))

    def shorten(text: str) -> str:
        for name in by_size:
            text = text.replace(name, short[name])
        return text

    return shorten


def _sure(one: Finding) -> str:
    return "; ".join(filter(None, [replace(one, caveats=()).doubts, one.action]))


def _detail(one: Finding, processes: Table) -> str:
    parts = [one.kind.replace("_", " ")]
    if one.ranks and processes.rows > 1 and one.loss_ns:
        of_ranks = not np.isin(one.ranks, np.flatnonzero(processes["rank"] < 0)).any()
        several = f"ranks {ranges(one.ranks)}" if of_ranks else f"{len(one.ranks)} processes"
        single = f"rank {one.ranks[0]}" if of_ranks else "1 process"
        parts.append(f"{single} loses time" if len(one.ranks) == 1 else f"{several} lose time")
    parts.append(_sure(one))
    if one.callpath:
        parts.append(" > ".join(one.callpath))
    return "; ".join(parts)


def waits(diagnosis: Diagnosis, about: str, patterns: Patterns) -> Sheet:
    """The wait states, the longest first."""
    rows: list[Row] = []
    tables = [diagnosis.thread_waits, diagnosis.io_waits] + ([diagnosis.mpi.waits] if diagnosis.mpi else [])
    for table in tables:
        rows += _wait_rows(diagnosis, table, about, patterns)
    rows.sort(key=lambda row: -row["time_ns"])
    columns = [
        Column("time_ns", "time s", "ns"), Column("count", "waits"), Column("kind", "kind", "text"),
        Column("location", "waits", "text"), Column("partner", "for", "text"), Column("place", "in", "text"),
        Column("callpath", kind="path"), Column("bound", "at most", "mark", minor=True),
    ]  # fmt: skip
    return Sheet(name="waits", title="Wait states", columns=columns, rows=rows)


def _wait_rows(diagnosis: Diagnosis, table: Table, about: str, patterns: Patterns) -> Iterator[Row]:
    trace = diagnosis.facts.trace
    names = trace.regions["name"]
    allowed = allowed_paths(trace, table.paths, patterns)
    for r in table.records():
        kind = str(table.kinds[r["kind"]])
        if kind.startswith(ABOUT[about]) and allowed[r["path"]]:
            yield {
                "kind": kind, "callpath": path_names(table.paths, names, r["path"]),
                "location": location_text(trace, r["location"]),
                "partner": location_text(trace, r["partner"]) if r["partner"] >= 0 else None, "time_ns": r["time_ns"],
                "count": r["count"], "place": place_text(trace, table.paths, r["path"]), "bound": kind in table.bounds,
            }  # fmt: skip


def allowed_paths(trace: Source, paths: Table, patterns: Patterns) -> Array:
    """(paths,) bool: the call paths that match --select by region, class, domain and path."""
    found: Array = np.append(patterns.regions(trace), not patterns.limits_regions)[paths["region"]]
    return found & patterns.paths(paths, trace.regions["name"])


def efficiencies(diagnosis: Diagnosis) -> Sheet:
    """The factors of parallel efficiency, one row each."""
    rows: list[Row] = []
    one = diagnosis.mpi.efficiencies if diagnosis.mpi else None
    for name in one if one is not None and one.rows else ():
        value = one[name][0].item()  # type: ignore[index]
        if isinstance(value, float) and np.isfinite(value) and not name.startswith(("useful_", "elapsed_", "ideal_")):
            rows.append({"factor": name.replace("_", " "), "value": value})
    return Sheet(
        name="efficiencies",
        title="Efficiencies",
        columns=[Column("value", "%", "fraction"), Column("factor", "factor", "text")],
        rows=rows,
    )


def efficiency_values(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """The row of Trace.efficiencies for JSON; None: unknown."""
    one = diagnosis.mpi.efficiencies if diagnosis.mpi else None
    if one is None or not one.rows:
        return None
    values = {name: column[0].item() for name, column in one.items()}
    return {name: v if not isinstance(v, float) or np.isfinite(v) else None for name, v in values.items()}


_FACTORS = ("parallel", "load_balance", "serialisation", "transfer", "computation_scaling", "global_efficiency")
_COUNTED = ("instruction_scaling", "ipc_scaling", "frequency_scaling")


def _efficiencies(trace: Trace, diagnosis: Diagnosis) -> Table | None:
    """The efficiencies of a run, None if unknown. The efficiencies of a run of one process are only a base to compare
    other runs with."""
    facts = diagnosis.facts
    if diagnosis.mpi:
        return diagnosis.mpi.efficiencies
    if not facts.has_mpi or trace.processes.rows > 1:
        return None
    return trace.efficiencies(**facts.window.arguments())


def scaling(names: list[str], traces: list[Trace], found: list[Diagnosis]) -> Sheet:
    """The runs side by side, if the efficiencies of all runs are known."""
    tables = [table for pair in zip(traces, found, strict=True) if (table := _efficiencies(*pair)) is not None]
    columns = [
        Column("elapsed_ns", "elapsed s", "ns"), Column("processes", "processes"),
        *(Column(name, f"{name.replace('_', ' ')} %", "fraction") for name in _FACTORS), Column("basis"),
        Column("run", "run", "text"),
    ]  # fmt: skip
    if len(tables) < len(found) or not all(table.rows for table in tables):
        return Sheet(name="scaling", title="Runs side by side", columns=columns, rows=[])
    rows = [{"run": name, **row} for name, row in zip(names, scaled(tables).records(), strict=True)]
    known = [name for name in _COUNTED if np.isfinite(rows[0][name])]
    columns[-2:-2] = [Column(name, f"{name.replace('_', ' ')} %", "fraction") for name in known]
    sheet = Sheet(name="scaling", title="Runs side by side", columns=columns, rows=rows)
    sheet.notes.append("computation scaling: useful time of all processes, the first run divided by this run")
    if not known:
        sheet.notes.append("by time: not all runs have counts of instructions or cycles")
    return sheet


def critical_path(diagnosis: Diagnosis, patterns: Patterns) -> Sheet:
    """The time of each call path and location on the critical path, the longest first."""
    table = diagnosis.mpi.critical_path if diagnosis.mpi else None
    columns = [
        Column("time_ns", "time s", "ns"), Column("share", "%", "fraction"), Column("location", "on", "text"),
        Column("place", "in", "text"), Column("callpath", kind="path"),
    ]  # fmt: skip
    if table is None:
        return Sheet(name="critical_path", title="Critical path", columns=columns, rows=[])
    trace = diagnosis.facts.trace
    allowed = allowed_paths(trace, table.paths, patterns)
    rows: list[Row] = [
        {"time_ns": r["time_ns"], "share": r["time_ns"] / max(1, table.length_ns),
         "location": location_text(trace, r["location"]), "place": place_text(trace, table.paths, r["path"]),
         "callpath": path_names(table.paths, trace.regions["name"], r["path"])}
        for r in table.order("time_ns").records() if allowed[r["path"]]
    ]  # fmt: skip
    return Sheet(name="critical_path", title=f"Critical path: {span(table.length_ns)}", columns=columns, rows=rows)


def iterations(diagnosis: Diagnosis) -> Sheet:
    """All iterations; text shows the slowest."""
    table, trace = diagnosis.iteration_table, diagnosis.facts.trace
    rows: list[Row] = [
        {"iteration": r["iteration"], "begin_ns": r["begin"], "end_ns": r["end"], "time_ns": r["time_ns"],
         "mean_ns": r["mean_ns"], "slowest": location_text(trace, r["location"])}
        for r in table.records()
    ]  # fmt: skip
    columns = [
        Column("time_ns", "time s", "ns"), Column("mean_ns", "mean s", "ns"), Column("begin_ns", "from s", "ns"),
        Column("end_ns", "to s", "ns"), Column("iteration", "iteration"), Column("slowest", "slowest", "text"),
    ]  # fmt: skip
    of = table.region if table.basis == "calls" else f"the loop around {table.region}"
    sheet = Sheet(
        name="iterations", title=f"Iterations of {of}: {len(rows):,}, the slowest", columns=columns, rows=rows
    )
    sheet.shown = sorted(np.argsort(-table["time_ns"], kind="stable")[:5].tolist())
    if rows:
        sheet.notes.append(f"usual: {span(float(np.median(table['time_ns'])))}; drift: {table.drift:.3g}")
    return sheet
