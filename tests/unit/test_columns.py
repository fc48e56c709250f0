# SPDX-License-Identifier: BSD-3-Clause
"""The runtime packs records into columns as format.h describes, and the kernel unpacks the same records."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard

from support.build.c_layout import layout
from support.synthetic_runs import local_files as lf
from support.synthetic_runs.operations import IO, ONE_SIDED, THREADS
from support.synthetic_runs.transcoding import MPI, chunk, stream_of
from support.tools import ROOT, call, need
from vtrace.errors import FormatError
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel

STEP = 49 << 15
"""24.5 ticks."""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes, int], bytes]:
    """vt_columns_pack of columns.c, with one packer for all calls."""
    place = tmp_path_factory.mktemp("columns")
    core = ROOT / "csrc" / "core"
    call([need("cc"), "-O2", "-shared", "-fPIC", core / "columns.c", "-o", "columns.so"], place)
    library = ctypes.CDLL(str(place / "columns.so"))
    found = layout(place, "core/columns.h", "vt_packer", ["columns"])
    at, size = found["columns"]
    packer = ctypes.create_string_buffer(at + size + 64)

    def packed(data: bytes, step: int) -> bytes:
        count = library.vt_columns_pack(packer, data, len(data) // 8, step)
        return packer.raw[at : at + count]

    return packed


def functions(numbers: random.Random, count: int, different: int) -> bytes:
    c = chunk()
    for _ in range(count):
        c.enter(numbers.randrange(different), numbers.getrandbits(numbers.randrange(33)))
    return bytes(c.data)


def everything(numbers: random.Random, repeated: int) -> bytes:
    c = chunk()
    for kind, identifier, payload, *_ in numbers.choices([*MPI, *ONE_SIDED, *IO, *THREADS], k=repeated):
        values = [numbers.choice([value, numbers.getrandbits(64)]) for value in payload]
        c.record(kind, numbers.getrandbits(20), identifier, *values).leave(numbers.randrange(9), 1000)
    return bytes(c.data)


@pytest.mark.parametrize("step", [0, STEP])
def test_pack(tmp_path: Path, kernel: Kernel, pack: Callable[[bytes, int], bytes], step: int) -> None:
    numbers = random.Random(step)
    cases = [functions(numbers, *size) for size in ((1, 1), (7, 2), (8, 3), (9, 9), (300, 256), (600, 9999))]
    cases += [functions(numbers, r.RAW_MAX // 8, different) for different in (1, 257, 1 << 30)]
    cases += [everything(numbers, repeated) for repeated in (1, 10, 1000)]
    blocks = []
    for sequence, data in enumerate(cases):
        packed = pack(data, step)
        assert packed == lf.columns(data, step)
        c = chunk(sequence)
        c.data = bytearray(data)
        blocks.append(lf.block(c, stored=zstandard.ZstdCompressor().compress(packed)))
    path = tmp_path / "e"
    path.write_bytes(lf.write_head(r.EVENTS) + b"".join(blocks))
    stream = stream_of(path)
    for number, data in enumerate(cases):
        assert kernel.words(stream, number).tobytes() == data


def test_times_of_few_steps_stay_ticks(pack: Callable[[bytes, int], bytes]) -> None:
    """Times of few steps take less room as ticks. Eight steps are 196 ticks."""
    for far, step in ((12, 0), (13, STEP)):
        c = chunk()
        for i in range(104):
            c.enter(1, 197 if i < far else 196)
        assert np.frombuffer(pack(bytes(c.data), STEP), r.COLUMNS, 1)["step"] == step


def test_cut_records_are_not_packed(pack: Callable[[bytes, int], bytes]) -> None:
    assert pack(bytes(chunk().enter(1).record("SEND", 1, 2, 3, 4).data[:-8]), 0) == b""


DAMAGE = {
    "more records than words": {"records": 9},
    "fewer records": {"records": 2},
    "more kinds of them": {"whats": 9},
    "fewer": {"whats": 1},
    "longer times": {"time_bytes": 2},
    "times of nine bytes": {"time_bytes": 9},
    "longer payload": {"payload_bytes": 8},
}


@pytest.mark.parametrize("fields", DAMAGE.values(), ids=DAMAGE)
def test_columns_that_do_not_fit(tmp_path: Path, kernel: Kernel, fields: dict[str, int]) -> None:
    c = chunk().enter(1, 5).record("SEND", 1, 2, 3, 4).leave(1, 5)
    data = lf.columns(bytes(c.data))
    head = np.frombuffer(data, r.COLUMNS, 1).copy()
    for name, value in fields.items():
        head[name] = value
    refused(tmp_path, kernel, c, head.tobytes() + data[r.COLUMNS.itemsize :])


WRONG = {
    "a count too large": (12, 2),
    "a count too small": (13, 0),
    "more payload": (7, 3 << 5),
    "a record of no kind": (18, 3),
    "payload for more": (20, 1),
}


@pytest.mark.parametrize(("at", "value"), WRONG.values(), ids=WRONG)
def test_counts_and_index_that_do_not_fit(tmp_path: Path, kernel: Kernel, at: int, value: int) -> None:
    """at: offset after the head. Six planes of three kinds of records come first, then the index."""
    c = chunk().enter(1, 5).record("SEND", 1, 2, 3, 4).leave(1, 5)
    data = bytearray(lf.columns(bytes(c.data)))
    assert data[r.COLUMNS.itemsize + 12 :][:9] == bytes([1, 1, 1, 0, 0, 0, 0, 1, 2])
    data[r.COLUMNS.itemsize + at] = value
    refused(tmp_path, kernel, c, bytes(data))


def refused(place: Path, kernel: Kernel, c: lf.Chunk, columns: bytes) -> None:
    path = place / "e"
    stored = zstandard.ZstdCompressor().compress(columns)
    path.write_bytes(lf.write_head(r.EVENTS) + lf.block(c, stored=stored))
    with pytest.raises(FormatError, match="does not unpack to 40 bytes"):
        kernel.words(stream_of(path), 0)
