/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which run may use the file names PREFIX.*. */
#ifndef VT_PREFIX_CLAIM_H
#define VT_PREFIX_CLAIM_H

#include "state.h"

/* State of the names of rank 0: free, taken by this run, or taken by another run or user. */
enum vt_names { VT_NAMES_FREE, VT_NAMES_OURS, VT_NAMES_OTHERS };

#pragma GCC visibility push(hidden)

/* Locks the names, by flock on the directory of the files. Returns a descriptor, or -errno if the directory cannot be
   opened. */
long vt_names_claim(void);
/* Unlocks the names. */
void vt_names_disclaim(long claim);
/* Appends a number to the prefix of this run if it needs one. Returns the state of the resulting names. */
enum vt_names vt_names_settle(void);

#pragma GCC visibility pop

#endif
