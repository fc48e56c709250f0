/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the process. A forked child differs from its parent by the content of *vt_process.alive. */
#define _GNU_SOURCE
#include "system.h"

struct vt_process vt_process;
struct vt_scratch vt_scratch;

int vt_is_other_process(void)
{
    uint64_t owner = vt_process.alive ? VT_READ(*vt_process.alive) : 0;
    return owner && owner != (uint64_t)VT_SYS0(getpid);
}

_Thread_local int vt_suppressed __attribute__((tls_model("initial-exec")));

int vt_has_ended(void) { return atomic_load(&vt_process.state) >= VT_ENDED; }

int vt_is_recording(void)
{
    return vt_process.alive && atomic_load(&vt_process.state) == VT_ON &&
           VT_READ(*vt_process.alive) == (uint64_t)VT_SYS0(getpid);
}
