# SPDX-License-Identifier: BSD-3-Clause
"""vtrace view: show the timeline in a browser."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from vtrace.commands.completion import complete_target
from vtrace.commands.window import opened, title, warn_of_caveats, window_options
from vtrace.console import Console, environment_level, some
from vtrace.errors import UsageError
from vtrace.text import plain

if TYPE_CHECKING:
    from vtrace.timeline.server import Server


@click.command()
@click.argument("archive", shell_complete=complete_target)
@window_options
@click.option(
    "--most", metavar="N", type=click.IntRange(1000), default=2_000_000, show_default=True,
    help="Show at most N calls: the longest ones.",
)  # fmt: skip
@click.option("--text", is_flag=True, help="Draw the timeline in the terminal; start no server.")
@click.option(
    "--width", metavar="N", type=click.IntRange(20, 10_000), help="Columns of --text [default: those of the terminal]."
)
@click.option(
    "--rows", metavar="N", type=click.IntRange(1, 100_000), default=40, show_default=True,
    help="Rows of --text: more locations share rows.",
)  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Print the address; open no browser.")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port [default: any free port].")
@click.option(
    "--idle", metavar="MINUTES", type=click.FloatRange(min=0.01), default=15, show_default=True,
    help="Stop after MINUTES without a request from the page.",
)  # fmt: skip
@click.pass_context
def command(
    context: click.Context, archive: str, begin: str | None, end: str | None, ranks: str | None, helpers: bool,
    most: int, text: bool, width: int | None, rows: int, no_browser: bool, port: int, idle: float,
) -> None:  # fmt: skip
    """A server on this machine serves Perfetto's user interface to this machine only: no data leaves the machine.
    ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      vtrace view heat                          opens a browser; Ctrl-C stops the server
      vtrace view heat --from 1.2s --to 1.3s    all calls in this range
      vtrace view heat --ranks 0-7,64
      vtrace view --no-browser heat             on a login node: prints the address
      vtrace view --text heat                   in the terminal, a letter for each step of time
    """
    others = ("width", "rows") if not text else ("most", "no_browser", "port", "idle")
    given = [name for name in others if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"{option} has no effect {'with' if text else 'without'} --text", "leave one of them out")
    if text:
        _draw(archive, begin, end, ranks, helpers, width, rows)
        return
    show(archive, begin, end, ranks, most, not no_browser, port, idle, helpers=helpers)


def _draw(
    archive: str, begin: str | None, end: str | None, ranks: str | None, helpers: bool, width: int | None, rows: int
) -> None:
    """Prints the timeline as text. Raises VtraceError."""
    from vtrace.analysis.selection import Selection
    from vtrace.timeline.text_picture import draw, duration_text, picture
    from vtrace.timeline.tile_cache import tiles_of

    console = Console("vtrace", environment_level("vtrace"))
    trace = opened(archive)
    part = Selection.of_options(trace, begin, end, ranks, helpers)
    warn_of_caveats(console, trace, part)
    width = width or shutil.get_terminal_size((120, 40)).columns
    shown = picture(trace, tiles_of(trace, console), part, width, rows)
    for line in trace.problems:
        console.warn(line)
    step = (shown.end - shown.begin) / shown.ns.shape[2]
    click.echo(f"{plain(title(trace))}: {some(len(part.rows(trace)), 'location')}, a column is {duration_text(step)}")
    for text in draw(shown, sys.stdout.isatty() and not os.environ.get("NO_COLOR")):
        click.echo(text, color=True)


def show(
    archive: str, begin: str | None = None, end: str | None = None, ranks: str | None = None, most: int = 2_000_000,
    browser: bool = True, port: int = 0, idle: float = 15, err: bool = False, helpers: bool = False,
) -> None:  # fmt: skip
    """Serves the timeline until no request has come for idle minutes, or until SIGINT or SIGTERM.

    err: prints the address on standard error, not on standard output. Raises VtraceError."""
    from vtrace.analysis.questions import timeline_data
    from vtrace.analysis.selection import Selection
    from vtrace.export import perfetto
    from vtrace.timeline.server import Server, interface

    console = Console("vtrace", environment_level("vtrace"))
    interface()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    trace = opened(archive)
    with tempfile.TemporaryDirectory(prefix="vtrace-view-") as scratch:
        file = Path(scratch) / "timeline.pftrace"
        part = Selection.of_options(trace, begin, end, ranks, helpers)
        caveats = warn_of_caveats(console, trace, part)
        shown = timeline_data.gather(trace, part, most)
        perfetto.write(shown, file)
        for note in shown.notes:
            console.warn(note)
        heading = f"{title(trace)} {shown.window.text}".strip()
        server = Server(file, heading, caveats, shown.notes, port)
        try:
            console.note(
                f"{some(len(shown.calls), 'call')} and {some(shown.messages.rows, 'message')}; Ctrl-C stops it"
            )
            click.echo(server.address, err=err)
            _open_or_explain(console, server, Path(scratch) / "open.html", browser)
            server.serve_while_used(idle * 60)
            console.note(f"no requests for {idle:g} minutes; server stopped")
        except KeyboardInterrupt:
            console.note("stopped")


def _open_or_explain(console: Console, server: Server, redirect: Path, browser: bool) -> None:
    """Opens a browser, or prints how to reach the page from another machine.

    All users of a machine see the arguments of a browser's command. So the browser gets the path of redirect, a file
    that only this user can read; the file holds the address with the token."""
    remote, port = "SSH_CONNECTION" in os.environ, server.port
    if browser and not remote:
        server.write_redirect(redirect)
        if webbrowser.open(redirect.as_uri()):
            return
    if remote or not browser:
        host = socket.getfqdn()
        console.note(f"on your own machine: ssh -L {port}:127.0.0.1:{port} {host}   then open the address there")
    else:
        console.note("no browser found: open the address yourself")
