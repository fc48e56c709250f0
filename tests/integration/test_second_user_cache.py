# SPDX-License-Identifier: BSD-3-Clause
"""A cache of shims that a second user owns or may change: no file of it is linked or loaded, and one line gives the
reason."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import vtrace
from support.tools import PROGRAMS, call, command
from support.users.second_user import OTHER, shared_directory
from vtrace.wrappers.mpi_shim.shim import ARCHIVE, LIBRARY


@pytest.fixture
def wheel(build: Builder) -> mpis.Mpi:
    return mpis.find("mpich-wheel", build)


@pytest.fixture
def cache(wheel: mpis.Mpi) -> Iterator[Path]:
    """A directory that looks like a complete shim. Its files are not libraries, so a tool that used them would fail."""
    script = (
        f"from vtrace.wrappers.mpi_shim.installation import find_mpi; print(find_mpi({str(wheel.mpicc)!r}).key, end='')"
    )
    with shared_directory(0o755) as place:
        key = call([sys.executable, "-c", script], place).stdout
        shim = place / "home" / "vtrace" / f"mpi-{key}"
        shim.mkdir(parents=True)
        for path in (place / "home", shim.parent, shim):
            path.chmod(0o755)
        for name in (ARCHIVE, LIBRARY):
            (shim / name).write_bytes(b"planted")
            (shim / name).chmod(0o644)
        yield shim


def own(path: Path) -> None:
    os.chown(path, OTHER, OTHER)


def link(shim: Path) -> None:
    """The path of the cache contains a symbolic link of the second user."""
    home = shim.parents[1]
    home.rename(home.with_name("real"))
    home.symlink_to("real")
    os.lchown(home, OTHER, OTHER)


ATTACKS: dict[str, Callable[[Path], object]] = {
    "library": lambda shim: own(shim / LIBRARY),
    "writable library": lambda shim: (shim / LIBRARY).chmod(0o666),
    "archive": lambda shim: own(shim / ARCHIVE),
    "directory": own,
    "writable directory": lambda shim: shim.chmod(0o777),
    "group": lambda shim: (os.chown(shim, 0, OTHER), shim.chmod(0o775)),
    "cache": lambda shim: own(shim.parent),
    "parent": lambda shim: own(shim.parents[1]),
    "writable parent": lambda shim: shim.parents[1].chmod(0o777),
    "link": link,
}


def refused(done: object, said: str) -> None:
    lines = said.splitlines()
    assert len(lines) == 1, done
    assert "another user" in said or "other users can write to" in said, done
    assert "VT_SHIM_CACHE" in said, done


@pytest.mark.parametrize("attack", ATTACKS)
def test_shim_is_not_taken(cache: Path, wheel: mpis.Mpi, attack: str) -> None:
    env = {"XDG_CACHE_HOME": str(cache.parents[1]), "VT_SHIM_CACHE": ""}
    words = ["shim", "build", "--mpicc", wheel.mpicc]
    assert vtrace(cache.parents[2], *words, env=env).stdout.strip() == str(cache / LIBRARY), "the cache must be valid"
    ATTACKS[attack](cache)
    done = vtrace(cache.parents[2], *words, env=env, check=False)
    assert done.returncode == 1
    refused(done, done.stderr)
    assert not done.stdout


def test_nothing_is_linked_preloaded_or_removed(cache: Path, wheel: mpis.Mpi, build: Builder, tmp_path: Path) -> None:
    program = build("mpi_rounds.c", compiler=wheel.mpicc, plain=True, mode="mpi", output="plain")
    env = {"VT_SHIM_CACHE": str(cache.parent)}
    victim = tmp_path / "victim"
    victim.mkdir()
    (cache / "shim.json").write_text(
        f'{{"directory": "{victim}", "label": "x", "library": "x", "mpicc": "x", "version": "x", "functions": 1}}'
    )
    own(cache / "shim.json")
    own(cache)
    words = ["-vt:cc", wheel.mpicc, "-vt:inst-outlined", PROGRAMS / "mpi_rounds.c", "-o", "linked"]
    link = [*command("vtrace-cc"), *words]
    done = call(link, tmp_path, env, check=False)
    refused(done, done.stderr)
    done = vtrace(tmp_path, "run", program, env=env, check=False)
    refused(done, done.stderr)
    done = vtrace(tmp_path, "shim", "clean", env=env)
    assert victim.is_dir(), "clean must not trust a list of files that the second user owns"
