# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on one host each, with wrong clocks. Only the repair can detect the errors, from messages and collectives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.readers.archive import Trace
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import START, unified, world, write_rank

TimedRecord = tuple[Any, ...]
"""True time in ns, kind, id, payload."""
ZERO = 1_000_000_000


def chunk_of(records: list[TimedRecord], wrong: int, location: int = 0) -> Chunk:
    """Records on a clock that is ahead by wrong ns. Its clock pair has the same error, so unification cannot notice."""
    made = Chunk(location, 0, ZERO + wrong, pair=(ZERO + wrong, ZERO + wrong, START + wrong))
    now = 0
    for time, kind, identifier, *payload in records:
        made.record(kind, time - now, identifier, *payload)
        now = time
    return made


class Ranks:
    """threads: records by rank and location; wrong: error of the clock by rank; definitions: of every rank."""

    def __init__(
        self, where: Path, threads: list[dict[int, list[TimedRecord]]], wrong: list[int], *definitions: list[Any]
    ) -> None:
        self.where = where
        for rank, locations in enumerate(threads):
            chunks = {n: [chunk_of(records, wrong[rank], n)] for n, records in locations.items()}
            known = [world(rank, len(threads)), *definitions]
            write_rank(
                where, rank, len(threads), known, chunks, host=f"node{rank}",
                pair=(ZERO + wrong[rank], ZERO + wrong[rank], START + wrong[rank]),
            )  # fmt: skip

    def unified(self, *, repair: bool = True) -> Trace:
        return unified(self.where, repair=repair)


def times(trace: Trace, kind: str) -> dict[int, list[int]]:
    """Times of the events of a kind by location, in ns since the archive's start."""
    found: dict[int, list[int]] = {}
    for event in trace.events:
        if event.kind == kind:
            found.setdefault(event.location, []).append(event.time - trace.offset)
    return found


def repair_of(trace: Trace) -> dict[str, int]:
    """The repair's account in the archive's properties."""
    found: dict[str, int] = json.loads(trace.properties["VTRACE::CLOCKS"])["repair"]
    return found
