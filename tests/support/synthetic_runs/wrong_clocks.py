# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on hosts of their own whose clocks are wrong by so many ns, which only the repair can know of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.readers.archive import Trace
from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import START, unified, world, write_rank

Record = tuple[Any, ...]
"""True time in ns, kind, id, payload."""
ZERO = 1_000_000_000


def chunk_of(records: list[Record], wrong: int, location: int = 0) -> Chunk:
    """Its clock shows wrong ns more than it is; real time is believed to be right at the first moment."""
    made = Chunk(location, 0, ZERO + wrong, pair=(ZERO + wrong, ZERO + wrong, START + wrong))
    now = 0
    for time, kind, identifier, *payload in records:
        made.record(kind, time - now, identifier, *payload)
        now = time
    return made


class Ranks:
    """threads: by rank and location what happens there; wrong: by rank; definitions: of every rank."""

    def __init__(
        self, where: Path, threads: list[dict[int, list[Record]]], wrong: list[int], *definitions: list[Any]
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
    """By location when events of a kind are, in ns since the archive's begin."""
    found: dict[int, list[int]] = {}
    for event in trace.events:
        if event.kind == kind:
            found.setdefault(event.location, []).append(event.time - trace.offset)
    return found


def told(trace: Trace) -> dict[str, int]:
    """What the archive says of the repair."""
    found: dict[str, int] = json.loads(trace.properties["VTRACE::CLOCKS"])["repair"]
    return found
