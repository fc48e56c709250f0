# SPDX-License-Identifier: BSD-3-Clause
"""Names of local files and of the archive, and the files that vtunify keeps or removes (guide 4.2.3.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify
from support.oracles.check import check
from support.tools import call, command

CALLS = {"main": 1, "work": 10}


def local(prefix: str, suffix: str = ".z") -> set[str]:
    """The local files of a program without MPI and threads."""
    return {f"{prefix}.1.def{suffix}", f"{prefix}.1.events{suffix}", f"{prefix}.uctl"}


@pytest.mark.parametrize(("executable", "prefix"), [("a.out", "a"), ("sample.exe", "sample"), ("heat.v2", "heat.v2")])
def test_prefix_rule(build: Builder, tmp_path: Path, executable: str, prefix: str) -> None:
    program = build("many.c", output=executable)
    run(program, tmp_path)
    assert names(tmp_path) == local(prefix)
    done = unify(tmp_path, prefix)
    assert names(tmp_path) == {f"{prefix}.trace"}
    assert check(tmp_path / f"{prefix}.trace").calls() == CALLS
    assert f"{prefix}.trace" in done.stdout + done.stderr


@pytest.mark.parametrize("place", ["there", "deep/er", "$PWD/absolute"])
def test_prefix_with_a_directory(build: Builder, tmp_path: Path, place: str) -> None:
    """VT_FILE_PREFIX with a directory: vtrace creates the directory, like vtrace run -o. The directory overrides
    VT_PFORM_GDIR, and no file is outside of it."""
    (tmp_path / "other").mkdir()
    env = {"VT_FILE_PREFIX": f"{place}/name", "VT_PFORM_GDIR": "other", "PWD": str(tmp_path)}
    done = run(build("many.c"), tmp_path, env=env)
    where = tmp_path / place.replace("$PWD", str(tmp_path))
    assert f"next: vtunify {where}/name" in done.stderr
    assert names(where) == local("name")
    assert names(tmp_path) == {"other", where.relative_to(tmp_path).parts[0]}
    assert names(tmp_path / "other") == set()
    unify(tmp_path, where / "name")
    assert check(where / "name.trace").calls() == CALLS


@pytest.mark.parametrize("prefix", ["there/", "there/..", "/proc/none/name", "there/" + "x" * 129])
def test_prefix_that_is_no_name_or_in_no_directory(build: Builder, tmp_path: Path, prefix: str) -> None:
    (tmp_path / "there").mkdir()
    done = run(build("many.c"), tmp_path, env={"VT_FILE_PREFIX": prefix})
    assert len([line for line in done.stderr.splitlines() if "VT_FILE_PREFIX" in line]) == 1
    assert names(tmp_path) - {"there"} == local("name" if prefix.endswith("/name") else "many")
    assert names(tmp_path / "there") == set()


def test_run_unifies_a_prefix_with_a_directory(build: Builder, tmp_path: Path) -> None:
    words = [*command("vtrace"), "run", "--unify", build("many.c")]
    done = call(words, tmp_path, {"VT_FILE_PREFIX": "results/name", "VT_PFORM_GDIR": str(tmp_path)})
    assert "results/name.trace: 1 process" in done.stderr
    assert names(tmp_path / "results") == {"name.trace"}


def test_global_directory(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    run(build("many.c"), tmp_path, env={"VT_PFORM_GDIR": str(tmp_path / "results")})
    assert names(tmp_path) == {"results"}
    assert names(tmp_path / "results") == local("many")
    unify(tmp_path, "results/many")
    assert names(tmp_path / "results") == {"many.trace"}, "the archive must be beside the local files"
    assert check(tmp_path / "results" / "many.trace").calls() == CALLS


def test_local_directory_and_buffer(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    env = {"VT_PFORM_LDIR": str(tmp_path / "scratch"), "VT_CLEAN": "no"}
    run(build("many.c"), tmp_path, env=env)
    assert names(tmp_path) == local("many") | {"scratch"}
    kept = names(tmp_path / "scratch")
    assert len(kept) == 1
    assert all(name.startswith("many.x") and name.endswith(".buffer") for name in kept)
    unify(tmp_path, "many")
    assert check(tmp_path / "many.trace").calls() == CALLS, "vtunify must count blocks and chunks once"
    assert names(tmp_path) == {"many.trace", "scratch"}
    assert names(tmp_path / "scratch") == set(), "vtunify must remove the buffer with the other local files"


def test_buffer_goes_at_a_clean_end(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    run(build("many.c"), tmp_path, env={"VT_PFORM_LDIR": "scratch"})
    assert names(tmp_path / "scratch") == set()


def test_without_compression(build: Builder, tmp_path: Path) -> None:
    run(build("many.c"), tmp_path, "2000", env={"VT_COMPRESSION": "no"})
    assert names(tmp_path) == local("many", "")
    plain = (tmp_path / "many.1.events").stat().st_size
    assert plain >= 4002 * 8
    unify(tmp_path, "many")
    assert check(tmp_path / "many.trace").calls() == {"main": 1, "work": 2000}
    run(build("many.c"), tmp_path, "2000")
    assert (tmp_path / "many.1.events.z").stat().st_size < plain / 2
