# SPDX-License-Identifier: BSD-3-Clause
"""Samples in the kernel of vtunify: their places between events, their calling contexts, and the union of contexts."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.readers.archive import read
from support.synthetic_runs import local_files as lf
from support.synthetic_runs.transcoding import definitions, maps, stream_of
from vtrace.errors import FormatError
from vtrace.io.archive.definitions import UNDEFINED, Contexts, InterruptGenerator
from vtrace.io.archive.writer import Archive
from vtrace.io.local import records as r
from vtrace.io.local.kernel import ContextTree, Kernel, SampledStream
from vtrace.io.local.maps import SampleMaps
from vtrace.unify.merge.context_tree import merge_trees

PLAIN, STARTS, HIDDEN = 0, 1, 2
STEPS = {0x10: [3], 0x20: [4, 5], 0x30: [6], 0x40: [7], 0x50: [8]}
"""Frame to regions: 0x20 has a function inlined into it."""
KINDS = {0x30: STARTS, 0x40: HIDDEN}
CALL = 1
"""Local id of a region in which no code of the program runs; its shim has the frame 0x50."""


def sample_maps(**changes: Any) -> SampleMaps:
    frames = sorted(STEPS)
    firsts = np.cumsum([0, *(len(STEPS[frame]) for frame in frames)])
    values: dict[str, Any] = {
        "frames": np.array(frames, np.uint64), "frame_first": firsts.astype(np.uint32),
        "frame_kinds": np.array([KINDS.get(frame, PLAIN) for frame in frames], np.uint8),
        "frame_names": np.array([int(frame == 0x50) for frame in frames], np.uint32),
        "frame_steps": np.array([step for frame in frames for step in STEPS[frame]], np.uint32),
        "region_names": np.array([0, 1], np.uint32), "weights": np.array([5, 9], np.uint64),
        "generators": np.array([0, 1], np.uint32), **changes,
    }  # fmt: skip
    return SampleMaps(**values)


def samples(*stacks: tuple[int, int, tuple[int, ...]]) -> lf.Chunk:
    """A chunk with a sample for each (ticks, weight, frames), innermost first, sharing nothing."""
    made = lf.Chunk(0, 0, content=r.SAMPLES)
    for ticks, weight, frames in stacks:
        for word in (ticks, weight, len(frames), *frames):
            made.word(word)
        made.records += 1
    return made


def archived(path: Path, events: lf.Chunk, recorded: lf.Chunk) -> list[str]:
    """The events of an archive as texts: time, E, L or S with its weight, and the regions of its context."""
    kernel = Kernel()
    file = lf.write_events(path / "e", [events, recorded])
    stream, others = stream_of(file), stream_of(file, r.SAMPLES)
    tree = kernel.contexts(stream, maps(), SampledStream(others, sample_maps()))
    known = Contexts(tree.steps[1:], np.full(len(tree.steps) - 1, UNDEFINED), tree.parents[1:] - np.uint32(1))
    numbers = np.arange(len(tree.steps), dtype=np.uint32) - np.uint32(1)
    archive = Archive(path / "t.trace")
    with archive.event_writer(0) as writer:
        kernel.transcode(writer, stream, maps(), SampledStream(others, sample_maps(contexts=numbers)))
    made = definitions()
    made.contexts = known
    made.generators = [InterruptGenerator("CPU time", ns) for ns in (5, 9)]
    archive.finish(made)
    paths: list[str] = []
    for step, parent in zip(tree.steps.tolist(), tree.parents.tolist(), strict=True):
        paths.append(f"{paths[parent]}/{step}" if paths else "")
    found = []
    for event in read(path / "t.trace").events:
        kind, attrs = event.kind.removeprefix("CallingContext"), event.attrs
        weight = (5, 9)[attrs["interrupt_generator"]] if kind == "Sample" else ""
        found.append(f"{event.time}{kind[0]}{weight}{paths[attrs['calling_context'] + 1]}")
    return found


def test_places_and_paths(tmp_path: Path) -> None:
    """Samples are between the events by time, also before the first and after the last one. Frames of vtrace and of
    the program's start are left out; a sample in a call ends with the call, at the frame of the shim."""
    events = lf.Chunk(0, 0, 1000).enter(0x1, 10).record("ENTER", 10, CALL).record("LEAVE", 10, CALL).leave(0x1, 10)
    recorded = samples(
        (1005, 5, (0x10, 0x30)), (1015, 9, (0x20, 0x10, 0x30)), (1025, 5, (0x20, 0x50, 0x10, 0x30)),
        (1026, 5, (0x20, 0x40, 0x10)), (1035, 5, (0x40, 0x10)), (1050, 9, (0x30,)),
    )  # fmt: skip
    assert archived(tmp_path, events, recorded) == [
        "5S5/3", "10E/1", "15S9/3/4/5", "20E/1/1", "25S5/3/1", "26S5/3/1", "30L/1/1", "35S5/3", "40L/1", "50S9/6",
    ]  # fmt: skip


def test_only_samples(tmp_path: Path) -> None:
    kernel = Kernel()
    others = stream_of(lf.write_events(tmp_path / "e", [samples((1001, 5, (0x10,)), (1002, 5, (0x20,)))]), r.SAMPLES)
    found = kernel.samples(others)
    assert (found.samples, found.frames.tolist(), found.weights.tolist()) == (2, [0x10, 0x20], [5])
    assert (found.first_ticks, found.last_ticks) == (1001, 1002)
    tree = kernel.contexts(None, maps(), SampledStream(others, sample_maps()))
    assert (tree.parents.tolist(), tree.steps.tolist()) == ([0, 0, 0, 2], [0, 3, 4, 5])


VALUES = r.SAMPLE_VALUES << 32
GROUP = r.what("METRIC_GROUP", 3), *range(7)


def test_values_of_counters_are_no_sample(tmp_path: Path) -> None:
    made = samples((1001, 5, (0x10,)))
    for word in (1002, 0, VALUES | 16, *GROUP, *GROUP, 1002, 9, 1 << 16):
        made.word(word)
    made.records += 1
    found = Kernel().samples(stream_of(lf.write_events(tmp_path / "e", [made]), r.SAMPLES))
    assert (found.samples, found.frames.tolist(), found.weights.tolist()) == (2, [0x10], [5, 9])


@pytest.mark.parametrize(
    "words",
    [
        (1, 5), (1, 5, 0), (1, 5, 2, 0x10), (1, 5, 2 << 16 | 1, 0x10), (1 << 63, 5, 1, 0x10),
        (1, 0, VALUES), (1, 0, VALUES | 7, *GROUP), (1, 0, VALUES | 16, *GROUP), (1, 0, VALUES | 8, *range(8)),
        (1 << 63, 0, VALUES | 8, *GROUP),
    ],
)  # fmt: skip
def test_damage(tmp_path: Path, words: tuple[int, ...]) -> None:
    made = samples((1001, 5, (0x10,)))
    for word in words:
        made.word(word)
    made.records += 1
    stream = stream_of(lf.write_events(tmp_path / "e", [made]), r.SAMPLES)
    with pytest.raises(FormatError, match="e: a damaged sample in the block at byte 2048"):
        Kernel().samples(stream)
    damaged = SampledStream(stream, sample_maps())
    with pytest.raises(FormatError, match="e: a damaged sample in the block at byte 2048"):
        Kernel().contexts(None, maps(), damaged)


def paths(tree: ContextTree) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for step, parent in zip(tree.steps.tolist(), tree.parents.tolist(), strict=True):
        found.append((*found[parent], step) if found else ())
    return found


def test_union_of_trees() -> None:
    """The union has each path once, in an order that does not depend on the order of the trees."""
    random = np.random.default_rng(5)
    trees = []
    for size in (1, 40, 300, 2):
        parents = [0, *(int(random.integers(0, n)) for n in range(1, size))]
        trees.append(ContextTree(np.array(parents, np.uint32), random.integers(0, 4, size).astype(np.uint32)))
    union, numbers = merge_trees(trees)
    known = paths(union)
    assert len(set(known)) == len(known)
    assert set(known) == {path for tree in trees for path in paths(tree)}
    for tree, mine in zip(trees, numbers, strict=True):
        assert [known[number] for number in mine] == paths(tree)
    for one, other in product(range(4), repeat=2):
        pair = merge_trees([merge_trees([trees[one], trees[other]])[0], *trees[::-1]])[0]
        assert np.array_equal(pair.parents, union.parents)
        assert np.array_equal(pair.steps, union.steps)
