# SPDX-License-Identifier: BSD-3-Clause
"""Merges communicators of synthetic processes with vtunify's functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vtrace.io.archive.definitions import Comm, Group
from vtrace.io.archive.writer import Definitions
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge.communicators import MpiProcesses
from vtrace.unify.merge.merge import merge_communicators
from vtrace.unify.merge.steps import MapsBuilder
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
    processes: Sequence[Any], masters: list[int], indices: Mapping[tuple[int, int | None], int], ranks: Ranks
) -> MergedComms:
    """processes: with number, world, place and definitions. masters: main location of each MPI process; only their
    number matters on ranks other than 0. indices: by world and rank.
    """
    definitions = Definitions()
    builders = [MapsBuilder(process) for process in processes]
    incomplete = merge_communicators(builders, MpiProcesses(len(masters), masters, indices), definitions, ranks)
    ids = [builder.maps.comms for builder in builders]
    offsets = [builder.maps.comm_peer_offset for builder in builders]
    return MergedComms(definitions.comm_groups, definitions.comms, ids, offsets, incomplete)
