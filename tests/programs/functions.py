# SPDX-License-Identifier: BSD-3-Clause
"""Functions that return, yield, raise, and run in a thread."""

import threading
from contextlib import suppress


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def counts():
    yield 1
    yield 2


def closed():
    try:
        yield 1
    finally:
        print("closed")


class Solver:
    def fails(self):
        raise ValueError

    def passes_on(self):
        self.fails()


def main():
    factorial(3)
    for _ in counts():
        pass
    open_ = closed()
    next(open_)
    open_.close()
    with suppress(ValueError):
        Solver().passes_on()
    thread = threading.Thread(target=factorial, args=(2,))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
