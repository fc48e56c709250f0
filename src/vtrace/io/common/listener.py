# SPDX-License-Identifier: BSD-3-Clause
"""A listener gets the events that the kernel writes, in batches, as if it read the archive."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_Full = ctypes.CFUNCTYPE(ctypes.c_int)


class Listener:
    """Passes the full batches of a location on while the kernel writes its events (csrc/otf2_writer/listener.h)."""

    def __init__(self, batch: int | None, take: Callable[[], None]) -> None:
        """batch: address of a struct vt_batch, whose last events are left in it; None: no listener. take: takes the
        events of the full batch, and clears it."""
        self.batch, self._take = batch, take
        self.full = _Full(self._on_full)
        self._error: BaseException | None = None

    def _on_full(self) -> int:
        try:
            self._take()
        except BaseException as error:  # no exception may reach C
            self._error = error
            return 1
        return 0

    def check(self) -> None:
        """Raises the exception that `take` has raised."""
        if self._error is not None:
            raise self._error


NOBODY = Listener(None, lambda: None)
