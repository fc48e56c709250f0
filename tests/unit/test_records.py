# SPDX-License-Identifier: BSD-3-Clause
"""The schema of the local files: its parts are consistent, and docs/file-format.md shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build.c_layout import run_c
from support.tools import ROOT
from vtrace.io.local import records as r

PAGE = (ROOT / "docs" / "file-format.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The rows of the page's table with this heading of the first column."""
    lines = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_has_all_kinds() -> None:
    bits = {number: name.lower() for name, number in r.SCHEMA.enumerations["vt_class"].items()}
    expected = [
        [
            f"`{name}`", str(kind.number), kind.refers_to or "",
            ", ".join("/".join(value.name for value in word) for word in kind.payload),
            ", ".join(text for bit, text in bits.items() if kind.classes & bit),
        ]
        for name, kind in r.SCHEMA.kinds.items()
    ]  # fmt: skip
    assert table("kind") == expected, "\n".join(f"| {' | '.join(row)} |" for row in expected)


def test_the_page_has_all_definitions() -> None:
    expected = [
        [f"`{name}`", str(r.DEFINITIONS[name]), ", ".join(value.name for value in values)]
        for name, values in r.DEFINITION_VALUES.items()
    ]
    assert table("definition") == expected, "\n".join(f"| {' | '.join(row)} |" for row in expected)


DRAWN = {"vt_file": "## Head of a file", "vt_chunk": "## Chunks", "vt_block": "## Blocks", "vt_columns": "### Columns"}


@pytest.mark.parametrize("structure", DRAWN)
def test_the_page_draws_the_structures(structure: str) -> None:
    """The numbers above a drawing are offsets of fields, from the first field on."""
    section = re.split(r"\n##+ ", PAGE[PAGE.index(DRAWN[structure]) + 3 :])[0]
    drawn = [int(n) for line in section.splitlines() if re.fullmatch(r"    [\d ]+", line) for n in line.split()]
    assert len(drawn) >= 7
    dtype = r.SCHEMA.dtype(structure)
    assert dtype.fields is not None
    offsets = {offset for _, offset in dtype.fields.values()} | {dtype.itemsize}
    assert set(drawn) - {r.CHUNK_DATA, r.CHUNK_SIZE} <= offsets
    assert drawn[0] == 0


def test_kinds_fit_their_words() -> None:
    for name, kind in r.SCHEMA.kinds.items():
        assert len(kind.payload) == kind.words < 8, name
        assert all(len(word) in (1, 2) for word in kind.payload), name
        assert 0 < kind.number < 128
        assert kind.classes
    numbers = [kind.number for kind in r.SCHEMA.kinds.values()]
    assert len(set(numbers)) == len(numbers)


def test_numbers_of_enumerations_are_their_own() -> None:
    for name, values in r.SCHEMA.enumerations.items():
        assert len(set(values.values())) == len(values), name


def slow_checksum(seed: int, data: bytes) -> int:
    """The checksum of docs/file-format.md in Python."""
    mask, value = 0xFFFFFFFFFFFFFFFF, seed ^ 0x9E3779B97F4A7C15
    for at in range(0, len(data), 8):
        part = data[at : at + 8]
        word = int.from_bytes(part, "little") ^ (len(part) << 56 if len(part) < 8 else 0)
        value = (value ^ word) * 0xFF51AFD7ED558CCD & mask
        value ^= value >> 32
    return value


@pytest.mark.parametrize("seed", [0, 0x123456789ABCDEF])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 16, 23])
def test_checksum(seed: int, length: int) -> None:
    data = bytes(range(1, length + 1))
    assert r.checksum(seed, data) == slow_checksum(seed, data)


def test_what_packs_kind_words_and_id(tmp_path: Path) -> None:
    (line,) = run_c(tmp_path, "core/format.h", "", 'printf("%u\\n", VT_WHAT(VT_K_ISEND, 3, 77));')
    assert r.what("ISEND", 77) == int(line)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"format\.h has no constant VT_CHUNK_SIZES"):
        _ = r.CHUNK_SIZES
