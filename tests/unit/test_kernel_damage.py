# SPDX-License-Identifier: BSD-3-Clause
"""A damaged block gives an error with path and position, never a crash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.synthetic_runs import local_files as lf
from support.synthetic_runs.transcoding import MPI, chunk, maps, stream_of
from vtrace.errors import FormatError, VtraceError
from vtrace.io.archive.writer import Archive
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel


def word(value: int) -> lf.Chunk:
    return chunk().enter(1).word(value)


GOOD = chunk().enter(1).leave(1)
FRAME = lf.encode(bytes(GOOD.data), r.CODEC_ZSTD_COLUMNS)
OTHERS = lf.encode(bytes(GOOD.data), r.CODEC_VARINT)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (lf.block(GOOD, checksum=1), "wrong checksum"),
        (lf.block(GOOD)[:-1] + b"\x55", "wrong checksum"),
        (lf.block(GOOD, stored=FRAME[:-3]), "does not unpack to 16 bytes"),
        (lf.block(GOOD, stored=b""), "does not unpack to 16 bytes"),
        (lf.block(GOOD, stored=b"\0" * 40), "does not unpack to 16 bytes"),
        (lf.block(GOOD, raw_bytes=24), "does not unpack to 24 bytes"),
        (lf.block(GOOD, r.CODEC_RAW, raw_bytes=8), "does not unpack to 8 bytes"),
        (lf.block(GOOD, r.CODEC_VARINT, stored=OTHERS[:-1]), "does not unpack"),
        (lf.block(GOOD, r.CODEC_VARINT, stored=OTHERS + b"\0"), "does not unpack"),
        (lf.block(GOOD, r.CODEC_VARINT, stored=b"\xff" * 40), "does not unpack"),
        (lf.block(word(0)), "unknown kind of record 0 in the block at byte 2048, byte 8 of its records"),
        (lf.block(word(127 << 24)), "unknown kind of record 127"),
        (lf.block(word(r.what("ENTER", 1) | 1 << 21)), "record of a wrong size"),
        (lf.block(word(r.what("SEND", 1)).word(0)), "cut record"),
        (lf.block(word(r.what("METRIC", 1))), "cut record"),
        (lf.block(GOOD, ticks=1 << 63), "impossible time"),
        (lf.block(chunk().record("TIME", 0, 0, 1 << 63)), "impossible time"),
    ],
)
def test_damaged_blocks(tmp_path: Path, kernel: Kernel, data: bytes, text: str) -> None:
    path = tmp_path / "e.1.events.z"
    path.write_bytes(lf.write_head(r.EVENTS) + data)
    stream = stream_of(path)
    assert stream.problems == []
    archive = Archive(tmp_path / "t.trace")
    with pytest.raises(FormatError) as scanning:
        kernel.scan(stream)
    with pytest.raises(FormatError) as writing, archive.event_writer(0) as writer:
        kernel.transcode(writer, stream, maps())
    archive.abort()
    for caught in (scanning, writing):
        assert text in str(caught.value)
        assert str(caught.value).startswith(f"{path}: ")
        assert "block at byte 2048" in str(caught.value)


def test_an_unknown_collective_is_damage(tmp_path: Path, kernel: Kernel) -> None:
    stream = stream_of(lf.write_events(tmp_path / "e", [chunk().record("COLL_END", 0, 1, 23, 0, 0)]))
    archive = Archive(tmp_path / "t.trace")
    with pytest.raises(FormatError, match="unknown collective operation 23"), archive.event_writer(0) as writer:
        kernel.transcode(writer, stream, maps())
    archive.abort()


def test_damage_in_a_chunk_names_the_buffer(tmp_path: Path, kernel: Kernel) -> None:
    path = lf.write_buffer(tmp_path / "b", [chunk().enter(1), chunk(1).enter(1).word(0)])
    with pytest.raises(FormatError, match=f"{path}: unknown kind of record 0 in the chunk at byte 131072"):
        kernel.scan(stream_of(path))


def test_random_damage_is_never_fatal(tmp_path: Path, kernel: Kernel) -> None:
    """Random bytes in records or block heads, with a correct checksum, give an error or events, never a crash."""
    numbers = random.Random(1)
    archive = Archive(tmp_path / "t.trace")
    failed = 0
    for round in range(400):
        codec = numbers.choice([r.CODEC_RAW, r.CODEC_ZSTD_COLUMNS, r.CODEC_VARINT])
        c = chunk(numbers.choice([0, 3]), 1000, [numbers.getrandbits(64) for _ in range(5)])
        for kind, identifier, payload, _, _ in numbers.choices(MPI, k=20):
            c.record(kind, 1, identifier, *payload).enter(numbers.randrange(9)).leave(numbers.randrange(9))
        for _ in range(numbers.randrange(3)):
            c.data[numbers.randrange(len(c.data))] = numbers.getrandbits(8)
        stored = bytearray(lf.encode(bytes(c.data), codec))
        for _ in range(numbers.randrange(2)):
            stored[numbers.randrange(len(stored))] = numbers.getrandbits(8)
        fields = {numbers.choice(["raw_bytes", "nopen", "depth", "ticks", "classes"]): numbers.getrandbits(16)}
        path = tmp_path / "e"
        path.write_bytes(lf.write_head(r.EVENTS) + lf.block(c, codec, stored=bytes(stored), **fields))
        stream = stream_of(path)
        try:
            kernel.scan(stream)
            with archive.event_writer(round) as writer:
                result = kernel.transcode(writer, stream, maps())
                assert result.events == sum(result.counts.values())
        except FormatError as error:
            failed += str(error).startswith(f"{path}: ")
    archive.abort()
    assert 20 < failed < 380, "nearly all or nearly no damaged blocks fail: the test checks too little"


def test_a_writer_that_does_not_exist_is_an_error_of_otf2(tmp_path: Path, kernel: Kernel) -> None:
    stream = stream_of(lf.write_events(tmp_path / "e", [chunk().enter(1)]))
    with pytest.raises(
        VtraceError, match=f"{tmp_path}/e: OTF2 could not write its events: Parameter value out of range"
    ):
        kernel.transcode(0, stream, maps())
