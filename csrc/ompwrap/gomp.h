/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers of libgomp's entry points (libgomp.map of GCC 12). A wrapper passes on ten words of arguments. No entry
   point has more arguments, and an entry point with fewer ignores the excess words. */
#ifndef VT_GOMP_H
#define VT_GOMP_H

#include "ompwrap.h"

#define GOMP_WORDS long a, long b, long c, long d, long e, long f, long g, long h, long i, long j
#define GOMP_PASS a, b, c, d, e, f, g, h, i, j
typedef long gomp_call(GOMP_WORDS);

/* In a wrapper: the next definition, and the thread if the call is recorded. Calls into a runtime with OMPT are
   recorded by its callbacks. */
#define GOMP_FIND_NEXT(symbol)                                                                                         \
    static struct omp_function function = {.name = #symbol};                                                           \
    const struct omp_next *behind = omp_next(&function, OMP_CALLER);                                                   \
    struct omp_thread *t = behind->library == omp_ompt_library ? NULL : omp_thread()

#define GOMP_NEXT(type) ((__typeof__(type) *)behind->function)

/* In a wrapper without a result: calls the next definition of a call that is not recorded. This call, and each one that
   returns the next definition's result at once, is a tail call: OMPT names the place to which it returns, which is the
   program's. */
#define GOMP_PASS_ON(thread, type, ...)                                                                                \
    if (!(thread)) {                                                                                                   \
        GOMP_NEXT(type)(__VA_ARGS__);                                                                                  \
        return;                                                                                                        \
    }

/* Code that runs the bodies of constructs is in one section of the library. */
#define GOMP_BODIES __attribute__((section("vt_omp_bodies"), noinline))
#pragma GCC visibility push(hidden)
extern const char __start_vt_omp_bodies[], __stop_vt_omp_bodies[];
#pragma GCC visibility pop

/* The place of a call. A call in tail position of a construct's body returns into this shim; then the place is that of
   the construct. */
static inline const void *gomp_site(const struct omp_thread *t, const char *caller)
{
    if (OMP_LIKELY(caller < __start_vt_omp_bodies || caller >= __stop_vt_omp_bodies)) return caller;
    return t->team ? t->team->code : caller;
}
#define GOMP_SITE gomp_site(t, OMP_CALL_SITE)

#endif
