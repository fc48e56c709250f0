# SPDX-License-Identifier: BSD-3-Clause
"""One project, built by make, CMake, autoconf and Meson with the wrappers as compilers; vtrace's package for CMake, and
pkg-config. The programs that configure compiles and runs are not traced, and leave no local files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.build.run import record, run, unify, vtrace
from support.build.wrap import asks_for_functions, has_shim, is_linked
from support.oracles.check import check
from support.shell_commands import shell_commands
from support.tools import BIN, PROGRAMS, call, command, environment, need, unavailable
from vtrace import __version__

SOURCES_OF_C, SOURCES_OF_OTHERS = ("two_a.c", "two_b.c", "two_lib.c"), ("shapes.cc", "solver.f90")
SOURCES = (*SOURCES_OF_C, *SOURCES_OF_OTHERS, "keep.h")
TWO = {"main": 1, "near": 3, "helper": 8, "far": 5, "lib_work": 10, "lib_inner": 10}

MAKEFILE = """\
CFLAGS = -O2
CXXFLAGS = -O2
FFLAGS = -O0
all: two shapes solver
libtwo.so: two_lib.c
\t$(CC) $(CFLAGS) -shared -fPIC $< -o $@
two: two_a.o two_b.o libtwo.so
\t$(CC) two_a.o two_b.o -L. -ltwo -Wl,-rpath,. -o $@
shapes: shapes.cc
\t$(CXX) $(CXXFLAGS) $< -o $@
solver: solver.f90
\t$(FC) $(FFLAGS) $< -o $@
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project(p C CXX Fortran)
include(CheckFunctionExists)
include(CheckCSourceRuns)
find_package(Threads REQUIRED)
check_function_exists(printf HAVE_PRINTF)
check_c_source_runs("static int f(int i) { return i; } int main(void) { return f(0); }" RUNS)
if(NOT HAVE_PRINTF OR NOT RUNS)
  message(FATAL_ERROR "a trial failed")
endif()
add_library(lib2 SHARED two_lib.c)
add_executable(two two_a.c two_b.c)
target_link_libraries(two lib2)
add_executable(shapes shapes.cc)
add_executable(solver solver.f90)
"""

PACKAGE = """\
cmake_minimum_required(VERSION 3.10)
project(p C CXX Fortran)
find_package(vtrace 0.1 REQUIRED)
add_library(lib2 SHARED two_lib.c)
add_library(near STATIC two_b.c)
add_executable(two two_a.c)
target_link_libraries(two near lib2)
add_executable(shapes shapes.cc)
add_executable(solver)
foreach(target lib2 near two shapes solver)
  vtrace_target(${target})
endforeach()
target_sources(solver PRIVATE solver.f90)
add_executable(manual shapes.cc)
vtrace_target(manual -vt:inst manual)
add_executable(untraced shapes.cc)
"""

CONFIGURE_AC = """\
AC_INIT([p], [1.0])
AM_INIT_AUTOMAKE([foreign])
AM_PROG_AR
AC_PROG_CC
LT_INIT([disable-static])
AC_CHECK_FUNCS([printf], [], [AC_MSG_ERROR([a trial failed])])
AC_CHECK_SIZEOF([long])
AC_RUN_IFELSE([AC_LANG_PROGRAM([[static int f(int i) { return i; }]], [[return f(0);]])], [],
  [AC_MSG_ERROR([a trial failed])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""

MAKEFILE_AM = """\
lib_LTLIBRARIES = libtwo.la
libtwo_la_SOURCES = two_lib.c
bin_PROGRAMS = two
two_SOURCES = two_a.c two_b.c
two_LDADD = libtwo.la
"""

MESON = """\
project('p', 'c', 'cpp', 'fortran')
cc = meson.get_compiler('c')
assert(cc.has_function('printf'))
assert(cc.run('static int f(int i) { return i; } int main(void) { return f(3); }').returncode() == 3)
lib2 = shared_library('two', 'two_lib.c')
executable('two', 'two_a.c', 'two_b.c', link_with: lib2)
executable('shapes', 'shapes.cc')
executable('solver', 'solver.f90')
"""


@dataclass
class Project:
    """A directory with the sources. env: PATH has the wrappers, which call compilers that write a log."""

    here: Path
    env: dict[str, str]

    @property
    def log(self) -> list[str]:
        """The compiler commands so far."""
        path = self.here / "log"
        return path.read_text().splitlines() if path.exists() else []

    def call(self, *words: str | Path, **env: str) -> None:
        call(words, self.here, self.env | env, timeout=300)

    def left(self) -> list[Path]:
        """Local files and archives of traced programs, in all subdirectories."""
        endings = (".z", ".uctl", ".buffer")
        return [path for path in self.here.rglob("*") if path.name.endswith(endings) or path.suffix == ".trace"]


@pytest.fixture(scope="module")
def wrappers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of the wrappers, whose processes are forked."""
    with shell_commands(tmp_path_factory.mktemp("wrappers")) as scripts:
        yield scripts


@pytest.fixture
def project(tmp_path: Path, wrappers: Path) -> Project:
    here, tools = tmp_path / "project", tmp_path / "bin"
    here.mkdir()
    tools.mkdir()
    for source in SOURCES:
        shutil.copy(PROGRAMS / source, here)
    for wrapper in ("vtrace-cc", "vtrace-cxx", "vtrace-fc"):
        (tools / wrapper).symlink_to(wrappers / wrapper)
    env = {"PATH": f"{tools}:{environment()['PATH']}", "CC": "vtrace-cc", "CXX": "vtrace-cxx", "FC": "vtrace-fc"}
    env["FCFLAGS"] = "-O0"  # gfortran inlines procedures that the checks count
    for variable, compiler in (("VT_CC", "gcc"), ("VT_CXX", "g++"), ("VT_FC", "gfortran")):
        logged = f'printf "%s " "$@" >> {here}/log; echo >> {here}/log; exec {need(compiler)} "$@"'
        env[variable] = str(_script(tools / f"logged-{compiler}", logged))
    return Project(here, env)


def _script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def records_c(project: Project, directory: Path) -> None:
    """Checks that the program in C and its library work, and that every function of them is recorded."""
    assert not project.left(), "the build left files of traced programs"
    are_instrumented(project, SOURCES_OF_C)
    assert record(directory / "two", project.here).calls() == TWO


def are_instrumented(project: Project, sources: Sequence[str]) -> None:
    compiled = [line for line in project.log if asks_for_functions(line)]
    for source in sources:
        assert [line for line in compiled if source in line], f"{source} is not instrumented"


def records_all(project: Project, directory: Path) -> None:
    """Checks that the programs in the directory work, and that every function of the project is recorded."""
    records_c(project, directory)
    are_instrumented(project, SOURCES_OF_OTHERS)
    calls = record(directory / "shapes", project.here).calls()
    assert (calls["Global::Global"], calls["geometry::area"], calls["thrower"]) == (1, 11, 9)
    calls = record(directory / "solver", project.here).calls()
    assert (calls["solver_mod::smooth"], calls["solver_mod::fib"], calls["inner"]) == (7, 67, 3)


def only_tried(project: Project) -> None:
    """Checks that the build system has so far only tried the compilers: more than 5 times, without instrumentation, and
    without local files."""
    assert len([line for line in project.log if " -o " in line or " -c " in line]) > 5
    assert not [line for line in project.log if asks_for_functions(line) or "libvtrace" in line]
    assert not project.left()


def test_make(project: Project) -> None:
    (project.here / "Makefile").write_text(MAKEFILE)
    project.call(need("make"), "CC=vtrace-cc", "CXX=vtrace-cxx", "FC=vtrace-fc")
    records_all(project, project.here)


@pytest.mark.parametrize("generator", [pytest.param("Unix Makefiles", marks=pytest.mark.full), "Ninja"])
def test_cmake(project: Project, generator: str) -> None:
    need("ninja")
    (project.here / "CMakeLists.txt").write_text(CMAKE)
    project.call(need("cmake"), "-G", generator, "-S", ".", "-B", "build")
    only_tried(project)
    project.call(need("cmake"), "--build", "build")
    records_all(project, project.here / "build")


def test_autoconf(project: Project) -> None:
    """A project in C: libtool's configure tries each further language as often as the first."""
    for tool in ("automake", "libtoolize"):
        need(tool)
    (project.here / "configure.ac").write_text(CONFIGURE_AC)
    (project.here / "Makefile.am").write_text(MAKEFILE_AM)
    project.call(need("autoreconf"), "--install")
    project.call("./configure", f"--prefix={project.here}/installed")
    only_tried(project)
    # Before installation, programs with a shared library of the project are scripts of libtool.
    project.call(need("make"), "install")
    records_c(project, project.here / "installed" / "bin")
    assert is_linked(project.here / "installed" / "lib" / "libtwo.so")


def test_meson(project: Project) -> None:
    (project.here / "meson.build").write_text(MESON)
    project.call(need("meson"), "setup", "build")
    only_tried(project)
    project.call(need("meson"), "compile", "-C", "build")
    records_all(project, project.here / "build")


def test_the_wrapper_switched_off_changes_nothing(project: Project) -> None:
    """The same build with VT_WRAPPER=off and with the plain compilers: the files are equal byte for byte."""
    (project.here / "Makefile").write_text(MAKEFILE)
    built = []
    for compilers, env in (
        (("CC=vtrace-cc", "CXX=vtrace-cxx", "FC=vtrace-fc"), {"VT_WRAPPER": "off"}),
        (("CC=gcc", "CXX=g++", "FC=gfortran"), {}),
    ):
        project.call(need("make"), "--always-make", *compilers, **env)
        built.append([(project.here / name).read_bytes() for name in ("two", "libtwo.so", "shapes", "solver")])
    assert built[0] == built[1]
    assert project.log
    assert not [line for line in project.log if "vtrace" in line]


@pytest.mark.parametrize("place", ["before the wrapper", "behind the wrapper"])
def test_ccache(project: Project, place: str) -> None:
    ccache = need("ccache")
    project.env["CCACHE_DIR"] = str(project.here / "cache")
    (project.here / "CMakeLists.txt").write_text(CMAKE.replace(" Fortran", "").replace("add_executable(solver", "#"))
    launchers = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={ccache}" for language in ("C", "CXX")]
    if place == "behind the wrapper":
        launchers = []
        project.env["VT_CC"] = f"{ccache} {need('gcc')}"
    project.call(need("cmake"), "-S", ".", "-B", "build", *launchers)
    for _ in range(2):
        project.call(need("cmake"), "--build", "build", "--clean-first")
        assert record(project.here / "build" / "two", project.here).calls() == TWO
        shutil.rmtree(project.here / "two.trace")
    statistics = call([ccache, "--print-stats"], project.here, project.env).stdout.split()
    hits = dict(zip(statistics[::2], statistics[1::2], strict=True))
    assert int(hits["direct_cache_hit"]) + int(hits["preprocessed_cache_hit"]) >= 3


@pytest.mark.parametrize("compiler", [pytest.param("mpicc", marks=pytest.mark.full), "gcc"])
def test_cmake_finds_mpi(project: Project, compiler: str) -> None:
    """The compiler that the wrapper calls: mpicc, which needs no flags for MPI; gcc, for which CMake asks mpicc for the
    flags. In both cases the program is built with MPI and recorded."""
    need("mpicc")
    project.env["VT_CC"] = need(compiler)
    (project.here / "ring.c").write_text(
        "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n"
    )
    (project.here / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfind_package(MPI REQUIRED COMPONENTS C)\n"
        "add_executable(ring ring.c)\ntarget_link_libraries(ring MPI::MPI_C)\n"
    )
    project.call(need("cmake"), "-S", ".", "-B", "build", f"-DMPI_HOME={Path(need('mpicc')).parent.parent}")
    assert not project.left()
    project.call(need("cmake"), "--build", "build")
    assert has_shim(project.here / "build" / "ring")
    trace = record(project.here / "build" / "ring", project.here, ranks=2)
    calls = trace.calls()
    assert (calls["main"], calls["MPI_Init"], calls["MPI_Barrier"], calls["MPI_Finalize"]) == (2, 2, 2, 2)


def test_trials_get_mpi_but_nothing_of_vtrace(project: Project) -> None:
    """-vt:mpi also adds MPI to a test program of configure, but neither the shim nor the runtime."""
    need("mpicc")
    uses = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n"
    for name in ("conftest", "uses"):
        (project.here / f"{name}.c").write_text(uses)
        project.call("vtrace-cc", "-vt:mpi", f"{name}.c", "-o", name)
    assert not has_shim(project.here / "conftest")
    assert not is_linked(project.here / "conftest")
    run(project.here / "conftest", project.here)
    assert not project.left()
    assert has_shim(project.here / "uses")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A prefix with blanks in its name, through which CMake reaches the installed wheel."""
    if not (Path(sys.prefix) / "share" / "cmake" / "vtrace").exists():
        unavailable("vtrace is not installed from a wheel, which brings the CMake package")
    prefix = tmp_path / "moved pre fix"
    prefix.mkdir()
    (prefix / "bin").symlink_to(BIN)
    shutil.copytree(Path(sys.prefix) / "share" / "cmake", prefix / "share" / "cmake")
    return prefix


@pytest.mark.parametrize("generator", ["Unix Makefiles", pytest.param("Ninja", marks=pytest.mark.full)])
def test_cmake_package(project: Project, installed: Path, generator: str) -> None:
    """The wrappers compile and link the targets of vtrace_target with CMake's own compilers. Other targets have nothing
    of vtrace."""
    need("ninja")
    (project.here / "CMakeLists.txt").write_text(PACKAGE)
    compilers = {variable: project.env[f"VT_{variable}"] for variable in ("CC", "CXX", "FC")}
    project.env |= compilers | {"PATH": f"{installed}/bin:{environment()['PATH']}"}
    project.call(need("cmake"), "-G", generator, "-S", ".", "-B", "build")
    only_tried(project)
    assert str(installed) in (project.here / "build" / "CMakeCache.txt").read_text()
    project.call(need("cmake"), "--build", "build")
    built = project.here / "build"
    assert [asks_for_functions(line) for line in project.log if " -c " in line and "two_b.c" in line] == [True]
    untraced = [line for line in project.log if "untraced" in line]
    assert untraced
    assert not [line for line in untraced if asks_for_functions(line) or "libvtrace" in line]
    assert not is_linked(built / "untraced")
    assert not [line for line in project.log if "manual.dir" in line and asks_for_functions(line)]
    assert is_linked(built / "manual")
    assert record(built / "two", project.here).calls() == TWO
    assert record(built / "shapes", project.here).calls()["geometry::area"] == 11
    assert record(built / "solver", project.here).calls()["solver_mod::fib"] == 67


def test_cmake_package_with_mpi(project: Project, installed: Path) -> None:
    """Ranks of a program that CMake links with the MPI it finds are recorded with their MPI calls, in C and Fortran."""
    mpicc = need("mpicc.mpich")
    (project.here / "ring.c").write_text(
        "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n"
    )
    (project.here / "bell.f90").write_text(
        "program bell\nuse mpi\ninteger :: e\ncall MPI_Init(e)\ncall MPI_Barrier(MPI_COMM_WORLD, e)\n"
        "call MPI_Finalize(e)\nend program\n"
    )
    (project.here / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(p C Fortran)\nfind_package(MPI REQUIRED)\n"
        "find_package(vtrace REQUIRED)\nadd_executable(ring ring.c)\nadd_executable(bell bell.f90)\n"
        "target_link_libraries(ring MPI::MPI_C)\ntarget_link_libraries(bell MPI::MPI_Fortran)\n"
        "vtrace_target(ring)\nvtrace_target(bell)\n"
    )
    compilers = [f"-DMPI_C_COMPILER={mpicc}", f"-DMPI_Fortran_COMPILER={need('mpifort.mpich')}"]
    project.call(
        need("cmake"), "-S", ".", "-B", "build", f"-Dvtrace_ROOT={installed}", *compilers, CC="gcc", FC="gfortran"
    )
    project.call(need("cmake"), "--build", "build", CC="gcc", FC="gfortran")
    for name in ("ring", "bell"):
        run(project.here / "build" / name, project.here, launch=[need("mpiexec.mpich"), "-n", "2"])
        unify(project.here, name)
        calls = check(project.here / f"{name}.trace").calls()
        assert (calls["MPI_Init"], calls["MPI_Barrier"], calls["MPI_Finalize"]) == (2, 2, 2), calls


@pytest.mark.parametrize(
    ("compiler", "source"), [("gcc", "user_pairs.c"), ("g++", "user_tracer.cc"), ("gfortran", "user_free.F90")]
)
def test_pkg_config(compiler: str, source: str, tmp_path: Path) -> None:
    """A program that a plain compiler builds with the flags of pkg-config records as much as one that vtrace-cc builds
    without functions."""
    wrapper = {"gcc": "vtrace-cc", "g++": "vtrace-cxx", "gfortran": "vtrace-fc"}[compiler]
    directory = vtrace(tmp_path, "--pkgconfig-dir").stdout.strip()
    env = {"PKG_CONFIG_PATH": directory}
    flags = call([need("pkg-config"), "--cflags", "--libs", "vtrace-user"], tmp_path, env).stdout.split()
    assert call([need("pkg-config"), "--modversion", "vtrace-user"], tmp_path, env).stdout.strip() == __version__
    call([need(compiler), "-g", PROGRAMS / source, "-o", "plain", *flags], tmp_path)
    manual = ["-vt:seq", "-vt:inst", "manual", "-DVTRACE", "-g"]
    call([*command(wrapper), *manual, PROGRAMS / source, "-o", "wrapped"], tmp_path)
    plain, wrapped = (record(tmp_path / name, tmp_path, complete=False) for name in ("plain", "wrapped"))
    assert plain.kinds() == wrapped.kinds()
    assert plain.calls() == wrapped.calls()
    assert len(plain.calls()) > 2


def test_module_for_lmod(tmp_path: Path) -> None:
    """The module of the installation puts the commands after all others in PATH, where CMake and man find the rest."""
    lmod = Path("/usr/share/lmod/lmod/libexec/lmod")
    modules = BIN.parent / "share/modulefiles"
    if not lmod.exists() or not modules.exists():
        unavailable("Lmod is not installed, or vtrace is not installed beside this Python")
    env = {"MODULEPATH": str(modules), "PATH": "/usr/bin:/bin"}
    said = call([lmod, "bash", "load", "vtrace"], tmp_path, env).stdout
    done = call(["bash", "-c", f'{said}\necho "$PATH"; command -v vtrace'], tmp_path, env)
    assert done.stdout == f"/usr/bin:/bin:{BIN}\n{BIN}/vtrace\n"
    assert call([lmod, "bash", "-t", "avail", "vtrace"], tmp_path, env).stderr.split()[-1] == f"vtrace/{__version__}"
