/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of a thread: its open calls of functions with sleds. Stacks grow downwards, so the frame of a callee lies
   below that of its caller. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/auxv.h>
#include "../core/clock.h"
#include "../core/memory.h"
#include "../core/module.h"
#include "../core/recording_window.h"
#include "../core/slow_path.h"
#include "../core/stop.h"
#include "../core/switch.h"
#include "sleds.h"

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

/* Records the leave of the innermost frame. A watched function ends VT_STOP_AFTER by its leave. */
void vt_frames_pop(struct vt_location *l)
{
    struct vt_frame *f = vt_frames_top(l);
    uint64_t what = f->what;
    uint8_t rule = what >> VT_FRAME_RULE & 15;
    if (f == &vt_no_frame) return;
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
    for (; f->at < at + (entered != 0) && vt_stack_holds(&stack, f->at); f = vt_frames_top(l)) vt_frames_pop(l);
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
