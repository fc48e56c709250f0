/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks as the first vtrace-cc linked them into programs, with the layout of struct vt_inside of that time. Programs
   with these hooks run with newer libraries, so this file does not include core.h. */
#include <stddef.h>
#include <stdint.h>

typedef void hook(void *function, void *site);
struct first_inside {
    uintptr_t bytes, start;
    const uint8_t *map;
    hook *enter, *leave, *ask_enter, *ask_leave;
};
const struct first_inside *vt_inside(const struct first_inside **keep, uintptr_t code) __attribute__((weak));
__attribute__((visibility("hidden"))) hook __cyg_profile_func_enter, __cyg_profile_func_exit;

static hook nothing, first_enter, first_leave;
static const struct first_inside without = {.ask_enter = nothing, .ask_leave = nothing};
static const struct first_inside unknown = {.ask_enter = first_enter, .ask_leave = first_leave};
static const struct first_inside *of_enter = &unknown, *of_leave = &unknown;

static void nothing(void *function, void *site) { (void)function, (void)site; }

static const struct first_inside *rules_of(const struct first_inside **keep, hook *own)
{
    return vt_inside ? vt_inside(keep, (uintptr_t)own) : &without;
}

static void first_enter(void *function, void *site)
{
    rules_of(&of_enter, __cyg_profile_func_enter)->ask_enter(function, site);
}

static void first_leave(void *function, void *site)
{
    rules_of(&of_leave, __cyg_profile_func_exit)->ask_leave(function, site);
}

/* Returns 0, 1: records, hides the function; else the runtime must be asked. */
static unsigned how(const struct first_inside *r, void *function)
{
    uintptr_t bytes = __atomic_load_n(&r->bytes, __ATOMIC_ACQUIRE), at = (uintptr_t)function - r->start;
    return at < bytes ? r->map[at >> 4] : 2;
}

void __cyg_profile_func_enter(void *function, void *site)
{
    const struct first_inside *r = __atomic_load_n(&of_enter, __ATOMIC_ACQUIRE);
    unsigned what = how(r, function);
    if (what != 1) (what ? r->ask_enter : r->enter)(function, site);
}

void __cyg_profile_func_exit(void *function, void *site)
{
    const struct first_inside *r = __atomic_load_n(&of_leave, __ATOMIC_ACQUIRE);
    unsigned what = how(r, function);
    if (what != 1) (what ? r->ask_leave : r->leave)(function, site);
}
