# SPDX-License-Identifier: BSD-3-Clause
"""Groups of regions and metrics that programs define with the user API."""

from __future__ import annotations

from collections.abc import Sequence

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.writer import Definitions, Group
from vtrace.io.local.records import DEFINITIONS
from vtrace.unify.merge.dedup import MergedDefinitions
from vtrace.unify.model.id_tables import Ids, Types, types
from vtrace.unify.model.process import Process

_USER = 1  # OTF2_PARADIGM_USER


def users_own(process: Process) -> Types:
    """Returns by local id of a region: 1 for regions that the program starts and ends with the user API."""
    known = process.definitions
    paradigms = {local: at.paradigm for local, at in known.regions_at.items()}
    paradigms |= {local: region.paradigm for local, region in known.regions.items()}
    return types({local: int(paradigm == _USER) for local, paradigm in paradigms.items()})


class _GroupMembers(MergedDefinitions[tuple[str, str], set[int]]):
    def combine(self, first: set[int], second: set[int]) -> set[int]:
        return first | second


_Groups = MergedDefinitions[tuple[str, str], set[int]]


class UserGroupStep:
    """The program's groups of regions and of metrics."""

    def __init__(
        self, processes: Sequence[Process], regions: Sequence[Ids], metrics: Sequence[Ids], definitions: Definitions
    ) -> None:
        """regions, metrics: OTF2's ids, per process by its own ids."""
        self._processes, self._regions, self._metrics = processes, regions, metrics
        self._definitions = definitions

    def contribute(self) -> _Groups:
        members = _GroupMembers()
        for process, own_regions, own_metrics in zip(self._processes, self._regions, self._metrics, strict=True):
            for i, ((what, local), name) in enumerate(process.definitions.members_of.items()):
                of_regions = what == DEFINITIONS["REGION"]
                numbers = own_regions if of_regions else own_metrics
                if local < len(numbers) and numbers[local] != UNDEFINED:
                    kind = "REGIONS" if of_regions else "METRIC"
                    members.add((kind, name), (process.number, i), {int(numbers[local])})
        return members

    def join(self, one: _Groups, other: _Groups) -> _Groups:
        return one.join(other)

    def decide(self, everyone: _Groups) -> None:
        for (kind, name), numbers_of in everyone.in_order():
            self._definitions.named_groups.append(Group(kind, _USER, name, sorted(numbers_of)))
