# SPDX-License-Identifier: BSD-3-Clause
"""The callbacks of libotf2 for processes that write one archive together."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import _otf2

from vtrace.parallel.ranks import Ranks

_SIZES = (0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8)
"""Bytes of each OTF2_Type."""
_P = ctypes.c_void_p
_U = ctypes.c_uint32
_Sized = ctypes.CFUNCTYPE(ctypes.c_int, _P, _P, ctypes.POINTER(_U))
_Barrier = ctypes.CFUNCTYPE(ctypes.c_int, _P, _P)
_Broadcast = ctypes.CFUNCTYPE(ctypes.c_int, _P, _P, _P, _U, ctypes.c_uint8, _U)


class _CollectiveCallbacks(ctypes.Structure):
    """OTF2_CollectiveCallbacks."""

    _fields_ = (
        ("release", _P), ("get_size", _Sized), ("get_rank", _Sized), ("create_local_comm", _P), ("free_local_comm", _P),
        ("barrier", _Barrier), ("bcast", _Broadcast), ("gather", _P), ("gatherv", _P), ("scatter", _P),
        ("scatterv", _P),
    )  # fmt: skip


class CollectiveCallbacks:
    """The callbacks for one archive; must live as long as the archive.

    If each location has its own files, libotf2 asks for the rank and broadcasts, and does not gather or scatter.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._table = _CollectiveCallbacks()
        self._table.get_size = _Sized(self._callback(lambda: ranks.size))
        self._table.get_rank = _Sized(self._callback(lambda: ranks.rank))
        self._table.barrier = _Barrier(lambda user, comm: self._safely(lambda: ranks.broadcast_bytes(0, 0, 0)))
        self._table.bcast = _Broadcast(
            lambda user, comm, data, count, kind, root: self._safely(
                lambda: ranks.broadcast_bytes(data, count * _SIZES[kind], root)
            )
        )
        self._unused = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)
        for name in ("gather", "gatherv", "scatter", "scatterv"):
            setattr(self._table, name, ctypes.cast(self._unused, _P))

    def _callback(self, number: Callable[[], int]) -> Callable[[Any, Any, Any], int]:
        def call(user: Any, comm: Any, result: Any) -> int:
            result[0] = number()
            return 0

        return call

    def _safely(self, work: Callable[[], None]) -> int:
        try:
            work()
        except Exception:  # no exception may reach C
            return 1
        return 0

    def set(self, archive: Any) -> None:
        """Sets the callbacks of an OTF2_Archive, which rank 0 then creates. Raises _otf2.Error."""
        if self._ranks.size == 1:
            _otf2.Archive_SetSerialCollectiveCallbacks(archive)
            return
        call = ctypes.CDLL(_otf2.Config.lib_path()).OTF2_Archive_SetCollectiveCallbacks
        call.argtypes = [_P, ctypes.POINTER(_CollectiveCallbacks), _P, _P, _P]
        code = call(archive, ctypes.byref(self._table), None, ctypes.addressof(self._table), None)
        if code:
            raise _otf2.Error(_otf2.ErrorCode(code))
