# SPDX-License-Identifier: BSD-3-Clause
"""Follows particles between fixed suns on all ranks. Rank 0 computes the forces on all particles and scatters them;
meanwhile the other ranks wait. With the argument `mended` each rank computes the forces on its own particles."""

import math
import sys

from mpi4py import MPI

PARTICLES, STEPS = 4000, 20
SUNS = [(math.cos(i), math.sin(i)) for i in range(12)]

comm = MPI.COMM_WORLD
mended = "mended" in sys.argv


def forces(places):
    """The force on each particle: the sum of all suns."""
    found = []
    for x, y in places:
        fx = fy = 0.0
        for sun_x, sun_y in SUNS:
            distance = math.hypot(sun_x - x, sun_y - y) + 0.1
            fx += (sun_x - x) / distance**3
            fy += (sun_y - y) / distance**3
        found.append((fx, fy))
    return found


def move(places, pushes):
    """The particles after a step."""
    return [(x + 0.01 * fx, y + 0.01 * fy) for (x, y), (fx, fy) in zip(places, pushes, strict=True)]


def main():
    count = PARTICLES // comm.size
    own = [(2 * math.cos(i), math.sin(i)) for i in range(comm.rank * count, (comm.rank + 1) * count)]
    for _ in range(STEPS):
        if mended:
            own = move(own, forces(own))
        else:
            places = comm.gather(own)
            pushes = [forces(part) for part in places] if comm.rank == 0 else None
            own = move(own, comm.scatter(pushes))
    total = comm.allreduce(sum(math.hypot(x, y) for x, y in own))
    if comm.rank == 0:
        print(f"mean distance {total / PARTICLES:.4f}")


main()
