# SPDX-License-Identifier: BSD-3-Clause
"""vtrace's plug-in for gcc: built once for a compiler, and replaced by -finstrument-functions where it cannot be built;
the functions that it keeps out of line.

test_functions_exact.py compares the functions that the plug-in records with those of the program.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.build import compilers
from support.build.run import record
from support.build.wrap import wrap, write_sources
from support.tools import call, need
from vtrace.wrappers.compile.toolchain import how_functions

GCC_8 = """#!/bin/sh
case $1 in
-dumpversion) echo 8 ;;
-print-file-name=*) echo plugin ;;
*) echo 'gcc (GCC) 8.5.0'; echo 'Copyright (C) 2018 Free Software Foundation, Inc.' ;;
esac
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with main.c and twice.c."""
    return write_sources(tmp_path)


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_of_both_ways(here: Path) -> None:
    """Objects with hooks of the plug-in, with sleds and with hooks of gcc itself; a function may be left out."""
    compilers.need_plugin("gcc")
    (here / "main.c").write_text("int twice(int); int half(int); int main(void) { return twice(21) != half(84); }\n")
    left_out = "__attribute__((no_instrument_function, noinline)) static int quiet(int i) { return i / 2; }\n"
    (here / "half.c").write_text(left_out + "int half(int i) { return quiet(i); }\n")
    for source, way in (("main.c", "compinst"), ("twice.c", "hooks"), ("half.c", "plugin")):
        wrap(here, "-vt:cc", need("gcc"), "-vt:seq", "-vt:inst", way, "-O1", "-c", source)
    wrap(here, "-vt:cc", need("gcc"), "-vt:seq", "main.o", "twice.o", "half.o", "-o", "program")
    assert record(here / "program", here).calls() == {"main": 1, "twice": 1, "half": 1}


WORKING = """
#include <stdlib.h>
#include <unistd.h>
#define LOOP(n) for (int i = 0; i < (n); i++)
static double few(const double *x) { double s = 0; LOOP(8) s += x[i]; return s; }
static double many(const double *x) { double s = 0; LOOP(800) s += x[i]; return s; }
static double nested(const double *x) { double s = 0; LOOP(8) for (int j = 0; j < 16; j++) s += x[i] * x[j]; return s; }
static double unknown(const double *x, int n) { double s = 0; LOOP(n) s += x[i]; return s; }
static void naps(void) { usleep(1); }
static void caller(void) { naps(); }
static int leaf(int n) { return n * 3; }
static int of_leaves(int n) { return leaf(n) + leaf(n + 1); }
static inline void marked(void) { usleep(2); }
int main(int argc, char **argv)
{
    double x[800];
    LOOP(800) x[i] = rand();
    caller();
    marked();
    return few(x) + many(x) + nested(x) + unknown(x, argc) + of_leaves(argc) < 0;
}
"""
KEPT = {"main": 1, "many": 1, "nested": 1, "unknown": 1, "naps": 1, "caller": 1}


@pytest.mark.parametrize(
    ("option", "extra"),
    [
        ("", KEPT),
        ("-vt:inst-written", KEPT),
        ("-vt:inst-outlined", {"main": 1}),
        ("-vt:inst-all", KEPT | {"few": 1, "leaf": 2, "of_leaves": 1, "marked": 1}),
    ],
)
@pytest.mark.parametrize("way", ["sleds", "plugin"])
def test_functions_that_are_not_inlined(here: Path, way: str, option: str, extra: dict[str, int]) -> None:
    compilers.need_plugin("gcc")
    (here / "working.c").write_text(WORKING)
    options = ["-vt:seq", "-vt:inst", way, *option.split(), "-O2"]
    wrap(here, "-vt:cc", need("gcc"), *options, "working.c", "-o", "program")
    assert record(here / "program", here).calls() == extra


@pytest.mark.parametrize("compiler", ["clang", "gcc without headers"])
def test_without_plugin_the_compiler_inlines(here: Path, compiler: str) -> None:
    real = need(compiler.split()[0])
    if " " in compiler:
        without = '[ "$1" = -print-file-name=plugin ] && exec echo plugin'
        real = script(here / "gcc", f'#!/bin/sh\n{without}\nexec {real} "$@"\n')
    (here / "working.c").write_text(WORKING)
    done = wrap(here, "-vt:cc", real, "-vt:seq", "-O2", "working.c", "-o", "program")
    assert done.stderr == ""
    assert record(here / "program", here).calls() == {"main": 1}
    if " " in compiler and compilers.SLEDS:
        lacks = "without those that gcc inlines (no headers for plug-ins of this gcc: install gcc-"
        assert how_functions([str(real)]).startswith(f"functions by sleds, {lacks}")


TEMPLATES = """#include <cstdlib>
template <typename T> T total(const T *x, int n) { T s = 0; while (n--) s += x[n]; return s; }
static double most(const double *x, int n) { double m = 0; while (n--) m = x[n] > m ? x[n] : m; return m; }
int main(int argc, char **)
{
    double x[100];
    for (double &v : x) v = rand();
    return total(x, argc) > most(x, argc);
}
"""


def test_templates_may_be_inlined(here: Path) -> None:
    compilers.need_plugin("g++")
    (here / "t.cc").write_text(TEMPLATES)
    wrap(here, "-vt:cxx", need("g++"), "-vt:seq", "-O2", "t.cc", "-o", "program", wrapper="vtrace-cxx")
    calls = record(here / "program", here).calls()
    assert [name.split("(")[0] for name in calls if name != "main"] == ["most"]


INTERNAL = """program p
  integer :: i
  real :: a(1000) = 0
  do i = 1, 10
    call step(i)
  end do
  print *, sum(a)
contains
  subroutine step(k)
    integer, intent(in) :: k
    integer :: j
    do j = 1, 1000
      a(j) = a(j) + k * j
    end do
    call tell(k)
  end subroutine
  subroutine tell(k)
    integer, intent(in) :: k
    if (k == 5) print *, k
  end subroutine
end program
"""


def test_internal_procedures(here: Path) -> None:
    compilers.need_plugin("gfortran")
    (here / "p.f90").write_text(INTERNAL)
    words = ["-vt:seq", "-O2", "p.f90", "-o", "program"]
    wrap(here, "-vt:fc", need("gfortran"), *words, wrapper="vtrace-fc")
    assert record(here / "program", here).calls() == {"main": 1, "p": 1, "step": 10, "tell": 10}


def test_a_resolver_has_no_hooks(here: Path) -> None:
    """The loader calls the resolver of an ifunc before anything can be recorded: its events would count as lost."""
    compilers.need_plugin("gcc")
    (here / "main.c").write_text(
        "static int one(int i) { return i + 1; }\n"
        "static int (*choose(void))(int) { return one; }\n"
        '__attribute__((ifunc("choose"))) int add(int i);\n'
        "int main(void) { return add(1) != 2; }\n"
    )
    wrap(here, "-vt:cc", need("gcc"), "-vt:seq", "-vt:inst", "plugin", "-O1", "main.c", "-o", "program")
    assert record(here / "program", here).calls() == {"main": 1, "one": 1}


def test_built_once_and_never_written_by_others(here: Path) -> None:
    compilers.need_plugin("gcc")
    cache = here / "cache"
    words = ["-vt:seq", "-vt:inst", "plugin", "-vt:cc"]
    said = [
        wrap(here, *words, need(compiler), "-c", "main.c", VT_SHIM_CACHE=str(cache)).stderr
        for compiler in ("gcc", "g++", "gcc")
    ]
    assert said[0].startswith("vtrace: building the plug-in for gcc ")
    assert said[1:] == ["", ""]
    assert len([*cache.iterdir()]) == 1
    cache.chmod(0o777)
    done = wrap(here, *words, need("gcc"), "-c", "main.c", VT_SHIM_CACHE=str(cache), check=False)
    assert done.returncode == 1
    assert "other users can write to" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_cache_that_cannot_keep_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler inlines as without the plug-in; vtrace doctor says why."""
    compilers.need_plugin("gcc")
    compilers.need_sleds()
    (here / "working.c").write_text(WORKING)
    cache = here / "others"
    cache.mkdir()
    cache.chmod(0o777)
    done = wrap(here, "-vt:cc", need("gcc"), "-vt:seq", "-O2", "working.c", "-o", "program", VT_SHIM_CACHE=str(cache))
    assert done.stderr == ""
    assert [*cache.iterdir()] == []
    assert record(here / "program", here).calls() == {"main": 1}
    monkeypatch.setenv("VT_SHIM_CACHE", str(cache))
    assert how_functions([need("gcc")]).startswith(
        "functions by sleds, without those that gcc inlines (other users can write to"
    )


def test_clang_has_no_plugin(here: Path) -> None:
    done = wrap(here, "-vt:cc", need("clang"), "-vt:seq", "-vt:inst-written", "-c", "main.c", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "-vt:inst-written: " in done.stderr
    assert "the plug-in is for gcc" in done.stderr


@pytest.mark.parametrize(
    ("compiler", "args", "why"),
    [
        ("clang", [], "the plug-in is for gcc"),
        ("gcc", ["-finstrument-functions"], "-finstrument-functions excludes the plug-in"),
        ("gcc", ["-fno-instrument-functions"], "-fno-instrument-functions excludes the plug-in"),
        (GCC_8, [], "install gcc-8-plugin-dev (Debian) or gcc-plugin-devel"),
    ],
    ids=["clang", "own hooks", "no hooks", "no headers"],
)
def test_refused(here: Path, compiler: str, args: list[str], why: str) -> None:
    real = script(here / "gcc-8", compiler) if compiler.startswith("#!") else need(compiler)
    done = wrap(here, "-vt:inst", "plugin", "-vt:cc", real, "-vt:seq", *args, "-c", "main.c", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("vtrace-cc: -vt:inst plugin: ")
    assert why in done.stderr
    assert not (here / "main.o").exists()


def test_gcc_that_does_not_load_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first command says why and takes hooks, as all later ones do without a word; doctor names the file to
    remove."""
    compilers.need_plugin("gcc")
    gcc = script(here / "gcc", f'#!/bin/sh\ncase "$*" in *-fplugin=*) exit 1 ;; esac\nexec {need("gcc")} "$@"\n')
    cache = here / "cache"
    monkeypatch.setenv("VT_SHIM_CACHE", str(cache))
    words = ["-vt:cc", gcc, "-vt:seq", "-pg", "-c", "main.c"]
    said = [wrap(here, *words, VT_SHIM_CACHE=str(cache)).stderr.splitlines() for _ in range(2)]
    (failed,) = cache.iterdir()
    effect = "functions are recorded as they are before inlining"
    assert said[0][1:] == [f"vtrace-cc: the plug-in for {gcc} cannot be built: {failed} says why ({effect})"]
    assert said[1] == []
    assert "-fplugin=" in failed.read_text().splitlines()[0]
    assert "__cyg_profile_func_enter" in call([need("nm"), "main.o"], here).stdout
    done = wrap(here, "-vt:inst", "plugin", *words, check=False, VT_SHIM_CACHE=str(cache))
    assert f"{failed} says why; remove it to try again" in done.stderr


def test_what_doctor_says(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = script(here / "gcc-8", GCC_8)
    sleds = "only gcc 9, clang 11 and newer ones write sleds"
    before = f"functions by hooks before inlining, without those of system headers ({sleds}; "
    help_ = "no headers for plug-ins of this gcc: install gcc-8-plugin-dev (Debian) or gcc-plugin-devel)"
    assert how_functions([str(old)]) == before + help_
    (here / "plugin" / "include").mkdir(parents=True)
    for name in ("gcc-plugin.h", "plugin-version.h"):
        (here / "plugin" / "include" / name).touch()
    monkeypatch.chdir(here)
    assert how_functions([str(old)]) == before + help_, "a directory of the user's is none of gcc's"
    script(old, GCC_8.replace("echo plugin", f"echo {here}/plugin"))
    assert how_functions([str(old)]) == f"functions by hooks of vtrace's plug-in ({sleds})"
    monkeypatch.setenv("PATH", str(here))
    assert "no C++ compiler in PATH for the plug-in: install g++" in how_functions([str(old)])
    assert shutil.which("g++") is None
