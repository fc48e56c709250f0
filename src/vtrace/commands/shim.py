# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Build, list and remove MPI shims, one per MPI installation."""

from __future__ import annotations

from collections.abc import Callable

import click

from vtrace.errors import VtraceError
from vtrace.text import plain
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi
from vtrace.wrappers.mpi_shim.shim import clean_shims, list_shims, shim_library


@click.group()
def command() -> None:
    pass


def _of_mpi(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the argument MPICC, and its old name --mpicc."""
    named = click.option("--mpicc", "named", hidden=True)
    return click.argument("mpicc", metavar="[MPICC]", required=False)(named(function))


@command.command()
@_of_mpi
def build(mpicc: str | None, named: str | None) -> None:
    """Build the shim for an MPI and print the path of its library. vtrace-cc and vtrace run build shims themselves;
    for MPICH and Open MPI a wheel of vtrace brings the shims of vtrace run. MPICC is the MPI's compiler command
    [default: mpicc].

    LD_PRELOAD=LIBRARY records the MPI calls of a program that was built without vtrace.
    """
    click.echo(shim_library(_mpi(mpicc or named)))


@command.command("list")
def list_() -> None:
    """List the shims in the cache: MPI, number of wrapped functions, library, directory; separated by tabs."""
    for found in list_shims():
        cells = (found.label, f"{found.functions} functions", str(found.library), str(found.directory))
        click.echo("\t".join(map(plain, cells)))


@command.command()
@_of_mpi
def clean(mpicc: str | None, named: str | None) -> None:
    """Remove the shims of the MPI whose compiler command is MPICC, or all of them."""
    for removed in clean_shims(_mpi(mpicc or named).library if mpicc or named else None):
        click.echo(plain(f"removed {removed.directory} ({removed.label})"))


def _mpi(mpicc: str | None) -> Mpi:
    found = find_mpi(mpicc)
    if found is None:
        raise VtraceError(
            "no mpicc in PATH or beside Python", "name the compiler command with --mpicc, or pip install mpich"
        )
    return found
