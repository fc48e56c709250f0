/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting VT_MEMTRACE_CALLSITES: records the callers of one allocation per so many bytes, as an attribute of the
   call. The distances are random, so that no pattern of the program is in step with them. */
#include "memwrap.h"
#include "core/core.h"

#define COST 20 /* looking for the callers takes at most one part in so many of a thread's time, and one more */

#define UNUSUAL 8 /* longer than so many times the shortest search: the thread was not running meanwhile */
#define BACK_OFF 32 /* allocations of the same size that need not ask again */

uint64_t vt_site_bytes;
static uint32_t attribute;

void vt_sites_begin(void)
{
    const uint64_t bytes = vt_setting("VT_MEMTRACE_CALLSITES");
    if (!bytes) return;
    vt_allocation_sites_begin();
    attribute = vt_define_attribute("allocation call site",
                                    "call of malloc or the like and its callers, each as "
                                    "function@file:line, of one allocation of many",
                                    VT_TYPE_STRING);
    vt_site_bytes = attribute && bytes < INT64_MAX / 2 ? bytes : 0;
}

/* Marsaglia's xorshift64 ("Xorshift RNGs", 2003). */
static uint64_t random_of(struct vt_sums *s)
{
    if (!s->random) s->random = (uint64_t)(uintptr_t)s;
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

void vt_site_of_next(struct vt_sums *s, int64_t n, const void *caller)
{
    const uint64_t begin = vt_ticks();
    s->until_site = (int64_t)(vt_site_bytes / 2 + random_of(s) % (vt_site_bytes + 1)); /* the mean is vt_site_bytes */
    if ((int64_t)(begin - s->site_due) < 0) {
        s->until_site += BACK_OFF * n;
        return;
    }
    const uint32_t id = vt_allocation_site((uintptr_t)caller);
    if (id) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attribute), id);
    const uint64_t end = vt_ticks(), cost = end - begin;
    if (!s->site_least || cost < s->site_least) s->site_least = cost;
    s->site_due = end + COST * (cost < UNUSUAL * s->site_least ? cost : UNUSUAL * s->site_least);
}
