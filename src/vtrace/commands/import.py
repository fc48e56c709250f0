# SPDX-License-Identifier: BSD-3-Clause
"""vtrace import: add data that another tool recorded to a copy of an archive."""

from __future__ import annotations

from pathlib import Path

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.part_options import opened
from vtrace.console import Console, environment_level, some
from vtrace.text import json_text, plain, shell_word


@click.command()
@click.argument("archive", shell_complete=complete_target)
@click.argument("files", metavar="FILE.csv...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", metavar="NEW", type=click.Path(path_type=Path), required=True, help="Write the archive NEW.trace."
)
@click.option("--force", is_flag=True, help="Replace an archive that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(archive: str, files: tuple[Path, ...], output: Path, force: bool, *, as_json: bool) -> None:
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

    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    where = target(output, force)
    made = import_data(trace, [read_external(path) for path in files], where, console)
    for note in made.notes:
        console.warn(note)
    if as_json:
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
