# SPDX-License-Identifier: BSD-3-Clause
"""Calls that the compiler has made jumps are found again between the frames of a stack, by debug information."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from support.tools import need
from vtrace.symbols.lines import statements
from vtrace.symbols.tail_calls import jumps_between

OUTSIDE = """
#include <stdio.h>
void outside(void) { printf("%lu\\n", (unsigned long)__builtin_return_address(0)); }
void another(void) { outside(); }
"""
OTHER = """
extern void outside(void);
extern int count;
__attribute__((noinline)) static void reduce(int by)
{
    count += by;
    outside(); /* 7 */
}
__attribute__((noinline)) void step(int by)
{
    count *= 2;
    reduce(by); /* 12 */
}
"""
MAIN = """
extern void outside(void), another(void), step(int);
int count;
__attribute__((noinline)) static void stays(void) { outside(); count++; }
__attribute__((noinline)) static void either(int way)
{
    count++;
    if (way) outside();
    else another(); /* 9 */
}
__attribute__((noinline)) static void leads(int way)
{
    count++;
    either(way); /* 14 */
}
int main(int many, char **words)
{
    void (*volatile hidden)(int) = step;
    (void)words;
    step(many); /* 20 */
    stays();
    leads(many); /* 22 */
    hidden(many);
    return count;
}
"""
WAYS = [
    ("gcc", "-gdwarf-5"), ("gcc", "-gdwarf-4"), ("gcc", "-g", "-flto"), ("clang", "-gdwarf-5"), ("clang", "-gdwarf-4"),
]  # fmt: skip


@pytest.fixture(params=WAYS, ids=" ".join)
def returns(request: pytest.FixtureRequest, tmp_path: Path) -> list[int]:
    """The addresses to which the calls of outside return, of a program at a fixed address."""
    compiler, *flags = request.param
    for name, text in (("outside", OUTSIDE), ("other", OTHER), ("main", MAIN)):
        (tmp_path / f"{name}.c").write_text(text)
    words = [need(compiler), "-O2", *flags]
    for last in (["-shared", "-fPIC", "-fno-optimize-sibling-calls", "outside.c", "-o", "liboutside.so"],
                 ["-no-pie", "main.c", "other.c", "./liboutside.so", "-o", "program"]):  # fmt: skip
        subprocess.run([*words, *last], cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False)
    return [int(line) for line in done.stdout.split()]


def lines_between(program: Path, call: int, below: int | None = None) -> list[str]:
    """The lines of the jumps, outermost first."""
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        jumps = jumps_between(elf, str(program), [(call, below)]).get((call, below), [])
        known = statements(elf, jumps)
    return [f"{Path(known[jump].file or '').name}:{known[jump].line}" for jump in jumps]


def test_jumps_to_another_file(tmp_path: Path, returns: list[int]) -> None:
    program = tmp_path / "program"
    step, stays, leads, hidden = (back - 1 for back in returns)
    assert lines_between(program, step) == ["other.c:12", "other.c:7"]
    assert lines_between(program, stays) == [], "a call that is no jump"
    assert lines_between(program, leads) == ["main.c:14", "main.c:7"], "of two ways the function that both have"
    assert lines_between(program, hidden) == [], "a call by a pointer may enter any function"


def test_jumps_to_a_known_function(tmp_path: Path, returns: list[int]) -> None:
    """A frame below tells where the jumps end: here in step itself, so that there are none, or in a function that no
    jump enters."""
    program = tmp_path / "program"
    step, stays, *_ = (back - 1 for back in returns)
    names = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines()
    start = {
        line.split()[2].split(".")[0]: int(line.split()[0], 16) for line in names if " T " in line or " t " in line
    }
    assert lines_between(program, step, start["step"] + 1) == []
    assert lines_between(program, step, start["reduce"] + 1) == ["other.c:12"]
    assert lines_between(program, step, stays) == []


def test_a_function_without_the_name_of_a_symbol(tmp_path: Path) -> None:
    """Debug information of a static function of C++ has only its start."""
    text = """
extern "C" void outside(void);
int count;
__attribute__((noinline)) static void reduce(int by)
{
    count += by;
    outside(); /* 7 */
}
int main(int many, char **)
{
    reduce(many); /* 11 */
    return count;
}
"""
    (tmp_path / "outside.c").write_text(OUTSIDE)
    (tmp_path / "main.cpp").write_text(text)
    for words in ((need("gcc"), "-shared", "-fPIC", "-O1", "outside.c", "-o", "liboutside.so"),
                  (need("g++"), "-O2", "-g", "-no-pie", "main.cpp", "./liboutside.so", "-o", "program")):  # fmt: skip
        subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False)
    assert lines_between(tmp_path / "program", int(done.stdout) - 1) == ["main.cpp:7"]


def test_without_debug_information(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }")
    subprocess.run([need("gcc"), "-O2", "a.c", "-o", "a"], cwd=tmp_path, check=True)
    assert lines_between(tmp_path / "a", 1) == []
