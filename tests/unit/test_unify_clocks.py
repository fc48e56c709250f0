# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of each process's ticks to a common time."""

from __future__ import annotations

import numpy as np
import pytest

from vtrace.io.local.records import CLOCK_NANOSECONDS, CLOCK_TSC
from vtrace.unify.model.clock_curves import ClockSource, Pair, curves

EPOCH = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def source(pairs: list[Pair], host: str = "a", kind: int = CLOCK_TSC, nominal: int = 0, clock: str = "") -> ClockSource:
    return ClockSource(
        host, kind, nominal=nominal, pairs=pairs, first=pairs[0].ticks, last=pairs[-1].ticks, clock=clock
    )


def pair(seconds: float, hertz: int = 2_000_000_000, real: int = EPOCH, noise: int = 0) -> Pair:
    ns = round(seconds * SECOND)
    return Pair(10**15 + round(seconds * hertz), 5 * SECOND + ns + noise, real + ns + noise)


def test_linear_within_and_beyond_the_pairs() -> None:
    (curve,), doubts = curves([source([pair(0), pair(1), pair(3)])])
    assert doubts == []
    for seconds in (-0.5, 0, 0.25, 1, 2.5, 3, 1000):
        assert curve.at(pair(seconds).ticks) == EPOCH + round(seconds * SECOND)


def test_pairs_close_together_do_not_bend_the_slope() -> None:
    (curve,), _ = curves([source([pair(0), pair(1e-6, noise=90), pair(2), pair(2 + 1e-6, noise=-90)])])
    assert abs(curve.at(pair(1000).ticks) - (EPOCH + 1000 * SECOND)) < 200_000


def test_short_run_takes_the_nominal_rate() -> None:
    short = [pair(0), pair(1e-4, noise=80)]
    (curve,), doubts = curves([source(short, nominal=2_000_000_000)])
    assert abs(curve.at(pair(10).ticks) - (EPOCH + 10 * SECOND)) < 1000
    assert doubts == []


def test_single_pair_without_a_rate_is_doubted() -> None:
    (curve,), doubts = curves([source([pair(0)])])
    assert curve.at(pair(0).ticks + 7) == EPOCH + 7
    assert "clock rate" in doubts[0]
    (curve,), doubts = curves([source([Pair(5, 5, EPOCH)], kind=CLOCK_NANOSECONDS)])
    assert (curve.at(12), doubts) == (EPOCH + 7, [])


def test_pairs_that_do_not_rise_are_left_out() -> None:
    stuck = Pair(pair(1.5).ticks, pair(0.5).mono, EPOCH)
    (curve,), _ = curves([source([pair(0), stuck, pair(2)])])
    assert curve.at(pair(1).ticks) == EPOCH + SECOND


def test_processes_of_a_host_share_one_curve() -> None:
    one, two = source([pair(0), pair(4)]), source([pair(1, noise=50), pair(5)])
    (a, b), doubts = curves([one, two])
    assert a is b
    assert doubts == []


def test_processes_that_do_not_share_a_counter_are_reported() -> None:
    other = [Pair(p.ticks - 10**14, p.mono, p.real) for p in (pair(1), pair(5))]
    (a, b), doubts = curves([source([pair(0), pair(4)]), source(other)])
    assert a.at(pair(2).ticks) == b.at(pair(2).ticks - 10**14) == EPOCH + 2 * SECOND
    assert "do not share a clock" in doubts[0]


def test_hosts_are_aligned_by_real_time() -> None:
    far = [Pair(p.ticks * 3, p.mono + 77 * SECOND, p.real) for p in (pair(1), pair(5))]
    (a, b), _ = curves([source([pair(0), pair(4)]), source(far, host="b")])
    assert a.at(pair(2).ticks) == b.at(pair(2).ticks * 3) == EPOCH + 2 * SECOND


def test_knots_cover_all_events_and_never_fall() -> None:
    (curve,), _ = curves([source([pair(s, noise=s % 3 * 40) for s in range(10)])])
    first, last = pair(-0.1).ticks, pair(12).ticks
    ticks, ns = curve.knots(curve.at(first), first, last)
    assert (ticks[0], ns[0]) == (first, 0)
    assert ticks[-1] >= last
    assert len(ticks) >= 8
    assert (ticks[1:] > ticks[:-1]).all()
    assert (ns[1:] >= ns[:-1]).all()


@pytest.mark.parametrize("hertz", [1_000_003, 999_999_937, 2_600_001_111])
def test_the_last_event_has_no_influence_on_other_times(hertz: int) -> None:
    """A sample after the last event, for example, which an archive without samples does not have."""
    (curve,), _ = curves([source([pair(s, hertz, noise=s % 3 * 40) for s in range(4)], hertz)])
    first = pair(0.4, hertz).ticks
    for moment in (0.6, 1.7, 2.9, 3.3):
        at = pair(moment, hertz).ticks
        found = set()
        for last in (moment, 3, 3.5, 4, 9, 77.7):
            ticks, ns = curve.knots(EPOCH, first, max(at, pair(last, hertz).ticks))
            k = min(int(np.searchsorted(ticks, np.uint64(at), side="right")), len(ticks) - 1)
            (t0, t1), (n0, n1) = map(int, ticks[k - 1 : k + 1]), map(int, ns[k - 1 : k + 1])
            found.add(n0 + (at - t0) * (n1 - n0) // (t1 - t0))
        assert len(found) == 1


def test_knots_of_one_moment() -> None:
    (curve,), _ = curves([source([pair(0), pair(1)])])
    ticks, ns = curve.knots(EPOCH, pair(0).ticks, pair(0).ticks)
    assert len(ticks) == len(ns) == 2
    assert ticks[1] > ticks[0]


def test_nonsense_stays_within_64_bits() -> None:
    (curve,), _ = curves([source([pair(0), pair(1)])])
    _, ns = curve.knots(EPOCH, 0, 2**64 - 1)
    assert int(ns[0]) == 0
    assert int(ns[-1]) <= 2**63


def test_knots_with_any_nominal_rate() -> None:
    """The rate of a damaged file: the distance of two knots stays below 2^63, as the kernel requires."""
    (curve,), _ = curves([source([pair(0)], nominal=2**63 + 1)])
    ticks, _ = curve.knots(0, pair(0).ticks, pair(1).ticks)
    assert int(ticks[-1]) - int(ticks[-2]) < 2**63


@pytest.mark.parametrize("hertz", [1, 999, 10**9, 4_700_000_001])
def test_any_rate(hertz: int) -> None:
    (curve,), _ = curves([source([pair(0, hertz), pair(1000, hertz)])])
    assert abs(curve.at(pair(500, hertz).ticks) - (EPOCH + 500 * SECOND)) <= SECOND // hertz + 1


def test_what_names_no_clock_reads_that_of_its_host() -> None:
    """A host may have several clocks (containers in time namespaces). Then a process without a name has its own."""
    pairs = [pair(0), pair(4)]
    (rank, child), _ = curves([source(pairs, clock="x"), source([pair(1), pair(3)])])
    assert rank is child
    (rank, other, child), _ = curves([source(pairs, clock="x"), source(pairs, clock="y"), source([pair(1), pair(3)])])
    assert rank is not other
    assert child is not rank
    assert child is not other
