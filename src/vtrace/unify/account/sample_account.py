# SPDX-License-Identifier: BSD-3-Clause
"""The samples of a run: their number, the time that they stand for, missing samples, and reasons why stacks end
early."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from vtrace.io.local.samples import ENDS
from vtrace.unify.model.process import Process

_COMPLETE = "COMPLETE"
_MOST = 2**53
"""The limit of each number: those of damaged files could overflow the sum over all ranks."""


def sample_sums(processes: Iterable[Process]) -> list[int]:
    """Numbers of this rank's processes for of_sums, which all ranks add up. Processes whose samples are left out have
    none."""
    sums = [0] * (5 + len(ENDS))
    for process in processes:
        by_count = any(sampling.event for sampling in process.definitions.sampling)
        for one in process.definitions.samples.values() if process.contents.samples else ():
            ends = np.frombuffer(one.ends[: 8 * len(ENDS)].ljust(8 * len(ENDS), b"\0"), "<u8").tolist()
            numbers = one.lost + one.overwritten, one.samples, one.weight, one.overruns, int(by_count), *ends
            sums = [before + min(number, _MOST) for before, number in zip(sums, numbers, strict=True)]
    return sums


def of_sums(samples: int, sums: list[int]) -> dict[str, Any]:
    """The archive's property SAMPLES. samples: in the archive; lost: not recorded, or overwritten. For threads that
    completed their files: counted, weight_ns (None: samples by count of events), overruns (expirations of timers beside
    those that made a sample), early (stacks without their outermost frames, by reason)."""
    lost, counted, weight, overruns, by_count, *ends = sums
    early = {ENDS[number]: count for number, count in enumerate(ends) if count and ENDS[number] != _COMPLETE}
    return {
        "samples": samples, "lost": lost, "counted": counted, "weight_ns": None if by_count else weight,
        "overruns": overruns, "early": early,
    }  # fmt: skip
