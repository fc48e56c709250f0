# SPDX-License-Identifier: BSD-3-Clause
"""vtrace export: convert a trace for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from vtrace.commands.completion import complete_target
from vtrace.commands.part_options import (
    HELPERS_HELP,
    RANKS,
    RANKS_HELP,
    TIME,
    check_output,
    opened,
    output_option,
    size,
    title,
    warn_of_caveats,
)
from vtrace.console import Console, environment_level, some
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
}
"""Format -> ending of the file's name."""


def _complete_format(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(kind) for kind in _SUFFIXES if kind.startswith(incomplete)]


def _format_and_end(words: tuple[str, ...]) -> tuple[str, str | None]:
    """Splits the values of --to into the format and the end of the time range; raises UsageError."""
    kinds, ends = [word for word in words if word in _SUFFIXES], [word for word in words if word not in _SUFFIXES]
    if len(kinds) != 1 or len(ends) > 1:
        problem = f"--to {' --to '.join(words)}" if words else "no format given"
        raise UsageError(problem, f"--to {', --to '.join(_SUFFIXES)}; a second --to is the end of the time range")
    return kinds[0], ends[0] if ends else None


def _vtune(trace: Trace, part: Selection, path: Path, replace: bool) -> None:
    from vtrace.export import vtune

    made = vtune.write(trace, part, path, replace)
    for file in made:
        click.echo(plain(f"{file.path}: {some(file.lines, 'line')}, {size(file.path)}"))
    if not made:
        click.echo("no intervals and no values: no file written")


@click.command()
@click.argument("archive", shell_complete=complete_target)
@output_option("ENDING")
@click.option(
    "--to", "targets", metavar="FORMAT|T", multiple=True, shell_complete=_complete_format,
    help="Format: perfetto, chrome, speedscope, csv, parquet or vtune. Or a time: only events before T.",
)  # fmt: skip
@click.option("--from", "begin", metavar="T", help=f"Only events after {TIME}")
@click.option("--ranks", metavar=RANKS, help=RANKS_HELP)
@click.option("--helpers", is_flag=True, help=f"{HELPERS_HELP} csv, parquet and vtune always include these threads.")
@click.option(
    "--most", metavar="N", type=click.IntRange(1000), default=2_000_000, show_default=True,
    help="Write at most N calls to perfetto, chrome and speedscope: the longest ones; and N samples to speedscope.",
)  # fmt: skip
@click.option(
    "--waits", "with_waits", is_flag=True,
    help="Also write how long calls of MPI wait, and for whom: as arguments of the calls (perfetto, chrome), or in the "
    "columns wait, wait_ns and wait_for of their Leave (csv, parquet).",
)  # fmt: skip
def command(
    archive: str, targets: tuple[str, ...], output: Path | None, begin: str | None, *, ranks: str | None, helpers: bool,
    most: int, with_waits: bool,
) -> None:  # fmt: skip
    """\b
    perfetto    the timeline for ui.perfetto.dev and trace_processor
    chrome      the timeline as JSON, for chrome://tracing
    speedscope  the calls and the samples of each thread as JSON, for www.speedscope.app
    csv         all events, one per line; times in ns
    parquet     all events, for pandas, DuckDB and others (vtrace-otf2[parquet])
    vtune       intervals and values in the format of vtrace import, a file for each host: imported ones, or of an
                archive without these the calls and metrics of the threads

    \b
    Examples:
      vtrace export heat --to perfetto
      vtrace export heat --to perfetto --waits
      vtrace export heat --to csv -o part.csv --from 1s --to 1.2s --ranks 0-3
      vtrace export both --to vtune -o back
    """
    from vtrace.analysis.questions import timeline_data
    from vtrace.analysis.selection import Selection
    from vtrace.export import formats, perfetto, speedscope
    from vtrace.export.wait_arguments import read_waits

    kind, end = _format_and_end(targets)
    if with_waits and kind in ("speedscope", "vtune"):
        raise UsageError(f"--waits: the format {kind} has no place for waits", "use perfetto, chrome, csv or parquet")
    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    path = output or Path(f"{title(trace)}.{_SUFFIXES[kind]}")
    check_output(path)
    if not output and kind != "vtune":
        refuse_unmarked(path, f"replace it with -o {shell_word(path)}, or give -o another name")
    part = Selection.of_options(
        trace, begin, end=end, ranks=ranks, helpers=helpers or kind in ("csv", "parquet", "vtune")
    )
    said = warn_of_caveats(console, trace, part)
    if kind == "vtune":
        _vtune(trace, part, path, bool(output))
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
    for note in [*notes, *(line for line in unknown if line not in (*notes, *said))]:
        console.warn(note)
    click.echo(plain(f"{path}: {what}, {size(path)}"))
