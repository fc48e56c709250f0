# SPDX-License-Identifier: BSD-3-Clause
"""A communicator of each process's threads, as OTF2 wants it where threads are created one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.io.archive import Comm, Definitions, Group
from vtrace.io.kernel import UNMAPPED
from vtrace.unify.process import Process

PTHREAD = 7  # OTF2_PARADIGM_PTHREAD


def add_threads(processes: Sequence[Process], definitions: Definitions) -> list[int]:
    """Adds the contingent of each process that tells of its threads; returns its communicator, UNMAPPED where there
    is none.

    As in Score-P: one group lists all locations, a group of indices into it the threads of a process.
    """
    found = []
    members = [np.arange(p.first, p.first + len(p.locations)) if p.tells_threads else np.arange(0) for p in processes]
    if any(map(len, members)):
        definitions.comm_groups.append(Group("COMM_LOCATIONS", PTHREAD, "", np.concatenate(members)))
    index = 0
    for process, locations in zip(processes, members, strict=True):
        if not len(locations):
            found.append(UNMAPPED)
            continue
        name = f"Threads of {definitions.groups[definitions.locations[process.first].group].name}"
        definitions.comm_groups.append(Group("COMM_GROUP", PTHREAD, name, np.arange(index, index + len(locations))))
        found.append(len(definitions.comms))
        definitions.comms.append(Comm(name, len(definitions.comm_groups) - 1))
        index += len(locations)
    return found
