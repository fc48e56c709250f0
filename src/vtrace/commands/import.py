# SPDX-License-Identifier: BSD-3-Clause
"""Share: Add another tool's intervals and values to an archive."""

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


@trace_command(window=False, output=new_archive_option(), json="Print the result as JSON.")
@click.argument("files", metavar="FILE.csv...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an archive that exists.")
def command(trace: Trace, _: Selection, output: Output, files: tuple[Path, ...], *, force: bool) -> None:
    """The files have intervals or values in VTune's format for external data; their names end with
    -hostname-HOST.csv. The first line is one of:

    \b
      name,start_tsc.CLOCK,end_tsc[,pid][,tid]
      tsc.CLOCK,NAME.COUNT|INST[,...][,pid][,tid]

    CLOCK is RDTSC, CLOCK_MONOTONIC_RAW or UTC. ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file.

    \b
    Examples:
      vtrace import heat phases-hostname-node1.csv -o both
      vtrace import heat power-hostname-*.csv -o both
    """
    from vtrace.transform.external_data import read_external
    from vtrace.transform.importing import import_data
    from vtrace.transform.new_archive import target

    assert output.path is not None  # -o is required
    console, where = output.console, target(output.path, force)
    made = import_data(trace, [read_external(path) for path in files], where, console)
    output.warn(made.notes)
    if output.as_json:
        about = {
            "archive": str(made.path), "of": str(trace.path), "lanes": made.lanes, "intervals": made.intervals,
            "values": made.values, "tables_left_out": list(made.left),
        }  # fmt: skip
        click.echo(json_text(about, indent=1))
        return
    what = f"{some(made.intervals, 'interval')}, {some(made.values, 'value')} on {some(made.lanes, 'location')}"
    click.echo(plain(f"{made.path}: {what}"))
    if made.left:
        console.note(f"not in the new archive: {', '.join(made.left)} (tables of the old one)")
    word = shell_word(made.path.with_suffix(""))
    console.note(f"next: vtrace summary {word}, vtrace view {word}")
