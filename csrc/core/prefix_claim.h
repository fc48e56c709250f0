/* SPDX-License-Identifier: BSD-3-Clause */
/* Which run the names PREFIX.* belong to. */
#ifndef VT_PREFIX_CLAIM_H
#define VT_PREFIX_CLAIM_H

#include "state.h"

enum vt_names { VT_NAMES_FREE, VT_NAMES_OURS, VT_NAMES_OTHERS };

#pragma GCC visibility push(hidden)

long vt_names_claim(void); /* a descriptor, or below 0 */
void vt_names_disclaim(long claim);
enum vt_names vt_names_settle(void);

#pragma GCC visibility pop

#endif
