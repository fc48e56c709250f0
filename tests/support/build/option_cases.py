# SPDX-License-Identifier: BSD-3-Clause
"""Random commands for a compiler: stages, outputs, options and kinds of sources, from a seed. Each command means the
same to a compiler and to the wrapper of that compiler."""

from __future__ import annotations

import random
import shlex
from pathlib import Path
from typing import NamedTuple

from support.tools import call, need

WRAPPERS = {
    "gcc": "vtrace-cc",
    "g++": "vtrace-cxx",
    "gfortran": "vtrace-fc",
    "clang": "vtrace-cc",
    "clang++": "vtrace-cxx",
}
_MAIN = {
    ".c": '#include <stdio.h>\nint twice(int);\nint main(void) { return printf("%d\\n", twice(21)) != 3; }\n',
    ".cc": '#include <iostream>\nextern "C" int twice(int);\nint main() { std::cout << twice(21) << std::endl; }\n',
    ".f90": "program main\n  integer, external :: twice\n  print *, twice(21)\nend\n",
}
_TWICE = {
    ".c": "int twice(int i) { return 2 * i; }\n",
    ".cc": 'extern "C" int twice(int i) { try { if (i < 0) throw i; } catch (int j) { return j; } return 2 * i; }\n',
    ".f90": "integer function twice(i)\n  integer i\n  twice = 2 * i\nend\n",
}
# Written by hand: the function begins in the section in which the assembler begins.
_ASSEMBLER = '.globl {0}\n{0}: {1}\n lea (%rdi, %rdi), %eax\n ret\n.section .note.GNU-stack,"",@progbits\n'
_SUFFIXES = {"vtrace-cc": ".c", "vtrace-cxx": ".cc", "vtrace-fc": ".f90"}
_LANGUAGES = {".c": "c", ".cc": "c++", ".f90": "f95"}
_ASSEMBLED = (".s", "-by-gcc.s", ".S")
_LINKED = (".o", ".a", ".so")

_STAGES = ("", "", "", "", "", "", "-c", "-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r", "-shared -fPIC")
_QUESTIONS = (
    "-### -v -dumpversion -dumpmachine -print-search-dirs -print-libgcc-file-name -print-prog-name=ld "
    "-print-file-name=libc.so --version"
).split()
_OPTIONS = (
    "-pipe -save-temps -save-temps=obj -MD -MMD -MP -g -g0 -g3 -gdwarf-4 -gsplit-dwarf -O -O0 -O1 -O2 -O3 -Ofast -Os "
    "-Og -fPIC -fpic -pie -no-pie -static -static-libgcc -flto -flto=auto -fno-lto -fno-exceptions -fexceptions "
    "-ffunction-sections -fdata-sections -Wall -Wextra -Werror -w --coverage -pg -p -fsanitize=address "
    "-fsanitize=undefined -fopenmp -pthread -rdynamic -s -fno-omit-frame-pointer -fomit-frame-pointer "
    "-fcf-protection=full -fcf-protection=none -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fvisibility=hidden "
    "-fno-asynchronous-unwind-tables -fno-plt -fverbose-asm -march=native -fpatchable-function-entry=8 -mno-red-zone "
    "-Wl,--gc-sections -Wl,-z,now -Wl,--as-needed -Wl,-z,defs -Wl,--no-undefined -Wl,-Bsymbolic -Wl,--fatal-warnings "
    "-Wl,-O1,--sort-common -Wl,-Map,map.txt -Wa,--noexecstack -Xlinker=--hash-style=gnu -fuse-ld=gold -fuse-ld=bfd "
    "-fno-integrated-as -finstrument-functions -fdiagnostics-color=always -frandom-seed=1"
).split()
_GCC = (
    "-no-integrated-cpp -traditional-cpp -fsplit-stack -ffat-lto-objects -fno-use-linker-plugin -fcompare-debug "
    "-fprofile-arcs -ftest-coverage -mrecord-mcount -masm=intel -ftrapv -fdump-tree-optimized -Wa,-a=list.txt "
    "-Wa,--gdwarf-5 -mfentry -fno-optimize-sibling-calls -fstack-usage -specs=empty.specs"
).split()
_OF_LANGUAGE = {
    ".c": "-std=c99 -std=gnu17 -ansi -ffreestanding -fno-builtin".split(),
    ".cc": "-std=c++17 -std=gnu++20 -fno-rtti -static-libstdc++".split(),
    ".f90": "-std=f2008 -static-libgfortran -fcheck=all -fbacktrace -cpp".split(),
}


class CompilerCall(NamedTuple):
    """A compiler's arguments. stdin: text for a source named "-"; response: text of the file words.txt, which the
    arguments name; runs: the program that the command makes, "": none."""

    compiler: str
    args: tuple[str, ...]
    stdin: str = ""
    response: str = ""
    runs: str = "a.out"

    def __str__(self) -> str:
        stdin = " < " + shlex.quote(self.stdin) if self.stdin else ""
        return shlex.join([self.compiler, *self.args]) + (f" [{self.response}]" if self.response else "") + stdin


def draw(seed: int, compiler: str) -> CompilerCall:
    """The command of a seed."""
    chance = random.Random(f"{compiler} {seed}")
    suffix = _SUFFIXES[WRAPPERS[compiler]]
    stage = chance.choice(_STAGES).split()
    if chance.random() < 0.06:
        return CompilerCall(compiler, (chance.choice(_QUESTIONS),), runs="")
    pool = [*_OPTIONS, *_OF_LANGUAGE[suffix], *(() if "clang" in compiler else _GCC)]
    args = [*stage, *chance.sample(pool, chance.choice((1, 1, 2, 2, 3, 4)))]
    sources, stdin = _sources(chance, suffix, stage)
    output, name = _output(chance)
    chance.shuffle(args)
    args = [*output, *args, *sources] if chance.random() < 0.5 else [*args, *sources, *output]
    response = ""
    if chance.random() < 0.12:
        args, response = ["@words.txt"], shlex.join(args)
    return CompilerCall(compiler, tuple(args), stdin, response, "" if stage else name)


def _sources(chance: random.Random, suffix: str, stage: list[str]) -> tuple[list[str], str]:
    """The words for the sources, and the text of a source that is standard input."""
    second = chance.choice((suffix, suffix, suffix, *_ASSEMBLED, *_LINKED, "preprocessed"))
    first = chance.choice((suffix, suffix, suffix, "preprocessed", ".o", "-"))
    ending = {".c": ".i", ".cc": ".ii", ".f90": ".F90"}[suffix]
    names = [
        f"{name}{ending if kind == 'preprocessed' else kind}" for name, kind in (("main", first), ("twice", second))
    ]
    stdin = ""
    if names[0] == "main-":
        names[0], stdin = f"-x {_LANGUAGES[suffix]} - -x none", _MAIN[suffix]
    if stage and stage[0] not in ("-r", "-shared") and chance.random() < 0.7:
        names = names[chance.randrange(2) :][:1]
        stdin = stdin if " - " in names[0] else ""
    elif chance.random() < 0.3 and second not in _LINKED:
        names.reverse()
    return [word for name in names for word in name.split()], stdin


def _output(chance: random.Random) -> tuple[list[str], str]:
    """The words for the output, and the program's name."""
    name = chance.choice(("out", "out.x", "./out", "sub/out"))
    form = chance.choice(("none", "none", "apart", "joined"))
    if form == "none":
        return [], "a.out"
    return (["-o", name] if form == "apart" else [f"-o{name}"]), name


def prepare(directory: Path, compiler: str) -> None:
    """Writes all sources, and builds the linked ones with the compiler itself."""
    suffix = _SUFFIXES[WRAPPERS[compiler]]
    (directory / "sub").mkdir(parents=True)
    (directory / "empty.specs").write_text("\n")
    symbol, load = ("twice_", "mov (%rdi), %edi") if suffix == ".f90" else ("twice", "nop")
    for name, text in (("main", _MAIN[suffix]), ("twice", _TWICE[suffix])):
        (directory / f"{name}{suffix}").write_text(text)
        if suffix == ".f90":
            (directory / f"{name}.F90").write_text("#define NOTHING\n" + text)
        else:
            call(
                [need(compiler), "-E", f"{name}{suffix}", "-o", f"{name}{'.i' if suffix == '.c' else '.ii'}"], directory
            )
        call([need(compiler), "-fPIC", "-c", f"{name}{suffix}"], directory)
    (directory / "twice.s").write_text(_ASSEMBLER.format(symbol, load))
    (directory / "twice.S").write_text("#define NOTHING\n" + _ASSEMBLER.format(symbol, load))
    call([need(compiler), "-S", "-fPIC", f"twice{suffix}", "-o", "twice-by-gcc.s"], directory)
    call([need("ar"), "rc", "twice.a", "twice.o"], directory)
    call([need(compiler), "-shared", "twice.o", "-o", "twice.so"], directory)
