# SPDX-License-Identifier: BSD-3-Clause
"""Tables for the kernel that map a process's own ids to OTF2's: arrays indexed by the own id."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.common.interning import same_array

Ids = np.ndarray[Any, np.dtype[np.uint32]]
Types = np.ndarray[Any, np.dtype[np.uint8]]

_NONE: Ids = np.empty(0, np.uint32)
_NO_TYPES: Types = np.empty(0, np.uint8)
_SHORT = 512
"""Longer tables are seldom equal, and many of them would fill the memory."""


def table(numbers: Mapping[int, int]) -> Ids:
    """Returns numbers as an array indexed by their keys; UNDEFINED for missing keys."""
    if not numbers:
        return _NONE
    return _table(tuple(numbers.items())) if len(numbers) <= _SHORT else _made(numbers)


@lru_cache(1024)
def _table(items: tuple[tuple[int, int], ...]) -> Ids:
    return _made(dict(items))


def _made(numbers: Mapping[int, int]) -> Ids:
    found = np.full(max(numbers) + 1, UNDEFINED, np.uint32)
    found[[*numbers]] = [*numbers.values()]
    return same_array(found)


def types(numbers: Mapping[int, int]) -> Types:
    """Returns numbers of types as an array indexed by their keys; 0 for missing keys."""
    if not numbers:
        return _NO_TYPES
    return _types(tuple(numbers.items())) if len(numbers) <= _SHORT else _typed(numbers)


@lru_cache(1024)
def _types(items: tuple[tuple[int, int], ...]) -> Types:
    return _typed(dict(items))


def _typed(numbers: Mapping[int, int]) -> Types:
    found = table(numbers)
    return same_array(np.where(found == UNDEFINED, 0, found).astype(np.uint8))
