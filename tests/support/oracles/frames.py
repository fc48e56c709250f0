# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of calls in unwinds.cc and frames.c by caller and callee, for each way to end a call. (None, f): no
caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from support.readers.archive import Trace

Edges = Mapping[tuple[str | None, str], int]
N = 6
EXCEPTIONS = ("f1", "f2", "f3", "f4", "f5")
DEEP = ("d1", "d2", "d3", "d4", "d5")


def chain(*names: str, n: int = N) -> dict[tuple[str | None, str], int]:
    """Each of these functions called by the one before, n times."""
    return dict.fromkeys(pairwise(names), n)


MAIN = {(None, "main"): 1}
CAUGHT = MAIN | chain("main", "catcher", *EXCEPTIONS) | {("main", "settled"): N}
LANDED = {("catcher", "landed"): N}
LOCALS = {("f2", "Local::~Local"): N, ("f4", "Local::~Local"): N}
UNWINDS: dict[str, Edges] = {
    "plain": CAUGHT | LANDED,
    "quiet": MAIN | chain("main", *EXCEPTIONS) | {("main", "settled"): N, ("main", "landed"): N},
    "caught": CAUGHT | {("f3", "landed"): N},
    "rethrown": CAUGHT | LANDED | {("f3", "seen"): N},
    "replaced": CAUGHT | LANDED,
    "cleanup": CAUGHT | LANDED | LOCALS,
    "nested": CAUGHT
    | LANDED
    | LOCALS
    | chain("Local::~Local", "g1", "g2", n=2 * N)
    | {("Local::~Local", "seen"): 2 * N},
    "foreign": {k: n for k, n in CAUGHT.items() if k != ("f3", "f4")} | LANDED | chain("f3", "compare", "f4"),
    "pointer": CAUGHT | LANDED | chain("f1", "f2", "f3", "f4", "f5", n=2 * N),
    "thread": MAIN
    | {(None, "catcher"): 3 * N, (None, "settled"): 3 * N}
    | {edge: 3 * n for edge, n in (chain("catcher", *EXCEPTIONS) | LANDED | LOCALS).items()},
    "cancelled": MAIN | {(None, "catcher"): 3} | chain("catcher", *EXCEPTIONS, n=3) | dict.fromkeys(LOCALS, 3),
    "noexcept": MAIN
    | chain("main", "catcher", "f1", "f2_never", "f3", "f4", "f5", n=1)
    | {("f5", "stopped"): 1},
}  # fmt: skip

JUMPED = MAIN | chain("main", "catcher", *DEEP) | {("main", "settled"): N}
HANDLED = chain("d5", "on_signal", "h1")
FRAMES: dict[str, Edges] = {
    "longjmp": JUMPED | {("catcher", "landed"): N},
    "signal": JUMPED | HANDLED | {("catcher", "landed"): N},
    "stack": JUMPED | HANDLED | {("catcher", "landed"): N},
    "handled": JUMPED | HANDLED | {("d5", "landed"): N},
    "below": JUMPED | HANDLED | {("d5", "landed"): N},
    "above": JUMPED | HANDLED | {("d5", "landed"): N},
    "libc": JUMPED | {("d5", "snooze"): N, ("d5", "landed"): N},
    "thread": MAIN | {(None, "catcher"): 3} | chain("catcher", *DEEP, n=3),
    "cancel": MAIN | {(None, "catcher"): 3} | chain("catcher", *DEEP, n=3) | {("d3", "cleaned"): 3},
    "exit": MAIN | chain("main", "catcher", *DEEP, "last", n=1),
    "noreturn": MAIN | chain("main", "catcher", *DEEP, "dies", "last", n=1),
}


def holds(trace: Trace, edges: Edges) -> None:
    """Asserts that a trace has exactly these calls, besides calls of the C++ library, which -O0 does not inline."""
    found = Counter({edge: n for edge, n in trace.edges().items() if not edge[1].startswith("std::")})
    wanted = Counter(dict(edges))
    assert found == wanted, f"too many: {found - wanted}, missing: {wanted - found}"
