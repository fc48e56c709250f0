# SPDX-License-Identifier: BSD-3-Clause
"""VT_GROUPS_SPEC: groups of regions from the run's file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from vtrace.io.archive.writer import Definitions, Group
from vtrace.unify.merge.dedup import EqualStep
from vtrace.unify.model.process import Process

_COMPILER = 2  # OTF2_PARADIGM_COMPILER
_ARGUMENTS = re.compile(r"\([^()]*\)(?: const)?$")


class SpecGroupStep(EqualStep[str]):
    """Groups of the run's file with at least one region, in the file's order. Most processes read the same file."""

    def __init__(self, processes: Sequence[Process], definitions: Definitions) -> None:
        super().__init__(processes, lambda process: {0: str(process.definitions.properties.get("groups", ""))})
        self._definitions = definitions

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
