# SPDX-License-Identifier: BSD-3-Clause
"""Writes a packed archive: the definitions, the sidecar, and the blocks of the local files with the tables of their
processes (vtrace.io.packed)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from vtrace.errors import VtraceError
from vtrace.io.common.schema import declare, library
from vtrace.io.local import records
from vtrace.io.local.index import CHUNK_FORM, SHORTEST_HEAD
from vtrace.io.local.local_files import Stream
from vtrace.io.local.maps import Maps
from vtrace.io.local.starts import Starts
from vtrace.io.packed import container
from vtrace.io.packed.container import HEAP, LOCATION, Index, NewPart, Plan
from vtrace.io.packed.process_part import ProcessPart
from vtrace.parallel.ranks import Ranks
from vtrace.unify.model.process import Process, Run
from vtrace.unify.writing.output import PACKED_FILE

_OWN = ".part"
"""Ending of the files in which ranks leave the blocks of their processes."""
_AT_ONCE = 1024
"""The number of blocks to pack at once."""
_KNOTS = np.array([0, 1], np.uint64)
_NO_EVENTS = ProcessPart(common=Maps(knot_ticks=_KNOTS, knot_ns=_KNOTS, unknown_region=0))
"""The tables of a process without events, as of VT_MODE=PROFILE: nothing reads them."""
declare(library(), {"vt_kernel_pack": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p])})


class _Place(NamedTuple):
    """Bytes in the file of a rank."""

    at: int
    stored: int


class _Packed(NamedTuple):
    """A process in the file of a rank. blocks: for each location its events and its samples."""

    rank: int
    part: _Place
    locations: list[tuple[int, int, _Place, _Place]]
    checksum: int


def pack(
    run: Run, starts: Mapping[int, Starts], directory: Path, *, heap_class: int, samples: bool, ranks: Ranks
) -> None:
    """Writes PACKED_FILE in the directory of a finished archive without events; all ranks call pack. starts: of this
    rank's locations, by OTF2's id; heap_class: as of write_events; samples: the events include samples. Raises
    VtraceError."""
    own = ranks.together(lambda: _own_part(run, starts, directory, ranks.rank))
    processes = ranks.gather(own)
    ranks.first(lambda: _join(processes, directory, heap_class, samples))


def _own_part(run: Run, starts: Mapping[int, Starts], directory: Path, rank: int) -> dict[int, _Packed]:
    """Writes the blocks and tables of this rank's processes; returns their places by number of the process."""
    path = directory / f"{rank}{_OWN}"
    found = {}
    try:
        with path.open("xb") as file:
            for process in run.processes:
                if process.maps is not None:
                    found[process.number] = _write_process(file, process, starts, rank)
    except OSError as error:
        raise VtraceError(f"{directory}: cannot write the packed archive: {error.strerror}") from error
    return found


def _write_process(file: IO[bytes], process: Process, starts: Mapping[int, Starts], rank: int) -> _Packed:
    maps = process.maps
    assert maps is not None
    locations: list[tuple[int, int, _Place, _Place]] = []
    offsets = {}
    for number, id in process.locations.items():
        with process.events(number) as (events, samples):
            place, begins = _write_blocks(file, events)
            sampled, _ = _write_blocks(file, samples if maps.samples is not None else None)
            if id in starts:
                offsets[number] = begins[starts[id].rows["row"]]
        locations.append((id, number, place, sampled))
    if process.place.heap is not None:
        locations.append((process.place.heap, HEAP, _Place(0, 0), _Place(0, 0)))
    part = ProcessPart(
        common=maps.common,
        samples=maps.samples,
        contexts=maps.contexts,
        user_peers=maps.user_peers,
        starts={number: starts[id] for number, id in process.locations.items() if number in offsets},
        offsets=offsets,
    )
    has_events = any(place.stored for _, _, *places in locations for place in places)
    data = part.data() if has_events else _NO_EVENTS.data()
    at = file.tell()
    file.write(data)
    return _Packed(rank, _Place(at, len(data)), locations, records.checksum(0, data))


def _write_blocks(file: IO[bytes], stream: Stream | None) -> tuple[_Place, Any]:
    """Returns also the byte at which each block begins in it."""
    begin, sizes = file.tell(), [0]
    for data, some in _packed(stream) if stream is not None else ():
        file.write(data)
        sizes += some
    return _Place(begin, file.tell() - begin), np.cumsum(sizes, dtype=np.uint64)


def _packed(stream: Stream) -> Iterator[tuple[bytes, list[int]]]:
    """The blocks of a stream as blocks of a packed archive, some at a time, and their sizes."""
    for first in range(0, len(stream.index), _AT_ONCE):
        rows = stream.index[first : first + _AT_ONCE].copy()
        keep = []
        for row in np.flatnonzero(rows["form"] == CHUNK_FORM):
            block = _block_of_chunk(rows[row])
            keep.append(block)
            head = np.frombuffer(block, records.BLOCK, 1)[0]
            rows["form"][row], rows["stored_bytes"][row], rows["nopen"][row] = 0, head["stored_bytes"], head["nopen"]
            rows["address"][row] = np.frombuffer(block, np.uint8).ctypes.data
        sizes = SHORTEST_HEAD + 8 * rows["nopen"].astype(np.int64) + rows["stored_bytes"]
        room = ctypes.create_string_buffer(int(sizes.sum()))
        library().vt_kernel_pack(rows.ctypes.data, len(rows), room)
        yield room.raw, sizes.tolist()


def _block_of_chunk(row: Any) -> bytes:
    """A chunk of a left-over buffer as a block."""
    chunk = np.frombuffer(ctypes.string_at(int(row["address"]), records.CHUNK.itemsize), records.CHUNK)[0]
    raw = ctypes.string_at(int(row["address"]) + records.CHUNK_DATA, int(row["raw_bytes"]))
    stored = container.packed(raw)
    head = np.zeros((), records.BLOCK)
    for name in ("content", "raw_bytes", "location", "sequence", "thread", "records", "classes", "depth", "ticks",
                 "end_ticks", "lost", "dropped", "pair"):  # fmt: skip
        head[name] = row[name]
    head["nopen"], head["open"] = chunk["nopen"], chunk["open"]
    head["magic"], head["version"] = records.BLOCK_MAGIC, records.FORMAT_VERSION
    head["codec"], head["stored_bytes"] = records.CODEC_ZSTD, len(stored)
    head["checksum"] = records.block_checksum(head.tobytes(), stored)
    return head.tobytes() + stored


def _join(processes: Mapping[int, _Packed], directory: Path, heap_class: int, samples: bool) -> None:
    """Joins the small files of the archive and the files of all ranks."""
    plan = Plan()
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and path.suffix != _OWN)
    # Definitions come first: a cut file still has them.
    files = {str(path.relative_to(directory)): plan.pack(path.read_bytes()) for path in paths}
    ordered = [one for _, one in sorted(processes.items())]
    sources = [directory / f"{one.rank}{_OWN}" for one in ordered]
    known: dict[tuple[int, int], container.Part] = {}  # equal tables are written once
    tables = []
    for one, source in zip(ordered, sources, strict=True):
        key = one.part.stored, one.checksum
        if key not in known:
            at = plan.add(NewPart(one.part.stored, source=(source, one.part.at)))
            known[key] = container.Part(at, *key)
        tables.append(known[key])
    rows = []
    for process, (one, source) in enumerate(zip(ordered, sources, strict=True)):
        for id, number, *places in one.locations:
            begins = [plan.add(NewPart(place.stored, source=(source, place.at))) for place in places]
            rows.append((id, process, number, begins[0], places[0].stored, begins[1], places[1].stored))
    index = Index(files, tables, np.array(rows, LOCATION), heap_class, samples)
    try:
        with (directory / PACKED_FILE).open("xb") as file:
            container.write(file, index, plan)
            os.fsync(file.fileno())
    except OSError as error:
        raise VtraceError(f"{directory}: cannot write the packed archive: {error.strerror}") from error
