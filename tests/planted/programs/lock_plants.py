# SPDX-License-Identifier: BSD-3-Clause
"""Python programs of threads with one property each: lock_plants.py PROPERTY. They sleep."""

import queue
import sys
import threading
import time
from collections.abc import Callable

lock = threading.Lock()
pages: "queue.Queue[int]" = queue.Queue(maxsize=4)


def save(ms: float) -> None:
    with lock:
        time.sleep(1e-3 * ms)


def saves(ms: float) -> None:
    for _ in range(20):
        time.sleep(0.010)
        save(ms)


def index() -> None:
    time.sleep(0.012)


def reads() -> None:
    for page in range(60):
        time.sleep(0.003)
        pages.put(page)
    pages.put(-1)


def indexes() -> None:
    while pages.get() >= 0:
        index()


def run(*bodies: Callable[[], None]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


PROPERTIES: dict[str, Callable[[], None]] = {
    "held_in_save": lambda: run(*[lambda: saves(20)] * 3),
    "slow_index": lambda: run(reads, indexes),
    "healthy_saves": lambda: run(*[lambda: saves(0)] * 3),
}

if __name__ == "__main__":
    PROPERTIES[sys.argv[1]]()
