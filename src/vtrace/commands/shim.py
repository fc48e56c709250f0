# SPDX-License-Identifier: BSD-3-Clause
"""vtrace shim: build, list and remove the MPI shims in the cache."""

from __future__ import annotations

import click

from vtrace.errors import VtraceError
from vtrace.text import plain
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi
from vtrace.wrappers.mpi_shim.shim import clean_shims, list_shims, shim_library


@click.group()
def shim() -> None:
    pass


_MPICC = click.option("--mpicc", metavar="CMD", help="The MPI's compiler command [default: mpicc].")


@shim.command()
@_MPICC
def build(mpicc: str | None) -> None:
    """Build the shim for an MPI and print the path of its library. vtrace-cc and vtrace run build shims themselves;
    for MPICH and Open MPI a wheel of vtrace brings the shims of vtrace run.

    LD_PRELOAD=LIBRARY records the MPI calls of a program that was built without vtrace.
    """
    click.echo(shim_library(_mpi(mpicc)))


@shim.command("list")
def list_() -> None:
    """List the shims in the cache: MPI, number of wrapped functions, library, directory; separated by tabs."""
    for found in list_shims():
        cells = (found.label, f"{found.functions} functions", str(found.library), str(found.directory))
        click.echo("\t".join(map(plain, cells)))


@shim.command()
@_MPICC
def clean(mpicc: str | None) -> None:
    """Remove the shims of one MPI, or all of them."""
    for removed in clean_shims(_mpi(mpicc).library if mpicc else None):
        click.echo(plain(f"removed {removed.directory} ({removed.label})"))


def _mpi(mpicc: str | None) -> Mpi:
    found = find_mpi(mpicc)
    if found is None:
        raise VtraceError(
            "no mpicc in PATH or beside Python", "name the compiler command with --mpicc, or pip install mpich"
        )
    return found
