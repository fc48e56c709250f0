# SPDX-License-Identifier: BSD-3-Clause
"""VT_GROUPS_SPEC: the regions of the archive that the run's file puts into groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from vtrace.io.archive.writer import Definitions, Group
from vtrace.parallel.ranks import Ranks
from vtrace.unify.merge.dedup import merge_equal
from vtrace.unify.model.process import Process

_COMPILER = 2  # OTF2_PARADIGM_COMPILER
_ARGUMENTS = re.compile(r"\([^()]*\)(?: const)?$")


def add_spec_groups(processes: Sequence[Process], definitions: Definitions, ranks: Ranks) -> None:
    """Adds the groups that have a region, in the order of the file; ranks mostly have read the same one."""
    texts, _ = merge_equal(processes, ranks, lambda process: {0: str(process.definitions.properties.get("groups", ""))})
    if not ranks.root:
        return
    members: dict[str, set[int]] = {}
    names = [(region.name, _ARGUMENTS.sub("", region.name)) for region in definitions.regions]
    for name, pattern in _rules(texts):
        fits = _pattern(pattern).fullmatch
        found = {number for number, known in enumerate(names) if any(map(fits, known))}
        if found:
            members.setdefault(name, set()).update(found)
    for name, numbers in members.items():
        definitions.named_groups.append(Group("REGIONS", _COMPILER, name, sorted(numbers)))


def _rules(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in (line.partition("#")[0] for text in texts for line in text.split("\n")):
        name, equals, patterns = line.partition("=")
        if equals and name.strip():
            yield from ((name.strip(), pattern.strip()) for pattern in patterns.split(";") if pattern.strip())


def _pattern(text: str) -> re.Pattern[str]:
    """Wildcards * and ? only: brackets stand in names such as operator[]."""
    return re.compile(
        "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in re.sub(r"\*+", "*", text))
    )
