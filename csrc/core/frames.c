/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds, adds and ends the frames of a thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include "process.h"

#define FIRST 4096u /* frames in the first memory of a location */

static uintptr_t main_stack_end;

/* The strings of a program's name lie above the stack of its main thread. */
__attribute__((constructor)) static void find_main_stack(void) { main_stack_end = getauxval(AT_EXECFN); }

/* Returns the highest address of the calling thread's own stack. The C library puts a thread's control block above its
   stack. */
static VT_GENERAL_REGISTERS uintptr_t own_stack_end(const struct vt_location *l)
{
    uintptr_t end = main_stack_end;
#if defined(__x86_64__)
    if (l->number) __asm__("movq %%fs:0, %0" : "=r"(end));
#elif defined(__aarch64__)
    if (l->number) __asm__("mrs %0, tpidr_el0" : "=r"(end));
#else
    if (l->number) end = UINTPTR_MAX;
#endif
    return end ? end : UINTPTR_MAX;
}

VT_GENERAL_REGISTERS int vt_stack_alternate(struct vt_stack *stack)
{
    stack_t s;
    if (VT_SYS2(sigaltstack, NULL, &s) < 0 || !(s.ss_flags & SS_ONSTACK)) return 0;
    *stack = (struct vt_stack){(uintptr_t)s.ss_sp, (uintptr_t)s.ss_sp + s.ss_size};
    return 1;
}

/* The stack of a coroutine may lie above the thread's own stack. If it lies below the own stack, or in one of its
   frames, the frames of the coroutine look like those of callees. */
VT_GENERAL_REGISTERS struct vt_stack vt_stack_of(const struct vt_location *l, uintptr_t at)
{
    struct vt_stack stack;
    uintptr_t end = own_stack_end(l);
    if (vt_stack_alternate(&stack) && vt_stack_holds(&stack, at)) return stack;
    return at > end ? (struct vt_stack){end, UINTPTR_MAX} : (struct vt_stack){0, end};
}

/* Pages of a thread's own stack lie without a gap below its end; other stacks lie beyond a page that cannot be read. */
#define OWN_PAGES 4096u /* maximum number of pages that are examined at once */
static int is_own_stack(struct vt_location *l, uintptr_t address)
{
    const uintptr_t mask = ~(uintptr_t)(VT_PAGE - 1), end = own_stack_end(l), page = address & mask;
    uintptr_t low = l->stack_low ? l->stack_low : end & mask;
    if (address >= end || end == UINTPTR_MAX) return 0;
    if (page < low && (low - page) / VT_PAGE > OWN_PAGES) return 0;
    while (low > page)
        if (!vt_is_readable(low -= VT_PAGE)) return 0;
    l->stack_low = low;
    return 1;
}

/* Returns 1 if a frame below `at` belongs to the same stack for sure. The call of a shim on any other stack may be that
   of a coroutine, and stays open; the call of a function is taken for dead. */
static int is_dead(struct vt_location *l, const struct vt_frame *f, uintptr_t at)
{
    struct vt_stack handler;
    if (!(f->what & VT_FRAME_CALL) || f->at == at) return 1;
    if (vt_stack_alternate(&handler) && vt_stack_holds(&handler, f->at) && vt_stack_holds(&handler, at)) return 1;
    return is_own_stack(l, f->at) && is_own_stack(l, at);
}

/* Records an event without looking at the frames. */
void vt_frames_record(struct vt_location *l, uint64_t what, int leaves)
{
    uint64_t words[2] = {(uint32_t)what | (leaves ? VT_FUNCTION_LEAVE : 0), 0};
    if (what & VT_FRAME_ADDRESS) {
        words[0] = VT_HEAD(leaves ? VT_K_LEAVE_ADDRESS : VT_K_ENTER_ADDRESS, 1, 0);
        words[1] = what & VT_FRAME_WHERE;
        vt_put(l, words, 2, vt_now());
    } else if (!(l->stopped || l->size) || !vt_leaves_out(l, words[0])) vt_put(l, words, 1, vt_now());
}

/* Records the leave of a shim's call that did not return. An attribute marks the leave. */
static void leave_call(struct vt_location *l, struct vt_frame *f)
{
    static _Atomic uint32_t left;
    static const char name[] = "left", meaning[] = "1: the call did not return: longjmp or an exception left it";
    uint64_t words[] = {0, 1, (uint32_t)f->what};
    VT_SET(l->frame, f - 1);
    vt_busy_end(l);
    const uint32_t mark = vt_attribute_id(&left, name, meaning, VT_TYPE_INT32);
    words[0] = VT_HEAD(VT_K_ATTRIBUTE, 1, mark);
    if (mark) vt_write_words(words, 3);
    else vt_write_words(words + 2, 1);
    vt_busy_begin(l);
}

/* Records the leave of the innermost frame. A watched function ends VT_STOP_AFTER by its leave. */
void vt_frames_pop(struct vt_location *l)
{
    struct vt_frame *f = vt_frames_top(l);
    uint64_t what = f->what;
    uint8_t rule = what >> VT_FRAME_RULE & 15;
    if (f->at == UINTPTR_MAX) return;
    if (what & VT_FRAME_CALL) {
        leave_call(l, f);
        return;
    }
    VT_SET(l->frame, f - 1);
    if (rule) {
        vt_busy_end(l);
        vt_window_function(l, rule, 1);
        vt_busy_begin(l);
    }
    vt_frames_record(l, what, 1);
}

struct vt_frame *vt_frames_find(struct vt_location *l, uintptr_t at, int entered)
{
    struct vt_frame *f = vt_frames_top(l);
    if (f->at > at) return NULL;
    struct vt_stack stack = vt_stack_of(l, at);
    for (; f->at < at + (entered != 0) && vt_stack_holds(&stack, f->at) && is_dead(l, f, at); f = vt_frames_top(l))
        vt_frames_pop(l);
    return f->at == at ? f : NULL;
}

void vt_frames_land(struct vt_location *l, uintptr_t stack_pointer)
{
    struct vt_stack handler;
    /* a signal handler on a stack of its own ends by siglongjmp */
    if (vt_stack_alternate(&handler) && !vt_stack_holds(&handler, stack_pointer))
        while (vt_stack_holds(&handler, vt_frames_top(l)->at)) vt_frames_pop(l);
    vt_frames_find(l, stack_pointer, 0);
}

void vt_land(uintptr_t stack_pointer)
{
    struct vt_location *l = vt_own_location;
    int saved = errno;
    if (!l || !l->in_use || vt_frames_top(l)->at == UINTPTR_MAX || !(l = vt_location_to_record(0))) return;
    if (VT_READ(l->vforked) && vt_is_vfork_child(l)) return;
    vt_busy_begin(l);
    vt_frames_land(l, stack_pointer);
    vt_busy_end(l);
    errno = saved;
}

void vt_land_on_own(uintptr_t stack_pointer)
{
    struct vt_location *l = vt_own_location;
    if (l && l->in_use && is_own_stack(l, vt_stack_pointer()) && is_own_stack(l, stack_pointer)) vt_land(stack_pointer);
}

/* libgcc's. Returns the stack pointer in the frame that is unwound. NULL if the program loaded no libgcc at its start:
   then the unwinding most often ends the thread (pthread_cancel), and the innermost call is that of the frame. */
extern uintptr_t _Unwind_GetCFA(void *context) __attribute__((weak));

#define CLEANUP_PHASE 2   /* _UA_CLEANUP_PHASE */
#define LARGEST_WRAPPER 1024u /* bytes of stack */
void vt_unwinds(int actions, void *context)
{
    struct vt_location *l = vt_own_location;
    int saved = errno;
    if (!(actions & CLEANUP_PHASE) || !l || vt_frames_top(l)->at == UINTPTR_MAX) return;
    const uintptr_t sp = _Unwind_GetCFA ? _Unwind_GetCFA(context) : 0;
    if (!(l = vt_location_to_record(0)) || (VT_READ(l->vforked) && vt_is_vfork_child(l))) return;
    vt_busy_begin(l);
    vt_frames_find(l, sp, 0);
    struct vt_frame *f = vt_frames_top(l); /* of a call that is not recorded there is no frame */
    if (f->what & VT_FRAME_CALL && (!sp || f->at - sp < LARGEST_WRAPPER)) vt_frames_pop(l);
    vt_busy_end(l);
    errno = saved;
}

void vt_frames_end(struct vt_location *l)
{
    if (vt_frames_top(l)->at == UINTPTR_MAX || !(l = vt_location_to_record(0))) return;
    vt_busy_begin(l);
    while (vt_frames_top(l)->at != UINTPTR_MAX) vt_frames_pop(l);
    vt_busy_end(l);
}

/* Doubles the memory of the frames. The old memory stays, since another thread may be reading it. */
static int grow(struct vt_location *l)
{
    size_t have = l->frames ? (size_t)(l->frames_end - l->frames) + 1 : 0, want = have ? 2 * have : FIRST;
    struct vt_frame *new = vt_pages(want * sizeof *new);
    if (!new) return 0;
    if (have) memcpy(new, l->frames, have * sizeof *new);
    else *new = vt_no_frame;
    VT_SET(l->frame, new + (have ? l->frame - l->frames : 0));
    VT_SET(l->frames, new);
    VT_SET(l->frames_end, new + want - 1);
    return 1;
}

int vt_frames_push(struct vt_location *l, uintptr_t at, uint64_t what)
{
    if (VT_READ(l->frame) >= VT_READ(l->frames_end) && (l->stopped || !grow(l))) {
        if (!l->stopped) vt_stop(l, VT_LOST_MEMORY, 0);
        atomic_fetch_add_explicit(&l->lost, 2, memory_order_relaxed); /* the enter and the leave */
        return 0;
    }
    struct vt_frame *f = VT_READ(l->frame);
    if (!f) return 0;
    f[1] = (struct vt_frame){at, what};
    VT_SET(l->frame, f + 1);
    return 1;
}

void vt_frames_open(struct vt_location *l, uintptr_t at, uint32_t region)
{
    vt_frames_find(l, at, 1);
    int is_full = VT_READ(l->frame) >= VT_READ(l->frames_end);
    /* calls of other stacks whose ends are not known would fill the memory */
    if (is_full && ((l->frames && !is_own_stack(l, at)) || !grow(l))) return;
    struct vt_frame *f = VT_READ(l->frame);
    if (!f) return;
    f[1] = (struct vt_frame){at, VT_FRAME_OF(region)};
    VT_SET(l->frame, f + 1);
}

void vt_frames_close(struct vt_location *l, uintptr_t here, uint32_t region)
{
    struct vt_frame *top = vt_frames_top(l), *f = top;
    for (int i = 0; i < 16 && f->at != UINTPTR_MAX; i++, f--) {
        if (f->what != VT_FRAME_OF(region) || f->at - here > VT_WRAPPER_STACK) continue;
        for (const uintptr_t at = f->at; top > f && top->at < at && is_dead(l, top, at); top = vt_frames_top(l))
            vt_frames_pop(l);
        if (top < f) return; /* a signal handler has forked */
        memmove(f, f + 1, (size_t)(top - f) * sizeof *f); /* calls of a coroutine that is interrupted stay */
        VT_SET(l->frame, top - 1);
        return;
    }
}
