# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the whole run: command, settings and clock of its first process, and the sums of all samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from vtrace.io.local.samples import ENDS
from vtrace.unify.model.process import Process


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about a run; start: ns since the epoch."""

    world: int
    tool: str
    clock: int
    start: int
    owner: str
    properties: dict[str, Any]


_SETTING = "setting."
_COMPLETE = "COMPLETE"
_MOST = 2**53
"""The limit of each number: those of damaged files could overflow the sum over all ranks."""
_NOTHING = Facts(world=0, tool="", clock=0, start=0, owner="", properties={})


def own_facts(processes: Sequence[Process]) -> dict[int, Facts]:
    """Returns the facts of the first of these processes with any files, by its number."""
    first = next((process for process in processes if not process.missing), None)
    if first is None:
        return {}
    head, owner = first.head, _owner(first)
    facts = Facts(
        world=first.world, tool=head.tool, clock=head.clock, start=head.start, owner=owner,
        properties=first.definitions.properties,
    )  # fmt: skip
    return {first.number: facts}


def first_of(facts: Mapping[int, Facts]) -> Facts:
    """Returns the facts of the first process."""
    return facts[min(facts)] if facts else _NOTHING


def settings_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a process, from the properties of its local files."""
    return _settings(tuple(properties.items()))


@lru_cache(256)
def _settings(properties: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return {key.removeprefix(_SETTING): value for key, value in properties if key.startswith(_SETTING)}


def _owner(process: Process) -> str:
    try:
        return process.all_files()[-1].owner()
    except (OSError, KeyError):
        return ""


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
