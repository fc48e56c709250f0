# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the whole run, from its first process: command, settings and clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

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
_NOTHING = Facts(world=0, tool="", clock=0, start=0, owner="", properties={})


def own_facts(processes: Sequence[Process]) -> dict[int, Facts]:
    """Returns the facts of the first of these processes with any files, by its number."""
    found = {}
    for process in [process for process in processes if not process.absent][:1]:
        head, known = process.head, process.definitions.properties
        found[process.number] = Facts(
            world=process.world,
            tool=head.tool,
            clock=head.clock,
            start=head.start,
            owner=_owner(process),
            properties=known,
        )
    return found


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
