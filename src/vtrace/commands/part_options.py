# SPDX-License-Identifier: BSD-3-Clause
"""--from, --to, --ranks, --helpers: options that select a part of a trace; and help for commands that read archives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.stale import stale, warn_if_stale
from vtrace.console import Console, environment_level
from vtrace.errors import VtraceError
from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.analysis.trace import Trace

_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1))
TIME = "T: 1.5 or 1.5s, 200ms, 40us, 7ns, or 25% of the trace."
RANKS, RANKS_HELP = "0-7,12", "Only these ranks; without MPI, only these processes."

HELPERS_HELP = "Include helper threads of libraries, such as MPI's progress threads."


def window_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a click command; their values are the arguments begin, end, ranks and helpers."""
    for option in (
        click.option("--helpers", is_flag=True, help=HELPERS_HELP),
        click.option("--ranks", metavar=RANKS, help=RANKS_HELP),
        click.option("--to", "end", metavar="T", help="Only events before T."),
        click.option("--from", "begin", metavar="T", help=f"Only events after {TIME}"),
    ):
        function = option(function)
    return function


def output_option(ending: str) -> Callable[..., Any]:
    """The option -o of a command that writes one file; its value is the argument output. ending: of the default."""
    return click.option(
        "-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
        help=f"Write to FILE [default: ARCHIVE.{ending} here].",
    )  # fmt: skip


def check_output(path: Path) -> None:
    """Raises VtraceError if no file can have this path."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise VtraceError(f"cannot write {path}", "give -o a file name in an existing directory")


def opened(archive: str) -> Trace:
    """Opens an archive. Warns on standard error if the archive is older than the last run or its definitions are
    damaged. Raises VtraceError."""
    import vtrace

    trace = vtrace.open(archive)
    warn_if_stale(trace.path, trace.vtrace.get("ABOUT"))
    for line in trace.problems:
        Console("vtrace", environment_level("vtrace")).warn(line)
    return trace


def stale_lines(trace: Trace) -> list[str]:
    """The warning of warn_if_stale as a list of at most one line, for JSON output."""
    text = stale(trace.path, trace.vtrace.get("ABOUT"))
    return [text.removeprefix("warning: ")] if text else []


def warn_of_caveats(console: Console, trace: Trace, part: Selection) -> list[str]:
    """Prints the caveats of this part of the trace on standard error, before any result; returns the lines."""
    lines = part.caveats(trace)
    for line in lines:
        console.warn(line)
    return lines


def selected_part(
    console: Console, trace: Trace, patterns: Patterns, begin: str | None, *, end: str | None, ranks: str | None,
    helpers: bool,
) -> Selection:  # fmt: skip
    """The part of a trace that --select and the options of window_options choose. Warns of names that match nothing.
    Raises UsageError."""
    from vtrace.analysis.selection import Selection

    for line in patterns.unmatched(trace):
        console.warn(f"--select: {line}")
    return patterns.within(trace, Selection.of_options(trace, begin, end=end, ranks=ranks, helpers=helpers))


def title(trace: Trace) -> str:
    """The name of the trace: heat for heat.trace/traces.otf2."""
    name = trace.path.parent.name if trace.path.name == "traces.otf2" else trace.path.stem
    return name.removesuffix(".trace") or str(trace.path)


def titles(traces: Sequence[Trace], given: Sequence[str]) -> list[str]:
    """The names of traces; as the user gave the archives if two names are the same."""
    names = [title(trace) for trace in traces]
    return names if len(set(names)) == len(names) else [plain(each) for each in given]


def size(path: Path) -> str:
    """The size of a file in text, such as 3.1 MB."""
    count = path.stat().st_size
    return next(f"{count / size:.3g} {unit}" for unit, size in _SIZES if count >= size or size == 1)
