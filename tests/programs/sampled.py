# SPDX-License-Identifier: BSD-3-Clause
"""sampled.py SECONDS: spin uses the CPU for 3 * SECONDS below heavy, SECONDS below light, by a key of sorted (C calls
Python), by a generator, and in a second thread, one each. Prints the CPU time of both threads in ns."""

import sys
import threading
import time

UNIT = float(sys.argv[1])
used = []


def spin(seconds):
    end = time.thread_time() + seconds
    n = 0
    while time.thread_time() < end:
        for i in range(500):
            n += i * i
    return n


class Solver:
    def heavy(self):
        spin(3 * UNIT)

    def light(self):
        spin(UNIT)

    def key(self, value):
        spin(UNIT / 2)
        return -value

    def step(self):
        self.heavy()
        self.light()
        sorted([1, 2], key=self.key)


def generated():
    for i in range(2):
        spin(UNIT / 2)
        yield i


def größe():
    for _ in generated():
        pass


def other():
    Solver().light()
    used.append(time.thread_time_ns())


thread = threading.Thread(target=other)
thread.start()
Solver().step()
größe()
thread.join()
print(time.thread_time_ns(), *used)
