# SPDX-License-Identifier: BSD-3-Clause
"""Samples in synthetic local files: blocks between those of events, chunks of a buffer, damage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.synthetic_runs import local_files as lf
from vtrace.errors import FormatError
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel
from vtrace.io.local.local_files import open_local, streams
from vtrace.io.local.samples import Sample, read_samples

COMPLETE, NO_RULE = 0, 2
STACKS = [(0x10, 0x200, 0x3000), (0x11, 0x200, 0x3000), (0x3000,), (0x40, 1 << 63 | 0x7FFF_0000_1234, 0x3000)]
"""Innermost first."""


def chunk(stacks: Sequence[tuple[int, ...]] = STACKS, sequence: int = 0, location: int = 0) -> lf.Chunk:
    """A chunk with a sample for each stack, 100 ticks apart, with weights and overruns by their number."""
    made = lf.Chunk(location, sequence, content=r.SAMPLES)
    before: tuple[int, ...] = ()
    for number, stack in enumerate(stacks):
        shared = 0
        while shared < min(len(stack), len(before)) and stack[-1 - shared] == before[-1 - shared]:
            shared += 1
        new = len(stack) - shared
        for word in (1000 + 100 * number, 7 * number, new | shared << 16 | NO_RULE << 32 | number << 40, *stack[:new]):
            made.word(word)
        made.records += 1
        before = stack
    return made


def expected(stacks: Sequence[tuple[int, ...]] = STACKS) -> list[Sample]:
    return [Sample(1000 + 100 * n, 7 * n, overruns=n, end=NO_RULE, frames=stack) for n, stack in enumerate(stacks)]


@pytest.mark.parametrize("codec", [r.CODEC_RAW, r.CODEC_ZSTD, r.CODEC_VARINT])
def test_blocks_between_events(tmp_path: Path, codec: int) -> None:
    """Events and samples are streams with sequences of their own."""
    events = [lf.Chunk(0, n).enter(0x10, 5).leave(0x10, 5) for n in range(2)]
    path = lf.write_events(tmp_path / "e", [chunk(), events[0], chunk(sequence=1), events[1]], codec=codec)
    with open_local(path) as file:
        found = streams([file])
        assert sorted(found) == [(r.EVENTS, 0), (r.SAMPLES, 0)]
        assert not any(stream.problems for stream in found.values())
        stream = found[r.SAMPLES, 0]
        assert [list(read_samples(Kernel(), stream, n)) for n in range(2)] == [expected(), expected()]
        assert found[r.EVENTS, 0].index["sequence"].tolist() == [0, 1]


def test_values_of_counters(tmp_path: Path) -> None:
    """Values of counters belong to the sample after them, and leave the frames that it shares unchanged."""
    made = chunk(STACKS[:1])
    group = r.what("METRIC_GROUP", 3), *range(10, 17)
    for word in (2000, 0, 8 | r.SAMPLE_VALUES << 32, *group, 2000, 9, 3 << 16, 3000, 9, 3 << 16):
        made.word(word)
    with open_local(lf.write_events(tmp_path / "e", [made])) as file:
        first, second, third = read_samples(Kernel(), streams([file])[r.SAMPLES, 0], 0)
    assert (first, third) == (expected()[0], Sample(3000, 9, overruns=0, end=COMPLETE, frames=STACKS[0]))
    assert second == Sample(2000, 9, overruns=0, end=COMPLETE, frames=STACKS[0], counters=((3, tuple(range(10, 17))),))


def test_chunks_of_a_buffer_follow_the_blocks(tmp_path: Path) -> None:
    """A chunk that is a block, too, counts once; one that was being filled counts its samples."""
    blocks = lf.write_events(tmp_path / "e", [chunk()])
    buffer = lf.write_buffer(tmp_path / "b", [chunk(), chunk(STACKS[:2], 1)], filling=[1])
    with open_local(blocks) as one, open_local(buffer) as other:
        stream = streams([one, other])[r.SAMPLES, 0]
        assert stream.index["sequence"].tolist() == [0, 1]
        assert [list(read_samples(Kernel(), stream, n)) for n in range(2)] == [expected(), expected(STACKS[:2])]


def test_a_missing_block_is_told(tmp_path: Path) -> None:
    path = lf.write_events(tmp_path / "e", [chunk(), lf.Chunk(0, 0).enter(1), chunk(sequence=2)])
    with open_local(path) as file:
        found = streams([file])
        assert not found[r.EVENTS, 0].problems
        (problem,) = found[r.SAMPLES, 0].problems
        assert "block 1 is missing" in problem


@pytest.mark.parametrize(
    "words",
    [
        (1000, 1, 5),  # more frames than words
        (1000, 1, 9 << 16),  # shares more frames than the stack before has
        (1000, 1, 0),  # no frame
        (1000, 1, 1 | 9 << 32, 7),  # an unknown end
        (1000, 0, r.SAMPLE_VALUES << 32),  # no values
        (1000, 0, r.SAMPLE_VALUES << 32 | 8, 1),  # more values than words
        (1000, 0, r.SAMPLE_VALUES << 32 | 7, *range(7)),  # no whole record
        (1000, 1),  # no head
        (1000,),
        (1000, 1, r.SAMPLE_FRAMES + 1, *range(1, r.SAMPLE_FRAMES + 2)),
    ],
)
def test_damage(tmp_path: Path, words: tuple[int, ...]) -> None:
    """The samples before the damage are read; the error names the file and the place."""
    made = chunk()
    for word in words:
        made.word(word)
    with open_local(lf.write_events(tmp_path / "e", [made, chunk(sequence=1)])) as file:
        stream = streams([file])[r.SAMPLES, 0]
        found: list[Sample] = []
        with pytest.raises(FormatError, match=r"/e: at byte 2048, word \d+: a damaged sample"):
            found.extend(read_samples(Kernel(), stream, 0))
        samples = read_samples(Kernel(), stream, 0)
        assert [next(samples) for _ in STACKS] == expected()
        assert list(read_samples(Kernel(), stream, 1)) == expected()
