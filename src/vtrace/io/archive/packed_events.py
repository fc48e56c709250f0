# SPDX-License-Identifier: BSD-3-Clause
"""Writes the events of a packed archive as the event files of an OTF2 archive, which are those of vtunify."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from vtrace.errors import FormatError
from vtrace.io.archive.reader import Reader
from vtrace.io.archive.writer import NAME, Archive
from vtrace.io.local.kernel import Kernel
from vtrace.io.packed.opened import Packed, packed_of
from vtrace.parallel.ranks import ALONE, work_on


def write_events(
    packed: Packed, archive: Archive, ids: Sequence[int], samples: bool, *, threads: int,
    advance: Callable[[int], None] = lambda _: None,
) -> list[str]:  # fmt: skip
    """Writes the events of locations (OTF2's ids). samples: into an archive with samples. advance: gets the bytes of
    blocks that were read since its last call. Returns a line for each location that is damaged or cut, whose events
    before the damage are written."""
    kernel, problems = Kernel(), list[str]()

    def write(id: int) -> None:
        with archive.event_writer(id) as writer:
            try:
                problems.extend(_write_location(kernel, packed, id, writer, samples=samples))
            except FormatError as error:
                problems.append(str(error.args[0]))

    work_on(ALONE, threads, items=ids, work=write, weigh=packed.bytes_of, advance=advance)
    return sorted(problems)


def _write_location(kernel: Kernel, packed: Packed, id: int, writer: int | None, *, samples: bool) -> list[str]:
    """Returns the problems of its blocks. Raises FormatError for damage."""
    if (heap := packed.heap(id)) is not None:
        streams, maps = heap
        kernel.heap(writer, streams, maps, packed.index.heap_class)
        return [problem for stream in streams for problem in stream.problems]
    found = packed.location(id, samples)
    if found is None:
        return []
    kernel.transcode(writer, found.events, maps=found.maps, sampled=found.sampled)
    both = (found.events, found.sampled.stream if found.sampled else None)
    return [problem for stream in both if stream for problem in stream.problems]


def definition_chunk(anchor: Path) -> int:
    """The size of the chunks of an archive's definitions."""
    with Reader(anchor) as reader:
        return reader.chunk_sizes()[1]


def lay_out_events(anchor: Path, ids: Sequence[int], threads: int = 1) -> None:
    """Writes the event files of locations of a packed archive beside its anchor file, for a reader that needs files;
    does nothing for other archives. Raises VtraceError."""
    packed = packed_of(anchor)
    if packed is None:
        return
    folder = anchor.with_suffix("")
    missing = [id for id in ids if not (folder / f"{id}.evt").exists()]
    if not missing:
        return
    archive = Archive(packed.folder / f"events-{missing[0]}")
    write_events(packed, archive, missing, packed.has_samples(anchor), threads=threads)
    archive.finish_events(definition_chunk(anchor))
    folder.mkdir(exist_ok=True)
    for path in (archive.directory / NAME).iterdir():
        path.rename(folder / path.name)
    shutil.rmtree(archive.directory, ignore_errors=True)
