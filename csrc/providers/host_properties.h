/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of the host that formulas of derived events need. */
#ifndef VT_HOST_PROPERTIES_H
#define VT_HOST_PROPERTIES_H

struct vt_location;

#pragma GCC visibility push(hidden)

/* Defines the properties "cpu_max_mhz", the maximum clock rate of the processor in MHz, and "pmus", the names of the
   performance monitoring units: the kernel's, and libpfm4's if that is loaded, separated by blanks. */
void vt_define_host(struct vt_location *l);

#pragma GCC visibility pop

#endif
