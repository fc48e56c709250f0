# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Show the timeline of a trace in a browser."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from vtrace.commands.completion import complete_target
from vtrace.commands.trace_command import Window, check_output, opened, size, title, warn_of_caveats, window_options
from vtrace.console import Console, some, vtrace_console
from vtrace.errors import TileDamageError, UsageError
from vtrace.io.common.outfile import complete, refuse_unmarked
from vtrace.text import plain, shell_word
from vtrace.timeline.server import Server

if TYPE_CHECKING:
    from vtrace.timeline.viewer_site import ShownTrace


WHOLE = Window()
_ONLY_WITH = {"width": ("text",), "most": ("text", "perfetto")}
_NOT_WITH_TEXT = ("perfetto", "no_browser", "port", "idle", "save")
_NOT_WITH_SAVE = ("perfetto", "no_browser", "port", "idle")
_MOST_ROWS, _MOST_CALLS = 40, 2_000_000
"""The defaults of --most, with --text and with --perfetto."""


@click.command()
@click.argument("archives", metavar="ARCHIVE [SECOND]", nargs=-1, required=True, shell_complete=complete_target)
@window_options
@click.option("--perfetto", is_flag=True, help="Show Perfetto's page; needs pip install 'vtrace-otf2[perfetto]'.")
@click.option("--text", is_flag=True, help="Draw the timeline in the terminal; start no server.")
@click.option(
    "--most", "--rows", "most", metavar="N", type=click.IntRange(1),
    help="With --text: at most N rows, which locations share [default: 40]; with --perfetto: at most N calls, the "
    "longest ones [default: 2000000].",
)  # fmt: skip
@click.option(
    "--save",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Write the page into one file of at most 5 MB, which needs no server; start no server.",
)
@click.option("--width", type=click.IntRange(20, 10_000), hidden=True)
@click.option("--no-browser", is_flag=True, help="Print the address; open no browser.")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port [default: any free port].")
@click.option(
    "--idle", metavar="MINUTES", type=click.FloatRange(min=0.01), default=15, show_default=True,
    help="Stop after MINUTES without a request from the page.",
)  # fmt: skip
@click.pass_context
def command(
    context: click.Context, /, archives: tuple[str, ...], perfetto: bool, text: bool, *, most: int | None,
    save: Path | None, width: int | None, no_browser: bool, port: int, idle: float, **parts: Any,
) -> None:  # fmt: skip
    """A server on this machine serves the page to this machine only: no data leaves the machine. ARCHIVE is a prefix,
    the directory of an OTF2 archive or its .otf2 file, written by any tool. A SECOND archive is shown below the first
    one.

    \b
    Examples:
      vtrace view heat                          opens a browser; Ctrl-C stops the server
      vtrace view heat --from 1.2s --to 1.3s    begins with this range
      vtrace view heat --ranks 0-7,64
      vtrace view before after                  two runs, one above the other
      vtrace view --no-browser heat             on a login node: prints the address
      vtrace view --text heat                   in the terminal, a letter for each step of time
      vtrace view --save page.html heat         one file to share, which a browser opens without a server
    """
    chosen = {"text": text, "perfetto": perfetto, "save": save is not None}
    names = [*_ONLY_WITH, *_NOT_WITH_TEXT]
    for name in (name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE):
        needed = _ONLY_WITH.get(name, ())
        said = "" if not needed or any(chosen[one] for one in needed) else f"without --{' or --'.join(needed)}"
        for mode, others in (("text", _NOT_WITH_TEXT), ("save", _NOT_WITH_SAVE)):
            said = f"with --{mode}" if chosen[mode] and name in others else said
        if said:
            raise UsageError(f"--{name.replace('_', '-')} has no effect {said}", "leave one of them out")
    if len(archives) > (1 if text or perfetto else 2):
        raise UsageError(
            f"{len(archives)} archives are too many", "vtrace view A B shows two, --text and --perfetto one"
        )
    window = Window.taken(parts)
    if save is not None:
        _save(archives, window, save)
    elif text:
        _draw(archives[0], window, width, most or _MOST_ROWS)
    elif perfetto:
        _show_perfetto(archives[0], window, most=most or _MOST_CALLS, browser=not no_browser, port=port, idle=idle)
    else:
        show(*archives, window=window, browser=not no_browser, port=port, idle=idle)


def _draw(archive: str, window: Window, width: int | None, rows: int) -> None:
    """Prints the timeline as text. Raises VtraceError."""
    from vtrace.timeline.text_picture import draw, duration_text, picture
    from vtrace.timeline.tile_cache import rebuilt, tiles_of

    console = vtrace_console()
    trace = opened(archive, needs_events=True)
    part = window.of(trace, lanes=True)
    warn_of_caveats(console, trace, part)
    width = width or shutil.get_terminal_size((120, 40)).columns
    try:
        shown = picture(trace, tiles_of(trace, console), window=part, width=width, most_rows=rows)
    except TileDamageError as error:
        shown = picture(trace, rebuilt(trace, console, error), window=part, width=width, most_rows=rows)
    for line in trace.problems:
        console.warn(line)
    step = (shown.end - shown.begin) / shown.ns.shape[2]
    click.echo(f"{plain(title(trace))}: {some(len(part.rows(trace)), 'location')}, a column is {duration_text(step)}")
    for text in draw(shown, sys.stdout.isatty() and not os.environ.get("NO_COLOR")):
        click.echo(text, color=True)


def _save(archives: tuple[str, ...], window: Window, path: Path) -> None:
    """Writes the page into one file. Raises VtraceError, also if a file exists that vtrace did not write."""
    if path.suffix != ".html":
        raise UsageError(f"--save {path} is not the name of a page", "give a name that ends in .html")
    check_output(path, "--save")
    refuse_unmarked(path, "give --save another name")
    from vtrace.timeline.viewer_site import ViewerSite

    console = vtrace_console()
    site = ViewerSite([partial(_shown, archive, window, console) for archive in archives], console)
    with complete(path, "wb") as file:
        file.write(site.saved())
    click.echo(plain(f"{path}: {size(path)}, open it in a browser"))


def show(
    *archives: str, window: Window = WHOLE, browser: bool = True, port: int = 0, idle: float = 15, err: bool = False
) -> None:
    """Serves the timeline of one or two archives until no request has come for idle minutes, or until SIGINT or
    SIGTERM.

    err: prints the address on standard error, not on standard output. Raises VtraceError."""
    from vtrace.timeline.viewer_site import ViewerSite

    console = vtrace_console()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    site = ViewerSite([partial(_shown, archive, window, console) for archive in archives], console)
    events = sum(int(each.trace.locations["events"].sum()) for each in site.shown)
    what = f"{some(events, 'event')} of {some(sum(len(each.rows.order) for each in site.shown), 'location')}"
    _serve(console, Server(site, port), what=what, browser=browser, idle=idle, err=err)


def _shown(archive: str, window: Window, console: Console) -> ShownTrace:
    """Opens a trace for the page. Raises VtraceError."""
    from vtrace.timeline.tile_cache import tiles_of
    from vtrace.timeline.viewer_site import ShownTrace

    trace = opened(archive, needs_events=True)
    part = window.of(trace, lanes=True)
    caveats = warn_of_caveats(console, trace, part)
    known = list(trace.problems)
    tiles = tiles_of(trace, console)
    for line in trace.problems[len(known) :]:
        console.warn(line)
    command = f"vtrace view {shell_word(trace.path)}"
    return ShownTrace(
        trace=trace,
        part=part,
        tiles=tiles,
        title=title(trace),
        command=command,
        caveats=caveats,
        options=window.of_locations(),
    )


def _show_perfetto(archive: str, window: Window, most: int, browser: bool, *, port: int, idle: float) -> None:
    """Serves Perfetto's page with the longest calls of a part. Raises VtraceError."""
    from vtrace.analysis.questions import timeline_data
    from vtrace.export import perfetto
    from vtrace.timeline.perfetto_site import PerfettoSite, interface

    console = vtrace_console()
    interface()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    trace = opened(archive, needs_events=True)
    with tempfile.TemporaryDirectory(prefix="vtrace-view-") as scratch:
        file = Path(scratch) / "timeline.pftrace"
        part = window.of(trace, lanes=True)
        caveats = warn_of_caveats(console, trace, part)
        shown = timeline_data.gather(trace, part, most)
        perfetto.write(shown, file)
        for note in shown.notes:
            console.warn(note)
        heading = f"{title(trace)} {shown.window.text}".strip()
        what = f"{some(len(shown.calls), 'call')} and {some(shown.messages.rows, 'message')}"
        _serve(
            console,
            Server(PerfettoSite(file, heading, caveats, shown.notes), port),
            what=what,
            browser=browser,
            idle=idle,
            err=False,
        )


def _serve(console: Console, server: Server, what: str, browser: bool, *, idle: float, err: bool) -> None:
    """Prints the address, opens a browser, and serves. what: the contents of the page."""
    with tempfile.TemporaryDirectory(prefix="vtrace-view-") as scratch:
        try:
            console.note(f"{what}; Ctrl-C stops it")
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
