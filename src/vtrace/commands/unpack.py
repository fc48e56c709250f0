# SPDX-License-Identifier: BSD-3-Clause
"""Share: Make an OTF2 archive of a packed one."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vtrace.commands.completion import complete_target
from vtrace.console import some, vtrace_console
from vtrace.errors import VtraceError
from vtrace.text import plain, shell_word


@click.command()
@click.argument("archive", metavar="FILE.vtz", shell_complete=complete_target)
@click.option(
    "-o", "--output", metavar="NEW", type=click.Path(path_type=Path), help="Write NEW.trace [default: FILE.trace]."
)
@click.option("--force", is_flag=True, help="Replace an archive that exists.")
def command(archive: str, output: Path | None, force: bool) -> None:
    """The new archive has the same events, definitions and tables that vtunify writes without --packed.

    \b
    Examples:
      vtrace unpack heat.vtz
      vtrace unpack heat.vtz -o whole
    """
    unpack_to(archive, output, force)


def unpack_to(archive: str, output: Path | None, force: bool) -> None:
    """Unpacks a packed archive, and says so. output: None for the file's own name. Raises VtraceError."""
    from vtrace.io.archive.overview import find_anchor
    from vtrace.io.common.names import PACKED
    from vtrace.io.packed.opened import anchor_of, packed_of
    from vtrace.transform.new_archive import target
    from vtrace.transform.unpack import unpack

    path = find_anchor(Path(archive))
    if path is None or path.suffix != PACKED:
        raise VtraceError(f"{archive} is not a packed archive", "vtunify --packed writes one, with the ending .vtz")
    packed = packed_of(anchor_of(path))
    assert packed is not None  # anchor_of has just opened it
    console = vtrace_console()
    made = unpack(packed, target(output or path.with_suffix(""), force), console, min(len(os.sched_getaffinity(0)), 8))
    for line in made.problems:
        console.warn(line)
    click.echo(plain(f"{made.path}: {some(made.locations, 'location')}"))
    word = shell_word(made.path.with_suffix(""))
    console.note(f"next: vtrace summary {word}, vtrace view {word}")
