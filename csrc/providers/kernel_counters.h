/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters from files of the kernel. */
#ifndef VT_KERNEL_COUNTERS_H
#define VT_KERNEL_COUNTERS_H

#pragma GCC visibility push(hidden)

/* The root of sysfs, for tests. */
extern const char *vt_sysfs;

#pragma GCC visibility pop

#endif
