# SPDX-License-Identifier: BSD-3-Clause
"""Local files of a run of two ranks: the first sends a message to the second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.readers.archive import Trace, read
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import START, arrays, rank_head, rank_name, world, write_files
from vtrace.console import QUIET, Console
from vtrace.unify.run import Request, WrittenArchive, unify

SEND, RECV, WORK = 1, 2, 3


def clock(start: int = 0) -> tuple[int, int, int]:
    return (1000 + start, 1000 + start, START + start)


def define(rank: int, size: int, *, location: int = 0, ended: bool = True) -> list[list[Any]]:
    """Definitions of one location. A rank's main thread also defines the objects that its process shares."""
    shared = [
        ["PROPERTY", "command", ["./heat", "100"]], ["PROPERTY", "setting.VT_MAX_FLUSHES", "1"],
        ["REGION", SEND, "MPI_Send", 4, 28, None, 0], ["REGION", RECV, "MPI_Recv", 4, 28, None, 0],
        ["REGION", WORK, "work", 1, 1, "heat.c", 12],
        world(rank, size),
    ]  # fmt: skip
    end = [["LOCATION", location, 100, None, 1000], ["SUMMARY", location, 2, 0, 0, 0, 0, 0, 2000, 0]]
    return arrays(([] if location else shared) + (end if ended else []))


def message(rank: int) -> Chunk:
    """Rank 0 sends 8 bytes to rank 1 in work."""
    region, kind, peer, at = (SEND, "SEND", 1, 100) if rank == 0 else (RECV, "RECV", 0, 300)
    chunk = Chunk(ticks=1000, pair=clock()).record("ENTER", 10, WORK).record("ENTER", at, region)
    return chunk.record(kind, 5, 1, peer | 77 << 32, 8).record("LEAVE", 5, region).record("LEAVE", 100, WORK)


def head(rank: int, size: int, **more: Any) -> dict[str, Any]:
    return rank_head(rank, size, "heat", **{"pair": clock(), **more})


def rank_files(directory: Path, rank: int, size: int = 2, **more: Any) -> None:
    chunks = {0: [message(rank)]}
    write_files(directory, {0: rank_name(rank)}, define(rank, size), chunks, **head(rank, size, **more))


def two_ranks(directory: Path) -> Path:
    """Writes the files of two ranks; returns their prefix."""
    for rank in range(2):
        rank_files(directory, rank)
    return directory / "heat"


def run(prefix: Path, **options: Any) -> WrittenArchive:
    return unify(Request(prefix=prefix, **options), Console("vtunify", QUIET))


def read_back(prefix: Path) -> Trace:
    return read(prefix.with_name(f"{prefix.name}.trace"))


def names(prefix: Path) -> set[str]:
    return {path.name for path in prefix.parent.iterdir()}
