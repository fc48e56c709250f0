/* SPDX-License-Identifier: BSD-3-Clause */
/* Call sites: the places that call a function, with the callers of these; and variables. libgcc_s unwinds, since most code has no frame
   pointers. A stack is defined once, as a text.
   Memory order: the numbers of sites are relaxed, as those of constructs in ompwrap/constructs.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include "process.h"

#define END_OF_STACK 5 /* _URC_END_OF_STACK */

struct stack {
    uint32_t n, depth;
    uintptr_t caller;
    uintptr_t at[VT_SITE_DEPTH]; /* return addresses less 1, which are inside the call instructions; innermost first */
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
    return s->n < s->depth ? 0 : END_OF_STACK;
}

int vt_call_sites_begin(void)
{
    struct stack none = {.depth = 1};
    if (backtrace) return 1;
    void *library = VT_OWN_WORK(dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL));
    if (!library) return 0;
    *(void **)&instruction = VT_OWN_WORK(dlsym(library, "_Unwind_GetIP"));
    if (instruction) *(void **)&backtrace = VT_OWN_WORK(dlsym(library, "_Unwind_Backtrace"));
    if (backtrace) (void)VT_OWN_WORK(backtrace(frame, &none)); /* the first unwinding prepares data for later ones */
    return backtrace != NULL;
}

static uint32_t define(const uintptr_t *at, uint32_t n)
{
    if (!vt_location_of_thread(0)) return 0;
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_TEXT);
    for (uint32_t i = 0; i < n; i++)
        if (!(at[i] & VT_FRAME_PYTHON)) vt_note_code(at[i]);
    return id && vt_define(VT_D_CALL_SITE, vt_number(id), vt_bytes(at, n * sizeof *at)) ? id : 0;
}

/* Two threads that define the same new stack at the same time define it twice; vtunify merges equal texts. */
uint32_t vt_call_site_of(const uintptr_t *at, uint32_t n)
{
    uint64_t key = at[0];
    for (uint32_t i = 1; i < n; i++) key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u + at[i];
    struct site *all = atomic_load(&sites);
    if (!all) all = vt_pages_once((void **)&sites, VT_CALL_SITES * sizeof *all);
    struct site *site = all ? vt_table_entry(all, VT_CALL_SITES, sizeof *all, key ? key : 1) : NULL;
    if (!site && all) vt_warn("more than %u call sites: further ones are not recorded", VT_CALL_SITES / 4 * 3);
    if (!site) return 0;
    uint32_t id = VT_READ(site->id);
    if (!id) VT_SET(site->id, id = define(at, n));
    return id;
}

uint32_t vt_call_site(uintptr_t caller, uint32_t depth)
{
    struct stack s;
    s.n = 0;
    s.depth = depth;
    s.caller = caller;
    if (vt_suppressed) return 0; /* the unwinder calls functions that are recorded, too */
    if (depth > 1 && backtrace) (void)VT_OWN_WORK(backtrace(frame, &s));
    if (!s.n) s.at[s.n++] = caller - 1;
    return vt_call_site_of(s.at, s.n);
}

/* ---- Variables of executables and libraries ---- */

struct variable {
    uintptr_t address, code; /* code: an address in the code of the same module */
};

static int find_module(struct dl_phdr_info *info, size_t size, void *into)
{
    struct variable *v = into;
    uintptr_t code = 0;
    int holds = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD) continue;
        if (p->p_flags & PF_X && !code) code = start;
        holds |= v->address - start < p->p_memsz;
    }
    if (holds) v->code = code;
    return holds;
}

uint32_t vt_data_site(uintptr_t address)
{
    struct variable v = {address, 0};
    if (!dl_iterate_phdr(find_module, &v) || !v.code) return 0;
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_TEXT);
    vt_note_code(v.code);
    return id && vt_define(VT_D_DATA_SITE, vt_number(id), vt_number(v.code), vt_number(address)) ? id : 0;
}
