/* SPDX-License-Identifier: BSD-3-Clause */
/* The call sites of allocations. A wrapper of malloc may hold any lock of the program, of the loader or of libgcc, so it
   unwinds as a sample does. A signal handler that allocates memory while its thread unwinds gets no site. */
#define _GNU_SOURCE
#include "sampling.h"

/* The state of a thread. Zeroed memory is the empty state. */
struct sites {
    struct vt_unwinder unwinder;
    int is_begun, is_used; /* the stack of this thread is known; an unwinding is under way */
    uint64_t frames[VT_SAMPLE_FRAMES]; /* not on the stack, which may be small */
};

static struct sites *sites_of(const struct vt_location *l) { return VT_READ(l->slot[VT_SLOT_SITES]); }

/* A thread may continue a location. */
static void begin(struct vt_location *l)
{
    struct sites *s = sites_of(l);
    if (!s) return;
    VT_SET(s->is_begun, 0);
    VT_SET(s->is_used, 0);
}

static struct vt_thread_follower follower = {.begins = begin};

__attribute__((constructor)) static void follow_threads(void) { vt_on_threads(&follower); }

void vt_allocation_sites_begin(void)
{
    if (VT_HAS_UNWINDER) vt_code_map_start();
}

/* Turns the frames into addresses, without those of vtrace, which are the innermost ones. Returns their number. */
static uint32_t addresses(const uint64_t *frames, uint32_t n, uintptr_t *at)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n && kept < VT_SITE_DEPTH; i++) {
        if (!kept && frames[i] & VT_FRAME_OWN) continue;
        if (frames[i] & VT_OPEN_ADDRESS) return kept; /* the text of unknown code would ask the loader */
        at[kept] = vt_code_address((uint32_t)(frames[i] & ~(uint64_t)VT_FRAME_OWN));
        if (!at[kept]) return kept;
        kept++;
    }
    return kept;
}

/* Returns the number of frames; 0: none. */
static __attribute__((noinline)) uint32_t unwind(struct vt_location *l, struct sites *s, uintptr_t *at)
{
    enum vt_sample_end end;
    struct vt_registers registers = {0, 0, 0};
#if defined(__x86_64__)
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=&r"(registers.pc), "=&r"(registers.sp), "=r"(registers.bp));
#endif
    if (!s->is_begun)
        vt_unwind_begin(&s->unwinder, l->thread == vt_process.pid, (int)vt_process.set.sample_frame_pointers);
    s->is_begun = 1;
    const uint32_t n = vt_unwind(&s->unwinder, vt_code_map_enter(), registers, s->frames, &end);
    vt_code_map_leave();
    if (end == VT_SAMPLE_NO_TABLE)
        vt_code_map_extend((uintptr_t)(s->frames[n - 1] & ~(uint64_t)(VT_OPEN_ADDRESS | VT_FRAME_OWN)));
    return addresses(s->frames, n, at);
}

uint32_t vt_allocation_site(uintptr_t caller)
{
    struct vt_location *l = vt_own_location;
    uintptr_t at[VT_SITE_DEPTH];
    uint64_t mask;
    uint32_t n = 0;
    if (!VT_HAS_UNWINDER || !l || !l->in_use || vt_suppressed) return vt_call_site(caller, 1);
    struct sites *s = sites_of(l);
    if (!s && (s = vt_pages(sizeof *s))) VT_SET(l->slot[VT_SLOT_SITES], s);
    if (!s || VT_READ(s->is_used)) return 0;
    VT_SET(s->is_used, 1);
    vt_hold_signals(&mask); /* no handler leaves by siglongjmp while the thread is in the map */
    n = unwind(l, s, at);
    vt_release_signals(&mask);
    VT_SET(s->is_used, 0);
    return n ? vt_call_site_of(at, n) : 0;
}
