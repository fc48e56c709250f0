# SPDX-License-Identifier: BSD-3-Clause
"""The place of a process in the archive, and the maps from its ids and ticks to the archive's: results of merging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vtrace.io.local.kernel import Maps, SampledStream
from vtrace.io.local.local_files import Stream
from vtrace.io.local.maps import U4, U8, SampleMaps, empty4
from vtrace.parallel.exchange import Numbers


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """The place of a process in the archive."""

    index: int | None = None
    """Place among all MPI processes; None without MPI."""
    node: int = 0
    """OTF2 system node of its host."""
    first: int = 0
    """OTF2 location of the main thread; the locations of other threads follow."""
    heap: int | None = None
    """OTF2 location for the heap; None if the events do not include the heap."""


UNPLACED = ProcessPlace()
"""Shared by all processes that have no place yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMaps:
    """The maps of one process; reading them needs no definitions."""

    common: Maps
    """Equal in all locations."""
    samples: SampleMaps | None = None
    """Equal in all locations; None if the archive has no calling contexts."""
    contexts: Mapping[int, U4] = field(default_factory=dict)
    """By location: OTF2's calling context for each of its own contexts."""
    user_peers: Mapping[int, U4] = field(default_factory=dict)
    """By location: the ranks of the other ends of its messages of the user API."""
    user_others: Mapping[int, Numbers] = field(default_factory=dict)
    """By location: the OTF2 locations of these ends, -1 for none."""

    def of(self, location: int) -> Maps:
        """Returns the maps of one location."""
        peers = self.user_peers.get(location)
        return self.common if peers is None else replace(self.common, user_peers=peers)

    def sampled(self, location: int, samples: Stream | None) -> SampledStream | None:
        """Returns the samples of a location with their maps; None if the archive has no calling contexts."""
        if self.samples is None:
            return None
        return SampledStream(samples, replace(self.samples, contexts=self.contexts.get(location, empty4())))

    def shifted(self, ns: U8, shifts: U8) -> ProcessMaps:
        """Returns the maps with a corrected clock; ns, shifts: as those of Maps."""
        return replace(self, common=replace(self.common, shift_ns=ns, shifts=shifts))
