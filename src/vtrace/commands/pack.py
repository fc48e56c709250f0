# SPDX-License-Identifier: BSD-3-Clause
"""Share: Write the local files of a run as a packed archive."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vtrace.commands.completion import complete_target
from vtrace.console import vtrace_console
from vtrace.errors import NoFilesError, VtraceError
from vtrace.text import plain, shell_word


@click.command()
@click.argument("archive", metavar="ARCHIVE|PREFIX", shell_complete=complete_target)
@click.option("-o", "name", metavar="NEW", help="Write NEW.vtz [default: ARCHIVE.vtz].")
@click.option("--force", is_flag=True, help="Replace a packed archive that exists.")
def command(archive: str, name: str | None, force: bool) -> None:
    """Needs the local files of the run, which vtunify -k keeps: a packed archive has their blocks. They stay.

    \b
    Examples:
      vtunify -k heat && vtrace pack u_heat.trace
      vtrace pack heat
    """
    from vtrace.commands.vtunify import summary
    from vtrace.unify.run import Request, unify

    given = Path(archive)
    console = vtrace_console()
    try:
        prefix = _prefix(given)
        stem = given.with_suffix("") if given.suffix == ".trace" else prefix
        request = Request(prefix=prefix, name=name or os.path.join(".", stem), keep=True, force=force, packed=True)
        written = unify(request, console)
    except NoFilesError as error:
        raise VtraceError(
            f"{archive}: the local files of its run are not there, and only these can be packed",
            "vtunify -k keeps them; vtunify --packed packs them",
        ) from error
    click.echo(plain(summary(written)))
    word = shell_word(written.archive)
    console.note(f"next: vtrace summary {word}, vtrace unpack {word}")


def _prefix(given: Path) -> Path:
    """The prefix of the local files of an archive, or of the prefix that the user gives. Raises VtraceError."""
    from vtrace.io.archive.overview import find_anchor, read_overview
    from vtrace.unify.discover.discover import find_run
    from vtrace.unify.discover.list_files import prefixes, resolve_prefix

    prefix = resolve_prefix(str(given))
    if given.parent.is_dir() and prefix.name in prefixes(given.parent):
        return prefix
    anchor = find_anchor(given)
    if anchor is None:
        return prefix
    about = read_overview(anchor).vtrace.get("ABOUT", {})
    beside = anchor.parent.parent / str(about.get("prefix", prefix.name))
    if find_run(beside, salvage=False, warn=lambda _: None).id.hex() != about.get("run"):
        raise NoFilesError(f"no local files of {given}")
    return beside
