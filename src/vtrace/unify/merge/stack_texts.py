# SPDX-License-Identifier: BSD-3-Clause
"""Turns the stack of addresses of a call site into a text: function@file:line for each call."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from vtrace.symbols.modules import Place, places
from vtrace.symbols.symbols import Symbols
from vtrace.unify.model.process_definitions import ProcessDefinitions

_BETWEEN = " <- "
_FIRST = {"main", "MAIN__"}
"""Functions whose callers are left out."""


def name_call_sites(definitions: Sequence[ProcessDefinitions], symbols: Symbols) -> None:
    """Adds the texts of call sites to the texts of each process."""
    found: list[dict[int, list[Place]]] = []
    definitions = [known for known in definitions if known.call_sites]
    for known in definitions:
        addresses = sorted({address for stack in known.call_sites.values() for address in stack})
        where = places(known.modules, np.empty(0, np.uint32), np.array(addresses, np.uint64))
        at = dict(zip(addresses, where, strict=True))
        found.append({number: [at[address] for address in stack] for number, stack in known.call_sites.items()})
    wanted = {place for sites in found for stack in sites.values() for place in stack}
    symbols.resolve(wanted)
    symbols.find_statements(wanted)
    for known, sites in zip(definitions, found, strict=True):
        known.texts = known.texts | {number: _text(stack, symbols) for number, stack in sites.items()}


def _text(stack: Sequence[Place], symbols: Symbols) -> str:
    words = []
    for place in stack:
        name, file, line = symbols.call_at(place)
        module = os.path.basename(place.file[0]) if place.file else ""
        words.append(f"{name}@{file}:{line}" if file else f"{name}@{module}+{place.address:#x}")
        if symbols.functions[place].canonical in _FIRST:
            break
    return _BETWEEN.join(words)
