# SPDX-License-Identifier: BSD-3-Clause
"""Checks that all files of events of an archive are still there, and whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vtrace.io.archive.properties import PROPERTY, parsed

if TYPE_CHECKING:
    from vtrace.io.archive.ids import Array

EVENT_BYTES = "EVENT_BYTES"
"""The property with the bytes of all files of events together."""
_NAMED = 3
"""The most missing files to name."""


def event_bytes(folder: Path) -> dict[str, int]:
    """The size of each file of events in an archive's folder, by name; none if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".evt")}
    except OSError:
        return {}


def damage(anchor: Path, properties: Mapping[str, str], ids: Array, events: Array) -> list[str]:
    """Describes missing files, one line for each kind of damage. properties: of the archive, by whole names; ids,
    events: (locations,) OTF2's ids, and the numbers of events in the definitions.

    A cut file is noticed in archives of vtunify only: a property of theirs has the bytes of all files.
    """
    sizes = event_bytes(anchor.with_suffix(""))
    lost = [number for number in ids[events > 0].tolist() if f"{number}.evt" not in sizes]
    if lost:
        names = ", ".join(f"{number}.evt" for number in lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
        return [f"{len(lost):,} {'files' if len(lost) > 1 else 'file'} of events missing in the archive ({names})"]
    told = parsed(EVENT_BYTES, properties.get(PROPERTY + EVENT_BYTES, "null"), [])
    found = sum(sizes.values())
    if told is not None and found != told:
        return [f"the archive's files of events have {found:,} bytes, and had {told:,} when they were written"]
    return []
