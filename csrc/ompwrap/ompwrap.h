/* SPDX-License-Identifier: BSD-3-Clause */
/* The OpenMP shim (libvtrace-omp.so). GNU's libgomp is recorded by wrappers of its entry points (gomp*.c), LLVM's
   libomp by OMPT callbacks (ompt.c; OpenMP 5.2, chapter 19). Both call the functions of this header, which write the
   same records (thread events of OTF2).

   omp_threads.c owns the states of the threads, omp_events.c the teams, constructs.c the tables of regions and locks,
   target.c the work that threads give to devices, target_calls.c the places of its directives.
   In this folder these rules always hold:
   - Only the thread itself changes its state. Atomic fields are the exception: other threads read them.
   - A wrapper calls the next definition exactly once.
   - Teams, states and entries of tables are never freed, so a concurrent reader always sees valid memory. */
#ifndef VT_OMPWRAP_H
#define VT_OMPWRAP_H

#include <stdatomic.h>
#include <stdint.h>
#include "core/write.h"

#define OMP_LIKELY(x) __builtin_expect(!!(x), 1)
#define OMP_LEVELS 64   /* limit of nested parallel regions of a thread; deeper ones are not recorded */
#define OMP_JOINS 256   /* a power of two: number of joins that a team remembers for threads that took part earlier */
#define OMP_OPEN 64     /* limit of open worksharing constructs of a thread */
#define OMP_TASK_MAX 0x7fffffffu /* after this number tasks are numbered from the start again */
#define OMP_HELD 16    /* locks whose acquisition a thread remembers; a power of two */
#define OMP_TASKS 2048  /* limit of open tasks of a thread in libomp */

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
    X(TARGET, "target", 4)                                                                                             \
    X(TARGET_ENTER, "target enter data", 4)                                                                            \
    X(TARGET_EXIT, "target exit data", 4)                                                                              \
    X(TARGET_UPDATE, "target update", 4)                                                                               \
    X(TARGET_ALLOC, "target alloc", 35)                                                                                \
    X(TARGET_DELETE, "target delete", 36)                                                                              \
    X(TARGET_TO_DEVICE, "target copy to device", 30)                                                                   \
    X(TARGET_TO_HOST, "target copy to host", 30)                                                                       \
    X(TARGET_SUBMIT, "target submit", 40)                                                                              \
    X(SET_LOCK, "omp_set_lock", 1)                                                                                     \
    X(UNSET_LOCK, "omp_unset_lock", 1)                                                                                 \
    X(TEST_LOCK, "omp_test_lock", 1)                                                                                   \
    X(SET_NEST_LOCK, "omp_set_nest_lock", 1)                                                                           \
    X(UNSET_NEST_LOCK, "omp_unset_nest_lock", 1)                                                                       \
    X(TEST_NEST_LOCK, "omp_test_nest_lock", 1)                                                                         \
    X(WAIT, "implicit barrier", 16) /* at the end of a parallel region; recorded if the region is */

enum omp_construct {
#define OMP_CONSTRUCT(name, text, role) OMP_##name,
    OMP_CONSTRUCTS(OMP_CONSTRUCT)
#undef OMP_CONSTRUCT
        OMP_NCONSTRUCTS
};

struct omp_thread;

/* One fork of a team. */
struct omp_fork {
    uint64_t number; /* count of the team's forks, from 1 */
    uint64_t joined; /* in ticks: when the previous fork was joined; 0: unknown */
};

/* All parallel regions that one thread forks at one level. A team is one communicator of OTF2 and lives as long as the
   process. */
struct omp_team {
    /* Fields that the members read. These fields seldom change, so they stay in each member's cache. */
    struct {
        uint32_t id, level;
        uint32_t region, wait;         /* regions of the construct (0: not recorded) and of the wait at its end */
        const void *code, *wait_code;  /* places of the fork, and of the fork that defined `wait` */
        const void *call; /* return address of the fork's call, if that is not the place; else NULL */
        struct omp_thread *creator;
        uint32_t creator_location;
    } __attribute__((aligned(64)));
    /* Fields that each fork and join writes. */
    struct {
        struct omp_fork fork;   /* the latest */
        uint64_t forked;        /* in ticks; 0: unknown */
        uint64_t lasted;        /* ticks between the previous fork and its join */
        struct omp_team *outer; /* the enclosing team of the creator, its task there, and whether it waits there */
        uint64_t outer_task;
        int outer_ended, outer_hidden;
    } __attribute__((aligned(64)));
    struct {
        _Atomic uint64_t number, ticks;
    } joined[OMP_JOINS]; /* times of the latest joins */
};

/* State of a thread. After its thread has ended, a later thread reuses it. */
struct omp_thread {
    struct omp_thread *next; /* list of all */
    _Atomic uint32_t used;
    uint32_t location, level; /* level: number of teams that the thread is in */
    struct omp_team *team;    /* the innermost */
    int ended;                /* the thread has finished its part of the team and waits for the others */
    int hidden;               /* this team is not recorded */
    uint64_t task;            /* current task: creating location << 32 | number; 0: the implicit one */
    uint64_t created;         /* number of created tasks */
    _Atomic(struct omp_team *) waits; /* the team for whose end the thread waits, as a worker; the fork of that team */
    _Atomic uint64_t waits_number;
    uint64_t ended_at; /* in ticks: when the thread began to wait; 0: unknown */
    uint32_t wait; /* region of the wait at the end of the team */
    int single, after_single; /* the thread executes a single; the next barrier is that of a single */
    uint32_t nopen, open[OMP_OPEN];
    uint16_t *numbers; /* by team: the thread number + 1 with which the thread is defined as a member; 0: it is not */
    uint32_t ntasks;
    uint64_t tasks[OMP_TASKS]; /* open tasks of libomp, innermost last */
    struct {
        struct omp_lock *lock;
        uint32_t number, recorded; /* recorded: the trace has a record of the acquisition */
    } held[OMP_HELD]; /* locks that the thread acquired last, and the number of each acquisition */
    uint32_t nheld;
    struct omp_team *teams[OMP_LEVELS]; /* teams that the thread forks */
};

#pragma GCC visibility push(hidden)

/* ---- omp_threads.c ---- */
/* Returns whether OpenMP is recorded in this process. Attaches at the first call. */
int omp_recording(void);
extern _Atomic int omp_off; /* 1: nothing is recorded */
extern _Thread_local struct omp_thread *omp_own_thread __attribute__((tls_model("initial-exec")));
/* Creates the state of the calling thread; NULL if it is not recorded. */
struct omp_thread *omp_thread_begin(void);
/* The state of the calling thread; NULL if it is not recorded. */
static inline struct omp_thread *omp_thread(void)
{
    struct omp_thread *t = omp_own_thread;
    if (OMP_LIKELY(t != NULL) || atomic_load_explicit(&omp_off, memory_order_relaxed)) return t;
    return omp_thread_begin();
}

/* ---- constructs.c: tables that only grow, without locks. A page uses memory after its first use. ---- */
#define OMP_SITES (1u << 16) /* powers of two */
#define OMP_LOCKS (1u << 16)

struct omp_site {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint32_t region;
};
extern struct omp_site omp_sites[OMP_SITES];

struct omp_lock { /* a lock or critical region, by the address of its variable */
    _Atomic uintptr_t key;
    _Atomic uint32_t acquired, released; /* number of acquisitions and releases */
    uint32_t depth; /* nesting of a nestable lock; the holder changes it */
};
extern struct omp_lock omp_locks[OMP_LOCKS];

static inline uint64_t omp_hash(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 48; }

/* Asks the filter about each construct. Returns 0 if none is recorded. */
int omp_ask_filter(void);
uint32_t omp_find_region(enum omp_construct construct, const void *code);
/* The region of a construct at a place in the code, defined at its first use. 0: not recorded this time. Call this once
   for each execution of the construct, since a filter may count the calls. */
static inline uint32_t omp_region(enum omp_construct construct, const void *code)
{
    uint64_t key = ((uint64_t)construct + 1) << 56 ^ (uintptr_t)code; /* an address has at most 52 bits */
    struct omp_site *s = &omp_sites[omp_hash(key)];
    uint32_t region = atomic_load_explicit(&s->region, memory_order_relaxed);
    if (OMP_LIKELY(atomic_load_explicit(&s->key, memory_order_relaxed) == key && region)) return region;
    return omp_find_region(construct, code);
}

struct omp_lock *omp_find_lock(const void *variable);
/* NULL: the table is full. */
static inline struct omp_lock *omp_lock_of(const void *variable)
{
    struct omp_lock *l = &omp_locks[omp_hash((uintptr_t)variable)];
    return OMP_LIKELY(atomic_load_explicit(&l->key, memory_order_relaxed) == (uintptr_t)variable)
               ? l
               : omp_find_lock(variable);
}
static inline uint32_t omp_lock_id(const struct omp_lock *lock) { return (uint32_t)(lock - omp_locks) + 1; }

/* ---- omp_events.c: t is the calling thread ---- */
extern _Atomic(struct omp_team *) omp_teams[VT_ID_MAX + 1]; /* by id; a page uses memory after its first use */
/* Begins a parallel region. code: its place; threads: number requested. Returns the team; NULL if parallel regions are
   nested too deeply. */
struct omp_team *omp_fork(struct omp_thread *t, enum omp_construct construct, const void *code, uint32_t threads);
/* number: thread number in the team. */
void omp_team_begin(struct omp_thread *t, struct omp_team *team, struct omp_fork fork, uint32_t number);
/* The thread has finished its part of the innermost team and waits for the others. */
void omp_team_end(struct omp_thread *t);
void omp_join(struct omp_thread *t, struct omp_team *team);
/* The time (ticks) of the join for which a thread waits; 0: unknown, or the thread does not wait. */
uint64_t omp_joined(struct omp_thread *t);
void omp_define_member(struct omp_thread *t, struct omp_team *team, uint64_t joined);

/* Enter and leave of a region; 0 is not recorded. */
void omp_enter(uint32_t region);
void omp_leave(uint32_t region);

#define OMP_ENTER(region) VT_HEAD(VT_K_ENTER, 0, region)
#define OMP_LEAVE(region) VT_HEAD(VT_K_LEAVE, 0, region)

/* Regions that end in the opposite order of their starts, for calls that do not identify the region. */
static inline void omp_open(struct omp_thread *t, uint32_t region)
{
    if (OMP_LIKELY(t->nopen < OMP_OPEN)) t->open[t->nopen] = region;
    t->nopen++;
    if (OMP_LIKELY(region)) vt_write_few(OMP_ENTER(region), 0, 0, 0, 0, 1);
}

/* also: a region that ends together with the innermost one, or 0. */
static inline void omp_close(struct omp_thread *t, uint32_t also)
{
    uint32_t region = t->nopen && --t->nopen < OMP_OPEN ? t->open[t->nopen] : 0;
    if (also && region) vt_write_2(OMP_LEAVE(also), OMP_LEAVE(region));
    else if (also || region) vt_write_few(OMP_LEAVE(also | region), 0, 0, 0, 0, 1);
}

/* Ends a single whose end has no call of its own, at the first construct that cannot be nested in it. */
void omp_single_end(struct omp_thread *t);

/* Returns the new task. create: a region of no duration around the creation, or 0. */
uint64_t omp_task_create(struct omp_thread *t, uint32_t create);
void omp_task_begin(struct omp_thread *t, uint64_t task, uint32_t region);
void omp_task_end(struct omp_thread *t, uint64_t task, uint32_t region, uint64_t next, int later);

/* A critical region. The fields hold its counters at the entry of the call: they show whether another thread was in
   it. */
struct omp_wait {
    struct omp_lock *lock;
    uint32_t acquired, released;
};
struct omp_wait omp_critical_begin(struct omp_thread *t, const void *variable, const void *code);
/* Records the acquisition, if another thread was in the region since omp_critical_begin. */
void omp_critical_acquired(struct omp_thread *t, struct omp_wait w, const void *code);
void omp_critical_release(const void *variable, int shared); /* shared: another thread may be in it already */
void omp_critical_end(struct omp_thread *t);

/* The calling thread acquired a lock, or is about to release it. region: the region of the call, which is left or
   entered. */
void omp_lock_acquired(struct omp_thread *t, struct omp_lock *lock, uint32_t region);
void omp_lock_release(struct omp_thread *t, struct omp_lock *lock, uint32_t region);

/* ---- target.c ---- */
/* Callbacks of OMPT for target devices, with the values and types of the standard. */
void omp_on_target(int kind, int endpoint, int device, void *task, void *target_task, uint64_t *target,
                   const void *code);
void omp_on_target_data(int endpoint, void *target_task, const uint64_t *target, uint64_t *operation, int kind,
                        const void *from, int from_device, const void *to, int to_device, size_t bytes,
                        const void *code);
void omp_on_target_submit(int endpoint, const uint64_t *target, uint64_t *operation, unsigned teams);

/* ---- target_calls.c ---- */
/* The target directive that the calling thread executes: the place of its call, and its place in the source, as LLVM
   writes it; NULL: unknown. */
struct omp_directive {
    const void *code;
    const char *source;
};
extern _Thread_local struct omp_directive omp_directive __attribute__((tls_model("initial-exec")));
/* Defines the region of a construct, by its name and role, at the thread's target directive. 0: its line is unknown. */
uint32_t omp_define_target(const char *construct, uint8_t role);

/* ---- next_function.c ---- */
struct omp_next { /* the next definition of a function */
    void *function;
    uintptr_t library; /* start address of its library */
};
struct omp_function {
    const char *name;
    _Atomic int known;
    struct omp_next behind; /* for all callers, if known */
};
/* Looks up the next definition for a caller (a return address). Never NULL. */
const struct omp_next *omp_find(struct omp_function *f, const void *caller);
static inline const struct omp_next *omp_next(struct omp_function *f, const void *caller)
{
    return OMP_LIKELY(atomic_load_explicit(&f->known, memory_order_acquire)) ? &f->behind : omp_find(f, caller);
}
/* Start address of the runtime that supports OMPT. OMPT callbacks record calls into this runtime, so wrappers do
   not. */
extern uintptr_t omp_ompt_library;
/* The body of the parallel region that the calling thread begins by a call of gcc's into that runtime, else NULL. gcc
   gives such a call no line of its own, so the body is the region's place. */
extern _Thread_local const void *omp_body __attribute__((tls_model("initial-exec")));
/* Start address of the library with this address; 0: none. */
uintptr_t omp_library_of(const void *address);

#pragma GCC visibility pop

#define OMP_EXPORT __attribute__((visibility("default")))
#define OMP_CALLER __builtin_return_address(0)
/* The address inside a call, for its line: the return address may belong to the next statement. */
#define OMP_CALL_SITE ((const char *)__builtin_return_address(0) - 1)

#endif
