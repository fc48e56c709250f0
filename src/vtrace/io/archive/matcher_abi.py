# SPDX-License-Identifier: BSD-3-Clause
"""The structures and functions of csrc/kernels/mpi_ends.h and matcher.h."""

from __future__ import annotations

import ctypes
from functools import cache

from vtrace.io.archive.reader_abi import BatchFields, ReplayFields, readback
from vtrace.io.common.schema import Prototypes, Schema, declare

_SCHEMA = Schema("vt_waits_schema")
MPI_END = _SCHEMA.dtype("vt_mpi_end")
WAIT = _SCHEMA.dtype("vt_wait")
PATH_TIME = _SCHEMA.dtype("vt_path_time")
SHARE = _SCHEMA.dtype("vt_path_share")
DELAY = _SCHEMA.dtype("vt_delay")
CALL_WAIT = _SCHEMA.dtype("vt_call_wait")
LOCK_EPOCH = _SCHEMA.dtype("vt_lock_epoch")
PLACE = _SCHEMA.dtype("vt_location_ends")
CommFields = _SCHEMA.structure("vt_mpi_comms")
FinderFields = _SCHEMA.structure("vt_mpi_finder")
MatcherFields = _SCHEMA.structure("vt_matcher")
KINDS = tuple(_SCHEMA.enumerations["vt_wait_kind"])
"""Scalasca's names of the kinds of wait states, by number."""
ROLES = _SCHEMA.enumerations["vt_call_role"]
_pointer, _i64, _code = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_OWN: Prototypes = {
    "vt_mpi_ends_new": (ctypes.POINTER(FinderFields), []),
    "vt_mpi_ends_free": (None, [_pointer]),
    "vt_mpi_ends_begin": (None, [_pointer]),
    "vt_mpi_ends_batch": (_code, [_pointer, ctypes.POINTER(ReplayFields), ctypes.POINTER(BatchFields)]),
    "vt_mpi_ends_end": (_code, [_pointer, _i64]),
    "vt_match": (_code, [ctypes.POINTER(MatcherFields)]),
    "vt_match_free": (None, [ctypes.POINTER(MatcherFields)]),
}


@cache
def matcher() -> ctypes.CDLL:
    """The library with the prototypes of the matcher. Raises VtraceError."""
    declare(readback(), _OWN)
    return readback()
