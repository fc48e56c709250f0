# SPDX-License-Identifier: BSD-3-Clause
"""Counts of recorded and lost events in uncompressed local files, to compare with the events of the program."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from support.readers import words
from vtrace.io.local import records
from vtrace.io.local.local_files import open_local


@dataclass
class Ledger:
    """Counts over all locations of a prefix."""

    kinds: Counter[str] = field(default_factory=Counter)
    lost_by_reason: Counter[str] = field(default_factory=Counter)
    """Events in LOST records, by reason."""
    lost: int = 0
    """Lost events in SUMMARY definitions."""

    @property
    def functions(self) -> int:
        return self.kinds["FUNCTION_ENTER"] + self.kinds["FUNCTION_LEAVE"]

    def count(self, data: bytes) -> None:
        """Adds the records of a block. numpy counts functions at once, since each is one word."""
        all_words = np.frombuffer(data, "<u8")
        what = all_words.astype(np.uint32)
        is_function = what & records.FUNCTION != 0
        end = 0
        for at in np.flatnonzero(~is_function).tolist():
            if at < end:
                continue  # payload of the previous record
            end = at + 1 + (int(what[at]) >> 21 & 7)
            is_function[at:end] = False
            kind = words.NAMES[int(what[at]) >> 24 & 0x7F]
            self.kinds[kind] += 1
            if kind == "LOST":
                self.lost_by_reason[records.LOST_REASONS[int(what[at]) & records.ID_MAX]] += int(all_words[at + 1])
        functions = what[is_function]
        leaves = int(np.count_nonzero(functions & records.FUNCTION_LEAVE))
        self.kinds.update(FUNCTION_ENTER=len(functions) - leaves, FUNCTION_LEAVE=leaves)


def ledger(directory: Path, prefix: str) -> Ledger:
    found = Ledger()
    for path in directory.glob(f"{prefix}.*.events"):
        with open_local(path) as file:
            assert file.cut is None
            for _, data in words.blocks(file):
                found.count(data)
    for path in directory.glob(f"{prefix}.*.def"):
        summaries = {d[1]: d for d in words.definitions(path) if d[0] == records.DEFINITIONS["SUMMARY"]}
        found.lost += sum(summary[3] for summary in summaries.values())
    return found
