# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of made-up processes, merged as vtunify does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtrace.io.archive.definitions import Comm, Group
from vtrace.io.archive.writer import Definitions
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge.communicators import Member, MpiProcesses
from vtrace.unify.merge.merge import merge_communicators
from vtrace.unify.model.id_tables import Ids


@dataclass
class MergedComms:
    """What came of merging: groups, comms and incomplete at rank 0, the rest per process of the rank."""

    groups: list[Group]
    comms: list[Comm]
    ids: list[Ids]
    peer_offsets: list[Ids]
    incomplete: list[str]


def merged_comms(
    processes: Sequence[Member], masters: list[int], indices: Mapping[tuple[int, int | None], int], ranks: Ranks
) -> MergedComms:
    """masters: the location of each MPI process, all ranks know how many; indices: by world and rank."""
    definitions = Definitions()
    found, incomplete = merge_communicators(processes, MpiProcesses(len(masters), masters, indices), definitions, ranks)
    return MergedComms(definitions.comm_groups, definitions.comms, found.ids, found.peer_offsets, incomplete)
