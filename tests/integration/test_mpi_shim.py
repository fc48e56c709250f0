# SPDX-License-Identifier: BSD-3-Clause
"""The cache of MPI shims, used by several processes, and after a kill."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.wrap import MPI_C, has_shim, wrap
from support.tools import command, environment, need


@pytest.fixture(params=[mpis.NAMES[0], *(pytest.param(name, marks=pytest.mark.full) for name in mpis.NAMES[1:])])
def site(request: pytest.FixtureRequest, build: Builder, tmp_path: Path) -> Path:
    """A site's own MPI compiler command. Its compiler logs each compilation, and waits while the file `wait` exists."""
    mpi = mpis.find(request.param, build)
    shown = subprocess.run([mpi.mpicc, "-show"], capture_output=True, text=True, check=True).stdout.split()
    compiler = tmp_path / "site-compiler"
    compiler.write_text(
        f'#!/bin/sh\ncase " $* " in *" -c "*) echo $$ >>{tmp_path}/compiled\n'
        f"while [ -e {tmp_path}/wait ]; do sleep 0.05; done;; esac\n"
        f'exec {need(shown[0])} "$@" -O0\n'
    )
    mpicc = tmp_path / "site-mpicc"
    mpicc.write_text(
        f'#!/bin/sh\n[ "$1" = -show ] && exec echo {compiler} {shlex.join(shown[1:])}\nexec {mpi.mpicc} "$@"\n'
    )
    for script in (compiler, mpicc):
        script.chmod(0o755)
    (tmp_path / "mpi.c").write_text(MPI_C)
    return mpicc


@pytest.fixture
def start(site: Path) -> Callable[..., subprocess.Popen[str]]:
    """A function that starts a command with an empty cache, in a new process group."""

    def begin(name: str, *args: str | Path) -> subprocess.Popen[str]:
        words = [*command(name), *map(str, args)]
        env = environment({"VT_SHIM_CACHE": str(site.parent / "cache")})
        return subprocess.Popen(
            words, cwd=site.parent, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    return begin


Start = Callable[..., "subprocess.Popen[str]"]


def compilations(site: Path) -> int:
    log = site.parent / "compiled"
    return len(log.read_text().split()) if log.exists() else 0


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_builders_at_the_same_time(site: Path, start: Start) -> None:
    """Two commands and two compiler wrappers start together: one builds the shim, and the others wait for it."""
    cache = site.parent / "cache"
    (site.parent / "wait").touch()
    builds = [start("vtrace", "shim", "build", "--mpicc", site) for _ in range(2)]
    links = [start("vtrace-cc", "-vt:cc", site, "mpi.c", "-o", f"program{i}") for i in range(2)]
    until(lambda: compilations(site) == 1)
    time.sleep(1)
    assert all(process.poll() is None for process in (*builds, *links))
    (site.parent / "wait").unlink()
    ended = [(process.communicate(timeout=300), process.returncode) for process in (*builds, *links)]
    assert [code for _, code in ended] == [0] * 4, ended
    assert compilations(site) == 1
    (library,) = cache.glob("mpi-*/libvtrace-mpi.so")
    assert [out for (out, _), _ in ended[:2]] == [f"{library}\n"] * 2
    assert all(has_shim(site.parent / f"program{i}") for i in range(2))
    kept = {path.name for path in cache.iterdir() if not path.name.startswith("gcc_plugin_")}
    assert kept == {library.parent.name, f"lock-{library.parent.name}"}


def test_a_killed_builder(site: Path, start: Start) -> None:
    """A killed builder leaves no partial archive and no lock; its other files are removed after some time."""
    cache = site.parent / "cache"
    (site.parent / "wait").touch()
    killed = start("vtrace", "shim", "build", "--mpicc", site)
    until(lambda: compilations(site) == 1)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not list(cache.glob("mpi-*"))
    (remains,) = cache.glob("building-*")
    (site.parent / "wait").unlink()
    again = start("vtrace-cc", "-vt:cc", site, "mpi.c", "-o", "program")
    assert again.communicate(timeout=300)
    assert again.returncode == 0
    assert has_shim(site.parent / "program")
    assert remains.exists(), "a process on another machine may be using the directory"
    (archive,) = cache.glob("mpi-*/libvtrace-mpi.a")
    archive.unlink()
    os.utime(remains, (1, 1))
    assert start("vtrace", "shim", "build", "--mpicc", site).wait(timeout=300) == 0
    assert archive.exists()
    assert not remains.exists()


def test_a_cache_that_others_filled(site: Path, start: Start) -> None:
    """A site builds the shims, and the plug-in for gcc; its users, who may not write to the cache, use them."""
    cache = site.parent / "cache"
    assert start("vtrace", "shim", "build", "--mpicc", site).wait(timeout=300) == 0
    assert start("vtrace-cc", "-vt:cc", site, "-c", "mpi.c").wait(timeout=300) == 0
    before = {path: path.stat().st_mtime_ns for path in (cache, *cache.rglob("*"))}
    wrap(site.parent, "-vt:cc", site, "mpi.c", "-o", "program", VT_SHIM_CACHE=str(cache))
    assert has_shim(site.parent / "program")
    assert {path: path.stat().st_mtime_ns for path in (cache, *cache.rglob("*"))} == before
    assert compilations(site) == 1
