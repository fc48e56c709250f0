# SPDX-License-Identifier: BSD-3-Clause
"""Share: Write a part of an archive as a smaller archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.commands.trace_command import Output, new_archive_option, trace_command
from vtrace.console import some
from vtrace.text import json_text, plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace


@trace_command(
    needs_events=True, helpers=True, output=new_archive_option(), json="Print the result as JSON; times in ns.",
    select="Only calls of a region, class, domain, category, path or location matching PATTERN[,...]; repeatable.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an archive that exists.")
def command(trace: Trace, selection: Selection, output: Output, force: bool) -> None:
    """The new archive has the events of a window, of some ranks, locations or regions, and only the definitions that
    these need. A call across an edge of the window begins or ends there. A message stays if both of its ends do.
    ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      vtrace cut heat --from 1s --to 1.2s -o slow
      vtrace cut heat --ranks 0-3 --to 10% -o begin
      vtrace cut heat --select 'region=MPI_*' -o calls
    """
    from vtrace.transform.cut import cut
    from vtrace.transform.new_archive import target

    assert output.path is not None  # -o is required
    console, patterns = output.console, output.patterns
    part = patterns.within(trace, selection)
    made = cut(trace, part, patterns=patterns, output=target(output.path, force), console=console)
    if made.early:
        console.warn(f"{some(made.early, 'time')} would have gone backwards: set to the previous time")
    if any(kind != "location" for kind, _ in patterns.all) and not _has_calls(made.path):
        console.warn("; ".join([f"no calls match {patterns.text}", *patterns.unmatched(trace)]))
    if made.stray:
        console.warn(f"{some(made.stray, 'leave without an enter', 'leaves without an enter')} left out")
    if output.as_json:
        about = {
            "archive": str(made.path), "of": str(trace.path), "locations": made.locations, "events": made.events,
            "halves_left_out": made.halves, "duration_ns": made.duration, "tables": list(made.tables),
            "tables_left_out": list(made.left),
        }  # fmt: skip
        click.echo(json_text(about, indent=1))
        return
    halves = f", {some(made.halves, 'half', 'halves')} of messages and operations left out" if made.halves else ""
    where = f"{some(made.locations, 'location')}, {some(made.events, 'event')}, {made.duration / 1e9:.6g} s"
    click.echo(plain(f"{made.path}: {where}{halves}"))
    if made.left:
        console.note(f"not in the cut: {', '.join(made.left)} (tables of the whole run)")
    word = shell_word(made.path.with_suffix(""))
    console.note(f"next: vtrace summary {word}, vtrace view {word}")


def _has_calls(archive: Path) -> bool:
    """A cut defines only the regions that its calls need."""
    import vtrace

    return bool((vtrace.open(archive).regions["id"] >= 0).any())
