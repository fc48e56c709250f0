# SPDX-License-Identifier: BSD-3-Clause
"""The VT_ settings of the traced program, from the runtime. csrc/core/settings_table.h alone defines them."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass

from vtrace import settings_file
from vtrace.paths import LIB


@dataclass(frozen=True, kw_only=True)
class Setting:
    """value: for a program started now; origin: default, environment, or FILE:LINE of a settings file; with the given
    text if the value differs."""

    name: str
    value: str
    origin: str
    meaning: str
    standard: str


def lines_of_runtime(function: str) -> list[list[str]]:
    """The rows that a function of the runtime lists: vt_settings_list (csrc/core/core.h), vt_perf_list
    (csrc/providers/perf_events.h), vt_counters_list and vt_counters_left_out (csrc/providers/provider.h). The
    runtime reports wrong settings on stderr."""
    os.environ["VTRACE_LISTS"] = "settings"  # else the library samples this process when it is loaded
    try:
        runtime = ctypes.CDLL(str(LIB / "libvtrace.so.1"))
    finally:
        del os.environ["VTRACE_LISTS"]  # programs that this process starts are sampled
    listed = getattr(runtime, function)
    listed.restype, listed.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    room = ctypes.create_string_buffer(1 << 22)  # servers have thousands of events
    sys.stderr.flush()
    listed(room, len(room))
    return [line.split("\t") for line in room.value.decode(errors="replace").split("\n") if line]


def rows() -> list[list[str]]:
    """The rows of vt_settings_list."""
    return lines_of_runtime("vt_settings_list")


def in_force() -> list[Setting]:
    """The settings as the runtime reads them from this process's environment."""
    return [_setting(*row[:6]) for row in rows() if len(row) == 7]


def markdown() -> str:
    """The table of settings with their defaults, for docs/settings.md."""
    rows = "".join(f"| {one.name} | {one.standard} | {one.meaning} |\n" for one in in_force())
    return f"| variable | default | meaning |\n|---|---|---|\n{rows}"


def _setting(name: str, value: str, number: str, given: str, meaning: str, words: str) -> Setting:  # noqa: PLR0917
    standard = words or number
    if not given:
        shown = standard if name == "VT_FILE_PREFIX" or not value else value
        return Setting(name=name, value=shown, origin="default", meaning=meaning, standard=standard)
    origin = settings_file.origins.get(name, "environment")
    if value.casefold() != given.casefold():
        origin += f": {given}"
    return Setting(name=name, value=value or standard, origin=origin, meaning=meaning, standard=standard)
