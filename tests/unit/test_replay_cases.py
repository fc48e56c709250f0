# SPDX-License-Identifier: BSD-3-Clause
"""The replay of a few ends in special cases: equal times, missing ends, and several processes that wait."""

from __future__ import annotations

from support.synthetic_runs.replaying import (
    ALL,
    BEGIN,
    COMMS,
    END,
    FROM_ROOT,
    GIVES,
    PREFIX,
    RECEIVE,
    SEND,
    TAKES,
    Ends,
    replayed,
)
from vtrace.io.local.kernel import UNMAPPED
from vtrace.io.local.repair_kernel import Repaired


def moved(found: Repaired) -> list[list[tuple[int, int]]]:
    return [list(zip(ns.tolist(), shifts.tolist(), strict=True)) for ns, shifts in found.knots]


def begin(ns: int, *, comm: int = 2, op: int = 0, flow: int = ALL, peer: int = UNMAPPED) -> tuple[int, ...]:
    return ns, 0, comm, peer, flow | GIVES | TAKES | op << 8, BEGIN


def end(ns: int, *, comm: int = 2, op: int = 0, flow: int = ALL, peer: int = UNMAPPED) -> tuple[int, ...]:
    return ns, 0, comm, peer, flow | GIVES | TAKES | op << 8, END


def test_of_one_moment_what_is_put_forward_comes_first() -> None:
    """Processes 0 and 1 share a clock. At equal times, the receive that puts the clock forward comes first."""
    for kind in (SEND, BEGIN):
        ends: Ends = {
            0: [(100, 0, 0, 2, 5, SEND)] if kind == SEND else [begin(100)],
            1: [(100, 0, 0, 3, 5, RECEIVE)],
            2: [(300, 0, 0, 0, 5, RECEIVE)] if kind == SEND else [begin(250), end(300)],
            3: [(500, 0, 0, 1, 5, SEND)],
        }
        if kind == BEGIN:
            ends[0].append(end(900))
        assert moved(replayed(ends)) == [[(100, 401)], [(300, 202)], []]


def test_a_message_that_nobody_sent() -> None:
    """Processes 2 and 3 wait for each other, so the first one goes on. A later send must not match its receive."""
    ends: Ends = {
        2: [(100, 0, 0, 3, 5, RECEIVE), (200, 0, 0, 3, 6, SEND), (900, 0, 0, 3, 5, RECEIVE)],
        3: [(300, 0, 0, 2, 6, RECEIVE), (400, 0, 0, 2, 5, SEND), (950, 0, 0, 2, 5, SEND)],
    }
    found = replayed(ends)
    assert moved(found) == [[], [(900, 51)], []]
    assert (found.messages, found.ignored, found.reversed_messages, found.left) == (3, 1, 1, 0)


def test_a_message_that_is_longer_than_what_was_sent() -> None:
    """The receive belongs to another message, and does not put the clock forward."""
    for size, shifts in ((8, [(100, 401)]), (9, [])):
        found = replayed({2: [(500, 0, 0, 3, 5, SEND | 8 << 4)], 3: [(100, 0, 0, 2, 5, RECEIVE | size << 4)]})
        assert (moved(found)[2], found.ignored) == (shifts, not shifts)


def test_collectives_that_are_not_the_same() -> None:
    """Different operations, or an operation that a process lacks: neither these nor later ones of the communicator put
    a clock forward.
    """
    found = replayed({0: [begin(900), end(950)], 2: [begin(100, op=1), end(200, op=1)]})
    assert (moved(found), found.collectives, found.ignored) == ([[], [], []], 2, 2)
    late = [begin(500), end(550), begin(1900), end(1950)]
    found = replayed({0: [], 2: late})
    assert (moved(found), found.collectives, found.ignored) == ([[], [], []], 2, 2)
    # Process 0 lacks the first operation, so the replay takes the second one for the first.
    ends = {0: [begin(3000), end(3100), (3200, 0, 0, 2, 1, SEND)], 2: [*late, (2000, 0, 0, 0, 1, RECEIVE)]}
    found = replayed(ends)
    assert found.ignored


def test_several_wait_for_one() -> None:
    """Two processes wait for a third one, and both go on when it begins."""
    ends: Ends = {0: [begin(900, comm=0), end(950, comm=0)]}
    for process in (1, 2, 3):
        ends[process] = [begin(100 + process, comm=0), end(200 + process, comm=0)]
    ends[1] = [begin(910, comm=0), end(960, comm=0)]
    # The last begin is at 910, on the clock of processes 0 and 1.
    assert moved(replayed(ends)) == [[], [(202, 709)], [(203, 708)]]


def test_nobody_waits_for_more_than_it_must() -> None:
    """The last process begins after a message from a process that has ended: Bcast waits for its root only, Scan for
    the lower ranks.
    """
    for flow, early, late in ((FROM_ROOT, 2, 1), (PREFIX, 1, 2)):
        peers = dict.fromkeys(COMMS[1], 3) if flow == FROM_ROOT else {3: 0, 1: 1, 2: 2}
        one = {p: {"comm": 1, "flow": flow, "peer": peers[p]} for p in COMMS[1]}
        ends: Ends = {
            3: [begin(900, **one[3]), end(950, **one[3])],
            early: [begin(100, **one[early]), end(200, **one[early]), (300, 0, 0, late, 5, SEND)],
            late: [(400, 0, 0, early, 5, RECEIVE), begin(500, **one[late]), end(600, **one[late])],
        }
        found = replayed(ends)
        assert (found.ignored, found.collectives, found.messages) == (0, 3, 1)
        expected = {early: [(200, 701)], late: [(400, 602)], 3: []}
        assert moved(found) == [expected[process] for process in (1, 2, 3)]


def test_put_forward_twice_at_one_moment() -> None:
    """Two processes of one clock put it forward at the same time: the result has one knot."""
    ends: Ends = {
        0: [(100, 0, 0, 2, 5, RECEIVE)],
        1: [(100, 0, 0, 3, 5, RECEIVE)],
        2: [(300, 0, 0, 0, 5, SEND)],
        3: [(500, 0, 0, 1, 5, SEND)],
    }
    assert moved(replayed(ends)) == [[(100, 401)], [], []]


def test_behind_a_collective_that_one_lacks() -> None:
    """Process 2 lacks the first operation, so the later operations cannot be matched."""
    ends: Ends = {
        0: [begin(500), end(550), (600, 0, 0, 2, 5, SEND), begin(1900), end(1950), begin(3900), end(3950)],
        2: [(2000, 0, 0, 0, 5, RECEIVE), begin(3000), end(3100), begin(4000), end(4100)],
    }
    found = replayed(ends)
    assert moved(found) == [[], [], []]
    assert (found.messages, found.collectives, found.ignored) == (1, 5, 5)
