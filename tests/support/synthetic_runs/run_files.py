# SPDX-License-Identifier: BSD-3-Clause
"""Writes local files of synthetic processes with chosen definitions and records. two_ranks.py, whole_run.py,
every_kind.py and wrong_clocks.py use it."""

from __future__ import annotations

from collections.abc import Sequence
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


def rank_head(rank: int, size: int, prefix: str, **more: Any) -> dict[str, Any]:
    """Fields of the heads of a rank's files, in addition to the defaults of write_head."""
    return {"prefix": prefix, "rank": rank, "world_size": size, "pid": 100 + rank, "start": START, **more}


def rank_name(rank: int, location: int = 0) -> str:
    """The part of file names that identifies a rank's location."""
    return f"{(rank + 1) << 16 | location:x}" if location else f"{rank + 1:x}"


def arrays(definitions: Sequence[list[Any]]) -> list[list[Any]]:
    """Replaces the name at the start of each definition by its number."""
    return [[r.DEFINITIONS[name], *values] for name, *values in definitions]


def write_files(
    where: Path, names: dict[int, str], definitions: list[list[Any]], chunks: dict[int, list[Chunk]], **head: Any
) -> None:
    """Writes the def file of a process's main thread, and the events of each location. names: of files by location."""
    write_defs(where / f"{head['prefix']}.{names[0]}.def.z", definitions, **head)
    for location, content in chunks.items():
        path = where / f"{head['prefix']}.{names[location]}.events.z"
        write_events(path, content, **{**head, "location": location})


def write_rank(
    where: Path, rank: int, size: int, definitions: list[list[Any]], chunks: dict[int, list[Chunk]], **head: Any
) -> None:
    """Writes the files of a rank that ended normally, with prefix t. definitions: begin with their names."""
    names = {location: rank_name(rank, location) for location in {0, *chunks}}
    head = rank_head(rank, size, "t", **head)
    write_files(where, names, arrays([*definitions, *ending(chunks)]), chunks, **head)


def write_child(
    where: Path, parent: int, definitions: list[list[Any]], chunk: Chunk, pid: int = 200, **head: Any
) -> None:
    """Writes the files of a forked process. parent: a rank, or the pid of another child."""
    parent_start = START if parent >= 100 and parent < 200 else START + parent
    head = {
        "prefix": "t", "rank": None, "world_size": 0, "world": 0, "pid": pid, "start": START + pid, "forked": 1,
        "parent_pid": parent, "parent_start": parent_start, **head,
    }  # fmt: skip
    chunks = {0: [chunk]}
    write_files(where, {0: f"xnode1-{pid}-1"}, arrays([*definitions, *ending(chunks)]), chunks, **head)


def ending(chunks: dict[int, list[Chunk]]) -> list[list[Any]]:
    return [["SUMMARY", location, 1, 0, 0, 0, 0, 0, 0, 0] for location in chunks]


def unified(where: Path, **options: Any) -> Trace:
    """Unifies the run with prefix t, keeps its files, and reads the archive. options: of vtrace.unify.run.Request."""
    unify(Request(prefix=where / "t", force=True, keep=True, **options), Console("vtunify", QUIET))
    return read(where / "u_t.trace")
