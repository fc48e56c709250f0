# SPDX-License-Identifier: BSD-3-Clause
"""Which class of work a region is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import _otf2
import numpy as np

CLASSES = ("user", "MPI", "I/O", "memory", "OpenMP", "threads", "other library", "tracing")
"""The classes, by their numbers."""
USER, MPI, IO, MEMORY, OPENMP, THREADS, LIBRARY, TRACING = range(8)


def _numbers(prefix: str, classes: dict[int, str]) -> dict[int, int]:
    """OTF2's number of each name -> its class; names that this OTF2 does not have are left out."""
    pairs = [(f"{prefix}_{name}", number) for number, names in classes.items() for name in names.split()]
    return {getattr(_otf2, name).value: number for name, number in pairs if hasattr(_otf2, name)}


_PARADIGMS = _numbers(
    "PARADIGM",
    {
        USER: "UNKNOWN USER COMPILER SAMPLING NONE", MPI: "MPI", OPENMP: "OPENMP OPENMP_TARGET",
        THREADS: "PTHREAD WINTHREAD QTTHREAD ACETHREAD TBBTHREAD", TRACING: "MEASUREMENT_SYSTEM",
    },
)  # fmt: skip
_ROLES = _numbers(
    "REGION_ROLE",
    {IO: "FILE_IO FILE_IO_METADATA", MEMORY: "ALLOCATE DEALLOCATE REALLOCATE", THREADS: "THREAD_CREATE THREAD_WAIT"},
)
_FOREIGN = (("MPI_", MPI), ("mpi_", MPI), ("PMPI_", MPI), ("pthread_", THREADS), ("GOMP_", OPENMP), ("omp_", OPENMP))
"""Prefixes of regions whose tool tells no paradigms."""
_CALLS = dict.fromkeys("malloc calloc free realloc posix_memalign aligned_alloc memalign valloc".split(), MEMORY)
_CALLS |= dict.fromkeys(
    "open open64 creat close read write pread pwrite readv writev preadv pwritev lseek lseek64 fopen fopen64 fdopen "
    "fclose fread fwrite fseek ftell fflush dup dup2 fsync select poll".split(),
    IO,
)


def classify(name: str, role: int, paradigm: int, by_name: bool = False) -> int:
    """The class (a number, see CLASSES) of a region with these OTF2 numbers of its role and paradigm.

    A file call that MPI makes for the program (MPI_File_write) is MPI. by_name: the tool has told no paradigms.
    """
    by_paradigm = _PARADIGMS.get(paradigm, LIBRARY)
    if by_paradigm != USER:
        return by_paradigm
    if role in _ROLES or not by_name:
        return _ROLES.get(role, USER)
    found = next((number for prefix, number in _FOREIGN if name.startswith(prefix)), None)
    return _CALLS.get(name, USER) if found is None else found


def classes_of(names: Sequence[str], roles: Any, paradigms: Any) -> np.ndarray[Any, Any]:
    """The class of each region, uint8. Where a tool calls all of them USER, as EZTrace does, names are looked at."""
    untold = [_otf2.PARADIGM_UNKNOWN.value, _otf2.PARADIGM_USER.value]
    by_name = bool(np.all(np.isin(paradigms, untold)))
    rows = zip(names, roles.tolist(), paradigms.tolist(), strict=True)
    return np.array([classify(*row, by_name) for row in rows], np.uint8)
