# SPDX-License-Identifier: BSD-3-Clause
"""Natural loops of machine code: against a slow definition on random graphs, on compiled functions, on random bytes."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from support.build.builder import Builder
from support.tools import PROGRAMS
from vtrace.symbols import machine_loops
from vtrace.symbols.loop_source import source_kind
from vtrace.symbols.machine_loops import FunctionLoops
from vtrace.symbols.stack_frames import CallFrame, _of_file
from vtrace.symbols.symbols import function_sizes


def reachable(following: Sequence[Sequence[int]], without: int | None = None) -> set[int]:
    found, waiting = set(), [0] if without != 0 else []
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += [after for after in following[block] if after != without]
    return found


def slow_loops(following: Sequence[Sequence[int]]) -> dict[int, set[int]]:
    """The loops by their definition.

    A block dominates the blocks that are not reachable without it. The loop of a back edge to a header has the blocks
    from which the edge is reached without the header.
    """
    there = reachable(following)
    found: dict[int, set[int]] = {}
    for header in there:
        dominated = there - reachable(following, header)
        for block in there:
            if header in following[block] and block in dominated:
                body = found.setdefault(header, {header})
                body |= {one for one in there if reaches(following, one, block, header)}
    return found


def reaches(following: Sequence[Sequence[int]], begin: int, end: int, without: int) -> bool:
    seen, waiting = set(), [begin]
    while waiting:
        block = waiting.pop()
        if block == without or block in seen:
            continue
        if block == end:
            return True
        seen.add(block)
        waiting += following[block]
    return False


@pytest.mark.parametrize("seed", range(300))
def test_random_graphs(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.randint(1, 14)
    following = [[draw.randrange(n) for _ in range(draw.choice([0, 1, 1, 2, 2, 3]))] for _ in range(n)]
    assert machine_loops._natural_loops(following) == slow_loops(following)


def frames_of(program: Path, function: str) -> dict[int, tuple[CallFrame, ...]]:
    """The frames at each address of a function."""
    with program.open("rb") as file:
        elf = ELFFile(file)
        (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name(function)
        start, size = symbol["st_value"], symbol["st_size"]
        assert function_sizes(elf, {start}) == {start: size}
    with program.open("rb") as file:
        return _of_file(ELFFile(file), (str(program), b""), range(start, start + size), with_loops=True)


KINDS = {"for (int i": "for", "while (w > 0)": "while", "do {": "do", "again:": "goto", "for (int k": "for"}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
def test_loops_of_a_program(build: Builder, compiler: str, level: str) -> None:
    """Each loop that the source has is found once, with its kind, level and lines, whatever the compiler does."""
    program = build("sampled_loops.c", compiler=compiler, flags=("-g", level), plain=True)
    lines = (PROGRAMS / "sampled_loops.c").read_text().splitlines()
    found = {}
    for function in ("loops", "called"):
        for frames in frames_of(program, function).values():
            for frame in frames:
                if frame.loop:
                    found[frame.loop.first] = frame.loop
    by_word = {word: loop for loop in found.values() for word in KINDS if word in lines[loop.first - 1]}
    for loop in found.values():
        if loop.kind == "goto":
            by_word["again:"] = loop
    assert by_word.keys() == KINDS.keys()
    for word, loop in by_word.items():
        assert loop.kind == KINDS[word]
        assert loop.level == (1 if word == "for (int k" else 2)
        if loop.level == 2:
            assert loop.outer is not None
            assert "for (int round" in lines[loop.outer.first - 1]
            assert (loop.outer.kind, loop.outer.level, loop.outer.outer) == ("for", 1, None)
            assert loop.outer.first < loop.first <= loop.last <= loop.outer.last


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_loops_of_fortran(build: Builder, level: str) -> None:
    program = build("sampled_loops.f90", compiler="gfortran", flags=("-g", level), plain=True)
    found = {frame.loop for frames in frames_of(program, "MAIN__").values() for frame in frames if frame.loop}
    kinds = {(loop.level, loop.kind) for loop in found}
    assert {(1, "DO"), (2, "DO"), (2, "DO WHILE"), (2, "ARRAY")} <= kinds


def test_without_debug_information(build: Builder) -> None:
    program = build("sampled_loops.c", flags=("-O2",), plain=True)
    assert all(frame.loop is None for frames in frames_of(program, "loops").values() for frame in frames)


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes(build: Builder, seed: int) -> None:
    """Any bytes as code: each loop has its header, inner loops are in outer ones, and each address has one loop."""
    draw = random.Random(seed)
    code = draw.randbytes(draw.randint(1, 3000))
    if seed % 2:  # short jumps
        code = bytes(draw.choice([0x90, 0x74, 0xEB, draw.randrange(256), 0xF8, 4]) for _ in code)
    for machine in ("EM_X86_64", "EM_AARCH64", "EM_386"):
        found = machine_loops._decoded(machine, code, 0x1000)
        loops = FunctionLoops.__new__(FunctionLoops)
        loops._addresses, loops._inner, loops.loops = [one.address for one in found], {}, []
        if found:
            loops._find(found)
        for loop in loops.loops:
            assert loop.header in loop.addresses
            assert loop.outer is None or (loop.outer is not loop and set(loop.addresses) < set(loop.outer.addresses))
        for address in range(0x1000, 0x1000 + len(code), 7):
            inner = loops.innermost(address)
            assert inner is None or inner in loops.loops


@pytest.mark.parametrize(
    ("text", "first", "last", "kind"),
    [
        ("  for (;;) {\n    f();\n  }", 1, 2, "for"), ("x();\nfor (;;)\n{\n  f();\n}", 4, 4, "for"),
        ("do {\n  f();\n} while (g());", 2, 3, "do"), ('puts("for");\nf();', 1, 2, "OTHER"),
        ("// while\nf();", 2, 2, "OTHER"), ("l:\nf();\nif (a) goto l;", 2, 3, "goto"), ("", 1, 1, "OTHER"),
        ("f();", 7, 9, "OTHER"), ("f();", 0, 0, "OTHER"),
    ],
)  # fmt: skip
def test_kinds_of_source(tmp_path: Path, text: str, first: int, last: int, kind: str) -> None:
    path = tmp_path / "a.c"
    path.write_text(text)
    assert source_kind(str(path), first, last)[1] == kind
    assert source_kind(str(tmp_path / "no file.c"), first, last) == (first, "OTHER")


def test_sources_that_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe, which would never end; a relative name, which may mean another file; lines that take long to search."""
    os.mkfifo(tmp_path / "pipe.c")
    assert source_kind(str(tmp_path / "pipe.c"), 1, 1) == (1, "OTHER")
    (tmp_path / "a.c").write_text("for (;;) f();\n")
    monkeypatch.chdir(tmp_path)
    assert source_kind("a.c", 1, 1) == (1, "OTHER")
    assert source_kind(str(tmp_path / "a.c"), 1, 1) == (1, "for")
    (tmp_path / "long.f90").write_text("(:" * 10**6)
    assert source_kind(str(tmp_path / "long.f90"), 1, 1) == (1, "OTHER")
