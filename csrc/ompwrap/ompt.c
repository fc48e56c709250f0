/* SPDX-License-Identifier: BSD-3-Clause */
/* LLVM's (and Intel's) libomp reports events by OMPT (OpenMP 5.2, chapter 19). This file has the types of OMPT that it
   uses, with the values of the standard, and the callbacks. */
#define _GNU_SOURCE
#include <link.h>
#include "ompwrap.h"

union data { /* ompt_data_t */
    uint64_t value;
    void *ptr;
};
typedef void (*(*lookup)(const char *name))(void);
struct start_tool_result { /* ompt_start_tool_result_t */
    int (*initialize)(lookup, int, union data *);
    void (*finalize)(union data *);
    union data tool;
};

enum endpoint { BEGIN = 1, END = 2, BEGIN_END = 3 };
enum { TASK_INITIAL = 1, TASK_EXPLICIT = 4, PARALLEL_LEAGUE = 0x40000000 };
enum work { LOOP = 1, SECTIONS, SINGLE_EXECUTOR, SINGLE_OTHER, WORKSHARE, DISTRIBUTE, TASKLOOP, SCOPE };
enum sync {
    ALL_BARRIERS = 1,
    BARRIER_IMPLICIT = 2,
    TASKWAIT = 5,
    TASKGROUP = 6,
    REDUCTION = 7,
    BARRIER_EXPLICIT = 3,
    BARRIER_PARALLEL = 9
};
enum mutex { CRITICAL = 5, ATOMIC, ORDERED };
enum status { COMPLETE = 1, CANCELLED = 3, DETACHED = 4, LATE_FULFILL = 6, SWITCH = 7 };

static uintptr_t runtime_end; /* end address of the library at omp_ompt_library */

/* The place of a call, from its return address. For a taskloop libomp 14 passes an address of its own. In that case,
   and if it passes none, the place of the region is used. */
static inline const void *site(const struct omp_thread *t, const void *code)
{
    if (code && (uintptr_t)code - omp_ompt_library >= runtime_end - omp_ompt_library) return (const char *)code - 1;
    return t->team ? t->team->code : NULL;
}

/* ---- Teams. The data of an implicit task point to the team. The data of a parallel region are in memory that libomp's
   threads read at each fork, so reading them costs nothing. The team is in memory that another core has just written;
   reading it costs as much as all records of a region. So if the previous region was short, the data contain all that the threads need: bit 63: recorded; bit 62: read the team instead; below: the team's id (21 bits), and the lowest bits of
   the fork's number and of the time (ticks) of the previous join. */

#define RECORDED (1ull << 63)
#define LOOK (1ull << 62)
#define NUMBER_BITS 21
#define JOINED_BITS 20
#define LOWEST(value, bits) ((value) & ((1ull << (bits)) - 1))

static uint64_t data_of_fork(const struct omp_team *team)
{
    uint64_t data = RECORDED | (uint64_t)team->id << (NUMBER_BITS + JOINED_BITS);
    if (team->lasted >> JOINED_BITS) data |= LOOK;
    return data | LOWEST(team->fork.number, NUMBER_BITS) << JOINED_BITS | LOWEST(team->fork.joined, JOINED_BITS);
}

static struct omp_team *team_of(uint64_t data)
{
    if (!(data & RECORDED)) return NULL;
    return atomic_load_explicit(&omp_teams[data >> (NUMBER_BITS + JOINED_BITS) & VT_ID_MAX], memory_order_acquire);
}

/* A member of the previous fork has waited for its join since then. */
static struct omp_fork fork_of(const struct omp_thread *t, const struct omp_team *team, uint64_t data)
{
    struct omp_fork fork = {atomic_load_explicit(&t->waits_number, memory_order_relaxed) + 1, t->ended_at};
    if (data & LOOK || !t->ended_at || atomic_load_explicit(&t->waits, memory_order_relaxed) != team) return team->fork;
    if (LOWEST(fork.number ^ data >> JOINED_BITS, NUMBER_BITS)) return team->fork;
    fork.joined += LOWEST(data - t->ended_at, JOINED_BITS);
    return fork;
}

static void on_parallel_begin(union data *task, const void *frame, union data *parallel, unsigned threads, int flags,
                              const void *code)
{
    struct omp_thread *t = omp_thread();
    struct omp_team *team = NULL;
    const void *body = omp_body, *at = t && !body ? site(t, code) : body;
    (void)task, (void)frame;
    omp_body = NULL;
    /* Without a place: the runtime's own threads for target tasks, which are in no region of the program. */
    if (t && at && !(flags & PARALLEL_LEAGUE)) team = omp_fork(t, OMP_PARALLEL, at, threads);
    if (team) team->call = body ? code : NULL;
    parallel->value = team ? data_of_fork(team) : 0;
}

static void on_parallel_end(union data *parallel, union data *task, int flags, const void *code)
{
    (void)task, (void)flags, (void)code;
    struct omp_team *team = team_of(parallel->value);
    if (team) omp_join(team->creator, team);
}

static void on_implicit_task(int endpoint, union data *parallel, union data *task, unsigned size, unsigned index,
                             int flags)
{
    struct omp_thread *t = omp_thread();
    (void)size;
    if (!t || flags & TASK_INITIAL) return;
    if (endpoint == BEGIN) {
        struct omp_team *team = task->ptr = parallel ? team_of(parallel->value) : NULL;
        if (team) omp_team_begin(t, team, fork_of(t, team, parallel->value), index);
    } else if (task->ptr && t->team == task->ptr) omp_team_end(t); /* the task had no barrier */
}

/* ---- Worksharing and waiting ---- */

static void on_work(int kind, int endpoint, union data *parallel, union data *task, uint64_t count, const void *code)
{
    static const int constructs[] = {[LOOP] = OMP_FOR,
                                     [SECTIONS] = OMP_SECTIONS,
                                     [SINGLE_EXECUTOR] = OMP_SINGLE,
                                     [SINGLE_OTHER] = OMP_SINGLE,
                                     [WORKSHARE] = OMP_WORKSHARE,
                                     [DISTRIBUTE] = OMP_DISTRIBUTE,
                                     [TASKLOOP] = OMP_TASKLOOP,
                                     [SCOPE] = OMP_SCOPE};
    struct omp_thread *t = omp_thread();
    (void)parallel, (void)task, (void)count;
    if (!t) return;
    /* larger values: kinds of schedules */
    int construct = kind > SCOPE ? OMP_FOR : constructs[kind < LOOP ? LOOP : kind];
    if (code && t->team && code == t->team->call) code = NULL; /* the loop of GOMP_parallel_loop_... */
    if (endpoint & BEGIN) omp_open(t, omp_region(construct, site(t, code)));
    if (endpoint & END) omp_close(t, 0);
}

/* Returns whether a barrier is the one at the end of a parallel region. libomp 14 does not report that, but passes no
   address or that of the region. */
static int is_last(const struct omp_thread *t, int kind, const void *code)
{
    if (kind != BARRIER_IMPLICIT) return kind == BARRIER_PARALLEL;
    if (!t->team || t->ended) return 0;
    return !code || code == t->team->call || (const char *)code - 1 == t->team->code;
}

static void wait_at(struct omp_thread *t, enum omp_construct construct, int endpoint, const void *code)
{
    if (endpoint & BEGIN) omp_open(t, omp_region(construct, site(t, code)));
    if (endpoint & END) omp_close(t, 0);
}

/* libomp reports the end of a worker's wait for its team only when the worker is woken up again. So the wait ends when
   the team does. */
static __attribute__((noinline)) void on_wait(int kind, int endpoint, const void *code)
{
    struct omp_thread *t = omp_thread();
    if (!t) return;
    switch (kind) {
    case BARRIER_IMPLICIT:
    case BARRIER_PARALLEL:
        if (endpoint & BEGIN && is_last(t, kind, code)) omp_team_end(t);
        else if (kind == BARRIER_IMPLICIT && !t->ended) wait_at(t, OMP_IMPLICIT_BARRIER, endpoint, code);
        return;
    case TASKWAIT: wait_at(t, OMP_TASKWAIT, endpoint, code); return;
    case TASKGROUP: wait_at(t, OMP_TASKGROUP, endpoint, code); return;
    case ALL_BARRIERS:
    case BARRIER_EXPLICIT: wait_at(t, OMP_BARRIER, endpoint, code); return;
    case REDUCTION: return;
    default: wait_at(t, OMP_IMPLICIT_BARRIER, endpoint, code);
    }
}

/* An explicit barrier is so short that it is handled first, without stack space for the other cases. */
static void on_sync_region(int kind, int endpoint, union data *parallel, union data *task, const void *code)
{
    struct omp_thread *t = omp_own_thread;
    (void)parallel, (void)task;
    if (!OMP_LIKELY(t && kind == BARRIER_EXPLICIT && code && endpoint != BEGIN_END)) on_wait(kind, endpoint, code);
    else if (endpoint == END) omp_close(t, 0);
    else omp_open(t, omp_region(OMP_BARRIER, (const char *)code - 1));
}

static void on_cancel(union data *task, int flags, const void *code)
{
    struct omp_thread *t = omp_thread();
    (void)task;
    if (!t || !(flags & 0x10 /* ompt_cancel_activated */)) return;
    uint32_t region = omp_region(OMP_CANCEL, site(t, code));
    if (region) vt_write_2(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_LEAVE, 0, region));
}

/* ---- Mutual exclusion; locks are recorded by their functions (omp_locks.c). wait: the address of the lock ---- */

static _Thread_local struct omp_wait waits __attribute__((tls_model("initial-exec")));

static void on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait, const void *code)
{
    struct omp_thread *t = omp_thread();
    (void)hint, (void)implementation;
    if (!t) return;
    if (kind == CRITICAL) waits = omp_critical_begin(t, (const void *)wait, site(t, code));
    else if (kind == ATOMIC || kind == ORDERED)
        omp_open(t, omp_region(kind == ATOMIC ? OMP_ATOMIC : OMP_ORDERED, site(t, code)));
}

static void on_mutex_acquired(int kind, uint64_t wait, const void *code)
{
    struct omp_thread *t = omp_thread();
    (void)wait;
    if (!t) return;
    if (kind == CRITICAL) omp_critical_acquired(t, waits, site(t, code));
    else if (kind == ORDERED) omp_open(t, omp_region(OMP_ORDERED_HELD, site(t, code)));
}

static void on_mutex_released(int kind, uint64_t wait, const void *code)
{
    struct omp_thread *t = omp_thread();
    (void)code;
    if (!t) return;
    if (kind == CRITICAL) {
        omp_critical_release((const void *)wait, 1);
        omp_critical_end(t);
    } else if (kind == ATOMIC) omp_close(t, 0);
    else if (kind == ORDERED) {
        omp_close(t, 0);
        omp_close(t, 0);
    }
}

/* ---- Tasks. Data of an explicit task: bit 63, region (16 bits), creating location (16 bits), number (31 bits).
   ---- */

#define EXPLICIT (1ull << 63)

static uint64_t task_of(uint64_t value) { return (value >> 31 & 0xffff) << 32 | (value & OMP_TASK_MAX); }
static uint32_t region_of(uint64_t value) { return (uint32_t)(value >> 47 & 0xffff); }

static void on_task_create(union data *parent, const void *frame, union data *task, int flags, int depends,
                           const void *code)
{
    struct omp_thread *t = omp_thread();
    (void)parent, (void)frame, (void)depends;
    if (!t || !(flags & TASK_EXPLICIT)) return;
    const void *at = site(t, code);
    uint32_t region = omp_region(OMP_TASK, at);
    if (region > 0xffff) region = omp_region(OMP_TASK, NULL) & 0xffff;
    uint32_t create = omp_region(OMP_TASK_CREATE, at);
    if (!region) {
        omp_enter(create);
        omp_leave(create);
        return;
    }
    uint64_t new = omp_task_create(t, create);
    task->value = EXPLICIT | (uint64_t)region << 47 | (new >> 32 & 0xffff) << 31 | (new & OMP_TASK_MAX);
}

static uint64_t innermost(const struct omp_thread *t)
{
    return t->ntasks && t->ntasks <= OMP_TASKS ? t->tasks[t->ntasks - 1] : 0;
}

/* Ends the innermost task, or suspends it (later). */
static void leave_task(struct omp_thread *t, int later)
{
    uint64_t value = innermost(t);
    t->ntasks--;
    uint64_t next = innermost(t);
    if (value) omp_task_end(t, task_of(value), region_of(value), next & EXPLICIT ? task_of(next) : 0, later);
}

static void on_task_schedule(union data *prior, int status, union data *next)
{
    struct omp_thread *t = omp_thread();
    if (!t) return;
    uint64_t from = prior ? prior->value : 0, to = next ? next->value : 0;
    int ends = status == COMPLETE || status == CANCELLED || status == DETACHED;
    uint64_t below = t->ntasks > 1 && t->ntasks <= OMP_TASKS ? t->tasks[t->ntasks - 2] : 0;
    if (from & EXPLICIT && innermost(t) == from && status != LATE_FULFILL) {
        if (ends) leave_task(t, 0);
        else if (!(to & EXPLICIT) || to == below) leave_task(t, 1);
    }
    if (!(to & EXPLICIT) || innermost(t) == to || status == LATE_FULFILL) return;
    if (t->ntasks < OMP_TASKS) t->tasks[t->ntasks] = to;
    if (t->ntasks++ < OMP_TASKS) omp_task_begin(t, task_of(to), region_of(to));
}

/* ---- Start ---- */

static const struct {
    int number;
    void (*function)(void);
} callbacks[] = {
#define CALLBACK(number, function) {number, (void (*)(void))(function)}
    CALLBACK(3, on_parallel_begin),
    CALLBACK(4, on_parallel_end),
    CALLBACK(5, on_task_create),
    CALLBACK(6, on_task_schedule),
    CALLBACK(7, on_implicit_task),
    CALLBACK(17, on_mutex_released),
    CALLBACK(20, on_work),
    CALLBACK(23, on_sync_region),
    CALLBACK(26, on_mutex_acquire),
    CALLBACK(27, on_mutex_acquired),
    CALLBACK(30, on_cancel),
    CALLBACK(33, omp_on_target),
    CALLBACK(34, omp_on_target_data),
    CALLBACK(35, omp_on_target_submit),
};

static int measure(struct dl_phdr_info *info, size_t bytes, void *data)
{
    (void)bytes, (void)data;
    if (info->dlpi_addr != omp_ompt_library) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > runtime_end) runtime_end = end;
    }
    return 1;
}

static int initialize(lookup find, int device, union data *tool)
{
    int (*set)(int, void (*)(void)) = (int (*)(int, void (*)(void)))find("ompt_set_callback");
    (void)device, (void)tool;
    if (!set) return 0;
    omp_ompt_library = omp_library_of((const void *)find);
    dl_iterate_phdr(measure, NULL);
    for (unsigned i = 0; i < sizeof callbacks / sizeof *callbacks; i++) set(callbacks[i].number, callbacks[i].function);
    return 1;
}

static void finalize(union data *tool) { (void)tool; }

/* The runtime calls the first function of this name in the search order. NULL: it runs without a tool. */
OMP_EXPORT struct start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct start_tool_result start = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return omp_recording() ? &start : NULL;
}
