# SPDX-License-Identifier: BSD-3-Clause
"""The samples of local files: chunks and blocks with the content SAMPLES (docs/file-format.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vtrace.errors import FormatError
from vtrace.io.local import records as r
from vtrace.io.local.kernel import Kernel
from vtrace.io.local.local_files import Stream

ENDS = {number: name for name, number in r.SCHEMA.enumerations["vt_sample_end"].items()}
"""The reasons why a stack ends."""
_GROUP = 1 + r.KINDS["METRIC_GROUP"][1]
"""Words of a record with values of counters."""
CLOCKS = {number: name for name, number in r.SCHEMA.enumerations["vt_sample_clock"].items()}


class Sample(NamedTuple):
    """One sample of a thread."""

    ticks: int
    weight: int
    """The ns that the sample stands for, on the clock of the definition SAMPLING."""
    overruns: int
    """Expirations of the timer since the last sample, without this one; the weight includes them."""
    end: int
    """One of ENDS."""
    frames: tuple[int, ...]
    """The stack, innermost first: offsets in the code space, or OPEN_ADDRESS and an address; and FRAME_OWN for frames
    in libraries of vtrace. A caller's frame is the last byte of its call."""
    counters: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """The values of counters at the sample: id of METRIC_GROUP, and seven values of which the group has some."""


def read_samples(kernel: Kernel, stream: Stream, number: int) -> Iterator[Sample]:
    """The samples of one block or chunk. Raises FormatError (path, offset) for damage, after those before it."""
    words = kernel.words(stream, number).tolist()
    frames: tuple[int, ...] = ()
    counters: tuple[tuple[int, tuple[int, ...]], ...] = ()
    at = 0
    while at < len(words):
        ticks, weight, head = (*words[at : at + r.SAMPLE_WORDS], 0, 0)[:3]
        new, shared, end = head & 0xFFFF, head >> 16 & 0xFFFF, head >> 32 & 0xFF
        begin = at + r.SAMPLE_WORDS
        at = begin + new
        if end == r.SAMPLE_VALUES and begin < at <= len(words) and new % _GROUP == 0:
            counters = tuple(_group(words[first : first + _GROUP]) for first in range(begin, at, _GROUP))
            continue
        if at > len(words) or shared > len(frames) or not 0 < new + shared <= r.SAMPLE_FRAMES or end not in ENDS:
            path, offset = stream.where(number)
            raise FormatError(f"{path}: at byte {offset}, word {begin - r.SAMPLE_WORDS}: a damaged sample")
        frames = (*words[begin:at], *frames[len(frames) - shared :])
        yield Sample(ticks, weight, overruns=head >> 40, end=end, frames=frames, counters=counters)
        counters = ()


def _group(words: list[int]) -> tuple[int, tuple[int, ...]]:
    return words[0] & r.ID_MAX, tuple(words[1:])
