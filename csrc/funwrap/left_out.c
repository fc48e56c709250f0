/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are left out while the program runs, since recording takes too much of a thread's time
   (core/overhead.c chooses them). They are a rule of their module, beside those of the filter. The trace states each
   change by a property. Their table belongs to the thread that has taken the choice.

   With VT_BUDGET_COUNTS=exact their calls are counted: by a stub that the sled calls (count_stubs.c), or by the hook, which
   finds the function's number in the table. Entries are never removed. */
#define _GNU_SOURCE
#include <string.h>
#include "funwrap.h"

#define PLACES 16384u
#define MODULES 16u /* whose functions one choice switches */
#define MOST_CHANGES 1000u /* that the trace states */

static struct place {
    _Atomic uint64_t key; /* as in funwrap.h; 0: free */
    uint64_t order;
    const char *name; /* of its symbol, in the file that is read; NULL: not met */
    int is_new, is_out;
    uint32_t known, number; /* offset in the code space plus 1; number of its count, VT_COUNTED_MOST: none */
    const uint8_t *stub; /* NULL: none yet */
} *places;

static char names[VT_PATH - 64]; /* of the functions of the last choice, each after a blank */
static struct vt_text names_end;
static uint32_t nswitched; /* functions of the choice that a module has */

static VT_GENERAL_REGISTERS struct place *place_of(uintptr_t place)
{
    struct place *p = places ? vt_table_find(places, PLACES, sizeof *places, place) : NULL;
    return p && VT_READ(p->is_out) ? p : NULL;
}

uint8_t vt_left_out_rule(uintptr_t place, const char *name, uint64_t order)
{
    struct place *p = place_of(place);
    if (!p) return VT_SHOWN;
    if (!p->name || order < p->order) {
        p->order = order;
        p->name = name;
    }
    return p->number == VT_COUNTED_MOST ? VT_FILTERED : VT_COUNTING;
}

const uint8_t *vt_left_out_stub(const struct vt_patch *patch, uintptr_t place)
{
    struct place *p = place_of(place);
    if (p && !p->stub) p->stub = vt_stub(patch, p->number);
    return p ? p->stub : NULL;
}

VT_GENERAL_REGISTERS int vt_left_out_call(struct vt_location *l, uintptr_t place)
{
    /* not place_of: the function may just be recorded again, and this call is not */
    const struct place *p = places ? vt_table_find(places, PLACES, sizeof *places, place) : NULL;
    return !p || p->number == VT_COUNTED_MOST || vt_counts_call(l, p->number);
}

void vt_left_out_called(uintptr_t place)
{
    struct vt_location *l = vt_own_location;
    if (l && l->in_use && vt_left_out_call(l, place)) return;
    if (!(l = vt_location_to_record(1))) return;
    vt_busy_begin(l);
    for (int tries = 0; tries < VT_COUNT_TRIES && !vt_left_out_call(l, place); tries++) vt_counts_open(l);
    vt_busy_end(l);
}

void vt_left_out_names(void)
{
    for (uint32_t i = 0; places && i < PLACES; i++) {
        struct place *p = &places[i];
        if (p->is_new && p->name) {
            nswitched++;
            vt_text_add(&names_end, " ", p->name);
            p->is_new = 0;
        }
        p->name = NULL;
    }
}

/* Returns 1 if calls of functions that are left out are counted. A function counts at any depth. */
static int are_counted(void)
{
    return vt_process.set.budget_counts == VT_COUNTS_EXACT && !vt_process.set.max_stack_depth;
}

static void enter_place(struct place *p, uint32_t offset)
{
    p->is_new = 1;
    if (p->known != offset + 1) { /* perhaps another module was there before */
        p->stub = NULL;
        p->number = are_counted() ? vt_counts_add(VT_FUNCTION | offset) : VT_COUNTED_MOST;
        p->known = offset + 1;
    }
    VT_SET(p->is_out, 1);
}

/* Enters the functions that are left out from now on. */
static int enter_places(const struct vt_left_out *chosen)
{
    if (!vt_pages_once((void **)&places, PLACES * sizeof *places)) return 0;
    for (uint32_t i = chosen->first; i < chosen->last; i++) {
        const uint32_t offset = chosen->out[i] & VT_CODE_MASK;
        const uintptr_t place = vt_code_address(offset);
        struct place *p = place ? vt_table_entry(places, PLACES, sizeof *places, place) : NULL;
        if (p && !chosen->returns) enter_place(p, offset);
        else if (p) VT_SET(p->is_out, 0);
    }
    vt_limits_clear();
    return 1;
}

static void switch_modules(const struct vt_left_out *chosen)
{
    uintptr_t done[MODULES];
    uint32_t n = 0;
    for (uint32_t i = chosen->first; i < chosen->last && n < MODULES; i++) {
        const uintptr_t place = vt_code_address(chosen->out[i]);
        const struct vt_filter_map *m = place ? vt_filter_map_find(place) : NULL;
        uint32_t known = 0;
        while (m && known < n && done[known] != m->code.start) known++;
        if (!place || known < n) continue;
        vt_filter_map_again(place);
        if ((m = vt_filter_map_find(place))) done[n++] = m->code.start;
    }
}

/* States once the tenths of ns that a stub takes to count a call. */
static void tell_cost(struct vt_location *l)
{
    static uint32_t told;
    char value[64];
    struct place *p = NULL;
    for (uint32_t i = 0; i < PLACES && told != vt_process.pid && !p; i++)
        if (places[i].stub) p = &places[i];
    if (!p) return;
    told = vt_process.pid;
    void (*stub)(void) = (void (*)(void))(uintptr_t)p->stub;
    struct vt_text v = vt_text_into(value, sizeof value);
    vt_text_dec(&v, vt_process.pid);
    vt_text_add(&v, " ");
    vt_text_dec(&v, (uint64_t)(10 * vt_counts_measure(l, p->number, stub) + 0.5));
    vt_define_property(l, "overhead.counting", value);
}

/* States a change: process id, ticks, and the functions that are left out with the reason, or that none of the last
   choice is any more. */
static void tell(struct vt_location *l, const struct vt_left_out *chosen)
{
    static uint32_t told;
    char key[32], value[VT_PATH];
    if (told == MOST_CHANGES) return;
    struct vt_text k = vt_text_into(key, sizeof key), v = vt_text_into(value, sizeof value);
    vt_text_add(&k, "overhead.");
    vt_text_dec(&k, told++);
    vt_text_dec(&v, vt_process.pid);
    vt_text_add(&v, " ");
    vt_text_dec(&v, vt_now());
    vt_text_add(&v, chosen->returns ? " in " : are_counted() ? " counted " : " out ");
    vt_text_dec(&v, chosen->returns ? 0 : chosen->part);
    vt_text_add(&v, " ");
    vt_text_dec(&v, chosen->returns ? chosen->last - chosen->first : nswitched);
    if (!chosen->returns) vt_text_add(&v, names);
    vt_busy_begin(l);
    vt_define_property(l, key, value);
    if (!chosen->returns && are_counted()) tell_cost(l);
    vt_busy_end(l);
}

void vt_switch_functions(struct vt_location *l)
{
    struct vt_left_out chosen;
    const int may = vt_filter_map_may_read();
    if (may && atomic_load(&vt_patch_waits)) vt_patch_retry();
    if (may && vt_overhead_take(&chosen)) {
        nswitched = 0;
        names_end = vt_text_into(names, sizeof names);
        if (enter_places(&chosen)) {
            vt_hooks_apply_rules();
            switch_modules(&chosen);
        }
        if (nswitched || chosen.returns) tell(l, &chosen);
        vt_overhead_done(l, &chosen);
    }
    /* other threads may have open calls of these functions */
    if (atomic_load(&vt_patch_waits) > 1) vt_limits_clear();
}
