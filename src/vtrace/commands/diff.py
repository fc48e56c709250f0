# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Show what changed from one trace to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.trace_command import Output, stale_lines, trace_command
from vtrace.console import Console, say, some
from vtrace.errors import UsageError, VtraceError
from vtrace.reports.table_names import DIFF_SORTS
from vtrace.text import shell_word

if TYPE_CHECKING:
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.analysis.trace import Trace
    from vtrace.reports.diff import DiffRun


def _check(values: dict[str, Any]) -> None:
    values["fail_above"] = _percent(values["fail_above"])
    if values["patterns"].all and values["fail_above"] is None:
        raise UsageError("--select without --fail-above", "add --fail-above 5%")


@trace_command(
    archives=2, metavar="A B", check=_check, sort=(*DIFF_SORTS, *(f"{name}%" for name in DIFF_SORTS)), top=20,
    sort_help="Number of each call path to compare; with %, the largest change in percent comes first in each table.",
    select="With --fail-above: compare the time of a region, class, domain, category or path; may be repeated.",
    json="Print all rows of all tables as JSON; times in ns.",
)  # fmt: skip
@click.option("--relative", is_flag=True, hidden=True)
@click.option("--per-rank", is_flag=True, help="Divide all numbers by the number of ranks of their run.")
@click.option("--fail-above", metavar="P%", help="Return 1 if B takes more than P percent longer than A, such as 5%.")
def command(
    traces: list[Trace], parts: list[Selection], output: Output, relative: bool, *, per_rank: bool,
    fail_above: float | None,
) -> None:  # fmt: skip
    """The largest changes from A to B come first. Call paths, functions with samples, messages, collective
    operations, files and counters are matched by name. A and B are prefixes, directories of OTF2 archives or their
    .otf2 files, written by any tool.

    \b
    Examples:
      vtrace diff before after
      vtrace diff before after --sort calls --top 5
      vtrace diff four.trace eight.trace --per-rank
      vtrace diff before after --from 25% --to 75%      the same part of both
      vtrace diff before after --fail-above 5%          in tests: returns 1 if the run became 5 % longer
      vtrace diff before after --fail-above 5% --select region=solve
    """
    from vtrace.reports import diff, sheet

    console, paths = output.console, diff.CallPaths()
    runs = [diff.read(trace, part, paths) for trace, part in zip(traces, parts, strict=True)]
    sort, relative = output.sort.removesuffix("%"), relative or output.sort.endswith("%")
    made = diff.sheets(runs[0], runs[1], paths=paths, sort=sort, relative=relative, per_rank=per_rank)
    notes = [f"{name}: {problem}" for name, run in zip("AB", runs, strict=True) for problem in run.problems]
    output.warn(notes)

    def head() -> dict[str, Any]:
        return {**{name: _about(run) for name, run in zip("ab", runs, strict=True)}, "per_rank": per_rank}

    def text() -> None:
        for name, run in zip("AB", runs, strict=True):
            say(_line(run), f"{name}  ", "   ")
            for line in run.caveats:
                say(line, "   ")
        click.echo("all numbers: average of one rank\n" if per_rank else "")
        sheet.show([each.cut(output.top, "--top shows more, all with --json") for each in made if each.rows])
        if not any(each.rows for each in made):
            click.echo("no differences")
        if runs[0].processes != runs[1].processes and not per_rank:
            console.note("the runs have different numbers of ranks: --per-rank compares averages of one rank")
        where = shell_word(Path(output.archives[1]))
        console.note(f"next: vtrace summary {where}   for all numbers of the second run")

    output.print([], made, head, text, notes=notes)
    _judge(console, runs, fail_above, output.patterns)


def _percent(text: str | None) -> float | None:
    """The number of 5% or 5. Raises UsageError."""
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"--fail-above {text} is not a percentage", "for example 5%")
    return value


def _judge(console: Console, runs: list[DiffRun], most: float | None, patterns: Patterns) -> None:
    """Ends the command with exit code 1 if the second run takes longer by more than most percent."""
    from vtrace.reports.diff import selected_time

    if most is None:
        return
    a, b = (selected_time(run, patterns) for run in runs)
    what = f"time of {patterns.text}" if patterns.all else "elapsed time"
    if not a:
        raise VtraceError(f"A has no {what}", "--select names regions, classes and paths of both runs")
    change = 100 * (b - a) / a
    console.note(f"{what}: {a / 1e9:.6g} s in A, {b / 1e9:.6g} s in B, {change:+.3g} %")
    if change > most:
        console.warn(f"the {what} grew by {change:.3g} %, more than {most:g} %")
        raise SystemExit(1)


def _about(run: DiffRun) -> dict[str, object]:
    trace = run.trace
    about = trace.vtrace.get("ABOUT", {})
    return {
        "archive": str(trace.path), "command": about.get("command", []), "duration_ns": trace.duration,
        "processes": run.processes, "locations": trace.locations.rows, "caveats": [*stale_lines(trace), *run.caveats],
    }  # fmt: skip


def _line(run: DiffRun) -> str:
    from vtrace.analysis.selection import Selection
    from vtrace.reports.report_numbers import about

    known = dict(about(run.trace, Selection()))
    command = f", {known['command']}" if "command" in known else ""
    counts = f"{some(run.processes, 'process', 'processes')}, {some(run.trace.locations.rows, 'location')}"
    return f"{known['archive']}: {counts}, {known['time']}{command}"
