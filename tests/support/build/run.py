# SPDX-License-Identifier: BSD-3-Clause
"""Runs traced programs, and vtrace's commands on their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import Done, call, command, need, urgent


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
    """Runs a program, with ranks under mpiexec or after the words launch. An exit code other than code is an assertion
    error; code None allows any.
    """
    if ranks:
        launch = [*urgent(), need("mpiexec"), "-n", str(ranks)]
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
    """The default prefix of a program's files."""
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
    """Runs a program, unifies its local files and returns the checked trace. complete: see check."""
    run(program, cwd, *args, ranks=ranks, env=env, code=code)
    unify(cwd, prefix_of(program))
    return check(cwd / f"{prefix_of(program)}.trace", complete=complete)


def filtered(program: Path, where: Path, rules: str, *args: str, ranks: int | None = None, **env: str) -> Trace:
    """Records a program with the rules of a filter."""
    (where / "rules").write_text(rules)
    return record(program, where, *args, ranks=ranks, env={"VT_FILTER_SPEC": "rules", **env})


def names(directory: Path) -> set[str]:
    """The names of all entries of a directory."""
    return {path.name for path in directory.iterdir()}
