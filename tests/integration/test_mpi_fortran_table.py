# SPDX-License-Identifier: BSD-3-Clause
"""Every entry point of the Fortran bindings is wrapped, passes its arguments on unchanged, and is recorded once."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.every_fortran_call import program
from support.build.run import run, unify
from support.build.wrap import wrap
from support.oracles.check import check
from vtrace import paths
from vtrace.wrappers.mpi_shim import fortran, generate, mpi_header, shim
from vtrace.wrappers.mpi_shim.fortran import Binding
from vtrace.wrappers.mpi_shim.fortran_locals import Entry, locals_of
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi

NOT_WRAPPED = re.compile(
    r".*_fn_|mpi_conversion_fn_null_"  # predefined callbacks, which MPI compares by address
    r"|mpi_sizeof_.*|mpi_f_sync_reg_.*|mpi_fortran_.*"  # not MPI calls, or data
    r"|mpix_.*_init_.*|mpi_aint_(add|diff)_.*|mpix?_\w+_(f08|f08ts)_(large_)?"  # not in mpi.h, other bindings
)
PLACE = paths.LIB / "mpiwrap" / "templates"
QUIET = {"MPI_Wtime", "MPI_Wtick", "MPI_Finalized", "MPI_Aint_add", "MPI_Aint_diff"}


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest, build: Builder) -> mpis.Mpi:
    return mpis.find(request.param, build)


@pytest.fixture(scope="session")
def found(mpi: mpis.Mpi) -> Mpi:
    answer = find_mpi(str(mpi.mpicc))
    assert answer is not None
    return answer


@pytest.fixture(scope="session", params=["mpif", "f08"])
def binding(request: pytest.FixtureRequest, found: Mpi) -> Binding:
    (answer,) = [b for b in fortran.bindings(found.fortran) if b.key == request.param]
    return answer


@pytest.fixture(scope="session")
def entries(found: Mpi, binding: Binding) -> list[Entry]:
    return fortran.entries(binding, generate.wrapped(mpi_header.functions(found.preprocessed, found.library)))


def test_every_entry_point_is_wrapped(binding: Binding, entries: list[Entry]) -> None:
    wrapped = {entry.symbol for entry in entries}
    endings = "|".join(binding.endings)
    exported = {s for s in binding.symbols if re.fullmatch(rf"mpix?_\w*[a-z0-9]({endings})", s)}
    assert len(wrapped) > 340
    assert wrapped <= exported
    assert [s for s in sorted(exported - wrapped) if not NOT_WRAPPED.fullmatch(s)] == []


def test_spellings_of_other_compilers(entries: list[Entry], binding: Binding) -> None:
    """The entry mpi_send_ of gfortran has the spellings mpi_send, mpi_send__ and MPI_SEND."""
    if binding.key == "f08":
        pytest.skip("a module's procedures have one name")
    (send,) = [entry for entry in entries if entry.symbol == "mpi_send_"]
    assert set(send.spellings) == {"mpi_send", "mpi_send__", "MPI_SEND"}


def test_the_records_are_those_of_c(entries: list[Entry]) -> None:
    """Every entry point can convert its arguments, so that it records as much as the C function."""
    templates = generate.read_templates(PLACE, PLACE / "fortran")
    assert [entry.symbol for entry in entries if locals_of(entry, templates.of(entry.function)) is None] == []


@pytest.mark.parametrize("level", ["-O0", pytest.param("-O1", marks=pytest.mark.full)])
def test_the_unit_compiles_without_a_warning(found: Mpi, binding: Binding, level: str, tmp_path: Path) -> None:
    """Optimising takes most of the time; -O1 also finds values that may be uninitialised."""
    shim.write_source(found, tmp_path / "shim.c")
    unit = tmp_path / f"{binding.key}.c"
    shim.compile_shim(found, unit, tmp_path / "unit.o", (level, "-Wall", "-Wextra", "-Wshadow", "-Werror"))
    shown = subprocess.run(["nm", tmp_path / "unit.o"], capture_output=True, text=True, check=True).stdout
    symbols: dict[str, set[str]] = {}
    for line in shown.splitlines():
        letter, name = line.split()[-2:]
        symbols.setdefault(letter, set()).add(name)
    assert symbols["W"] <= binding.symbols
    assert not [name for letter in "TDB" for name in symbols.get(letter, set())]
    assert {name for name in symbols["U"] if name.startswith("pmpi")} <= binding.symbols


def test_every_call_is_passed_on_and_recorded_once(
    mpi: mpis.Mpi, found: Mpi, binding: Binding, entries: list[Entry], tmp_path: Path
) -> None:
    optional = binding.key == "f08"
    (tmp_path / "calls.c").write_text(program(entries, optional))
    flags = ("-O0", "-w", "-vt:inst", "manual")
    (library,) = [path for path in found.fortran if mpi_header.soname(path) == binding.soname]
    wrap(tmp_path, "-vt:cc", mpi.mpicc, *flags, "calls.c", str(library), "-o", "calls")
    done = run(tmp_path / "calls", tmp_path, env=mpi.env)
    assert done.stdout == ""
    unify(tmp_path, "calls")
    trace = check(tmp_path / "calls.trace")
    entered = Counter(
        trace.region_of(e).name for e in trace.of(0) if e.kind == "Enter" and trace.region_of(e).description
    )
    expected = Counter(["MPI_Waitany"])  # the first call of the program
    for entry in entries:
        name = entry.function.name
        expected[name] += 0 if name in QUIET else 2 if optional and entry.arguments[-1:] == ("ierror",) else 1
    assert entered == +expected
