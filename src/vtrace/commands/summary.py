# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Show where the time went: regions, messages, files, memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.analysis.findings.kinds import kind_of
from vtrace.analysis.inlined import inlined, inlined_line
from vtrace.commands.trace_command import Output, opened, stale_lines, title, trace_command
from vtrace.console import Console, say, some
from vtrace.reports.table_names import SUMMARY_SORTS, SUMMARY_TABLES
from vtrace.text import plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.findings.finding import Finding
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace
    from vtrace.reports.sheet import Sheet
    from vtrace.reports.summary import SummaryNumbers

_FINDINGS, _FUNCTIONS = 2, 5
"""The most findings and sampled functions that vtrace run shows at its end."""


@trace_command(
    sort=SUMMARY_SORTS, sort_help="Sort regions by this column.", top=20,
    json="Print all rows of all tables as JSON; times in ns.", csv=True,
)  # fmt: skip
@click.option(
    "--only", "tables", type=click.Choice(SUMMARY_TABLES), multiple=True, help="Show only this table; may be repeated."
)
@click.option("--rank", "ranks", hidden=True)
def command(trace: Trace, part: Selection, output: Output, tables: tuple[str, ...]) -> None:
    """Also show collective operations. ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, written
    by any tool.

    \b
    Examples:
      vtrace summary heat
      vtrace summary heat --sort imbalance --top 5
      vtrace summary heat --ranks 3 --from 25% --to 75%
      vtrace summary heat --only regions --csv > regions.csv
    """
    from vtrace.reports import sheet, summary

    numbers = summary.read(trace, part)
    every = summary.sheets(numbers, output.sort, output.top)
    made = [each for each in every if not tables or each.name in tables]
    output.warn(numbers.notes)

    def head() -> dict[str, Any]:
        not_recorded = trace.not_recorded(part.locations, part.start, part.stop).rows()
        about = {"caveats": [*stale_lines(trace), *numbers.caveats], "not_recorded": not_recorded, **_about(numbers)}
        return {**about, "inlined": inlined(trace), "findings": [one.told() for one in _findings(trace, part)]}

    def text() -> None:
        if not tables:
            click.echo(click.style(plain(title(trace)), bold=True))
        for line in numbers.caveats:
            say(line, "  ")
        if numbers.caveats:
            click.echo()
        if not tables:
            _head(numbers, next(each for each in made if each.name == "samples"))
            _show_findings(_findings(trace, part), trace)
        sheet.show([each for each in made if _is_shown(each)])
        output.console.note(_next_step(trace, shell_word(Path(output.archives[0]))))

    output.print([(trace, part)], made, head, text, notes=numbers.notes)


def show_in_brief(archive: str, console: Console) -> None:
    """Prints where the time of an archive went, in one line, and the largest findings; without a loss also the sampled
    functions with most time. Raises VtraceError."""
    from vtrace.analysis.selection import Selection
    from vtrace.reports import diagnose_sheets, report_numbers, sample_sheets, sheet, summary

    trace = opened(archive)
    numbers = summary.read(trace, Selection.of_options(trace, None, end=None, ranks=None, helpers=False))
    made = {each.name: each for each in summary.sheets(numbers, top=_FUNCTIONS)}
    texts = [*numbers.caveats, summary.lead(numbers), sample_sheets.line(made["samples"], trace, numbers.costs)]
    for text in filter(None, [*texts[:-2], report_numbers.missing(trace, numbers.window), *texts[-2:]]):
        console.note(text)
    if trace.recorded_profile:
        console.note(_next_step(trace, shell_word(Path(archive))))
        return
    found = trace.diagnosis(Selection())
    for line in diagnose_sheets.first_findings(found, _FINDINGS):
        click.echo(plain(line))
    if not any(kind_of(one.kind).is_loss for one in found.findings) and _is_shown(made["samples"]):
        sheet.show([replace(made["samples"], notes=[])])
    console.note(_next_step(trace, shell_word(Path(archive))))


def _next_step(trace: Trace, word: str) -> str:
    """The next commands: vtrace diagnose first where threads or processes may wait for each other."""
    from vtrace.analysis.activity import MPI, OPENMP

    if trace.recorded_profile:
        return f"next: vtrace profile {word} --by callpath   for call paths; vtrace report {word}   for charts"
    classes = trace.regions["class"]
    is_parallel = trace.locations.rows - int(trace.locations["helper"].sum()) > 1
    if is_parallel or bool(((classes == MPI) | (classes == OPENMP)).any()):
        return f"next: vtrace diagnose {word}   for what makes it slow; vtrace view {word}   for the timeline"
    return f"next: vtrace view {word}   for the timeline; vtrace report {word}   for charts"


def _findings(trace: Trace, part: Selection) -> list[Finding]:
    """The findings that vtunify --diagnose has stored; none for a part of the run."""
    from vtrace.analysis.findings.finding import stored_findings

    return (stored_findings(trace) or []) if not part.text else []


def _show_findings(findings: list[Finding], trace: Trace) -> None:
    from vtrace.reports.diagnose_sheets import blocks

    if findings:
        say("Findings of vtrace diagnose; 100 % are the time of all threads")
        for block in blocks(findings, trace, (), details=False):
            click.echo(plain("\n".join(block)))
        click.echo()


def _is_shown(made: Sheet) -> bool:
    return bool(made.rows) and made.shown != []


def _sizes(numbers: SummaryNumbers) -> tuple[int, int, int]:
    """The numbers of processes, locations and events of the selection; its helper threads are not among them."""
    trace, rows = numbers.trace, numbers.window.locations
    if rows is None:
        return trace.processes.rows, trace.locations.rows, numbers.events
    return len({int(trace.places.process[row]) for row in rows} - {-1}), len(rows), numbers.events


def _about(numbers: SummaryNumbers) -> dict[str, Any]:
    trace, about = numbers.trace, numbers.trace.vtrace.get("ABOUT", {})
    processes, locations, events = _sizes(numbers)
    begin, end = numbers.window.ends(trace)
    return {
        "archive": str(trace.path), "creator": trace.creator, "command": about.get("command", []),
        "start_ns": trace.start, "duration_ns": trace.duration, "processes": processes,
        "locations": locations, "events": events,
        "window": {"from_ns": begin, "to_ns": end, "text": numbers.window.text},
    }  # fmt: skip


def _head(numbers: SummaryNumbers, samples: Sheet) -> None:
    from vtrace.analysis import programs
    from vtrace.reports import report_numbers, sample_sheets, summary

    trace = numbers.trace
    known = dict(report_numbers.about(trace, numbers.window))
    processes, locations, events = _sizes(numbers)
    size = (
        f"{some(processes, 'process', 'processes')}, {some(locations, 'location')}, "
        f"{some(events, 'event')}, {known['time']}"
    )
    commands = programs.lines(trace) or [known.get("command", "")]
    pairs = [("command" if place == 0 else "", text) for place, text in enumerate(commands)]
    pairs += [(name, known.get(name, "")) for name in ("recorded", "hosts", "written by", "MPI")]
    pairs += [
        ("size", size),
        ("cut", known.get("cut", "")),
        ("shown", known.get("shown", "")),
        ("coverage", report_numbers.missing(trace, numbers.window)),
    ]
    pairs += [("functions", inlined_line(trace)), ("time", summary.lead(numbers))]
    pairs += [("processor", summary.processor_line(numbers))]
    pairs += [("inside", sample_sheets.line(samples, trace, numbers.costs))]
    for name, text in pairs:
        if text:
            say(text, f"  {name.ljust(10)}  ", " " * 14)
    click.echo()
