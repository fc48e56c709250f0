# SPDX-License-Identifier: BSD-3-Clause
"""Forks twice, by pty.fork and by os.fork, within functions that both processes leave."""

import os
import pty


def child() -> int:
    return os.getpid()


def terminal() -> bool:
    pid, descriptor = pty.fork()
    if not pid:
        return child() > 0
    try:
        while os.read(descriptor, 1000):
            pass
    except OSError:  # the child has closed its end
        os.waitpid(pid, 0)
    return False


def plain() -> bool:
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
    return not pid and child() > 0


def main() -> None:
    if not terminal():
        plain()


main()
