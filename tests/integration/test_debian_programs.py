# SPDX-License-Identifier: BSD-3-Clause
"""Scientific programs of Debian with Debian's Open MPI: they compute the same with and without vtrace, and the archive
agrees with the report of each program. CONTRIBUTING.md names their packages; CI does not install them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.judge import judge_large
from support.build import mpis
from support.build.builder import Builder
from support.build.debian_inputs import ARGON_GRO, ARGON_TOP, H5, HPCC, LJ, MDP, NW, PETSC
from support.build.mpis import Mpi
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import inside
from support.tools import Done, call, command, need

pytestmark = pytest.mark.full

PYTHON = "/usr/bin/python3"
RANKS = 2


def installed(path: str, package: str) -> str:
    """The path of a file of the package. Skips the test with the package's name if the file is missing."""
    found = shutil.which(path) or next((str(p) for p in Path("/").glob(path.lstrip("/"))), None)
    if not found:
        pytest.skip(f"{path} is missing: apt-get install --no-install-recommends {package}")
    return found


@dataclass
class Runs:
    """The results of a program with and without vtrace."""

    plain: Done
    traced: Done
    trace: Any
    """The checked Trace; None for a large archive."""
    place: Path


@pytest.fixture
def both(build: Builder, tmp_path: Path) -> Callable[..., Runs]:
    mpi = mpis.find("openmpi", build)

    def run(
        files: dict[str, str],
        *words: str,
        env: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
        large: bool = False,
    ) -> Runs:
        more = {**mpi.env, "OMP_NUM_THREADS": "1", "VT_MAX_FLUSHES": "0", **(env or {})}
        ended = []
        for name in ("plain", "traced"):
            place = tmp_path / name
            place.mkdir()
            for file, text in files.items():
                (place / file).write_text(text)
            if before:
                call(before, place, more)
            ended.append(_start(mpi, place, words, more, traced=name == "traced"))
        plain, traced = ended
        assert plain.returncode == 0, str(plain)
        assert traced.returncode == 0, str(traced)
        unify(tmp_path / "traced", "run")
        archive = tmp_path / "traced" / "run.trace"
        return Runs(plain, traced, None if large else check(archive), tmp_path / "traced")

    return run


def _start(mpi: Mpi, place: Path, words: tuple[str, ...], env: dict[str, str], traced: bool) -> Done:
    before = [*command("vtrace"), "run", "-o", "run"] if traced else []
    return call([*before, *mpi.launch, "-n", str(RANKS), *words], place, env, check=False, timeout=1200)


def number(pattern: str, text: str) -> int:
    """The number that matches the first group of the pattern in a program's report."""
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"{pattern} is not in the report:\n{text[-3000:]}"
    return round(float(found[1]))


def test_lammps(both: Callable[..., Runs]) -> None:
    """With two ranks, the other rank is both neighbours in the divided dimension. The halo goes to both neighbours:
    forward in each step that builds no lists, backward in each step and before the first. When LAMMPS builds lists,
    atoms that left the domain go to one neighbour, and atoms at the border go to two sides."""
    program = installed("lmp", "lammps")
    runs = both({"in.lj": LJ}, program, "-in", "in.lj", "-log", "none")
    steps = number(r"^Loop time of \S+ on 2 procs for (\d+) steps", runs.traced.stdout)
    builds = number(r"^Neighbor list builds = (\d+)", runs.traced.stdout)
    assert (steps, builds) == (100, 5)
    energies = r"^ +\d+ +[-\d.]+ +[-\d.]+ .*$"
    assert re.findall(energies, runs.plain.stdout, re.M) == re.findall(energies, runs.traced.stdout, re.M) != []
    for rank in range(RANKS):
        calls = runs.trace.calls(rank)
        assert calls["MPI_Irecv"] == calls["MPI_Send"] == 2 * (steps - builds) + 2 * (steps + 1) + 3 * (builds + 1)


def test_gromacs(both: Callable[..., Runs]) -> None:
    """The log counts the exchanges of coordinates and forces; with two ranks each exchange is one MPI_Sendrecv. The
    domain decomposition adds 3 to 6 of them each time."""
    program = installed("gmx_mpi", "gromacs")
    files = {"argon.gro": ARGON_GRO, "argon.top": ARGON_TOP, "md.mdp": MDP}
    grompp = (program, "grompp", "-f", "md.mdp", "-c", "argon.gro", "-p", "argon.top", "-o", "md.tpr")
    runs = both(files, program, "mdrun", "-s", "md.tpr", "-ntomp", "1", "-deffnm", "md", before=grompp)
    log = (runs.place / "md.log").read_text()
    assert number(r"^Using (\d+) MPI processes", log) == len(runs.trace.locations) == RANKS
    row = r"^ {} +2 +1 +(\d+) "
    coordinates, forces, divided = (
        number(row.format(name), log) for name in ("Comm. coord.", "Wait . Comm. F", "Domain decomp.")
    )
    assert forces == number(r"nsteps += (\d+)", log) + 1 == 51
    for rank in range(RANKS):
        more = runs.trace.calls(rank)["MPI_Sendrecv"] - coordinates - forces
        assert 3 * divided <= more <= 6 * divided


def test_nwchem(both: Callable[..., Runs]) -> None:
    """Global Arrays uses one-sided communication; its statistics count the calls of process 0."""
    program = installed("nwchem", "nwchem")
    runs = both({"h2.nw": NW}, program, "h2.nw")
    energy = r"Total SCF energy = +(\S+)"
    assert re.findall(energy, runs.plain.stdout) == re.findall(energy, runs.traced.stdout) == ["-1.116759310192"]
    row = re.search(r"^calls: +(\d+) +(\d+) .* (\d+) *$", runs.traced.stdout, re.MULTILINE)
    assert row, runs.traced.stdout[-3000:]
    assert runs.trace.calls(0)["MPI_Fetch_and_op"] == int(row[3]) > 0
    assert runs.trace.calls(0)["MPI_Win_free"] == runs.trace.calls(0)["MPI_Win_allocate"] >= int(row[1]) == int(row[2])


def test_hpcc(both: Callable[..., Runs]) -> None:
    """b_eff reports the lengths of its messages; the archive has more than 20 messages of each length."""
    runs = both({"hpccinf.txt": HPCC}, installed("hpcc", "hpcc"), large=True)  # millions of MPI_Test
    report = (runs.place / "hpccoutf.txt").read_text()
    assert number(r"^Success=(\d+)", report) == 1
    section = report.partition("Begin of LatencyBandwidth section")[2].partition("End of LatencyBandwidth")[0]
    lengths = {int(n) for n in re.findall(r"Message (?:Length|Size): +(\d+)", section)}
    assert lengths == {8, 2_000_000}
    events = json.loads(vtrace(runs.place, "info", "--json", "run").stdout)["events"]
    archive = runs.place / "run.trace"
    assert judge_large(archive, sum(events.values()), complete=True) == ""
    script = f"{need('otf2-print')} {archive}/traces.otf2 | grep -oE '^MPI_I?SEND .*, Length: [0-9]+'"
    sent = Counter(int(line.rpartition(" ")[2]) for line in call(["sh", "-c", script], runs.place).stdout.splitlines())
    assert all(sent[length] > 20 for length in lengths), sent


def test_petsc4py(both: Callable[..., Runs]) -> None:
    """-log_view counts the messages before it prints; the messages of the printing itself use MPI_Send."""
    place = Path(installed("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages/petsc4py", "python3-petsc4py"))
    env = {"PETSC_DIR": str(place.parents[3])}
    runs = both({"solve.py": PETSC}, PYTHON, "solve.py", "-log_view", env=env)
    assert number(r"^iterations (\d+)", runs.plain.stdout) == number(r"^iterations (\d+)", runs.traced.stdout) == 200
    counted = number(r"^MPI Msg Count: .* (\S+)$", runs.traced.stdout)
    assert runs.trace.kinds()["MpiIsend"] == counted > 400
    length = number(r"^MPI Msg Len \(bytes\): .* (\S+)$", runs.traced.stdout)
    assert sum(e.attrs["msg_length"] for e in runs.trace.events if e.kind == "MpiIsend") == length


def test_h5py(both: Callable[..., Runs]) -> None:
    """Each rank writes its part of the data set with one call; the bytes written by MPI-IO are those stored by HDF5."""
    installed("/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi", "python3-h5py-mpi")
    runs = both({"write.py": H5}, PYTHON, "write.py", env={"H5PY_ALWAYS_USE_MPI": "1"})
    stored, total = (number(rf"^{word} (\S+)", runs.traced.stdout) for word in ("stored", "sum"))
    assert (stored, total) == (80_000, 25_000_000)
    assert os.path.getsize(runs.place / "out.h5") > stored
    done = Counter(e.attrs["bytes_result"] for e in runs.trace.events if e.kind == "IoOperationComplete")
    assert done[stored // RANKS] == RANKS
    for rank in range(RANKS):
        assert "IoOperationComplete" in inside(runs.trace, rank)["MPI_File_write_at"]
