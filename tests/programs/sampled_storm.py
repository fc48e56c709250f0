# SPDX-License-Identifier: BSD-3-Clause
"""sampled_storm.py SECONDS: threads whose frames of Python come and go: deep recursion that ends in exceptions,
generators, coroutines, code objects that live for one call, callbacks from C, garbage collection."""

import asyncio
import contextlib
import gc
import sys
import threading
import time


def deep(n):
    if n == 0:
        raise ValueError
    try:
        deep(n - 1)
    finally:
        [x + 1 for x in range(3)]


def generated(n):
    if n:
        yield from generated(n - 1)
    yield n


async def awaited():
    await asyncio.sleep(0)
    return sum(generated(5))


async def gathered():
    await asyncio.gather(*(awaited() for _ in range(50)))


def work(until):
    while time.time() < until:
        with contextlib.suppress(ValueError):
            deep(80)
        exec("def f(a):\n    return sorted([a, 2, 1], key=lambda x: -x)\nf(3)", {})
        asyncio.run(gathered())
        gc.collect()


until = time.time() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(until,)) for _ in range(3)]
for thread in threads:
    thread.start()
work(until)
for thread in threads:
    thread.join()
print("done")
