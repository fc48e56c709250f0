# SPDX-License-Identifier: BSD-3-Clause
"""How far the passes over a trace are whose answers a page waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class Reading:
    """The passes that run now; several threads may read at once."""

    def __init__(self) -> None:
        self._lock, self._passes = Lock(), dict[object, list[int]]()

    @contextmanager
    def begin(self, events: int) -> Iterator[Callable[[int], object]]:
        """A pass over this number of events; see Source.progress."""
        key, state = object(), [0, events]

        def advance(read: int) -> None:
            with self._lock:
                state[0] += read

        with self._lock:
            self._passes[key] = state
        try:
            yield advance
        finally:
            with self._lock:
                del self._passes[key]

    @property
    def share(self) -> float | None:
        """The share of the events of all passes that is read; None without a pass."""
        with self._lock:
            done, total = (sum(state[at] for state in self._passes.values()) for at in (0, 1))
        return min(1.0, done / total) if total else None
