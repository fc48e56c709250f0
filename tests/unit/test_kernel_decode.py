# SPDX-License-Identifier: BSD-3-Clause
"""The kernel unpacks blocks, scans records and reads definitions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support.synthetic_runs import local_files as lf
from support.synthetic_runs.transcoding import chunk, stream_of
from vtrace.errors import FormatError
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel, _library, _zstandard


@pytest.fixture(params=["libzstd", "zstandard"])
def either_zstd(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs the test with libzstd.so.1, and again with the Python package zstandard as if libzstd were missing."""
    if request.param == "zstandard":
        _library().vt_kernel_zstd(_zstandard)
    yield
    _library().vt_kernel_zstd(None)


@pytest.mark.usefixtures("either_zstd")
@pytest.mark.parametrize("codec", [r.CODEC_RAW, r.CODEC_ZSTD, r.CODEC_ZSTD_COLUMNS, r.CODEC_VARINT])
def test_codecs(tmp_path: Path, kernel: Kernel, codec: int) -> None:
    """Blocks of lengths around eight words, which the kernel transposes at once, and the longest block."""
    numbers = random.Random(codec)
    chunks = []
    for sequence, count in enumerate([0, 1, 7, 8, 9, 15, 16, 17, 100, r.RAW_MAX // 8]):
        c = chunk(sequence, sequence << 50)
        for _ in range(count):
            c.leave(numbers.getrandbits(30), numbers.getrandbits(32 if count < 100 else 4))
        chunks.append(c)
    path = lf.write_events(tmp_path / "e", chunks, codec=codec)
    scan = kernel.scan(stream_of(path))
    used = {w & r.CODE_MASK for c in chunks for w in np.frombuffer(bytes(c.data), "<u8").tolist()}
    assert scan.functions.tolist() == sorted(used)
    assert (scan.first_ticks, scan.last_ticks) == (0, chunks[-1].end_ticks)


def test_without_zstd_libraries_agree(tmp_path: Path, kernel: Kernel) -> None:
    """Both libraries refuse a frame that is longer than its head says."""
    c = chunk().enter(1).leave(1)
    path = tmp_path / "e"
    path.write_bytes(lf.write_head(r.EVENTS) + lf.block(c, raw_bytes=8))
    for instead in (None, _zstandard):
        _library().vt_kernel_zstd(instead)
        try:
            with pytest.raises(FormatError, match="does not unpack to 8 bytes"):
                kernel.scan(stream_of(path))
        finally:
            _library().vt_kernel_zstd(None)


def scanned() -> list[lf.Chunk]:
    first = chunk().enter(5, 1).enter(3).record("ENTER_ADDRESS", 0, 0, 0x7002).record("ENTER", 0, 2)
    second = chunk(1, 1010).enter(8, 5)
    second.classes = r.CLASS_FUNCTION
    third = chunk(2, 1030).record("SEND", 1, 2, 1, 2).record("COMM_CREATE", 1, 7).record("TIME", 0, 0, 50)
    return [first, second, third]


def test_scan(tmp_path: Path, kernel: Kernel) -> None:
    scan = kernel.scan(stream_of(lf.write_events(tmp_path / "e", scanned())))
    assert (scan.functions.tolist(), scan.addresses.tolist()) == ([3, 5, 8], [0x7002])
    assert (scan.regions.tolist(), scan.comms.tolist()) == ([2], [2, 7])
    assert (scan.first_ticks, scan.last_ticks) == (1000, 1082)
    assert scan.functions.dtype == scan.regions.dtype == scan.comms.dtype == np.uint32
    assert scan.addresses.dtype == np.uint64


@pytest.mark.parametrize(
    ("classes", "functions", "comms"),
    [
        (r.CLASS_NEW_CODE, [3, 5], []),
        (r.CLASS_MESSAGE, [3, 5], [2, 7]),
        (r.CLASS_COLLECTIVE | r.CLASS_REGION, [3, 5], [2, 7]),
    ],
)
def test_scan_reads_only_the_first_block_and_those_of_its_classes(
    tmp_path: Path, kernel: Kernel, classes: int, functions: list[int], comms: list[int]
) -> None:
    scan = kernel.scan(stream_of(lf.write_events(tmp_path / "e", scanned())), classes)
    assert (scan.functions.tolist(), scan.comms.tolist()) == (functions, comms)
    assert (scan.event_ticks, scan.last_ticks) == (1001, 1082)


def test_scan_does_not_trust_classes_after_a_hole(tmp_path: Path, kernel: Kernel) -> None:
    chunks = [scanned()[1]]
    chunks[0].open = [r.FUNCTION | 6, r.what("ENTER", 3), r.OPEN_ADDRESS | 0x7007]
    chunks[0].sequence = 4
    later = chunk(5).enter(9)
    later.classes = r.CLASS_FUNCTION
    scan = kernel.scan(stream_of(lf.write_events(tmp_path / "e", [*chunks, later])), r.CLASS_NEW_CODE)
    assert scan.functions.tolist() == [6, 8, 9]
    assert (scan.regions.tolist(), scan.addresses.tolist()) == ([3], [0x7007])


def test_scan_of_a_chunk_that_was_being_filled(tmp_path: Path, kernel: Kernel) -> None:
    path = lf.write_buffer(tmp_path / "b", [chunk().enter(5, 1).enter(3, 10)], filling=[0])
    scan = kernel.scan(stream_of(path), r.CLASS_NEW_CODE)
    assert (scan.functions.tolist(), scan.last_ticks) == ([3, 5], 1011)


def test_scan_of_nothing(tmp_path: Path, kernel: Kernel) -> None:
    scan = kernel.scan(stream_of(lf.write_events(tmp_path / "e", [])))
    assert (scan.functions.tolist(), scan.first_ticks, scan.last_ticks) == ([], 0, 0)


def test_scan_of_many_functions(tmp_path: Path, kernel: Kernel) -> None:
    c = chunk()
    for n in range(8000):
        c.enter(n * 64)
    path = lf.write_events(tmp_path / "e", [c])
    assert kernel.scan(stream_of(path)).functions.tolist() == [n * 64 for n in range(8000)]


@pytest.mark.parametrize("codec", [r.CODEC_RAW, r.CODEC_ZSTD])
def test_definitions(tmp_path: Path, kernel: Kernel, codec: int) -> None:
    wanted = [[2, n, f"name{n}" * 10, None, -5, b"\0\xff", True, [1, [2]]] for n in range(2000)]
    path = lf.write_defs(tmp_path / "d", wanted, codec=codec)
    stream = stream_of(path, r.DEFINITION_DATA)
    assert len(stream.index) > 1
    assert kernel.definitions(stream) == wanted


def test_definitions_in_a_buffer(tmp_path: Path, kernel: Kernel) -> None:
    c = lf.Chunk(0, 0, content=r.DEFINITION_DATA).define("REGION", 1, "f").define("COMM_NAME", 2, "c")
    stream = stream_of(lf.write_buffer(tmp_path / "b", [c], filling=[0]), r.DEFINITION_DATA)
    assert kernel.definitions(stream) == [[2, 1, "f"], [7, 2, "c"]]


def test_names_that_are_no_utf8_survive(tmp_path: Path, kernel: Kernel) -> None:
    c = lf.Chunk(content=r.DEFINITION_DATA)
    c.data += b"\x92\x01\xa2\xffx"
    path = tmp_path / "d"
    path.write_bytes(lf.write_head(r.DEFINITION_DATA) + lf.block(c))
    assert kernel.definitions(stream_of(path, r.DEFINITION_DATA)) == [[1, "\udcffx"]]


@pytest.mark.parametrize(
    "data",
    [b"\x92\x01", b"\x01", b"\x90", b"\x91\xa1x", b"\xdd\xff\xff\xff\xff", b"\x92\x01\xc1", b"\x81\x01\x02",
     b"\xc6\xff\xff\xff\xff", b"\x92\x01\xd4\x01\x00", b"\x91" * 5000],
)  # fmt: skip
def test_damaged_definitions(tmp_path: Path, kernel: Kernel, data: bytes) -> None:
    c = lf.Chunk(content=r.DEFINITION_DATA)
    c.data += b"\x91\x01" + data
    path = tmp_path / "d"
    path.write_bytes(lf.write_head(r.DEFINITION_DATA) + lf.block(c))
    with pytest.raises(FormatError, match=f"{path}: damaged definitions in the block at byte 2048"):
        kernel.definitions(stream_of(path, r.DEFINITION_DATA))
