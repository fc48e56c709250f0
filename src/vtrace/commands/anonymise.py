# SPDX-License-Identifier: BSD-3-Clause
"""Share: Write a copy of an archive without names of program and user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.commands.trace_command import Output, new_archive_option, trace_command
from vtrace.console import some
from vtrace.text import json_text, plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace


@trace_command(needs_events=True, window=False, output=new_archive_option(), json="Print the result as JSON.")
@click.option("--keep", metavar="PATTERN", multiple=True, help="Texts that stay, with * ? and [...]; may be repeated.")
@click.option(
    "--map", "map_file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Use the pseudonyms in FILE, if it exists, and write all there.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an archive that exists.")
def command(
    trace: Trace, selection: Selection, output: Output, *, keep: tuple[str, ...], map_file: Path | None, force: bool
) -> None:
    """The new archive has all events with their times, sizes, ranks, threads and lines. Pseudonyms such as function_1
    replace the names of functions, files, hosts, users, commands, communicators, counters and all other texts, but
    those of MPI, OpenMP and libc. Properties that vtrace does not know are left out. ARCHIVE is a prefix, the directory
    of an OTF2 archive or its .otf2 file, written by any tool.

    \b
    Examples:
      vtrace anonymise heat -o shared
      vtrace anonymise heat -o shared --keep solve --keep 'fft_*'
      vtrace anonymise heat -o shared --map names.json    # the same pseudonyms for the next run
    """
    from vtrace.transform.anonymise import anonymise
    from vtrace.transform.new_archive import target
    from vtrace.transform.pseudonyms import Pseudonyms

    assert output.path is not None  # -o is required
    pseudonyms = Pseudonyms(keep, {*trace.definitions.strings.values()})
    if map_file is not None:
        pseudonyms.read(map_file)
    made = anonymise(trace, target(output.path, force), pseudonyms, console=output.console)
    if map_file is not None:
        pseudonyms.write(map_file)
    if output.as_json:
        about = {
            "archive": str(made.path), "locations": made.locations, "events": made.events, "texts": made.texts,
            "tables_left_out": made.left,
        }  # fmt: skip
        click.echo(json_text(about, indent=1))
        return
    where = f"{some(made.locations, 'location')}, {some(made.events, 'event')}, {some(made.texts, 'pseudonym')}"
    click.echo(plain(f"{made.path}: {where}"))
    if made.left:
        output.console.note(f"left out: {', '.join(made.left)}")
    if map_file is not None:
        output.console.note(f"{plain(str(map_file))} has the names: do not share it")
    output.console.note(f"next: vtrace summary {shell_word(made.path.with_suffix(''))}")
