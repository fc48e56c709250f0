# SPDX-License-Identifier: BSD-3-Clause
"""The functions that are inlined into recorded ones, of all processes."""

from __future__ import annotations

from collections.abc import Sequence

from vtrace.io.archive.writer import Definitions
from vtrace.short_names import short_line
from vtrace.symbols.inlined import Inlined, inlined_functions
from vtrace.symbols.modules import Place
from vtrace.symbols.symbols import Symbols

_MOST, _LONGEST = 50, 200
"""The most functions that the archive names, and characters of a name: a property is one string of limited length."""


class InlinedStep:
    """The step (parallel.exchange.Step) that adds the inlined functions to the definitions. places: of the recorded
    functions of this rank's processes."""

    def __init__(self, symbols: Symbols, places: Sequence[Place], definitions: Definitions) -> None:
        self._symbols, self._places, self._definitions = symbols, places, definitions

    def contribute(self) -> set[Inlined]:
        return {*inlined_functions(self._symbols, self._places)}

    def join(self, one: set[Inlined], other: set[Inlined]) -> set[Inlined]:
        return one | other

    def decide(self, everyone: set[Inlined]) -> None:
        recorded = {region.name for region in self._definitions.regions}
        sizes: dict[tuple[str, str], tuple[bool, int]] = {}
        for one in everyone:
            loop, size = sizes.get((one.into, one.name), (False, 0))
            if one.name not in recorded:
                sizes[one.into, one.name] = loop or one.loop, max(size, one.bytes)
        order = sorted(sizes.items(), key=lambda item: (not item[1][0], -item[1][1], item[0]))
        self._definitions.inlined = [
            {"into": short_line(into, _LONGEST), "name": short_line(name, _LONGEST), "loop": loop, "bytes": size}
            for (into, name), (loop, size) in order[:_MOST]
        ]
