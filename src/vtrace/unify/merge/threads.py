# SPDX-License-Identifier: BSD-3-Clause
"""A communicator of each process's threads, which OTF2 requires for threads that are created one by one."""

from __future__ import annotations

import numpy as np

from vtrace.io.archive.writer import Comm, Definitions, Group
from vtrace.io.local.kernel import UNMAPPED
from vtrace.unify.merge.system import System

PTHREAD = 7  # OTF2_PARADIGM_PTHREAD


def add_threads(system: System, definitions: Definitions) -> list[int]:
    """Adds the thread contingent of each process with events of threads. Returns the communicators of all processes,
    UNMAPPED for none.

    Like Score-P, one group lists all locations; the group of a process has indices into that list.
    """
    found = []
    members = [
        np.arange(place.first, place.first + len(about.threads)) if about.has_thread_events else np.arange(0)
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
