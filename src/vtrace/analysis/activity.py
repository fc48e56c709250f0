# SPDX-License-Identifier: BSD-3-Clause
"""The activity of a region, a path such as "mpi/p2p", and the layer of I/O that a handle or a call belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import _otf2
import numpy as np

from vtrace.analysis.table import Array

__all__ = ["ACTIVITIES", "CLASSES", "CLASS_OF", "LAYERS"]


class ActivityClass(NamedTuple):
    """A root of the tree of activities.

    root: the first part of the paths below it. name: in tables and reports. colour, pattern: in charts (Okabe and Ito's
    colours; Plotly's patterns, which distinguish classes without colours). light_text: True if text on the colour must
    be light.
    """

    root: str
    name: str
    colour: str
    pattern: str = ""
    light_text: bool = False

    @property
    def style(self) -> dict[str, Any]:
        """colour, pattern and light_text, for the JSON of a page."""
        return {"colour": self.colour, "pattern": self.pattern, "light_text": self.light_text}


TREE = (
    ActivityClass("user", "user", "#3d9bff"), ActivityClass("mpi", "MPI", "#d55e00", "/"),
    ActivityClass("io", "I/O", "#1e9c6d", "\\"), ActivityClass("memory", "memory", "#e5d944", "x"),
    ActivityClass("openmp", "OpenMP", "#bf71af", "-"),
    ActivityClass("threads", "threads", "#6d57d0", "|", light_text=True),
    ActivityClass("library", "other library", "#a0a0a0", "."),
    ActivityClass("tracing", "tracing", "#387768", "+", light_text=True),
    ActivityClass("runtime", "runtime", "#56281f", light_text=True),
)  # fmt: skip
"""The classes, by their numbers. runtime: the helper threads of libraries, and the I/O of MPI's library inside calls of
MPI. This class does not follow from a region alone."""
USER, MPI, IO, MEMORY, OPENMP, THREADS, LIBRARY, TRACING, RUNTIME = range(9)
CLASSES = tuple(one.name for one in TREE)
"""The names of the classes, by their numbers."""
ACTIVITIES = (
    "user", "mpi/management", "mpi/p2p", "mpi/collective", "mpi/rma", "mpi/io", "io/posix", "io/iso-c", "io/hdf5",
    "memory", "openmp/region", "openmp/sync", "openmp/task", "threads", "library", "tracing",
    "mpi/management/init", "mpi/management/finalize", "runtime",
)  # fmt: skip
"""The activities of regions, by their numbers."""
_ROOTS = {one.root: number for number, one in enumerate(TREE)}
CLASS_OF = np.array([_ROOTS[path.partition("/")[0]] for path in ACTIVITIES], np.uint8)
"""The class of each activity."""
LAYERS = ("posix", "iso-c", "mpi-io", "hdf5", "other")
"""The layers of I/O, lowest first: a call of one layer may call the layers before it. other: unknown paradigms."""
POSIX, ISO_C, MPI_IO, HDF5, OTHER = range(5)
RUNTIME_MARK = 4
"""Bit of marks(): calls of MPI in which I/O is the MPI library's own. csrc/otf2_reader/stack_replay.h has the same
bit."""


def _numbers(prefix: str, meanings: dict[Any, str]) -> dict[int, Any]:
    """The number in OTF2 of each name -> its meaning. Names that the installed OTF2 does not have are left out."""
    pairs = [(f"{prefix}_{name}", meaning) for meaning, names in meanings.items() for name in names.split()]
    return {getattr(_otf2, name).value: meaning for name, meaning in pairs if hasattr(_otf2, name)}


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
_MPI_ROLES = _numbers(
    "REGION_ROLE",
    {
        "p2p": "POINT2POINT", "rma": "RMA ATOMIC", "io": "FILE_IO FILE_IO_METADATA",
        "collective": "BARRIER COLL_ONE2ALL COLL_ALL2ONE COLL_ALL2ALL COLL_OTHER",
    },
)  # fmt: skip
_OPENMP_ROLES = _numbers(
    "REGION_ROLE",
    {
        "sync": "BARRIER IMPLICIT_BARRIER CRITICAL CRITICAL_SBLOCK ORDERED ORDERED_SBLOCK ATOMIC FLUSH TASK_WAIT "
        "CANCEL",
        "task": "TASK TASK_CREATE TASK_UNTIED",
    },
)
_FOREIGN = (("MPI_", MPI), ("mpi_", MPI), ("PMPI_", MPI), ("pthread_", THREADS), ("GOMP_", OPENMP), ("omp_", OPENMP))
"""Prefixes of regions, for archives of tools that record no paradigms."""
_CALLS = dict.fromkeys("malloc calloc free realloc posix_memalign aligned_alloc memalign valloc".split(), MEMORY)
_CALLS |= dict.fromkeys(
    "open open64 creat close read write pread pwrite readv writev preadv pwritev lseek lseek64 fopen fopen64 fdopen "
    "fclose fread fwrite fseek ftell fflush dup dup2 fsync select poll".split(),
    IO,
)
_MPI_NAMES = {
    "io": re.compile(r"file_"),
    "rma": re.compile(r"win_|r?(put|get|accumulate|get_accumulate)$|fetch_and_op$|compare_and_swap$"),
    "p2p": re.compile(
        r"i?[bsr]?send(_init|recv(_replace)?)?$|i?m?recv(_init)?$|i?m?probe$|(wait|test)(all|any|some)?$|start(all)?$|"
        r"p(send|recv)_init$|pready|parrived|cancel$|request_"
    ),
    "collective": re.compile(
        r"i?(barrier|bcast|gather|scatter|allgather|alltoall|reduce|allreduce|reduce_scatter|scan|exscan|neighbor_)"
        r"(?!_local)"
    ),
}
"""Patterns for names in lower case without "mpi_", for regions whose role does not decide."""
_ENDS = {"init": re.compile(r"(session_)?init(_thread)?$"), "finalize": re.compile(r"(session_)?finalize$")}
"""Functions that begin and end the use of MPI, named as in _MPI_NAMES."""
_STREAMS = re.compile(
    r"f(d|re)?open|fclose|p(open|close)|tmpfile|f(read|write)|f?(get|put)(w?c|w?char|w?s)|getw?char|putw?char|getw|putw|"
    r"ungetw?c|get(line|delim)|fflush|setv?buf|setbuffer|setlinebuf|f(seek|tell)o?|f[gs]etpos|rewind|"
    r"v?f?w?printf|v?f?w?scanf|(un|try)?f(un|try)?lockfile|perror"
)
"""Functions of ISO C's streams, without the prefixes and suffixes of libc (_AROUND)."""
_AROUND = re.compile(r"^(_IO_|__isoc\d+_|__)|(64|_unlocked|_chk)$")
_WAITS = re.compile(
    r"p?mpix?_((wait|recv|mrecv|probe|mprobe|sendrecv|ssend)(all|any|some|_replace)?|win_(fence|wait|complete|"
    r"flush\w*|lock\w*|unlock\w*))(_c|_f08|_f08ts)?_*|"
    r"pthread_(mutex_(timed|clock)?lock|spin_lock|rwlock_(timed|clock)?(rd|wr)lock|cond_(timed|clock)?wait|barrier_wait|"
    r"(try|timed|clock)?join(_np)?)|sem_(timed|clock)?wait|mtx_(timed)?lock|cnd_(timed)?wait|thrd_join|"
    r"p?select|p?poll|epoll_p?wait2?",
    re.IGNORECASE,
)
"""Calls that wait for other processes or threads, or for data. Also all of _WAITING wait."""
_WAITING = ("openmp/sync", "mpi/collective")
"""Activities whose regions wait, but for those that only start an operation (_STARTS)."""
_STARTS = re.compile(
    r"p?mpix?_(i\w+|\w+_init|\w+_local)(_c|_f08|_f08ts)?_*|omp_(test|unset|init|destroy)_\w+", re.IGNORECASE
)
_HDF5 = re.compile(r"H5([ADEFGILMOPRSTZ]|ES|VL|PL|FD|LT|TB|IM|DS)?[a-z]")


def _root(name: str, role: int, paradigm: int, by_name: bool) -> int:
    """The class of a region. A file call that MPI makes for the program (MPI_File_write) is MPI."""
    by_paradigm: int = _PARADIGMS.get(paradigm, LIBRARY)
    if by_paradigm != USER:
        return by_paradigm
    if role in _ROLES or not by_name:
        return int(_ROLES.get(role, USER))
    found = next((number for prefix, number in _FOREIGN if name.startswith(prefix)), None)
    return _CALLS.get(name, USER) if found is None else found


def _mpi(name: str, role: int) -> str:
    plain = re.sub(r"^p?mpix?_|_(c|f08|f08ts)?_*$", "", name.lower())
    if end := next((end for end, pattern in _ENDS.items() if pattern.match(plain)), ""):
        return f"management/{end}"
    kind = next((kind for kind, pattern in _MPI_NAMES.items() if pattern.match(plain)), "management")
    return str(_MPI_ROLES.get(role, kind))


def _io(name: str) -> str:
    bare = _AROUND.sub("", _AROUND.sub("", name))
    return "hdf5" if _HDF5.match(name) else "iso-c" if _STREAMS.fullmatch(bare) else "posix"


def activity(name: str, role: int, paradigm: int, by_name: bool = False) -> str:
    """The activity of a region, a path of the tree.

    role, paradigm: OTF2's numbers. by_name: the tool records no paradigms, so the name decides.
    """
    root = _root(name, role, paradigm, by_name)
    if root == MPI:
        return f"mpi/{_mpi(name, role)}"
    if root == OPENMP:
        return f"openmp/{_OPENMP_ROLES.get(role, 'sync' if 'lock' in name or 'barrier' in name else 'region')}"
    return f"io/{_io(name)}" if root == IO else TREE[root].root


def activities_of(names: Sequence[str], roles: Array, paradigms: Array) -> Array:
    """The activities of regions: (n,) uint8, places in ACTIVITIES.

    names, roles, paradigms: of each region, OTF2's numbers. Names decide if a tool records the paradigm USER for all
    regions, as EZTrace does.
    """
    unspecific = [_otf2.PARADIGM_UNKNOWN.value, _otf2.PARADIGM_USER.value]
    by_name = bool(np.all(np.isin(paradigms, unspecific)))
    number = {path: place for place, path in enumerate(ACTIVITIES)}
    rows = zip(names, roles.tolist(), paradigms.tolist(), strict=True)
    return np.array([number[activity(*row, by_name)] for row in rows], np.uint8)


def waits(names: Sequence[str], activities: Array) -> Array:
    """(n,) bool: True for regions that mostly wait for others, whom charts show weaker than work.

    activities: of the regions, places in ACTIVITIES.
    """
    own = np.array([bool(_WAITS.fullmatch(name)) for name in names], bool)
    starts = np.array([bool(_STARTS.fullmatch(name)) for name in names], bool)
    found: Array = own | (np.isin(activities, [ACTIVITIES.index(path) for path in _WAITING]) & ~starts)
    return found


def layer(identification: str) -> int:
    """The layer of an I/O handle, a place in LAYERS.

    identification: of the handle's I/O paradigm in OTF2, "" for none.
    """
    word = identification.upper()
    begins = {"POSIX": POSIX, "ISO": ISO_C, "MPI": MPI_IO, "HDF5": HDF5}
    return next((number for begin, number in begins.items() if word.startswith(begin)), OTHER)


def marks(names: Sequence[str], activities: Array, present: Sequence[int]) -> Array:
    """The layer of I/O that calls of each region belong to: (n,) uint8, a bit for each layer.

    The I/O of a lower layer inside a call of a region with a bit is part of that call. present: the layers that the
    archive has handles of; calls of other layers get no bit. All calls of MPI count as MPI-IO: I/O inside MPI_Wait or
    MPI_Init is the MPI library's own.
    """
    found = np.zeros(len(ACTIVITIES), np.uint8)
    for place, path in enumerate(ACTIVITIES):
        if path.startswith("mpi/") and (path != "mpi/io" or MPI_IO in present):
            found[place] = 1 << MPI_IO | (1 << RUNTIME_MARK if path != "mpi/io" else 0)
    found[ACTIVITIES.index("io/iso-c")] = (1 << ISO_C) * (ISO_C in present)
    bits: Array = found[activities]
    if HDF5 in present:
        bits[[place for place, name in enumerate(names) if _HDF5.match(name)]] = 1 << HDF5
    return bits


def nested(layers: Array, marked: Array) -> Array:
    """(n,) bool: True for operations with bytes that a higher layer counts.

    layers: of the operations, places in LAYERS; marked: marks() of the calls around them, joined by or.
    """
    found: Array = ((marked & ((1 << RUNTIME_MARK) - 1)) >> (layers + 1).astype(np.uint16)) != 0
    return found
