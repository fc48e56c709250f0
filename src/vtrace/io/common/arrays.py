# SPDX-License-Identifier: BSD-3-Clause
"""The type of numpy's arrays; arrays over memory of C; distinct values; rows of trees."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_WRITABLE = 0x200
"""PyBUF_WRITE."""
# A ctypes array would need a new type for each size.
_memory = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)


def view(address: int | None, count: int, dtype: Any) -> Array:
    """count items at an address of foreign memory, without a copy."""
    if not count or not address:
        return np.empty(0, dtype)
    return np.frombuffer(_memory(address, count * np.dtype(dtype).itemsize, _WRITABLE), dtype)


def distinct(values: Array) -> Array:
    """The distinct values, ascending. np.unique would load numpy.ma, a twentieth of the start of vtunify."""
    ordered = np.sort(values, axis=None)
    found: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def children_of(level: Array, order: Array, bounds: Array) -> Array:
    """The children of these rows of a tree. order: all rows by parent; bounds: where each parent's children start."""
    sizes = bounds[level + 1] - bounds[level]
    offset = np.repeat(bounds[level] - (np.cumsum(sizes) - sizes), sizes)
    found: Array = order[offset + np.arange(sizes.sum())]
    return found
