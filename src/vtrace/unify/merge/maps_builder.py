# SPDX-License-Identifier: BSD-3-Clause
"""The maps of one process while the steps of merging fill them."""

from __future__ import annotations

from dataclasses import dataclass, field

from vtrace.io.local.kernel import Maps
from vtrace.io.local.maps import U4, SampleMaps, empty8
from vtrace.parallel.exchange import Numbers
from vtrace.unify.model.process import Process
from vtrace.unify.model.process_maps import ProcessMaps


def _no_maps() -> Maps:
    return Maps(knot_ticks=empty8(), knot_ns=empty8(), unknown_region=0)


@dataclass(slots=True)
class MapsBuilder:
    """A process of this rank with its unfinished maps; each step sets the tables that it makes. See ProcessMaps."""

    process: Process
    maps: Maps = field(default_factory=_no_maps)
    samples: SampleMaps | None = None
    user_peers: dict[int, U4] = field(default_factory=dict)
    user_others: dict[int, Numbers] = field(default_factory=dict)

    def build(self, zero: int) -> ProcessMaps | None:
        """Returns the finished maps; None for a process without files. zero: the archive's, in ns since the epoch."""
        if self.process.curve is None:
            return None
        source = self.process.source()
        self.maps.knot_ticks, self.maps.knot_ns = self.process.curve.knots(zero, source.first, source.last)
        return ProcessMaps(
            common=self.maps, samples=self.samples, user_peers=self.user_peers, user_others=self.user_others
        )
