# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the names of code that stay in an anonymised archive, since a diagnosis depends on them."""

from __future__ import annotations

import pytest

from vtrace.transform.pseudonyms import Pseudonyms


@pytest.mark.parametrize(
    ("site", "told"),
    [
        ("usleep@libc.so.6+0x1f <- main@/home/u/imb.c:8", "usleep@libc.so.6+0x1f <- main@/source_1:8"),
        ("[unknown]@libcrypt.so.2+0x9 <- solve@heat+0x1", "[unknown]@source_1.so+0x9 <- function_1@source_2+0x1"),
        ("__GI___poll@./io/poll.c:29 <- _start@heat+0x1", "__GI___poll@source_1:29 <- _start@source_2+0x1"),
        ("sem_wait for another process until a time@libc.so.6+0x1", None),
        ("sem_wait until a time@heat+0x1", "sem_wait until a time@source_1+0x1"),
        ("clock_nanosleep@libc.so.6+0x1 <- pysleep@Modules/timemodule.c:2159 <- python <module>@<string>:3", None),
        ("nanosleep@libc.so.6+0x1 <- [unknown]@python3.11+0x3fca0", None),
        ("python step@/home/u/m.py:6 <- python run@/usr/lib/python3.11/threading.py:975",
         "python function_1@/source_1.py:6 <- python run@/usr/lib/python3.11/threading.py:975"),
        ("python get@/home/u/conda/lib/python3.12/queue.py:1", "python get@/directory_1/lib/python3.12/queue.py:1"),
        ("python f@/home/u/venv/lib/python3.11/site-packages/s/a.py:3",
         "python function_1@/directory_1/lib/python3.11/site-packages/source_1.py:3"),
        ("python f@<frozen importlib._bootstrap>:3 <- python g@<frozen own>:4",
         "python f@<frozen importlib._bootstrap>:3 <- python function_1@<frozen source_1>:4"),
        ("push@/usr/include/c++/12/bits/v.h:3", "function_1@/usr/include/source_1:3"),
        ("python pop@:0", "python function_1@:0"),
        ("!$omp parallel @heat+0x12", "!$omp parallel @source_1+0x12"),
    ],
)  # fmt: skip
def test_call_sites(site: str, told: str | None) -> None:
    """None: the whole site stays."""
    assert Pseudonyms().site(site) == (told or site)


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("source", "/usr/lib/x86_64-linux-gnu/libcrypt.so.1", "/usr/lib/source_1.so"),
        ("source", "/opt/heat/libheat.so", "/source_1.so"),
        ("source", "m.py", "source_1.py"),
        ("text", "/lib/x86_64-linux-gnu/libm.so.6", "/lib/libm.so.6"),
        ("text", "solves the equation", "text_1"),
        ("function", "solve._omp_fn.0", "function_1._omp_fn.0"),
        ("function", "main.omp_outlined", "main.omp_outlined"),
        ("function", "[heat+0x1020]", "[function_1]"),
    ],
)
def test_names(kind: str, name: str, told: str) -> None:
    assert Pseudonyms().name(kind, name) == told
