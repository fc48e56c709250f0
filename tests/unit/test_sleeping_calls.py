# SPDX-License-Identifier: BSD-3-Clause
"""Calls in which threads sleep: their names, and for whom they wait."""

from __future__ import annotations

import pytest

from vtrace.analysis.findings.sleeping_calls import sleeping_call

NAP = "clock_nanosleep@sysdeps/unix/clock_nanosleep.c:34 <- time_sleep@/b/Modules/timemodule.c:9 <- "
GIL = "pthread_cond_timedwait@nptl/w.c:6 <- take_gil@/b/Python/condvar.h:73 <- thread_run@/b/Modules/_threadmodule.c:1"
LOST = "python [unknown Python function]@:0 <- pymain_run_python@/b/Modules/main.c:3"


@pytest.mark.parametrize(
    ("site", "call"),
    [
        (f"{NAP}python fetch@/home/a/bin/solve:5 <- python <module>@/home/a/bin/solve:9",
         "time.sleep, called by fetch (solve:5)"),
        (f"{NAP}{LOST}", None),
        (f"{NAP}python get@/usr/lib/python3.11/queue.py:7 <- {LOST}", None),
        ("nanosleep@x.c:1 <- rest@/home/a/Modules/rest.c:3 <- python fetch@/home/a/x.py:5",
         "nanosleep, called by fetch (x.py:5)"),
        ("nanosleep@x.c:1 <- rest@/home/a/Python/heat.c:3", "nanosleep, called by rest (heat.c:3)"),
        (GIL, None), (f"{NAP}start_thread@nptl/pthread_create.c:442", None),
        ("__libc_recv@x.c:1 <- take@/home/a/x.c:3", "recv, called by take (x.c:3)"),
        ("__GI___libc_recv@x.c:1 <- take@/home/a/x.c:3", "recv, called by take (x.c:3)"),
        ("__new_sem_wait@x.c:1 <- take@/home/a/x.c:3", "sem_wait, called by take (x.c:3)"),
    ],
)  # fmt: skip
def test_names_of_calls(site: str, call: str | None) -> None:
    """A function of Python is known by its mark, a file of the interpreter by its name."""
    found = sleeping_call(tuple(site.split(" <- ")))
    assert (str(found) if found else None) == call
