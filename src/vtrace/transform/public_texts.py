# SPDX-License-Identifier: BSD-3-Clause
"""The texts in archives that say nothing about a program, its user or its machine: names of MPI, OpenMP, libc and OTF2,
and those that vtrace writes itself."""

from __future__ import annotations

import ctypes
import re
from functools import cache

import _otf2

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.call_sites import libc_name
from vtrace.analysis.source import CALLS
from vtrace.io.archive.definitions import SECTION_UNIT
from vtrace.left_out import MPI_GROUPS
from vtrace.reasons import CHOSEN, GAPS, LOSSES, MISSING_VALUES, THINNED

_WORDS = {
    "attribute": "calls|errno|offset|Offset|posted bytes|lock|condition|read lock calls|source library"
    "|(lock |holder |allocation )?call site|(DE)?ALLOCATION_SIZE|ARGUMENT_ADDRESS|RESULT_ADDRESS"
    "|DEVICE_(COMMAND|BYTES|QUEUED|SUBMITTED|BLOCKING)|OMP_DEVICE|FLOW"
    "|ANNOTATION_(COLOR|CATEGORY|ID|PARENT)",
    "class": "machine|node|rack|blade|platform|cluster|socket",
    "communicator": r"MPI_COMM_(WORLD|SELF)|User messages",
    "cores": r"[\d,-]+",
    "group": r"MPI_COMM_(WORLD|SELF)|User messages|User|MPI|OpenMP",
    "handle": r"std(in|out|err)|STD(IN|OUT|ERR)_FILENO",
    "lane": "thread|process|host|run",
    "layer": r"(?i:posix|isoc|iso c|mpi|hdf5|netcdf)([ -]?(i/?o|file i/o))?",
    "loop": "for|while|do|goto|DO|DO WHILE|ARRAY|OTHER",
    "marker": r"recording (stopped|begins)|process ended early",
    "metric": r"[CG]PU page faults|Host Memory|Live Blocks|PAPI_[A-Z0-9_]+|ru_[a-z]+",
    "paradigm": r"(?i:mpi|openmp|omp|pthreads?|posix threads?|user|compiler|sampling|measurement system|unknown|none)",
    "number": r"\d+(\.\d+)?",
    "process": r"MPI Rank \d+( of world \d+)?",
    "sampling": "CPU time|elapsed time",
    "thread": r"(Master|Helper) thread|(Helper thread|Thread|MPI Rank|Rank) \d+|Memory"
    r"|(Thread \d+ \()?OMP thread \d+(:\d+| or \d+)*( or others)?( of Thread \d+)?\)?"
    r"|(OpenCL|CUDA|HIP)\[\d+:(\d+|others|unified memory|page faults)\]( context \d+)?( lane \d+| \d+)?",
    "window": "(CUDA|OPENCL)_WINDOW",
    "unit": rf"#|[KMG]?i?B|bytes|[mun]?s|%|{re.escape(SECTION_UNIT)}",
    "function": r"main|UNKNOWN|MEASUREMENT OFF|TRACE BUFFER FLUSH|\[unknown\]|<(module|lambda|\w+comp|genexpr)>"
    r"|_start|start_thread|__libc_start\w*|__(vdso|kernel)_(clock_get(time|res)|gettimeofday|time|getcpu|rt_sigreturn)"
    "|_PyEval_EvalFrameDefault|Py_RunMain|Py_BytesMain",
    "source": "<(string|stdin)>",
    "text": re.escape(CALLS),
}
"""What is public of each kind of texts, as regular expressions."""
_MPI = re.compile(r"P?MPI_\w+")
_OPENMP = re.compile(r"(!\$)?omp [a-z ]+|omp_[a-z_]+")
_DEVICE = re.compile(
    r"(cl|cu|cuda)[A-Z]\w+|copy (to device|to host|on device|on host|between devices)|fill|map|unmap"
    r"|migrate( to device| to host| between devices)?"
)
_PARADIGMS = {name: getattr(_otf2, f"PARADIGM_{name}").value for name in ("MPI", "OPENMP", "PTHREAD", "OPENCL", "CUDA")}
_KERNEL = 40
"""REGION_ROLE_KERNEL, which OTF2 3.0 does not have."""
_LIBC_ROLES = {
    getattr(_otf2, f"REGION_ROLE_{name}").value
    for name in "FILE_IO FILE_IO_METADATA ALLOCATE DEALLOCATE REALLOCATE THREAD_CREATE THREAD_WAIT".split()
}
_REASONS = CHOSEN | {name for loss in LOSSES.values() for name in (loss.name, loss.stop)} | {*GAPS.values()}
_OTHER_REASONS = re.compile(
    rf"{THINNED}[0-9.,]+ [um]s|"
    r"VT_[A-Z_]+|(rank|process) (missing|died)|still running|ended by SIG[A-Z0-9]+|another reason"
)
_LEDGER_CLASSES = {
    *ACTIVITIES,
    *(path.partition("/")[0] for path in ACTIVITIES),
    "all",
    "metrics",
    "processes",
    *MISSING_VALUES,
}
_SETTING = re.compile(r"yes|no|TRACE|RING|locks|cpu|wall|perf|all|before|after|both|\d+(\.\d+)?(ms|us|s|[KMG])?")
"""The values of settings that are no text of the user."""


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL("libc.so.6")


def is_of_libc(name: str) -> bool:
    """libc has a function of this name, or of the name without the prefixes of its own symbols."""
    public = libc_name(f"{name}@") if name.startswith("_") else name
    return any(each.isidentifier() and hasattr(_libc(), each) for each in (name, public))


def is_public(kind: str, text: str) -> bool:
    """A text is public whatever it names."""
    if not text or (kind == "function" and is_of_libc(text)):
        return True
    return kind in _WORDS and re.fullmatch(_WORDS[kind], text) is not None


def is_public_region(name: str, role: int, paradigm: int) -> bool:
    """A region has the name of a function or construct of a public interface."""
    if paradigm == _PARADIGMS["MPI"]:
        return _MPI.fullmatch(name) is not None
    if paradigm == _PARADIGMS["OPENMP"]:
        return _OPENMP.fullmatch(name) is not None
    if paradigm in (_PARADIGMS["OPENCL"], _PARADIGMS["CUDA"]) and role != _KERNEL:
        return _DEVICE.fullmatch(name) is not None
    return (role in _LIBC_ROLES or paradigm == _PARADIGMS["PTHREAD"]) and is_of_libc(name)


def is_public_reason(text: str) -> bool:
    """A reason for missing events in the ledger."""
    return text in _REASONS or _OTHER_REASONS.fullmatch(text) is not None


def is_public_class(text: str) -> bool:
    """A class of missing events in the ledger."""
    return all(part in _LEDGER_CLASSES for part in text.split("+"))


def is_public_setting(name: str, value: str) -> bool:
    """A setting with a value that is no text of the user."""
    words = all(word in MPI_GROUPS or _SETTING.fullmatch(word) for word in value.split(","))
    return re.fullmatch(r"VT_[A-Z_]+", name) is not None and words
