# SPDX-License-Identifier: BSD-3-Clause
"""Calls tiny functions in bursts, with generators, exceptions, recursion and threads between. Prints what it computed.

Arguments: the calls of a burst, and the seconds of CPU time without bursts."""

import os
import sys
import threading
import time


def leaf(n):
    return n


def raising(n):
    raise ValueError(n)


def numbers(n):
    yield n
    yield n + 1


def recursive(n):
    return n if n < 2 else recursive(n - 1) + recursive(n - 2)


def branch(n):
    try:
        raising(n)
    except ValueError:
        return leaf(n) + sum(numbers(n))
    return 0


def burst(calls):
    return sum(leaf(n) + (branch(n) if n % 4 == 0 else 0) for n in range(calls)) + recursive(16)


def calm(seconds):
    end, times = time.process_time() + seconds, 0
    while time.process_time() < end:
        with open(os.devnull):
            times += 1
        sum(range(100_000))
    return times


def main(calls, seconds):
    sums = [burst(calls)]
    threads = [threading.Thread(target=lambda: sums.append(burst(calls))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calm(seconds)
    sums.append(burst(calls))
    print(*sums)


main(int(sys.argv[1]), float(sys.argv[2]))
