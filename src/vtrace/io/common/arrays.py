# SPDX-License-Identifier: BSD-3-Clause
"""The type of numpy's arrays; arrays over memory of C; distinct values."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def view(address: int | None, count: int, dtype: Any) -> Array:
    """count items at an address of foreign memory, without a copy."""
    if not count or not address:
        return np.empty(0, dtype)
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def distinct(values: Array) -> Array:
    """The distinct values, ascending. np.unique would load numpy.ma, a twentieth of the start of vtunify."""
    ordered = np.sort(values, axis=None)
    found: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found
