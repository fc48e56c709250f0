/* SPDX-License-Identifier: BSD-3-Clause */
/* The places that call functions of locks, for threads that wait: std::mutex, std::condition_variable and the like call
   these functions themselves, so a place is a stack. A stack is defined once, as a text.
   Memory order: the numbers of sites are relaxed, as those of constructs in ompwrap/constructs.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include "lock_sites.h"
#include "../core/process.h"

#define SITES 8192u
#define DEPTH 8u /* frames */
#define END_OF_STACK 5 /* _URC_END_OF_STACK */

struct stack {
    uint32_t n;
    uintptr_t caller;
    uintptr_t at[DEPTH]; /* return addresses less 1, which are inside the call instructions; innermost first */
};

struct site {
    _Atomic uint64_t key; /* hash of the stack */
    uint32_t id; /* 0: another thread is defining it, or there are no more ids */
};

static struct site *_Atomic sites;
static int (*backtrace)(int (*frame)(void *context, void *stack), void *stack);
static uintptr_t (*instruction)(void *context);

/* Skips vtrace's own frames, which are the innermost ones. */
static int frame(void *context, void *into)
{
    struct stack *s = into;
    const uintptr_t back = instruction(context);
    if (!back) return END_OF_STACK;
    if (s->n || back == s->caller) s->at[s->n++] = back - 1;
    return s->n < DEPTH ? 0 : END_OF_STACK;
}

void vt_lock_sites_begin(void)
{
    struct stack none = {.n = 0};
    void *library = VT_OWN_WORK(dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL));
    if (!library) return;
    *(void **)&instruction = VT_OWN_WORK(dlsym(library, "_Unwind_GetIP"));
    if (instruction) *(void **)&backtrace = VT_OWN_WORK(dlsym(library, "_Unwind_Backtrace"));
    if (backtrace) (void)VT_OWN_WORK(backtrace(frame, &none)); /* the first unwinding prepares data for later ones */
}

static uint32_t define(const struct stack *s)
{
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_TEXT);
    for (uint32_t i = 0; i < s->n; i++) vt_note_code(s->at[i]);
    return id && vt_define(VT_D_CALL_SITE, vt_number(id), vt_bytes(s->at, s->n * sizeof *s->at)) ? id : 0;
}

static uint32_t number_of(const struct stack *s)
{
    uint64_t key = s->at[0];
    for (uint32_t i = 1; i < s->n; i++) key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u + s->at[i];
    struct site *all = atomic_load(&sites);
    if (!all) all = vt_pages_once((void **)&sites, SITES * sizeof *all);
    struct site *site = all ? vt_table_entry(all, SITES, sizeof *all, key ? key : 1) : NULL;
    if (!site) return 0;
    uint32_t id = VT_READ(site->id);
    if (!id) VT_SET(site->id, id = define(s));
    return id;
}

uint32_t vt_lock_site(uintptr_t caller)
{
    struct stack s = {.caller = caller};
    if (vt_suppressed) return 0; /* the unwinder uses locks, too */
    if (backtrace) (void)VT_OWN_WORK(backtrace(frame, &s));
    if (!s.n) s.at[s.n++] = caller - 1;
    return number_of(&s);
}

uint32_t vt_lock_site_of(uintptr_t caller)
{
    const struct stack s = {.n = 1, .at = {caller - 1}};
    return number_of(&s);
}

const struct vt_lock_attributes *vt_lock_attributes(void)
{
    static struct vt_lock_attributes all;
    static _Atomic uint32_t state; /* 1: a thread is defining them, 2: defined */
    uint32_t none = 0;
    if (atomic_load(&state) == 2) return &all;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) return NULL;
    all.site = vt_define_attribute("lock call site", "the call of the lock and its callers, each as function@file:line",
                                   VT_TYPE_STRING);
    all.holder = vt_define_attribute("holder call site", "the call by which another thread held the lock before",
                                     VT_TYPE_STRING);
    all.condition = vt_define_attribute("condition", "number of the condition variable", VT_TYPE_UINT64);
    atomic_store(&state, 2);
    return &all;
}
