# SPDX-License-Identifier: BSD-3-Clause
"""vtrace report: write charts and tables of a trace into one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.part_options import (
    check_output,
    opened,
    output_option,
    size,
    title,
    titles,
    warn_of_caveats,
    window_options,
)
from vtrace.console import Console, environment_level
from vtrace.errors import UsageError
from vtrace.io.common.outfile import refuse_unmarked
from vtrace.text import plain, shell_word


@click.command()
@click.argument(
    "archives", nargs=-1, required=True, metavar="ARCHIVE [ARCHIVE [ARCHIVE]]", shell_complete=complete_target
)
@output_option("html")
@window_options
def command(
    archives: tuple[str, ...],
    output: Path | None,
    begin: str | None,
    end: str | None,
    *,
    ranks: str | None,
    helpers: bool,
) -> None:
    """The file shows time, calls, messages, collective operations, files and the heap. A browser opens the file without
    a network. Needs pip install 'vtrace-otf2[report]'. ARCHIVE is a prefix, the directory of an OTF2 archive or its
    .otf2 file, written by any tool. Given two or three archives, the file shows the first one and compares it with the
    others.

    \b
    Examples:
      vtrace report heat                      writes heat.html
      vtrace report heat -o report.html --from 25% --to 75%
      vtrace report heat --ranks 0-7
      vtrace report one two three             compares three runs
    """
    write(archives[0], output, begin=begin, end=end, ranks=ranks, helpers=helpers, others=archives[1:])


def write(
    archive: str, output: Path | None = None, begin: str | None = None, end: str | None = None,
    *, ranks: str | None = None, helpers: bool = False, default: Path | None = None, others: tuple[str, ...] = (),
) -> Path:  # fmt: skip
    """Writes the report, prints its path and returns the path. default: the path if output is None. others: at most two
    archives to compare with.

    Raises VtraceError when the file exists and output is None, or when the file cannot be written."""
    from vtrace.analysis.selection import Selection
    from vtrace.reports import report, report_numbers
    from vtrace.reports.profile_comparison import MOST_RUNS

    if len(others) >= MOST_RUNS:
        raise UsageError(f"{len(others) + 1} archives", f"vtrace report compares up to {MOST_RUNS}")
    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    path = output or default or Path(f"{title(trace)}.html")
    check_output(path)
    if not output:
        again = f"vtrace report {shell_word(Path(archive))} -o" if default else "-o"
        refuse_unmarked(path, f"replace it with {again} {shell_word(path)}, or give -o another name")
    report.plotly()
    runs = []
    for one in (trace, *map(opened, others)):
        part = Selection.of_options(one, begin, end=end, ranks=ranks, helpers=helpers)
        warn_of_caveats(console, one, part)
        runs.append(report_numbers.read(one, part, compared=bool(others)))
    names = titles([run.trace for run in runs], (archive, *others))
    report.write(runs[0], f"{', '.join(names)} {runs[0].window.text}".strip(), path=path, names=names, others=runs[1:])
    for note in (note for run in runs for note in run.notes):
        console.warn(note)
    click.echo(plain(f"{path}: {size(path)}, open it in a browser"))
    console.note(f"next: vtrace view {shell_word(Path(archive))}   for the timeline")
    return path
