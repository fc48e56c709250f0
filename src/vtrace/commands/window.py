# SPDX-License-Identifier: BSD-3-Clause
"""--from, --to, --ranks: options of the commands that look at a part of a trace."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.stale import stale, tell_of_stale
from vtrace.console import Console, environment_level

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace

_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1))
TIME = "T: 1.5 or 1.5s, 200ms, 40us, 7ns, or 25% of the trace."
RANKS, RANKS_HELP = "0-7,12", "Only these ranks; processes of a trace without MPI."

HELPERS_HELP = "Also threads that libraries made for themselves, such as MPI's progress threads."


def window_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; their values are the arguments begin, end, ranks and helpers."""
    for option in (
        click.option("--helpers", is_flag=True, help=HELPERS_HELP),
        click.option("--ranks", metavar=RANKS, help=RANKS_HELP),
        click.option("--to", "end", metavar="T", help="Only what is before T."),
        click.option("--from", "begin", metavar="T", help=f"Only what is after {TIME}"),
    ):
        function = option(function)
    return function


def opened(archive: str) -> Trace:
    """The archive; tells first where it is not of the last run, and what of its description is damaged. Raises
    VtraceError."""
    import vtrace

    trace = vtrace.open(archive)
    tell_of_stale(trace.path, trace.vtrace.get("ABOUT"))
    for line in trace.problems:
        Console("vtrace", environment_level("vtrace")).warn(line)
    return trace


def stale_lines(trace: Trace) -> list[str]:
    """What tell_of_stale says of the archive, for JSON, which may be read without standard error."""
    text = stale(trace.path, trace.vtrace.get("ABOUT"))
    return [text.removeprefix("warning: ")] if text else []


def tell_caveats(console: Console, trace: Trace, part: Selection) -> list[str]:
    """Says on standard error, before any number, what the numbers of this part cannot know; returns the lines."""
    lines = trace.caveats(**part.of_recording())
    for line in lines:
        console.warn(line)
    return lines


def title(trace: Trace) -> str:
    """What to call the trace: heat of heat.trace/traces.otf2."""
    name = trace.path.parent.name if trace.path.name == "traces.otf2" else trace.path.stem
    return name.removesuffix(".trace") or str(trace.path)


def operand(path: Path) -> str:
    """A path as one would type it."""
    try:
        near = os.path.relpath(path)
    except ValueError:
        near = str(path)
    return shlex.quote(str(path) if near.startswith("..") else near)


def size(path: Path) -> str:
    """The size of a file: 3.1 MB."""
    count = path.stat().st_size
    return next(f"{count / size:.3g} {unit}" for unit, size in _SIZES if count >= size or size == 1)
