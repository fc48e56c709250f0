/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting VT_MPI_CALLSITES: records the places that call MPI functions. A stack is defined once, as a text; each
   call refers to the text by an attribute.
   Memory order: the numbers of sites are relaxed, as those of constructs in ompwrap/constructs.c. */
#include "mpiwrap.h"

#include <dlfcn.h>
#include <errno.h>

#define VT_SITES 16384u /* a power of 2; at most three quarters are used */

static struct vt_mpi_place {
    _Atomic(uint64_t) key; /* hash of the stack */
    _Atomic(uint32_t) id; /* 0: another thread is defining it, or there are no more ids */
} vt_places[VT_SITES];
static _Atomic(uint32_t) vt_nplaces;
static uint32_t vt_site_attribute;

_Atomic(uint32_t) vt_mpi_site_depth;

/* ---- The stack, unwound by libgcc_s, since most code has no frame pointers ---- */

#define VT_END_OF_STACK 5 /* _URC_END_OF_STACK */

struct vt_mpi_stack {
    uint32_t n, depth;
    uintptr_t caller;
    uintptr_t at[VT_SITE_DEPTH]; /* return addresses less 1, which are inside the call instructions; innermost first */
};

static int (*vt_backtrace)(int (*frame)(void *context, void *stack), void *stack);
static uintptr_t (*vt_instruction)(void *context);

/* Skips the shim's own frames, which are the innermost ones. */
static int vt_frame(void *context, void *into)
{
    struct vt_mpi_stack *stack = into;
    const uintptr_t back = vt_instruction(context);
    if (stack->n || back == stack->caller) stack->at[stack->n++] = back - 1;
    return stack->n < stack->depth ? 0 : VT_END_OF_STACK;
}

/* Without libgcc_s, or if it does not know the caller, the stack is the caller alone. */
static void vt_walk(struct vt_mpi_stack *stack)
{
    if (stack->depth > 1) vt_backtrace(vt_frame, stack);
    if (!stack->n) stack->at[stack->n++] = stack->caller - 1;
}

/* ---- Definitions ---- */

static uint32_t vt_define_sites(void)
{
    static const char description[] = "call site of the MPI function and its callers, each as function@file:line";
    return vt_define_attribute("call site", description, VT_TYPE_STRING);
}

static uint32_t vt_define_site(const struct vt_mpi_stack *stack)
{
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_TEXT);
    for (uint32_t i = 0; i < stack->n; i++) vt_note_code(stack->at[i]);
    if (!id) return 0;
    return vt_define(VT_D_CALL_SITE, vt_number(id), vt_bytes(stack->at, stack->n * sizeof *stack->at)) ? id : 0;
}

/* The entry of a stack in the table; NULL if the table is full. Two threads that define the same new stack at the same
   time define it twice; vtunify merges equal texts. */
static struct vt_mpi_place *vt_find(uint64_t key)
{
    for (uint64_t at = key * 0x9e3779b97f4a7c15u >> 40;; at++) {
        struct vt_mpi_place *place = &vt_places[at % VT_SITES];
        uint64_t there = atomic_load_explicit(&place->key, memory_order_relaxed);
        if (there == key) return place;
        if (there) continue;
        if (atomic_load_explicit(&vt_nplaces, memory_order_relaxed) >= VT_SITES / 4 * 3) return NULL;
        if (!atomic_compare_exchange_strong(&place->key, &there, key) && there != key) continue;
        if (!there) atomic_fetch_add(&vt_nplaces, 1);
        return place;
    }
}

/* Writes the attribute of the next ENTER. */
void vt_mpi_site(uintptr_t caller)
{
    struct vt_mpi_stack stack;
    stack.n = 0;
    stack.depth = atomic_load_explicit(&vt_mpi_site_depth, memory_order_relaxed);
    stack.caller = caller;
    vt_walk(&stack);
    uint64_t key = stack.at[0];
    for (uint32_t i = 1; i < stack.n; i++) key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u + stack.at[i];
    struct vt_mpi_place *place = vt_find(key ? key : 1);
    if (!place) {
        vt_warn("VT_MPI_CALLSITES: more than %u call sites: further call sites are not recorded", VT_SITES / 4 * 3);
        return;
    }
    uint32_t id = atomic_load_explicit(&place->id, memory_order_relaxed);
    if (!id) atomic_store_explicit(&place->id, id = vt_define_site(&stack), memory_order_relaxed);
    if (id) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, vt_site_attribute), id);
}

/* ---- Start, at the first call of an MPI function, where loading libgcc_s and allocating memory are safe ---- */

static bool vt_can_walk(void)
{
    struct vt_mpi_stack stack = {.depth = 1};
    void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return false;
    *(void **)&vt_backtrace = dlsym(library, "_Unwind_Backtrace");
    *(void **)&vt_instruction = dlsym(library, "_Unwind_GetIP");
    if (!vt_backtrace || !vt_instruction) return false;
    vt_backtrace(vt_frame, &stack); /* the first unwinding prepares data for later ones */
    return true;
}

void vt_mpi_sites_begin(void)
{
    const int saved = errno;
    uint32_t depth = (uint32_t)vt_setting("VT_MPI_CALLSITES");
    if (depth > VT_SITE_DEPTH) depth = VT_SITE_DEPTH;
    if (depth > 1 && !vt_can_walk()) {
        vt_warn("VT_MPI_CALLSITES=%u needs libgcc_s.so.1, which was not found: 1 is used", depth);
        depth = 1;
    }
    if (depth && (vt_site_attribute = vt_define_sites())) atomic_store(&vt_mpi_site_depth, depth);
    errno = saved;
}
