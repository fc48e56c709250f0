# SPDX-License-Identifier: BSD-3-Clause
"""Damaged executables and libraries: at worst functions have no name."""

from __future__ import annotations

import io
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.damage.isolate import isolated
from support.tools import PROGRAMS, call, need
from vtrace.symbols.modules import Place
from vtrace.symbols.symbols import Symbols

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0"))
fuzzed = partial(
    settings, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=not SECONDS
)
NOW = 1 << 62


class Program:
    """An executable. data: its bytes; functions: their addresses; places: offsets of headers and sections."""

    def __init__(self, data: bytes, functions: list[int], places: list[int]) -> None:
        self.data, self.functions, self.places = data, functions, places

    def __repr__(self) -> str:
        return f"<program of {len(self.data)} bytes>"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Program]:
    """Executables with debug information of three kinds."""
    where = tmp_path_factory.mktemp("programs")
    found = []
    for number, (compiler, source, flag) in enumerate(
        [("gcc", "nested.c", "-gdwarf-4"), ("g++", "shapes.cc", "-gdwarf-5"), ("clang", "nested.c", "-gdwarf-5")]
    ):
        path = where / str(number)
        call([need(compiler), flag, "-O1", PROGRAMS / source, "-o", path, "-pthread"], where)
        data = path.read_bytes()
        elf = ELFFile(io.BytesIO(data))
        symbols = elf.get_section_by_name(".symtab")
        assert symbols is not None
        functions = [s["st_value"] for s in symbols.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"]
        wanted = (".debug", ".symtab", ".strtab", ".note")
        sections = [(i, s) for i, s in enumerate(elf.iter_sections()) if s.name.startswith(wanted)]
        places = [int(s["sh_offset"]) for _, s in sections] + [int(elf["e_shoff"]), 0]
        places += [int(elf["e_shoff"] + i * elf["e_shentsize"]) for i, _ in sections]
        found.append(Program(data, [f for f in functions if f], places))
    return found


OFFSETS = st.integers(0, 70) | st.integers(0, 600)
DAMAGE = st.lists(st.tuples(st.integers(0, 40), OFFSETS, st.binary(min_size=1, max_size=8)), max_size=5)
CUTS = st.integers(0, 1000) | st.just(1000)


@fuzzed(max_examples=max(40, SECONDS * 2))
@given(st.lists(st.tuples(st.integers(0, 2), DAMAGE, CUTS), min_size=1, max_size=6))
def test_damaged_programs(programs: list[Program], tmp_path_factory: pytest.TempPathFactory, cases: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"

    def child() -> None:
        for number, damage, cut in cases:
            program = programs[number]
            changed = bytearray(program.data)
            for place, offset, new in damage:
                at = program.places[place % len(program.places)] + offset
                changed[at : at + len(new)] = new
            path.write_bytes(changed[: len(changed) * cut // 1000])
            resolve(path, program.functions)

    isolated(child)


def resolve(path: Path, functions: list[int]) -> None:
    symbols = Symbols(NOW)
    wanted = [Place((str(path), b""), address) for address in functions]
    symbols.resolve(wanted)
    assert set(symbols.functions) == set(wanted)
    for function in symbols.functions.values():
        assert function.name
        assert 0 <= function.line < 1 << 32


def test_undamaged_programs(programs: list[Program], tmp_path: Path) -> None:
    for program in programs:
        (tmp_path / "good").write_bytes(program.data)
        symbols = Symbols(NOW)
        symbols.resolve(Place((str(tmp_path / "good"), b""), address) for address in program.functions)
        assert sum(function.line > 0 for function in symbols.functions.values()) > 2
