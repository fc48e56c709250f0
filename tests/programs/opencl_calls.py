# SPDX-License-Identifier: BSD-3-Clause
"""pyopencl, whose loader is its own: five kernels, and a copy of 4000 bytes."""

import numpy as np
import pyopencl as cl

context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
numbers = np.arange(1000, dtype=np.float32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
memory = cl.Buffer(context, flags, hostbuf=numbers)
source = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
twice = cl.Kernel(cl.Program(context, source).build(), "twice")
for _ in range(5):
    twice(queue, (1000,), None, memory)
result = np.empty_like(numbers)
cl.enqueue_copy(queue, result, memory)
queue.finish()
assert (result == 32 * numbers).all()
