# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 communicators of threads: one for all OpenMP teams that a location forks at one level, with all members; and one
of each process's threads, which OTF2 requires for threads that are created one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtrace.io.archive.writer import Comm, Definitions, Group
from vtrace.io.local.kernel import UNMAPPED
from vtrace.unify.merge.steps import ConcatStep, MapsBuilder
from vtrace.unify.merge.system import System
from vtrace.unify.model.id_tables import table
from vtrace.unify.model.process import Process

_OPENMP, PTHREAD = 3, 7
"""Numbers of OTF2_Paradigm."""


Team = tuple[str, list[int]]
"""Name of a team, and the OTF2 locations of its members in order."""


class TeamStep(ConcatStep[Team]):
    """Teams. Ranks are in the order of the locations."""

    def __init__(self, builders: Sequence[MapsBuilder], definitions: Definitions) -> None:
        self._definitions = definitions
        self._teams = [(builder, teams) for builder in builders if (teams := _members(builder.process))]
        self.own = {builder.process.number: _named(builder.process, teams) for builder, teams in self._teams}

    def define(self, everyone: dict[int, list[Team]]) -> int:
        definitions = self._definitions
        base = len(definitions.comms)
        locations = sorted({one for teams in everyone.values() for _, team in teams for one in team})
        if not locations:
            return base
        places = {location: number for number, location in enumerate(locations)}
        definitions.comm_groups.append(Group("COMM_LOCATIONS", _OPENMP, "", np.array(locations, np.uint64)))
        for name, members in (team for teams in everyone.values() for team in teams):
            ranks = np.array([places[location] for location in members], np.uint64)
            definitions.comm_groups.append(Group("COMM_GROUP", _OPENMP, "", ranks))
            definitions.comms.append(Comm(name, len(definitions.comm_groups) - 1))
        return base

    def fill(self, firsts: dict[int, int]) -> None:
        """Sets the teams of this rank's processes."""
        for builder, teams in self._teams:
            maps, process = builder.maps, builder.process
            maps.teams = table({team: firsts[process.number] + i for i, team in enumerate(teams)})
            sizes = np.array([len(teams.get(team, ())) for team in range(len(maps.teams))], np.uint32)
            maps.team_first = (np.cumsum(sizes) - sizes).astype(np.uint32)
            members = [(team, *member) for team, known in teams.items() for member in known.items()]
            maps.team_members = np.array([location for _, _, location in members], np.uint32)
            joined = [process.definitions.teams[team, number].joined for team, number, _ in members]
            maps.team_joined = np.array(joined, np.uint64)


def _members(process: Process) -> dict[int, dict[int, int]]:
    """Returns the OTF2 locations by team and location number, without locations that have no events."""
    known = process.locations
    found: dict[int, dict[int, int]] = {}
    for team, location in sorted(process.definitions.teams, key=lambda key: (key[0], known.get(key[1], 0))):
        if location in known:
            found.setdefault(team, {})[location] = known[location]
    return found


def _named(process: Process, teams: dict[int, dict[int, int]]) -> list[Team]:
    creators: dict[int, int] = {}
    for (team, _), member in process.definitions.teams.items():
        creators.setdefault(team, member.creator)
    by = {team: f"thread {creators[team]}" if creators[team] else "the master thread" for team in teams}
    return [(f"OpenMP team of {by[team]} of {process.label}", [*known.values()]) for team, known in teams.items()]


def add_threads(system: System, definitions: Definitions) -> list[int]:
    """Adds the thread contingent of each process with events of threads. Returns the communicators of all processes,
    UNMAPPED for none.

    Like Score-P, one group lists all locations; the group of a process has indices into that list.
    """
    found = []
    members = [
        place.first + np.setdiff1d(np.arange(len(about.threads) * about.has_thread_events), [*about.streams])
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
