# SPDX-License-Identifier: BSD-3-Clause
"""Where the installed package keeps what is not Python."""

from __future__ import annotations

from pathlib import Path

LIB = Path(__file__).resolve().parent / "_lib"
"""libvtrace.so.1, libvtrace-transcode.so; below it include/ (core.h, format.h, msgpack.h), mpiwrap/ (sources),
user/ (vt_user.h, vt_user.inc)."""
PYTHON_HOOK = Path(__file__).resolve().parent / "python_hook"
"""In PYTHONPATH it lets Python programs record their functions, where VT_PYTRACE=yes."""
