# SPDX-License-Identifier: BSD-3-Clause
"""vtrace timers: print the user-defined regions as timers, for scripts."""

from __future__ import annotations

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.part_options import opened, stale_lines, warn_of_caveats, window_options
from vtrace.console import Console, environment_level
from vtrace.text import json_text


@click.command()
@click.argument("archive", shell_complete=complete_target)
@click.option("--all", "every", is_flag=True, help="Print all regions, not only those of the user API.")
@click.option(
    "--format", "layout", type=click.Choice(("vtrace", "perf.hh")), default="vtrace", show_default=True,
    help="perf.hh: the JSON of the user-level timers of perf.hh; times in s.",
)  # fmt: skip
@window_options
def command(
    archive: str, every: bool, layout: str, begin: str | None, *, end: str | None, ranks: str | None, helpers: bool
) -> None:
    """The output is JSON. Each region (VT_USER_START, VT_TRACER, vtrace.user.region) on each thread is a timer. A timer
    has calls, min, max, mean and standard deviation, and the bytes and flops of counters with these units during the
    region. ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      vtrace timers heat
      vtrace timers heat | jq '.timers[] | select(.label == "solve") | .mean_ns'
      vtrace timers heat --all --ranks 0
      vtrace timers heat --format perf.hh
    """
    from vtrace.analysis.questions import timers
    from vtrace.analysis.selection import Selection
    from vtrace.compat import perf_hh

    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    part = Selection.of_options(trace, begin, end=end, ranks=ranks, helpers=helpers)
    caveats = warn_of_caveats(console, trace, part)
    if layout == "perf.hh":
        threads, notes = perf_hh.timers(trace, part, every)
        for note in notes:
            console.warn(note)
        click.echo(json_text(threads, indent=1))
        return
    found, notes = timers.timers(trace, part, every)
    for note in notes:
        console.warn(note)
    start, stop = part.ends(trace)
    lines = [*stale_lines(trace), *caveats]
    head = {"caveats": lines, "archive": str(trace.path), "creator": trace.creator, "from_ns": start, "to_ns": stop}
    click.echo(json_text({**head, "timers": found, "notes": notes}, indent=1))
    if not found and not every:
        console.note("no user-defined regions in this trace: --all prints all regions")
