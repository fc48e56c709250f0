# SPDX-License-Identifier: BSD-3-Clause
"""vtrace regions: the names of the regions that were called, for scripts."""

from __future__ import annotations

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.window import opened
from vtrace.text import plain


@click.command()
@click.argument("archive", shell_complete=complete_target)
def command(archive: str) -> None:
    """Print the names of the regions that were called, one a line, ascending.

    ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, of any tool.

    \b
    Examples:
      vtrace regions heat
      vtrace regions heat | grep -v ^MPI_
    """
    trace = opened(archive)
    for name in sorted(set(trace.regions["name"][trace.profile()["region"]])):
        click.echo(plain(name))
