# SPDX-License-Identifier: BSD-3-Clause
"""The structures and functions of csrc/otf2_reader and of csrc/kernels/mpi_ends.h and matcher.h, and the functions of
libotf2 that reading needs."""

from __future__ import annotations

import ctypes
from functools import cache

import _otf2

from vtrace.errors import VtraceError
from vtrace.io.common.schema import Prototypes, Schema, declare, library
from vtrace.io.local.kernel import Kernel

_u32, _u64, _i64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
_pointer, _text = ctypes.c_void_p, ctypes.c_char_p

_SCHEMA = Schema("vt_readback_schema")
DETAIL = _SCHEMA.dtype("vt_detail")
ATTRIBUTE = _SCHEMA.dtype("vt_read_attribute")
STATS = _SCHEMA.dtype("vt_stats")
PATH = _SCHEMA.dtype("vt_path")
PATH_PART = _SCHEMA.dtype("vt_path_part")
CROSSING = _SCHEMA.dtype("vt_crossing")
SLICE = _SCHEMA.dtype("vt_slice")
SLICE_DETAIL = _SCHEMA.dtype("vt_slice_detail")
CHECKPOINT_CALL = _SCHEMA.dtype("vt_checkpoint_call")
CHECKPOINT = _SCHEMA.dtype("vt_checkpoint")
CHECKPOINT_BLOCK = _SCHEMA.constants["CHECKPOINT_BLOCK"]
Checkpoints = _SCHEMA.structure("vt_checkpoints")
BatchFields = _SCHEMA.structure("vt_batch")
TableFields = _SCHEMA.structure("vt_table")
ReplayFields = _SCHEMA.structure("vt_replay")
_SITES = _SCHEMA.enumerations["vt_site_kind"]
SITE_CALL, SITE_BEGIN, SITE_END = _SITES["CALL"], _SITES["BEGIN"], _SITES["END"]
SITE_NAMED = _SCHEMA.constants["SITE_NAMED"]
LATEST = _SCHEMA.constants["READ_LATEST"]
"""ns from the start of a trace (36 years): later times are damaged and become LATEST, so that sums do not overflow."""

_WAITS = Schema("vt_waits_schema")
MPI_END = _WAITS.dtype("vt_mpi_end")
WAIT = _WAITS.dtype("vt_wait")
PATH_TIME = _WAITS.dtype("vt_path_time")
SHARE = _WAITS.dtype("vt_path_share")
DELAY = _WAITS.dtype("vt_delay")
CALL_WAIT = _WAITS.dtype("vt_call_wait")
LOCK_EPOCH = _WAITS.dtype("vt_lock_epoch")
PLACE = _WAITS.dtype("vt_location_ends")
CommFields = _WAITS.structure("vt_mpi_comms")
FinderFields = _WAITS.structure("vt_mpi_finder")
MatcherFields = _WAITS.structure("vt_matcher")
KINDS = tuple(_WAITS.enumerations["vt_wait_kind"])
"""Scalasca's names of the kinds of wait states, by number."""
ROLES = _WAITS.enumerations["vt_call_role"]
COLLECTIVE_OF_ALL = _WAITS.enumerations["vt_call_kind"]["COLLECTIVE_OF_ALL"]
"""The low byte of `what` of a blocking collective in which each process waits for all."""

_OTF2: Prototypes = {
    "Reader_Open": (_pointer, [_text]),
    "Reader_Close": (_u32, [_pointer]),
    "Reader_SetSerialCollectiveCallbacks": (_u32, [_pointer]),
    "Reader_SelectLocation": (_u32, [_pointer, _u64]),
    "Reader_GetChunkSize": (_u32, [_pointer] * 3),
    "Reader_OpenDefFiles": (_u32, [_pointer]),
    "Reader_CloseDefFiles": (_u32, [_pointer]),
    "Reader_GetDefReader": (_pointer, [_pointer, _u64]),
    "Reader_ReadAllLocalDefinitions": (_u32, [_pointer, _pointer, _pointer]),
    "Reader_CloseDefReader": (_u32, [_pointer, _pointer]),
    "Reader_OpenEvtFiles": (_u32, [_pointer]),
    "Reader_CloseEvtFiles": (_u32, [_pointer]),
    "Reader_GetEvtReader": (_pointer, [_pointer, _u64]),
    "Reader_RegisterEvtCallbacks": (_u32, [_pointer] * 4),
    "Reader_ReadLocalEvents": (_u32, [_pointer, _pointer, _u64, _pointer]),
    "EvtReader_Seek": (_u32, [_pointer, _u64]),
    "Reader_CloseEvtReader": (_u32, [_pointer, _pointer]),
    "Reader_GetGlobalDefReader": (_pointer, [_pointer]),
    "Reader_RegisterGlobalDefCallbacks": (_u32, [_pointer] * 4),
    "Reader_ReadAllGlobalDefinitions": (_u32, [_pointer] * 3),
    "Reader_CloseGlobalDefReader": (_u32, [_pointer] * 2),
    "MarkerReaderCallbacks_New": (_pointer, []),
    "MarkerReaderCallbacks_Delete": (None, [_pointer]),
    "MarkerReaderCallbacks_SetDefMarkerCallback": (_u32, [_pointer] * 2),
    "MarkerReaderCallbacks_SetMarkerCallback": (_u32, [_pointer] * 2),
    "Reader_GetMarkerReader": (_pointer, [_pointer]),
    "Reader_RegisterMarkerCallbacks": (_u32, [_pointer] * 4),
    "Reader_ReadAllMarkers": (_u32, [_pointer] * 3),
    "Reader_CloseMarkerReader": (_u32, [_pointer] * 2),
}
"""The functions of libotf2, by name without OTF2_."""

_OWN: Prototypes = {
    "vt_readback_event": (_text, [_u32]),
    "vt_readback_find": (ctypes.c_int, [_text, _text, ctypes.c_size_t]),
    "vt_readback_batch": (ctypes.POINTER(BatchFields), [_u64]),
    "vt_readback_batch_free": (None, [_pointer]),
    "vt_readback_callbacks": (_pointer, []),
    "vt_readback_callbacks_free": (None, [_pointer]),
    "vt_readback_crash_text": (None, [_text]),
    "vt_short_location_find": (ctypes.c_int, [_text]),
    "vt_read_short_location": (_i64, [_pointer, _pointer, _text, _u64, _u64, _pointer]),
    "vt_host_times": (None, [_pointer, _u64, _pointer, _pointer, _u64]),
    "vt_definitions_find": (ctypes.c_int, [_text, _text, ctypes.c_size_t]),
    "vt_definitions_new": (_pointer, []),
    "vt_definitions_free": (None, [_pointer]),
    "vt_definitions_callbacks": (_pointer, []),
    "vt_definitions_callbacks_free": (None, [_pointer]),
    "vt_definitions_kind": (_text, [_u32]),
    "vt_definitions_table": (ctypes.POINTER(TableFields), [_pointer, _u32]),
    "vt_definitions_failed": (ctypes.c_int, [_pointer]),
    "vt_replay_new": (ctypes.POINTER(ReplayFields), [_u64, _u64]),
    "vt_replay_free": (None, [_pointer]),
    "vt_replay_add_paths": (ctypes.c_int, [_pointer, _pointer, _u64]),
    "vt_replay_begin": (None, [_pointer]),
    "vt_replay_resume": (ctypes.c_int, [_pointer, _u64, _i64, _pointer, _u64]),
    "vt_replay_drop_checkpoints": (None, [_pointer, _u64, _u64]),
    "vt_replay_batch": (ctypes.c_int, [_pointer, _pointer]),
    "vt_replay_until": (ctypes.c_int, [_pointer, _i64]),
    "vt_replay_cut": (ctypes.c_int, [_pointer, _i64]),
    "vt_replay_end": (ctypes.c_int, [_pointer, _i64]),
}

_MATCHER: Prototypes = {
    "vt_mpi_ends_new": (ctypes.POINTER(FinderFields), []),
    "vt_mpi_ends_free": (None, [_pointer]),
    "vt_mpi_ends_begin": (None, [_pointer]),
    "vt_mpi_ends_batch": (ctypes.c_int, [_pointer, ctypes.POINTER(ReplayFields), ctypes.POINTER(BatchFields)]),
    "vt_mpi_ends_end": (ctypes.c_int, [_pointer, _i64]),
    "vt_packed_widths": (_u64, [_pointer, _u32]),
    "vt_ends_bytes": (_u64, [_u64, _u64]),
    "vt_ends_pack": (None, [_pointer, _u64, _u64, _pointer]),
    "vt_ends_read": (ctypes.c_int, [_pointer, _u64, _u64, _pointer]),
    "vt_times_bytes": (_u64, [_u64, _u64]),
    "vt_times_pack": (None, [_pointer, _u64, _u64, _pointer]),
    "vt_match": (ctypes.c_int, [ctypes.POINTER(MatcherFields)]),
    "vt_match_free": (None, [ctypes.POINTER(MatcherFields)]),
}


@cache
def libotf2() -> ctypes.CDLL:
    """The libotf2 inside the otf2 package, with the prototypes of the functions that reading calls."""
    functions = ctypes.CDLL(_otf2.Config.lib_path())
    declare(functions, _OTF2, "OTF2_")
    return functions


@cache
def readback() -> ctypes.CDLL:
    """The reader's library with its prototypes. Raises VtraceError."""
    Kernel()  # loads the library, and keeps libotf2 from printing errors that become exceptions here
    found = library()
    declare(found, _OWN)
    text = ctypes.create_string_buffer(256)
    path = _otf2.Config.lib_path().encode()
    failed = found.vt_readback_find(path, text, len(text)) or found.vt_definitions_find(path, text, len(text))
    if failed or found.vt_short_location_find(path):
        raise VtraceError(f"cannot use OTF2: {text.value.decode('utf-8', 'replace')}", "reinstall the otf2 package")
    return found


@cache
def event_kinds() -> dict[str, tuple[int, str, tuple[str, ...]]]:
    """Each kind of event by OTF2's name: its number, the name of its reference, the names of its details."""
    own, found, number = readback(), {}, 0
    while text := own.vt_readback_event(number):
        name, _, fields = text.decode().partition(":")
        ref, *words = fields.split(", ")
        found[name] = (number, ref, tuple(words))
        number += 1
    return found


@cache
def matcher() -> ctypes.CDLL:
    """The library with the prototypes of the matcher. Raises VtraceError."""
    declare(readback(), _MATCHER)
    return readback()
