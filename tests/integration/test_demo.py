# SPDX-License-Identifier: BSD-3-Clause
"""The example heat2d from its Makefile to its archive: all counts follow from the ranks, cells and steps. vtrace demo,
which runs the examples of the installed package."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from support.build.run import names, run, unify, vtrace
from support.oracles.check import check, rank_in
from support.readers.archive import Trace
from support.tools import BIN, ROOT, Done, call, command, environment, need, unavailable

CELLS, STEPS, REPORTS = 26, 50, 2
MAKEFILE = ROOT / "examples" / "heat2d" / "Makefile"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with heat2d, built with the example's Makefile."""
    need("mpicc")
    place = tmp_path_factory.mktemp("heat2d")
    wrapper = place / "cc"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(command("vtrace-cc"))} "$@"\n')
    wrapper.chmod(0o755)
    call([need("make"), "-f", MAKEFILE, f"CC={wrapper}"], place)
    return place


@pytest.fixture(scope="module")
def traced(built: Path) -> Trace:
    """The archive of a run on 2 x 2 ranks."""
    done = run(built / "heat2d", built, str(CELLS), str(STEPS), ranks=4)
    assert done.stdout.splitlines()[-1].endswith(": ok")
    local = {f"heat2d.{rank}.{kind}.z" for rank in range(1, 5) for kind in ("def", "events")} | {"heat2d.uctl"}
    assert local <= names(built)
    unify(built, "heat2d")
    assert not local & names(built)
    return check(built / "heat2d.trace")


def test_one_location_for_each_rank(traced: Trace) -> None:
    assert [location.group for location in traced.locations.values()] == [f"MPI Rank {rank}" for rank in range(4)]
    assert {location.name for location in traced.locations.values()} == {"Master thread"}


def test_messages_of_the_halo(traced: Trace) -> None:
    """Each rank of a 2 x 2 grid has two neighbours; a message to MPI_PROC_NULL is not recorded."""
    kinds = traced.kinds()
    for kind in ("MpiIsend", "MpiIsendComplete", "MpiIrecvRequest", "MpiIrecv"):
        assert kinds[kind] == 4 * 2 * STEPS
    assert kinds["MpiSend"] == kinds["MpiRecv"] == 0
    sent: Counter[tuple[int, int, int, int]] = Counter()
    for event in traced.events:
        if event.kind == "MpiIsend":
            a = event.attrs
            assert traced.comms[a["communicator"]].name == "heat grid"
            sender = rank_in(traced, a["communicator"], event.location)
            sent[(sender, a["receiver"], a["msg_tag"], a["msg_length"])] += 1
    # Tags: northward 0, southward 1, westward 2, eastward 3. Length: half a row or column of doubles.
    links = [(2, 0, 0), (3, 1, 0), (0, 2, 1), (1, 3, 1), (1, 0, 2), (3, 2, 2), (0, 1, 3), (2, 3, 3)]
    assert sent == {(*link, CELLS // 2 * 8): STEPS for link in links}


def test_collectives_and_their_communicators(traced: Trace) -> None:
    done: Counter[tuple[str, str]] = Counter()
    for event in traced.events:
        if event.kind == "MpiCollectiveEnd":
            comm = traced.comms[event.attrs["communicator"]]
            assert event.location in (comm.members or ())
            done[(event.attrs["collective_op"], comm.name)] += 1
    assert done[("BCAST", "MPI_COMM_WORLD")] == 4
    assert done[("ALLREDUCE", "heat grid")] == 4 * (STEPS + 1)
    assert done[("REDUCE", "row 0")] == done[("REDUCE", "row 1")] == 2 * REPORTS
    # The other collectives are calls that create and free communicators.
    assert {operation for operation, _ in done} <= {"BCAST", "ALLREDUCE", "REDUCE", "CREATE_HANDLE", "DESTROY_HANDLE"}
    members = {comm.name: comm.members for comm in traced.comms.values()}
    assert members == {
        "MPI_COMM_WORLD": (0, 1, 2, 3),
        "MPI_COMM_SELF": None,
        "heat grid": (0, 1, 2, 3),
        "row 0": (0, 1),
        "row 1": (2, 3),
    }


def test_functions_of_both_sources(traced: Trace) -> None:
    own = {
        "main": 1, "fill": 2, "solve": 1, "update": STEPS, "residual": STEPS, "largest_error": 1, "grid_create": 1,
        "grid_free": 1, "part": 2, "exchange_halo": STEPS, "sum_of_rows": REPORTS,
    }  # fmt: skip
    mpi = {
        "MPI_Init": 1, "MPI_Finalize": 1, "MPI_Comm_rank": 3, "MPI_Comm_size": 1, "MPI_Bcast": 1, "MPI_Dims_create": 1,
        "MPI_Cart_create": 1, "MPI_Comm_set_name": 2, "MPI_Cart_coords": 1, "MPI_Cart_shift": 2, "MPI_Comm_split": 1,
        "MPI_Type_vector": 1, "MPI_Type_commit": 1, "MPI_Type_free": 1, "MPI_Comm_free": 2, "MPI_Reduce": REPORTS,
        "MPI_Allreduce": STEPS + 1, "MPI_Irecv": 4 * STEPS, "MPI_Isend": 4 * STEPS, "MPI_Waitall": STEPS,
    }  # fmt: skip
    for location in traced.locations:
        assert traced.calls(location) == own | mpi
    files = {traced.region(name).name: Path(traced.region(name).file or "").name for name in own}
    assert {name for name, file in files.items() if file == "halo.c"} == {
        "grid_create", "grid_free", "part", "exchange_halo", "sum_of_rows",
    }  # fmt: skip
    assert set(files.values()) == {"heat.c", "halo.c"}
    edges = traced.edges(0)
    assert edges[(None, "main")] == 1
    assert edges[("solve", "exchange_halo")] == edges[("exchange_halo", "MPI_Waitall")] == STEPS


def test_info(traced: Trace) -> None:
    shown = vtrace(traced.path.parent, "info", "heat2d").stdout
    assert f"heat2d {CELLS} {STEPS}\n" in shown
    assert f"MpiIsend {8 * STEPS}" in " ".join(shown.split())


def test_untraced_it_computes_the_same(built: Path, tmp_path: Path) -> None:
    need("mpicc")
    call([need("make"), "-f", MAKEFILE, f"CC={need('mpicc')}"], tmp_path)
    plain = run(tmp_path / "heat2d", tmp_path, str(CELLS), str(STEPS), ranks=2)
    recorded = run(built / "heat2d", tmp_path, str(CELLS), str(STEPS), ranks=2)
    assert plain.stdout == recorded.stdout


@pytest.fixture
def without_mpi(tmp_path: Path) -> Path:
    """A virtual environment with vtrace, and nothing else, in its bin."""
    fresh = tmp_path / "fresh"
    call([sys.executable, "-m", "venv", "--without-pip", fresh], tmp_path)
    site = next(fresh.glob("lib/python3*/site-packages"))
    (site / "tested.pth").write_text(sysconfig.get_path("purelib"))
    for name in ("vtrace", "vtunify"):
        shutil.copy(BIN / name, fresh / "bin")
    (fresh / "bin" / "vtrace-python").write_text(f"#!{fresh}/bin/python\n")
    (fresh / "bin" / "sh").symlink_to(need("sh"))
    return fresh


def demo(words: list[str | Path], cwd: Path, path: str) -> tuple[Done, list[str]]:
    """Runs vtrace demo. Returns the command and the lines that it tells the user to type next."""
    if not (BIN / "vtrace").exists():
        unavailable("vtrace is not installed beside this Python")
    done = call(words, cwd, {"PATH": path}, check=False)
    return done, [line.strip() for line in done.stdout.partition("\nNext: ")[2].splitlines()[1:]]


def test_vtrace_demo_with_mpi(tmp_path: Path) -> None:
    """The demo shows each command before its output, and the commands to type next work in the same directory."""
    need("mpicc")
    done, following = demo([*command("vtrace"), "demo", "my demo"], tmp_path, environment()["PATH"])
    assert done.returncode == 0, str(done)
    ranks = min(4, max(2, len(os.sched_getaffinity(0))))
    typed = [line for line in done.stdout.splitlines() if line.startswith("$ ")]
    assert typed == [
        "$ cd 'my demo'", "$ vtrace-cc -O2 -fno-inline heat.c halo.c -lm -o heat2d", f"$ mpiexec -n {ranks} ./heat2d",
        "$ vtunify heat2d", "$ vtrace summary heat2d",
    ]  # fmt: skip
    at = [
        done.stdout.index(text)
        for text in (*typed[1:3], ": ok\n", typed[3], "heat2d.trace: ", typed[4], "Time by class")
    ]
    assert at == sorted(at)
    trace = check(tmp_path / "my demo" / "heat2d.trace")
    assert (trace.calls()["MPI_Init"], trace.calls()["solve"]) == (ranks, ranks)
    assert [line.partition(" ")[0] for line in following] == ["vtrace"] * 3
    assert [shlex.split(line)[1] for line in following] == ["view", "diagnose", "profile"]
    for line in following[1:]:
        call(["sh", "-c", line], tmp_path)


def test_vtrace_demo_without_mpi(without_mpi: Path, tmp_path: Path) -> None:
    """Without MPI and compilers the demo says so, and runs the threads: 1, 2, 4 and 8 hashes. vtrace is not in PATH, so
    that the next commands have its path."""
    tools = str(without_mpi / "bin")
    done, following = demo([without_mpi / "bin" / "vtrace", "demo", "out"], tmp_path, "/nonexistent")
    assert done.returncode == 0, str(done)
    assert done.stdout.startswith("no mpicc in PATH (pip install mpich): this example uses threads instead\n$ cd out\n")
    typed = [line for line in done.stdout.splitlines() if line.startswith("$ ")]
    assert typed[1:] == ["$ vtrace run --unify --python python3 hashes.py", "$ vtrace summary hashes"]
    calls = check(tmp_path / "out" / "hashes.trace").calls()
    assert (calls["__main__.work"], calls["__main__.compute"]) == (4, 15), calls
    assert shlex.split(following[2]) == [f"{os.path.relpath(tools, tmp_path)}/vtrace", "profile", "out/hashes.trace"]
    assert "__main__.compute" in call(["sh", "-c", following[2]], tmp_path).stdout


def test_programs_of_the_tutorials(tmp_path: Path) -> None:
    said = vtrace(tmp_path, "demo", "--tutorials").stdout
    assert "next: cd vtrace-tutorials, vtrace help tutorial\n" in said
    copied = {path.name: path.read_bytes() for path in (tmp_path / "vtrace-tutorials").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in (ROOT / "examples/tutorials").iterdir()}
    assert {Path(name).suffix for name in copied} == {".c", ".cc", ".F90", ".py"}


def test_vtrace_demo_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "vtrace-demo").mkdir()
    done, _ = demo([*command("vtrace"), "demo"], tmp_path, environment()["PATH"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "vtrace: error: vtrace-demo exists (name a new directory: vtrace demo DIR)\n"
    assert not list((tmp_path / "vtrace-demo").iterdir())
