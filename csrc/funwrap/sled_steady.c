/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of sleds in states that may last: recording is off, the clock is no counter, calls alternate between many
   modules, or frames are dead. Saving the vector registers costs more than these events, so no function in this file
   changes a vector register. For an event that needs other functions, the result is 0; the hooks that save all
   registers handle the event. */
#include "funwrap.h"

VT_GENERAL_REGISTERS uint32_t vt_frames_depth(const struct vt_location *l)
{
    const struct vt_levels *levels = vt_levels_of(l);
    return (uint32_t)(l->frames ? l->frame - l->frames : 0) + (levels ? levels->shown : 0);
}

VT_GENERAL_REGISTERS int vt_sled_judge(uintptr_t code)
{
    const struct vt_location *l = vt_own_location;
    if (vt_function_rules & VT_RULES_FILTER) {
        const struct vt_filter_map *m = vt_filter_map_find(code);
        uint8_t how = m ? VT_READ(m->code.map[(code - m->code.start) >> 4]) : VT_SHARED;
        if (how == VT_FILTERED) return VT_SLED_DROP;
        if (how != VT_SHOWN) return how == VT_COUNTING ? VT_SLED_COUNT : VT_SLED_ASK;
    }
    if (!(vt_function_rules & VT_RULES_DEPTH)) return VT_SLED_RECORD;
    if (!l || !l->frames) return VT_SLED_ASK;
    return vt_frames_depth(l) < vt_process.set.max_stack_depth ? VT_SLED_RECORD : VT_SLED_DROP;
}

/* Returns 0 if the record needs the slow path. */
static VT_GENERAL_REGISTERS int record(struct vt_location *l, uint32_t what)
{
    uint64_t now, dt, *at = l->cursor;
    if ((l->stopped || l->size) && vt_leaves_out(l, what)) return 1;
    now = vt_now();
    dt = now - l->last;
    if (l->off) return vt_passes_by(l, what, now);
    if (at >= VT_READ(l->limit) || VT_IS_LONG(dt)) return 0;
    *at = dt << 32 | what;
    VT_SET(l->last, now);
    vt_publish(l, at + 1);
    return 1;
}

/* Records the leave of the innermost frame, and removes the frame. */
static VT_GENERAL_REGISTERS int pop(struct vt_location *l)
{
    struct vt_frame *f = vt_frames_top(l);
    if (f == &vt_no_frame || f->what >> 32 || !record(l, (uint32_t)f->what | VT_FUNCTION_LEAVE)) return 0;
    VT_SET(l->frame, f - 1);
    return 1;
}

static VT_GENERAL_REGISTERS int close_dead(struct vt_location *l, uintptr_t at)
{
    struct vt_stack stack;
    struct vt_frame *f = vt_frames_top(l);
    if (f->at >= at) return 1;
    stack = vt_stack_of(l, at);
    for (; f->at < at && vt_stack_holds(&stack, f->at); f = vt_frames_top(l))
        if (!pop(l)) return 0;
    return 1;
}

static VT_GENERAL_REGISTERS int enter(struct vt_location *l, uintptr_t at, uintptr_t code)
{
    uint32_t offset = 0;
    struct vt_frame *f;
    if (!close_dead(l, at + 1)) return 0;
    f = VT_READ(l->frame);
    if (f >= VT_READ(l->frames_end) || !f) return 0;
    if (!l->stopped && (offset = vt_code_known_offset(l, code)) == VT_CODE_UNKNOWN) return 0;
    if (!record(l, VT_FUNCTION | offset)) return 0;
    f[1] = (struct vt_frame){at, VT_FUNCTION | offset};
    VT_SET(l->frame, f + 1);
    return 1;
}

static VT_GENERAL_REGISTERS int leave(struct vt_location *l, uintptr_t at)
{
    return close_dead(l, at) && (vt_frames_top(l)->at != at || pop(l));
}

/* Returns the location of the thread if the thread may record now; NULL: the hooks that save all registers decide. */
static VT_GENERAL_REGISTERS struct vt_location *ready(void)
{
    struct vt_location *l = vt_own_location;
    return l && l->in_use && !VT_READ(l->busy) && !VT_READ(l->vforked) ? l : NULL;
}

VT_GENERAL_REGISTERS int vt_sled_enters(uintptr_t at, uintptr_t code)
{
    struct vt_location *l = ready();
    int judged = vt_function_rules ? vt_sled_judge(code) : VT_SLED_RECORD, done;
    if (judged == VT_SLED_DROP || (!vt_own_location && atomic_load(&vt_process.state) >= VT_ENDED)) return 1;
    if (!l || judged == VT_SLED_ASK) return 0;
    if (judged == VT_SLED_COUNT) return vt_left_out_call(l, code);
    vt_busy_begin(l);
    done = enter(l, at, code);
    vt_busy_end(l);
    return done;
}

VT_GENERAL_REGISTERS int vt_sled_leaves(uintptr_t at)
{
    struct vt_location *l = ready();
    int done;
    if (!vt_own_location && atomic_load(&vt_process.state) >= VT_ENDED) return 1;
    if (vt_own_location && !vt_own_location->in_use) return 1; /* a forked child, which has entered nothing yet */
    if (!l) return 0;
    vt_busy_begin(l);
    done = leave(l, at);
    vt_busy_end(l);
    return done;
}
