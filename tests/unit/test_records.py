# SPDX-License-Identifier: BSD-3-Clause
"""records.py says the same as csrc/core/format.h."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from support.build.c_layout import layout, run_c, values
from support.tools import ROOT
from vtrace.io.local import records as r

HEADER = "core/format.h"
TEXT = (ROOT / "csrc" / HEADER).read_text()


@pytest.mark.parametrize(
    ("struct", "dtype"),
    [
        ("vt_file", r.FILE),
        ("vt_chunk", r.CHUNK),
        ("vt_block", r.BLOCK),
        ("vt_columns", r.COLUMNS),
        ("vt_clock_pair", r.CLOCK_PAIR),
    ],
)
def test_structures(tmp_path: Path, struct: str, dtype: np.dtype[np.void]) -> None:
    found = layout(tmp_path, HEADER, struct, list(dtype.names or ()))
    assert found.pop("") == (0, dtype.itemsize)
    assert dtype.fields is not None
    assert found == {name: (field[1], field[0].itemsize) for name, field in dtype.fields.items()}
    body = re.search(rf"struct {struct} \{{(.*?)\n\}};", TEXT, re.DOTALL)
    assert body is not None
    declared = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    names = [n.split("[")[0].split()[-1] for line in declared.split(";") for n in line.split(",") if n.strip()]
    assert names == list(dtype.names or ())


def test_constants(tmp_path: Path) -> None:
    names = re.findall(r"^#define VT_(\w+) +\(?(?:0x|\d|VT_CLASS)", TEXT, re.MULTILINE)
    renamed = {"CHUNK_SIZE", "FILE_HEAD", "CLASS_ALL", "NO_RANK", "OPEN_ADDRESS", "CLASS_NEW_CODE", "ID_MAX"}
    assert renamed <= set(names), "the search for constants finds too little"
    found = values(tmp_path, HEADER, [f"VT_{name}" for name in names])
    assert found == {f"VT_{name}": getattr(r, name) for name in names}
    strings = dict(re.findall(r'^#define VT_(\w+) "(.*?)"', TEXT, re.MULTILINE))
    assert {k: v.encode().decode("unicode_escape").encode() for k, v in strings.items()} == {
        "FILE_MAGIC": r.FILE_MAGIC,
        "BLOCK_MAGIC": r.BLOCK_MAGIC,
    }


def test_kinds() -> None:
    listed = re.findall(r"^    X\((\w+), (\d+), (\d+), (\w+)\)", TEXT, re.MULTILINE)
    assert len(listed) > 20
    classes = {name: getattr(r, f"CLASS_{name}") for _, _, _, name in listed}
    assert {n: (int(k), int(w), classes[c]) for n, k, w, c in listed} == r.KINDS


def test_enumerations(tmp_path: Path) -> None:
    twins = {
        "VT_D_": r.DEFINITIONS,
        "VT_COMM_": r.COMM_KINDS,
        "VT_IO_": r.IO_PARADIGMS,
        "VT_MARKER_": r.MARKERS,
        "VT_LOST_": {name: number for number, name in r.LOST_REASONS.items()},
        "VT_CLOCK_": {"TSC": r.CLOCK_TSC, "CNTVCT": r.CLOCK_CNTVCT, "NANOSECONDS": r.CLOCK_NANOSECONDS},
        "VT_CHUNK_": {"FREE": r.CHUNK_FREE, "FILLING": r.CHUNK_FILLING, "FULL": r.CHUNK_FULL},
        "VT_": {
            "EVENTS": r.EVENTS, "DEFINITIONS": r.DEFINITION_DATA, "BUFFER": r.BUFFER, "RAW": r.CODEC_RAW,
            "ZSTD": r.CODEC_ZSTD, "ZSTD_COLUMNS": r.CODEC_ZSTD_COLUMNS, "VARINT": r.CODEC_VARINT,
        },
    }  # fmt: skip
    expected = {prefix + name: number for prefix, names in twins.items() for name, number in names.items()}
    assert values(tmp_path, HEADER, list(expected)) == expected
    code = re.sub(r"/\*.*?\*/", "", TEXT, flags=re.DOTALL)
    enumerators = re.findall(r"\b(VT_\w+) = \d+", code)
    assert set(enumerators) == set(expected), "an enumerator has no twin"


def test_checksum(tmp_path: Path) -> None:
    data = bytes(range(1, 24))
    statements = ["static unsigned char d[] = {" + ",".join(map(str, data)) + "};"]
    cases = [(seed, n) for seed in (0, 0x123456789ABCDEF) for n in (0, 1, 7, 8, 9, 16, 23)]
    statements += [f'printf("%llu\\n", (unsigned long long)vt_checksum({seed}u, d, {n}));' for seed, n in cases]
    lines = run_c(tmp_path, HEADER, "", *statements)
    assert [int(line) for line in lines] == [r.checksum(seed, data[:n]) for seed, n in cases]


def test_what_packs_kind_words_and_id(tmp_path: Path) -> None:
    (line,) = run_c(tmp_path, HEADER, "", 'printf("%u\\n", VT_WHAT(VT_K_ISEND, 3, 77));')
    assert r.what("ISEND", 77) == int(line)
