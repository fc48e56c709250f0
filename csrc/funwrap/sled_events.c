/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of sleds that are not the plain case. The hooks have saved all registers. */
#include "funwrap.h"

/* Returns the location if the thread may change its frames, with busy set. at: address of the function's return address.
   The hook has saved more registers since than vt_busy_is_stale expects, so the address stands for the hook's frame. */
static struct vt_location *begin(uintptr_t at)
{
    struct vt_location *l = vt_own_location;
    uintptr_t busy = l ? VT_READ(l->busy) : 0;
    if (busy && l->in_use && !vt_suppressed && vt_busy_is_stale(busy, at)) vt_location_mend(l);
    l = vt_location_to_record(1);
    if (!l || (VT_READ(l->vforked) && vt_is_vfork_child(l))) return NULL;
    vt_busy_begin(l);
    return l;
}

/* Returns the rule of a function. */
static uint8_t rule_of(uintptr_t code)
{
    if (!(vt_function_rules & VT_RULES_FILTER)) return VT_SHOWN;
    const struct vt_filter_map *m = vt_filter_map_find(code);
    uint8_t how = m ? m->code.map[(code - m->code.start) >> 4] : vt_filter_map_learn(code);
    return how == VT_SHARED ? vt_filter_map_shared(code) : how;
}

/* Returns 1 if a call is recorded. l: location of the thread, with busy clear. */
static int passes(const struct vt_location *l, uintptr_t code, uint8_t how)
{
    uint64_t most = vt_process.set.max_stack_depth;
    if (vt_function_rules & VT_RULES_DEPTH && most && vt_frames_depth(l) >= most) return 0;
    if (how != VT_LIMITED || vt_filter_map_take(code)) return 1;
    vt_patch_enter_off(code); /* the leaves stay on: recorded calls may be open */
    return 0;
}

void vt_sled_entered(uintptr_t at, uintptr_t code)
{
    uint8_t how = VT_UNLIKELY(vt_function_rules) ? rule_of(code) : VT_SHOWN;
    if (how == VT_FILTERED) return;
    if (how == VT_COUNTING) {
        vt_left_out_called(code);
        return;
    }
    struct vt_location *l = begin(at);
    if (!l) return;
    vt_frames_find(l, at, 1);
    vt_busy_end(l);
    if (how >= VT_WATCHED_START) vt_window_function(l, how, 0);
    if (VT_UNLIKELY(vt_function_rules) && !passes(l, code, how)) return;
    vt_busy_begin(l);
    uint32_t offset = vt_code_offset(l, code);
    uint64_t what = offset == VT_CODE_UNKNOWN ? code | VT_FRAME_ADDRESS : VT_FUNCTION | offset;
    uint64_t rule = how >= VT_WATCHED_START ? (uint64_t)how << VT_FRAME_RULE : 0;
    if (vt_frames_push(l, at, what | rule)) vt_frames_record(l, what, 0);
    vt_busy_end(l);
    vt_after_function(l);
}

void vt_sled_left(uintptr_t at, uintptr_t code)
{
    (void)code;
    struct vt_location *l = begin(at);
    struct vt_frame *f = l ? vt_frames_find(l, at, 0) : NULL;
    if (f) vt_frames_pop(l);
    if (!l) return;
    vt_busy_end(l);
    vt_after_function(l);
}
