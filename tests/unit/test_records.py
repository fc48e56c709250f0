# SPDX-License-Identifier: BSD-3-Clause
"""The schema of the local files: its parts are consistent, and docs/file-format.md shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build.c_layout import run_c
from support.tools import ROOT
from vtrace.io.common import schema
from vtrace.io.local import format_tables
from vtrace.io.local import records as r
from vtrace.reports.generated_tables import filled

PAGE = (ROOT / "docs" / "file-format.md").read_text()


def test_the_page_shows_the_tables_as_format_h_states_them() -> None:
    """The generated tables have each kind with the text of its payload or values, and each number of an enumeration."""
    page = filled(PAGE)
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for what, name, *words in (line.split("\t") for line in schema._served("vt_kernel_schema").splitlines()):
        if what in {"kind", "definition"}:
            values = ", ".join(f"`{value}`" for value in words[-1].replace("|", "\\|").split())
            number = words[0] if what == "kind" else r.DEFINITIONS[name]
            begin = f"| `{name}` | {number} | "
            assert [row for row in rows if row.startswith(begin) and f"| {values} |" in row], begin + values
        elif what == "enumerator" and name not in format_tables._NO_TABLE:
            number = f"{int(words[1]):#x}" if name == "vt_class" else words[1]
            (row,) = (row for row in rows if row.startswith(f"| `{name}` |"))
            assert f" {number} {words[0]}" in row
    assert "<!--" not in page


def test_the_page_has_the_classes_and_objects_of_kinds() -> None:
    page = filled(PAGE)
    assert "| `SEND` | 16 | comm | `peer:rank/tag`, `bytes:size` | MESSAGE |\n" in page
    assert "| `ENTER_ADDRESS` | 4 |  | `address` | FUNCTION, NEW_CODE |\n" in page
    assert "| `RMA_WIN` | 15 | `id:id`, `comm:id`, `count:u32` |\n" in page
    assert "| `vt_clock_kind` | 1 TSC, 2 CNTVCT, 3 NANOSECONDS |\n" in page


def test_the_page_itself_repeats_no_table() -> None:
    """format.h is the only statement of the kinds."""
    assert not [name for name in (*r.KINDS, *r.DEFINITIONS) if f"| `{name}` |" in PAGE]


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
