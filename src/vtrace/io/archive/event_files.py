# SPDX-License-Identifier: BSD-3-Clause
"""Checks that all event files of an archive exist and are complete."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vtrace.io.archive.properties import PROPERTY, parsed
from vtrace.io.packed.opened import packed_of

if TYPE_CHECKING:
    from vtrace.io.common.arrays import Array

EVENT_BYTES = "EVENT_BYTES"
"""The property with the total bytes of all event files."""
_NAMED = 3
"""Maximum number of missing files to name."""


def event_bytes(folder: Path) -> dict[str, int]:
    """The size of each event file in an archive's folder, by name; empty if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".evt")}
    except OSError:
        return {}


def damage(anchor: Path, properties: Mapping[str, str], ids: Array, events: Array) -> list[str]:
    """Describes missing files, one line for each kind of damage. properties: of the archive, by full names; ids,
    events: (locations,) OTF2's ids, and the numbers of events in the definitions.

    Finds a cut file only in archives of vtunify, which have a property with the bytes of all files.
    """
    if (packed := packed_of(anchor)) is not None:
        return packed.problems
    sizes = event_bytes(anchor.with_suffix(""))
    lost = [number for number in ids[events > 0].tolist() if f"{number}.evt" not in sizes]
    if lost:
        names = ", ".join(f"{number}.evt" for number in lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
        return [f"{len(lost):,} event {'files' if len(lost) > 1 else 'file'} missing in the archive ({names})"]
    expected = parsed(EVENT_BYTES, properties.get(PROPERTY + EVENT_BYTES, "null"), [])
    found = sum(sizes.values())
    if expected is not None and found != expected:
        return [f"the archive's event files have {found:,} bytes, but had {expected:,} when they were written"]
    return []
