# SPDX-License-Identifier: BSD-3-Clause
"""The variables by which an annotated program loads vtrace's library for its annotations (csrc/annotations)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from vtrace.errors import UsageError
from vtrace.settings_file import NO, YES
from vtrace.wrappers.launch import program as programs

LIBRARY = "libvtrace-annotations.so"
SETTING = "VT_ANNOTATIONS"
VARIABLES = {
    "nvtx": ("NVTX_INJECTION64_PATH",),
    "itt": ("INTEL_LIBITTNOTIFY64",),
    "kokkos": ("KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"),
}
"""Kind of annotations -> the variables of a tool. Kokkos 3.4 reads only the last one, of which Kokkos 4 warns."""
MODULES = ("nvtx", "ittapi")
"""Modules of Python for annotations."""


def _kinds(text: str) -> list[str]:
    """The kinds of annotations in a value of VT_ANNOTATIONS. Raises UsageError."""
    words = [word for word in text.lower().split(",") if word]
    if not words or text.lower() in YES:
        return [*VARIABLES]
    if text.lower() in NO:
        return []
    for word in words:
        if word not in VARIABLES:
            known = ", ".join(VARIABLES)
            raise UsageError(f"--annotations {text}: {word} is no kind of annotations", f"give some of {known}")
    return words


def variables(environ: Mapping[str, str], directory: str, files: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The variables to set, and warnings about tools of the user, which stay. directory: that of the library; files:
    the program and its libraries. Raises UsageError."""
    path = os.path.join(directory, LIBRARY)
    changes: dict[str, str] = {}
    warnings = []
    for kind in _kinds(environ.get(SETTING, "")):
        known = VARIABLES[kind]
        theirs = [name for name in known if environ.get(name, path) != path]
        if theirs:
            tool = f"{theirs[0]}={environ[theirs[0]]}"
            warnings.append(f"{tool}: the program keeps this tool, so its {kind} annotations are not recorded")
        else:
            changes[known[-1] if kind == "kokkos" and _has_old_kokkos(files) else known[0]] = path
    return changes, warnings


def _has_old_kokkos(files: Iterable[str]) -> bool:
    """True for a Kokkos that knows only its old variable."""
    new, old = (name.encode() for name in VARIABLES["kokkos"])
    having = [path for path in files if programs.holds(path, old)]
    return bool(having) and not any(programs.holds(path, new) for path in having)


def are_in(path: str) -> bool:
    """True if an executable has annotations itself: it contains the name of a variable."""
    return any(programs.holds(path, name.encode()) for known in VARIABLES.values() for name in known)
