# SPDX-License-Identifier: BSD-3-Clause
"""Replays synthetic ends of messages and collectives."""

from __future__ import annotations

import os
import struct

import numpy as np

from vtrace.io.local.kernel import Kernel
from vtrace.io.local.repair_kernel import PIECE, Parts, Repaired, replay

NONE, SEND, RECEIVE, POST, DONE, BEGIN, END = range(7)  # enum vt_end_kind
NO_FLOW, ALL, FROM_ROOT, TO_ROOT, PREFIX = range(5)  # enum vt_end_flow
GIVES, TAKES, ASIDE = 8, 16, 32
CLOCKS = (0, 0, 1, 2)
"""The clock of each process."""
COMMS = ((0, 1, 2, 3), (3, 1, 2), (2, 0))
Ends = dict[int, list[tuple[int, ...]]]


def replayed(ends: Ends, *, doubtful: tuple[int, ...] = (), limit: int = 0, piece: int = 7) -> Repaired:
    """ends: by process (ns, request, communicator, peer, tag, what); piece: ends that the replay reads at a time."""
    members = np.concatenate([np.array(comm, np.uint32) for comm in COMMS])
    first = np.cumsum([0, *map(len, COMMS)]).astype(np.uint32)
    sure = np.array([process in doubtful for process in range(4)], np.uint8)
    parts = Parts(
        clocks=np.array(CLOCKS, np.uint32),
        doubtful=sure,
        comm_first=first,
        comm_members=members,
        comm_repaired=np.ones(len(COMMS), np.uint8),
        nclocks=3,
        first_window=len(COMMS),
        limit=limit,
        firsts=np.arange(4, dtype=np.uint32),
    )
    file = os.memfd_create("ends")
    pieces, offset = [], 0
    for process, mine in sorted(ends.items()):
        for at in range(0, len(mine), piece):
            part = mine[at : at + piece]
            offset += os.pwrite(file, b"".join(struct.pack("<QQ4I", *end) for end in part), offset)
            pieces.append((offset - 32 * len(part), process, 0, len(part), file))
    try:
        return replay(Kernel(), parts, np.array(pieces, PIECE))
    finally:
        os.close(file)
