# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report: a trace as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.window import opened, operand, size, tell_caveats, title, window_options
from vtrace.console import Console, environment_level
from vtrace.errors import VtraceError
from vtrace.io.common.outfile import refuse_unmarked
from vtrace.text import plain


@click.command()
@click.argument("archive", shell_complete=complete_target)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="[default: ARCHIVE.html here]")
@window_options
def command(
    archive: str, output: Path | None, begin: str | None, end: str | None, ranks: str | None, helpers: bool
) -> None:
    """Write what a trace tells into one HTML file.

    It has charts and tables of time, calls, messages, collective operations, files and the heap, and needs no network.
    ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, of any tool.

    \b
    Examples:
      vtrace report heat                      writes heat.html
      vtrace report heat -o report.html --from 25% --to 75%
      vtrace report heat --ranks 0-7
    """
    write(archive, output, begin, end, ranks, helpers)


def write(
    archive: str, output: Path | None = None, begin: str | None = None, end: str | None = None,
    ranks: str | None = None, helpers: bool = False, default: Path | None = None,
) -> Path:  # fmt: skip
    """Writes the report and says where it is. default: the name without output."""
    from vtrace.analysis.selection import Selection
    from vtrace.reports import report, report_numbers

    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    path = output or default or Path(f"{title(trace)}.html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise VtraceError(f"cannot write {path}", "-o takes a file in a directory that exists")
    if not output:
        again = f"vtrace report {operand(Path(archive))} -o" if default else "-o"
        refuse_unmarked(path, f"{again} {operand(path)} replaces it; -o also takes another name")
    report.plotly()
    part = Selection.of_options(trace, begin, end, ranks, helpers)
    tell_caveats(console, trace, part)
    numbers = report_numbers.read(trace, part)
    report.write(numbers, f"{title(trace)} {numbers.window.text}".strip(), path)
    for note in numbers.notes:
        console.warn(note)
    click.echo(plain(f"{path}: {size(path)}, open it in a browser"))
    console.note(f"next: vtrace view {operand(Path(archive))}   for the timeline itself")
    return path
