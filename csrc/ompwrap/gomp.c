/* SPDX-License-Identifier: BSD-3-Clause */
/* GNU libgomp: parallel regions, worksharing and synchronization. */
#define _GNU_SOURCE
#include "gomp.h"

/* ---- Parallel regions: each thread of the team calls the body through this shim ---- */

_Thread_local const void *omp_body __attribute__((tls_model("initial-exec")));

struct gomp_data {
    uintptr_t head; /* the first word of the data; libgomp reads it for reductions */
    void (*body)(void *);
    void *data;
    struct omp_team *team;
    struct omp_fork fork; /* a copy, so that the other threads read one cache line only */
} __attribute__((aligned(64)));

static int ask(struct omp_function *f, const void *caller)
{
    const struct omp_next *behind = omp_next(f, caller);
    return ((int (*)(void))behind->function)();
}

GOMP_BODIES static void run_as(const struct gomp_data *call, int construct)
{
    static struct omp_function number = {.name = "omp_get_thread_num"};
    struct omp_thread *t = omp_thread();
    if (!t) {
        call->body(call->data);
        return;
    }
    uint32_t nopen = t->nopen;
    int single = t->single, after = t->after_single;
    t->single = 0;
    omp_team_begin(t, call->team, call->fork, (uint32_t)ask(&number, (const void *)call->body));
    if (construct >= 0) omp_open(t, omp_region(construct, (const void *)call->body));
    call->body(call->data);
    omp_single_end(t);
    while (t->nopen > nopen) omp_close(t, 0); /* cancelled constructs */
    omp_team_end(t);
    t->single = single;
    t->after_single = after;
}

static void run(void *data) { run_as(data, -1); }
static void run_for(void *data) { run_as(data, OMP_FOR); }
static void run_sections(void *data) { run_as(data, OMP_SECTIONS); }

typedef long parallel_call(void (*)(void *), void *, unsigned, long, long, long, long, long);

static long parallel(const struct omp_next *behind, struct omp_thread *t, void (*runs)(void *), void (*body)(void *),
                     void *data, unsigned threads, const long *rest)
{
    static struct omp_function most = {.name = "omp_get_max_threads"};
    struct gomp_data call;
    if (!behind->library) return body(data), 0;
    uint32_t wanted = threads ? threads : (uint32_t)ask(&most, (const void *)body);
    struct omp_team *team = omp_fork(t, OMP_PARALLEL, (const void *)body, wanted);
    if (!team) return GOMP_NEXT(parallel_call)(body, data, threads, rest[0], rest[1], rest[2], rest[3], rest[4]);
    call.head = data ? *(uintptr_t *)data : 0;
    call.body = body;
    call.data = data;
    call.team = team;
    call.fork = team->fork;
    long result = GOMP_NEXT(parallel_call)(runs, &call, threads, rest[0], rest[1], rest[2], rest[3], rest[4]);
    omp_join(t, team);
    return result;
}

#define PARALLEL(symbol, runs)                                                                                         \
    OMP_EXPORT long symbol(void (*body)(void *), void *data, unsigned threads, long a, long b, long c, long d, long e) \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        if (!t) {                                                                                                      \
            omp_body = (const void *)body;                                                                             \
            return GOMP_NEXT(parallel_call)(body, data, threads, a, b, c, d, e);                                       \
        }                                                                                                              \
        const long rest[] = {a, b, c, d, e};                                                                           \
        return parallel(behind, t, runs, body, data, threads, rest);                                                   \
    }

PARALLEL(GOMP_parallel, run)
PARALLEL(GOMP_parallel_reductions, run)
PARALLEL(GOMP_parallel_sections, run_sections)
PARALLEL(GOMP_parallel_loop_static, run_for)
PARALLEL(GOMP_parallel_loop_dynamic, run_for)
PARALLEL(GOMP_parallel_loop_guided, run_for)
PARALLEL(GOMP_parallel_loop_runtime, run_for)
PARALLEL(GOMP_parallel_loop_nonmonotonic_dynamic, run_for)
PARALLEL(GOMP_parallel_loop_nonmonotonic_guided, run_for)
PARALLEL(GOMP_parallel_loop_nonmonotonic_runtime, run_for)
PARALLEL(GOMP_parallel_loop_maybe_nonmonotonic_runtime, run_for)

/* ---- Worksharing constructs ---- */

#define START(symbol, construct)                                                                                       \
    OMP_EXPORT long symbol(GOMP_WORDS)                                                                                 \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        if (t) {                                                                                                       \
            omp_single_end(t);                                                                                         \
            omp_open(t, omp_region(construct, GOMP_SITE));                                                             \
        }                                                                                                              \
        return GOMP_NEXT(gomp_call)(GOMP_PASS);                                                                        \
    }

/* Includes the barrier at the end, whose result may be that the construct was cancelled. */
#define END(symbol)                                                                                                    \
    OMP_EXPORT long symbol(void)                                                                                       \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        if (!t) return GOMP_NEXT(long(void))();                                                                        \
        uint32_t barrier = omp_region(OMP_IMPLICIT_BARRIER, GOMP_SITE);                                                \
        omp_enter(barrier);                                                                                            \
        long result = GOMP_NEXT(long(void))();                                                                         \
        omp_close(t, barrier);                                                                                         \
        return result;                                                                                                 \
    }

#define END_NOWAIT(symbol)                                                                                             \
    OMP_EXPORT void symbol(void)                                                                                       \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        GOMP_PASS_ON(t, void(void));                                                                                   \
        GOMP_NEXT(void(void))();                                                                                       \
        omp_close(t, 0);                                                                                               \
    }

#define START_LOOPS(loop)                                                                                              \
    START(GOMP_##loop##_start, OMP_FOR)                                                                                \
    START(GOMP_##loop##_static_start, OMP_FOR)                                                                         \
    START(GOMP_##loop##_dynamic_start, OMP_FOR)                                                                        \
    START(GOMP_##loop##_guided_start, OMP_FOR)                                                                         \
    START(GOMP_##loop##_runtime_start, OMP_FOR)
#define START_NONMONOTONIC(loop)                                                                                       \
    START(GOMP_##loop##_nonmonotonic_dynamic_start, OMP_FOR)                                                           \
    START(GOMP_##loop##_nonmonotonic_guided_start, OMP_FOR)                                                            \
    START(GOMP_##loop##_nonmonotonic_runtime_start, OMP_FOR)                                                           \
    START(GOMP_##loop##_maybe_nonmonotonic_runtime_start, OMP_FOR)

START_LOOPS(loop)
START_LOOPS(loop_ordered)
START_LOOPS(loop_doacross)
START_LOOPS(loop_ull)
START_LOOPS(loop_ull_ordered)
START_LOOPS(loop_ull_doacross)
START_NONMONOTONIC(loop)
START_NONMONOTONIC(loop_ull)
START(GOMP_sections_start, OMP_SECTIONS)
START(GOMP_sections2_start, OMP_SECTIONS)
END(GOMP_loop_end)
END(GOMP_loop_end_cancel)
END(GOMP_sections_end)
END(GOMP_sections_end_cancel)
END_NOWAIT(GOMP_loop_end_nowait)
END_NOWAIT(GOMP_sections_end_nowait)

/* The end of a single has no call of its own. The executing thread leaves its region at the next barrier, or at another
   construct that cannot be nested in a single. */
OMP_EXPORT char GOMP_single_start(void)
{
    GOMP_FIND_NEXT(GOMP_single_start);
    if (!t) return GOMP_NEXT(char(void))();
    omp_single_end(t);
    omp_open(t, omp_region(OMP_SINGLE, GOMP_SITE));
    char mine = GOMP_NEXT(char(void))();
    t->single = mine;
    if (!mine) omp_close(t, 0);
    t->after_single = 1;
    return mine;
}

/* Other threads return when they can copy the data of the executing thread. */
OMP_EXPORT void *GOMP_single_copy_start(void)
{
    GOMP_FIND_NEXT(GOMP_single_copy_start);
    if (!t) return GOMP_NEXT(void *(void))();
    omp_single_end(t);
    omp_open(t, omp_region(OMP_SINGLE, GOMP_SITE));
    void *copy = GOMP_NEXT(void *(void))();
    if (copy) omp_close(t, 0);
    t->after_single = 1; /* a barrier follows */
    return copy;
}

OMP_EXPORT void GOMP_single_copy_end(void *data)
{
    GOMP_FIND_NEXT(GOMP_single_copy_end);
    GOMP_PASS_ON(t, void(void *), data);
    uint32_t barrier = omp_region(OMP_IMPLICIT_BARRIER, GOMP_SITE);
    omp_enter(barrier);
    GOMP_NEXT(void(void *))(data);
    omp_close(t, barrier);
}

/* ---- Barriers, and regions that one call enters and leaves ---- */

static inline uint32_t barrier(struct omp_thread *t, const void *site)
{
    uint32_t region = omp_region(t->after_single ? OMP_IMPLICIT_BARRIER : OMP_BARRIER, site);
    if (t->single) omp_single_end(t);
    t->after_single = 0;
    return region;
}

#define AROUND(symbol, region_of)                                                                                      \
    OMP_EXPORT long symbol(GOMP_WORDS)                                                                                 \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        if (!t) return GOMP_NEXT(gomp_call)(GOMP_PASS);                                                                \
        uint32_t region = region_of;                                                                                   \
        omp_enter(region);                                                                                             \
        long result = GOMP_NEXT(gomp_call)(GOMP_PASS);                                                                 \
        omp_leave(region);                                                                                             \
        return result;                                                                                                 \
    }

AROUND(GOMP_barrier, barrier(t, GOMP_SITE))
AROUND(GOMP_barrier_cancel, barrier(t, GOMP_SITE))
AROUND(GOMP_teams_reg, omp_region(OMP_TEAMS, GOMP_SITE))

OMP_EXPORT char GOMP_cancel(int which, char cancels)
{
    GOMP_FIND_NEXT(GOMP_cancel);
    if (t && cancels) {
        uint32_t region = omp_region(OMP_CANCEL, GOMP_SITE);
        if (region) vt_write_2(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_LEAVE, 0, region));
    }
    return GOMP_NEXT(char(int, char))(which, cancels);
}

/* ---- Mutual exclusion ---- */

static const char unnamed; /* stands for the unnamed critical region */

#define CRITICAL_START(symbol, parameters, variable)                                                                   \
    OMP_EXPORT void symbol parameters                                                                                  \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        GOMP_PASS_ON(t, void(const void *), variable);                                                                 \
        struct omp_wait wait = omp_critical_begin(t, variable, GOMP_SITE);                                             \
        GOMP_NEXT(void(const void *))(variable);                                                                       \
        omp_critical_acquired(t, wait, GOMP_SITE);                                                                     \
    }

#define CRITICAL_END(symbol, parameters, variable)                                                                     \
    OMP_EXPORT void symbol parameters                                                                                  \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        GOMP_PASS_ON(t, void(const void *), variable);                                                                 \
        omp_critical_release(variable, 0);                                                                             \
        GOMP_NEXT(void(const void *))(variable);                                                                       \
        omp_critical_end(t);                                                                                           \
    }

CRITICAL_START(GOMP_critical_start, (void), &unnamed)
CRITICAL_END(GOMP_critical_end, (void), &unnamed)
CRITICAL_START(GOMP_critical_name_start, (void **name), name)
CRITICAL_END(GOMP_critical_name_end, (void **name), name)

#define BEGIN(symbol, construct)                                                                                       \
    OMP_EXPORT void symbol(void)                                                                                       \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        if (t) omp_open(t, omp_region(construct, GOMP_SITE));                                                          \
        GOMP_NEXT(void(void))();                                                                                       \
    }

BEGIN(GOMP_atomic_start, OMP_ATOMIC)
END_NOWAIT(GOMP_atomic_end)
BEGIN(GOMP_taskgroup_start, OMP_TASKGROUP)
END_NOWAIT(GOMP_taskgroup_end)

OMP_EXPORT void GOMP_ordered_start(void)
{
    GOMP_FIND_NEXT(GOMP_ordered_start);
    GOMP_PASS_ON(t, void(void));
    omp_open(t, omp_region(OMP_ORDERED, GOMP_SITE));
    GOMP_NEXT(void(void))();
    omp_open(t, omp_region(OMP_ORDERED_HELD, GOMP_SITE));
}

OMP_EXPORT void GOMP_ordered_end(void)
{
    GOMP_FIND_NEXT(GOMP_ordered_end);
    GOMP_PASS_ON(t, void(void));
    GOMP_NEXT(void(void))();
    if (t->nopen < 2 || t->nopen > OMP_OPEN) return;
    uint32_t held = t->open[--t->nopen];
    omp_close(t, held);
}
