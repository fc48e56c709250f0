# SPDX-License-Identifier: BSD-3-Clause
"""The archive with the samples of a run, inside another archive that has the same events without samples.

vtunify --samples=sidecar writes both: programs that do not know calling contexts read the outer one, vtrace the inner
one. A property of the outer archive names the place, a property of the inner one the outer one's identity.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from vtrace.errors import FormatError, VtraceError
from vtrace.io.archive.overview import ANCHOR
from vtrace.io.archive.properties import PROPERTY, Properties, read_properties
from vtrace.io.archive.reader import Reader
from vtrace.io.sidecar import sidecar
from vtrace.reasons import WITHOUT_SAMPLES

IN, OF = "SAMPLES_IN", "SAMPLES_OF"
"""Names of the two properties."""
_FOLDER = "samples"


class OpenedArchive(NamedTuple):
    """The archive to read. definitions: the tables of Reader.definitions."""

    anchor: Path
    about: Properties
    definitions: Any


def place(archive: Path) -> Path:
    """The directory of the archive with samples inside an archive's directory."""
    return archive / sidecar.FOLDER / _FOLDER


def placed(name: str, identity: str = "") -> dict[str, str]:
    """The property of the outer archive (IN), or of the inner one (OF), with the identity of the outer one."""
    return {PROPERTY + name: json.dumps(identity or f"{sidecar.FOLDER}/{_FOLDER}")}


def open_with_samples(anchor: Path) -> OpenedArchive:
    """Reads the definitions of the archive with samples inside an archive; of the archive itself if there is none.

    A line in about.problems gives the reason if samples are left out. Raises FormatError.
    """
    with Reader(anchor) as reader:
        about = read_properties(reader.handle, anchor)
        if IN in about.vtrace:
            try:
                return _inside(anchor, about)
            except VtraceError as error:
                about.problems.append(f"{WITHOUT_SAMPLES}: {error}")
        return OpenedArchive(anchor, about, reader.definitions())


def _inside(anchor: Path, about: Properties) -> OpenedArchive:
    inner = place(anchor.parent) / ANCHOR
    if not inner.is_file():
        raise FormatError(f"{inner.parent} is missing")
    with Reader(inner) as reader:
        found = read_properties(reader.handle, inner)
        if found.vtrace.get(OF) != sidecar.identity(anchor, about.texts):
            raise FormatError(f"{inner.parent} belongs to another archive")
        return OpenedArchive(inner, found, reader.definitions())
