# SPDX-License-Identifier: BSD-3-Clause
"""Addresses become functions with names, files and lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from support.tools import need
from vtrace.symbols.debug_files import build_id_of
from vtrace.symbols.demangle import construct, is_outlined, readable
from vtrace.symbols.modules import Module, Place, places
from vtrace.symbols.symbols import Function, Symbols

C = """
static int leaf(int i)
{
    return i * 2;
}
int
middle(int n)
{
    return leaf(n);
}
int main(void) { return middle(1); }
"""
CXX = """
namespace ns {
struct base { virtual ~base() {} virtual int f(int x) const; };
int base::f(int x) const
{ return x; }
template <class T> T twice(T x) { return x + x; }
namespace { int hidden(int x) { return twice(x); } }
}
int main() {
    auto lambda = [](int x)
    { return ns::hidden(x); };
    return ns::base().f(lambda(1));
}
"""
FORTRAN = """
module heat
contains
  subroutine step(n)
    integer, intent(in) :: n
    print *, inner(n)
  contains
    integer function inner(k)
      integer, intent(in) :: k
      inner = k + 1
    end function
  end subroutine
end module
subroutine outer(n)
  use heat
  integer :: n
  call step(n)
end subroutine
program solver
  call outer(3)
end program
"""
C_LINES = {"leaf": 2, "middle": 7, "main": 11}
CXX_LINES = {
    "_ZNK2ns4base1fEi": 4, "_ZN2ns5twiceIiEET_S1_": 6, "_ZN2ns12_GLOBAL__N_16hiddenEi": 7, "main": 9,
}  # fmt: skip
FORTRAN_LINES = {"__heat_MOD_step": 4, "inner.0": 8, "outer_": 14, "MAIN__": 19}


def compiled(directory: Path, compiler: str, source: str, suffix: str, *options: str) -> Path:
    text = directory / f"program{suffix}"
    text.write_text(source)
    subprocess.run([need(compiler), *options, text, "-o", directory / "program"], check=True, cwd=directory)
    return directory / "program"


def addresses(program: Path) -> dict[str, int]:
    """Addresses of functions in the symbol table, by linkage name."""
    with program.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        functions = (s for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC" and s["st_size"])
        return {symbol.name: symbol["st_value"] for symbol in functions}


def build_id(program: Path) -> bytes:
    with program.open("rb") as stream:
        return build_id_of(ELFFile(stream))


def resolved(
    program: Path, *, identity: bytes | None = None, start: int = 2**62
) -> tuple[dict[str, Function], list[str]]:
    where = addresses(program)
    file = (str(program), build_id(program) if identity is None else identity)
    symbols = Symbols(start)
    symbols.resolve(Place(file, address) for address in where.values())
    return {name: symbols.functions[Place(file, address)] for name, address in where.items()}, symbols.warnings


@pytest.mark.parametrize(
    "options", [["-gdwarf-4"], ["-gdwarf-5", "-O2"], ["-g", "-O2", "-ffunction-sections"]], ids=" ".join
)
@pytest.mark.parametrize(
    ("compiler", "source", "suffix", "lines"),
    [
        ("gcc", C, ".c", C_LINES), ("clang", C, ".c", C_LINES), ("g++", CXX, ".cc", CXX_LINES),
        ("clang++", CXX, ".cc", CXX_LINES), ("gfortran", FORTRAN, ".f90", FORTRAN_LINES),
    ],
    ids=["gcc", "clang", "g++", "clang++", "gfortran"],
)  # fmt: skip
def test_lines(
    tmp_path: Path, compiler: str, source: str, suffix: str, lines: dict[str, int], options: list[str]
) -> None:
    program = compiled(tmp_path, compiler, source, suffix, *options, "-finstrument-functions", *no_hooks(tmp_path))
    found, warnings = resolved(program)
    assert warnings == []
    for name, line in lines.items():
        function = next(f for n, f in found.items() if n == name or n.startswith(f"{name}."))
        assert (function.file, function.line) == (str(tmp_path / f"program{suffix}"), line), name


def no_hooks(directory: Path) -> list[str]:
    """Options that link empty hooks. Instrumentation prevents inlining, so each function stays in the program."""
    hooks = directory / "hooks.c"
    hooks.write_text(
        "void __cyg_profile_func_enter(void *f, void *c) {} void __cyg_profile_func_exit(void *f, void *c) {}"
    )
    subprocess.run([need("gcc"), "-c", hooks, "-o", directory / "hooks.o"], check=True)
    return [str(directory / "hooks.o")]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_lambda(tmp_path: Path, compiler: str) -> None:
    program = compiled(tmp_path, compiler, CXX, ".cc", "-g")
    function = next(f for name, f in resolved(program)[0].items() if name.startswith("_ZZ4main") and "clE" in name)
    assert function.line == 10
    assert function.name.startswith("main::")


@pytest.mark.parametrize(
    ("symbol", "fortran", "name"),
    [
        ("solve", False, "solve"), ("solve_", False, "solve_"), ("solve_", True, "solve"), ("_start", False, "_start"),
        ("__heat_MOD_step", False, "heat::step"), ("inner.12", True, "inner"), ("work.constprop.0", False, "work"),
        ("__heat.details_MOD_step", True, "heat.details::step"),
        ("work.part.0.isra.0", False, "work"), ("_Z3addii", False, "add(int, int)"),
        ("_Z3addii.cold", False, "add(int, int)"), ("_Znot mangled", False, "_Znot mangled"),
        ("main._omp_fn.0", False, "main._omp_fn.0"), ("_Z5solvel._omp_fn.0", False, "solve(long)._omp_fn.0"),
        ("__heat_MOD_step._omp_fn.1", True, "heat::step._omp_fn.1"), ("step_._omp_fn.0", True, "step._omp_fn.0"),
        ("MAIN__", True, "MAIN__"), ("_", True, "_"),
    ],
)  # fmt: skip
def test_readable(symbol: str, fortran: bool, name: str) -> None:
    assert readable(symbol, fortran) == name


@pytest.mark.parametrize(
    ("symbol", "fortran", "is_task", "name"),
    [
        ("work._omp_fn.0", False, False, "work, parallel region at w.c:3"),
        ("_Z4workl._omp_fn.1", False, True, "work(long), task at w.c:3"),
        ("__heat_MOD_step._omp_fn.0", True, False, "heat::step, parallel region at w.c:3"),
        ("MAIN__._omp_fn.0", True, False, "solver, parallel region at w.c:3"),
        (".omp_outlined.", False, False, "parallel region at w.c:3"),
        (".omp_outlined..3", False, False, "parallel region at w.c:3"),
        (".omp_outlined._debug__", False, False, "parallel region at w.c:3"),
        (".omp_task_entry.", False, True, "task at w.c:3"),
        ("work.omp_outlined", False, False, "work, parallel region at w.c:3"),
        ("work.omp_outlined_debug__.2", False, False, "work, parallel region at w.c:3"),
    ],
)
def test_constructs(symbol: str, fortran: bool, is_task: bool, name: str) -> None:
    assert is_outlined(symbol)
    assert construct(symbol, fortran, program="solver", place="w.c:3", is_task=is_task) == name


@pytest.mark.parametrize("symbol", ["work", "omp_outlined", "work.part.0", "_omp_fn", "_Z4workl"])
def test_other_functions_are_no_constructs(symbol: str) -> None:
    assert not is_outlined(symbol)


def test_names_of_a_fortran_program(tmp_path: Path) -> None:
    found = resolved(compiled(tmp_path, "gfortran", FORTRAN, ".f90", "-g"))[0]
    assert (found["MAIN__"].name, found["outer_"].name) == ("solver", "outer")


def test_constructs_of_a_fortran_program(tmp_path: Path) -> None:
    """gfortran states no line for the body of a construct, and names the body of the main program's by its symbol."""
    source = """program solver
      integer :: i, k(8)
      !$omp parallel do
      do i = 1, 8
        k(i) = i
      end do
      print *, k
      end program
      """
    found = resolved(compiled(tmp_path, "gfortran", source, ".f90", "-g", "-fopenmp"))[0]
    body = found["MAIN__._omp_fn.0"]
    assert (body.name, body.file, body.line) == ("solver._omp_fn.0", str(tmp_path / "program.f90"), 1)


def test_stripped(tmp_path: Path) -> None:
    program = compiled(tmp_path, "gcc", C, ".c", "-g")
    place = Place((str(program), build_id(program)), addresses(program)["middle"])
    subprocess.run([need("strip"), program], check=True)
    symbols = Symbols(2**62)
    symbols.resolve([place])
    assert symbols.functions[place] == Function(*[f"program+{place.address:#x}"] * 2)


def test_changed_since_the_run(tmp_path: Path) -> None:
    program = compiled(tmp_path, "gcc", C, ".c", "-g", "-Wl,--build-id=sha1")
    found, warnings = resolved(program, identity=b"\1" * 20)
    assert found["main"].name.startswith("program+0x")
    assert len(warnings) == 1
    assert "has changed since the run" in warnings[0]


def test_without_abuild_id_of_the_time_of_change_counts(tmp_path: Path) -> None:
    program = compiled(tmp_path, "gcc", C, ".c", "-g", "-Wl,--build-id=none")
    changed = os.stat(program).st_mtime_ns
    assert resolved(program, start=changed + 1)[0]["main"].name == "main"
    found, warnings = resolved(program, start=changed - 1)
    assert found["main"].name.startswith("program+0x")
    assert len(warnings) == 1


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a program")
    files = [(str(tmp_path / name), b"") for name in ("gone", "text")]
    symbols = Symbols(2**62)
    symbols.resolve(Place(file, 0x1234) for file in files)
    assert [symbols.functions[Place(file, 0x1234)].name for file in files] == ["gone+0x1234", "text+0x1234"]
    assert len(symbols.warnings) == 2


def test_places_in_the_code_space() -> None:
    modules = [
        Module(0, 0x5000, size=0x1000, bias=0x4000, path="/bin/heat", build_id=b"h", ticks=0),
        Module(0x1000, 0x9000, size=0x800, bias=0x9000, path="/lib/x.so", build_id=b"x", ticks=5),
    ]
    offsets, plain = np.array([0, 0xFFF, 0x1000, 0x1800], np.uint32), np.array([0x9001, 0x7777], np.uint64)
    heat, lib = ("/bin/heat", b"h"), ("/lib/x.so", b"x")
    assert places(modules, offsets, plain) == [
        Place(heat, 0x1000), Place(heat, 0x1FFF), Place(lib, 0), Place(None, 0x1800),
        Place(lib, 1), Place(None, 0x7777),
    ]  # fmt: skip


def test_pyelftools_is_loaded_only_for_addresses() -> None:
    code = "import sys, vtrace.unify.run; sys.exit(any(name.startswith('elftools') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
