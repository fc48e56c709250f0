# SPDX-License-Identifier: BSD-3-Clause
"""Every function of I/O: the archive has each call of a program on files, streams and sockets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.io_calls import io_calls
from support.readers.archive import Trace
from support.tools import PROGRAMS as PROGRAM_FILES
from support.tools import call, command, need

LIB = ("libvtrace.so.1", "libvtrace-io.so")
PROGRAMS = ("io_descriptors", "io_streams", "io_files", "io_sockets", "io_aio")
PLAIN = ("gcc", ("-O0",))
VARIANTS = {
    "O0": PLAIN,
    "O2": ("gcc", ("-O2",)),
    "fortify": ("gcc", ("-O2", "-D_FORTIFY_SOURCE=2")),
    "large": ("gcc", ("-O1", "-D_FILE_OFFSET_BITS=64")),
    "clang": ("clang", ("-O2",)),
    "clang-fortify": ("clang", ("-O2", "-D_FORTIFY_SOURCE=2")),
}
SHORT = {(program, "O2") for program in PROGRAMS} | {("io_descriptors", "fortify"), ("io_streams", "large")}
CASES = [
    pytest.param(program, variant, marks=() if (program, variant) in SHORT else pytest.mark.full)
    for program in PROGRAMS
    for variant in VARIANTS
]
TABLE_4_9 = """
    close creat creat64 dup dup2 fclose fdopen fgetc fgets flockfile fopen fopen64 fputc fputs fread fscanf fseek fseeko
    fseeko64 fsetpos fsetpos64 ftrylockfile funlockfile fwrite getc gets lockf lseek lseek64 open open64 pread pread64
    putc puts pwrite pwrite64 read readv rewind unlink write writev
""".split()


def _traced(program: Path, here: Path, launch: Sequence[str] = ()) -> tuple[Trace, list[str]]:
    """Runs a program of the io_ family. Returns its trace, and the lines that the program has written about its
    calls."""
    words = ["sh", "-c", 'exec "$@" </dev/null 9>told', "sh", *launch]
    run(program, here, env={"VT_IOTRACE": "yes"}, launch=words)
    unify(here, program.name)
    return check(here / f"{program.name}.trace"), (here / "told").read_text().splitlines()


def _polls(line: str) -> bool:
    """True for a call that a program repeats until the disk has finished; the number of these calls varies."""
    return line.startswith(("aio_error", "aio_suspend"))


def _build(build: Builder, program: str, variant: str, plain: bool = False) -> Path:
    compiler, flags = VARIANTS[variant]
    return build(f"{program}.c", compiler=compiler, flags=("-w", *flags), mode=None if plain else "seq", plain=plain)


@pytest.mark.parametrize(("program", "variant"), CASES)
def test_every_call(build: Builder, tmp_path: Path, program: str, variant: str) -> None:
    trace, told = _traced(_build(build, program, variant), tmp_path)
    assert len(told) > 10
    assert [line for line in io_calls(trace) if not _polls(line)] == told


def test_fortified_programs_call_other_functions(build: Builder) -> None:
    """The fortified programs call the __*_chk functions; otherwise the variant fortify would test nothing new."""
    for program, names in (("io_descriptors", ("__read_chk", "__pread_chk")), ("io_streams", ("__fprintf_chk",))):
        symbols = call([need("nm"), "-D", _build(build, program, "fortify")], Path.cwd()).stdout
        assert all(f" {name}" in symbols for name in names), symbols


def test_the_functions_of_the_guide(build: Builder, tmp_path: Path) -> None:
    """The archives of three of the programs have all 43 functions of Table 4.9 of the guide."""
    found: set[str] = set()
    for program in ("io_descriptors", "io_streams", "io_files"):
        (tmp_path / program).mkdir()
        trace, _ = _traced(_build(build, program, "O0"), tmp_path / program)
        found |= {line.split()[0] for line in io_calls(trace)}
    assert set(TABLE_4_9) - found == set()
    assert len(TABLE_4_9) == 43


@pytest.mark.parametrize(("program", "calls"), [("io_rest", 150), ("io_wide", 40)])
def test_the_rest(build: Builder, tmp_path: Path, program: str, calls: int) -> None:
    """Old names that compilers no longer emit, rare functions, and wide characters."""
    trace, told = _traced(_build(build, program, "O0"), tmp_path)
    assert len(told) > calls
    assert [line for line in io_calls(trace) if not _polls(line)] == told


def test_every_name_is_proven(build: Builder) -> None:
    """libc exports every function that the shim exports, and at least one of the programs calls it."""
    from vtrace import paths

    def symbols(path: Path, which: str) -> set[str]:
        lines = call([need("nm"), "-D", which, path], path.parent).stdout.splitlines()
        return {line.split()[-1].partition("@")[0] for line in lines}

    exported = symbols(paths.LIB / "libvtrace-io.so", "--defined-only") - {"vt_shim_vfork"}
    libc = Path(call([need("gcc"), "-print-file-name=libc.so.6"], Path.cwd()).stdout.strip())
    assert exported - symbols(libc, "--defined-only") == set()
    programs = [_build(build, program, "O0") for program in (*PROGRAMS, "io_rest", "io_wide")]
    programs += [_build(build, program, "fortify") for program in ("io_descriptors", "io_streams")]
    programs += [build(f"{name}.c", flags=("-w", "-O1", "-pthread"), mode="seq") for name in ("io_closes", "io_forks")]
    called = set().union(*(symbols(program, "--undefined-only") for program in programs))
    assert exported - called == set()
    assert len(exported) > 250


@pytest.mark.parametrize("program", ["io_descriptors", "io_streams"])
def test_preloaded(build: Builder, tmp_path: Path, program: str) -> None:
    """A program built without vtrace, with preloaded libraries: the archive has each call."""
    from vtrace import paths

    libraries = ":".join(str(paths.LIB / name) for name in LIB)
    path = _build(build, program, "O2", plain=True)
    trace, told = _traced(path, tmp_path, ["env", f"LD_PRELOAD={libraries}"])
    assert io_calls(trace) == told


def test_handles(build: Builder, tmp_path: Path) -> None:
    """Files have absolute paths, streams have their descriptor as parent, and standard streams are pre-created."""
    trace, _ = _traced(_build(build, "io_streams", "O2"), tmp_path)
    standard = {(h.name, h.paradigm): h for h in trace.handles.values() if "PRE_CREATED" in h.flags}
    assert set(standard) == {(name, p) for name in ("stdin", "stdout", "stderr") for p in ("POSIX", "ISOC")}
    assert standard["stdin", "POSIX"].file == "/dev/null"
    assert all(h.state is not None for h in standard.values())
    for handle in trace.handles.values():
        assert handle.file
        if handle.name in ("text", "other", "out"):
            assert handle.file == str(tmp_path / handle.name)
            assert "PRE_CREATED" not in handle.flags
        if handle.paradigm == "ISOC":
            assert handle.parent is not None
            parent = trace.handles[handle.parent]
            assert (parent.paradigm, parent.name, parent.file) == ("POSIX", handle.name, handle.file)
        else:
            assert handle.parent is None


def test_off_unless_asked_for(build: Builder, tmp_path: Path) -> None:
    program = _build(build, "io_descriptors", "O2")
    for value in ("", "no"):
        here = tmp_path / f"off{value}"
        here.mkdir()
        run(program, here, env={"VT_IOTRACE": value})
        unify(here, program.name)
        trace = check(here / f"{program.name}.trace")
        assert io_calls(trace) == []
        assert not trace.handles
        assert trace.calls()["main"] == 1


def test_cxx_streams(build: Builder, tmp_path: Path) -> None:
    """libstdc++ opens with stdio functions, and moves bytes with descriptor functions: the archive has both."""
    program = build("io_fstream.cc", compiler="g++", flags=("-O2",), mode="seq")
    run(program, tmp_path, env={"VT_IOTRACE": "yes"})
    unify(tmp_path, "io_fstream")
    lines = [line for line in io_calls(check(tmp_path / "io_fstream.trace")) if "numbers" in line]
    written = [line.split() for line in lines if "w:numbers" in line]
    assert sum(int(words[1].split(":")[3]) for words in written) == 48_890
    assert sum(int(line.split(":")[3]) for line in lines if line.startswith("read r:numbers")) == 48_890
    opened = ["fopen64 +numbers +numbers", "fclose -numbers -numbers"]
    assert [line for line in lines if ":" not in line and "@" not in line] == [*opened, *opened]
    assert lines[-1] == "remove x:numbers"


def test_fortran_units(build: Builder, tmp_path: Path) -> None:
    program = build("io_units.f90", compiler="gfortran", flags=("-O2",), mode="seq")
    run(program, tmp_path, env={"VT_IOTRACE": "yes"})
    unify(tmp_path, "io_units")
    lines = [line for line in io_calls(check(tmp_path / "io_units.trace")) if "units.dat" in line]
    assert lines[0] == "open +units.dat" or lines[0] == "open64 +units.dat"
    moved = {mode: sum(int(x.split(":")[3]) for x in lines if f" {mode}:" in x) for mode in "rw"}
    assert moved == {"w": 80_000, "r": 80_000}
    assert sum(line == "close -units.dat" for line in lines) == 2


def test_sanitizers_keep_their_functions(build: Builder, tmp_path: Path) -> None:
    """The wrapper links a program with ASan without the shim, and prints one line about this."""
    words = [
        *command("vtrace-cc"),
        "-vt:seq",
        "-w",
        "-fsanitize=address",
        PROGRAM_FILES / "io_files.c",
        "-o",
        "io_files",
    ]
    done = call(words, tmp_path)
    assert "VT_IOTRACE and VT_MEMTRACE will have no effect: the sanitizer replaces the same functions" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "libvtrace-io" not in call([need("readelf"), "-d", "io_files"], tmp_path).stdout
    run(tmp_path / "io_files", tmp_path, env={"VT_IOTRACE": "yes"})
    unify(tmp_path, "io_files")
    assert io_calls(check(tmp_path / "io_files.trace")) == []
