# SPDX-License-Identifier: BSD-3-Clause
"""Makes an OTF2 archive of a packed one: the same files that vtunify writes without --packed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vtrace.console import Console
from vtrace.errors import VtraceError
from vtrace.io.archive.event_files import EVENT_BYTES
from vtrace.io.archive.packed_events import definition_chunk, write_events
from vtrace.io.archive.properties import PROPERTY, read_properties
from vtrace.io.archive.reader import Reader
from vtrace.io.archive.writer import Archive
from vtrace.io.common.names import ANCHOR
from vtrace.io.packed.opened import Packed
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.samples_archive import place
from vtrace.transform.new_archive import new_archive

_EVENTS = (PROPERTY + EVENT_BYTES).encode()


class Unpacked(NamedTuple):
    """The new archive. problems: a line for each location that is damaged or cut."""

    path: Path
    locations: int
    problems: Sequence[str]


def unpack(packed: Packed, output: Path, console: Console, threads: int) -> Unpacked:
    """Writes the new directory output. Raises VtraceError."""
    ids = packed.index.locations["id"].tolist()
    total = sum(map(packed.bytes_of, ids))
    problems = list(packed.problems)
    with new_archive(output) as archive, console.steps("events", total, "bytes") as advance:
        found = write_events(packed, archive, ids, packed.has_samples(packed.anchor), threads=threads, advance=advance)
        identities = _finish(archive, packed.anchor)
        inner = place(packed.folder) / ANCHOR
        if inner.is_file():
            within = Archive(place(archive.directory))
            found += write_events(packed, within, ids, packed.has_samples(inner), threads=threads)
            _finish(within, inner, identities)
    return Unpacked(output, len(ids), [*problems, *sorted(set(found))])


def _finish(archive: Archive, source: Path, outer: tuple[str, str] | None = None) -> tuple[str, str]:
    """Completes the archive with the definitions and tables of source (an anchor file); returns both identities.
    outer: those of the archives around them."""
    size = archive.finish_events(definition_chunk(source))
    try:
        for name in ("traces.def", "traces.marker"):
            if (path := source.with_name(name)).is_file():
                (archive.directory / name).write_bytes(path.read_bytes())
        anchor = _with_event_bytes(source, size)
        if outer:
            anchor = anchor.replace(outer[0].encode(), outer[1].encode())
        (archive.directory / ANCHOR).write_bytes(anchor)
    except OSError as error:
        raise VtraceError(f"{archive.directory}: cannot write the archive: {error.strerror}") from error
    identities = _identity(source), _identity(archive.directory / ANCHOR)
    for path in sorted((source.parent / sidecar.FOLDER).glob("*")):
        if path.is_file():
            sidecar.write_for(path, archive.directory, identities)
    return identities


def _with_event_bytes(anchor: Path, size: int) -> bytes:
    """The anchor file with the bytes of all event files, which only the unpacked archive has: texts end with a 0."""
    data, before = anchor.read_bytes(), _EVENTS + b"\0000\0"
    if data.count(before) != 1:
        raise VtraceError(f"{anchor.name} of the packed archive does not have the property {_EVENTS.decode()}")
    return data.replace(before, _EVENTS + b"\0" + str(size).encode() + b"\0")


def _identity(anchor: Path) -> str:
    with Reader(anchor) as reader:
        return sidecar.identity(anchor, read_properties(reader.handle, anchor).texts)
