# SPDX-License-Identifier: BSD-3-Clause
"""clang 19 with OpenMP's target regions on its host device. Debian's libomp-19-dev replaces libomp-dev, so .ci/run
unpacks it without installing it."""

from __future__ import annotations

import os
from pathlib import Path

from support.tools import need, unavailable

COMPILER = "clang-19"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vtrace-ci/libomp-19/usr/lib/llvm-19/lib"
_INSTALLED = Path("/usr/lib/llvm-19/lib")
LIBRARIES = _INSTALLED if (_INSTALLED / "libomptarget.so").exists() else _CACHE
FLAGS = (
    "-g", "-O1", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", f"-isystem{LIBRARIES}/clang/19/include",
    f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}",
)  # fmt: skip
ENVIRONMENT = {"LD_LIBRARY_PATH": str(LIBRARIES)}
"""libomptarget finds its tool by libomp.so."""


def check_installed() -> None:
    """Skips the test without clang 19 and its libraries, and fails it in CI."""
    need(COMPILER)
    if not (LIBRARIES / "libomptarget.so").exists():
        unavailable("libomp-19-dev is neither installed nor unpacked")
