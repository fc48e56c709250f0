/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of a device by clGetDeviceAndHostTimer, where the driver has it. commands.c has further bounds: a command is
   queued, by the device's clock, between the enter and the leave of the call that enqueues it, and has ended when its times
   are read. */
#include "openclwrap.h"

#define ASK_NS 100000000u /* time between two questions for a device's time */

void vt_cl_clock_ask(struct vt_cl_device *d)
{
    cl_timer_function *timer = VT_NEXT_AS(cl_timer_function, clGetDeviceAndHostTimer);
    cl_ulong device = 0, host = 0;
    uint64_t asked = atomic_load(&d->asked);
    const uint64_t before = vt_device_now();
    if (!atomic_load(&d->has_timer) || before - asked < ASK_NS) return;
    if (!atomic_compare_exchange_strong(&d->asked, &asked, before)) return; /* another thread asks */
    const int knows = timer && VT_OWN_WORK(timer(d->handle, &device, &host)) == CL_SUCCESS && device;
    const uint64_t after = vt_device_now();
    if (knows) vt_device_clock_bounds(&d->clock, (int64_t)(before - device), (int64_t)(after - device), after, 1);
    else atomic_store(&d->has_timer, 0);
}
