# SPDX-License-Identifier: BSD-3-Clause
"""Directories of the installed package."""

from __future__ import annotations

from pathlib import Path

LIB = Path(__file__).resolve().parent / "_lib"
"""C libraries; with subdirectories include/ (core.h, format.h, msgpack.h), mpiwrap/ (sources of the MPI shim), user/
(vt_user.h, vt_user.inc)."""
PYTHON_HOOK = Path(__file__).resolve().parent / "python_hook"
"""With this directory in PYTHONPATH and VT_PYTRACE=yes, Python programs record their functions."""
