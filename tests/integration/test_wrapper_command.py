# SPDX-License-Identifier: BSD-3-Clause
"""The command that vtrace-cc builds from its arguments, for build systems and with MPI."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from support.build.run import names, run
from support.build.wrap import MPI_C, fake_compiler, has_shim, is_instrumented, is_linked, seq, wrap, write_sources
from support.tools import call, need, unavailable
from vtrace.paths import LIB


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with main.c, twice.c and mpi.c."""
    return write_sources(tmp_path)


# ---- The order of arguments, with a compiler that prints them ----


def test_all_arguments_arrive_in_their_order(here: Path) -> None:
    fake = fake_compiler(here)
    args = ["-O2", "-DVTRACE", "-DS=a b", "", "-I", "-vt", "main.c", "-Wl,--as-needed", "-lm", "'", "*", "-o", "x"]
    got = wrap(here, "-vt:cc", fake, "-vt:seq", *args, VT_CFLAGS="-O3 '-DA=b c'", VT_LDFLAGS="-Ldir", VT_LIBS="-lz")
    words = got.stdout.splitlines()
    mine = words.index("-O3")
    assert set(words[:mine]) >= {"-g", "-finstrument-functions"}
    assert words[mine : mine + 17] == ["-O3", "-DA=b c", *args, "-Ldir", "-lz"]
    assert "-l:libvtrace.so.1" in words[mine + 17 :]


def test_compiling_only_gets_no_linker_variables(here: Path) -> None:
    got = wrap(
        here,
        "-vt:cc",
        fake_compiler(here),
        "-vt:seq",
        "-c",
        "main.c",
        VT_CFLAGS="-O3",
        VT_LDFLAGS="-L/x",
        VT_LIBS="-lz",
    )
    words = got.stdout.splitlines()
    assert words[-3:] == ["-O3", "-c", "main.c"]
    assert not {"-L/x", "-lz"} & set(words)


def test_a_command_with_arguments(here: Path) -> None:
    got = wrap(here, "-vt:cc", f"{shlex.quote(str(fake_compiler(here)))} --first", "-vt:seq", "-c", "main.c")
    assert got.stdout.splitlines()[0] == "--first"


def test_the_wrapper_switched_off(here: Path) -> None:
    got = wrap(here, "-vt:cc", fake_compiler(here), "-vt:mpi", "main.c", "-o", "x", VT_WRAPPER="off", VT_CFLAGS="-O3")
    assert got.stdout.splitlines() == ["main.c", "-o", "x"]


def test_show_does_nothing_and_can_be_run(here: Path) -> None:
    before = names(here)
    shown = seq(here, "-vt:show", '-DS="a b\'s"', "main.c", "twice.c", "-o", "program").stdout
    assert shown.count("\n") == 1
    assert names(here) == before
    call(["sh", "-c", shown], here)
    assert is_linked(here / "program")
    run(here / "program", here)


def test_verbose_shows_and_does(here: Path) -> None:
    done = seq(here, "-vt:verbose", "-c", "main.c")
    shown = seq(here, "-vt:show", "-c", "main.c")
    assert (done.stdout, done.stderr) == ("", shown.stdout)
    assert is_instrumented(here / "main.o")


@pytest.mark.parametrize("place", ["CMakeFiles/CMakeScratch/TryCompile-1", "meson-private/tmp1"])
def test_trials_of_build_systems_are_the_compilers_own(here: Path, place: str) -> None:
    fake = fake_compiler(here)
    directory = here / place
    directory.mkdir(parents=True)
    for cwd, words in (
        (directory, ["main.c", "-o", "x"]),
        (directory, ["-static", "main.c"]),
        (here, ["conftest.c"]),
        (here, ["-O2", "main.o", "-o", "conftest"]),
        (here, ["-c", "sub/conftest.c", "-o", "x.o"]),
        (here, ["-c", "x.c", "-o", "out/conftest2.o"]),
    ):
        done = wrap(cwd, "-vt:cc", fake, *words, VT_CFLAGS="-O3")
        compiles = any(word.endswith(".c") for word in words)
        header = [f"-I{LIB / 'user'}"] if compiles else []  # the test program may check that vt_user.h exists
        assert (done.stdout.splitlines(), done.stderr) == ([*header, "-O3", *words], "")
    for words in (["-c", "main.c", "-o", f"{place}/main.o"], ["-c", "conftests.c"], ["-c", "conftest/main.c"]):
        assert "-finstrument-functions" in wrap(here, "-vt:cc", fake, *words).stdout.splitlines()


def test_libraries_linked_without_the_standard_ones(here: Path) -> None:
    """-nostdlib and explicit libraries, as libtool links C++ libraries: the library is linked with vtrace."""
    seq(here, "-shared", "-nostdlib", "-fPIC", "twice.c", "-lc", "-o", "libtwice.so")
    assert is_linked(here / "libtwice.so")
    assert "libvtrace" not in seq(here, "-vt:show", "-nostdlib", "main.c").stdout


def test_showme_gives_the_flags_for_other_build_systems(here: Path) -> None:
    flags = seq(here, "-vt:showme-compile").stdout
    libraries = seq(here, "-vt:showme-link").stdout
    gcc = need("gcc")
    call(["sh", "-c", f"{gcc} {flags.strip()} -c main.c twice.c"], here)
    call(["sh", "-c", f"{gcc} main.o twice.o {libraries.strip()} -o program"], here)
    run(here / "program", here)
    assert "program.1.events.z" in names(here)
    assert seq(here, "-vt:showme-compile", "-O2", "x.c").stdout.split()[-2:] == ["-O2", "x.c"]


def test_an_installation_that_was_moved(here: Path) -> None:
    words = shlex.split(seq(here, "-vt:show", "main.c").stdout)
    directory = words[words.index("-rpath") + 2]
    library = Path(directory) / "libvtrace.so.1"
    for below in ("", "vtrace/_lib", "lib/python3.11/site-packages/vtrace/_lib"):
        moved = here / f"moved{len(below)}"
        (moved / below).mkdir(parents=True)
        (moved / below / library.name).write_bytes(library.read_bytes())
        shown = shlex.split(seq(here, "-vt:show", "main.c", VT_PREFIX=str(moved)).stdout)
        assert f"-L{moved / below}".rstrip("/") in shown
        assert str(moved / below) in shown


# ---- MPI ----


def test_only_programs_with_mpi_get_its_shim(here: Path) -> None:
    mpicc = need("mpicc")
    wrap(here, "mpi.c", "-o", "with")
    wrap(here, "main.c", "twice.c", "-o", "without")
    wrap(here, "-vt:cc", mpicc, "-vt:seq", "mpi.c", "-o", "refused")
    wrap(here, "-shared", "-fPIC", "mpi.c", "-o", "libshared.so")
    found = {name: has_shim(here / name) for name in ("with", "without", "refused", "libshared.so")}
    assert found == {"with": True, "without": False, "refused": False, "libshared.so": False}
    assert is_linked(here / "libshared.so")


def test_mpi_library_named_on_the_line(here: Path) -> None:
    """Build systems that ask mpicc for its flags and call the plain compiler, also with a response file."""
    shown = shlex.split(call([need("mpicc"), "-show", "-DOTHER"], here).stdout)
    flags = [word for word in shown[1:] if word != "-DOTHER"]
    if not any(word.startswith("-lmpi") for word in flags):
        unavailable("this mpicc links its library by another name")
    wrap(here, "-vt:cc", need("gcc"), "mpi.c", *flags, "-o", "named")
    (here / "all").write_text(shlex.join(["mpi.c", *flags, "-o", "response"]))
    wrap(here, "-vt:cc", need("gcc"), "@all")
    wrap(here, "-vt:cc", need("gcc"), "-vt:mpi", "mpi.c", "-o", "brought")
    for name in ("named", "response", "brought"):
        assert has_shim(here / name), name
        run(here / name, here)
        assert f"{name}.1.events.z" in names(here)


def test_mpi_in_a_library_only(here: Path) -> None:
    """Only a shared library of the program calls MPI functions: the program gets the shim."""
    need("mpicc")
    (here / "lib.c").write_text(MPI_C.replace("main", "inside"))
    (here / "prog.c").write_text("int inside(void); int main(void) { return inside(); }\n")
    wrap(here, "-shared", "-fPIC", "lib.c", "-o", "liblib.so")
    wrap(here, "prog.c", "-L.", "-llib", f"-Wl,-rpath,{here}", "-o", "prog")
    assert has_shim(here / "prog")
    run(here / "prog", here)
