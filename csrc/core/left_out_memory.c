/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of malloc and its family that are left out for a time, since recording them takes too much of a thread's time
   (overhead.c). The shim then asks for their count only, and goes on adding up the heap in use. A thread that holds the
   lock of the choices switches them. */
#define _GNU_SOURCE
#include <time.h>
#include "location.h"

#define REGIONS 16u
#define FIRST_PAUSE UINT64_C(1000000000) /* ns until the calls are recorded again */
#define LONGEST_PAUSE (3600 * FIRST_PAUSE)
#define MOST_CHANGES 100u /* that the trace states */

static void (*_Atomic switch_shim)(int how);
static struct {
    _Atomic uint32_t id;
    uint32_t number; /* of its count */
} regions[REGIONS];
static _Atomic uint32_t nregions;
static uint32_t numbered, is_out, told;
static uint64_t pause_ns = FIRST_PAUSE, not_before;

void vt_memory_attach(const struct vt_shim *shim)
{
    const int has = shim->size >= offsetof(struct vt_shim, leave_out) + sizeof shim->leave_out;
    if (has && shim->leave_out && vt_process.set.overhead) atomic_store(&switch_shim, shim->leave_out);
}

void vt_memory_region(uint32_t id, uint8_t role)
{
    if (!vt_process.set.overhead || role < VT_ROLE_ALLOCATE || role > VT_ROLE_REALLOCATE) return;
    const uint32_t n = atomic_fetch_add(&nregions, 1);
    if (n < REGIONS) atomic_store(&regions[n].id, id);
}

int vt_memory_may_go(void) { return atomic_load(&switch_shim) && !is_out; }

int vt_memory_call(struct vt_location *l, uint32_t region)
{
    for (uint32_t i = 0; i < VT_READ(numbered); i++)
        if (atomic_load_explicit(&regions[i].id, memory_order_relaxed) == region)
            return regions[i].number == VT_COUNTED_MOST || vt_counts_call(l, regions[i].number);
    return 1;
}

struct vt_count_place vt_count_place(uint32_t region)
{
    for (uint32_t i = 0; i < VT_READ(numbered); i++)
        if (atomic_load(&regions[i].id) == region && regions[i].number < VT_COUNTED_MOST)
            return (struct vt_count_place){
                .is_known = 1, .chunk = regions[i].number / VT_PROFILE_ROWS, .turns = VT_COUNTED_AT(regions[i].number)};
    return (struct vt_count_place){.is_known = 0};
}

static void number_regions(void)
{
    uint32_t n = atomic_load(&nregions);
    for (n = n < REGIONS ? n : REGIONS; numbered < n && atomic_load(&regions[numbered].id);
         VT_SET(numbered, numbered + 1))
        regions[numbered].number = vt_counts_add(VT_WHAT(VT_K_ENTER, 0, atomic_load(&regions[numbered].id)));
    vt_limits_clear();
}

/* part: of the thread's time that recording took, in %; 0: the calls are recorded again. */
static void tell(struct vt_location *l, int is_counted, uint32_t part)
{
    char key[48], value[96];
    if (told == MOST_CHANGES) return;
    struct vt_text k = vt_text_into(key, sizeof key), v = vt_text_into(value, sizeof value);
    vt_text_add(&k, "overhead.memory.");
    vt_text_dec(&k, told++);
    vt_text_dec(&v, vt_process.pid);
    vt_text_add(&v, " ");
    vt_text_dec(&v, vt_now());
    vt_text_add(&v, !part ? " in " : is_counted ? " counted " : " out ");
    vt_text_dec(&v, part);
    vt_text_add(&v, part ? " 2 malloc free" : " 2");
    vt_define_property(l, key, value);
}

void vt_memory_leave_out(struct vt_location *l, uint32_t part)
{
    const int is_counted = vt_process.set.budget_counts == VT_COUNTS_EXACT;
    if (is_counted) number_regions();
    atomic_load (&switch_shim)(is_counted ? VT_CALLS_COUNTED : VT_CALLS_LEFT_OUT);
    is_out = 1;
    if (not_before && pause_ns < LONGEST_PAUSE) pause_ns *= 2;
    not_before = vt_clock_ns(CLOCK_MONOTONIC_RAW) + pause_ns;
    tell(l, is_counted, part ? part : 1);
}

int vt_memory_return(struct vt_location *l)
{
    if (!is_out || vt_clock_ns(CLOCK_MONOTONIC_RAW) < not_before) return 0;
    atomic_load (&switch_shim)(VT_CALLS_RECORDED);
    is_out = 0;
    tell(l, 0, 0);
    return 1;
}
