# SPDX-License-Identifier: BSD-3-Clause
"""Regions defined by an address in the code: OpenMP constructs, named by source line like Score-P's, else by
the function around them; and regions of Fortran programs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from vtrace.symbols.modules import Place, places
from vtrace.symbols.symbols import Symbols
from vtrace.unify.model.process_definitions import LocalRegion, ProcessDefinitions, RegionAt

_FUNCTION = 1  # OTF2_REGION_ROLE_FUNCTION
_USER = 1  # OTF2_PARADIGM_USER
_FORTRAN = {"for": "do"}
"""Names of constructs in Fortran."""


_NONE: dict[int, Place] = {}


def constructs(definitions: Sequence[ProcessDefinitions], symbols: Symbols) -> list[dict[int, LocalRegion]]:
    """Returns for each process the regions that are defined by an address, by local id."""
    found: list[dict[int, Place]] = []
    for known in definitions:
        if not known.regions_at:
            found.append(_NONE)
            continue
        addresses = np.array([region.address for region in known.regions_at.values()], np.uint64)
        where = places(known.modules, np.empty(0, np.uint32), addresses)
        found.append(dict(zip(known.regions_at, where, strict=True)))
    symbols.find_statements(place for one in found for place in one.values())
    symbols.find_insides(place for one in found for place in one.values() if not _has_line(place, symbols))
    return [
        {number: _region(known.regions_at[number], place, symbols) for number, place in one.items()}
        for known, one in zip(definitions, found, strict=True)
    ]


def _has_line(place: Place, symbols: Symbols) -> bool:
    at = symbols.statements.get(place)
    return bool(at and at.file)


def _region(region: RegionAt, place: Place, symbols: Symbols) -> LocalRegion:
    at = symbols.statements.get(place)
    if region.paradigm == _USER and at:
        return LocalRegion(region.name, region.paradigm, role=region.role, file=at.file, line=at.line if at.file else 0)
    if region.role == _FUNCTION:
        return LocalRegion(region.name, region.paradigm, role=region.role, file=None, line=0)
    name = _FORTRAN.get(region.name, region.name) if at and at.fortran else region.name
    if at and at.file:
        where = f" @{os.path.basename(at.file)}:{at.line}"
        return LocalRegion(f"!$omp {name}{where}", region.paradigm, role=region.role, file=at.file, line=at.line)
    where = f"{os.path.basename(place.file[0])}+{place.address:#x}" if place.file else ""
    where = symbols.insides.get(place, where)
    where = f" @{where}" if where else ""
    return LocalRegion(f"!$omp {name}{where}", region.paradigm, role=region.role, file=None, line=0)
