# SPDX-License-Identifier: BSD-3-Clause
"""After the run: Remove files that killed programs and runs of vtunify left."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vtrace.commands.completion import complete_target
from vtrace.console import CLICK_SETTINGS, Console
from vtrace.errors import UsageError, VtraceError
from vtrace.text import plain, shell_path

if TYPE_CHECKING:
    from vtrace.unify.discover.leftovers import Leftover

_EXAMPLES = """\b
Examples:
  vtrace clean heat               leftovers of a crashed run of heat, in VT_PFORM_LDIR too
  vtrace clean .                  all leftovers in this directory
  vtrace clean --dry-run /tmp     only shows them
  vtrace clean --yes heat         does not ask, for scripts
  vtrace clean --all heat         removes local files of earlier runs, too
  vtrace clean --all --other-hosts heat           after a job that was killed, on the login node
  mpiexec -n 4 -ppn 1 vtrace clean --yes heat     on all nodes of a job
"""


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.argument("target", metavar="PREFIX|DIR", shell_complete=complete_target)
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("-a", "--all", "local", is_flag=True, help="Include local files that vtunify can read.")
@click.option("--other-hosts", is_flag=True, help="Include files of other hosts; all processes there must have ended.")
@click.option("-y", "--yes", is_flag=True, help="Remove without asking.")
def command(target: str, dry_run: bool, local: bool, other_hosts: bool, *, yes: bool) -> None:
    """The files are buffers, and unfinished files and archives. Removing a buffer removes its events: run vtunify
    PREFIX first to get an archive. Files of processes that still record stay. Files of other hosts stay without
    --other-hosts, since only their own host shows whether they still record. Local files that vtunify can read without
    a buffer stay without --all.
    """
    from vtrace.unify.discover.leftovers import leftovers

    console, found = Console("vtrace clean"), leftovers(target, local)
    gone = [one for one in found if not one.keeper or (other_hosts and one.remote)]
    kept = [one for one in found if one not in gone]
    for one in kept:
        console.note(f"left alone, {one.keeper}: {one.path} ({one.what})")
    if not gone:
        console.note(f"nothing to remove{' here' if kept else f' in {target}'}")
        return
    for one in gone:
        click.echo(plain(f"{one.path}  ({one.what}, {_size(one.bytes)})"))
    total = f"{len(gone)} {'file' if len(gone) == 1 else 'files'}, {_size(sum(one.bytes for one in gone))}"
    if events := sorted({one.prefix for one in gone if one.holds_events}):
        console.note(f"events that may not be in an archive yet: vtunify reads them ({', '.join(events)})")
    if dry_run:
        console.note(f"would remove {total}")
    elif yes or _agreed(total):
        _remove(gone)
        console.note(f"removed {total}")


def _agreed(total: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nothing was removed: no terminal to ask the user", "--yes removes without asking")
    return click.confirm(f"Remove {total}?", err=True)


def _remove(gone: Sequence[Leftover]) -> None:
    for one in gone:
        try:
            if one.path.is_dir() and not one.path.is_symlink():
                shutil.rmtree(one.path)
            else:
                one.path.unlink(missing_ok=True)
        except OSError as error:
            raise VtraceError(f"{shell_path(one.path)} cannot be removed: {error.strerror}") from error


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.0f} KiB"
