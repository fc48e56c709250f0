# SPDX-License-Identifier: BSD-3-Clause
"""vtrace profile: show where the time went inside the program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.window import opened, operand, stale_lines, title, warn_of_caveats, window_options
from vtrace.console import Console, environment_level
from vtrace.errors import UsageError
from vtrace.text import json_text, plain

if TYPE_CHECKING:
    from vtrace.reports.profile_sheets import ProfileNumbers
    from vtrace.reports.sheet import Sheet

_UNITS = ("function", "loop", "line", "callpath", "rank", "thread")
"""Those of analysis/questions/cost_rows.py, repeated here: importing that module loads numpy."""
_SORTS = ("exclusive", "inclusive", "calls", "samples", "mpi", "barrier", "max", "name")


@click.command()
@click.argument("archive", shell_complete=complete_target)
@click.option("--by", type=click.Choice(_UNITS), default="function", show_default=True, help="One row for each ...")
@click.option("--sort", type=click.Choice(_SORTS), default="exclusive", show_default=True, help="Sort rows by this.")
@click.option("--top", metavar="N", type=click.IntRange(1), default=20, show_default=True, help="Rows to show.")
@click.option(
    "--select", "chosen", metavar="KIND=PATTERN", multiple=True,
    help="Only time of a region, class, path or location whose name matches PATTERN[,PATTERN...]; may be repeated.",
)  # fmt: skip
@click.option(
    "--source", "file", metavar="FILE", type=click.Path(path_type=Path),
    help="Print a source file with the time of each line.",
)  # fmt: skip
@window_options
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON; times in ns.")
@click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV; times in ns.")
def command(
    archive: str, by: str, sort: str, top: int, chosen: tuple[str, ...], file: Path | None, begin: str | None,
    end: str | None, ranks: str | None, helpers: bool, as_json: bool, as_csv: bool,
) -> None:  # fmt: skip
    """Recorded calls give exact times; samples give estimates with their standard error. ARCHIVE is a prefix, the
    directory of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      vtrace profile heat
      vtrace profile heat --by callpath --sort inclusive
      vtrace profile heat --by thread --select region=solve --from 25% --to 75%
      vtrace profile heat --by line --select 'class=user' --csv > lines.csv
      vtrace profile heat --by loop --sort inclusive
      vtrace profile heat --source heat.c
    """
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.reports import profile_sheets, sheet

    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other", "use one of them")
    console = Console("vtrace", environment_level("vtrace"))
    patterns = Patterns.of_options(chosen)
    trace = opened(archive)
    part = patterns.within(trace, Selection.of_options(trace, begin, end, ranks, helpers))
    numbers = profile_sheets.read(trace, part, "line" if file else by, patterns)
    most = None if as_json or as_csv else top
    made = profile_sheets.listing(numbers, file) if file else profile_sheets.sheet(numbers, sort, most)
    for note in numbers.notes:
        console.warn(note)
    if as_json:
        about = {"caveats": [*stale_lines(trace), *numbers.caveats], **_about(numbers)}
        click.echo(json_text({**about, **sheet.data([made]), "notes": numbers.notes}, indent=1))
    elif as_csv:
        warn_of_caveats(console, trace, part)
        click.echo(sheet.csv_text([made]), nl=False)
    else:
        _show(numbers, made if file else profile_sheets.shown(made), operand(Path(archive)))


def _about(numbers: ProfileNumbers) -> dict[str, Any]:
    trace = numbers.trace
    begin, end = numbers.window.ends(trace)
    return {
        "archive": str(trace.path), "creator": trace.creator, "by": numbers.by,
        "window": {"from_ns": begin, "to_ns": end, "text": numbers.window.text, "select": numbers.patterns.text},
        "time_ns": round(numbers.found.whole), "ranks": len(numbers.found.processes),
        "samples": int(numbers.costs.samples["count"].sum()),
    }  # fmt: skip


def _show(numbers: ProfileNumbers, made: Sheet, archive: str) -> None:
    from vtrace.reports import sheet

    click.echo(click.style(plain(title(numbers.trace)), bold=True))
    for line in numbers.caveats:
        click.echo(f"  {plain(line)}")
    if not made.rows:
        click.echo("no calls and no samples were recorded here")
        return
    sheet.show([made])
    console = Console("vtrace", environment_level("vtrace"))
    if numbers.by == "function":
        console.note(f"next: vtrace profile {archive} --by callpath   for the calls; --by line   for the lines")
    else:
        console.note(f"next: vtrace view {archive}   for the timeline")
