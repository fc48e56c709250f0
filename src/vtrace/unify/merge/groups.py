# SPDX-License-Identifier: BSD-3-Clause
"""Groups of regions and metrics: those that programs define with the user API, and those of VT_GROUPS_SPEC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from vtrace.io.archive.writer import Definitions, Group
from vtrace.io.local.records import DEFINITIONS
from vtrace.unify.merge.steps import EqualStep, MapsBuilder, MergedDefinitions
from vtrace.unify.model.id_tables import Types, known_id, types
from vtrace.unify.model.process import Process

_USER, _COMPILER = 1, 2
"""Numbers of OTF2_Paradigm."""
_ARGUMENTS = re.compile(r"\([^()]*\)(?: const)?$")


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

    def __init__(self, builders: Sequence[MapsBuilder], definitions: Definitions) -> None:
        """builders: with regions and metrics."""
        self._builders, self._definitions = builders, definitions

    def contribute(self) -> _Groups:
        members = _GroupMembers()
        for builder in self._builders:
            process, maps = builder.process, builder.maps
            for i, ((what, local), name) in enumerate(process.definitions.members_of.items()):
                kind, ids = ("REGIONS", maps.regions) if what == DEFINITIONS["REGION"] else ("METRIC", maps.metrics)
                if (number := known_id(ids, local)) is not None:
                    members.add((kind, name), (process.number, i), {number})
        return members

    def join(self, one: _Groups, other: _Groups) -> _Groups:
        return one.join(other)

    def decide(self, everyone: _Groups) -> None:
        for (kind, name), numbers_of in everyone.in_order():
            self._definitions.named_groups.append(Group(kind, _USER, name, sorted(numbers_of)))


class SpecGroupStep(EqualStep[str]):
    """Groups of the run's file with at least one region, in the file's order. Most processes read the same file."""

    def own(self, process: Process) -> dict[int, str]:
        return {0: str(process.definitions.properties.get("groups", ""))}

    def define(self, keys: Sequence[str]) -> None:
        members: dict[str, set[int]] = {}
        names = [(region.name, _ARGUMENTS.sub("", region.name)) for region in self._definitions.regions]
        for name, pattern in _rules(keys):
            fits = _pattern(pattern).fullmatch
            found = {number for number, known in enumerate(names) if any(map(fits, known))}
            if found:
                members.setdefault(name, set()).update(found)
        for name, numbers in members.items():
            self._definitions.named_groups.append(Group("REGIONS", _COMPILER, name, sorted(numbers)))


def _rules(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in (line.partition("#")[0] for text in texts for line in text.split("\n")):
        name, equals, patterns = line.partition("=")
        if equals and name.strip():
            yield from ((name.strip(), pattern.strip()) for pattern in patterns.split(";") if pattern.strip())


def _pattern(text: str) -> re.Pattern[str]:
    """Returns the expression of a pattern with wildcards * and ? only: brackets belong to names such as operator[]."""
    return re.compile(
        "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in re.sub(r"\*+", "*", text))
    )
