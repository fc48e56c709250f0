# SPDX-License-Identifier: BSD-3-Clause
"""Asks libpfm4 whether a PMU has a native event, also for processors that this machine does not have."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from functools import cache

_LIBRARY = "libpfm.so.4"
_SUCCESS = 0
_MOST_PMUS = 4096
_ALL_LEVELS = 0xF
_CORE = 1  # PFM_PMU_TYPE_CORE
_RAW_ENCODING = 0  # PFM_OS_NONE: the encoding without perf_event_open's structure


class _PmuInfo(ctypes.Structure):
    """pfm_pmu_info_t of perfmon/pfmlib.h, an output of the library."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("description", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("number", ctypes.c_int),
        ("type", ctypes.c_int),
        ("numbers", ctypes.c_int * 5),
        ("is_present", ctypes.c_uint, 1),
    )


class _Encoding(ctypes.Structure):
    """pfm_pmu_encode_arg_t of perfmon/pfmlib.h: an output of the library, which allocates codes."""

    _fields_ = (
        ("codes", ctypes.POINTER(ctypes.c_uint64)),
        ("name", ctypes.POINTER(ctypes.c_char_p)),
        ("size", ctypes.c_size_t),
        ("count", ctypes.c_int),
        ("index", ctypes.c_int),
    )


class PfmNames:
    """Names of PMUs and native events of libpfm4. present: the PMUs of this machine's processors. Raises OSError if the
    library is not installed."""

    def __init__(self) -> None:
        # libpfm4 reads the variable when it initialises: only then does libpfm4 know PMUs of other processors.
        os.environ.setdefault("LIBPFM_ENCODE_INACTIVE", "1")
        self.library = ctypes.CDLL(_LIBRARY)
        if self.library.pfm_initialize() != _SUCCESS:
            raise OSError(f"{_LIBRARY} cannot be initialised")
        self.library.pfm_get_os_event_encoding.argtypes = [
            ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Encoding),
        ]  # fmt: skip
        self.present: list[str] = []
        self.pmus = frozenset(self._pmus())
        self.has = cache(self._has)

    def _pmus(self) -> Iterator[str]:
        info = _PmuInfo()
        for number in range(_MOST_PMUS):
            info.size = ctypes.sizeof(_PmuInfo)
            if self.library.pfm_get_pmu_info(number, ctypes.byref(info)) == _SUCCESS and info.name:
                name = info.name.decode()
                if info.is_present and info.type == _CORE:
                    self.present.append(name)
                yield name

    def _has(self, pmu: str, event: str) -> bool:
        """True if the PMU has the event with its masks."""
        name = event if "::" in event else f"{pmu}::{event}"
        encoding = _Encoding(size=ctypes.sizeof(_Encoding))
        arguments = (name.encode(), _ALL_LEVELS, _RAW_ENCODING, ctypes.byref(encoding))
        return bool(self.library.pfm_get_os_event_encoding(*arguments) == _SUCCESS)


def installed_pfm() -> PfmNames | None:
    """The names of libpfm4; None: the library is not installed."""
    try:
        return PfmNames()
    except OSError:
        return None
