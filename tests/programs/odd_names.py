# SPDX-License-Identifier: BSD-3-Clause
"""Uses the name in argv[1], after a word, for everything that a program can name."""

import os
import sys
import threading

from mpi4py import MPI

from vtrace.user import counter, marker, region

NAME = sys.argv[1]


def named(label: str) -> str:
    """The label and the odd name, as text that MPI accepts."""
    return label + NAME[:60].encode(errors="replace").decode()


def thread() -> None:
    """Gives this thread an odd name of 15 bytes, the maximum of Linux."""
    with open("/proc/thread-self/comm", "wb") as file:
        file.write(os.fsencode("t" + NAME)[:15])


thread.__code__ = thread.__code__.replace(co_name=f"thread{NAME}", co_qualname=f"thread{NAME}", co_filename=f"f{NAME}")
worker = threading.Thread(target=thread)
worker.start()
worker.join()
MPI.COMM_SELF.Dup().Set_name(named("comm"))
memory = bytearray(8)
window = MPI.Win.Create(memory, 1, comm=MPI.COMM_SELF)
window.Set_name(named("win"))
window.Fence()
window.Put(bytearray(8), 0)
window.Fence()
window.Free()
with region(f"region{NAME}"):
    counter(f"counter{NAME}", f"unit{NAME}")(3)
    marker(f"marker{NAME}", f"text{NAME}")
with open(f"file{NAME.replace('/', '|')}", "w") as out:
    out.write("x")
