/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of long calls: where the program calls the functions of shims in which it waits long, such as MPI_Recv or
   read. The next event after a long time takes the slow path anyway, and the frame of the call has its return address: a
   short call costs nothing. A location adds up the time of its long calls by region and place. It defines the sums each
   time they have doubled, so a killed program lacks at most half of them, and at its end. */
#define _GNU_SOURCE
#include <link.h>
#include "process.h"

#define PLACES (VT_LONG_CALLS * 3 / 4) /* the other entries are for further places of a region */

#if defined(__x86_64__) /* elsewhere the return address is not at a known place of the frame */
/* 1: the records have the ENTER of the call: the time before them was not in the call. */
static int enters(const uint64_t *words, unsigned n, const struct vt_frame *f)
{
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i]))
        if ((uint32_t)words[i] >> 24 == VT_K_ENTER && VT_ID((uint32_t)words[i]) == VT_ID((uint32_t)f->what)) return 1;
    return 0;
}

/* Returns the frame of the call in which the thread was until the records of n words; NULL: none. Before a LEAVE the frame
   has been removed, but is still there. The time of a call inside another one, such as read in MPI_Init, is the outer
   one's. */
static const struct vt_frame *call_before(const struct vt_location *l, const uint64_t *words, unsigned n)
{
    const struct vt_frame *f = VT_READ(l->frame);
    if (!f) return NULL;
    if (n && f < VT_READ(l->frames_end) && f[1].what == (VT_FRAME_CALL | (uint32_t)words[n - 1])) f++;
    if (!(f->what & VT_FRAME_CALL)) return NULL;
    if (enters(words, n, f)) f--;
    if (!(f->what & VT_FRAME_CALL)) return NULL;
    while (f[-1].what & VT_FRAME_CALL) f--;
    /* a frame further away may be on the stack of a coroutine, which may have been freed */
    return f->at - vt_stack_pointer() < VT_WRAPPER_STACK ? f : NULL;
}

/* NULL: the location has no entry of the place, and no room for another one. */
static struct vt_long_call *find(struct vt_location *l, uint32_t region, uintptr_t place)
{
    const uint64_t hash = (place ^ (uint64_t)region << 32) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < VT_LONG_CALLS; i++) {
        struct vt_long_call *c = &l->long_calls[((hash >> 32) + i) % VT_LONG_CALLS];
        if (!c->calls || (c->place == place && c->region == region)) return c;
    }
    return NULL;
}

/* Returns the text of a place; 0: unknown. Does not ask the loader, since the call may be one of a lock that a thread in
   the loader waits for. */
static uint32_t text_of(struct vt_location *l, uintptr_t place)
{
    struct dl_phdr_info info;
    vt_busy_begin(l);
    int is_known = vt_code_known_offset(l, place) != VT_CODE_UNKNOWN;
    vt_busy_end(l);
    if (!is_known && vt_module_of(place, &info)) is_known = vt_code_slot_in(l, place, &info) != VT_CODE_UNKNOWN;
    return is_known ? vt_call_site_of(&place, 1) : 0;
}

/* Returns the entry of a place, or that of all places of the region that are unknown or for which there is no room. */
static struct vt_long_call *entry_of(struct vt_location *l, uint32_t region, uintptr_t place)
{
    struct vt_long_call *c = find(l, region, place);
    uint32_t site = 0;
    if (c && c->calls) return c;
    if (l->nlong_calls < PLACES) site = text_of(l, place);
    if (!site) c = find(l, region, place = 0);
    if (!c || c->calls) return c;
    l->nlong_calls++;
    c->place = place;
    VT_SET(c->region, region);
    VT_SET(c->site, site);
    return c;
}
#endif

static void define(struct vt_location *l, struct vt_long_call *c)
{
    const uint64_t ticks = VT_READ(c->ticks);
    VT_SET(c->defined, ticks);
    vt_define_at(l, VT_D_CALL_TIME, vt_number(l->number), vt_number(VT_READ(c->region)), vt_id(VT_READ(c->site)),
                 vt_number(VT_READ(c->calls)), vt_number(ticks));
}

void vt_long_call(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
#if defined(__x86_64__)
    const struct vt_frame *f = call_before(l, words, n);
    const uint64_t since = l->last > l->long_until ? l->last : l->long_until;
    if (!f || now <= since) return;
    struct vt_long_call *c = entry_of(l, VT_ID((uint32_t)f->what), *(const uintptr_t *)f->at - 1);
    l->long_until = now;
    if (!c) return;
    VT_SET(c->calls, c->calls + 1); /* the thread that ends the program may read them */
    VT_SET(c->ticks, c->ticks + (now - since));
    if (c->ticks / 2 >= VT_READ(c->defined)) define(l, c);
#else
    (void)l, (void)words, (void)n, (void)now;
#endif
}

void vt_long_calls_end(struct vt_location *l)
{
    for (uint32_t i = 0; i < VT_LONG_CALLS; i++)
        if (VT_READ(l->long_calls[i].ticks) != VT_READ(l->long_calls[i].defined)) define(l, &l->long_calls[i]);
}
