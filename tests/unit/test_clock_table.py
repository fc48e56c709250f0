# SPDX-License-Identifier: BSD-3-Clause
"""The table of clocks: each row is one moment on all clocks of a host."""

from __future__ import annotations

from vtrace.io.local.records import CLOCK_NANOSECONDS, CLOCK_TSC
from vtrace.unify.account.clock_facts import clock_table
from vtrace.unify.clocks.clocks import Clocks
from vtrace.unify.clocks.offsets import align
from vtrace.unify.model.clock_curves import ClockSource, Pair
from vtrace.unify.model.process_definitions import ClockOffset

EPOCH = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
COLUMNS = ("clock", "ticks", "mono", "real", "time")


def rows(sources: dict[int, ClockSource], zero: int = EPOCH) -> tuple[list[tuple[int, ...]], dict[str, list[str]]]:
    """The rows of the table without the first and last one of each clock, which show the rate beyond."""
    clocks, _ = align(sources)
    table = clock_table(Clocks(zero, len(clocks), clocks))
    found = [*zip(*(table.columns[name].tolist() for name in COLUMNS), strict=True)]
    inner = [row for a, row, b in zip(found, found[1:], found[2:], strict=False) if a[0] == row[0] == b[0]]
    return inner, table.names


def test_pairs_of_one_host() -> None:
    """real may differ from mono by a step: a row has the values of its pair."""
    pairs = [Pair(1000, 7 * SECOND, EPOCH), Pair(1000 + 2 * SECOND, 8 * SECOND, EPOCH + SECOND + 5)]
    found, names = rows({3: ClockSource("a", CLOCK_TSC, nominal=0, pairs=pairs, first=1000, last=2000, pid=42)})
    assert found == [(0, *pairs[0], 0), (0, *pairs[1], SECOND)]
    assert names == {"host": ["a"], "ticks": ["rdtsc"], "pids": ["42"]}


def test_rate_beyond_the_ends() -> None:
    pairs = [Pair(10**13, 10**13, EPOCH), Pair(10**13 + 3 * SECOND, 10**13 + SECOND, EPOCH + SECOND)]
    clocks, _ = align({0: ClockSource("a", CLOCK_TSC, nominal=0, pairs=pairs, first=10**13, last=10**13)})
    columns = clock_table(Clocks(EPOCH, 1, clocks)).columns
    ticks, time, mono = (columns[name].tolist() for name in ("ticks", "time", "mono"))
    for a, b in ((0, 1), (2, 3)):
        assert ticks[b] - ticks[a] == 3 * (time[b] - time[a]) == 3 * (mono[b] - mono[a])
        assert time[b] - time[a] >= 86_400 * SECOND


def test_a_host_that_was_compared_with_the_first() -> None:
    """The second host is 500 ns behind the first in real time: its times move, its own clocks stay."""
    one = [Pair(0 + 5, 5, EPOCH), Pair(2 * SECOND, 2 * SECOND, EPOCH + 2 * SECOND - 5)]
    two = [Pair(SECOND, SECOND, EPOCH), Pair(3 * SECOND, 3 * SECOND, EPOCH + 2 * SECOND)]
    sources = {
        0: ClockSource(
            "a", CLOCK_NANOSECONDS, nominal=SECOND, pairs=one, first=5, last=2 * SECOND, world=1, rank=0, pid=1
        ),
        1: ClockSource(
            "b",
            CLOCK_NANOSECONDS,
            nominal=SECOND,
            pairs=two,
            first=SECOND,
            last=3 * SECOND,
            world=1,
            rank=1,
            pid=2,
            offsets=(ClockOffset(2 * SECOND, 0, SECOND + 505, 10),),
        ),
    }
    found, names = rows(sources)
    second = [row[1:] for row in found if row[0] == 1]
    assert (2 * SECOND, 2 * SECOND, EPOCH + SECOND, SECOND + 500) in second
    assert {ticks - mono for ticks, mono, *_ in second} == {0}
    assert names["host"] == ["a", "b"]
    assert names["pids"] == ["1", "2"]
    assert names["ticks"] == ["CLOCK_MONOTONIC_RAW"] * 2


def test_bound_beyond_the_measurements() -> None:
    """One measurement does not give the drift: 200 ppm for each ns until the end. Several ones give a line."""

    def bound(*measured: tuple[int, int]) -> int | None:
        ends = [Pair(0, 0, EPOCH), Pair(10 * SECOND, 10 * SECOND, EPOCH + 10 * SECOND)]
        offsets = [ClockOffset(at, 0, at, error) for at, error in measured]
        first = ClockSource(
            "a", CLOCK_NANOSECONDS, nominal=SECOND, pairs=ends, first=0, last=10 * SECOND, clock="a", world=7, rank=0
        )
        second = first._replace(host="b", clock="b", rank=1, offsets=offsets)
        return align({0: first, 1: second})[0][1].error

    assert bound((0, 500), (10 * SECOND, 400)) == 501
    assert bound((SECOND, 500)) == 501 + 9 * SECOND * 200 // 10**6
    assert bound((0, 499), (2 * SECOND, 399)) == 400 + 8 * 900 // 2
