/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes the rules to the hooks in executables and libraries (csrc/hooks). */
#include "funwrap.h"

#define MOST_CHANGES 1000u /* changes of VT_FUNCTIONS that the trace states */

/* The hooks that the loader finds. If a program defines its own hooks, the events of its libraries go to them, too. */
#pragma GCC visibility push(default)
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);
#pragma GCC visibility pop

/* `asking`: hooks that apply the rules of libvtrace.so.1; `all`: hooks that record every function. */
static const struct vt_inside asking = {.ask_enter = vt_hook_enter, .ask_leave = vt_hook_exit};
static struct vt_inside all = {.ask_enter = vt_record_enter, .ask_leave = vt_record_exit};

/* Modules keep a pointer to `all` for good. */
void vt_hooks_apply_rules(void)
{
    __atomic_store_n(&all.ask_enter, vt_hook_enter, __ATOMIC_RELAXED);
    __atomic_store_n(&all.ask_leave, vt_hook_exit, __ATOMIC_RELAXED);
}

/* Writes to the trace which functions are recorded from now on. */
static void tell(const char *patterns)
{
    static _Atomic uint32_t told;
    struct vt_location *l = vt_location_to_record(0);
    uint32_t n = atomic_fetch_add(&told, 1);
    char key[32], value[VT_PATH];
    if (!l || n > MOST_CHANGES) return;
    struct vt_text k = vt_text_into(key, sizeof key), v = vt_text_into(value, sizeof value);
    vt_text_add(&k, "functions.");
    vt_text_dec(&k, n);
    vt_text_dec(&v, vt_now());
    vt_text_add(&v, n == MOST_CHANGES ? " ..." : " ");
    if (n < MOST_CHANGES) vt_text_add(&v, patterns ? patterns : "");
    vt_busy_begin(l);
    vt_define_property(l, key, value);
    vt_busy_end(l);
}

void vt_select_functions(const char *patterns)
{
    vt_hooks_apply_rules();
    vt_filter_map_select(patterns);
    tell(patterns);
}

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
