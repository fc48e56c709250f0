# SPDX-License-Identifier: BSD-3-Clause
"""Share: Write charts and tables of a trace into one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.trace_command import (
    Output,
    check_output,
    opened,
    output_option,
    size,
    title,
    titles,
    trace_command,
    warn_of_caveats,
)
from vtrace.console import vtrace_console
from vtrace.errors import UsageError
from vtrace.io.common.outfile import refuse_unmarked
from vtrace.text import plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace


def _check(values: dict[str, Any]) -> None:
    from vtrace.reports.comparison import MOST_RUNS

    if len(values["archive"]) > MOST_RUNS:
        raise UsageError(f"{len(values['archive'])} archives", f"vtrace report compares up to {MOST_RUNS}")


@trace_command(archives=-1, metavar="ARCHIVE [ARCHIVE [ARCHIVE]]", check=_check, output=output_option("html"))
def command(traces: list[Trace], parts: list[Selection], output: Output) -> None:
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
    _write(traces, parts, output.archives, output.path)


def write_of(archive: str, default: Path) -> None:
    """Writes the report of one archive, and prints its path. Raises VtraceError when the file default exists, or cannot
    be written."""
    from vtrace.analysis.selection import Selection

    trace = opened(archive)
    part = Selection.of_options(trace, None, end=None, ranks=None)
    _write([trace], [part], (archive,), default=default)


def _write(
    traces: list[Trace], parts: list[Selection], archives: tuple[str, ...], output: Path | None = None,
    *, default: Path | None = None,
) -> None:  # fmt: skip
    """Writes the report of the first trace, compared with the others. default: the path if output is None.

    Raises VtraceError when the file exists and output is None, or when the file cannot be written."""
    from vtrace.reports import report, report_numbers

    console = vtrace_console()
    word = shell_word(Path(archives[0]))
    path = output or default or Path(f"{title(traces[0])}.html")
    check_output(path)
    if not output:
        again = f"vtrace report {word} -o" if default else "-o"
        refuse_unmarked(path, f"replace it with {again} {shell_word(path)}, or give -o another name")
    report.plotly()
    runs = []
    for trace, part in zip(traces, parts, strict=True):
        warn_of_caveats(console, trace, part)
        runs.append(report_numbers.read(trace, part, compared=len(traces) > 1))
    names = titles(traces, archives)
    report.write(runs[0], f"{', '.join(names)} {runs[0].window.text}".strip(), path=path, names=names, others=runs[1:])
    for note in (note for run in runs for note in run.notes):
        console.warn(note)
    click.echo(plain(f"{path}: {size(path)}, open it in a browser"))
    if not traces[0].recorded_profile:
        console.note(f"next: vtrace view {word}   for the timeline")
