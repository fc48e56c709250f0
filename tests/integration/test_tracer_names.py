# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat --install: the commands of the Tracer and of VampirTrace under their own names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.build.run import names, vtrace
from support.oracles.check import check
from support.tools import PROGRAMS, Done, call, need

WORK = PROGRAMS / "many.c"


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """An environment with the installed commands first in PATH; their directory has a blank and a quote."""
    vtrace(tmp_path, "compat", "--install", "the tool's")
    return path_to(tmp_path)


def path_to(where: Path) -> dict[str, str]:
    return {"PATH": f"{where}/the tool's/bin{os.pathsep}{Path(need('mpicc')).parent}{os.pathsep}{os.environ['PATH']}"}


def guided(where: Path, env: dict[str, str], *words: str, code: int = 0) -> Done:
    done = call(["sh", "-c", 'exec "$@"', "sh", *words], where, env, check=False)
    assert done.returncode == code, str(done)
    return done


def test_run_unify_run_unify(tmp_path: Path, tools: dict[str, str]) -> None:
    """The guide's loop: the program prints nothing of ours, and the second archive replaces the first one."""
    guided(tmp_path, tools, "vtfccpx", "-O1", str(WORK), "-o", "many")
    for calls in (10, 20):
        ran = guided(tmp_path, tools, need("mpiexec"), "-n", "1", "./many", str(calls))
        assert (ran.stdout, ran.stderr) == (f"done {calls}\n", "")
        guided(tmp_path, tools, "vtunifypx", "many")
        assert check(tmp_path / "many.trace").calls()["work"] == calls
    said = guided(tmp_path, {**tools, "VT_VERBOSE": "1"}, "./many", "10").stderr
    assert said.startswith("vtrace: rank 0 of 1 wrote ")


def test_flushes_of_the_guide(tmp_path: Path) -> None:
    """--one-flush: recording ends at the second full buffer; without the option it goes on."""
    lost = []
    for options in ((), ("--one-flush",)):
        vtrace(tmp_path, "compat", "--install", "the tool's", *options)
        env = {**path_to(tmp_path), "VT_BUFFER_SIZE": "100K", "VT_VERBOSE": "1"}
        guided(tmp_path, env, "vtfcc", "-vt:cc", "gcc", "-vt:seq", "-O1", str(WORK), "-o", "many")
        lost.append("VT_MAX_FLUSHES" in guided(tmp_path, env, "./many", "200000").stderr)
    assert lost == [False, True]


def test_compilers_of_the_guide(tmp_path: Path, tools: dict[str, str]) -> None:
    """The Tracer's wrappers call the compilers of their names if these exist; VT_CC and -vt:cc override them."""
    called = {
        "vtfccpx": "mpifccpx", "vtFCCpx": "mpiFCCpx", "vtfrtpx": "mpifrtpx", "vtfcc": "mpifcc", "vtFCC": "mpiFCC",
        "vtfrt": "mpifrt", "vtcc": "mpicc", "vtcxx": "mpicxx", "vtf90": "mpif90", "vtf77": "mpif77",
    }  # fmt: skip
    (tmp_path / "fake").mkdir()
    for compiler in called.values():
        (tmp_path / "fake" / compiler).symlink_to("/bin/true")
    env = {"PATH": f"{tmp_path / 'fake'}{os.pathsep}{tools['PATH']}"}
    for wrapper, compiler in called.items():
        shown = guided(tmp_path, env, wrapper, "-vt:show", "-c", "a.c").stdout.split()
        assert Path(shown[0]).name == compiler
    shown = guided(tmp_path, {**env, "VT_CC": "gcc"}, "vtfccpx", "-vt:show", "-c", "a.c").stdout.split()
    assert shown[0] == "gcc"


def test_option_for_install_only(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "compat", "--one-flush", check=False)
    assert (done.returncode, done.stderr.count("\n"), names(tmp_path)) == (2, 1, set())
