# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP constructs of programs built without vtrace and without debug information have the names of functions."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.tools import call

PARALLEL = "!$omp parallel @"
ENV = {"OMP_NUM_THREADS": "2"}


def regions(where: Path, program: Path, *words: str) -> Counter[str]:
    """The number of enters of each region, from `vtrace run` and `vtrace summary`."""
    done = vtrace(where, "run", program, *words, env=ENV)
    assert done.stdout == run(program, where, *words, env=ENV).stdout
    unify(where, program.name)
    told = json.loads(vtrace(where, "summary", program.name, "--json").stdout)
    return Counter({row["region"]: row["calls"] for row in told["regions"]})


def parallel(found: Counter[str]) -> dict[str, int]:
    return {name.removeprefix(PARALLEL): n for name, n in found.items() if name.startswith(PARALLEL)}


def test_gcc(build: Builder, tmp_path: Path) -> None:
    program = build("omp_names.cpp", compiler="g++", flags=("-O2", "-fopenmp"), plain=True)
    found = regions(tmp_path, program)
    assert parallel(found) == {"sums::add(long)": 6, "count": 4, "twice": 8, "twice.1": 10}
    assert found["!$omp implicit barrier @twice.1"] == 10
    found.pop(
        next((name for name in found if "critical sblock @count" in name), ""), None
    )  # only if a thread has waited
    inside = {re.sub("0x[0-9a-f]+", "N", name): n for name, n in found.items() if "@count.0+" in name}
    assert inside == {"!$omp critical @count.0+N": 4, "!$omp barrier @count.0+N": 4}


def test_clang(build: Builder, tmp_path: Path) -> None:
    """libomp gives the address of the fork in the function itself; clang names all outlined functions alike."""
    program = build("omp_names.cpp", compiler="clang++", flags=("-O2", "-fopenmp"), plain=True)
    every = regions(tmp_path, program)
    inside = {re.sub("0x[0-9a-f]+", "N", name): n for name, n in every.items() if "barrier @count" in name}
    assert inside == {"!$omp barrier @count.0+N": 4, "!$omp implicit barrier @count+N": 4}
    found = parallel(every)
    by = Counter(dict.fromkeys(("sums::add(long)", "count", "twice"), 0))
    for name, n in found.items():
        assert re.fullmatch(r".+\+0x[0-9a-f]+", name)
        by[name.partition("+")[0]] += n
    assert (by, len(found)) == ({"sums::add(long)": 6, "count": 4, "twice": 18}, 4)


def test_shared_library_and_stripped_program(build: Builder, tmp_path: Path) -> None:
    """A stripped library has the names of exported functions only; other places have the offset in the file."""
    flags = ("-O2", "-fopenmp", "-DLIBRARY", "-shared", "-fPIC")
    library = build("omp_names.cpp", compiler="g++", flags=flags, output="libnames.so", plain=True)
    source = tmp_path / "uses.c"
    source.write_text("long count(void), twice(void);\nint main(void) { return count() + twice() != 1084; }\n")
    words = ["-O1", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{tmp_path}", "libnames.so", "-o", "uses"]
    (tmp_path / "libnames.so").write_bytes(library.read_bytes())
    call(["gcc", source, *words, "-fopenmp"], tmp_path)
    assert parallel(regions(tmp_path, tmp_path / "uses")) == {"count": 4, "twice": 8, "twice.1": 10}
    call(["strip", tmp_path / "libnames.so"], tmp_path)
    call(["rm", "-rf", "uses.trace"], tmp_path)
    found = parallel(regions(tmp_path, tmp_path / "uses"))
    assert sorted(found.values()) == [4, 8, 10]
    assert all(re.fullmatch(r"libnames\.so\+0x[0-9a-f]+", name) for name in found), found


def test_fortran(build: Builder, tmp_path: Path) -> None:
    program = build("omp.f90", compiler="gfortran", flags=("-O1", "-fopenmp"), plain=True)
    found = parallel(regions(tmp_path, program))
    assert sum(found.values()) == 4
    assert not any("0x" in name for name in found), found


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_lines_where_there_are_any(build: Builder, tmp_path: Path, compiler: str) -> None:
    program = build("omp_names.cpp", compiler=compiler, flags=("-O2", "-g", "-fopenmp"), plain=True)
    found = parallel(regions(tmp_path, program))
    assert sorted(found.values()) == [4, 6, 8, 10]
    assert all(re.fullmatch(r"omp_names\.cpp:\d+", name) for name in found), found


@pytest.mark.parametrize("nested", [(), ("nested",)])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_threads_have_the_numbers_of_openmp(
    build: Builder, tmp_path: Path, compiler: str, nested: tuple[str, ...]
) -> None:
    """Functions that a thread calls for its own number, and inside nested teams for that of the thread around it."""
    program = build("omp_numbers.c", compiler=compiler, flags=("-O0", "-g", "-fopenmp"), mode="mt")
    run(program, tmp_path, *nested)
    unify(tmp_path, program.name)
    trace = check(tmp_path / f"{program.name}.trace")
    numbers = {f"t{n}": str(n) for n in (1, 2, 3)} | {"of0": "0:1", "of1": "1:1"}
    called: dict[str, set[str]] = {}
    for event in trace.events:
        if event.kind == "Enter" and (number := numbers.get(trace.region_of(event).name)):
            called.setdefault(trace.locations[event.location].name, set()).add(number)
    told = {name: set(re.findall(r"\d+(?::\d+)*", name.partition("OMP thread ")[2])) for name in called}
    assert told == called
    if not nested:
        assert [one.name for one in trace.locations.values()] == [
            "Master thread",
            *map("OMP thread {}".format, (1, 2, 3)),
        ]
