# SPDX-License-Identifier: BSD-3-Clause
"""What an OTF2 archive says of itself without its events: anchor file, properties, definitions."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vtrace.errors import FormatError

PROPERTY = "VTRACE::"
ANCHOR = "traces.otf2"


@dataclass(frozen=True)
class LocationLine:
    """A location with its process and host; properties: whole numbers that vtunify gave it, without VTRACE::."""

    id: int
    name: str
    process: str
    host: str
    events: int
    properties: dict[str, int]


@dataclass(frozen=True)
class Overview:
    """An archive. start: real time of its first event in ns since the epoch, None if unknown. vtrace: its own
    properties by name, without VTRACE::; empty for archives of other tools."""

    anchor: Path
    creator: str
    machine: str
    start: int | None
    seconds: float
    locations: list[LocationLine]
    regions: int
    communicators: list[str]
    vtrace: dict[str, Any] = field(default_factory=dict)


def find_anchor(operand: Path) -> Path | None:
    """The anchor file of an archive given as its directory, its anchor file or its prefix; None: there is none."""
    if operand.suffix == ".otf2" and os.path.isfile(operand):
        return operand
    beside = [operand.with_name(f"{mark}{operand.name}.trace") for mark in ("", "u_") if operand.name]
    for directory in [operand, *beside]:
        if os.path.isfile(directory / ANCHOR):
            return directory / ANCHOR
    found = sorted(operand.glob("*.otf2")) if os.path.isdir(operand) else []
    return found[0] if len(found) == 1 else None


def read_overview(anchor: Path) -> Overview:
    """Reads all but the events. Raises FormatError when it is not an OTF2 archive that can be read."""
    import _otf2
    import otf2
    from otf2.error import Error

    from vtrace.io.kernel import Kernel
    from vtrace.io.readback import Reader

    Kernel()  # keeps libotf2 from printing what becomes an exception here
    Reader(anchor).close()  # refuses a damaged anchor file, which libotf2 alone would read for ever
    try:
        with otf2.reader.open(str(anchor)) as reader:
            definitions, clock = reader.definitions, reader.definitions.clock_properties
            names = _otf2.Reader_GetPropertyNames(reader.handle)
            texts = {name: _otf2.Reader_GetProperty(reader.handle, name) for name in names}
            return Overview(
                anchor=anchor,
                creator=_otf2.Reader_GetCreator(reader.handle),
                machine=_otf2.Reader_GetMachineName(reader.handle),
                start=None if clock.realtime_timestamp == 2**64 - 1 else clock.realtime_timestamp,
                seconds=clock.trace_length / clock.timer_resolution,
                locations=_locations(definitions),
                regions=len(definitions.regions),
                communicators=[comm.name for comm in definitions.comms],
                vtrace={n.removeprefix(PROPERTY): _value(t) for n, t in texts.items() if n.startswith(PROPERTY)},
            )
    except (_otf2.Error, Error, LookupError, ValueError) as error:
        raise FormatError(f"{anchor} cannot be read as an OTF2 archive: {error}") from error


def _locations(definitions: Any) -> list[LocationLine]:
    properties: dict[int, dict[str, int]] = {}
    for entry in definitions.location_properties:
        if entry.name.startswith(PROPERTY):
            properties.setdefault(entry.location._ref, {})[entry.name.removeprefix(PROPERTY)] = int(entry.value)
    found = []
    for location in definitions.locations:
        node = location.group.system_tree_parent
        host = node.name if node is not None else ""
        number, events = location._ref, location.number_of_events
        found.append(LocationLine(number, location.name, location.group.name, host, events, properties.get(number, {})))
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
