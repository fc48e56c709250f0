# SPDX-License-Identifier: BSD-3-Clause
"""The cost of each phase of vtunify is linear in the number of locations. The tests count steps, not time."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from support.tools import ROOT
from vtrace.console import QUIET, Console
from vtrace.parallel import ranks as ranks_module
from vtrace.parallel.ranks import ALONE, work_on
from vtrace.unify.run import Request, unify

sys.path.insert(0, str(ROOT / "bench"))
from synthetic import write
from synthetic_program import Clocks, Program

WRONG = Clocks(offset=2, drift=100, error=500, wave=20_000, period=0.05)


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Gives a function for the number of steps so far: executed Python lines and called C functions, in all threads."""
    steps: dict[int, int] = {}

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        steps[threading.get_ident()] = steps.get(threading.get_ident(), 0) + 1
        return step

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            step(frame, event, argument)

    threading.settrace(step)
    threading.setprofile(profile)
    sys.settrace(step)
    sys.setprofile(profile)
    try:
        yield lambda: sum(steps.values())
    finally:
        sys.setprofile(None)
        sys.settrace(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        threading.settrace(None)  # type: ignore[arg-type]


def test_twice_as_many_locations_take_twice_as_many_steps(tmp_path: Path) -> None:
    """Differences of step counts remove the fixed cost. A tenth is left for n log n and steps of large runs only. The
    first run does not count: modules are imported in it."""
    steps = []
    for ranks in (4, 40, 80, 160):
        prefix = tmp_path / str(ranks) / "wide"
        prefix.parent.mkdir()
        write(prefix, Program(ranks=ranks, steps=1, calls=2, ranks_per_host=4, clocks=WRONG))
        with counted() as so_far:
            unify(Request(prefix=prefix, jobs=1), Console("vtunify", QUIET))
            steps.append(so_far())
    first, second = steps[2] - steps[1], steps[3] - steps[2]
    assert first > 40 * 1000, "the steps of all phases count"
    assert second < 1.1 * 2 * first, steps


@pytest.mark.parametrize("threads", [1, 2])
def test_looking_at_the_progress_takes_the_same_for_many_items(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of one report must not grow with the number of items, since a long run makes many reports."""
    monkeypatch.setattr(ranks_module, "_BEAT", 0.001)

    def steps_of_a_look(items: int) -> float:
        looks, begin = 0, 0
        enough = threading.Event()
        total = 0

        def look(amount: int) -> None:
            nonlocal looks, begin, total
            looks += 1
            total += amount
            if looks == 1:
                begin = so_far()
            if looks == 21:
                begin = so_far() - begin
                enough.set()

        with counted() as so_far:
            work_on(
                ALONE,
                threads,
                items=range(items),
                work=lambda number: enough.wait() and None,
                weigh=lambda number: 1 << 20,
                advance=look,
            )
        assert total == items << 20
        return begin / 20

    assert steps_of_a_look(2000) < 2 * steps_of_a_look(20)


def test_the_collector_finds_nothing(tmp_path: Path) -> None:
    """vtunify runs without Python's garbage collector, so no location may leave reference cycles."""
    found = []
    for ranks in (20, 60):
        prefix = tmp_path / str(ranks) / "wide"
        prefix.parent.mkdir()
        write(prefix, Program(ranks=ranks, steps=1, calls=2, ranks_per_host=4, clocks=WRONG))
        gc.collect()
        gc.disable()
        try:
            unify(Request(prefix=prefix, jobs=1), Console("vtunify", QUIET))
            found.append(gc.collect())
        finally:
            gc.enable()
    assert abs(found[1] - found[0]) < 20, found
