# SPDX-License-Identifier: BSD-3-Clause
"""A communicator of each process's threads, which OTF2 wants where threads are created one by one."""

from __future__ import annotations

import numpy as np

from vtrace.io.archive.writer import Comm, Definitions, Group
from vtrace.io.local.kernel import UNMAPPED
from vtrace.unify.merge.system import System

PTHREAD = 7  # OTF2_PARADIGM_PTHREAD


def add_threads(system: System, definitions: Definitions) -> list[int]:
    """Adds the contingent of each process that tells of its threads; returns, for all processes, its communicator,
    UNMAPPED where there is none.

    Like Score-P: one group lists all locations, a group of indices into it the threads of a process.
    """
    found = []
    members = [
        np.arange(place.first, place.first + len(about.threads)) if about.tells_threads else np.arange(0)
        for about, place in zip(system.about, system.places, strict=True)
    ]
    if any(map(len, members)):
        definitions.comm_groups.append(Group("COMM_LOCATIONS", PTHREAD, "", np.concatenate(members)))
    index = 0
    for about, locations in zip(system.about, members, strict=True):
        if not len(locations):
            found.append(UNMAPPED)
            continue
        name = f"Threads of {about.name}"
        definitions.comm_groups.append(Group("COMM_GROUP", PTHREAD, name, np.arange(index, index + len(locations))))
        found.append(len(definitions.comms))
        definitions.comms.append(Comm(name, len(definitions.comm_groups) - 1))
        index += len(locations)
    return found
