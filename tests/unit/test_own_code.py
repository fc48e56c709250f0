# SPDX-License-Identifier: BSD-3-Clause
"""Which functions in samples are the program's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.own_code import OwnCode


def test_functions_of_the_system_are_not_own() -> None:
    """A loop that reads the clock spends its time in the kernel's functions of the process (vdso(7))."""
    known = {
        "work": "/home/a/solver", "helper": "/home/a/lib/libhelp.so", "__vdso_clock_gettime": "linux-vdso.so.1",
        "__kernel_clock_gettime": "", "[solver+0x1020]": "/home/a/solver", "exp": "/usr/lib/x86_64-linux-gnu/libm.so.6",
    }  # fmt: skip
    user = int(np.flatnonzero(CLASS_OF == USER)[0])
    regions = {
        "name": np.array([*known]), "description": np.array([*known.values()]), "activity": np.full(len(known), user),
    }  # fmt: skip
    source: Any = SimpleNamespace(regions=regions)
    assert [name for name, own in zip(known, OwnCode(source).compiled, strict=True) if own] == ["work", "helper"]
