# SPDX-License-Identifier: BSD-3-Clause
"""vtrace-cc, vtrace-cxx and vtrace-fc as compilers: all options of a compiler, with its exit codes and messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build import compilers
from support.build.run import names, run
from support.build.wrap import fake_compiler, is_instrumented, is_linked, seq, wrap, write_sources
from support.tools import call, need


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with main.c, twice.c and mpi.c."""
    return write_sources(tmp_path)


# ---- Input and output of the user ----


def test_messages_and_exit_code_are_the_compilers(here: Path) -> None:
    (here / "bad.c").write_text("int main(void) { return x; }\n")
    own = call([need("gcc"), "-c", "bad.c"], here, check=False)
    done = seq(here, "-c", "bad.c", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (own.returncode, own.stdout, own.stderr)
    assert "bad.c:1" in done.stderr
    assert wrap(here, "-vt:cc", fake_compiler(here, code=77), "-c", "main.c", check=False).returncode == 77


@pytest.mark.parametrize(
    ("args", "env", "code", "part"),
    [
        (["-vt:cc", "no-such-cc", "-c", "main.c"], {}, 1, "no-such-cc: no such compiler"),
        (["-c", "main.c"], {"VT_CC": "no-such-cc"}, 1, "no-such-cc: no such compiler"),
        (["-vt:no", "main.c"], {}, 2, "-vt:no: unknown option"),
        (["-vt:inst", "some", "main.c"], {}, 2, "-vt:inst some"),
        (["-vt:seq", "-c", "main.c"], {"VT_INST": "some"}, 2, "VT_INST=some"),
        (["-vt:seq", "main.c"], {"VT_PREFIX": "/no/such/place"}, 2, "VT_PREFIX=/no/such/place"),
        (["-vt:seq", "main.c"], {"VT_WRAPPER": "perhaps"}, 2, "VT_WRAPPER=perhaps"),
    ],
)
def test_mistakes_are_one_line(here: Path, args: list[str], env: dict[str, str], code: int, part: str) -> None:
    before = names(here)
    done = wrap(here, *args, check=False, **env)
    assert done.returncode == code
    assert done.stderr.startswith("vtrace-cc: ")
    assert part in done.stderr
    assert done.stderr.count("\n") == 1
    assert (done.stdout, names(here)) == ("", before)


def test_a_compiler_that_cannot_be_executed(here: Path) -> None:
    broken = here / "broken"
    broken.write_text("no program\n")
    broken.chmod(0o755)
    done = wrap(here, "-vt:cc", broken, "-c", "main.c", check=False)
    assert done.returncode == 1
    assert f"cannot run {broken}: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_version_and_help(here: Path) -> None:
    for wrapper in ("vtrace-cc", "vtrace-cxx", "vtrace-fc"):
        assert wrap(here, "-vt:version", wrapper=wrapper).stdout.startswith(f"{wrapper} (vtrace) ")
        assert wrap(here, "--vt:help", wrapper=wrapper).stdout.startswith(f"usage: {wrapper} ")


# ---- Requests to a compiler ----


def test_assembler_and_dependences(here: Path) -> None:
    seq(here, "-S", "-MD", "-MF", "main.d", "main.c")
    assert re.search("call.*(__cyg_profile_func_enter|__fentry__)", (here / "main.s").read_text())
    assert "main.c" in (here / "main.d").read_text()
    seq(here, "-c", "main.s", "-o", "main.o")
    assert is_instrumented(here / "main.o")


@pytest.mark.parametrize("question", ["--version", "-dumpmachine", "-print-search-dirs", "-v", "-dumpversion"])
def test_questions_to_the_compiler(here: Path, question: str) -> None:
    own = call([need("gcc"), question], here)
    done = seq(here, question, VT_CFLAGS="-O3")
    assert (done.stdout, done.stderr) == (own.stdout, own.stderr)


def test_no_arguments_at_all(here: Path) -> None:
    own = call([need("gcc")], here, check=False)
    done = seq(here, check=False)
    hint, _, rest = done.stderr.partition("\n")
    assert hint.startswith("vtrace-cc: for the options of vtrace: -vt:help")
    assert (done.returncode, rest) == (own.returncode, own.stderr)


def test_response_files(here: Path) -> None:
    (here / "what").write_text('-c "main.c"\n-o response.o')
    seq(here, "@what")
    assert is_instrumented(here / "response.o")
    (here / "link").write_text("response.o twice.c -o program")
    seq(here, "@link")
    assert is_linked(here / "program")
    run(here / "program", here)


@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_linkers_and_their_flags(here: Path, linker: str) -> None:
    need(f"ld.{linker}")
    seq(here, f"-fuse-ld={linker}", "-Wl,--as-needed", "-Wl,--gc-sections", "main.c", "twice.c", "-o", "program")
    assert is_linked(here / "program")
    run(here / "program", here)
    assert "program.1.events.z" in names(here)


def test_relocatable_objects(here: Path) -> None:
    seq(here, "-r", "main.c", "twice.c", "-o", "both.o")
    assert is_instrumented(here / "both.o")
    wrap(here, "-r", "both.o", "-o", "again.o")
    seq(here, "again.o", "-o", "program")
    run(here / "program", here)


@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_static_programs_are_not_traced(here: Path, option: str) -> None:
    seq(here, "-c", "twice.c")
    done = wrap(here, option, "main.c", "twice.o", "-o", "program")
    assert done.stderr == f"vtrace-cc: {option}: linking without vtrace; the program will not be traced\n"
    before = names(here)
    run(here / "program", here)
    assert names(here) == before


def test_spaces_in_names(here: Path) -> None:
    place = here / "my programs"
    place.mkdir()
    (place / "a b.c").write_text("#include \"c d/x.h\"\nint main(void) { return X[0] != 'y'; }\n")
    (place / "inc lude" / "c d").mkdir(parents=True)
    (place / "inc lude" / "c d" / "x.h").write_text("/* nothing */\n")
    wrap(place, "-I", "inc lude", '-DX="y z"', "a b.c", "-o", "the program")
    run(place / "the program", place)
    assert "the program.1.events.z" in names(place)


# ---- Instrumentation ----


def test_manual_instrumentation_adds_nothing(here: Path) -> None:
    for args, env in ((["-vt:inst", "manual"], {}), ([], {"VT_INST": "manual"})):
        seq(here, *args, "-c", "main.c", check=True, **env)
        assert not is_instrumented(here / "main.o")
        assert ".debug_info" not in call([need("readelf"), "-SW", "main.o"], here).stdout
    seq(here, "-vt:inst", "compinst", "-c", "main.c", VT_INST="manual")
    assert is_instrumented(here / "main.o")
    assert ".debug_info" in call([need("readelf"), "-SW", "main.o"], here).stdout


def test_the_users_flags_have_priority(here: Path) -> None:
    seq(here, "-g0", "-fno-instrument-functions", "-c", "main.c")
    assert not is_instrumented(here / "main.o")
    assert ".debug_info" not in call([need("readelf"), "-SW", "main.o"], here).stdout


GCC_8 = "#!/bin/sh\necho 'gcc (GCC) 8.5.0'; echo 'Copyright (C) 2018 Free Software Foundation, Inc.'\n"
CLANG_10 = "#!/bin/sh\necho 'clang version 10.0.1'\n"
ARM = """#!/bin/sh
[ $1 = -dumpmachine ] && { echo aarch64-linux-gnu; exit; }
echo 'gcc (GCC) 12.2.0'; echo 'Copyright (C) 2022 Free Software Foundation, Inc.'
"""


@pytest.mark.parametrize(
    ("compiler", "args", "why"),
    [
        ("gcc", ["-pg"], "-pg excludes sleds"),
        ("gcc", ["-m32"], "-m32 excludes sleds"),
        ("gcc", ["-masm=intel"], "-masm=intel excludes sleds"),
        ("clang", ["-fxray-instrument"], "-fxray-instrument excludes sleds"),
        (GCC_8, [], "only gcc 9, clang 11 and newer ones write sleds"),
        (CLANG_10, [], "only gcc 9, clang 11 and newer ones write sleds"),
        (ARM, [], "vtrace has sleds for x86-64, not for aarch64-linux-gnu"),
    ],
    ids=["gcc -pg", "gcc -m32", "gcc -masm=intel", "clang -fxray-instrument", "gcc 8", "clang 10", "aarch64"],
)
def test_compilers_without_sleds(here: Path, compiler: str, args: list[str], why: str) -> None:
    """-vt:inst sleds is refused, with the reason; the default takes hooks, of the plug-in where it can be built."""
    flag = "-finstrument-functions"
    if compiler.startswith("#!"):
        (here / "old").write_text(compiler)
        (here / "old").chmod(0o755)
        compiler = str(here / "old")
    elif compilers.has_plugin_headers(compiler):
        flag = "-fplugin="
    words = [
        "-vt:cc",
        need(compiler) if "/" not in compiler else compiler,
        "-vt:seq",
        "-vt:show",
        *args,
        "-c",
        "main.c",
    ]
    done = wrap(here, "-vt:inst", "sleds", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("vtrace-cc: -vt:inst sleds: ")
    assert why in done.stderr
    shown = wrap(here, *words).stdout
    assert flag in shown
    assert "sleds.specs" not in shown


@pytest.mark.parametrize(("compiler", "flag"), [("gcc", "sleds.specs"), ("clang", "-fxray-instrument")])
def test_ways_to_record_functions(here: Path, compiler: str, flag: str) -> None:
    compilers.need_sleds()
    words = ["-vt:cc", need(compiler), "-vt:seq", "-vt:show", "-c", "main.c"]
    shown = {way: wrap(here, "-vt:inst", way, *words).stdout for way in ("compinst", "sleds", "hooks", "manual")}
    assert shown["compinst"] == shown["sleds"]
    assert flag in shown["sleds"]
    assert "-finstrument-functions" in shown["hooks"]
    assert flag not in shown["hooks"] + shown["manual"]
    assert "-finstrument-functions" not in shown["manual"]
    assert shown["hooks"] == wrap(here, *words, VT_INST="hooks").stdout


@pytest.mark.parametrize(("compiler", "flags"), [("g++", "-O0"), ("clang++", "-O2")])
def test_system_headers_are_left_out(here: Path, compiler: str, flags: str) -> None:
    (here / "sort.cc").write_text(
        "#include <algorithm>\n#include <iostream>\n#include <map>\n#include <vector>\n"
        "int main() { std::vector<int> v{3, 1, 2}; std::sort(v.begin(), v.end()); std::map<int, int> m; m[v[0]] = 1;\n"
        "  std::cout << m.size() << std::endl; }\n"
    )
    words = ["-vt:cxx", need(compiler), "-vt:seq", "-vt:inst", "hooks", flags, "-S", "sort.cc"]
    wrap(here, *words, wrapper="vtrace-cxx")
    calls = [line for line in (here / "sort.s").read_text().splitlines() if "call" in line and "func_enter" in line]
    # main, and with gcc the static constructors of the file: functions of this source only. clang instruments after
    # inlining, so a few large functions of the library remain.
    assert 1 <= len(calls) <= (3 if compiler == "g++" else 12)


def test_a_directory_named_like_the_systems_is_the_users(here: Path) -> None:
    """gcc matches parts of paths: only the path of a C++ library has a version after include/c++."""
    (here / "include/c++").mkdir(parents=True)
    (here / "include/c++/solve.cc").write_text("int solve(int n) { return n; }\n")
    hooks = ["-vt:cxx", need("g++"), "-vt:seq", "-vt:inst", "hooks", "-c"]
    wrap(here, *hooks, "include/c++/solve.cc", wrapper="vtrace-cxx")
    wrap(here, *hooks, here / "include/c++/solve.cc", "-o", "again.o", wrapper="vtrace-cxx")
    assert is_instrumented(here / "solve.o")
    assert is_instrumented(here / "again.o")


def test_clang_for_gprof(here: Path) -> None:
    """clang inserts the call of mcount and that of the enter hook after inlining: the code must have both calls."""
    wrap(here, "-vt:cc", need("clang"), "-vt:seq", "-pg", "-S", "twice.c")
    assembly = (here / "twice.s").read_text()
    assert all(name in assembly for name in ("mcount", "__cyg_profile_func_enter", "__cyg_profile_func_exit"))
