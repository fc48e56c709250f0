/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory shim (libvtrace-mem.so): wraps malloc and the related functions that glibc exports. Allocations by new and
   delete of C++, and by strdup, fopen or getline of libc, reach these functions, too.

   This file owns the table of functions and the records, sums.c the sums of the threads, libraries.c and sites.c the
   callers. In this folder these rules always hold:
   - A wrapper calls the next definition exactly once and keeps its result and errno.
   - A wrapper allocates no memory by malloc and takes no lock.
   - A block is subtracted from the sums before it is freed, and added after it was allocated. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "core/write.h"
#include "memwrap.h"

#define EXPORT __attribute__((visibility("default")))

/* X(function, role, result type, parameters): the next definitions. */
/* clang-format off */
#define FUNCTIONS(X)                                                                                                   \
    X(malloc, ALLOCATE, void *, (size_t n))                                                                            \
    X(calloc, ALLOCATE, void *, (size_t n, size_t size))                                                               \
    X(realloc, REALLOCATE, void *, (void *old, size_t n))                                                              \
    X(free, DEALLOCATE, void, (void *block))                                                                           \
    X(memalign, ALLOCATE, void *, (size_t alignment, size_t n))                                                        \
    X(posix_memalign, ALLOCATE, int, (void **made, size_t alignment, size_t n))                                        \
    X(valloc, ALLOCATE, void *, (size_t n))                                                                            \
    X(aligned_alloc, ALLOCATE, void *, (size_t alignment, size_t n))                                                   \
    X(pvalloc, ALLOCATE, void *, (size_t n))                                                                           \
    X(reallocarray, REALLOCATE, void *, (void *old, size_t n, size_t size))                                            \
    X(malloc_usable_size, FUNCTION, size_t, (void *block))
/* clang-format on */

enum function {
#define NUMBER(name, ...) F_##name,
    FUNCTIONS(NUMBER) FUNCTION_COUNT
};

static struct behind {
#define POINTER(name, role, result, parameters) result(*name) parameters;
    FUNCTIONS(POINTER)
} next;

static struct {
    uint32_t region, always, unlimited; /* always: each call is recorded; unlimited: without a limit of a filter */
    struct vt_count_place counted;
    _Atomic int64_t left; /* else: number of calls that are still recorded */
} functions[FUNCTION_COUNT];
static _Atomic(int) left_out; /* VT_CALLS_...: the runtime leaves all calls out for a time */
static uint64_t threshold; /* smaller blocks appear in the sums only */

/* Without VT_MEMTRACE the state is OFF, which a wrapper tests first. */
enum { NEW, FINDING, FOUND, ATTACHING, RECORD, OFF };
static _Atomic(int) state = NEW;

/* ---- Before the next definitions are known: dlsym may allocate memory ---- */

static char arena[65536] __attribute__((aligned(16)));
static _Atomic(size_t) arena_used;

struct early {
    size_t bytes, unused;
};

static inline bool is_early(const void *block)
{
    return VT_UNLIKELY((uintptr_t)block - (uintptr_t)arena < sizeof arena);
}

static void *early_malloc(size_t n)
{
    size_t need = sizeof(struct early) + ((n + 15) & ~(size_t)15);
    size_t at = n < sizeof arena ? atomic_fetch_add(&arena_used, need) : sizeof arena;
    if (at + need > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    ((struct early *)(arena + at))->bytes = n;
    return arena + at + sizeof(struct early); /* zero, since no part of the arena is given out twice */
}

static size_t early_size(const void *block) { return ((const struct early *)block)[-1].bytes; }

/* The allocator of a sanitizer ends the program if it is asked for the size of a block that it gave out before its
   start. */
extern int __sanitizer_get_ownership(const volatile void *block) __attribute__((weak));
static size_t (*size_of)(void *);

static size_t size_if_owned(void *block)
{
    return __sanitizer_get_ownership(block) ? next.malloc_usable_size(block) : 0;
}

/* LeakSanitizer takes no block for a leak that the loader has allocated: the caller must be the loader, not a wrapper. */
static uintptr_t loader;
static size_t loader_bytes; /* 0: no sanitizer */

static void find_loader(void)
{
    const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)getauxval(AT_BASE);
    if (!e || !__sanitizer_get_ownership) return;
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)(const void *)((const char *)e + e->e_phoff);
    for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > loader_bytes)
            loader_bytes = p[i].p_vaddr + p[i].p_memsz;
    loader = (uintptr_t)e;
}

static void find(void)
{
    static VT_TLS int finding;
    int expected = NEW, saved = errno;
    if (finding) return; /* dlsym allocates memory */
    finding = 1;
    struct behind found;
#define FIND(name, ...) *(void **)&found.name = dlsym(RTLD_NEXT, #name);
    FUNCTIONS(FIND)
    find_loader();
    size_of = __sanitizer_get_ownership ? size_if_owned : found.malloc_usable_size;
    next = found; /* two threads may do this at the same time; they store the same values */
    finding = 0;
    errno = saved;
    atomic_compare_exchange_strong(&state, &expected, FOUND);
}

/* ---- Attaching ---- */

static void at_thread_end(void);

static void leave_out(int how)
{
    for (int i = 0; i < FUNCTION_COUNT && how == VT_CALLS_COUNTED; i++) {
        if (!functions[i].region || functions[i].counted.is_known) continue; /* it stays, and other threads read it */
        const struct vt_count_place place = vt_count_place(functions[i].region);
        if (place.is_known) functions[i].counted = place;
    }
    atomic_store(&left_out, how);
    for (int i = 0; i < FUNCTION_COUNT; i++)
        __atomic_store_n(&functions[i].always, how == VT_CALLS_RECORDED && functions[i].unlimited, __ATOMIC_RELAXED);
}

static void attach(void)
{
    static const struct {
        const char *name;
        uint8_t role;
    } known[] = {
#define KNOWN(name, role, ...) {#name, VT_ROLE_##role},
        FUNCTIONS(KNOWN)};
    static const struct vt_shim shim = {.size = sizeof shim,
                                        .abi = VT_ABI,
                                        .kind = VT_SHIM_MEMORY,
                                        .name = "memory",
                                        .version = VT_VERSION,
                                        .leave_out = leave_out};
    int expected = FOUND;
    if (vt_has_ended()) atomic_store(&state, OFF);
    if (!environ || !atomic_compare_exchange_strong(&state, &expected, ATTACHING)) return;
    int on = vt_attach(&shim);
    if (on < 0) {
        atomic_store(&state, FOUND);
        return;
    }
    for (int i = 0; on && i < FUNCTION_COUNT; i++) {
        int64_t limit = vt_call_limit(known[i].name, "LIBC-MALLOC");
        if (!limit) continue;
        on = functions[i].region = vt_define_region(known[i].name, VT_PARADIGM_NONE, known[i].role, NULL, 0);
        functions[i].unlimited = limit < 0;
        __atomic_store_n(&functions[i].always, limit < 0, __ATOMIC_RELAXED); /* malloc and free read it before RECORD */
        atomic_store(&functions[i].left, limit);
    }
    threshold = vt_setting("VT_MEMTRACE_THRESHOLD");
    vt_libraries_begin(on && vt_setting("VT_MEMTRACE_LIBRARIES"));
    if (on) {
        vt_sites_begin();
        vt_at_thread_end(at_thread_end);
        pthread_atfork(NULL, NULL, vt_sums_inherit);
    }
    atomic_store(&state, on ? RECORD : OFF);
}

static __attribute__((noinline)) bool begin_slowly(void)
{
    if (atomic_load(&state) == NEW) find();
    if (atomic_load(&state) == FOUND && !vt_suppressed) attach();
    return atomic_load(&state) == RECORD;
}

/* Acquire: the stores before the change of state must be visible. No cost on x86. */
static inline bool is_off(void) { return VT_LIKELY(atomic_load_explicit(&state, memory_order_acquire) == OFF); }

/* In an exported function: where the program calls the function. */
#define CALLER __builtin_return_address(0)

/* 1: the call is passed on by a jump, without a trace of this library on the stack. */
static inline bool passes(const void *caller)
{
    return is_off() || VT_UNLIKELY((uintptr_t)caller - loader < loader_bytes) ||
           VT_UNLIKELY(vt_suppressed && atomic_load_explicit(&state, memory_order_relaxed) >= FOUND);
}

static inline bool records(void)
{
    return VT_LIKELY(atomic_load_explicit(&state, memory_order_acquire) == RECORD) || begin_slowly();
}

static inline void count(enum function f)
{
    const struct vt_count_place *at = &functions[f].counted;
    char *counts = at->is_known ? VT_READ(vt_counts[at->chunk]) : NULL;
    if (VT_LIKELY(counts)) vt_add_turn((int64_t *)(void *)(counts + at->turns));
    else if (functions[f].region) vt_count_left_out(functions[f].region);
}

static __attribute__((noinline)) bool is_accepted(enum function f)
{
    const int how = atomic_load_explicit(&left_out, memory_order_acquire);
    if (how == VT_CALLS_COUNTED) count(f);
    return how == VT_CALLS_RECORDED && vt_take_one(&functions[f].left);
}

/* Returns whether a filter lets one more call of a function be recorded. */
static inline bool filter_accepts(enum function f) { return VT_LIKELY(VT_READ(functions[f].always)) || is_accepted(f); }

/* ---- Sums and records ---- */

/* Largest sum of bytes below the threshold that is not recorded yet. */
#define UNRECORDED_MOST 65536

static inline int64_t usable(void *block) { return (int64_t)size_of(block); }

static inline void add(struct vt_sums *s, int64_t bytes, int64_t blocks)
{
    s->bytes += bytes;
    s->blocks += blocks;
}

static inline void mark_recorded(struct vt_sums *s)
{
    s->recorded_bytes = s->bytes;
    s->recorded_blocks = s->blocks;
}

static void write_sums(struct vt_sums *s)
{
    mark_recorded(s);
    vt_write_3(VT_HEAD(VT_K_HEAP, 2, 0), (uint64_t)s->bytes, (uint64_t)s->blocks);
}

/* Runs after a call without a record. The first call of a thread writes a record, so that the runtime knows when the
   thread ends. */
static void record_sums(struct vt_sums *s)
{
    const int64_t untold = s->bytes - s->recorded_bytes;
    if (VT_LIKELY(untold < UNRECORDED_MOST && untold > -UNRECORDED_MOST &&
                  !atomic_load_explicit(&s->ended, memory_order_relaxed)))
        return;
    if (atomic_load_explicit(&state, memory_order_relaxed) == RECORD) write_sums(s);
}

/* Writes a record in any case, since records written while recording is off are lost. After this point each change is
   recorded at once: other destructors of the thread may still allocate. */
static void at_thread_end(void)
{
    struct vt_sums *s = vt_sums_own();
    write_sums(s);
    atomic_store(&s->ended, 1);
}

__attribute__((destructor)) static void at_end(void)
{
    if (atomic_load(&state) != RECORD || (!threshold && !atomic_load(&left_out)) ||
        vt_sums_own()->recorded_bytes == VT_NEVER)
        return;
    vt_sums_collect();
    at_thread_end();
}

static inline void site_of_next(size_t n, const void *caller)
{
    struct vt_sums *s = vt_sums_own();
    if (VT_LIKELY(!vt_site_bytes)) return;
    const int64_t bytes = n < INT32_MAX ? (int64_t)n : INT32_MAX;
    s->until_site -= bytes;
    if (VT_UNLIKELY(s->until_site <= 0)) vt_site_of_next(s, bytes, caller);
}

/* Before a call that allocates n bytes. Returns false if the call is not recorded. */
static inline bool enter_allocate(enum function function, size_t n, const void *caller)
{
    if (!records() || n < threshold || VT_UNLIKELY(vt_suppressed) || !filter_accepts(function)) return false;
    vt_library_of_next(caller);
    site_of_next(n, caller);
    vt_write_few(VT_HEAD(VT_K_ENTER_ALLOC, 1, functions[function].region), n, 0, 0, 0, 2);
    return true;
}

/* After the call. made: the block, or NULL. Returns made. */
static inline void *leave_allocate(enum function function, bool recorded, void *made)
{
    struct vt_sums *s = vt_sums_own();
    if (VT_UNLIKELY(vt_suppressed)) return made; /* the runtime's own */
    if (VT_LIKELY(made && !is_early(made))) add(s, usable(made), 1);
    if (VT_LIKELY(recorded)) {
        mark_recorded(s);
        vt_write_few(VT_HEAD(VT_K_LEAVE_ALLOC, 3, functions[function].region), (uintptr_t)made, (uint64_t)s->bytes,
                     (uint64_t)s->blocks, 0, 4);
    } else record_sums(s);
    return made;
}

/* Before a call that frees a block, since afterwards another thread may own the block. */
static inline bool enter_free(void *block, const void *caller)
{
    struct vt_sums *s = vt_sums_own();
    if (VT_UNLIKELY(vt_suppressed)) return false;
    int64_t bytes = usable(block);
    add(s, -bytes, -1);
    if (!records() || (uint64_t)bytes < threshold || !filter_accepts(F_free)) return false;
    vt_library_of_next(caller);
    mark_recorded(s);
    vt_write_few(VT_HEAD(VT_K_ENTER_FREE, 4, functions[F_free].region), (uintptr_t)block, (uint64_t)bytes,
                 (uint64_t)s->bytes, (uint64_t)s->blocks, 5);
    return true;
}

/* ---- The functions ---- */

/* 1: the runtime leaves all calls out now, and next is known. */
static inline bool is_left_out(int how) { return how != VT_CALLS_RECORDED && VT_LIKELY(!vt_suppressed); }

/* malloc and free while they are left out: functions of their own, since the wrappers save more registers. */
static __attribute__((noinline)) void *malloc_left_out(size_t n, int how)
{
    if (n >= threshold && how == VT_CALLS_COUNTED) count(F_malloc);
    void *made = next.malloc(n);
    struct vt_sums *s = vt_sums_own();
    if (VT_LIKELY(made != NULL)) add(s, usable(made), 1);
    record_sums(s);
    return made;
}

static __attribute__((noinline)) void free_left_out(void *block, int how)
{
    struct vt_sums *s = vt_sums_own();
    const int64_t bytes = usable(block);
    add(s, -bytes, -1);
    if ((uint64_t)bytes >= threshold && how == VT_CALLS_COUNTED) count(F_free);
    record_sums(s);
    next.free(block);
}

EXPORT void *malloc(size_t n)
{
    if (passes(CALLER)) return next.malloc(n);
    if (VT_UNLIKELY(!VT_READ(functions[F_malloc].always))) {
        const int how = atomic_load_explicit(&left_out, memory_order_acquire);
        if (is_left_out(how)) return malloc_left_out(n, how);
    }
    bool recorded = enter_allocate(F_malloc, n, CALLER);
    return leave_allocate(F_malloc, recorded, VT_LIKELY(next.malloc != NULL) ? next.malloc(n) : early_malloc(n));
}

EXPORT void *calloc(size_t n, size_t size)
{
    size_t bytes;
    if (passes(CALLER)) return next.calloc(n, size);
    if (__builtin_mul_overflow(n, size, &bytes)) bytes = SIZE_MAX;
    bool recorded = enter_allocate(F_calloc, bytes, CALLER);
    return leave_allocate(F_calloc, recorded,
                          VT_LIKELY(next.calloc != NULL) ? next.calloc(n, size) : early_malloc(bytes));
}

/* Moves a block of the early arena to the heap. */
static void *from_early(void *old, size_t n)
{
    void *made = malloc(n);
    size_t kept = early_size(old);
    if (made) memcpy(made, old, kept < n ? kept : n);
    return made;
}

static bool enter_reallocate(enum function function, void *old, int64_t was, size_t n, const void *caller)
{
    if (VT_UNLIKELY(vt_suppressed) || !records()) return false;
    if ((n < threshold && (uint64_t)was < threshold) || !filter_accepts(function)) return false;
    vt_library_of_next(caller);
    site_of_next(n, caller);
    vt_write_4(VT_HEAD(VT_K_ENTER_REALLOC, 3, functions[function].region), (uintptr_t)old, (uint64_t)was, n);
    return true;
}

static void *reallocate(enum function function, void *old, size_t n, const void *caller)
{
    if (VT_UNLIKELY(!next.realloc)) begin_slowly();
    if (VT_UNLIKELY(!next.realloc)) return old ? from_early(old, n) : early_malloc(n);
    if (is_early(old)) return from_early(old, n);
    int64_t was = old ? usable(old) : 0;
    bool recorded = enter_reallocate(function, old, was, n, caller);
    void *made = next.realloc(old, n);
    if (old && (made || !n) && !vt_suppressed)
        add(vt_sums_own(), -was, -1); /* for 0 bytes glibc frees the old block; without memory it keeps the block */
    return leave_allocate(function, recorded, made);
}

EXPORT void *realloc(void *old, size_t n)
{
    return passes(CALLER) && !is_early(old) ? next.realloc(old, n) : reallocate(F_realloc, old, n, CALLER);
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
    size_t bytes;
    if (is_off() && !is_early(old)) return next.reallocarray(old, n, size);
    if (__builtin_mul_overflow(n, size, &bytes)) bytes = SIZE_MAX; /* realloc fails, too */
    return reallocate(F_reallocarray, old, bytes, CALLER);
}

EXPORT void free(void *block)
{
    if (is_early(block)) return;
    if (passes(CALLER)) return next.free(block);
    if (!block) return;
    if (VT_UNLIKELY(!VT_READ(functions[F_free].always))) {
        const int how = atomic_load_explicit(&left_out, memory_order_acquire);
        if (is_left_out(how)) return free_left_out(block, how);
    }
    if (VT_UNLIKELY(!next.free)) begin_slowly();
    bool recorded = enter_free(block, CALLER);
    next.free(block);
    if (VT_LIKELY(recorded)) vt_write_few(VT_HEAD(VT_K_LEAVE, 0, functions[F_free].region), 0, 0, 0, 0, 1);
    else record_sums(vt_sums_own());
}

/* Before the next definitions are known there is no aligned memory; dlsym needs none. */
static void *no_aligned(size_t alignment, size_t n)
{
    return alignment <= 16 ? early_malloc(n) : (errno = ENOMEM, NULL);
}

#define ALIGNED(function)                                                                                              \
    EXPORT void *function(size_t alignment, size_t n)                                                                  \
    {                                                                                                                  \
        if (is_off()) return next.function(alignment, n);                                                              \
        begin_slowly();                                                                                                \
        bool recorded = enter_allocate(F_##function, n, CALLER);                                                       \
        return leave_allocate(F_##function, recorded, (next.function ? next.function : no_aligned)(alignment, n));     \
    }

ALIGNED(memalign)
ALIGNED(aligned_alloc)

EXPORT int posix_memalign(void **made, size_t alignment, size_t n)
{
    if (is_off()) return next.posix_memalign(made, alignment, n);
    bool recorded = enter_allocate(F_posix_memalign, n, CALLER);
    int result = next.posix_memalign ? next.posix_memalign(made, alignment, n) : ENOMEM;
    leave_allocate(F_posix_memalign, recorded, result ? NULL : *made);
    return result;
}

static void *no_pages(size_t n)
{
    (void)n;
    errno = ENOMEM;
    return NULL;
}

#define PAGES(function)                                                                                                \
    EXPORT void *function(size_t n)                                                                                    \
    {                                                                                                                  \
        if (is_off()) return next.function(n);                                                                         \
        bool recorded = enter_allocate(F_##function, n, CALLER);                                                       \
        return leave_allocate(F_##function, recorded, (next.function ? next.function : no_pages)(n));                  \
    }

PAGES(valloc)
PAGES(pvalloc)

EXPORT size_t malloc_usable_size(void *block)
{
    if (is_early(block)) return early_size(block);
    if (is_off() || !records() || !filter_accepts(F_malloc_usable_size))
        return next.malloc_usable_size ? next.malloc_usable_size(block) : 0;
    vt_enter(functions[F_malloc_usable_size].region);
    size_t bytes = next.malloc_usable_size(block);
    vt_leave(functions[F_malloc_usable_size].region);
    return bytes;
}
