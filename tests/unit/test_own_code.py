# SPDX-License-Identifier: BSD-3-Clause
"""Which functions in samples are the program's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.own_code import OwnCode, is_foreign, module_of_python
from vtrace.analysis.table import Table


def test_functions_of_the_system_are_not_own() -> None:
    """A loop that reads the clock spends its time in the kernel's functions of the process (vdso(7))."""
    known = {
        "work": "/home/a/solver", "helper": "/home/a/lib/libhelp.so", "__vdso_clock_gettime": "linux-vdso.so.1",
        "__kernel_clock_gettime": "", "[solver+0x1020]": "/home/a/solver", "exp": "/usr/lib/x86_64-linux-gnu/libm.so.6",
        "std::function::operator()": "/home/a/solver", "std::ostream::operator<<": "/home/a/solver",
        "render": "/home/a/solver",
    }  # fmt: skip
    user = int(np.flatnonzero(CLASS_OF == USER)[0])
    files = ["/usr/include/c++/12/bits/std_function.h" if name.startswith("std::fun") else "" for name in known]
    regions = {
        "name": np.array([*known]), "description": np.array([*known.values()]), "activity": np.full(len(known), user),
        "file": np.array(files),
    }  # fmt: skip
    inlined = {"std::ostream::operator<<": "/usr/include/c++/12/ostream", "render": "/home/a/render.cpp"}
    contexts = Table(
        {"region": np.array([[*known].index(name) for name in inlined]), "file": np.array([*inlined.values()])}
    )
    source: Any = SimpleNamespace(regions=regions, contexts=contexts)
    own = [name for name, is_own in zip(known, OwnCode(source).compiled, strict=True) if is_own]
    assert own == ["work", "helper", "render"]


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("/opt/mpich/lib/libmpi.so.12", True), ("/opt/openmpi/lib/libmpi_usempif08.so.40", True),
        ("/opt/x/lib/libmpich_gnu_91.so.12", True), ("/opt/x/lib/libucp.so.0", True), ("libfabric.so.1", True),
        ("/home/a/.cache/vtrace/mpi-1/libvtrace-mpi.so", True), ("/opt/gcc/lib64/libgfortran.so.5", True),
        ("/opt/conda/lib/libstdc++.so.6", True), ("/usr/lib/libm.so.6", True), ("/home/a/libmpi_solver.so", False),
        ("/home/a/lib/libhelp.so", False), ("/opt/x/lib/libopenblas.so.0", False), ("/home/a/solver", False),
    ],
)  # fmt: skip
def test_libraries_that_are_not_the_programs(library: str, expected: bool) -> None:
    """MPI and compilers are installed anywhere."""
    assert is_foreign(library) == expected


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/usr/lib/python3.11/queue.py", "queue"), ("/home/a/lib/python3.13/urllib/request.py", "urllib.request"),
        ("/x/lib/python3.12/site-packages/requests/__init__.py", "requests"), ("<string>", ""),
        ("/usr/lib/python3/dist-packages/numpy/ma.py", "numpy.ma"), ("/home/a/queue.py", ""),
        ("<frozen importlib._bootstrap>", "importlib._bootstrap"),
    ],
)  # fmt: skip
def test_modules_of_python(file: str, module: str) -> None:
    """Only files that are installed have one."""
    assert module_of_python(file) == module
