# SPDX-License-Identifier: BSD-3-Clause
"""vtrace export: a trace for other programs."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from vtrace.commands.completion import complete_target
from vtrace.commands.window import HELPERS_HELP, RANKS, RANKS_HELP, TIME, opened, operand, size, tell_caveats, title
from vtrace.console import Console, environment_level, some
from vtrace.errors import UsageError, VtraceError
from vtrace.io.common.outfile import refuse_unmarked
from vtrace.text import plain

_ENDINGS = {"perfetto": "pftrace", "chrome": "json", "csv": "csv", "parquet": "parquet"}


def _kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(kind) for kind in _ENDINGS if kind.startswith(incomplete)]


def _aims(words: tuple[str, ...]) -> tuple[str, str | None]:
    """What to write and where the window ends: both are said with --to."""
    kinds, ends = [word for word in words if word in _ENDINGS], [word for word in words if word not in _ENDINGS]
    if len(kinds) != 1 or len(ends) > 1:
        said = f"--to {' --to '.join(words)}" if words else "nothing says what to write"
        raise UsageError(said, f"--to {', --to '.join(_ENDINGS)}; a second --to is the end of the window")
    return kinds[0], ends[0] if ends else None


@click.command()
@click.argument("archive", shell_complete=complete_target)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="[default: ARCHIVE.ENDING here]")
@click.option(
    "--to", "aims", metavar="KIND|T", multiple=True, shell_complete=_kinds,
    help="What to write: perfetto, chrome, csv or parquet. Also: only what is before T.",
)  # fmt: skip
@click.option("--from", "begin", metavar="T", help=f"Only what is after {TIME}")
@click.option("--ranks", metavar=RANKS, help=RANKS_HELP)
@click.option("--helpers", is_flag=True, help=f"{HELPERS_HELP} csv and parquet have them always.")
@click.option(
    "--most", metavar="N", type=click.IntRange(1000), default=2_000_000, show_default=True,
    help="Calls for perfetto and chrome; of more the shortest are left out.",
)  # fmt: skip
def command(
    archive: str, aims: tuple[str, ...], output: Path | None, begin: str | None, ranks: str | None, helpers: bool,
    most: int,
) -> None:  # fmt: skip
    """Write a trace, or a part of it, for other programs.

    \b
    perfetto  the timeline for ui.perfetto.dev and trace_processor
    chrome    the timeline as JSON, for chrome://tracing and speedscope
    csv       all events, one a line; times in ns
    parquet   the same, for pandas, DuckDB and others (pip install pyarrow)

    \b
    Examples:
      vtrace export heat --to perfetto
      vtrace export heat --to csv -o part.csv --from 1s --to 1.2s --ranks 0-3
    """
    from vtrace.analysis.questions import timeline_data
    from vtrace.analysis.selection import Selection
    from vtrace.export import formats, perfetto

    kind, end = _aims(aims)
    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    path = output or Path(f"{title(trace)}.{_ENDINGS[kind]}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise VtraceError(f"cannot write {path}", "-o takes a file in a directory that exists")
    if not output:
        refuse_unmarked(path, f"-o {operand(path)} replaces it; -o also takes another name")
    part = Selection.of_options(trace, begin, end, ranks, helpers or kind in ("csv", "parquet"))
    tell_caveats(console, trace, part)
    if kind in ("csv", "parquet"):
        write = formats.write_csv if kind == "csv" else formats.write_parquet
        what = some(write(trace, part, path), "event")
        notes = trace.problems
    else:
        shown = timeline_data.gather(trace, part, most)
        (perfetto.write if kind == "perfetto" else formats.write_chrome)(shown, path)
        what, notes = f"{some(len(shown.calls), 'call')}, {some(shown.messages.rows, 'message')}", shown.notes
    for note in notes:
        console.warn(note)
    click.echo(plain(f"{path}: {what}, {size(path)}"))
