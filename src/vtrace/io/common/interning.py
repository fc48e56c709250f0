# SPDX-License-Identifier: BSD-3-Clause
"""Keeps one copy of values that many processes of a run have in common."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from vtrace.io.common.arrays import Array

_EMPTY: dict[type, Any] = {dict: MappingProxyType({}), list: (), set: frozenset()}
HashableValue = TypeVar("HashableValue", bound=Hashable)
AnyArray = TypeVar("AnyArray", bound=Array)
_MOST_BYTES = 4096
"""Most bytes of an array to keep: longer arrays are seldom equal, and many of them would fill the memory."""


def same(value: HashableValue) -> HashableValue:
    """Returns the first equal value of the same type among recent arguments."""
    return _same(type(value), value)  # type: ignore[no-any-return]


@lru_cache(4096)
def _same(kind: type, value: Any) -> Any:
    return value


@lru_cache(4096)
def same_entry(key: str, text: str) -> tuple[str, str]:
    """Like same, for a key and a text."""
    return key, text


def same_table(table: Mapping[Any, Hashable]) -> dict[Any, Any]:
    """Like same, for a dictionary that no longer changes. Its values are of one type."""
    return _same_table(tuple(table.items()))


@lru_cache(1024)
def _same_table(items: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    return dict(items)


def same_array(array: AnyArray) -> AnyArray:
    """Like same, for an array of one dimension; the result cannot be changed."""
    return _same_array(array.dtype, array.tobytes()) if array.nbytes <= _MOST_BYTES else array


@lru_cache(4096)
def _same_array(kind: Any, data: bytes) -> Any:
    return np.frombuffer(data, kind)


def share_empty(holder: Any, but: str) -> None:
    """Replaces empty dictionaries, lists and sets in the fields of an object by shared ones that cannot change.

    Each empty one takes 60 bytes. but: a field that may change.
    """
    for name in _names(type(holder)):  # type: ignore[arg-type]
        if name != but and not (value := getattr(holder, name)):
            setattr(holder, name, _EMPTY[type(value)])


@lru_cache
def _names(kind: Any) -> list[str]:
    return [entry.name for entry in fields(kind)]
