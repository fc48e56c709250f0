/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that a program creates by functions of POSIX or C11: records of creation and of waiting for the end.

   This folder is a part of libvtrace.so.1 and records through struct vt_call only. thread_create.c owns the table of
   thread handles, thread_locks.c the table of locks. These rules always hold: a wrapper calls the next definition
   exactly once and keeps its result and errno; the tables need no lock; a thread is recorded as created before it
   begins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>
#include "../core/process.h"

#define MOST 131072u /* limit for threads that have not begun yet, and for known handles */

static struct vt_call create = {"pthread_create", VT_PARADIGM_PTHREAD, VT_ROLE_THREAD_CREATE, 0, NULL};
static struct vt_call create11 = {"thrd_create", VT_PARADIGM_PTHREAD, VT_ROLE_THREAD_CREATE, 0, NULL};
static _Atomic uint64_t numbers; /* number of threads created */

/* ---- From the creating thread to the new thread ---- */

union thread_function {
    void *(*posix)(void *);
    int (*c11)(void *);
};

struct start {
    union thread_function function;
    void *argument;
    uint64_t number;
    const char *helper; /* the library that creates the thread for itself; NULL: the program does */
    uint32_t next; /* next free entry: index + 1 */
};

static struct start *_Atomic starts; /* MOST of them; a page uses memory after its first use */
static _Atomic uint32_t used; /* largest number of entries in use at once */
static _Atomic uint64_t free_list; /* index + 1 of the first free entry; a tag in the upper half */

static struct start *take(void)
{
    struct start *all = vt_pages_once((void **)&starts, MOST * sizeof *all);
    uint64_t head = atomic_load(&free_list);
    if (!all) return NULL;
    while ((uint32_t)head) {
        struct start *s = &all[(uint32_t)head - 1];
        uint64_t next = ((head >> 32) + 1) << 32 | VT_READ(s->next);
        if (atomic_compare_exchange_weak(&free_list, &head, next)) return s;
    }
    uint32_t at = atomic_load(&used);
    while (at < MOST)
        if (atomic_compare_exchange_weak(&used, &at, at + 1)) return &all[at];
    return NULL;
}

static void give(struct start *s)
{
    uint32_t at = (uint32_t)(s - atomic_load(&starts)) + 1;
    uint64_t head = atomic_load(&free_list);
    do VT_SET(s->next, (uint32_t)head);
    while (!atomic_compare_exchange_weak(&free_list, &head, ((head >> 32) + 1) << 32 | at));
}

/* ---- Handles of threads ---- */

/* A handle may be reused after its thread has ended, so the entry with the greatest number is valid. The creating and
   the new thread both store the handle, since a joining thread may get it from either. */
struct known {
    _Atomic uint64_t handle, number;
};

static struct known *_Atomic handles;

static struct known *place_of(uint64_t handle)
{
    struct known *all = handle ? vt_pages_once((void **)&handles, MOST * sizeof *all) : NULL;
    return all ? vt_table_entry(all, MOST, sizeof *all, handle) : NULL;
}

static void know(uint64_t handle, uint64_t number)
{
    struct known *k = place_of(handle);
    uint64_t before = k ? atomic_load(&k->number) : number;
    while (before < number && !atomic_compare_exchange_weak(&k->number, &before, number)) continue;
}

static uint64_t number_of(uint64_t handle)
{
    struct known *k = place_of(handle);
    return k ? atomic_load(&k->number) : 0;
}

/* ---- Creating ---- */

static struct start begin(void *start)
{
    struct start s = *(struct start *)start;
    int saved = errno;
    give(start);
    if (s.helper) {
        vt_thread_helps(s.helper);
    } else {
        know((uint64_t)pthread_self(), s.number);
        vt_thread_begins(s.number);
    }
    errno = saved;
    return s;
}

static void *begin_posix(void *start)
{
    struct start s = begin(start);
    return s.function.posix(s.argument);
}

static int begin_c11(void *start)
{
    struct start s = begin(start);
    return s.function.c11(s.argument);
}

/* NULL: the thread is not recorded. The record precedes the call, so that a thread never begins before it is created.
   Calls by which a library creates threads for itself are not recorded, but the new thread gets the library's name. */
static struct start *enter(uint32_t region, const char *helper, union thread_function function, void *argument)
{
    struct start *s = (region || helper) && !vt_shares_memory() ? take() : NULL;
    if (!s) return NULL;
    s->function = function;
    s->argument = argument;
    s->helper = helper;
    if (helper) return s;
    s->number = atomic_fetch_add(&numbers, 1) + 1;
    vt_write_3(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_THREAD_CREATE, 1, 0), s->number);
    return s;
}

/* handle: address where libc has stored the handle. The kernel reads it, since the new thread may have freed the
   memory. */
static void leave(uint32_t region, const void *handle, uint64_t number)
{
    uint64_t value = 0;
    struct {
        void *at;
        size_t bytes;
    } into = {&value, sizeof value}, from = {(void *)(uintptr_t)handle, sizeof value};
    if (handle && VT_SYS6(process_vm_readv, vt_process.pid, &into, 1, &from, 1, 0) == sizeof value) know(value, number);
    vt_leave(region);
}

static int is_wanted(void)
{
    static _Atomic int wanted = -1;
    int w = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (w < 0) atomic_store(&wanted, w = vt_settings_pthread() != VT_PTHREAD_NO);
    return w;
}

/* Returns the library that creates a thread for itself, or NULL. Threads that MPI, the libraries below MPI, and drivers
   of accelerators create for themselves are not part of the program; nor those of LLVM's OpenMP that execute target
   tasks (nowait): the first one has no argument, and creates the others. The answer for the last caller is kept. */
static const char *helper_of(void *caller, const void *argument)
{
    static const char *const libraries[] = {
        "libmpi",    "libopen-",  "libpmi",     "libprrte",  "mca_",        "libucp",     "libucs",         "libuct",
        "libucm",    "libfabric", "libpsm",     "libevent",  "libhwloc",    "libibverbs", "librdmacm",      "libmlx",
        "libefa",    "libcxi",    "libportals", "libcuda",   "libnccl",     "libnvidia",  "libhsa-runtime", "librccl",
        "libamdhip", "libze_",    "libpocl",    "libOpenCL", "libintelocl", "libcupti"};
    static void *_Atomic good;
    Dl_info in;
    if (atomic_load(&good) == caller) return NULL;
    int saved = errno;
    const char *found = NULL;
    int is_llvm = 0;
    if (dladdr(caller, &in) && in.dli_fname) {
        const char *slash = strrchr(in.dli_fname, '/'), *name = slash ? slash + 1 : in.dli_fname;
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
            if (!strncmp(name, libraries[i], strlen(libraries[i]))) found = libraries[i];
        is_llvm = !strncmp(name, "libomp.so", 9) || !strncmp(name, "libiomp5.so", 11);
        if (is_llvm && (!argument || vt_thread_helper())) found = "libomp";
    }
    errno = saved;
    if (!found && !is_llvm) atomic_store(&good, caller);
    return found;
}

static uint32_t region_of(struct vt_call *c, void *caller)
{
    return is_wanted() && !helper_of(caller, c) ? vt_call_region(c) : 0;
}

VT_CALL_EXPORT int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*function)(void *),
                                  void *argument)
{
    int detached = PTHREAD_CREATE_JOINABLE;
    const char *helper = helper_of(__builtin_return_address(0), argument);
    uint32_t region = helper ? 0 : region_of(&create, __builtin_return_address(0));
    struct start *s = enter(region, helper, (union thread_function){.posix = function}, argument);
    __typeof__(pthread_create) *real = vt_call_next(&create);
    if (!s) return real(handle, attributes, function, argument);
    uint64_t number = s->number;
    if (attributes) pthread_attr_getdetachstate(attributes, &detached);
    int r = real(handle, attributes, begin_posix, s);
    if (r) give(s);
    if (!helper) leave(region, r || detached == PTHREAD_CREATE_DETACHED ? NULL : handle, number);
    return r;
}

VT_CALL_EXPORT int thrd_create(thrd_t *handle, thrd_start_t function, void *argument)
{
    const char *helper = helper_of(__builtin_return_address(0), argument);
    uint32_t region = helper ? 0 : region_of(&create11, __builtin_return_address(0));
    struct start *s = enter(region, helper, (union thread_function){.c11 = function}, argument);
    __typeof__(thrd_create) *real = vt_call_next(&create11);
    if (!s) return real(handle, function, argument);
    uint64_t number = s->number;
    int r = real(handle, begin_c11, s);
    if (r != thrd_success) give(s);
    if (!helper) leave(region, r != thrd_success ? NULL : handle, number);
    return r;
}

/* ---- Waiting ---- */

/* begin, end: the statements before and after the call. */
#define RECORD(function, role, parameters, arguments, begin, end)                                                      \
    VT_CALL_EXPORT int function parameters                                                                             \
    {                                                                                                                  \
        static struct vt_call call = {#function, VT_PARADIGM_PTHREAD, role, 0, NULL};                                  \
        uint32_t region = region_of(&call, __builtin_return_address(0));                                               \
        __typeof__(function) *real = vt_call_next(&call);                                                              \
        if (!region) return real arguments;                                                                            \
        begin;                                                                                                         \
        vt_enter_call(region);                                                                                         \
        int r = real arguments;                                                                                        \
        end;                                                                                                           \
        return r;                                                                                                      \
    }

static void leave_wait(uint32_t region, uint64_t number)
{
    if (number) vt_write_3(VT_HEAD(VT_K_THREAD_WAIT, 1, 0), number, VT_HEAD(VT_K_LEAVE, 0, region));
    else vt_leave(region);
}

/* A function that waits for the end of a thread. The number is looked up before the call: later the handle may belong
   to another thread. */
#define WAITS(function, parameters, arguments)                                                                         \
    RECORD(function, VT_ROLE_THREAD_WAIT, parameters, arguments, uint64_t number = number_of((uint64_t)handle),        \
           leave_wait(region, r ? 0 : number))

WAITS(pthread_join, (pthread_t handle, void **result), (handle, result))
WAITS(pthread_tryjoin_np, (pthread_t handle, void **result), (handle, result))
WAITS(pthread_timedjoin_np, (pthread_t handle, void **result, const struct timespec *until), (handle, result, until))
WAITS(pthread_clockjoin_np, (pthread_t handle, void **result, clockid_t clock, const struct timespec *until),
      (handle, result, clock, until))
WAITS(thrd_join, (thrd_t handle, int *result), (handle, result))

#define DETACHES(function, parameters) RECORD(function, VT_ROLE_FUNCTION, parameters, (handle), , vt_leave(region))

DETACHES(pthread_detach, (pthread_t handle))
DETACHES(thrd_detach, (thrd_t handle))
