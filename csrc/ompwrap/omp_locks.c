/* SPDX-License-Identifier: BSD-3-Clause */
/* omp_set_lock and the related functions of C and Fortran, for all runtimes. OMPT has no callback for a test of a lock
   that fails. */
#define _GNU_SOURCE
#include "gomp.h"

#define LOCK_BEHIND(symbol, construct)                                                                                 \
    static struct omp_function function = {.name = #symbol};                                                           \
    const struct omp_next *behind = omp_next(&function, OMP_CALLER);                                                   \
    struct omp_thread *t = omp_thread();                                                                               \
    struct omp_lock *lock = t ? omp_lock_of(variable) : NULL;                                                          \
    uint32_t region = lock ? omp_region(construct, NULL) : 0

#define SET(symbol, construct, nests)                                                                                  \
    OMP_EXPORT void symbol(void *variable)                                                                             \
    {                                                                                                                  \
        LOCK_BEHIND(symbol, construct);                                                                                \
        if (region) vt_enter_call(region); /* long_calls.c finds the place of the call */                              \
        GOMP_NEXT(void(void *))(variable);                                                                             \
        if (lock && (!(nests) || !lock->depth++)) omp_lock_acquired(t, lock, region);                                  \
        else if (lock) omp_leave(region);                                                                              \
    }

#define UNSET(symbol, construct, nests)                                                                                \
    OMP_EXPORT void symbol(void *variable)                                                                             \
    {                                                                                                                  \
        LOCK_BEHIND(symbol, construct);                                                                                \
        if (lock && (!(nests) || (lock->depth && !--lock->depth))) omp_lock_release(t, lock, region);                  \
        else if (lock) omp_enter(region);                                                                              \
        GOMP_NEXT(void(void *))(variable);                                                                             \
        if (lock) omp_leave(region);                                                                                   \
    }

/* Result 0: not acquired; else the nesting count of the thread's lock (1 for a simple lock). */
#define TEST(symbol, construct, nests)                                                                                 \
    OMP_EXPORT int symbol(void *variable)                                                                              \
    {                                                                                                                  \
        LOCK_BEHIND(symbol, construct);                                                                                \
        if (lock) omp_enter(region);                                                                                   \
        int held = GOMP_NEXT(int(void *))(variable);                                                                   \
        if (lock && held && (!(nests) || !lock->depth++)) omp_lock_acquired(t, lock, region);                          \
        else if (lock) omp_leave(region);                                                                              \
        return held;                                                                                                   \
    }

SET(omp_set_lock, OMP_SET_LOCK, 0)
SET(omp_set_lock_, OMP_SET_LOCK, 0)
SET(omp_set_nest_lock, OMP_SET_NEST_LOCK, 1)
SET(omp_set_nest_lock_, OMP_SET_NEST_LOCK, 1)
UNSET(omp_unset_lock, OMP_UNSET_LOCK, 0)
UNSET(omp_unset_lock_, OMP_UNSET_LOCK, 0)
UNSET(omp_unset_nest_lock, OMP_UNSET_NEST_LOCK, 1)
UNSET(omp_unset_nest_lock_, OMP_UNSET_NEST_LOCK, 1)
TEST(omp_test_lock, OMP_TEST_LOCK, 0)
TEST(omp_test_lock_, OMP_TEST_LOCK, 0)
TEST(omp_test_nest_lock, OMP_TEST_NEST_LOCK, 1)
TEST(omp_test_nest_lock_, OMP_TEST_NEST_LOCK, 1)
