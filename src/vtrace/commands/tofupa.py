# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat tofupa: the files of Tofu PA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vtrace.commands.tool_options import Collect, Either, Show, own_counters, program_argument, write
from vtrace.commands.trace_command import opened
from vtrace.console import CLICK_SETTINGS, vtrace_console
from vtrace.errors import UsageError, VtraceError

if TYPE_CHECKING:
    from vtrace.compat.tofupa import TofuSettings

_PREFIX = "tofupa"
_INTERFACES = Path("/sys/class/net")
_MOST_PORTS = 6
"""The most network interfaces whose four statistics fit into the counters of a process."""
_JOBS = ("PJM_JOBID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")


def _settings() -> TofuSettings:
    from vtrace.compat.tofupa import TofuSettings

    return TofuSettings.of_environment(os.environ)


@click.command(cls=Collect, context_settings={**CLICK_SETTINGS, "allow_interspersed_args": False})
@click.option("-C", "collects", is_flag=True, required=True, help="Run the program, and write the files.")
@click.option("-d", "directory", metavar="DIR", help="Directory of the files [default: FJ_TOFUPA_DIR, or .].")
@program_argument
def collect(collects: bool, directory: str | None, words: tuple[str, ...]) -> None:
    """Run PROGRAM, which may be mpiexec, and write a file of Tofu PA for each node: tofupa.JOB.ADDRESS.txt. The
    archive tofupa.trace is beside them. FJ_TOFUPA_LEVEL chooses sections, as well as FJ_TOFUPA_PA, _MAXREGION and
    _MAXITERATION. The exit code is the program's.

    \b
    Examples:
      FJ_TOFUPA_LEVEL=100 vtrace compat tofupa -C mpiexec -n 16 ./a.out
      FJ_TOFUPA_MAXITERATION=10 vtrace compat tofupa -A -o calls tofupa
    """
    from vtrace.commands.whole_run import run_and_unify
    from vtrace.wrappers.launch import choices, start

    _settings()  # reports a wrong value before the run
    level = os.environ.get("FJ_TOFUPA_LEVEL", "-1")
    try:
        measures = int(level) >= 0
    except ValueError:
        raise UsageError(f"FJ_TOFUPA_LEVEL={level}: not a number", "set FJ_TOFUPA_LEVEL to a number") from None
    if not measures:
        vtrace_console().warn(f"FJ_TOFUPA_LEVEL is {level}: no section is measured, and no file is written")
    place = _directory(directory)
    chosen, environ = choices.Choices(list(words)), start.environment()
    chosen.unify, chosen.prefix, chosen.force = True, str(place / _PREFIX), True
    chosen.counters = ",".join(_counters(environ)) or None
    environ |= {"VT_METRICS_AT": "mpi,user", "VT_METRICS_INTERVAL": "0"}
    os.environ.update(environ)
    code = run_and_unify(start.prepare(chosen, environ), chosen, environ)
    if measures:
        _write_files(str(place / _PREFIX), place)
    click.get_current_context().exit(code)


def _directory(directory: str | None) -> Path:
    place = Path(directory or os.environ.get("FJ_TOFUPA_DIR", "") or ".").absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtraceError(f"cannot create {place}: {error.strerror}", "give -d another directory") from None
    return place


def _counters(environ: dict[str, str]) -> list[str]:
    """The statistics of this node's network interfaces, besides the counters of the environment."""
    from vtrace.compat.tofupa import FIELDS

    own = own_counters(environ)
    if any(name.startswith("net/") for name in own):
        return own
    try:
        ports = sorted(path.name for path in _INTERFACES.iterdir() if (path / "statistics").is_dir())
    except OSError:
        ports = []
    ports = [port for port in ports if port != "lo"]
    if len(ports) > _MOST_PORTS:
        vtrace_console().warn(
            f"{len(ports)} network interfaces: {', '.join(ports[:_MOST_PORTS])} are recorded (VT_METRICS)"
        )
    return [*own, *(f"net/{port}/{statistic}" for port in ports[:_MOST_PORTS] for statistic in FIELDS.values())]


@click.command(cls=Show, context_settings=CLICK_SETTINGS)
@click.option("-A", "shows", is_flag=True, required=True, help="Write the files of an archive.")
@click.option("-d", "archive", metavar="ARCHIVE", help="An archive with sections of Tofu PA.")
@click.option("-o", "directory", metavar="DIR", help="Directory of the files [default: FJ_TOFUPA_DIR, or .].")
def write_files(shows: bool, archive: str | None, directory: str | None) -> None:
    """Write the files of Tofu PA of an archive that was recorded before.

    \b
    Example:
      FJ_TOFUPA_PA=TLP FJ_TOFUPA_MAXITERATION=10 vtrace compat tofupa -A -o calls tofupa
    """
    if archive is None:
        raise UsageError("the archive is missing", "vtrace compat tofupa -A ARCHIVE")
    _write_files(archive, _directory(directory))


def _write_files(archive: str, place: Path) -> None:
    from vtrace.compat import tofupa

    settings = _settings()
    found = tofupa.files(opened(archive), settings)
    if not found:
        raise VtraceError(f"{archive}: no MPI processes", "Tofu PA measures between MPI_Init and MPI_Finalize")
    job = next((os.environ[name] for name in _JOBS if os.environ.get(name)), "0").replace("/", "_")
    for one in found:
        path = place / f"tofupa.{job}.{one.address}.txt"
        write(str(path), one.text)
        for note in one.notes:
            vtrace_console().warn(note)
        click.echo(os.path.relpath(path))


tofupa = Either("tofupa", collect, write_files)
