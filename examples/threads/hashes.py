# SPDX-License-Identifier: BSD-3-Clause
"""Four threads compute hashes. The work is divided badly: each thread has twice as much as the one before."""

from hashlib import pbkdf2_hmac
from threading import Thread

THREADS, ROUNDS = 4, 20_000


def compute(rounds: int) -> bytes:
    """One hash; Python's lock is free meanwhile, so that the threads run at the same time."""
    return pbkdf2_hmac("sha256", b"vtrace", b"demo", rounds)


def work(share: int) -> None:
    for _ in range(share):
        compute(ROUNDS)


def main() -> None:
    threads = [Thread(target=work, args=(2**number,), name=f"share {2**number}") for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
