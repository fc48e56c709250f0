/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of a thread's functions, for the rules that need a stack. VT_MAX_STACK_DEPTH needs the depth. For a limit
   on the calls of a function, the leave of the last recorded call must be recorded, though later calls are not. */
#include "funwrap.h"

#define RECORDED (UINT64_C(1) << 63)

static struct vt_levels *levels_of(struct vt_location *l)
{
    if (!vt_levels_of(l)) l->slot[VT_SLOT_LEVELS] = vt_pages_wiped(sizeof(struct vt_levels));
    return vt_levels_of(l);
}

static void thread_begins(struct vt_location *l)
{
    struct vt_levels *k = vt_levels_of(l);
    if (k) k->n = k->shown = 0;
}

void vt_levels_start(void)
{
    static struct vt_thread_follower follower = {.begins = thread_begins};
    vt_on_threads(&follower);
}

static int enter(struct vt_location *l, struct vt_levels *k, uintptr_t function, uint8_t how)
{
    uint64_t most = vt_process.set.max_stack_depth;
    int recorded = !(most && vt_frames_depth(l) >= most) && (how != VT_LIMITED || vt_filter_map_take(function));
    if (k->n == VT_LEVELS) {
        memmove(k->open, k->open + VT_LEVELS / 2, sizeof k->open / 2);
        k->n = VT_LEVELS / 2;
    }
    k->open[k->n++] = function | (recorded ? RECORDED : 0);
    k->shown += (uint32_t)recorded;
    return recorded;
}

/* A leave also ends the functions that the function called: longjmp and exceptions skip their hooks. A function that is
   not found was entered before the stack was kept; its leave is recorded. */
static int leave(struct vt_levels *k, uintptr_t function)
{
    for (uint32_t i = k->n; i > 0; i--) {
        if ((k->open[i - 1] & ~RECORDED) != function) continue;
        uint64_t found = k->open[i - 1];
        for (uint32_t j = i - 1; j < k->n; j++) k->shown -= (k->open[j] & RECORDED) != 0;
        k->n = i - 1;
        return (found & RECORDED) != 0;
    }
    if (k->shown) k->shown--;
    return 1;
}

int vt_levels_pass(uintptr_t function, int leaves, uint8_t how)
{
    struct vt_location *l = vt_own_location;
    if (how == VT_SHARED && (how = vt_filter_map_shared(function)) == VT_FILTERED) return 0;
    if (how == VT_COUNTING) {
        if (!leaves) vt_left_out_called(function);
        return 0;
    }
    if (how >= VT_WATCHED_START) {
        vt_window_function(vt_location_to_record(0), how, leaves);
        how = VT_SHOWN;
    }
    if (how == VT_SHOWN && !vt_process.set.max_stack_depth) return 1;
    if (!l || VT_READ(l->busy)) l = vt_location_to_record(1);
    if (!l) return 0;
    vt_busy_begin(l);
    struct vt_levels *k = levels_of(l);
    int recorded = !k || (leaves ? leave(k, function) : enter(l, k, function, how));
    vt_busy_end(l);
    return recorded;
}

int vt_passes_else(uintptr_t function, int leaves)
{
    struct vt_filter_map *m = vt_function_rules & VT_RULES_FILTER ? vt_filter_map_find(function) : NULL;
    uint8_t how = VT_SHOWN;
    if (m) how = m->code.map[(function - m->code.start) >> 4];
    else if (vt_function_rules & VT_RULES_FILTER) how = vt_filter_map_learn(function);
    if (how == VT_FILTERED) return 0;
    if (how == VT_SHOWN && !(vt_function_rules & VT_RULES_DEPTH)) return 1;
    return vt_levels_pass(function, leaves, how);
}
