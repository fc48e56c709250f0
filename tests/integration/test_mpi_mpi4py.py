# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own tests, with and without the preloaded shim: the same tests pass, fail and are skipped."""

from __future__ import annotations

import importlib.metadata
import json
import re
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import unify, vtrace
from support.recorded_archives import extract
from support.tools import call, need, unavailable, urgent
from vtrace.wrappers.mpi_shim.installation import find_mpi
from vtrace.wrappers.mpi_shim.shim import shim_library

EXCLUDED = {
    # Fails without a Fortran library.
    "mpich-wheel": ("mpiabi",),
    # Tests that wait minutes for a name server of Open MPI 4.1's run-time system.
    "openmpi": ("spawn", "dynproc", "util_pool", "environ"),
}
LONG = (
    "test_datatype", "dtlib", "test_pack", "test_io", "util_pool", "test_rma", "test_cco_ngh", "test_msgspec",
    "test_cco_pr_ngh", "test_cco_pr_vec", "test_cco_nb_vec",
)  # fmt: skip
"""Tests that take five sixths of the time, nearly all of it in MPI_Type_get_envelope and other local calls, or in the
same calls with one type after the other."""

ENVIRONMENT = {
    "mpich-wheel": {},
    # A rank that yields its processor while it waits would get it back after all tests beside it.
    "openmpi": {"MPI4PY_MPIABI": "openmpi", "MPI4PY_LIBMPI": "libmpi.so.40", "OMPI_MCA_mpi_yield_when_idle": "0"},
}
FULL = pytest.mark.full


@dataclass(frozen=True)
class Result:
    """The output of one rank: the outcome of each test and the last line; cpu: seconds of all ranks."""

    tests: dict[str, str]
    summary: str
    seconds: float
    cpu: float


@pytest.fixture(scope="module")
def suite() -> Path:
    """test/main.py of the installed mpi4py's source distribution, which stays there for later sessions."""
    version = importlib.metadata.version("mpi4py")
    place = Path(sys.prefix) / "mpi4py-suite"
    main = place / f"mpi4py-{version}" / "test" / "main.py"
    if not main.exists():
        place.mkdir(exist_ok=True)
        words = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py", f"mpi4py=={version}", "-d", place]
        done = call([sys.executable, *words], place, check=False, timeout=300)
        if done.returncode != 0:
            unavailable(f"source of mpi4py: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        extract(place / f"mpi4py-{version}.tar.gz", place)
    return main


def preload(mpi: Mpi) -> list[str]:
    """The options of mpiexec that preload the shim into the processes of a job and into those that they spawn."""
    found = find_mpi(str(mpi.mpicc))
    assert found is not None
    library = str(shim_library(found))
    return ["-x", f"LD_PRELOAD={library}"] if mpi.is_open else ["-genv", "LD_PRELOAD", library]


def run(mpi: Mpi, suite: Path, cwd: Path, ranks: int, exclude: Sequence[str], words: Sequence[str]) -> list[Result]:
    """Runs the suite and returns the result of each rank."""
    script = 'exec "$0" "$@" >rank.${PMI_RANK:-$OMPI_COMM_WORLD_RANK} 2>&1'
    choice = [word for name in exclude for word in ("-e", name)]
    env = {**mpi.env, **ENVIRONMENT[mpi.name], "VT_FILE_PREFIX": "suite", "VT_MAX_FLUSHES": "0"}
    start = [*urgent(), *mpi.launch, *words, "-n", str(ranks), "sh", "-c", script, sys.executable, suite, "-v", *choice]
    before = _cpu()
    done = call(start, cwd, env, check=False, timeout=1800)
    logs = [(cwd / f"rank.{rank}").read_text(errors="replace") for rank in range(ranks)]
    assert done.returncode == 0, f"{done}\n{logs[0][-3000:]}"
    return [_read(log, _cpu() - before) for log in logs]


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(log: str, cpu: float) -> Result:
    end = re.search(r"^Ran (\d+) tests in ([\d.]+)s\n+((?:OK|FAILED).*)$", log, re.MULTILINE)
    assert end, log[-3000:]
    tests = dict(re.findall(r"^\w+ \((test_\w+\.[\w.]+)\).* \.\.\. (.*)$", log, re.MULTILINE))
    return Result(tests, f"{end[1]} {end[3]}", float(end[2]), cpu)


def read_back(cwd: Path, ranks: int, spawns: bool) -> None:
    """Checks that no event is lost, that otf2-print reads all events, and that spawned processes are in the archive."""
    unify(cwd, "suite")
    about = json.loads(vtrace(cwd, "info", "--json", "suite").stdout)
    # grep takes ten times as long where characters can have several bytes.
    script = f"{need('otf2-print')} -Werror suite.trace/traces.otf2 | LC_ALL=C grep -cE '^[A-Z_]+ +[0-9]+ +[0-9]+  '"
    printed = call(["sh", "-c", script], cwd, timeout=900)
    assert printed.stderr == ""
    assert int(printed.stdout) == sum(about["events"].values()) > 100_000
    groups = {location["process"] for location in about["locations"]}
    assert len(groups) > ranks + 10 if spawns else len(groups) == ranks
    assert all(location["lost"] == 0 for location in about["locations"])


@pytest.mark.parametrize(
    ("name", "ranks", "whole"),
    [
        ("mpich-wheel", 2, False),
        ("openmpi", 2, False),
        *(pytest.param(name, ranks, True, marks=FULL) for name in EXCLUDED for ranks in (1, 2)),
    ],
)
def test_mpi4py(name: str, ranks: int, whole: bool, suite: Path, build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find(name, build)
    exclude = (*EXCLUDED[name], *(() if whole else LONG))
    plain, traced = (tmp_path / part for part in ("plain", "traced"))
    for place in (plain, traced):
        place.mkdir()
    expected = run(mpi, suite, plain, ranks, exclude, ())
    found = run(mpi, suite, traced, ranks, exclude, preload(mpi))
    for before, after in zip(expected, found, strict=True):
        assert after.tests == before.tests
        assert after.summary == before.summary
        assert len(after.tests) > (1500 if whole else 1350)
    for what, results in (("untraced", expected), ("traced", found)):
        print(f"{name}, {ranks} ranks, {what}: {max(r.seconds for r in results)} s, {results[0].cpu:.1f} s of CPU")
    read_back(traced, ranks, "spawn" not in exclude)
