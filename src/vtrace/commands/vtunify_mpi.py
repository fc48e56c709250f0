# SPDX-License-Identifier: BSD-3-Clause
"""vtunify-mpi: vtunify on the ranks of an MPI program."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace import console as talk
from vtrace.commands import vtunify
from vtrace.console import CLICK_SETTINGS, QUIET, Console
from vtrace.errors import NoFilesError, VtraceError
from vtrace.text import plain
from vtrace.wrappers.launch import launchers, mpi_library

if TYPE_CHECKING:
    from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis
    from vtrace.parallel.mpi import MpiRanks

_NAME = "vtunify-mpi"
_PATIENCE = 3
"""Seconds that an interrupted rank waits for rank 0 to end all."""
_NAP = 0.2
"""Seconds for mpiexec to forward the output. When mpiexec ends all ranks, mpiexec drops the rest."""

_HELP = """Unify the local files of a traced program's last run into one OTF2 archive, on many ranks at once.

PREFIX and the archive are those of vtunify. A rank reads the files that it can access: if the files are on disks of the
nodes, start at least one rank on each node. The archive goes to a directory that all ranks can access."""

_EXAMPLES = """\b
Examples:
  mpiexec -n 4 vtunify-mpi heat                     writes heat.trace/traces.otf2
  mpiexec -n 2 vtunify-mpi -j 8 heat                2 ranks with 8 threads each
  mpiexec -n 64 --map-by node vtunify-mpi -o /shared/heat /local/heat
                                                    files on 64 nodes, the archive on a shared disk"""


@click.command(help=_HELP, epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@vtunify.arguments(_NAME, 1, "Threads of each rank [1].")
def command(**values: Any) -> None:
    from vtrace.unify.run import WrittenArchive, unify

    options = vtunify.Options(**values)
    diagnoses = "diagnose" in options.also
    ranks = _ranks()
    written: WrittenArchive | None
    heard: WrittenDiagnosis | None = None

    def listen(anchor: Path) -> WrittenDiagnosis:
        nonlocal heard
        from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis

        heard = WrittenDiagnosis(anchor, alone=ranks.size == 1)
        return heard

    if ranks.size > 1:
        talk.catch_in_callbacks(lambda error: _abort(ranks, error))
    try:
        level = vtunify.level(options.levels, talk.environment_level(_NAME)) if ranks.root else QUIET
        console = Console(_NAME, level, options.progress)
        path = ranks.first(lambda: vtunify.prefix_of(options.prefix, console))
        ranks.first(lambda: vtunify.check_report(options))
        local = Path(os.path.abspath(path)) if ranks.size > 1 else path
        written = unify(options.request(local), console, ranks, listen if diagnoses and not options.packed else None)
        if not path.is_absolute() and written.archive.is_relative_to(Path.cwd()):
            written = written._replace(archive=written.archive.relative_to(Path.cwd()))
        archive = written.archive
    except NoFilesError as error:
        written, archive = None, vtunify.unified_before(path, options, error)
        ranks.agreed = False  # no rank ends because of the error
    except BaseException as error:
        if not ranks.agreed and ranks.size > 1:
            _abort(ranks, error)
        raise
    if not ranks.root:
        if diagnoses:
            _help_to_diagnose(ranks, options.jobs or 1, archive)
        return
    follow_up = vtunify.FollowUp(
        options.also, ranks=ranks, threads=options.jobs, written_diagnosis=heard, samples=options.samples
    )
    with _helped(ranks) if diagnoses else nullcontext():
        if written:
            target = archive if options.is_named else path
            vtunify.report_written(written, console, target=target, near=path.parent, follow_up=follow_up)
        else:
            vtunify.report_unified(archive, options.is_named, follow_up, console)


@contextmanager
def _helped(ranks: MpiRanks) -> Iterator[None]:
    """On rank 0: the other ranks help to diagnose, and return at the end."""
    from vtrace.analysis.shared_scan import dismiss

    try:
        yield
    except (VtraceError, OSError, SystemExit):
        if not ranks.agreed:
            dismiss(ranks)
        raise
    except BaseException as error:  # perhaps in the middle of a pass, where the others wait for this rank
        if ranks.size > 1:
            _abort(ranks, error)
        raise
    dismiss(ranks)


def _help_to_diagnose(ranks: MpiRanks, jobs: int, archive: Path) -> None:
    """Reads a part of the archive for rank 0."""
    import vtrace
    from vtrace.analysis.shared_scan import serve

    try:
        serve(ranks, jobs, lambda: vtrace.open(archive))
    except BaseException as error:
        if not ranks.agreed:
            _abort(ranks, error)
        raise


def _ranks() -> MpiRanks:
    """Returns all ranks that mpiexec has started. Raises VtraceError if they cannot communicate."""
    from vtrace.parallel.mpi import MpiRanks

    mpi_library.choose(os.environ)
    if launchers.rank(os.environ) == 0 and (why := mpi_library.misfit(os.environ)):
        click.echo(f"{_NAME}: warning: {plain(why)}", err=True)  # MPI may end the process without printing the cause
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # each rank would print the message below
            ranks = MpiRanks()
    except ImportError as error:
        hint = "pip install 'vtrace-otf2[mpi]'; or vtunify PREFIX, which unifies with threads"
        raise VtraceError(f"mpi4py is missing or cannot be loaded: {error}", hint) from error
    except RuntimeError as error:
        hint = "MPI4PY_LIBMPI names the libmpi.so of your mpiexec; or pip install mpich"
        raise VtraceError(f"mpi4py finds no MPI library: {str(error).splitlines()[0]}", hint) from error
    started = launchers.size(os.environ)
    if ranks.size == 1 and (started > 1 or launchers.rank(os.environ)):
        raise VtraceError(
            f"{started or 'several'} ranks were started, but each is alone: mpi4py has loaded another MPI than that of "
            "mpiexec",
            "MPI4PY_LIBMPI names the libmpi.so to load; vtrace doctor tries it",
        )
    return ranks


def _abort(ranks: MpiRanks, error: BaseException) -> None:
    """Ends all ranks after an error on this rank alone; prints a traceback of errors that are not VtraceError or
    OSError."""
    if isinstance(error, KeyboardInterrupt):
        if not ranks.root:
            time.sleep(_PATIENCE)  # mostly all ranks are interrupted, and rank 0 ends them
        click.echo(f"{_NAME}: interrupted", err=True)
    elif isinstance(error, VtraceError | OSError):
        click.echo(f"{_NAME}: error: {plain(str(error))}", err=True)
    else:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    sys.stderr.flush()
    time.sleep(_NAP)
    ranks.abort(130 if isinstance(error, KeyboardInterrupt) else 1)


def main() -> int:
    """Entry point of vtunify-mpi; returns the exit code. Only rank 0 prints."""
    vtunify.reduce_overhead()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not launchers.rank(os.environ):
        return talk.run(command, _NAME)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return talk.run(command, _NAME, speaks=False)
