# SPDX-License-Identifier: BSD-3-Clause
"""A run that is replayed in parts has the waits, causes and efficiencies of the run that is replayed whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.build.parallel import in_threads
from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.synthetic_runs.random_mpi import archive, many_comms, program
from vtrace.analysis import shared_scan
from vtrace.analysis.questions import replay_parts
from vtrace.analysis.questions.mpi_replay import Replayed
from vtrace.analysis.selection import EVERYTHING
from vtrace.analysis.table import Array
from vtrace.analysis.trace import Trace
from vtrace.io.archive.reader_abi import MPI_END, PLACE, matcher
from vtrace.parallel.ranks import Ranks


def ordered(rows: Array) -> list[tuple[float, ...]]:
    """Records by their keys; sums of real numbers differ in the last digits if their order does."""
    names = sorted(rows.dtype.names or (), key=lambda name: (name in {"direct", "indirect"}, name))
    return [tuple(row[name].item() for name in names) for row in np.sort(rows, order=names)]


def same(found: Replayed, expected: Replayed) -> None:
    assert found.counts == expected.counts
    assert ordered(found.waits) == ordered(expected.waits)
    assert ordered(found.critical) == ordered(expected.critical)
    assert ordered(found.delays) == [pytest.approx(row, rel=1e-9, abs=1e-9) for row in ordered(expected.delays)]
    assert found.totals.tolist() == expected.totals.tolist()
    for name in ("ideal", "in_window"):
        assert found.places[name].tolist() == expected.places[name].tolist()


def replay(trace: Trace) -> Replayed:
    return trace._replay().of(EVERYTHING)


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs are divided into parts of a few ends; gets the number of parts of each."""
    counts: list[int] = []
    cuts = replay_parts._cuts

    def counted(*arguments: object) -> list[replay_parts._Cut]:
        found = cuts(*arguments)  # type: ignore[arg-type]
        counts.append(1 + len(found))
        return found

    monkeypatch.setattr(replay_parts, "_PART", 60)
    monkeypatch.setattr(replay_parts, "_LEAST", 8)
    monkeypatch.setattr(replay_parts, "_cuts", counted)
    return counts


@pytest.mark.parametrize("seed", range(8))
def test_parts(seed: int, divided: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends in memory and in files; no part is replayed twice."""
    path = archive(tmp_path / "one", program(seed, ranks=5, steps=400, causal=True, settled=True))
    found = replay(Trace(path))
    assert divided.pop() > 3
    monkeypatch.setattr("vtrace.analysis.questions.mpi_replay._MEMORY", 0)
    in_files = replay(Trace(path))
    monkeypatch.setattr(replay_parts, "_PARTS", 1)
    expected = replay(Trace(path))
    same(found, expected)
    same(in_files, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("causal", [True, False])
def test_parts_that_depend_on_each_other(
    seed: int, causal: bool, divided: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages and requests that are open at a collective, and wrong clocks: the run is then replayed whole."""
    path = archive(tmp_path / "one", program(seed, ranks=5, steps=400, causal=causal))
    found = replay(Trace(path))
    assert divided.pop() > 1 or not causal
    monkeypatch.setattr(replay_parts, "_PARTS", 1)
    same(found, replay(Trace(path)))


def test_meeting_before_the_part(divided: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that uses many communicators forgets the meeting at the start of the part."""
    path = archive(tmp_path / "one", many_comms(9, 100), evens=9)
    found = replay(Trace(path))
    assert divided.pop() > 3
    monkeypatch.setattr(replay_parts, "_PARTS", 1)
    same(found, replay(Trace(path)))


def test_location_without_process(divided: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay leaves out a location of a damaged archive; the others divide the run."""
    write = Foreign.define

    def define(to: Foreign, name: str, *values: Any) -> None:
        *head, last = values
        if name == "Group":
            last = [row for row in last if row != 5]
        write(to, name, *head, UNDEFINED if name == "Location" and last == 5 else last)

    monkeypatch.setattr(Foreign, "define", define)
    events = program(1, ranks=5, steps=400, causal=True, settled=True)
    path = archive(tmp_path / "one", events | {5: events[4]})
    found = replay(Trace(path))
    assert divided.pop() > 3
    monkeypatch.setattr(replay_parts, "_PARTS", 1)
    same(found, replay(Trace(path)))


def test_ranks_share_the_parts(divided: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of any number of ranks are equal to the last bit, also where a rank cannot open the files."""
    path = archive(tmp_path / "one", program(1, ranks=5, steps=400, causal=True, settled=True))
    alone = replay(Trace(path))

    def work(ranks: Ranks) -> Replayed | None:
        if not ranks.root:
            shared_scan.serve(ranks, 1, lambda: Trace(path))
            return None
        trace = Trace(path)
        trace.ranks = ranks
        try:
            return replay(trace)
        finally:
            shared_scan.dismiss(ranks)

    def check(size: int) -> None:
        found = in_threads(size, work)[0]
        assert found is not None
        for name in ("waits", "critical", "delays", "totals"):
            assert getattr(found, name).tobytes() == getattr(alone, name).tobytes()

    check(2)
    check(3)
    monkeypatch.setattr(replay_parts, "opened", lambda offer: None)
    check(2)
    assert divided == [divided[0]] * 4


def _widths(ends: Array) -> int:
    """The widths of the columns of ends, as csrc/kernels/packed.h has them; by columns of Python."""
    first = ends[np.arange(len(ends)) // 64 * 64]
    is_second = np.isin(ends["what"] & 15, (2, 5, 8))  # SENT, DONE, END
    number = np.arange(len(ends), dtype=np.uint32)
    columns = [
        ends["enter"] - first["enter"], ends["leave"] - ends["enter"], ends["useful"] - first["useful"],
        ends["call"] - first["call"], ends["node"], ends["peer"] + np.uint32(1), ends["comm"],
        np.where(is_second, number - ends["tag"], ends["tag"]), (ends["what"] & 1023) | ends["what"] >> 16 << 10,
    ]  # fmt: skip
    joined = np.array([int(np.bitwise_or.reduce(column.astype(np.uint64))) for column in columns], np.uint64)
    return int(matcher().vt_packed_widths(joined.ctypes.data, len(joined)))


def _packed(ends: Array) -> tuple[Array, int]:
    """Ends as csrc/kernels/packed.h keeps them, and the widths of their columns."""
    widths = _widths(ends)
    packed = np.empty(matcher().vt_ends_bytes(widths, len(ends)), np.uint8)
    matcher().vt_ends_pack(ends.ctypes.data, len(ends), widths, packed.ctypes.data)
    return packed, widths


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("most", [0, 1, 200, 70_000, 2**32 - 1])
def test_packed_ends_are_read_as_they_were(count: int, most: int, tmp_path: Path) -> None:
    """Of any numbers, from memory and from a file, from any end on."""
    random = np.random.default_rng(count + most)
    ends = np.zeros(count, MPI_END)
    for name in ("node", "call", "peer", "comm", "tag"):
        ends[name] = random.integers(0, most, count, np.uint32, endpoint=True)
    for name in ("enter", "leave", "useful"):
        ends[name] = np.cumsum(random.integers(-most, most, count, endpoint=True)) - (most << 24)
    kinds = random.integers(0, 1 << 10, count, np.uint32)
    ends["what"] = kinds | random.integers(0, 1 << 6, count, np.uint32) << 16
    packed, widths = _packed(ends)
    place = np.zeros(1, PLACE)
    place["count"], place["ends_widths"], place["ends"] = count, widths, packed.ctypes.data
    assert replay_parts._read(place[0], 0, count).tobytes() == ends.tobytes()
    (tmp_path / "packed").write_bytes(b"before" + packed.tobytes())
    with open(tmp_path / "packed", "rb") as file:
        place["ends"], place["offset"], place["file"] = 0, len(b"before"), file.fileno()
        for first in (0, 1, count // 2, count - 1):
            assert replay_parts._read(place[0], first, count).tobytes() == ends[first:].tobytes()
        place["offset"] += 1 << 40
        assert not len(replay_parts._read(place[0], 0, count))


def test_a_time_is_found_in_few_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nearly all ends are in a small part of the run."""
    reads, read = list[int](), replay_parts._read

    def counted(place: Array, first: int, count: int) -> Array:
        reads.append(first)
        return read(place, first, count)

    monkeypatch.setattr(replay_parts, "_read", counted)
    ends = np.zeros(1 << 16, MPI_END)
    ends["enter"] = np.arange(len(ends)) + np.exp2(np.arange(len(ends)) / 1100).astype(np.int64)
    place, packed, widths = np.zeros(1, PLACE), *_packed(ends)
    place["ends"], place["ends_widths"] = packed.ctypes.data, widths
    place["count"], place["last"] = len(ends), ends["enter"][-1]
    for row in range(500, len(ends), 1000):
        reads.clear()
        at, found = replay_parts._ends_near(place[0], int(ends["enter"][row]))
        assert row in range(at, at + len(found))
        assert len(reads) <= 2 * 10 + 2
