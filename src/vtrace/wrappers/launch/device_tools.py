# SPDX-License-Identifier: BSD-3-Clause
"""The variables by which a program loads vtrace's libraries for devices (csrc/cudawrap, csrc/openclwrap)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping

from vtrace.errors import UsageError
from vtrace.settings_file import NO, YES
from vtrace.wrappers.launch import program as programs

SETTING = "VT_DEVICES"
KINDS = {"cuda": ("CUDA_INJECTION64_PATH", "libvtrace-cuda.so"), "opencl": ("OPENCL_LAYERS", "libvtrace-opencl.so")}
"""Kind of devices -> variable of a library, and vtrace's library."""
_LISTS = ("opencl",)
"""The kinds whose variable takes several libraries."""
_CUDA_DRIVER = "libcuda.so.1"
"""CUDA's runtime library, also the static one, contains this name."""


def _kinds(text: str) -> list[str]:
    """The kinds of devices in a value of VT_DEVICES. Raises UsageError."""
    words = [word for word in text.lower().split(",") if word]
    if not words or text.lower() in NO:
        return []
    if text.lower() in YES:
        return [*KINDS]
    for word in words:
        if word not in KINDS:
            raise UsageError(f"--devices={text}: {word} is no kind of devices", f"give some of {', '.join(KINDS)}")
    return words


def variables(environ: Mapping[str, str], directory: str, files: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The variables to set, and warnings. The user's layers of OpenCL stay, and see the calls first; CUDA has room for
    one tool, and the user's stays. files: the program and its libraries. Raises UsageError."""
    changes = {}
    warnings = []
    for kind in _kinds(environ.get(SETTING, "")):
        variable, library = KINDS[kind]
        path = os.path.join(directory, library)
        given = environ.get(variable, "")
        if kind in _LISTS:
            changes[variable] = ":".join([*(text for text in given.split(":") if text and text != path), path])
        elif given and given != path:
            warnings.append(f"{variable}={given}: the program keeps this tool, so {kind.upper()} is not recorded")
        else:
            changes[variable] = path
    if KINDS["cuda"][0] in changes and _wants_cuda(environ, files) and not _has_cuda_driver():
        warnings.append(f"CUDA is not recorded: this machine has no driver ({_CUDA_DRIVER})")
    return changes, warnings


def _wants_cuda(environ: Mapping[str, str], files: Iterable[str]) -> bool:
    """The user names CUDA, or the program has its runtime library."""
    is_named = environ.get(SETTING, "").lower() not in YES
    return is_named or any(programs.holds(path, _CUDA_DRIVER.encode()) for path in files)


def _has_cuda_driver() -> bool:
    try:
        ctypes.CDLL(_CUDA_DRIVER)
    except OSError:
        return False
    return True
