/* SPDX-License-Identifier: BSD-3-Clause */
/* The inlined path of a record: no lock, no allocation, no call. For the runtime and for shims that are installed with
   it. Code in a user's executable may belong to another version of vtrace and calls vt_write_N of core.h. A call would
   cost a record as much as its words do, and more after a system call.
   Memory orders have to hold on aarch64, which may show two stores of a thread to another thread in either order, and
   may execute two loads in either order unless the second needs the value of the first as an address. Atomic
   operations without an order are sequentially consistent. Relaxed are those whose own value alone matters (counters,
   settings that become known once). The head of a file states the argument for its other orders. Here: the busy word
   is relaxed with a signal fence, since only the thread's own signal handlers read it, and a thread sees its stores in
   the order of the program. The head of a chunk is stored with release after the words of a record, also in define.c,
   stop.c and sample_stream.c: a thread that loads the head (acquire) sees the words below it, and after the end of the
   process its memory is complete. */
#ifndef VT_WRITE_H
#define VT_WRITE_H

#include <stdatomic.h>
#include "core.h"

#define VT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Loads or stores a variable that another thread may load or store concurrently: atomic, relaxed. */
#define VT_READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define VT_SET(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)

/* An open call of a function with sleds, or of a function that a shim wraps (frames.c). The outermost frame of a location
   is vt_no_frame. */
struct vt_frame {
    /* Address of the function's return address, on aarch64 8 bytes below the stack pointer at the function's start: a
       frame at a lower address is a callee, or has ended. */
    uintptr_t at;
    /* The lower half of the enter record, or the function's address with VT_FRAME_ADDRESS; with the function's rule (enum
       vt_how), if its leave has to follow the rule, too. For the call of a shim: VT_FRAME_OF. */
    uint64_t what;
};
#define VT_FRAME_ADDRESS (UINT64_C(1) << 63)
#define VT_FRAME_CALL (UINT64_C(1) << 62)
#define VT_FRAME_RULE 58 /* shift of the rule, of 4 bits */
#define VT_FRAME_WHERE ((UINT64_C(1) << VT_FRAME_RULE) - 1) /* the bits of an address */
#define VT_FRAME_OF(region) (VT_FRAME_CALL | VT_WHAT(VT_K_LEAVE, 0, region))

/* The part of a location that each record uses. */
struct vt_write_cursor {
    uintptr_t busy; /* stack pointer of the code that is recording, 0: none; a signal handler then records nothing */
    uint64_t *cursor; /* position of the next record */
    uint64_t *limit; /* end of the chunk; NULL sends the next event to the slow path */
    uint64_t last; /* ticks of the newest record */
    struct vt_frame *frame, *frames_end; /* the innermost frame, and the last frame for which there is memory */
};

#pragma GCC visibility push(default)

/* The cursor of the calling thread; NULL: the thread has no location yet, or the clock is not a counter. */
extern _Thread_local struct vt_write_cursor *vt_cursor __attribute__((tls_model("initial-exec")));

/* Like vt_write_few, for all cases that the fast path does not handle. Words after the first n are ignored. Returns the
   time of the record; 0: it may be missing. */
uint64_t vt_write_slow(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, unsigned n);
/* The same for a record with the enter of a wrapped call; at: VT_CALLED_AT of the wrapper. */
void vt_write_enter_slow(uintptr_t at, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, unsigned n);

#pragma GCC visibility pop

/* A time since the last record of the thread that sends a record to the slow path: it may not fit into 32 bits, or the
   thread may have waited in a call (long_calls.c). About 0.1 ms; on aarch64, whose counters run at 25 MHz to 1 GHz, up to
   5 ms. dt: ticks. */
#if defined(__aarch64__)
#define VT_LONG_TICKS 17 /* bits */
#else
#define VT_LONG_TICKS 18
#endif
#define VT_IS_LONG(dt) ((dt) >> VT_LONG_TICKS)

/* Reads the counter. Valid only if the clock is a counter. */
static inline uint64_t vt_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return 0;
#endif
}

static inline uintptr_t vt_stack_pointer(void)
{
#if defined(__x86_64__)
    uintptr_t sp;
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
    return sp;
#elif defined(__aarch64__)
    uintptr_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
#else
    return (uintptr_t)__builtin_frame_address(0);
#endif
}

/* Takes one of the calls that a limit lets pass. Returns 0 if none is left. */
static inline int vt_take_one(_Atomic int64_t *left)
{
    return atomic_load_explicit(left, memory_order_relaxed) > 0 &&
           atomic_fetch_sub_explicit(left, 1, memory_order_relaxed) > 0;
}

/* Between vt_cursor_begin and vt_cursor_end a signal handler of this thread records nothing. */
static inline void vt_cursor_begin(struct vt_write_cursor *p)
{
    VT_SET(p->busy, vt_stack_pointer());
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void vt_cursor_end(struct vt_write_cursor *p)
{
    atomic_signal_fence(memory_order_seq_cst);
    VT_SET(p->busy, 0);
}

/* Publishes the records up to the cursor: after a crash a reader reads up to here. Chunks are aligned to their size, so
   the low 16 bits of the cursor are the offset. */
static inline void vt_cursor_publish(struct vt_write_cursor *p, uint64_t *cursor)
{
    struct vt_chunk *c = (struct vt_chunk *)((uintptr_t)(cursor - 1) & ~(uintptr_t)(VT_CHUNK_SIZE - 1));
    p->cursor = cursor;
    __atomic_store_n(&c->head, (uint16_t)(uintptr_t)cursor, __ATOMIC_RELEASE);
}

/* What a record does with the frames of the thread. */
enum vt_frame_change { VT_FRAME_STAYS, VT_FRAME_OPENS, VT_FRAME_CLOSES };

/* Writes one or more whole records of n <= 5 words at the current time. The words stay in registers, since the fast
   path calls no function. Returns the time (ticks); 0: the records may be missing.
   change: a constant. Else than VT_FRAME_STAYS: the records have the enter or leave of a call that a shim wraps;
   at: VT_CALLED_AT of the wrapper. */
static inline __attribute__((always_inline)) uint64_t vt_write_framed(enum vt_frame_change change, uintptr_t at_stack,
                                                                      uint32_t region, uint64_t a, uint64_t b,
                                                                      uint64_t c, uint64_t d, uint64_t e, unsigned n)
{
    struct vt_write_cursor *p = vt_cursor;
    if (VT_UNLIKELY(!p || VT_READ(p->busy))) goto slow;
    vt_cursor_begin(p);
    uint64_t now = vt_counter(), dt = now - p->last, *at = p->cursor;
    if (VT_UNLIKELY(at + n > VT_READ(p->limit) || VT_IS_LONG(dt))) goto not_now;
    struct vt_frame *f = change == VT_FRAME_STAYS ? NULL : VT_READ(p->frame);
    if (change == VT_FRAME_OPENS && VT_UNLIKELY(f >= VT_READ(p->frames_end) || f->at <= at_stack)) goto not_now;
    if (change == VT_FRAME_CLOSES && VT_UNLIKELY(!f || f->at != at_stack)) goto not_now;
    at[0] = dt << 32 | (uint32_t)a;
    if (n > 1) VT_SET(at[1], b);
    if (n > 2) VT_SET(at[2], c);
    if (n > 3) VT_SET(at[3], d);
    if (n > 4) VT_SET(at[4], e);
    VT_SET(p->last, now);
    if (change == VT_FRAME_OPENS) f[1] = (struct vt_frame){at_stack, VT_FRAME_OF(region)};
    if (change == VT_FRAME_OPENS) VT_SET(p->frame, f + 1);
    if (change == VT_FRAME_CLOSES) VT_SET(p->frame, f - 1);
    vt_cursor_publish(p, at + n);
    vt_cursor_end(p);
    return now;
not_now:
    vt_cursor_end(p);
slow:
    if (change != VT_FRAME_OPENS) return vt_write_slow(a, b, c, d, e, n);
    vt_write_enter_slow(at_stack, a, b, c, d, e, n);
    return 0;
}

static inline __attribute__((always_inline)) uint64_t vt_write_few(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                                                   uint64_t e, unsigned n)
{
    return vt_write_framed(VT_FRAME_STAYS, 0, 0, a, b, c, d, e, n);
}

#endif
