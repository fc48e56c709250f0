# SPDX-License-Identifier: BSD-3-Clause
"""small_stack.py SECONDS: computes with an alternate signal stack of 8 KiB, below which no memory is accessible. Runs
new functions all the time, so that samples meet unknown code. Prints the number of functions."""

import ctypes
import mmap
import sys
import time

PAGE, BYTES, DISABLE = 4096, 8192, 2
libc = ctypes.CDLL(None, use_errno=True)
area = mmap.mmap(-1, PAGE + BYTES)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))


class Stack(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("bytes", ctypes.c_size_t)]


if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(PAGE), 0):
    sys.exit("mprotect")
if libc.sigaltstack(ctypes.byref(Stack(start + PAGE, 0, BYTES)), None):
    sys.exit("sigaltstack")

end, number = time.process_time() + float(sys.argv[1]), 0
while time.process_time() < end:
    number += 1
    space: dict = {}
    exec(compile(f"def new_{number}():\n    return sum(range(20000))", f"file_{number}.py", "exec"), space)
    space[f"new_{number}"]()
libc.sigaltstack(ctypes.byref(Stack(0, DISABLE, 0)), None)
print(number)
