# SPDX-License-Identifier: BSD-3-Clause
"""MPI programs in Python with one property each: mpi_plants.py PROPERTY [STEPS [MS]]. MS: the longer work."""

import os
import sys
import time
from array import array

from mpi4py import MPI

BASE = 10
"""ms of each rank and step in compute()."""
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
data = bytearray(1000)
one, total = array("d", [1.0]), array("d", [0.0])


def work(ms: float) -> None:
    if "PLANT_COMPUTES" in os.environ:
        end = time.thread_time() + 1e-3 * ms
        while time.thread_time() < end:
            pass
    else:
        time.sleep(1e-3 * ms)


def compute(ms: float) -> None:
    work(ms)


def prepare(ms: float) -> None:
    work(ms)


def chemistry(ms: float) -> None:
    work(ms)


def rebuild_tree(ms: float) -> None:
    work(ms)


def late_sender(step: int, steps: int, ms: float) -> None:
    if rank % 2 == 0 and rank + 1 < size:
        prepare(BASE + ms)
        world.Send(data, rank + 1)
    elif rank % 2:
        compute(BASE)
        world.Recv(data, rank - 1)


def late_broadcast(step: int, steps: int, ms: float) -> None:
    compute(BASE) if rank else prepare(BASE + ms)
    world.bcast(step, 0)
    world.Barrier()


def at_barrier(step: int, steps: int, ms: float) -> None:
    compute(BASE)
    if rank == size - 1:
        chemistry(ms)
    world.Barrier()


def at_nxn(step: int, steps: int, ms: float) -> None:
    compute(BASE)
    chemistry(1.5 * ms * rank / (size - 1))
    world.Allreduce(one, total)


def straggler(step: int, steps: int, ms: float) -> None:
    compute(BASE)
    chemistry(20 + 0.3 * ms if rank == size // 2 else 20)
    world.Allreduce(one, total)


def probed(step: int, steps: int, ms: float) -> None:
    compute(BASE)
    if rank == size - 1:
        chemistry(ms)
    if rank:
        world.send(step, 0)
    else:
        for source in range(1, size):
            world.recv(source=source)
    world.Barrier()


def single_slow(step: int, steps: int, ms: float) -> None:
    compute(BASE)
    if rank == 1 and step == steps // 2:
        rebuild_tree(5 * ms)
    world.Allreduce(one, total)


def healthy(step: int, steps: int, ms: float) -> None:
    compute(BASE + ms)
    world.sendrecv(step, (rank + 1) % size, source=(rank - 1) % size)
    world.Allreduce(one, total)


def main() -> None:
    one_step = globals()[sys.argv[1]]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    ms = float(sys.argv[3]) if len(sys.argv) > 3 else 20
    for step in range(steps):
        one_step(step, steps, ms)


main()
