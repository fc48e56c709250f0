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

/* ---- hidden.c: what a filter says of functions ---- */

enum vt_how { VT_SHOWN, VT_HIDDEN, VT_LIMITED, VT_SHARED }; /* SHARED: vt_hidden_shared tells */
enum vt_careful { VT_CAREFUL_FILTER = 1, VT_CAREFUL_DEPTH = 2 };

#define VT_HIDDEN_MODULES 256u

struct vt_hidden { /* a module's code */
    uintptr_t start, bytes;
    uint8_t *map; /* enum vt_how of each 16 bytes */
    int32_t *left; /* calls that are still recorded, of functions with a limit */
};

extern struct vt_hidden vt_hidden[VT_HIDDEN_MODULES] __attribute__((visibility("hidden")));
extern _Atomic uint32_t vt_hidden_modules __attribute__((visibility("hidden")));
extern uint32_t vt_careful __attribute__((visibility("hidden"))); /* bits; 0: every function is recorded */

#pragma GCC visibility push(hidden)
uint8_t vt_hidden_learn(uintptr_t function); /* of a module that is not known yet */
uint8_t vt_hidden_shared(uintptr_t function);
int vt_hidden_take(uintptr_t function);
int vt_levels_pass(uintptr_t function, int leaves, uint8_t how);
#pragma GCC visibility pop

static inline struct vt_hidden *vt_hidden_find(uintptr_t function)
{
    uint32_t n = atomic_load_explicit(&vt_hidden_modules, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (function - vt_hidden[i].start < VT_READ(vt_hidden[i].bytes)) return &vt_hidden[i];
    return NULL;
}

/* 1: the event of a function is recorded. Only where vt_careful is set. */
static inline __attribute__((always_inline)) int vt_passes(uintptr_t function, int leaves)
{
    uint8_t how = VT_SHOWN;
    uintptr_t offset = function - vt_hidden[0].start; /* mostly the executable, which costs least so */
    if (offset < VT_READ(vt_hidden[0].bytes) && vt_hidden[0].map[offset >> 4] == VT_HIDDEN) return 0;
    if (vt_careful & VT_CAREFUL_FILTER) {
        struct vt_hidden *m = vt_hidden_find(function);
        how = VT_UNLIKELY(!m) ? vt_hidden_learn(function) : m->map[(function - m->start) >> 4];
        if (how == VT_HIDDEN) return 0;
    }
    if (VT_LIKELY(how == VT_SHOWN && !(vt_careful & VT_CAREFUL_DEPTH))) return 1;
    return vt_levels_pass(function, leaves, how);
}

#endif
