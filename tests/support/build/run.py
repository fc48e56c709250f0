# SPDX-License-Identifier: BSD-3-Clause
"""Runs traced programs and the commands that work on what they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import Done, call, command, need


def run(
    program: Path,
    cwd: Path,
    *args: str | Path,
    ranks: int | None = None,
    env: Mapping[str, str] | None = None,
    code: int | None = 0,
    timeout: float = 300,
    launch: Sequence[str] = (),
) -> Done:
    """Runs a program, with ranks under mpiexec or with the words launch before it; an exit code other than code is an
    assertion error (None: any).
    """
    if ranks:
        launch = [need("mpiexec"), "-n", str(ranks)]
    done = call([*launch, program, *args], cwd, env, check=False, timeout=timeout)
    assert code is None or done.returncode == code, str(done)
    return done


def unify(cwd: Path, *args: str | Path, env: Mapping[str, str] | None = None, check: bool = True) -> Done:
    """Runs vtunify with these arguments."""
    return call([*command("vtunify"), *args], cwd, env, check=check)


def vtrace(cwd: Path, *args: str | Path, env: Mapping[str, str] | None = None, check: bool = True) -> Done:
    """Runs a sub-command of vtrace."""
    return call([*command("vtrace"), *args], cwd, env, check=check)


def prefix_of(program: Path) -> str:
    """The prefix that a program's files have by default."""
    return program.stem if program.suffix in (".out", ".exe") else program.name


def record(
    program: Path,
    cwd: Path,
    *args: str | Path,
    ranks: int | None = None,
    env: Mapping[str, str] | None = None,
    code: int | None = 0,
    complete: bool = True,
) -> Trace:
    """Runs a program, unifies what it left and returns the checked trace. complete: see check."""
    run(program, cwd, *args, ranks=ranks, env=env, code=code)
    unify(cwd, prefix_of(program))
    return check(cwd / f"{prefix_of(program)}.trace", complete=complete)


def names(directory: Path) -> set[str]:
    """The names of all that lies in a directory."""
    return {path.name for path in directory.iterdir()}
