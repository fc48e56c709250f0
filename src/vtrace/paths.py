# SPDX-License-Identifier: BSD-3-Clause
"""Directories of the installed package, and the place of its code in programs."""

from __future__ import annotations

from pathlib import Path

LIB = Path(__file__).resolve().parent / "_lib"
"""C libraries; with subdirectories include/ (core.h, format.h), mpiwrap/ (sources of the MPI shim), user/
(vt_user.h, vt_user.inc), pkgconfig/ (vtrace-user.pc)."""
DOCS = Path(__file__).resolve().parent / "_docs"
"""The pages of docs/."""
EXAMPLES = Path(__file__).resolve().parent / "_examples"
"""The examples that `vtrace demo` runs."""
PYTHON_HOOK = Path(__file__).resolve().parent / "python_hook"
"""With this directory in PYTHONPATH and VT_PYTRACE=yes, Python programs record their functions."""
PROGRAM_SECTION = ".vtrace.text"
"""The section with the code of vtrace that is linked into a program: the MPI shim, and the hooks of
-finstrument-functions. Samples in this code belong to the function around."""
