/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes the rules to the hooks in executables and libraries (csrc/hooks). */
#include "filter_map.h"

/* The hooks that the loader finds. If a program defines its own hooks, the events of its libraries go to them, too. */
#pragma GCC visibility push(default)
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);
#pragma GCC visibility pop

/* `asking`: hooks that apply the rules of libvtrace.so.1; `all`: hooks that record every function. */
static const struct vt_inside asking = {.ask_enter = vt_hook_enter, .ask_leave = vt_hook_exit};
static const struct vt_inside all = {.ask_enter = vt_record_enter, .ask_leave = vt_record_exit};

const struct vt_inside *vt_inside(const struct vt_inside **keep, uintptr_t code)
{
    static struct vt_inside others;
    const struct vt_inside *found = &asking;
    if (__cyg_profile_func_enter != vt_hook_enter || __cyg_profile_func_exit != vt_hook_exit) {
        others.ask_enter = __cyg_profile_func_enter;
        others.ask_leave = __cyg_profile_func_exit;
        found = &others;
    } else if (!vt_filter_map_prepared) return &asking; /* no constructor has run yet */
    else if (!vt_function_rules) found = &all;
    else if (vt_function_rules & VT_RULES_FILTER) {
        struct vt_filter_map *m = vt_filter_map_of(code);
        if (!m) return &asking;
        found = &m->code;
    }
    __atomic_store_n(keep, found, __ATOMIC_RELEASE);
    return found;
}
