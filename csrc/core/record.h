/* SPDX-License-Identifier: BSD-3-Clause */
/* The path of every event: no lock, no allocation, no call. */
#ifndef VT_RECORD_H
#define VT_RECORD_H

#include "internal.h"

/* Only where vt_clock_is_counter. */
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

static inline uint64_t vt_now(void)
{
    return VT_LIKELY(vt_clock_is_counter) ? vt_counter() : vt_clock_ns(4 /* CLOCK_MONOTONIC_RAW */);
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

/* Between begin and end a signal handler of this thread records nothing. */
static inline void vt_busy_begin(struct vt_location *l)
{
    VT_SET(l->busy, vt_stack_pointer());
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void vt_busy_end(struct vt_location *l)
{
    atomic_signal_fence(memory_order_seq_cst);
    VT_SET(l->busy, 0);
}

/* Makes the records up to the cursor part of the chunk: whoever reads it after a crash goes no further. Chunks lie
   at multiples of their size, so the cursor's low half is the offset.                                            */
static inline void vt_publish(struct vt_location *l, uint64_t *cursor)
{
    struct vt_chunk *c = (struct vt_chunk *)((uintptr_t)(cursor - 1) & ~(uintptr_t)(VT_CHUNK_SIZE - 1));
    l->cursor = cursor;
    __atomic_store_n(&c->head, (uint16_t)(uintptr_t)cursor, __ATOMIC_RELEASE);
}

/* Writes one record of n <= 5 words at one moment, now. */
static inline __attribute__((always_inline)) void vt_write_few(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                                               uint64_t e, unsigned n)
{
    struct vt_location *l = vt_here;
    if (VT_UNLIKELY(!l || VT_READ(l->busy) || !vt_clock_is_counter)) {
        vt_write_slow(a, b, c, d, e, n);
        return;
    }
    vt_busy_begin(l);
    uint64_t now = vt_counter(), dt = now - l->last, *at = l->cursor;
    if (VT_UNLIKELY(at + n > VT_READ(l->limit) || dt >> 32)) {
        vt_busy_end(l);
        vt_write_slow(a, b, c, d, e, n);
        return;
    }
    at[0] = dt << 32 | (uint32_t)a;
    if (n > 1) VT_SET(at[1], b);
    if (n > 2) VT_SET(at[2], c);
    if (n > 3) VT_SET(at[3], d);
    if (n > 4) VT_SET(at[4], e);
    VT_SET(l->last, now);
    vt_publish(l, at + n);
    vt_busy_end(l);
}

#endif
