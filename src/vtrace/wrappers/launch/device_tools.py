# SPDX-License-Identifier: BSD-3-Clause
"""The variables by which a program loads vtrace's libraries for devices (csrc/openclwrap)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from vtrace.errors import UsageError
from vtrace.settings_file import NO, YES

SETTING = "VT_DEVICES"
KINDS = {"opencl": ("OPENCL_LAYERS", "libvtrace-opencl.so")}
"""Kind of devices -> variable with a list of libraries, and vtrace's library."""


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


def variables(environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """The variables to set: the user's libraries stay, and see the calls first. Raises UsageError."""
    changes = {}
    for kind in _kinds(environ.get(SETTING, "")):
        variable, library = KINDS[kind]
        path = os.path.join(directory, library)
        others = [text for text in environ.get(variable, "").split(":") if text and text != path]
        changes[variable] = ":".join([*others, path])
    return changes
