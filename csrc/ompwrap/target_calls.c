/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that clang makes of target directives. Their first argument names the directive's place in the source, which
   the line of the call often is not: clang gives it none. OMPT (target.c) records the directives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ompwrap.h"

struct ident { /* ident_t of LLVM */
    int32_t unused[4];
    const char *source; /* ";FILE;FUNCTION;LINE;COLUMN;;"; without -g ";unknown;unknown;0;0;;" */
};

_Thread_local struct omp_directive omp_directive __attribute__((tls_model("initial-exec")));

uint32_t omp_define_target(const char *construct, uint8_t role)
{
    const char *file = omp_directive.source ? omp_directive.source + 1 : "", *end = strchr(file, ';');
    const char *line = end ? strchr(end + 1, ';') : NULL; /* behind the function */
    const uint32_t number = line ? (uint32_t)strtoul(line + 1, NULL, 10) : 0;
    char path[1024], name[1100];
    if (!number || (size_t)(end - file) >= sizeof path) return 0;
    memcpy(path, file, (size_t)(end - file));
    path[end - file] = 0;
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "!$omp %s @%s:%u", construct, slash ? slash + 1 : path, number);
    return vt_define_region(name, VT_PARADIGM_OPENMP, role, path, number);
}

/* Parameters and arguments without their parentheses. */
#define LIST(...) __VA_ARGS__
#define TARGET_CALL(type, symbol, parameters, arguments)                                                               \
    OMP_EXPORT type symbol(struct ident *at, LIST parameters)                                                          \
    {                                                                                                                  \
        static struct omp_function f = {.name = #symbol};                                                              \
        const struct omp_directive around = omp_directive;                                                             \
        __typeof__(symbol) *next = (__typeof__(symbol) *)omp_next(&f, OMP_CALLER)->function;                           \
        omp_directive = (struct omp_directive){OMP_CALL_SITE, at ? at->source : NULL};                                 \
        const type result = next(at, LIST arguments);                                                                  \
        omp_directive = around;                                                                                        \
        return result;                                                                                                 \
    }

/* Functions without a result are called as if they had one, which nobody reads. */
#define DATA_CALL(name)                                                                                                \
    TARGET_CALL(long, name,                                                                                            \
                (int64_t device, int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *kinds, void **names, \
                 void **mappers),                                                                                      \
                (device, n, bases, begins, sizes, kinds, names, mappers))
#define DATA_CALL_NOWAIT(name)                                                                                         \
    TARGET_CALL(long, name,                                                                                            \
                (int64_t device, int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *kinds, void **names, \
                 void **mappers, int32_t nwaits, void *waits, int32_t nothers, void *others),                          \
                (device, n, bases, begins, sizes, kinds, names, mappers, nwaits, waits, nothers, others))

DATA_CALL(__tgt_target_data_begin_mapper)
DATA_CALL(__tgt_target_data_end_mapper)
DATA_CALL(__tgt_target_data_update_mapper)
DATA_CALL_NOWAIT(__tgt_target_data_begin_nowait_mapper)
DATA_CALL_NOWAIT(__tgt_target_data_end_nowait_mapper)
DATA_CALL_NOWAIT(__tgt_target_data_update_nowait_mapper)
TARGET_CALL(int, __tgt_target_kernel, (int64_t device, int32_t nteams, int32_t nthreads, void *kernel, void *arguments),
            (device, nteams, nthreads, kernel, arguments))
TARGET_CALL(int, __tgt_target_kernel_nowait,
            (int64_t device, int32_t nteams, int32_t nthreads, void *kernel, void *arguments, int32_t nwaits,
             void *waits, int32_t nothers, void *others),
            (device, nteams, nthreads, kernel, arguments, nwaits, waits, nothers, others))
