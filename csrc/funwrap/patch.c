/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and switches the sleds of functions. The functions come from the symbol table; their instructions are read one by
   one.
   Memory order: enters are off and membarrier has run on all processors before the frames of other threads are read,
   so all frames from before are visible, though they are stored relaxed. */
#include "funwrap.h"

#if VT_HAS_SLEDS

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

enum { CORE_SYNC = 32, REGISTER_CORE_SYNC = 64 }; /* commands of membarrier */

#define EVENTS_THAT_TRY 64 /* events of any thread after a change that try to switch the leaves of open calls off */

static _Atomic uint32_t patching; /* lock: one thread changes the protection of pages */
static struct vt_patch_list waiting; /* leaves to switch off when no call of their function is open; with `patching` */
_Atomic uint32_t vt_patch_waits;

uintptr_t vt_patch_place(const struct vt_sleds *sleds, uintptr_t function, size_t bytes)
{
    const uint8_t *sled = vt_sled_first(sleds, function, bytes);
    return sled ? vt_sled_place(sled, sleds->on_enter) : 0;
}

/* Returns 0 if there is no memory. at: address of a sled. */
static int note(struct vt_patch_list *l, const uint8_t *at, uintptr_t place, const void *target)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 4096 / sizeof *l->sites;
        struct vt_patch_site *sites = vt_pages(room * sizeof *sites);
        if (!sites) return 0;
        if (l->n) memcpy(sites, l->sites, l->n * sizeof *sites);
        if (l->room) VT_SYS2(munmap, l->sites, l->room * sizeof *sites);
        l->sites = sites;
        l->room = room;
    }
    l->sites[l->n++] = (struct vt_patch_site){(uintptr_t)at, place, target};
    return 1;
}

/* Notes the change of the sled at the start of a function. */
static int note_enter(struct vt_patch *p, const uint8_t *first, uintptr_t place, int on, const uint8_t *stub)
{
    const void *hook = p->sleds->on_enter;
    const int is_on = vt_sled_is_on(first), counts = vt_sled_has_stub(first);
    if (counts && !vt_sled_may_turn(p->sleds, first)) return 0;
    if (stub && is_on) return note(&p->lists[VT_PATCH_ENTERS_OFF], first, place, stub);
    if (on && is_on && counts) return note(&p->lists[VT_PATCH_ENTERS_ON], first, place, hook);
    if (is_on == on) return 1;
    if (!on && counts && !note(&p->lists[VT_PATCH_LEAVES_OFF], first, place, hook)) return 0;
    return note(&p->lists[on ? VT_PATCH_ENTERS_ON : VT_PATCH_ENTERS_OFF], first, place, NULL);
}

void vt_patch_function(struct vt_patch *p, uintptr_t function, size_t bytes, int on, const uint8_t *stub)
{
    const void *hook = p->sleds->on_leave;
    uint8_t *first = vt_sled_first(p->sleds, function, bytes), *sled;
    struct vt_patch_list *leaves = &p->lists[on ? VT_PATCH_LEAVES_ON : VT_PATCH_LEAVES_OFF];
    size_t before = leaves->n;
    uintptr_t place = first ? vt_sled_place(first, p->sleds->on_enter) : 0;
    if (on && first && vt_sled_is_on(first) && !vt_sled_has_stub(first)) return; /* its leaves are on, too */
    const uint8_t *code = (const uint8_t *)function, *end = code + bytes;
    int whole = !stub || (first && vt_sled_may_turn(p->sleds, first));
    while (whole && (sled = vt_sled_next(&code, end, hook)))
        if (vt_sled_is_on(sled) != on) whole = note(leaves, sled, place, NULL);
    whole = whole && code == end && !(first && vt_sled_is_hidden(first)); /* a breakpoint: the hook applies the rules */
    if (whole && first) whole = note_enter(p, first, place, on, stub);
    if (whole) return;
    leaves->n = before;
    p->refused++;
}

/* ---- Changing the code ---- */

int vt_patch_protect(uintptr_t start, uintptr_t bytes, int writable)
{
    uintptr_t page = vt_process.page_size ? vt_process.page_size : VT_PAGE, from = start & ~(page - 1);
    int how = PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0);
    return VT_SYS3(mprotect, from, (start + bytes - from + page - 1) & ~(page - 1), how) >= 0;
}

void vt_patch_settle(void)
{
    if (VT_SYS3(membarrier, CORE_SYNC, 0, 0) >= 0) return;
    if (VT_SYS3(membarrier, REGISTER_CORE_SYNC, 0, 0) >= 0) VT_SYS3(membarrier, CORE_SYNC, 0, 0);
}

/* Returns the place of the function of an open call; UINTPTR_MAX: none. */
static uintptr_t place_of(const struct vt_frame *f)
{
    const uint64_t what = VT_READ(f->what);
    if (what & VT_FRAME_CALL) return UINTPTR_MAX;
    return what & VT_FRAME_ADDRESS ? what & VT_FRAME_WHERE : vt_code_address((uint32_t)what);
}

/* Returns a bit for each 16 bytes of the module's code: a thread has an open call of a function recorded by an address
   there. The leave of an open call must be recorded, so it stays on. NULL: no memory, or nothing to leave on. */
static uint8_t *open_calls(const struct vt_patch *p)
{
    uint8_t *bits = NULL;
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        struct vt_frame *frames = l ? VT_READ(l->frames) : NULL, *end = frames ? VT_READ(l->frame) : NULL;
        for (struct vt_frame *f = frames + 1; frames && f <= end; f++) {
            const uintptr_t place = place_of(f);
            if (place - p->start >= p->bytes) continue;
            if (!bits && !(bits = vt_pages(p->bytes / 128 + 1))) return NULL;
            bits[(place - p->start) / 128] |= (uint8_t)(1 << (place - p->start) / 16 % 8);
        }
    }
    return bits;
}

static void change_all(struct vt_patch *p)
{
    for (int step = 0; step < 4; step++) {
        struct vt_patch_list *l = &p->lists[step];
        uint8_t *open = NULL;
        if (!l->n) continue;
        if (step == VT_PATCH_LEAVES_OFF) open = open_calls(p);
        for (size_t i = 0; i < l->n; i++) {
            uintptr_t slot = l->sites[i].place ? (l->sites[i].place - p->start) / 16 : 0;
            const int is_open = open && open[slot / 8] & 1 << slot % 8;
            if (l->sites[i].target) vt_sled_turn((uint8_t *)l->sites[i].at, l->sites[i].target);
            else if (is_open) note(&waiting, (const uint8_t *)l->sites[i].at, l->sites[i].place, NULL);
            else vt_sled_switch((uint8_t *)l->sites[i].at, step <= VT_PATCH_ENTERS_ON);
        }
        if (open) VT_SYS2(munmap, open, p->bytes / 128 + 1);
        vt_patch_settle();
    }
}

/* The leaves of the module that wait are among the changes again, if they are still to be switched off. */
static void forget_waiting(const struct vt_patch *p)
{
    size_t n = 0;
    for (size_t i = 0; i < waiting.n; i++)
        if (waiting.sites[i].at - p->start >= p->bytes) waiting.sites[n++] = waiting.sites[i];
    waiting.n = n;
}

static int is_open(uintptr_t place)
{
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        struct vt_frame *frames = l ? VT_READ(l->frames) : NULL, *end = frames ? VT_READ(l->frame) : NULL;
        for (struct vt_frame *f = frames + 1; frames && f <= end; f++)
            if (place_of(f) == place) return 1;
    }
    return 0;
}

/* The enters are off, and vt_patch_apply has settled: all frames from before are visible. */
void vt_patch_retry(void)
{
    const uint32_t tries = atomic_load(&vt_patch_waits);
    if (!vt_try_lock(&patching)) return;
    for (size_t i = 0; i < waiting.n;) {
        const struct vt_patch_site s = waiting.sites[i];
        const int is_loaded = vt_filter_map_find(s.at) != NULL;
        if (is_loaded && (is_open(s.place) || !vt_patch_protect(s.at, 1, 1))) {
            i++;
            continue;
        }
        waiting.sites[i] = waiting.sites[--waiting.n];
        if (is_loaded) {
            vt_sled_switch((uint8_t *)s.at, 0);
            vt_patch_protect(s.at, 1, 0);
        }
    }
    atomic_store(&vt_patch_waits, !waiting.n ? 0 : tries > 1 ? tries - 1 : 1);
    atomic_store(&patching, 0);
}

int vt_patch_apply(struct vt_patch *p)
{
    uint64_t mask;
    size_t n = 0;
    for (int i = 0; i < 4; i++) n += p->lists[i].n;
    if (n) {
        vt_lock(&patching, &mask);
        forget_waiting(p);
        int may = vt_patch_protect(p->start, p->bytes, 1);
        if (may) change_all(p);
        atomic_store(&vt_patch_waits, waiting.n ? EVENTS_THAT_TRY : 0);
        if (may) vt_patch_protect(p->start, p->bytes, 0);
        vt_unlock(&patching, &mask);
        if (!may) {
            p->refused++;
            vt_warn(
                "this system does not let programs change their own code: functions that are not recorded cost more");
        }
    }
    for (int i = 0; i < 4; i++)
        if (p->lists[i].room) VT_SYS2(munmap, p->lists[i].sites, p->lists[i].room * sizeof *p->lists[i].sites);
    return !p->refused;
}

void vt_patch_enter_off(uintptr_t place)
{
    uint64_t mask;
    vt_lock(&patching, &mask);
    uint8_t *sled = vt_sled_of_place(place);
    if (vt_sled_is_on(sled) && vt_patch_protect((uintptr_t)sled, 1, 1)) {
        vt_sled_switch(sled, 0);
        vt_patch_protect((uintptr_t)sled, 1, 0);
    }
    vt_unlock(&patching, &mask);
}

#else

uintptr_t vt_patch_place(const struct vt_sleds *sleds, uintptr_t function, size_t bytes)
{
    (void)sleds, (void)function, (void)bytes;
    return 0;
}

void vt_patch_function(struct vt_patch *p, uintptr_t function, size_t bytes, int on, const uint8_t *stub)
{
    (void)p, (void)function, (void)bytes, (void)on, (void)stub;
}

int vt_patch_apply(struct vt_patch *p)
{
    (void)p;
    return 1;
}

_Atomic uint32_t vt_patch_waits;

void vt_patch_retry(void) {}

#endif
