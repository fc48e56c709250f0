# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of communicators, and the length of an MPI call's message from the bytes that an archive has of the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.table import Array

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

CLASSES = (0, 4 << 10, 64 << 10, 1024 << 10)
"""The least length of each class of lengths, bytes."""


class CommSizes:
    """The processes of each communicator, and those that a rank of the communicator may name."""

    def __init__(self, trace: Source) -> None:
        self._ids = trace.definitions.ids["comms"]
        self._sizes = np.ones((trace.comms.rows + 1, 2), np.int64)
        counts = trace.comm_groups["count"]
        for row in range(trace.comms.rows):
            group_row, remote = int(trace.comms["group"][row]), int(trace.comms["remote"][row])
            if group_row >= 0 and not trace.places.is_self(row):
                self._sizes[row] = max(int(counts[group_row]), 1)
            if remote >= 0:
                self._sizes[row, 1] = max(int(counts[remote]), 1)

    def of(self, comms: Array) -> tuple[Array, Array]:
        """Both sizes of communicators, by OTF2's ids; 1 where unknown."""
        found = self._sizes[self._ids.rows(comms)]
        return found[:, 0], found[:, 1]


def one_of(total: Array, peers: Array) -> Array:
    """The share of one peer in a sum over all peers. With MPI_IN_PLACE the sum lacks the process's own part."""
    others = np.maximum(peers - 1, 1)
    found: Array = np.where((total % peers != 0) & (total % others == 0), total // others, total // peers)
    return found


def _of_scan(sent: Array, received: Array, n: Array) -> Array:
    total, others = sent + received, np.maximum(n - 1, 1)
    in_place = (total % (n + 1) != 0) & (total % others == 0)
    found: Array = np.where(in_place, total // others, total // (n + 1))
    return 2 * found


_LengthFormula = Callable[[Array, Array, Array], Array]
_COLLECTIVES: dict[str, _LengthFormula] = {
    "Bcast": lambda sent, received, n: np.where(received > 0, received * (1 + (sent > 0)), 2 * (sent // n)),
    "Allgather": lambda sent, received, n: one_of(sent, n) + received,
    "Allgatherv": lambda sent, received, n: one_of(sent, n) + received,
    "Reduce": lambda sent, received, n: np.where(received > 0, 2 * one_of(received, n), sent),
    "Allreduce": lambda sent, received, n: 2 * one_of(sent, n),
    "Reduce_scatter": lambda sent, received, n: sent + one_of(received, n),
    "Reduce_scatter_block": lambda sent, received, n: sent + one_of(received, n),
    "Scan": _of_scan,
    "Exscan": lambda sent, received, n: 2 * ((sent + received) // np.maximum(n - 1, 1)),
}
_SUMS = """Gather Gatherv Scatter Scatterv Alltoall Alltoallv Alltoallw Neighbor_alltoall Neighbor_alltoallv
Neighbor_alltoallw""".split()
"""Collective operations whose length is the bytes sent and received."""
_OTHERS = """Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Recv Irecv Sendrecv Sendrecv_replace Mrecv Imrecv Put
Rput Get Rget Accumulate Raccumulate Get_accumulate Rget_accumulate Compare_and_swap""".split()


def _formulas() -> dict[str, _LengthFormula]:
    found: dict[str, _LengthFormula] = dict.fromkeys([*_SUMS, *_OTHERS], lambda sent, received, n: sent + received)
    found |= _COLLECTIVES
    return found | {f"I{name.lower()}": found[name] for name in (*_SUMS, *_COLLECTIVES)}


FORMULAS = _formulas()
"""By function without MPI_: the message length of Table 3.24 of the Advanced Profiler's guide, from the bytes sent and
received that csrc/mpiwrap/templates/coll.c counts for n processes. A receive has the bytes that came.
Neighbor_allgather is not there: the bytes sent are those to all neighbours, whose number an archive does not have."""
POSTED_ATTRIBUTE = "posted bytes"
"""The name of the attribute of an event of a call with the size of the buffer of its receive, or of all its buffers
(Neighbor_allgather), as in csrc/mpiwrap."""
POSTED: dict[str, Callable[[Array, Array], Array]] = {
    "Irecv": lambda sent, posted: posted, "Mrecv": lambda sent, posted: posted, "Imrecv": lambda sent, posted: posted,
    "Sendrecv": lambda sent, posted: sent + posted, "Sendrecv_replace": lambda sent, posted: 2 * posted,
    **dict.fromkeys(
        ("Neighbor_allgather", "Neighbor_allgatherv", "Ineighbor_allgather", "Ineighbor_allgatherv"),
        lambda sent, posted: posted,
    ),
}  # fmt: skip
"""By function without MPI_: the message length of Table 3.24 from the bytes sent and the size of the buffer, for calls
with POSTED_ATTRIBUTE."""
