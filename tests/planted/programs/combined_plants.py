# SPDX-License-Identifier: BSD-3-Clause
"""Programs of mpi4py that pass objects and have threads: combined_plants.py PROPERTY."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from mpi4py import MPI

comm = MPI.COMM_WORLD


def load_frame(number: int) -> dict[str, int]:
    time.sleep(0.04)
    return {"frame": number}


def process(ms: float) -> None:
    time.sleep(1e-3 * ms)


def one_loads() -> None:
    """In every fifth step rank 0 loads a frame for 40 ms, which all others wait for."""
    for step in range(40):
        if step % 5 == 0:
            frame = load_frame(step) if comm.rank == 0 else None
            comm.bcast(frame, root=0)
        process(10)


def transform(item: int) -> int:
    time.sleep(0.04 if comm.rank == 1 and item == 3 else 0.01)
    return item


def late_item() -> None:
    """In each step one of four items takes 30 ms longer on rank 1, in one of two threads."""
    with ThreadPoolExecutor(2) as pool:
        for _ in range(15):
            comm.allreduce(sum(pool.map(transform, range(4))))


if __name__ == "__main__":
    {"one_loads": one_loads, "late_item": late_item}[sys.argv[1]]()
