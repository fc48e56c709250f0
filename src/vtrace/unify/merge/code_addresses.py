# SPDX-License-Identifier: BSD-3-Clause
"""Names of addresses in the code: regions of OpenMP constructs, named by source line like Score-P's, else by the
function around them; regions of Fortran programs; and the texts of call sites, function@file:line for each call."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np

from vtrace.io.local.records import FRAME_PYTHON
from vtrace.io.sidecar.sidecar import PYTHON
from vtrace.symbols.demangle import is_outlined, outlined_of, readable
from vtrace.symbols.modules import File, Place, places
from vtrace.symbols.stack_frames import CallFrame, PlaceFrames, find_frames
from vtrace.symbols.symbols import Function, Symbols, by_file, variables
from vtrace.symbols.tail_calls import jumps_between
from vtrace.unify.model.process_definitions import LocalRegion, ProcessDefinitions, RegionAt
from vtrace.unify.model.python_frames import PythonFrames

_FUNCTION = 1  # OTF2_REGION_ROLE_FUNCTION
_USER = 1  # OTF2_PARADIGM_USER
_FORTRAN = {"for": "do"}
"""Names of constructs in Fortran."""
_BETWEEN = " <- "
_FIRST = {"main", "MAIN__"}
"""Functions whose callers are left out."""
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


def name_call_sites(definitions: Sequence[ProcessDefinitions], symbols: Symbols) -> None:
    """Adds the texts of call sites to the texts of each process."""
    found: list[dict[int, list[Place | CallFrame]]] = []
    definitions = [known for known in definitions if known.call_sites]
    for known in definitions:
        calls = {address for stack in known.call_sites.values() for address in stack}
        addresses = sorted(address for address in calls if not address & FRAME_PYTHON)
        where = places(known.modules, np.empty(0, np.uint32), np.array(addresses, np.uint64))
        python = PythonFrames(known.python_codes)
        at = {call: python.of(call) for call in calls if call & FRAME_PYTHON} | dict(zip(addresses, where, strict=True))
        found.append({number: [at[address] for address in stack] for number, stack in known.call_sites.items()})
    stacks = [stack for sites in found for stack in sites.values()]
    wanted = {call for stack in stacks for call in stack if isinstance(call, Place)}
    symbols.find_statements(wanted)
    wanted |= _add_jumps(stacks, symbols)
    symbols.resolve(wanted)
    frames = find_frames(symbols, (place for place in wanted if _is_of_user(place, symbols)), with_loops=False)
    for known, sites in zip(definitions, found, strict=True):
        known.texts = known.texts | {number: _text(stack, symbols, frames) for number, stack in sites.items()}


def _add_jumps(stacks: Sequence[list[Place | CallFrame]], symbols: Symbols) -> set[Place]:
    """Adds the calls that the compiler has made jumps, which leave no return address; returns their places, with known
    lines."""
    pairs: dict[File, set[tuple[int, int | None]]] = defaultdict(set)
    for stack in stacks:
        for place, callee in zip(stack, [None, *stack], strict=False):
            if isinstance(place, Place) and place.file and _is_of_user(place, symbols):
                pairs[place.file].add((place.address, _in_file(callee, place.file)))
    known = {file: symbols.with_file(file, partial(jumps_between, path=file[0], calls=pairs[file])) for file in pairs}
    added: set[Place] = set()
    for stack in stacks:
        for i, place in reversed([*enumerate(stack)]):
            if isinstance(place, Place) and place.file and (jumps := known.get(place.file)):
                below = _in_file(stack[i - 1] if i else None, place.file)
                stack[i:i] = [Place(place.file, at) for at in reversed(jumps.get((place.address, below), ()))]
                added.update(call for call in stack if isinstance(call, Place))
    symbols.find_statements(added - symbols.statements.keys())
    return added


def _in_file(call: Place | CallFrame | None, file: File) -> int | None:
    return call.address if isinstance(call, Place) and call.file == file else None


def name_variables(definitions: Sequence[ProcessDefinitions], symbols: Symbols) -> None:
    """Adds the names of variables, name@file:line, to the texts of each process; "" for those without a symbol."""
    definitions = [known for known in definitions if known.data_sites]
    sites: list[dict[int, Place]] = []
    for known in definitions:
        of_code = places(known.modules, np.empty(0, np.uint32), np.array([*known.data_sites.values()], np.uint64)[:, 0])
        moved = zip(known.data_sites.items(), of_code, strict=True)
        sites.append({n: Place(code.file, code.address + at - where) for (n, (where, at)), code in moved})
    found: dict[Place, Function] = {}
    for file, addresses in by_file(place for one in sites for place in one.values()):
        of_file = symbols.with_file(file, partial(variables, path=file[0], addresses=addresses))
        found |= {Place(file, address): variable for address, variable in (of_file or {}).items()}
    for known, one in zip(definitions, sites, strict=True):
        known.texts = known.texts | {n: _variable(found.get(place)) for n, place in one.items()}


def _variable(variable: Function | None) -> str:
    if variable is None:
        return ""
    return f"{variable.name}@{variable.file}:{variable.line}" if variable.file else variable.name


def _is_of_user(place: Place, symbols: Symbols) -> bool:
    """True for code of the user, and of headers that is inlined there; distributions build libraries with relative
    paths."""
    at = symbols.statements.get(place)
    return bool(at and at.file and os.path.isabs(at.file))


def _text(stack: Sequence[Place | CallFrame], symbols: Symbols, known: PlaceFrames) -> str:
    """The text of a call site. known: the frames of places with a line, with the functions that are inlined there."""
    words = []
    for place in stack:
        if isinstance(place, CallFrame):
            words.append(f"{PYTHON}{place.function.name}@{place.file or ''}:{place.line}")
            continue
        name, file, line = symbols.call_at(place)
        symbol = symbols.functions[place].canonical
        if is_outlined(symbol):
            at = symbols.statements.get(place)
            name = readable(outlined_of(symbol), fortran=bool(at and at.fortran))
        frames = known.get(place, ())
        if frames and all(frame.file for frame in frames):
            around, *inlined = frames
            words += [f"{frame.function.name}@{frame.file}:{frame.line}" for frame in reversed(inlined)]
            words.append(f"{name}@{around.file}:{around.line}")
        else:
            module = os.path.basename(place.file[0]) if place.file else ""
            words.append(f"{name}@{file}:{line}" if file else f"{name}@{module}+{place.address:#x}")
        if symbol in _FIRST:
            break
    return _BETWEEN.join(words)
