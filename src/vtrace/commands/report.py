# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report: write charts and tables of a trace into one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.window import (
    check_output,
    opened,
    operand,
    output_option,
    size,
    title,
    warn_of_caveats,
    window_options,
)
from vtrace.console import Console, environment_level
from vtrace.io.common.outfile import refuse_unmarked
from vtrace.text import plain


@click.command()
@click.argument("archive", shell_complete=complete_target)
@output_option("html")
@window_options
def command(
    archive: str, output: Path | None, begin: str | None, end: str | None, ranks: str | None, helpers: bool
) -> None:
    """The file shows time, calls, messages, collective operations, files and the heap. A browser opens the file without
    a network. ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, written by any tool.

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
    """Writes the report, prints its path and returns the path. default: the path if output is None.

    Raises VtraceError when the file exists and output is None, or when the file cannot be written."""
    from vtrace.analysis.selection import Selection
    from vtrace.reports import report, report_numbers

    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    path = output or default or Path(f"{title(trace)}.html")
    check_output(path)
    if not output:
        again = f"vtrace report {operand(Path(archive))} -o" if default else "-o"
        refuse_unmarked(path, f"replace it with {again} {operand(path)}, or give -o another name")
    report.plotly()
    part = Selection.of_options(trace, begin, end, ranks, helpers)
    warn_of_caveats(console, trace, part)
    numbers = report_numbers.read(trace, part)
    report.write(numbers, f"{title(trace)} {numbers.window.text}".strip(), path)
    for note in numbers.notes:
        console.warn(note)
    click.echo(plain(f"{path}: {size(path)}, open it in a browser"))
    console.note(f"next: vtrace view {operand(Path(archive))}   for the timeline")
    return path
