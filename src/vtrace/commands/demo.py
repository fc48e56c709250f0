# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Build, run and unify an example, and show a summary."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from vtrace.console import CLICK_SETTINGS
from vtrace.errors import UsageError, VtraceError
from vtrace.paths import EXAMPLES
from vtrace.text import shell_command, shell_path

_EXAMPLES = """\b
Examples:
  vtrace demo                in the new directory vtrace-demo
  vtrace demo /tmp/heat
  vtrace demo --tutorials    the programs of the tutorials, in vtrace-tutorials
"""
_MOST_RANKS = 4


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--tutorials", is_flag=True, help="Copy the programs of the tutorials to DIR, and run nothing.")
def command(directory: Path | None, tutorials: bool) -> None:
    """With an MPI and a compiler the example is heat2d, the heat equation on several ranks; else a Python program with
    threads. Each command is shown before it runs, so that you can repeat it. DIR must be new.
    """
    if tutorials:
        directory = directory or Path("vtrace-tutorials")
        _copy("tutorials", directory)
        click.echo(f"programs of the tutorials: {directory}; next: cd {directory}, vtrace help tutorial")
    else:
        _run_example(directory or Path("vtrace-demo"))


def _copy(name: str, directory: Path) -> None:
    """Copies an example to a new directory. Raises UsageError if the directory exists."""
    source = EXAMPLES / name
    if not source.is_dir():
        raise VtraceError(f"{source}: no such directory", "install vtrace again")
    try:
        shutil.copytree(source, directory, ignore=shutil.ignore_patterns("__pycache__"))
    except FileExistsError:
        raise UsageError(f"{directory} exists", "name a new directory: vtrace demo DIR") from None


def _run_example(directory: Path) -> None:
    binaries = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": os.pathsep.join([binaries, os.environ.get("PATH", os.defpath)])}
    lacks, mpiexec = _mpi(environ["PATH"])
    name = "hashes" if lacks else "heat2d"
    _copy("threads" if lacks else "heat2d", directory)
    if lacks:
        click.echo(f"{lacks}: this example uses threads instead")
        steps = [["vtrace", "run", "--unify", "--python", "python3", "hashes.py"]]
    else:
        ranks = min(_MOST_RANKS, max(2, len(os.sched_getaffinity(0))))
        build = ["vtrace-cc", "-O2", "-fno-inline", "heat.c", "halo.c", "-lm", "-o", "heat2d"]
        steps = [build, [mpiexec, "-n", str(ranks), "./heat2d"], ["vtunify", name]]
    click.echo(f"$ cd {shell_path(directory)}")
    for step in [*steps, ["vtrace", "summary", name]]:
        _run(step, directory, environ)
    vtrace = "vtrace" if shutil.which("vtrace") else os.path.join(os.path.relpath(binaries), "vtrace")
    archive = shell_path(directory / f"{name}.trace")
    click.echo("\nNext: the timeline in a browser; why the program is slow; the time of functions and threads:")
    for word in ("view", "diagnose", "profile"):
        click.echo(f"  {vtrace} {word} {archive}")


def _mpi(path: str) -> tuple[str, str]:
    """The missing part of the MPI example, else ""; and the launcher beside mpicc, or the first one in PATH."""
    mpicc = shutil.which("mpicc", path=path)
    if mpicc is None:
        return "no mpicc in PATH (pip install mpich)", ""
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(mpicc)) or shutil.which("mpiexec", path=path)
    if mpiexec is None:
        return "no mpiexec in PATH", ""
    if not any(shutil.which(name, path=path) for name in ("cc", "gcc", "clang")):
        return "no C compiler in PATH", ""
    return "", "mpiexec" if shutil.which("mpiexec", path=path) == mpiexec else mpiexec


def _run(words: list[str], directory: Path, environ: dict[str, str]) -> None:
    """Shows and runs a command. Raises VtraceError if the command fails."""
    shown = shell_command(words)
    click.echo(f"\n$ {shown}")
    sys.stdout.flush()
    # The command's path: by its name alone, subprocess would search this process's PATH.
    program = shutil.which(words[0], path=environ["PATH"]) or words[0]
    code = subprocess.run([program, *words[1:]], cwd=directory, env=environ).returncode
    if code:
        raise VtraceError(f"{shown} failed with exit code {code}", "vtrace doctor shows what is missing here")
