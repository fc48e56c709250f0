# SPDX-License-Identifier: BSD-3-Clause
"""A small archive of each kind that a user can have, for tests that run all commands on all kinds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.build import mpis
from support.build.builder import AS_WRITTEN, Builder
from support.build.run import prefix_of, run, unify
from support.synthetic_runs.archives import Foreign
from support.tools import PROGRAMS, ROOT, call, command, environment, need

SCOREP = ("heat2d", "omp", "io", "sampling")


@dataclass(frozen=True)
class Kind:
    """An archive and facts about its content. local: prefix of its local files; None for an archive of another tool.
    is_large: commands take seconds, so tests try one form of a command."""

    archive: Path
    local: Path | None = None
    ranks: int = 0
    has_calls: bool = True
    has_events: bool = True
    is_large: bool = False


def _recorded(
    build: Builder, where: Path, source: str, *args: str, flags: Sequence[str] = AS_WRITTEN,
    env: dict[str, str] | None = None, code: int | None = 0,
) -> Kind:  # fmt: skip
    program = build(source, flags=flags)
    run(program, where, *args, env=env, code=code)
    return _unified(where, prefix_of(program))


def _recorded_mpi(build: Builder, where: Path, source: str, *args: str, ranks: int, flags: Sequence[str] = ()) -> Kind:
    mpi = mpis.find("mpich-wheel", build)
    program = mpi.build(source, flags=(*AS_WRITTEN, *flags))
    mpi.run(program, where, *args, ranks=ranks)
    return _unified(where, prefix_of(program), ranks)


def _unified(where: Path, prefix: str, ranks: int = 0) -> Kind:
    unify(where, "-k", "-o", prefix, prefix)
    return Kind(where / f"{prefix}.trace", where / prefix, ranks)


def _markers(build: Builder, where: Path) -> Kind:
    call([*command("vtrace"), "run", "-o", "py", sys.executable, PROGRAMS / "user.py"], where)
    return _unified(where, "py")


def _rings(build: Builder, where: Path) -> Kind:
    return _recorded(build, where, "endings.c", "return", "20000", env={"VT_MODE": "RING", "VT_BUFFER_SIZE": "64K"})


def _empty(build: Builder, where: Path) -> Kind:
    archive = Foreign(where / "empty.trace")
    archive.events(0, [])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    return Kind(archive.close().parent, has_calls=False, has_events=False)


def _one_event(build: Builder, where: Path) -> Kind:
    archive = Foreign(where / "one.trace")
    archive.events(0, [(10, "Enter", 0)])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    archive.region(0, "main")
    return Kind(archive.close().parent)


def _many_locations(ranks: int) -> Callable[[Builder, Path], Kind]:
    """4 locations for each rank, with few events each."""

    def recipe(build: Builder, where: Path) -> Kind:
        words = ["--ranks", str(ranks), "--threads", "4", "--ranks-per-host", "125", "--events", str(40 * ranks)]
        call([sys.executable, ROOT / "bench" / "synthetic.py", where / "wide", *words, "--calls", "4"], where)
        unify(where, "wide")
        return Kind(where / "wide.trace", ranks=ranks, is_large=True)

    return recipe


def _eztrace(build: Builder, where: Path) -> Kind:
    program = build("foreign.c", flags=("-O1", "-pthread"), plain=True)
    call([need("eztrace"), "-t", "pthread posixio", program], where)
    return Kind(where / "foreign_trace")


def _scorep(name: str) -> Callable[[Builder, Path], Kind]:
    def recipe(build: Builder, where: Path) -> Kind:
        subprocess.run(["tar", "xJf", ROOT / "tests" / "archives" / f"scorep-{name}.tar.xz"], cwd=where, check=True)
        (anchor,) = where.rglob("traces.otf2")
        # Score-P's sampling records calling contexts only, which do not count as calls.
        return Kind(anchor.parent, ranks=4 if name == "heat2d" else 0, has_calls=name != "sampling")

    return recipe


KINDS: dict[str, Callable[[Builder, Path], Kind]] = {
    "killed": lambda build, where: _recorded(build, where, "endings.c", "kill", "500", code=-9),
    "markers": _markers,
    "threads": lambda b, w: _recorded(b, w, "threads.c", "together", "4", "20", flags=("-O1", "-pthread")),
    "messages": lambda b, w: _recorded_mpi(b, w, "mpi_messages.c", ranks=3),
    "rma": lambda b, w: _recorded_mpi(b, w, "mpi_rma.c", ranks=3),
    "io": lambda b, w: _recorded(b, w, "io_descriptors.c", flags=("-O1", "-w"), env={"VT_IOTRACE": "yes"}),
    "mpi-io": lambda b, w: _recorded_mpi(b, w, "mpi_io.c", "file", ranks=3),
    "heap": lambda b, w: _recorded(
        b, w, "heap.c", flags=("-O1", "-fno-builtin", "-pthread"), env={"VT_MEMTRACE": "yes"}
    ),
    "openmp": lambda b, w: _recorded(b, w, "omp.c", "parallel", "for", "task", flags=("-O1", "-fopenmp")),
    "ring": _rings,
    "empty": _empty,
    "one-event": _one_event,
    "1000-locations": _many_locations(250),
    "10000-locations": _many_locations(2500),
    "eztrace": _eztrace,
    **{f"scorep-{name}": _scorep(name) for name in SCOREP},
}


def background(words: Sequence[str | Path], cwd: Path) -> subprocess.Popen[str]:
    """Starts a command, such as a server, without waiting for its end."""
    return subprocess.Popen(
        [str(word) for word in words], cwd=cwd, env=environment({"BROWSER": "true"}), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
