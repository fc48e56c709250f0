# SPDX-License-Identifier: BSD-3-Clause
"""vtrace diff: show what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.part_options import opened, stale_lines, window_options
from vtrace.console import Console, environment_level, some
from vtrace.errors import UsageError, VtraceError
from vtrace.text import json_text, plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.selection import Patterns
    from vtrace.reports.diff import DiffRun


@click.command()
@click.argument("one", metavar="A", shell_complete=complete_target)
@click.argument("other", metavar="B", shell_complete=complete_target)
@click.option(
    "--sort", type=click.Choice(["exclusive", "inclusive", "calls"]), default="exclusive", show_default=True,
    help="Number of each call path to compare.",
)  # fmt: skip
@click.option("--relative", is_flag=True, help="Sort by change in percent.")
@click.option("--per-rank", is_flag=True, help="Divide all numbers by the number of ranks of their run.")
@click.option("--top", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Rows in each table.")
@click.option(
    "--select", "chosen", metavar="KIND=PATTERN", multiple=True,
    help="With --fail-above: compare the time of a region, class or path instead of the elapsed time; may be repeated.",
)  # fmt: skip
@click.option("--fail-above", metavar="P%", help="Return 1 if B takes more than P percent longer than A, such as 5%.")
@window_options
@click.option("--json", "as_json", is_flag=True, help="Print all rows of all tables as JSON; times in ns.")
def command(
    one: str, other: str, sort: str, relative: bool, *, per_rank: bool, top: int, chosen: tuple[str, ...],
    fail_above: str | None, begin: str | None, end: str | None, ranks: str | None, helpers: bool, as_json: bool,
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
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.reports import diff, sheet

    most, patterns = _percent(fail_above), Patterns.of_options(chosen)
    if chosen and most is None:
        raise UsageError("--select without --fail-above", "add --fail-above 5%")
    console = Console("vtrace", environment_level("vtrace"))
    traces = [opened(archive) for archive in (one, other)]
    paths = diff.CallPaths()
    runs = [
        diff.read(trace, Selection.of_options(trace, begin, end=end, ranks=ranks, helpers=helpers), paths)
        for trace in traces
    ]
    made = diff.sheets(runs[0], runs[1], paths=paths, sort=sort, relative=relative, per_rank=per_rank)
    notes = [f"{name}: {problem}" for name, run in zip("AB", runs, strict=True) for problem in run.problems]
    for note in notes:
        console.warn(note)
    if as_json:
        ends = {name: _about(run) for name, run in zip("ab", runs, strict=True)}
        click.echo(json_text({**ends, "per_rank": per_rank, **sheet.data(made), "notes": notes}, indent=1))
        _judge(console, runs, most, patterns)
        return
    for name, run in zip("AB", runs, strict=True):
        click.echo(f"{name}  {plain(_line(run))}")
        for line in run.caveats:
            click.echo(f"   {plain(line)}")
    click.echo("all numbers: average of one rank\n" if per_rank else "")
    sheet.show([each.cut(top, "--top shows more, all with --json") for each in made if each.rows])
    if not any(each.rows for each in made):
        click.echo("no differences")
    where = shell_word(Path(other))
    if runs[0].processes != runs[1].processes and not per_rank:
        console.note("the runs have different numbers of ranks: --per-rank compares averages of one rank")
    console.note(f"next: vtrace summary {where}   for all numbers of the second run")
    _judge(console, runs, most, patterns)


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
