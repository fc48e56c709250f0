# SPDX-License-Identifier: BSD-3-Clause
"""Target regions of OpenMP by OMPT, with clang 19 and its host device: directives, copies, allocations, kernels."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis, offload
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS

ROUNDS = 5


def program(build: Builder) -> Path:
    offload.check_installed()
    return build("omp_target.c", compiler=offload.COMPILER, flags=offload.FLAGS, plain=True)


def unified(place: Path, *words: str | Path, code: int = 0, env: dict[str, str] | None = None) -> Trace:
    done = vtrace(place, "run", "-o", "run", *words, check=False, env=offload.ENVIRONMENT | (env or {}))
    assert done.returncode == code, str(done)
    unify(place, "run")
    return check(place / "run.trace", complete=code == 0)


def line_of(text: str) -> int:
    """The only line of the program with a text."""
    (found,) = (n for n, line in enumerate((PROGRAMS / "omp_target.c").read_text().splitlines(), 1) if text in line)
    return found


def targets(trace: Trace) -> Counter[tuple[str, int | None]]:
    """The calls in target regions: name without its place, and bytes."""
    names = {n: region.name for n, region in trace.regions.items() if region.name.startswith("!$omp target")}
    entered = [event for event in trace.events if event.kind == "Enter" and event.attrs["region"] in names]
    return Counter(
        (names[event.attrs["region"]].removeprefix("!$omp ").partition(" @")[0], event.more.get("DEVICE_BYTES"))
        for event in entered
    )


def expected(rounds: int = ROUNDS) -> Counter[tuple[str, int | None]]:
    return Counter({
        ("target enter data", None): 1, ("target exit data", None): 1, ("target", None): rounds,
        ("target submit", None): rounds, ("target update", None): rounds, ("target copy to host", 80): rounds,
        ("target alloc", None): 2, ("target delete", None): 2, ("target copy to device", 8000): 1,
        ("target copy to host", 8000): 1, ("target copy to device", 80): 1,
    })  # fmt: skip


def test_counts_bytes_and_lines(build: Builder, tmp_path: Path) -> None:
    """Each directive is a region with its line, and copies and kernels are inside."""
    trace = unified(tmp_path, program(build), "order", str(ROUNDS))
    assert targets(trace) == expected()
    places = {
        "target enter data": ("CODE", line_of("target data map")), "target": ("CODE", line_of("values[i] += 1") - 1),
        "target submit": ("KERNEL", line_of("values[i] += 1") - 1),
        "target copy to host": ("DATA_TRANSFER", line_of("update from")),
    }  # fmt: skip
    for name, (role, line) in places.items():
        (region,) = (one for one in trace.regions.values() if one.name == f"!$omp {name} @omp_target.c:{line}")
        assert (region.role, region.paradigm, region.line) == (role, "OPENMP", line)
    devices = [event.more["OMP_DEVICE"] for event in trace.events if "OMP_DEVICE" in event.more]
    assert {*devices} == {0}


def test_nowait(build: Builder, tmp_path: Path) -> None:
    """The runtime's own threads execute the regions: helper threads, in no parallel region."""
    trace = unified(tmp_path, program(build), "nowait", str(ROUNDS))
    assert targets(trace) == Counter({
        ("target", None): ROUNDS, ("target submit", None): ROUNDS, ("target alloc", None): ROUNDS,
        ("target delete", None): ROUNDS, ("target copy to device", 8): ROUNDS, ("target copy to host", 8): ROUNDS,
    })  # fmt: skip
    assert not any("parallel" in region.name for region in trace.regions.values())
    found = json.loads(vtrace(tmp_path, "summary", "run", "--json").stdout)
    assert {row["thread"] for row in found["classes"]} == {"Master thread"}
    assert sum(row["bytes"] for row in found["kernels"]) == 16 * ROUNDS  # of helper threads, too


@pytest.mark.parametrize(("how", "code"), [("kill", -9), ("fork", 0)])
def test_odd_ends(build: Builder, tmp_path: Path, how: str, code: int) -> None:
    assert targets(unified(tmp_path, program(build), how, str(ROUNDS), code=code)) == expected()


def test_two_ranks(build: Builder, tmp_path: Path) -> None:
    offload.check_installed()
    mpi = mpis.find("mpich-wheel", build)
    flags = (f"-cc={offload.COMPILER}", *offload.FLAGS, "-DWITH_MPI")
    made = build("omp_target.c", compiler=str(mpi.mpicc), flags=flags, plain=True)
    trace = unified(tmp_path, *mpi.launch, "-n", "2", made, "order", str(ROUNDS), env=dict(mpi.env))
    assert targets(trace) == expected() + expected()
    by_rank = Counter(event.location for event in trace.events if "DEVICE_BYTES" in event.more)
    assert by_rank == {0: ROUNDS + 3, 1: ROUNDS + 3}


def test_tables(build: Builder, tmp_path: Path) -> None:
    """vtrace summary has the bytes, and says that the times are the host's: nothing tells those in a queue."""
    unified(tmp_path, program(build), "order", str(ROUNDS))
    found = json.loads(vtrace(tmp_path, "summary", "run", "--json").stdout)
    assert {(row["measured"], row["queued_ns"]) for row in found["kernels"]} == {("host", None)}
    sums: Counter[str] = Counter()
    for row in found["kernels"]:
        sums[row["activity"].partition(" @")[0]] += row["bytes"] or row["calls"]
    assert sums == {
        "!$omp target submit": ROUNDS, "!$omp target copy to device": 8080, "!$omp target alloc": 2,
        "!$omp target copy to host": 8000 + 80 * ROUNDS, "!$omp target delete": 2,
    }  # fmt: skip
    assert not found.get("devices")


def test_filter(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("!$omp target submit -- 0\n!$omp target update -- 2\n")
    trace = unified(tmp_path, program(build), "order", "5", env={"VT_FILTER_SPEC": str(tmp_path / "rules")})
    found = targets(trace)
    assert (found["target submit", None], found["target update", None], found["target", None]) == (0, 2, 5)


def test_told_without_the_library(build: Builder, tmp_path: Path) -> None:
    """libomptarget does not find libomp.so: vtrace run says how to record its regions."""
    done = vtrace(tmp_path, "run", program(build), "order", env={"LD_LIBRARY_PATH": ""})
    assert f"target regions are not recorded: LD_LIBRARY_PATH needs {offload.LIBRARIES}" in done.stderr
    silent = vtrace(tmp_path, "run", "--no-openmp", program(build), "order", env={"LD_LIBRARY_PATH": ""})
    assert "target regions" not in silent.stderr
