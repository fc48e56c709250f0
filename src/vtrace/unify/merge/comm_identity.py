# SPDX-License-Identifier: BSD-3-Clause
"""The identity of communicators: equal in all processes that mean the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vtrace.io.local.records import COMM_KINDS
from vtrace.io.sidecar.sidecar import blake2b
from vtrace.unify.merge.members import Identity
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_definitions import LocalComm, ProcessDefinitions

CommTable = dict[int, Identity]
"""A process's communicators by its own ids."""
ConnectionPairs = dict[tuple[object, int], int]
"""The time of a connection's first side, by tag and time of its second side."""
Side = Identity
"""One side of an inter-communicator of MPI_Intercomm_create: equal in the members of one group."""
Intercomms = dict[Side, Identity]
"""The inter-communicators whose two sides are known, by each side."""
Meetings = dict[tuple[object, ...], set[Side]]
"""The sides that the leaders of both groups name, by peer communicator, tag, members, leaders and count."""
KIND_NAMES = {number: name for name, number in COMM_KINDS.items()}
MOST_NESTED = 64
"""Maximum number of MPI_Intercomm_create that build on each other; damaged files may claim more."""


def parent_of(own: CommTable, local: int, comm: LocalComm) -> Identity | None:
    """Returns the parent of a communicator, which has a smaller id; None without one. own: the process's communicators.

    An inter-communicator of MPI_Intercomm_create has none: its two sides have different local communicators.
    """
    if comm.parent is None or comm.parent >= local or KIND_NAMES.get(comm.kind) == "INTER_CREATE":
        return None
    return own.get(comm.parent)


class Identifier:
    """Computes identities. pairs and intercomms: the decisions of the steps before."""

    def __init__(self, pairs: ConnectionPairs, intercomms: Intercomms) -> None:
        self._pairs, self._intercomms = pairs, intercomms
        self._digests: dict[tuple[object, ...], Identity] = {}

    def identify(self, definitions: ProcessDefinitions) -> tuple[CommTable, dict[int, Side]]:
        """Returns the identities of a process's communicators, and the own sides of its inter-communicators, both by
        own id.

        Equal (kind, parent, tag, hash, count) means the same communicator. For an inter-communicator this is true of
        one side, with the number of earlier ones of the local communicator; without the leaders' definitions this is
        true of both, without the parent.
        """
        own: CommTable = {}
        sides: dict[int, Side] = {}
        earlier: Counter[tuple[object, ...]] = Counter()
        for local, comm in sorted(definitions.comms.items()):
            kind = KIND_NAMES.get(comm.kind, "OTHER")
            if kind == "INTER_CREATE" and comm.parent in own:
                made = own[comm.parent], comm.tag, comm.hash
                side = sides[local] = self._digest(("side", *made, earlier[made]))
                earlier[made] += 1
                if side in self._intercomms:
                    own[local] = self._intercomms[side]
                    continue
            parent = parent_of(own, local, comm)
            serial = self._pairs.get((comm.tag, comm.serial), comm.serial) if kind == "CONNECT" else comm.serial
            own[local] = self._digest((kind,) if kind == "SELF" else (kind, parent, comm.tag, comm.hash, serial))
        return own, sides

    def _digest(self, key: tuple[object, ...]) -> Identity:
        found = self._digests.get(key)
        if found is None:
            found = self._digests[key] = blake2b(repr(key).encode(), digest_size=16).digest()
        return found


class IntercommStep:
    """A step before the identities: joins the two sides of inter-communicators.

    Only the leaders of both groups know which sides belong together. The decision is complete for inter-communicators
    whose local and peer communicators do not come from other ones; with this decision, another step is complete for
    those that come from these, and so on.
    """

    def __init__(self, processes: Sequence[Process], pairs: ConnectionPairs, known: Intercomms) -> None:
        """known: decision of the step before, empty for the first step."""
        self._processes, self._identifier = processes, Identifier(pairs, known)

    def contribute(self) -> Meetings:
        found: Meetings = {}
        for process in self._processes:
            if process.definitions.comm_peers:
                for key, side in self._meetings(process.definitions).items():
                    found.setdefault(key, set()).add(side)
        return found

    def _meetings(self, definitions: ProcessDefinitions) -> Mapping[tuple[object, ...], Side]:
        """Returns the meetings of one process as a leader."""
        own, sides = self._identifier.identify(definitions)
        earlier: Counter[tuple[object, ...]] = Counter()
        found: dict[tuple[object, ...], Side] = {}
        for local, (peer, leader) in sorted(definitions.comm_peers.items()):
            if local not in sides or peer not in own:
                continue
            comm, leaders = definitions.comms[local], sorted((definitions.comms[peer].rank, leader))
            key = own[peer], comm.tag, comm.hash, *leaders
            found[*key, earlier[key]] = sides[local]
            earlier[key] += 1
        return found

    def join(self, one: Meetings, other: Meetings) -> Meetings:
        for key, sides in other.items():
            one.setdefault(key, set()).update(sides)
        return one

    def decide(self, everyone: Meetings) -> Intercomms:
        found = {}
        for sides in everyone.values():
            if len(sides) == 2:
                first, second = sorted(sides)
                found[first] = found[second] = blake2b(first + second, digest_size=16).digest()
        return found
