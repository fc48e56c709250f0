# SPDX-License-Identifier: BSD-3-Clause
"""Small runs whose every definition and record a test says, unified and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.readers.archive import Trace, read
from support.synthetic_runs.local_files import Chunk, write_defs, write_events
from vtrace.console import QUIET, Console
from vtrace.io.local import records as r
from vtrace.unify.run import Request, unify

START = 1_700_000_000_000_000_000
MPI_SEND = ["REGION", 1, "MPI_Send", 4, 28, None, 0, None]


def world(rank: int, size: int) -> list[Any]:
    """MPI_COMM_WORLD as communicator 1."""
    return ["COMM", 1, r.COMM_KINDS["WORLD"], None, 0, 9, 0, size, rank, 0]


def write_rank(
    where: Path, rank: int, size: int, definitions: list[list[Any]], chunks: dict[int, list[Chunk]], **head: Any
) -> None:
    """The files of a rank under the prefix t: definitions begin with their names, chunks are by location."""
    head = {"prefix": "t", "rank": rank, "world_size": size, "pid": 100 + rank, "start": START, **head}
    arrays = [[r.DEFINITIONS[name], *values] for name, *values in [*definitions, *ending(chunks)]]
    write_defs(where / f"t.{rank + 1:x}.def.z", arrays, **head)
    for location, content in chunks.items():
        name = f"{(rank + 1) << 16 | location:x}" if location else f"{rank + 1:x}"
        write_events(where / f"t.{name}.events.z", content, **head, location=location)


def write_child(
    where: Path, parent: int, definitions: list[list[Any]], chunk: Chunk, pid: int = 200, **head: Any
) -> None:
    """The files of a process that a rank (or another child, by its pid) has forked."""
    parent_start = START if parent >= 100 and parent < 200 else START + parent
    head = {
        "prefix": "t", "rank": None, "world_size": 0, "world": 0, "pid": pid, "start": START + pid, "forked": 1,
        "parent_pid": parent, "parent_start": parent_start, **head,
    }  # fmt: skip
    arrays = [[r.DEFINITIONS[name], *values] for name, *values in [*definitions, *ending({0: [chunk]})]]
    write_defs(where / f"t.xnode1-{pid}-1.def.z", arrays, **head)
    write_events(where / f"t.xnode1-{pid}-1.events.z", [chunk], **head)


def ending(chunks: dict[int, list[Chunk]]) -> list[list[Any]]:
    return [["SUMMARY", location, 1, 0, 0, 0, 0, 0, 0, 0] for location in chunks]


def unified(where: Path) -> Trace:
    """The archive of the run, which keeps its files."""
    unify(Request(where / "t", force=True, keep=True), Console("vtunify", QUIET))
    return read(where / "u_t.trace")
