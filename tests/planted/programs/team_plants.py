# SPDX-License-Identifier: BSD-3-Clause
"""Python programs of several processes with one property each: team_plants.py PROPERTY WORKERS TASKS MS. MS: of each
task."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.queues import SimpleQueue

_LONG = 4
"""The uneven worker has so many times the work of the others."""


def work(ms: float) -> None:
    if "PLANT_COMPUTES" in os.environ:
        end = time.thread_time() + 1e-3 * ms
        while time.thread_time() < end:
            pass
    else:
        time.sleep(1e-3 * ms)


def solve(tasks: int, ms: float) -> None:
    for _ in range(tasks):
        work(ms)


def uneven(workers: int, tasks: int) -> list[int]:
    """The tasks of each worker, as one call each."""
    return [_LONG * tasks, *[tasks] * (workers - 1)]


def uneven_pool(workers: int, tasks: int, ms: float) -> None:
    with multiprocessing.Pool(workers) as pool:
        pool.starmap(solve, [(n, ms) for n in uneven(workers, tasks)], chunksize=1)


def uneven_executor(workers: int, tasks: int, ms: float) -> None:
    with ProcessPoolExecutor(workers) as pool:
        for future in [pool.submit(solve, n, ms) for n in uneven(workers, tasks)]:
            future.result()


def uneven_processes(workers: int, tasks: int, ms: float) -> None:
    started = [multiprocessing.Process(target=solve, args=(n, ms)) for n in uneven(workers, tasks)]
    for each in started:
        each.start()
    for each in started:
        each.join()


def uneven_forks(workers: int, tasks: int, ms: float) -> None:
    for n in uneven(workers, tasks):
        if not os.fork():
            solve(n, ms)
            os._exit(0)
    for _ in range(workers):
        os.wait()


def healthy_pool(workers: int, tasks: int, ms: float) -> None:
    with multiprocessing.Pool(workers) as pool:
        pool.starmap(solve, [(1, ms)] * (tasks * workers), chunksize=1)


def healthy_executor(workers: int, tasks: int, ms: float) -> None:
    with ProcessPoolExecutor(workers) as pool:
        for future in [pool.submit(solve, 1, ms) for _ in range(tasks * workers)]:
            future.result()


def refine(tasks: "SimpleQueue[int]", results: "SimpleQueue[int]", ms: float) -> None:
    while (task := tasks.get()) >= 0:
        work(ms)
        results.put(task)
    results.put(-1)


def produce(tasks: "SimpleQueue[int]", count: int, ms: float) -> None:
    for task in range(count):
        work(ms / 8)
        tasks.put(task)
    tasks.put(-1)


def consume(results: "SimpleQueue[int]", ms: float) -> None:
    while results.get() >= 0:
        work(ms / 8)


def pipeline(workers: int, tasks: int, ms: float) -> None:
    """Three processes with different work: one of them works most of the time, the others wait for it."""
    queues = [multiprocessing.SimpleQueue(), multiprocessing.SimpleQueue()]
    started = [
        multiprocessing.Process(target=produce, args=(queues[0], tasks, ms)),
        multiprocessing.Process(target=refine, args=(*queues, ms)),
        multiprocessing.Process(target=consume, args=(queues[1], ms)),
    ]
    for each in started:
        each.start()
    for each in started:
        each.join()


PROPERTIES: dict[str, Callable[[int, int, float], None]] = {
    each.__name__: each
    for each in (
        uneven_pool, uneven_executor, uneven_processes, uneven_forks, healthy_pool, healthy_executor, pipeline,
    )
}  # fmt: skip

if __name__ == "__main__":
    name, n, count, each_ms = sys.argv[1:]
    PROPERTIES[name](int(n), int(count), float(each_ms))
