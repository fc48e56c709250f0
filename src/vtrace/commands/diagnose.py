# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Show why a run is slow: who waits for whom, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.analysis.findings.kinds import SUBJECTS
from vtrace.commands.trace_command import Output, opened, stale_lines, titles, trace_command
from vtrace.console import NORMAL, Console, say, terminal_width
from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.analysis.findings.diagnosis import Diagnosis
    from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis
    from vtrace.analysis.findings.finding import Finding
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.analysis.trace import Trace
    from vtrace.parallel.ranks import Ranks


_WIDE = 10**6
"""The columns of no terminal."""
_ROWS = 10
"""Rows in each table without --top."""
_SCREEN, _HALF, _STORY = 23, 11, 3
"""The lines of a screen without the archive's name, the most above tables, and those of the story of I/O."""


@trace_command(
    needs_events=True, archives=-1, metavar="ARCHIVE...",
    json="Print findings and all rows of all tables as JSON; times in ns.",
    select="Only losses of a region, class, domain, category, path or location matching PATTERN[,...]; repeatable.",
)  # fmt: skip
@click.option("--about", type=click.Choice(SUBJECTS), help="Only this subject, with its tables.")
@click.option("--iteration", metavar="NAME", help="A call of region NAME is an iteration [default: the repeated call].")
@click.option("--tables", is_flag=True, help="Also show tables of waits, efficiencies, the critical path, iterations.")
@click.option(
    "--top", "rows", metavar="N", type=click.IntRange(1), help="Rows in each table [default: 10]; implies --tables."
)
@click.option(
    "--fail-below", metavar="X", type=click.FloatRange(0, 1),
    help="Return 1 if the parallel efficiency is below X, such as 0.8, or unknown.",
)  # fmt: skip
def command(
    traces: list[Trace], _: list[Selection], output: Output, about: str | None, *, iteration: str | None, tables: bool,
    rows: int | None, fail_below: float | None,
) -> None:  # fmt: skip
    """At most five findings, the largest loss of time first: place, ranks, cause, certainty, what helps, and the
    command that shows the evidence of the first. --tables shows that of each, wait states, efficiencies and iterations.
    Several archives of one program with different numbers of ranks show how it scales. ARCHIVE is a prefix, the
    directory of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      vtrace diagnose heat
      vtrace diagnose heat --tables                  all waits, who waits for whom
      vtrace diagnose heat --about io
      vtrace diagnose heat --iteration step --from 25% --to 75%
      vtrace diagnose heat --fail-below 0.8          in tests: returns 1 below 80 %
      vtrace diagnose heat_4 heat_8 heat_16          how it scales
    """
    from vtrace.reports.diagnose_sheets import scaling
    from vtrace.reports.sheet import show

    names, patterns = titles(traces, output.archives), output.patterns
    found = [trace.diagnosis(output.selected(trace), iteration) for trace in traces]
    compared = [scaling(names, traces, found)] if len(found) > 1 else []

    def head() -> dict[str, Any]:
        made = [_data(trace, one, about or "", patterns) for trace, one in zip(traces, found, strict=True)]
        return {"runs": made} if compared else made[0]

    def text() -> None:
        for number, (name, one) in enumerate(zip(names, found, strict=True)):
            click.echo("\n" * bool(number) + click.style(plain(name), bold=True))
            top = 0 if compared or not (about or tables or rows) else rows or _ROWS
            told = _show(one, about or "", patterns, top=top, fits=not (tables or rows))
            if not compared and not top:
                _lead_on(output.console.note, told)
        if compared:
            click.echo()
            show(compared)

    output.print([], compared, head, text)
    if fail_below is not None:
        _judge(output.console, names, found, fail_below)


def after_unifying(
    archive: Path, console: Console, ranks: Ranks, threads: int | None, *, written: WrittenDiagnosis | None
) -> None:
    """Prints the findings of a new archive, and keeps them in its directory. ranks share the work, with this number of
    threads each (None: one per core): the others call vtrace.analysis.shared_scan.serve. written: saves reading the
    events."""
    from vtrace.analysis.findings.finding import store_findings
    from vtrace.analysis.selection import Patterns, Selection

    trace = opened(str(archive))
    if trace.recorded_profile:
        console.note("no findings: the run was recorded as a profile")
        return
    trace.ranks, trace.threads = ranks, threads
    known = written.known(trace) if written else None
    if not known:
        console.detail("reading the events once more for the findings")
    found = trace.diagnosis(Selection(), known=known)
    store_findings(trace, found.findings, found.notes)
    if console.level >= NORMAL:
        _lead_on(console.result, _show(found, "", Patterns(), top=0))


def _data(trace: Trace, diagnosis: Diagnosis, about: str, patterns: Patterns) -> dict[str, Any]:
    from vtrace.reports import diagnose_sheets as sheets
    from vtrace.reports import io_story, processor_sheets
    from vtrace.reports.sheet import data

    chosen = sheets.selected(trace, sheets.findings_about(diagnosis.findings, about), patterns)
    waits = [
        {key: row[key] for key in ("kind", "callpath", "location", "partner", "time_ns", "count")}
        for row in sheets.waits(diagnosis, about, patterns).rows
    ]
    table = diagnosis.iteration_table
    return {
        "archive": str(trace.path),
        "findings": [one.told() for one in chosen],
        "waits": waits, "efficiencies": sheets.efficiency_values(diagnosis), "critical_path": [
            {key: row[key] for key in ("callpath", "location", "time_ns")}
            for row in sheets.critical_path(diagnosis, patterns).rows
        ],
        "iterations": {
            "region": table.region, "source": table.source, "basis": table.basis, "drift": table.drift,
            "slow": [list(run) for run in table.slow], "rows": sheets.iterations(diagnosis).rows,
        },
        "notes": [*stale_lines(trace), *diagnosis.notes], "to_record": diagnosis.to_record,
        **({"io": data(io_story.sheets(io_story.read_io(diagnosis.facts), 1, ""))} if about == "io" else {}),
        **(data(processor_sheets.sheets(diagnosis.facts, patterns)) if about == "processor" else {}),
    }  # fmt: skip


def _show(diagnosis: Diagnosis, about: str, patterns: Patterns, *, top: int, fits: bool = True) -> list[Finding]:
    """Prints the findings, and top rows of each table. fits: no details, and as many tables and rows as fit on a
    screen. Returns the findings."""
    from vtrace.reports import diagnose_sheets as sheets
    from vtrace.reports import io_story, processor_sheets
    from vtrace.reports.sheet import fitting, show

    chosen = sheets.selected(diagnosis.facts.trace, sheets.findings_about(diagnosis.findings, about), patterns)
    lines = [*sheets.page(diagnosis, chosen, details=not fits and top > 0, **({"most": _HALF} if top else {}))]
    for line in lines:
        click.echo(plain(line))
    if not top:
        return chosen
    where = "--top shows more, all with --json"
    top = _WIDE if fits else top
    made = [sheets.waits(diagnosis, about, patterns).cut(top, where)]
    if not about:
        made += [sheets.efficiencies(diagnosis), sheets.critical_path(diagnosis, patterns).cut(top, where)]
        made.append(sheets.iterations(diagnosis))
    if about in ("", "processor"):
        waited = processor_sheets.sheets(diagnosis.facts, patterns)
        made += [each.cut(top, where if about else "all with --about processor --json") for each in waited]
    if about == "io":
        numbers = io_story.read_io(diagnosis.facts)
        click.echo()
        say(io_story.line(numbers))
        made = [*io_story.sheets(numbers, top, where), *made]
    shown = [each for each in made if each.rows and each.shown != []]
    if shown:
        click.echo()
        show(fitting(shown, _SCREEN - len(lines) - _STORY * (about == "io"), where) if fits else shown)
    return chosen


def _lead_on(say: Callable[[str], None], findings: list[Finding]) -> None:
    """Prints the next command: the evidence of the first finding."""
    if findings and findings[0].command:
        told, width = f"next: {findings[0].command}", terminal_width() or _WIDE
        reason = "   for the evidence of the first finding"
        say(told + reason if len(f"vtrace: {told}{reason}") <= width else told)


def _judge(console: Console, names: list[str], found: list[Diagnosis], least: float) -> None:
    """Ends the command with exit code 1 if an efficiency is below the least one, or unknown."""
    import numpy as np

    failed = False
    for name, one in zip(names, found, strict=True):
        table = one.mpi.efficiencies if one.mpi else None
        value = float(table["parallel"][0]) if table is not None and table.rows else float("nan")
        if not np.isfinite(value):
            console.warn(f"{name}: the parallel efficiency is unknown")
        elif value < least:
            console.warn(f"{name}: the parallel efficiency is {value:.3f}, below {least:g}")
        failed |= not value >= least
    if failed:
        raise SystemExit(1)
