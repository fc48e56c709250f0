# SPDX-License-Identifier: BSD-3-Clause
"""vtrace diff: show what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.window import opened, operand, stale_lines, window_options
from vtrace.console import Console, environment_level, some
from vtrace.text import json_text, plain

if TYPE_CHECKING:
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
@window_options
@click.option("--json", "as_json", is_flag=True, help="Print all rows of all tables as JSON; times in ns.")
def command(
    one: str, other: str, sort: str, relative: bool, per_rank: bool, top: int, begin: str | None, end: str | None,
    ranks: str | None, helpers: bool, as_json: bool,
) -> None:  # fmt: skip
    """The largest changes from A to B stand first. Call paths, functions with samples, messages, collective operations
    and files are matched by name. A and B are prefixes, directories of OTF2 archives or their .otf2 files, written by
    any tool.

    \b
    Examples:
      vtrace diff before after
      vtrace diff before after --sort calls --top 5
      vtrace diff four.trace eight.trace --per-rank
      vtrace diff before after --from 25% --to 75%      the same part of both
    """
    from vtrace.analysis.selection import Selection
    from vtrace.reports import diff, sheet

    console = Console("vtrace", environment_level("vtrace"))
    traces = [opened(archive) for archive in (one, other)]
    paths = diff.CallPaths()
    runs = [diff.read(trace, Selection.of_options(trace, begin, end, ranks, helpers), paths) for trace in traces]
    made = diff.sheets(runs[0], runs[1], paths, sort, relative, per_rank)
    notes = [f"{name}: {problem}" for name, run in zip("AB", runs, strict=True) for problem in run.problems]
    for note in notes:
        console.warn(note)
    if as_json:
        ends = {name: _about(run) for name, run in zip("ab", runs, strict=True)}
        click.echo(json_text({**ends, "per_rank": per_rank, **sheet.data(made), "notes": notes}, indent=1))
        return
    for name, run in zip("AB", runs, strict=True):
        click.echo(f"{name}  {plain(_line(run))}")
        for line in run.caveats:
            click.echo(f"   {plain(line)}")
    click.echo("all numbers: average of one rank\n" if per_rank else "")
    sheet.show([each.cut(top, "--top shows more, all with --json") for each in made if each.rows])
    if not any(each.rows for each in made):
        click.echo("no differences")
    where = operand(Path(other))
    if runs[0].processes != runs[1].processes and not per_rank:
        console.note("the runs have different numbers of ranks: --per-rank compares averages of one rank")
    console.note(f"next: vtrace summary {where}   for all numbers of the second run")


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
