# SPDX-License-Identifier: BSD-3-Clause
"""Options and environment variables of the compiler wrappers, and their reading of compilers' command lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtrace.errors import UsageError
from vtrace.wrappers.compile import options as opt
from vtrace.wrappers.compile.command_line import Line, expand, mpi_position
from vtrace.wrappers.compile.toolchain import choose, mpi_compiler, mpicc_of_library


def parse(*words: str, language: opt.Language = opt.C, **environ: str) -> opt.Options:
    return opt.parse(list(words), language, environ)


def test_nothing_said() -> None:
    assert parse("-O2", "a.c") == opt.Options(
        None, None, instrument=True, action=None, args=["-O2", "a.c"], flags=[], ldflags=[], libs=[], off=False
    )


@pytest.mark.parametrize("dashes", ["-vt:", "--vt:"])
def test_options_leave_the_compilers_arguments(dashes: str) -> None:
    found = parse(
        "-c", f"{dashes}cc", "ccache gcc", f"{dashes}hyb", "-DVTRACE", f"{dashes}inst", "manual", "a.c", f"{dashes}show"
    )
    assert found.args == ["-c", "-DVTRACE", "a.c"]
    assert (found.compiler, found.mode, found.instrument, found.action) == (["ccache", "gcc"], "hyb", False, "show")


def test_an_option_wins_over_its_variable() -> None:
    assert parse(VT_CC="clang", VT_INST="manual")[0:3:2] == (["clang"], False)
    assert parse("-vt:cc", "gcc", "-vt:inst", "compinst", VT_CC="clang", VT_INST="manual")[0:3:2] == (["gcc"], True)
    # An empty variable counts as not set.
    assert parse(VT_CC="", VT_INST="").compiler is None


@pytest.mark.parametrize(
    ("language", "option", "variable", "flags"),
    [
        (opt.C, "cc", "VT_CC", "VT_CFLAGS"),
        (opt.CXX, "cxx", "VT_CXX", "VT_CXXFLAGS"),
        (opt.FORTRAN, "f90", "VT_FC", "VT_FCFLAGS"),
        (opt.FORTRAN, "fc", "VT_FC", "VT_FCFLAGS"),
    ],
)
def test_each_language_has_its_own(language: opt.Language, option: str, variable: str, flags: str) -> None:
    assert parse(f"-vt:{option}", "x", language=language).compiler == ["x"]
    found = parse(language=language, **{variable: "y -m64", flags: "-O3 '-DA=a b'"})
    assert found.compiler == ["y", "-m64"]
    assert found.flags == ["-O3", "-DA=a b"]


def test_variables_of_the_linker() -> None:
    found = parse(VT_LDFLAGS="-L/a -s", VT_LIBS="-lm")
    assert (found.ldflags, found.libs) == (["-L/a", "-s"], ["-lm"])


def test_a_compilers_path_may_have_spaces(tmp_path: Path) -> None:
    compiler = tmp_path / "my compilers" / "cc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert parse("-vt:cc", str(compiler)).compiler == [str(compiler)]


@pytest.mark.parametrize(
    ("words", "environ", "part"),
    [
        (["-vt:cc"], {}, "-vt:cc: value missing"),
        (["-vt:inst"], {}, "-vt:inst: value missing"),
        (["-vt:inst", "all"], {}, "-vt:inst all"),
        (["-vt:cxx", "g++"], {}, "-vt:cxx: unknown option of vtrace-cc"),
        (["--vt:shwo"], {}, "--vt:shwo"),
        ([], {"VT_INST": "yes"}, "VT_INST=yes"),
        ([], {"VT_CC": "gcc '"}, "VT_CC=gcc '"),
        ([], {"VT_CFLAGS": "-D'"}, "VT_CFLAGS=-D'"),
        (["-vt:cc", " "], {}, "-vt:cc: no compiler given"),
        ([], {"VT_WRAPPER": "maybe"}, "VT_WRAPPER=maybe"),
    ],
)
def test_wrong_usage(words: list[str], environ: dict[str, str], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(*words, **environ)
    assert part in str(caught.value)
    assert caught.value.hint
    assert "\n" not in str(caught.value)


def test_the_wrapper_can_be_switched_off() -> None:
    assert [parse(VT_WRAPPER=value).off for value in ("off", "OFF", "no", "0", "on", "")] == [True] * 4 + [False] * 2


@pytest.mark.parametrize("language", [opt.C, opt.CXX, opt.FORTRAN])
def test_help_names_every_option(language: opt.Language) -> None:
    text = opt.help_text(language)
    modes = opt.MODES if language.mpi_compilers else ()
    for option in (*language.options, *modes, *opt.ACTIONS, "inst"):
        assert f"-vt:{option}" in text
    for variable in (language.variable, language.flags_variable, "VT_INST", "VT_LDFLAGS", "VT_LIBS", "VT_PREFIX"):
        assert variable in text
    assert max(map(len, text.splitlines())) <= 120


LINES = {
    "compiles and links": (
        "a.c", "a.c -o a", "a.o b.c libx.a liby.so.1", "-x c a", "-xc -", "-x c a.h -x none b.o",
    ),
    "compiles": ("-c a.c", "-S a.c", "-MD -MF a.d -c a.c", "-c a.S", "a.hpp", "-r a.c"),
    "links": ("a.o b.o -o a", "-x none b.o", "-lfoo -o a", "-l foo"),
    "": (
        "-E a.c", "-M a.c", "-MM a.c", "-fsyntax-only a.c", "-c a.s", "-o a.c", "-include a.c -I b.c -D c.c",
        "-r a.o b.o -o c.o", "-v", "--version", "-print-search-dirs", "-dumpmachine", "",
    ),
}  # fmt: skip
"""What lines of arguments ask a compiler for."""


@pytest.mark.parametrize(("asked", "words"), [(asked, words) for asked, lines in LINES.items() for words in lines])
def test_what_a_line_asks_for(asked: str, words: str) -> None:
    line = Line(words.split())
    assert (line.compiles, line.links) == ("compiles" in asked, "links" in asked)


@pytest.mark.parametrize("word", ["-static", "--static", "-static-pie", "-nostdlib"])
def test_links_that_cannot_be_traced(word: str) -> None:
    assert Line([word, "a.c"]).untraced == word
    assert Line([word, "-c", "a.c"]).untraced is None
    assert Line(["-static-libgcc", "a.c"]).untraced is None


def test_the_users_debug_option_is_seen() -> None:
    assert [Line([word, "a.c"]).debug for word in ("-g", "-ggdb3", "-g0", "-O2", "--gc")] == [True] * 3 + [False] * 2


def test_response_files_are_read_as_the_compiler_does(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_text("-c\n\"a b.c\" 'c.c'\n")
    outer = tmp_path / "outer"
    outer.write_text(f'-O2 @{inner} -DX=\\"y\\"')
    assert expand([f"@{outer}", "d.o"]) == ["-O2", "-c", "a b.c", "c.c", '-DX="y"', "d.o"]
    assert Line([f"@{outer}"]).sources == ["a b.c", "c.c"]
    assert expand(["@missing"]) == ["@missing"]
    loop = tmp_path / "loop"
    loop.write_text(f"@{loop} -c")
    assert expand([f"@{loop}"])[0] == f"@{loop}"


@pytest.mark.parametrize(
    ("words", "position"),
    [
        ("a.o -lmpi -lm", 1),
        ("a.o -l mpich", 1),
        ("a.o /opt/mpi/lib/libmpi.so.12 -lm", 1),
        ("a.o lib/libmpi_cxx.so lib/libmpi.so", 1),
        ("a.o -lmpifoo mpi.c libmpi.c -L/opt/mpi/lib -limpi", None),
        ("a.o -o libmpi.x", None),
    ],
)
def test_where_the_mpi_library_stands(words: str, position: int | None) -> None:
    assert mpi_position(words.split()) == position


@pytest.mark.parametrize(
    ("command", "mpicc"),
    [
        ("mpicc", "mpicc"),
        ("/opt/mpi/bin/mpicxx", "/opt/mpi/bin/mpicc"),
        ("mpic++.openmpi", "mpicc.openmpi"),
        ("mpiicpx", "mpiicx"),
        ("ccache mpicc -m64", "mpicc"),
        ("env MPI=mpicc /opt/mpi/bin/gcc --mpi", None),
    ],
)
def test_a_compiler_of_mpi_is_known_by_its_name(command: str, mpicc: str | None) -> None:
    assert mpi_compiler(command.split()) == mpicc


def test_the_mpicc_of_a_library_on_the_line(tmp_path: Path) -> None:
    mpicc = tmp_path / "bin" / "mpicc"
    mpicc.parent.mkdir()
    mpicc.write_text("#!/bin/sh\n")
    mpicc.chmod(0o755)
    assert mpicc_of_library([f"-L{tmp_path}/lib", "-lmpi"]) == str(mpicc)
    assert mpicc_of_library([f"{tmp_path}/lib/x86_64-linux-gnu/libmpi.so"]) == str(mpicc)
    assert mpicc_of_library(["-L/nowhere/lib", "-lmpi"]) is None


def test_the_mpicc_among_those_of_debian(tmp_path: Path) -> None:
    names = ("mpicc", "mpicc.openmpi", "mpicc.mpich")
    (tmp_path / "bin").mkdir()
    for name in names:
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    libraries = tmp_path / "lib" / "x86_64-linux-gnu"
    found = [
        mpicc_of_library(args)
        for args in (
            [f"-L{libraries}/openmpi/lib", "-lmpi"],
            [f"{libraries}/openmpi/lib/libmpi.so"],
            [f"-L{libraries}", "-lmpich"],
            [f"{libraries}/libmpich.so"],
            [f"-L{libraries}", "-lmpi"],
        )
    ]
    assert [Path(path or "").name for path in found] == [*[names[1]] * 2, *[names[2]] * 2, names[0]]


def test_the_default_compiler_follows_path_and_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpicc = tmp_path / "mpicc"
    mpicc.write_text("#!/bin/sh\n")
    mpicc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    plain, with_mpi = tmp_path / "a.c", tmp_path / "m.c"
    plain.write_text("int main(void) { return 0; }\n")
    with_mpi.write_text("#include <mpi.h>\n")
    assert choose(parse("a.c"), opt.C) == [str(mpicc)]
    assert choose(parse("-vt:mpi", "a.c"), opt.C) == [str(mpicc)]
    assert choose(parse("-vt:seq", "a.c"), opt.C) == ["cc"]
    assert choose(parse("-vt:mt", "a.c"), opt.CXX) == ["c++"]
    assert choose(parse("-vt:mt", "-vt:cc", "x", "a.c"), opt.C) == ["x"]
    assert choose(parse("a.f90", language=opt.FORTRAN), opt.FORTRAN) == ["gfortran"]
    # The link of a static program without MPI would fail with -lmpi if MPI has no static library.
    assert choose(parse("-static", str(plain)), opt.C) == ["cc"]
    assert choose(parse("-static", str(with_mpi)), opt.C) == [str(mpicc)]
