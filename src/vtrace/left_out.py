# SPDX-License-Identifier: BSD-3-Clause
"""Which classes of events the VT_ settings of a run leave out of its trace: one table of all settings.

A setting leaves events out if fewer are recorded than by default. Classes are paths of the tree of activities; + stands
between several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

Settings = Mapping[str, str]
"""Values by name, as the runtime writes them into the trace; a setting that is not there has its default."""

NOTHING = frozenset(
    "VT_BUFFER_SIZE VT_THREAD_BUFFER_SIZE VT_VERBOSE VT_SYNC_FLUSH VT_SYNC_FLUSH_LEVEL VT_CLOCK_COUNTER VT_CLEAN "
    "VT_COMPRESSION VT_MPI_CALLSITES VT_MPI_BARRIER VT_PTHREAD_REUSE VT_FILE_PREFIX VT_FILE_UNIQUE VT_PFORM_GDIR "
    "VT_PFORM_LDIR VT_GNU_NMFILE VT_GROUPS_SPEC VT_RING_SIGNAL VT_IOTRACE VT_MEMTRACE VT_PYTRACE VT_SHIM_CACHE "
    "VT_GNU_NM VT_MAX_MPI_COMMS VT_MAX_MPI_WINS VT_PREFIX VT_WRAPPER VT_INST VT_CC VT_CXX VT_FC VT_CFLAGS "
    "VT_CXXFLAGS VT_FCFLAGS VT_LDFLAGS VT_LIBS".split()
)
"""Settings with which a program records all that it records by default, or more."""
TIMED = frozenset("VT_MAX_FLUSHES VT_MAX_SIZE VT_MAX_THREADS VT_MODE VT_START_AFTER VT_STOP_AFTER".split())
"""Settings that leave events out for a part of the run: the local files say when."""
MPI_GROUPS = dict.fromkeys(("env", "cg", "topo", "spawn", "type", "ext", "err", "perf", "misc"), "mpi/management")
MPI_GROUPS |= dict.fromkeys(("p2p", "xnonblock", "request"), "mpi/p2p")
MPI_GROUPS |= {"coll": "mpi/collective", "rma": "mpi/rma", "io": "mpi/io"}
"""The groups of VT_MPI_GROUPS that are recorded by default, and their classes."""
_NO = ("no", "off", "false", "0")


def _unless(name: str, kind: str) -> Callable[[Settings], str]:
    """For a switch that is on by default: the class that turning it off leaves out."""
    return lambda settings: kind if settings.get(name, "yes").lower() in _NO else ""


def _mpi_groups(settings: Settings) -> str:
    if "VT_MPI_GROUPS" not in settings or WHOLE_RUN["VT_MPITRACE"](settings):
        return ""
    on = settings["VT_MPI_GROUPS"].split(",")
    return "+".join(sorted({kind for group, kind in MPI_GROUPS.items() if group not in on}))


def _small_blocks(settings: Settings) -> str:
    recorded = settings.get("VT_MEMTRACE", "no").lower() not in _NO
    return "memory" if recorded and settings.get("VT_MEMTRACE_THRESHOLD", "0") != "0" else ""


WHOLE_RUN: dict[str, Callable[[Settings], str]] = {
    "VT_FILTER_SPEC": lambda settings: "user" if settings.get("VT_FILTER_SPEC") else "",
    "VT_MAX_STACK_DEPTH": lambda settings: "user" if settings.get("VT_MAX_STACK_DEPTH", "0") != "0" else "",
    "VT_MPITRACE": _unless("VT_MPITRACE", "mpi"),
    "VT_MPI_GROUPS": _mpi_groups,
    "VT_OMPTRACE": _unless("VT_OMPTRACE", "openmp"),
    "VT_PTHREAD": _unless("VT_PTHREAD", "threads"),
    "VT_EXECTRACE": _unless("VT_EXECTRACE", "processes"),
    "VT_MEMTRACE_THRESHOLD": _small_blocks,
}
"""Settings that may leave events out during the whole run, and the classes that they leave out with the given values;
empty if they leave nothing out."""


def left_out(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each setting that leaves events out for the whole run, and their classes."""
    for name, classes in WHOLE_RUN.items():
        if kind := classes(settings):
            yield name, kind
