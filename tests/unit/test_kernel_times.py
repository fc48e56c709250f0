# SPDX-License-Identifier: BSD-3-Clause
"""The kernel converts ticks to nanoseconds, and refuses wrong maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.readers.archive import read
from support.synthetic_runs import local_files as lf
from support.synthetic_runs.transcoding import chunk, definitions, maps, stream_of
from vtrace.io.archive.writer import Archive
from vtrace.io.local.kernel import Kernel


def exact(knots: list[tuple[int, int]], ticks: int) -> int:
    """The expected time in ns, by the kernel's formula in Python's exact integers."""
    n = max((i for i in range(len(knots) - 1) if knots[i][0] <= ticks), default=0)
    (t0, n0), (t1, n1) = knots[n], knots[n + 1]
    return n0 + (ticks - t0) * (n1 - n0) // (t1 - t0)


@st.composite
def clocks(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int]]:
    """Ascending knots with very different slopes, and ascending ticks around them."""
    size = draw(st.sampled_from([1 << 8, 1 << 32, 1 << 44, 1 << 59]))
    ticks = sorted(draw(st.sets(st.integers(0, size), min_size=2, max_size=5)))
    ns = sorted(draw(st.lists(st.integers(0, draw(st.sampled_from([0, 9, 1 << 30, 1 << 58]))), min_size=5, max_size=5)))
    near = st.one_of(
        st.integers(0, 2 * size), st.builds(lambda t, d: max(0, t + d), st.sampled_from(ticks), st.integers(-3, 3))
    )
    return list(zip(ticks, ns, strict=False)), sorted(draw(st.lists(near, min_size=1, max_size=20)))


@settings(deadline=None, max_examples=50)
@given(clocks())
@example(([(0, 1 << 62), (1 << 61, (1 << 63) - 2)], [1 << 61, (1 << 62) - 1]))
def test_times_are_exact(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[tuple[int, int]], list[int]]
) -> None:
    knots, ticks = case
    where = tmp_path_factory.mktemp("times")
    c = chunk(0, 0)
    for before, at in zip([0, *ticks], ticks, strict=False):
        c.record("TIME", 0, 0, at - before).record("OFF", 0)
    path = lf.write_events(where / "e", [c])
    archive = Archive(where / "t.trace")
    with archive.event_writer(0) as writer:
        changed = maps(
            knot_ticks=np.array([k[0] for k in knots], np.uint64), knot_ns=np.array([k[1] for k in knots], np.uint64)
        )
        result = Kernel().transcode(writer, stream_of(path), changed)
    archive.finish(definitions())
    wanted = [exact(knots, t) for t in ticks]
    with_floor = [min(max(w, 0), (1 << 63) - 1) for w in wanted]
    assert [e.time for e in read(where / "t.trace").events] == with_floor
    assert result.clamped == sum(w < 0 for w in wanted)


@pytest.mark.parametrize(
    ("ticks", "ns"),
    [([1], [1]), ([], []), ([5, 5], [1, 2]), ([5, 4], [1, 2]), ([4, 5], [2, 1]), ([0, 1 << 63], [0, 1])],
)
def test_bad_knots(tmp_path: Path, kernel: Kernel, ticks: list[int], ns: list[int]) -> None:
    stream = stream_of(lf.write_events(tmp_path / "e", [chunk().enter(1)]))
    with pytest.raises(ValueError, match="knots"):
        kernel.transcode(0, stream, maps(knot_ticks=np.array(ticks, np.uint64), knot_ns=np.array(ns, np.uint64)))


def test_maps_of_unequal_length(tmp_path: Path, kernel: Kernel) -> None:
    stream = stream_of(lf.write_events(tmp_path / "e", [chunk().enter(1)]))
    with pytest.raises(ValueError, match="function_regions has 3 entries, function_offsets 9"):
        kernel.transcode(0, stream, maps(function_regions=np.zeros(3, np.uint32)))


def test_a_time_before_zero_is_put_forward(tmp_path: Path, kernel: Kernel) -> None:
    """The repair of clocks takes a time before 0 for 0, and shifts it like all others. The kernel must do the same."""
    c = chunk(0, 500).record("OFF", 0).record("TIME", 0, 0, 600).record("ON", 0)
    path = lf.write_events(tmp_path / "e", [c])
    archive = Archive(tmp_path / "t.trace")
    changed = maps(
        knot_ticks=np.array([1000, 2000], np.uint64), knot_ns=np.array([0, 1000], np.uint64),
        shift_ns=np.array([0], np.uint64), shifts=np.array([400], np.uint64),
    )  # fmt: skip
    with archive.event_writer(0) as writer:
        result = kernel.transcode(writer, stream_of(path), changed)
    archive.finish(definitions())
    assert [e.time for e in read(tmp_path / "t.trace").events] == [400, 500]
    assert result.clamped == 1
