# SPDX-License-Identifier: BSD-3-Clause
"""What the local files of a run say was recorded and lost, to compare with what was made. Uncompressed files only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from support import words
from vtrace.io import records


@dataclass
class Ledger:
    """Over all locations of a prefix."""

    kinds: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    """Events that LOST records tell of, by reason."""
    lost: int = 0
    """Events that the summaries tell of."""

    @property
    def functions(self) -> int:
        return self.kinds["FUNCTION_ENTER"] + self.kinds["FUNCTION_LEAVE"]


def ledger(directory: Path, prefix: str) -> Ledger:
    found = Ledger()
    for path in directory.glob(f"{prefix}.*.events"):
        for record in words.events(path):
            found.kinds[record.kind] += 1
            if record.kind == "LOST":
                found.told[records.LOST_REASONS[record.id]] += record.payload[0]
    for path in directory.glob(f"{prefix}.*.def"):
        summaries = {d[1]: d for d in words.definitions(path) if d[0] == records.DEFINITIONS["SUMMARY"]}
        found.lost += sum(summary[3] for summary in summaries.values())
    return found
