# SPDX-License-Identifier: BSD-3-Clause
"""The functions of csrc/kernels that build tiles and read windows, and the C structures that they use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from vtrace.io.archive.reader_abi import readback
from vtrace.io.common.schema import declare

Prototype = tuple[Any, list[Any]]
"""The types of the result and of the arguments of a function."""


def kernels(**prototypes: Prototype) -> Callable[[], ctypes.CDLL]:
    """Returns a function that loads the library with these functions at its first call."""

    @cache
    def library() -> ctypes.CDLL:
        declare(readback(), prototypes)
        return readback()

    return library


class Spares:
    """Pointers to C structures, as many as are in use at the same time. Threads may share a Spares."""

    def __init__(self, new: Callable[[], Any], free: Callable[[Any], None]) -> None:
        """new: makes a structure, NULL without memory; free: frees one."""
        self._new, self._free = new, free
        self._spare: list[Any] = []
        self._lock = Lock()

    def take(self) -> Any:
        """Takes an unused structure. Raises MemoryError."""
        with self._lock:
            found = self._spare.pop() if self._spare else None
        found = found or self._new()
        if not found:
            raise MemoryError
        return found

    def give_back(self, structure: Any) -> None:
        """Ends the use of a structure."""
        with self._lock:
            self._spare.append(structure)

    def free(self) -> None:
        """Frees the unused structures."""
        while self._spare:
            self._free(self._spare.pop())
