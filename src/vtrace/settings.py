# SPDX-License-Identifier: BSD-3-Clause
"""The VT_ settings of the traced program: what they mean, and the values that the runtime itself takes them for.

Names, limits and defaults stand in csrc/core/settings.c; meanings here. A test keeps them and docs/settings.md equal.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import NamedTuple

from vtrace.paths import LIB


class Meaning(NamedTuple):
    """standard: the default in words, where it is no fixed value."""

    text: str
    standard: str = ""


MEANINGS = {
    "VT_BUFFER_SIZE": Meaning(
        "bytes for the records of a process; a full buffer is written out (K, M, G; at least 100K)"
    ),
    "VT_THREAD_BUFFER_SIZE": Meaning(
        "bytes for the records of each further thread (100K to 1G); set, the main thread has all of VT_BUFFER_SIZE",
        "0: 10 % of VT_BUFFER_SIZE, the main thread 70 %",
    ),
    "VT_MAX_FLUSHES": Meaning(
        "how often a full buffer is written out before its thread stops recording; 0: any number"
    ),
    "VT_MAX_SIZE": Meaning(
        "bytes of local files of a process at which its recording stops; the last twentieth is for MPI and threads",
        "0: 1G, at most the process's part of 10G and of a tenth of the free space",
    ),
    "VT_MODE": Meaning(
        "TRACE: all; RING: the last VT_BUFFER_SIZE of each thread, written at the end (docs/recording-less.md)"
    ),
    "VT_MAX_THREADS": Meaning("threads of a process that are recorded, at most 65536"),
    "VT_VERBOSE": Meaning("0: silent, 1: warnings and one closing line, 2: what is written too"),
    "VT_MAX_STACK_DEPTH": Meaning("levels of functions that are recorded, from main on; 0: all"),
    "VT_SYNC_FLUSH": Meaning("write the buffers of all ranks together, inside a collective on MPI_COMM_WORLD"),
    "VT_SYNC_FLUSH_LEVEL": Meaning("percent of its buffer that a rank must have filled for that, 0 to 100"),
    "VT_CLOCK_COUNTER": Meaning("read the processor's counter as clock; no: CLOCK_MONOTONIC_RAW (docs/clocks.md)"),
    "VT_CLEAN": Meaning("remove the buffer in VT_PFORM_LDIR at the end"),
    "VT_COMPRESSION": Meaning("compress the local files, whose names then end in .z"),
    "VT_MPITRACE": Meaning("record MPI calls (docs/mpi.md)"),
    "VT_MPI_CALLSITES": Meaning(
        "calls of the stack that each MPI call records, itself first; at most 32 (docs/mpip.md)"
    ),
    "VT_MPI_BARRIER": Meaning(
        "before, after, both: MPI_Barrier around each blocking collective that moves data; no: none"
    ),
    "VT_OMPTRACE": Meaning("record OpenMP constructs"),
    "VT_IOTRACE": Meaning("record calls of I/O (docs/io.md)"),
    "VT_MEMTRACE": Meaning("record malloc and its family, and the heap in use (docs/memory.md)"),
    "VT_PTHREAD": Meaning(
        "record who creates threads, waits for them and how they are called; locks: mutexes and the like too"
    ),
    "VT_PTHREAD_REUSE": Meaning("a new thread goes on in the location of an ended one"),
    "VT_EXECTRACE": Meaning("record the programs that a recorded one starts (docs/threads.md)"),
    "VT_PYTRACE": Meaning("record the functions of Python programs (vtrace run --python sets it)"),
    "VT_MEMTRACE_THRESHOLD": Meaning("bytes: smaller blocks are only part of the heap in use"),
    "VT_FILE_PREFIX": Meaning(
        "how the files are called; a directory before the name is made and takes the place of VT_PFORM_GDIR",
        "the program's name without .out or .exe",
    ),
    "VT_FILE_UNIQUE": Meaning("number behind the prefix: yes counts the runs, or a number from 1 on", "no"),
    "VT_PFORM_GDIR": Meaning("directory of the local files", "the current directory"),
    "VT_PFORM_LDIR": Meaning(
        "directory of the buffer while the program runs",
        "the current directory; on a network file system TMPDIR or /tmp",
    ),
    "VT_GNU_NMFILE": Meaning(
        "output of nm --demangle --line-numbers that vtunify takes the executable's names from", "none"
    ),
    "VT_FILTER_SPEC": Meaning("file of rules that say which functions and calls are recorded (docs/filter.md)", "none"),
    "VT_GROUPS_SPEC": Meaning("file that puts functions into groups (docs/filter.md)", "none"),
    "VT_RING_SIGNAL": Meaning("signal upon which VT_MODE=RING writes what it keeps: USR1, USR2, RTMIN+n...", "none"),
    "VT_START_AFTER": Meaning(
        "record from here on: seconds (10, 0.5s) or a call of a region (NAME:100) (docs/recording-less.md)",
        "the program's start",
    ),
    "VT_STOP_AFTER": Meaning(
        "record up to here: seconds (10, 0.5s) or the end of a call of a region (NAME:200)", "the program's end"
    ),
}
"""By name, in the order of the runtime's table."""


@dataclass(frozen=True)
class Setting:
    """value: what a program started now takes; origin: default, environment, or environment with what was given."""

    name: str
    value: str
    origin: str
    meaning: str
    standard: str


def in_force() -> list[Setting]:
    """The settings as the runtime reads them from this process's environment; it tells wrong values on stderr."""
    runtime = ctypes.CDLL(str(LIB / "libvtrace.so.1"))
    runtime.vt_settings_list.restype = ctypes.c_size_t
    runtime.vt_settings_list.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    room = ctypes.create_string_buffer(1 << 16)
    sys.stderr.flush()
    runtime.vt_settings_list(room, len(room))
    rows = [line.split("\t") for line in room.value.decode(errors="replace").split("\n") if line]
    return [_setting(*row) for row in rows if len(row) == 4]


def _setting(name: str, value: str, standard: str, given: str) -> Setting:
    meaning = MEANINGS.get(name, Meaning("?"))
    standard = meaning.standard or standard
    if not given:
        shown = standard if name == "VT_FILE_PREFIX" or not value else value
        return Setting(name, shown, "default", meaning.text, standard)
    origin = "environment" if value.casefold() == given.casefold() else f"environment: {given}"
    return Setting(name, value or standard, origin, meaning.text, standard)
