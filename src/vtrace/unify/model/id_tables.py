# SPDX-License-Identifier: BSD-3-Clause
"""Tables for the kernel that map a process's own ids to OTF2's: arrays indexed by the own id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.common.interning import same_array

Ids = np.ndarray[Any, np.dtype[np.uint32]]
Types = np.ndarray[Any, np.dtype[np.uint8]]
Made = TypeVar("Made", Ids, Types)

_NONE: Ids = np.empty(0, np.uint32)
_NO_TYPES: Types = np.empty(0, np.uint8)
_SHORT = 512
"""The most items of a shared table: longer tables are seldom equal, and many of them would fill the memory."""


def table(numbers: Mapping[int, int]) -> Ids:
    """Returns numbers as an array indexed by their keys; UNDEFINED for missing keys."""
    return _kept(_table, numbers) if numbers else _NONE


def types(numbers: Mapping[int, int]) -> Types:
    """Returns numbers of types as an array indexed by their keys; 0 for missing keys."""
    return _kept(_types, numbers) if numbers else _NO_TYPES


def known_id(ids: Ids, local: int | None) -> int | None:
    """Returns the id for a key of a table; None without one."""
    return int(ids[local]) if local is not None and local < len(ids) and ids[local] != UNDEFINED else None


def _kept(make: Callable[[Mapping[int, int]], Made], numbers: Mapping[int, int]) -> Made:
    """The result of make, which many processes have in common."""
    return _short(make, tuple(numbers.items())) if len(numbers) <= _SHORT else make(numbers)


@lru_cache(2048)
def _short(make: Callable[[Mapping[int, int]], Any], items: tuple[tuple[int, int], ...]) -> Any:
    return make(dict(items))


def _table(numbers: Mapping[int, int]) -> Ids:
    found = np.full(max(numbers) + 1, UNDEFINED, np.uint32)
    found[[*numbers]] = [*numbers.values()]
    return same_array(found)


def _types(numbers: Mapping[int, int]) -> Types:
    found = table(numbers)
    return same_array(np.where(found == UNDEFINED, 0, found).astype(np.uint8))
