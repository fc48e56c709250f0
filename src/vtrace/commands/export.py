# SPDX-License-Identifier: BSD-3-Clause
"""Share: Convert a trace, or a part of it, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from vtrace.commands.trace_command import (
    Output,
    check_output,
    output_option,
    size,
    title,
    trace_command,
    warn_of_caveats,
)
from vtrace.console import some
from vtrace.errors import UsageError
from vtrace.io.common.outfile import refuse_unmarked
from vtrace.text import plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace

_SUFFIXES = {
    "perfetto": "pftrace",
    "chrome": "json",
    "speedscope": "speedscope.json",
    "csv": "csv",
    "parquet": "parquet",
    "vtune": "csv",
    "otf2": "trace",
}
"""Format -> ending of the file's name."""
_EVERY_THREAD = ("csv", "parquet", "vtune")
"""Formats that always have helper threads."""


def _complete_format(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(kind) for kind in _SUFFIXES if kind.startswith(incomplete)]


def _check(values: dict[str, Any]) -> None:
    """Splits the values of --to into the format and the end of the time range; raises UsageError."""
    words = values.pop("targets")
    kinds, ends = [word for word in words if word in _SUFFIXES], [word for word in words if word not in _SUFFIXES]
    if len(kinds) != 1 or len(ends) > 1:
        problem = f"--to {' --to '.join(words)}" if words else "no format given"
        raise UsageError(problem, f"--to {', --to '.join(_SUFFIXES)}; a second --to is the end of the time range")
    values["kind"], values["end"] = kinds[0], ends[0] if ends else None
    values["helpers"] |= kinds[0] in _EVERY_THREAD
    if values["with_waits"] and kinds[0] in ("speedscope", "vtune"):
        raise UsageError(
            f"--waits: the format {kinds[0]} has no place for waits", "use perfetto, chrome, csv or parquet"
        )


def _vtune(trace: Trace, part: Selection, path: Path, replace: bool) -> None:
    from vtrace.export import vtune

    made = vtune.write(trace, part, path, replace)
    for file in made:
        click.echo(plain(f"{file.path}: {some(file.lines, 'line')}, {size(file.path)}"))
    if not made:
        click.echo("no intervals and no values: no file written")


@trace_command(needs_events=True, check=_check, output=output_option("ENDING"))
@click.option(
    "--to", "targets", metavar="FORMAT|T", multiple=True, shell_complete=_complete_format,
    help="Format: perfetto, chrome, speedscope, csv, parquet, vtune or otf2. Or a time: only events before T.",
)  # fmt: skip
@click.option(
    "--most", metavar="N", type=click.IntRange(1000), default=2_000_000, show_default=True,
    help="Write at most N calls to perfetto, chrome and speedscope: the longest ones; and N samples to speedscope.",
)  # fmt: skip
@click.option(
    "--waits", "with_waits", is_flag=True,
    help="Also write how long calls of MPI wait, and for whom: as arguments of the calls (perfetto, chrome), or in the "
    "columns wait, wait_ns and wait_for of their Leave (csv, parquet).",
)  # fmt: skip
def command(trace: Trace, part: Selection, output: Output, most: int, *, with_waits: bool, kind: str) -> None:
    """\b
    perfetto    the timeline for ui.perfetto.dev and trace_processor
    chrome      the timeline as JSON, for chrome://tracing
    speedscope  the calls and the samples of each thread as JSON, for www.speedscope.app
    csv         all events, one per line; times in ns
    parquet     all events, for pandas, DuckDB and others (vtrace-otf2[parquet])
    vtune       intervals and values in the format of vtrace import, a file for each host: imported ones, or of an
                archive without these the calls and metrics of the threads
    otf2        the OTF2 archive of a packed one, like vtrace unpack; cut writes a part of it

    csv, parquet and vtune always have helper threads of libraries.

    \b
    Examples:
      vtrace export heat --to perfetto
      vtrace export heat --to perfetto --waits
      vtrace export heat --to csv -o part.csv --from 1s --to 1.2s --ranks 0-3
      vtrace export both --to vtune -o back
    """
    from vtrace.analysis.questions import timeline_data
    from vtrace.export import formats, perfetto, speedscope
    from vtrace.export.wait_arguments import read_waits

    if kind == "otf2":
        from vtrace.commands.unpack import unpack_to

        unpack_to(str(trace.path), output.path, force=False)
        return
    path = output.path or Path(f"{title(trace)}.{_SUFFIXES[kind]}")
    check_output(path)
    if not output.path and kind != "vtune":
        refuse_unmarked(path, f"replace it with -o {shell_word(path)}, or give -o another name")
    said = warn_of_caveats(output.console, trace, part)
    if kind == "vtune":
        _vtune(trace, part, path, bool(output.path))
        return
    waits, unknown = read_waits(trace, part) if with_waits else (None, [])
    if kind in ("csv", "parquet"):
        write = formats.write_csv if kind == "csv" else formats.write_parquet
        what = some(write(trace, part, path, waits), "event")
        notes = trace.problems
    elif kind == "speedscope":
        made = speedscope.gather(trace, part, most)
        speedscope.write(made, path)
        what, notes = f"{some(len(made.calls), 'call')}, {some(made.samples, 'sample')}", made.notes
    else:
        shown = timeline_data.gather(trace, part, most)
        shown.waits = waits
        (perfetto.write if kind == "perfetto" else formats.write_chrome)(shown, path)
        what, notes = f"{some(len(shown.calls), 'call')}, {some(shown.messages.rows, 'message')}", shown.notes
    output.warn([*notes, *(line for line in unknown if line not in (*notes, *said))])
    click.echo(plain(f"{path}: {what}, {size(path)}"))
