/* SPDX-License-Identifier: BSD-3-Clause */
/* The unwinder for signal handlers. The stack of the thread was found readable, page by page, up to its end, and stays
   so while the thread lives. Other stacks (alternate, of a coroutine) may be gone at the next sample: their pages are
   examined for each sample. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include "sampling.h"

#define PAGE 4096u /* right for larger pages, too */
#define OWN 0x80u /* in `rule`: a frame of vtrace */
#define OWN_PAGES 4096u /* maximum number of pages of the thread's own stack that are examined at once */
#define OTHER_PAGES 256u /* maximum number of pages of another stack */
#define RED_ZONE 128u /* bytes below the stack pointer that a function may use (AMD64 ABI, 3.2.2) */

/* The end of the main thread's stack (glibc). */
extern void *__libc_stack_end __attribute__((weak));

static int are_readable(uintptr_t low, uintptr_t high)
{
    for (uintptr_t page = low & ~(uintptr_t)(PAGE - 1); page < high; page += PAGE)
        if (!vt_is_readable(page)) return 0;
    return 1;
}

/* The thread's control block lies at the end of its stack (glibc); the main thread's does not. */
static uintptr_t thread_pointer(void)
{
#if defined(__x86_64__)
    uintptr_t value;
    __asm__("mov %%fs:0, %0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

void vt_unwind_begin(struct vt_unwinder *u, int is_main, int frame_pointers)
{
    u->frame_pointers = frame_pointers;
    u->low = u->high = 0;
    u->top = !is_main ? thread_pointer() : &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
}

/* Makes the thread's own stack known from sp on. Returns 0 if sp lies in another stack. */
static int is_on_own(struct vt_unwinder *u, uintptr_t sp)
{
    if (sp - u->low < u->high - u->low) return 1;
    uintptr_t end = u->high ? u->low : u->top;
    if (!u->top || sp >= end || (end - sp) / PAGE > OWN_PAGES) return 0;
    if (!are_readable(sp, end)) return 0;
    if (!u->high) u->high = (u->top | (PAGE - 1)) + 1;
    u->low = sp & ~(uintptr_t)(PAGE - 1);
    return 1;
}

/* An unwinding: the readable part of the current stack, from the stack pointer on. */
struct walk {
    struct vt_unwinder *u;
    uintptr_t low, high;
    int is_own;
    uint32_t pages; /* pages of other stacks that were examined for this sample */
};

/* Begins at a stack pointer, perhaps on another stack than before. Returns 0 if it points to no memory. */
static int stand_on(struct walk *w, uintptr_t sp)
{
    w->is_own = is_on_own(w->u, sp);
    w->low = sp - RED_ZONE > w->u->low ? sp - RED_ZONE : w->u->low;
    w->high = w->u->high;
    if (w->is_own) return 1;
    w->low = sp & ~(uintptr_t)(PAGE - 1);
    w->high = w->low + PAGE;
    w->pages++;
    return w->pages <= OTHER_PAGES && vt_is_readable(w->low);
}

/* Makes another stack known up to an address. Beyond a large frame the search continues at the end of the frame. */
static __attribute__((noinline)) int extend(struct walk *w, uintptr_t to)
{
    if (w->is_own || to <= w->high) return 0;
    if (to - w->high > OTHER_PAGES * PAGE / 2) w->low = w->high = (to - PAGE) & ~(uintptr_t)(PAGE - 1);
    while (w->high < to) {
        if (++w->pages > OTHER_PAGES || !vt_is_readable(w->high)) return 0;
        w->high += PAGE;
    }
    return 1;
}

/* A word at any address. Its load may lie between the variables of a function. */
typedef uintptr_t __attribute__((aligned(1), may_alias)) any_word;

static inline __attribute__((no_sanitize_address)) int load(struct walk *w, uintptr_t at, uintptr_t *value)
{
    if (VT_UNLIKELY(at < w->low || at > w->high - 8) && (at < w->low || at > UINTPTR_MAX - 8 || !extend(w, at + 8)))
        return 0;
    *value = *(const any_word *)at;
    return 1;
}

/* Looks up a place in the map, and adds it to the cache. Returns 0 if no module contains the place. */
static __attribute__((noinline)) int look_up(struct vt_unwind_known *k, const struct vt_code_map *map, uintptr_t place)
{
    const struct vt_code_range *range = vt_code_range_of(map, place);
    if (!range) return 0;
    uint32_t offset = (uint32_t)(place - range->begin);
    struct vt_unwind_row row = {0}, next;
    /* another thread may be unloading a module to which a word of the stack seems to return */
    int has_rules = range->source.header && vt_is_readable((uintptr_t)range->source.header);
    if (has_rules) vt_unwind_row_at(&range->source, offset, &row);
    if (row.rule == VT_RULE_NONE && has_rules && offset + 1 < range->bytes) {
        /* makecontext lets a coroutine return to the first byte of a function of libc that nothing has called */
        vt_unwind_row_at(&range->source, offset + 1, &next);
        if (next.rule == VT_RULE_END || (next.pc == offset + 1 && next.rule == VT_RULE_SP && next.cfa == 1)) {
            row = (struct vt_unwind_row){.rule = VT_RULE_END};
            offset++;
        }
    }
    k->place = place;
    k->code = range->slot == VT_CODE_UNKNOWN ? VT_CODE_UNKNOWN : range->slot + offset;
    k->rule = (uint8_t)(row.rule | (range->own ? OWN : 0));
    k->bp = row.bp;
    k->cfa = row.cfa;
    return 1;
}

/* Restores the registers that a signal has interrupted. sp: address of the ucontext_t, on a stack that is current. */
static int leave_signal(struct walk *w, struct vt_registers *at)
{
#if defined(__x86_64__)
    const uintptr_t registers = at->sp + offsetof(ucontext_t, uc_mcontext.gregs);
    return load(w, registers + 8 * REG_RIP, &at->pc) && load(w, registers + 8 * REG_RBP, &at->bp) &&
           load(w, registers + 8 * REG_RSP, &at->sp) && stand_on(w, at->sp);
#else
    (void)w, (void)at;
    return 0;
#endif
}

/* Continues with the caller's frame. entry: offset of the instruction in its PLT entry. Returns 0 if the caller's frame
   is not on the stack. */
static inline int step(struct walk *w, const struct vt_unwind_known *k, unsigned rule, struct vt_registers *at)
{
    uintptr_t cfa = at->sp + 8 * (intptr_t)k->cfa, bp = at->bp;
    if (rule == VT_RULE_BP) cfa = at->bp + 8 * (intptr_t)k->cfa;
    else if (rule == VT_RULE_PLT) cfa = at->sp + ((int)(at->pc & 15) >= k->cfa ? 16 : 8);
    else if (rule == VT_RULE_REALIGNED && (!load(w, at->bp + 8 * (intptr_t)k->cfa, &cfa) || !load(w, at->bp, &bp)))
        return 0;
    if (cfa <= at->sp || !load(w, cfa - 8, &at->pc)) return 0;
    if (k->bp && !load(w, cfa + 8 * (intptr_t)k->bp, &bp)) return 0;
    at->bp = bp;
    at->sp = cfa;
    return 1;
}

/* Continues by the frame pointer, which points to the caller's frame pointer; the return address follows the latter. */
static int step_by_frame_pointer(struct walk *w, struct vt_registers *at)
{
    struct vt_registers to = {.sp = at->bp + 16};
    if (at->bp % 8 || at->bp < at->sp) return 0;
    if (!load(w, at->bp, &to.bp) || !load(w, at->bp + 8, &to.pc)) return 0;
    *at = to;
    return 1;
}

uint32_t vt_unwind(struct vt_unwinder *u, const struct vt_code_map *map, struct vt_registers at, uint64_t *frames,
                   enum vt_sample_end *end)
{
    struct walk w = {.u = u};
    uintptr_t place = at.pc; /* for a caller, the last byte of its call, which may be the last byte of its function */
    uint32_t n = 0;
    *end = VT_SAMPLE_NO_TABLE;
    frames[0] = place | VT_OPEN_ADDRESS;
    if (!map) return 1;
    if (u->generation != map->generation) {
        memset(u->cache, 0, sizeof u->cache);
        u->generation = map->generation;
    }
    int has_stack = stand_on(&w, at.sp);
    if (VT_UNLIKELY(vt_is_stub(place)) && has_stack && load(&w, at.sp, &at.pc)) { /* it has pushed nothing */
        at.sp += 8;
        place = at.pc - 1;
    }
    for (;;) {
        struct vt_unwind_known *k = &u->cache[(place ^ place >> 10) & (VT_UNWIND_CACHE - 1)];
        int known = VT_LIKELY(k->place == place && place) || look_up(k, map, place);
        uint64_t frame = known && k->code != VT_CODE_UNKNOWN ? k->code : place | VT_OPEN_ADDRESS;
        unsigned rule = known ? k->rule & ~OWN : VT_RULE_NONE;
        frames[n++] = frame | (known ? (uint64_t)(k->rule >> 7) * VT_FRAME_OWN : 0);
        *end = rule == VT_RULE_END ? VT_SAMPLE_COMPLETE : known ? VT_SAMPLE_NO_RULE : VT_SAMPLE_NO_TABLE;
        if (rule <= VT_RULE_END && (rule != VT_RULE_NONE || !u->frame_pointers)) return n;
        if (rule != VT_RULE_NONE) *end = n == VT_SAMPLE_FRAMES ? VT_SAMPLE_DEPTH : VT_SAMPLE_STACK;
        if (n == VT_SAMPLE_FRAMES || !has_stack) return n;
        if (VT_UNLIKELY(rule == VT_RULE_SIGNAL)) {
            if (!leave_signal(&w, &at)) return n;
            place = at.pc;
        } else {
            if (!(VT_LIKELY(rule != VT_RULE_NONE) ? step(&w, k, rule, &at) : step_by_frame_pointer(&w, &at))) return n;
            place = at.pc - 1;
        }
        if (!at.pc) { /* the outermost frame of a thread that was made without a return address */
            *end = VT_SAMPLE_COMPLETE;
            return n;
        }
    }
}
