# SPDX-License-Identifier: BSD-3-Clause
"""The numbers that OpenMP gives the threads of a process in their teams."""

from __future__ import annotations

from typing import NamedTuple

from vtrace.unify.model.process_definitions import ProcessDefinitions


class OpenmpThread(NamedTuple):
    """A thread number in a team that another thread forks. root: the location around all teams; path: the number, after
    those of the threads that fork the teams in between: (1, 2) is thread 2 of the team of the root's thread 1."""

    root: int
    path: tuple[int, ...]

    def __str__(self) -> str:
        return ":".join(map(str, self.path))


class _Teams:
    """The teams of a process. A function inside of a function would be a reference cycle for each process, which
    vtunify's Python, without its collector, keeps."""

    def __init__(self, definitions: ProcessDefinitions) -> None:
        self._numbers = definitions.thread_numbers
        self._creators = {team: member.creator for (team, _), member in sorted(definitions.teams.items())}
        self._of_creator: dict[int, list[int]] = {}
        for team, creator in self._creators.items():
            self._of_creator.setdefault(creator, []).append(team)  # the outer one is older
        self._found: dict[int, list[OpenmpThread]] = {}

    def threads(self, location: int) -> list[OpenmpThread]:
        """All numbers of a location that works in another location's team."""
        if location in self._found:
            return self._found[location]
        self._found[location] = []  # threads may fork teams for each other in turn
        own: set[OpenmpThread] = set()
        for team, number in self._numbers.get(location, ()):
            creator = self._creators[team]
            if creator != location:
                inner = (*[0] * self._of_creator[creator].index(team), number)
                outer = self.threads(creator) or [OpenmpThread(creator, ())]
                own |= {OpenmpThread(one.root, (*one.path, *inner)) for one in outer}
        self._found[location] = sorted(own)
        return self._found[location]


def openmp_threads(definitions: ProcessDefinitions) -> dict[int, list[OpenmpThread]]:
    """Returns all numbers of each location that works in another location's team."""
    teams = _Teams(definitions)
    return {location: known for location in sorted(definitions.thread_numbers) if (known := teams.threads(location))}


def in_order(locations: list[int], definitions: ProcessDefinitions) -> list[int]:
    """Returns the locations with OpenMP's threads in the order of their numbers, in the places that these have among
    the others. A location of several numbers stays in its place."""
    known = {one: numbers[0] for one, numbers in openmp_threads(definitions).items() if len(numbers) == 1}
    ordered = iter(sorted((one for one in locations if one in known), key=lambda one: known[one]))
    return [next(ordered) if one in known else one for one in locations]
