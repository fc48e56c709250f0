/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMP: what GNU's libgomp (by interposition, gomp*.c) and LLVM's libomp (by OMPT, ompt.c) tell becomes the same
   records, by the functions of this header (OpenMP 5.2, chapter 19; OTF2's thread events). */
#ifndef VT_OMPWRAP_H
#define VT_OMPWRAP_H

#include <stdatomic.h>
#include <stdint.h>
#include "core/write.h"

#define OMP_LIKELY(x) __builtin_expect(!!(x), 1)
#define OMP_LEVELS 64   /* parallel regions that are open at once on a thread; deeper ones are not recorded */
#define OMP_JOINS 256   /* a power of two: how many regions ago a thread may have taken part in a team that goes on */
#define OMP_OPEN 64     /* worksharing constructs that are open at once on a thread */
#define OMP_TASK_MAX 0x7fffffffu /* numbers of tasks begin anew behind it */
#define OMP_HELD 16    /* locks whose acquisition a thread remembers; a power of two */
#define OMP_TASKS 2048  /* tasks that are open at once on a thread of libomp */

/* X(name, text, OTF2_RegionRole) */
#define OMP_CONSTRUCTS(X)                                                                                              \
    X(PARALLEL, "parallel", 5)                                                                                         \
    X(FOR, "for", 3)                                                                                                   \
    X(SECTIONS, "sections", 6)                                                                                         \
    X(SINGLE, "single", 9)                                                                                             \
    X(WORKSHARE, "workshare", 8)                                                                                       \
    X(DISTRIBUTE, "distribute", 3)                                                                                     \
    X(SCOPE, "scope", 4)                                                                                               \
    X(TEAMS, "teams", 4)                                                                                               \
    X(CRITICAL, "critical", 12)                                                                                        \
    X(CRITICAL_HELD, "critical sblock", 13)                                                                            \
    X(ATOMIC, "atomic", 14)                                                                                            \
    X(ORDERED, "ordered", 18)                                                                                          \
    X(ORDERED_HELD, "ordered sblock", 19)                                                                              \
    X(BARRIER, "barrier", 15)                                                                                          \
    X(IMPLICIT_BARRIER, "implicit barrier", 16)                                                                        \
    X(TASK, "task", 20)                                                                                                \
    X(TASK_CREATE, "create task", 21)                                                                                  \
    X(TASKLOOP, "taskloop", 3)                                                                                         \
    X(TASKWAIT, "taskwait", 22)                                                                                        \
    X(TASKGROUP, "taskgroup", 22)                                                                                      \
    X(CANCEL, "cancel", 39)                                                                                            \
    X(SET_LOCK, "omp_set_lock", 1)                                                                                     \
    X(UNSET_LOCK, "omp_unset_lock", 1)                                                                                 \
    X(TEST_LOCK, "omp_test_lock", 1)                                                                                   \
    X(SET_NEST_LOCK, "omp_set_nest_lock", 1)                                                                           \
    X(UNSET_NEST_LOCK, "omp_unset_nest_lock", 1)                                                                       \
    X(TEST_NEST_LOCK, "omp_test_nest_lock", 1)                                                                         \
    X(WAIT, "implicit barrier", 16) /* at the end of a parallel region, recorded as long as that is */

enum omp_construct {
#define OMP_CONSTRUCT(name, text, role) OMP_##name,
    OMP_CONSTRUCTS(OMP_CONSTRUCT)
#undef OMP_CONSTRUCT
        OMP_NCONSTRUCTS
};

struct omp_thread;

/* Of a fork. */
struct omp_fork {
    uint64_t number; /* of the team's forks, from 1 */
    uint64_t joined; /* ticks: when the fork before it was joined; 0: unknown */
};

/* All parallel regions that one thread forks at one level: one communicator of OTF2. Lives as long as the process. */
struct omp_team {
    /* What the members read: it seldom changes, so it stays in the cache of each of them. */
    struct {
        uint32_t id, level;
        uint32_t region, wait;         /* of the construct, 0: it is not recorded; and of the wait at its end */
        const void *code, *wait_code;  /* of the fork, and of that which has the region `wait` */
        struct omp_thread *creator;
        uint32_t creator_location;
    } __attribute__((aligned(64)));
    /* What each fork and join writes. */
    struct {
        struct omp_fork fork;   /* the newest */
        uint64_t forked;        /* ticks; 0: unknown */
        uint64_t lasted;        /* ticks between the fork before it and its join */
        struct omp_team *outer; /* that the creator is in otherwise, its task there, and whether it waits there */
        uint64_t outer_task;
        int outer_ended, outer_hidden;
    } __attribute__((aligned(64)));
    struct {
        _Atomic uint64_t number, ticks;
    } joined[OMP_JOINS]; /* when the newest forks were joined */
};

/* What is kept of a thread. One whose thread has ended goes to a later thread. */
struct omp_thread {
    struct omp_thread *next; /* of all */
    _Atomic uint32_t used;
    uint32_t location, level; /* level: number of teams that it is in */
    struct omp_team *team;    /* the innermost */
    int ended;                /* it has nothing more to do there, and waits for the others */
    int hidden;               /* of that team nothing is recorded */
    uint64_t task;            /* that it works on: creating location << 32 | number; 0 its implicit one */
    uint64_t created;         /* tasks */
    _Atomic(struct omp_team *) waits; /* the team for whose end it waits, as a worker; fork there */
    _Atomic uint64_t waits_number;
    uint64_t ended_at; /* ticks: when it began to wait; 0: unknown */
    uint32_t thread_number;
    uint32_t wait; /* region of the wait at the end of the team */
    int single, after_single; /* it executes a single; the next barrier is that of one */
    uint32_t nopen, open[OMP_OPEN];
    uint8_t *seen; /* bits: teams that it is defined as a member of */
    uint32_t ntasks;
    uint64_t tasks[OMP_TASKS]; /* of libomp: open ones, innermost last */
    struct {
        struct omp_lock *lock;
        uint32_t number, told; /* told: that it was acquired stands in the trace */
    } held[OMP_HELD]; /* locks that it acquired last, and as how many-th */
    uint32_t nheld;
    struct omp_team *teams[OMP_LEVELS]; /* that it forks */
};

#pragma GCC visibility push(hidden)

/* ---- attach.c ---- */
/* Whether OpenMP is recorded in this process: asked for once. */
int omp_recording(void);
extern _Atomic int omp_off; /* 1: it is not */
extern _Thread_local struct omp_thread *omp_here __attribute__((tls_model("initial-exec")));
struct omp_thread *omp_thread_begin(void);
/* The calling thread; NULL: it is not recorded. */
static inline struct omp_thread *omp_thread(void)
{
    struct omp_thread *t = omp_here;
    if (OMP_LIKELY(t != NULL) || atomic_load_explicit(&omp_off, memory_order_relaxed)) return t;
    return omp_thread_begin();
}

/* ---- constructs.c: tables that only grow, without locks; their pages cost memory from their first use on ---- */
#define OMP_SITES (1u << 16) /* powers of two */
#define OMP_LOCKS (1u << 16)

struct omp_site {
    _Atomic uint64_t key; /* 0 free */
    _Atomic uint32_t region;
};
extern struct omp_site omp_sites[OMP_SITES];

struct omp_lock { /* a lock or critical region, by the address of its variable */
    _Atomic uintptr_t key;
    _Atomic uint32_t acquired, released; /* how often */
    uint32_t depth;                      /* of a nestable lock; its holder's */
};
extern struct omp_lock omp_locks[OMP_LOCKS];

static inline uint64_t omp_hash(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 48; }

/* Asks the filter about all constructs. 0: none is recorded. */
int omp_ask_filter(void);
uint32_t omp_find_region(enum omp_construct construct, const void *code);
/* The region of a construct at a place in the code, defined at its first use; 0: not recorded, this time. So it is asked for
   once for each time that the construct is met. */
static inline uint32_t omp_region(enum omp_construct construct, const void *code)
{
    uint64_t key = ((uint64_t)construct + 1) << 56 ^ (uintptr_t)code;
    struct omp_site *s = &omp_sites[omp_hash(key)];
    uint32_t region = atomic_load_explicit(&s->region, memory_order_relaxed);
    if (OMP_LIKELY(atomic_load_explicit(&s->key, memory_order_relaxed) == key && region)) return region;
    return omp_find_region(construct, code);
}

struct omp_lock *omp_find_lock(const void *variable);
/* NULL: there are too many. */
static inline struct omp_lock *omp_lock_of(const void *variable)
{
    struct omp_lock *l = &omp_locks[omp_hash((uintptr_t)variable)];
    return OMP_LIKELY(atomic_load_explicit(&l->key, memory_order_relaxed) == (uintptr_t)variable)
               ? l
               : omp_find_lock(variable);
}
static inline uint32_t omp_lock_id(const struct omp_lock *lock) { return (uint32_t)(lock - omp_locks) + 1; }

/* ---- events.c. t is the calling thread. ---- */
extern _Atomic(struct omp_team *) omp_teams[VT_ID_MAX + 1]; /* by id; costs memory as it is used */
struct omp_team *omp_fork(struct omp_thread *t, enum omp_construct construct, const void *code, uint32_t threads);
/* Whether the thread has said that it is a member. */
static inline int omp_is_member(const struct omp_thread *t, uint32_t team) { return t->seen[team / 8] >> team % 8 & 1; }
/* number: the thread's in the team, if it has not said yet that it is a member. */
void omp_team_begin(struct omp_thread *t, struct omp_team *team, struct omp_fork fork, uint32_t number);
/* It has nothing more to do in its innermost team, and waits for the others. */
void omp_team_end(struct omp_thread *t);
void omp_join(struct omp_thread *t, struct omp_team *team);
/* The moment at which the team was joined whose end a thread waits for; 0: unknown, or it waits for none. */
uint64_t omp_joined(struct omp_thread *t);
void omp_define_member(struct omp_thread *t, struct omp_team *team, uint64_t joined);

/* Around a call; 0: it is not recorded. */
void omp_enter(uint32_t region);
void omp_leave(uint32_t region);

#define OMP_ENTER(region) VT_HEAD(VT_K_ENTER, 0, region)
#define OMP_LEAVE(region) VT_HEAD(VT_K_LEAVE, 0, region)

/* Regions that are left in the opposite order, by calls that do not say where they were entered. */
static inline void omp_open(struct omp_thread *t, uint32_t region)
{
    if (OMP_LIKELY(t->nopen < OMP_OPEN)) t->open[t->nopen] = region;
    t->nopen++;
    if (OMP_LIKELY(region)) vt_write_few(OMP_ENTER(region), 0, 0, 0, 0, 1);
}

/* also: another region that ends with the innermost, or 0. */
static inline void omp_close(struct omp_thread *t, uint32_t also)
{
    uint32_t region = t->nopen && --t->nopen < OMP_OPEN ? t->open[t->nopen] : 0;
    if (also && region) vt_write_2(OMP_LEAVE(also), OMP_LEAVE(region));
    else if (also || region) vt_write_few(OMP_LEAVE(also | region), 0, 0, 0, 0, 1);
}

/* A single that has no end of its own ends where the thread meets what cannot stand in it. */
void omp_single_end(struct omp_thread *t);

/* Returns the new task; create: a region around it, of no duration, or 0. */
uint64_t omp_task_create(struct omp_thread *t, uint32_t create);
void omp_task_begin(struct omp_thread *t, uint64_t task, uint32_t region);
void omp_task_end(struct omp_thread *t, uint64_t task, uint32_t region, uint64_t next, int later);

/* A critical region. What is told before it is entered: whether somebody was in it, as far as one can see. */
struct omp_wait {
    struct omp_lock *lock;
    uint32_t acquired, released;
};
struct omp_wait omp_critical_begin(struct omp_thread *t, const void *variable, const void *code);
/* Notes when it was entered, if somebody was in it since. */
void omp_critical_got(struct omp_thread *t, struct omp_wait w, const void *code);
void omp_critical_release(const void *variable, int shared); /* shared: another thread may be in it already */
void omp_critical_end(struct omp_thread *t);

void omp_lock_got(struct omp_thread *t, struct omp_lock *lock, uint32_t region);
void omp_lock_gives(struct omp_thread *t, struct omp_lock *lock, uint32_t region);

/* ---- next_function.c ---- */
struct omp_behind { /* the function that a call would have reached without us */
    void *function;
    uintptr_t library; /* where its library begins */
};
struct omp_function {
    const char *name;
    _Atomic int known;
    struct omp_behind behind; /* for all callers, if known */
};
const struct omp_behind *omp_find(struct omp_function *f, const void *caller);
static inline const struct omp_behind *omp_behind(struct omp_function *f, const void *caller)
{
    return OMP_LIKELY(atomic_load_explicit(&f->known, memory_order_acquire)) ? &f->behind : omp_find(f, caller);
}
/* Where the runtime that speaks OMPT lies: what goes there is recorded by its callbacks. */
extern uintptr_t omp_ompt_library;
uintptr_t omp_library_of(const void *address);

#pragma GCC visibility pop

#define OMP_EXPORT __attribute__((visibility("default")))
#define OMP_CALLER __builtin_return_address(0)
/* The address of a call, for its line: the return address may be that of the next statement. */
#define OMP_CALL_SITE ((const char *)__builtin_return_address(0) - 1)

#endif
