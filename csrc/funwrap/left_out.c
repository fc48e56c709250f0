/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are left out while the program runs, since recording takes too much of a thread's time
   (core/overhead.c chooses them). They are a rule of their module, beside those of the filter. The trace states each
   change by a property. Their table belongs to the thread that has taken the choice. */
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
    int is_new;
} *places;

static char names[VT_PATH - 64]; /* of the functions of the last choice, each after a blank */
static struct vt_text names_end;
static uint32_t nswitched; /* functions of the choice that a module has */

int vt_is_left_out(uintptr_t place, const char *name, uint64_t order)
{
    struct place *p = places ? vt_table_find(places, PLACES, sizeof *places, place) : NULL;
    if (p && (!p->name || order < p->order)) {
        p->order = order;
        p->name = name;
    }
    return p != NULL;
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

/* Enters the functions that are left out from now on. */
static int enter_places(const struct vt_left_out *chosen)
{
    if (!vt_pages_once((void **)&places, PLACES * sizeof *places)) return 0;
    memset(places, 0, PLACES * sizeof *places);
    for (uint32_t i = 0; i < (chosen->returns ? chosen->first : chosen->last); i++) {
        const uintptr_t place = vt_code_address(chosen->out[i]);
        struct place *p = place ? vt_table_entry(places, PLACES, sizeof *places, place) : NULL;
        if (p) p->is_new = i >= chosen->first;
    }
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
    vt_text_add(&v, chosen->returns ? " in " : " out ");
    vt_text_dec(&v, chosen->returns ? 0 : chosen->part);
    vt_text_add(&v, " ");
    vt_text_dec(&v, chosen->returns ? chosen->last - chosen->first : nswitched);
    if (!chosen->returns) vt_text_add(&v, names);
    vt_busy_begin(l);
    vt_define_property(l, key, value);
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
