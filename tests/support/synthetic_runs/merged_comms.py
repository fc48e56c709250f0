# SPDX-License-Identifier: BSD-3-Clause
"""Merges communicators of synthetic processes with vtunify's functions."""

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
    """Result of merging. groups, comms, incomplete: set on rank 0; ids, peer_offsets: for each process of this rank."""

    groups: list[Group]
    comms: list[Comm]
    ids: list[Ids]
    peer_offsets: list[Ids]
    incomplete: list[str]


def merged_comms(
    processes: Sequence[Member], masters: list[int], indices: Mapping[tuple[int, int | None], int], ranks: Ranks
) -> MergedComms:
    """masters: main location of each MPI process; only their number matters on ranks other than 0. indices: by world
    and rank.
    """
    definitions = Definitions()
    found, incomplete = merge_communicators(processes, MpiProcesses(len(masters), masters, indices), definitions, ranks)
    return MergedComms(definitions.comm_groups, definitions.comms, found.ids, found.peer_offsets, incomplete)
