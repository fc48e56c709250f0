/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns events of OpenMP into records. Records of one moment are written by one call of vt_write, which reads the clock
   once.
   Memory order: a team is published with release and loaded with acquire; OpenMP's own fork synchronises, too. The
   number of a team's join is 0 while the ticks change, and is loaded before and after the ticks. */
#define _GNU_SOURCE
#include "ompwrap.h"

static inline uint64_t two(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* ---- Teams ---- */

_Atomic(struct omp_team *) omp_teams[VT_ID_MAX + 1];

void omp_define_member(struct omp_thread *t, struct omp_team *team, uint64_t joined)
{
    vt_define(VT_D_TEAM, vt_number(team->id), vt_number(t->location), vt_number(t->numbers[team->id] - 1u),
              vt_number(team->creator_location), vt_number(joined));
}

static struct omp_team *team_at(struct omp_thread *t)
{
    struct omp_team *team = t->teams[t->level];
    if (OMP_LIKELY(team != NULL)) return team;
    team = vt_pages(sizeof *team);
    if (!team || !(team->id = (uint32_t)vt_new_id(VT_ID_TEAM))) return NULL;
    team->level = t->level + 1;
    team->creator = t;
    team->creator_location = t->location;
    atomic_store_explicit(&omp_teams[team->id], team, memory_order_release);
    return t->teams[t->level] = team;
}

struct omp_team *omp_fork(struct omp_thread *t, enum omp_construct construct, const void *code, uint32_t threads)
{
    struct omp_team *team = t->level < OMP_LEVELS ? team_at(t) : NULL;
    if (!team) return NULL;
    uint32_t region = omp_region(construct, code);
    if (region && team->wait_code != code) {
        team->wait = omp_region(OMP_WAIT, code);
        team->wait_code = code;
    }
    /* A store evicts the cache line from the members' caches, even if the value is the same. */
    if (team->region != region) team->region = region;
    if (team->code != code) team->code = code;
    team->outer = t->team;
    team->outer_task = t->task;
    team->outer_ended = t->ended;
    team->outer_hidden = t->hidden;
    if (!region) return team;
    team->fork.number++;
    team->forked = vt_write_few(VT_HEAD(VT_K_THREAD_FORK, 1, region), two(threads, team->level), 0, 0, 0, 2);
    return team;
}

uint64_t omp_joined(struct omp_thread *t)
{
    struct omp_team *team = atomic_load(&t->waits);
    if (!team) return 0;
    uint64_t number = atomic_load(&t->waits_number), at = number & (OMP_JOINS - 1);
    uint64_t before = atomic_load_explicit(&team->joined[at].number, memory_order_acquire);
    uint64_t ticks = atomic_load_explicit(&team->joined[at].ticks, memory_order_acquire);
    uint64_t after = atomic_load_explicit(&team->joined[at].number, memory_order_relaxed);
    if (before == number && after == number) return ticks;
    return before >= number; /* 1: the entry was overwritten since, so the thread did not wait */
}

/* In a team that is not recorded, a member records only the end of its wait for its last team. */
static void begin_hidden(struct omp_thread *t, const struct omp_team *team)
{
    if (team->creator == t || !atomic_load(&t->waits)) return;
    vt_write_2(VT_HEAD(VT_K_THREAD_TEAM_JOINED, 1, 0), omp_joined(t));
    atomic_store(&t->waits, NULL);
}

static void write_begin(struct omp_thread *t, struct omp_team *team, struct omp_fork fork, uint32_t number)
{
    struct omp_team *waits = atomic_load_explicit(&t->waits, memory_order_relaxed);
    uint32_t region = team->creator == t ? 0 : team->region; /* the forking thread has entered it */
    uint64_t joined = 0;
    if (waits == team && t->waits_number + 1 == fork.number) joined = fork.joined;
    else if (waits && region) joined = omp_joined(t);
    if (!OMP_LIKELY(t->numbers[team->id] == (uint16_t)(number + 1))) { /* a new member, or one with another number */
        t->numbers[team->id] = (uint16_t)(number + 1);
        omp_define_member(t, team, 0);
    }
    vt_write_few(VT_HEAD(VT_K_THREAD_TEAM_BEGIN, 2, team->id), two(region, team->level), joined, 0, 0, 3);
    if (region) {
        atomic_store_explicit(&t->waits, NULL, memory_order_relaxed);
        atomic_store_explicit(&t->waits_number, fork.number, memory_order_relaxed);
    }
}

void omp_team_begin(struct omp_thread *t, struct omp_team *team, struct omp_fork fork, uint32_t number)
{
    t->hidden = !team->region;
    if (OMP_LIKELY(!t->hidden)) write_begin(t, team, fork, number);
    else begin_hidden(t, team);
    t->team = team;
    t->level = team->level;
    t->wait = team->wait;
    t->task = 0;
    t->ended = t->after_single = 0;
}

/* The team stays the thread's team, since the thread may still execute tasks of the team. */
void omp_team_end(struct omp_thread *t)
{
    struct omp_team *team = t->team;
    if (!team || t->ended) return;
    t->ended = 1;
    if (t->hidden) return;
    t->ended_at = vt_write_few(VT_HEAD(VT_K_THREAD_TEAM_END, 1, t->wait), t->level, 0, 0, 0, 2);
    if (team->creator != t) atomic_store_explicit(&t->waits, team, memory_order_release);
}

static void write_join(struct omp_team *team)
{
    uint64_t number = team->fork.number, at = number & (OMP_JOINS - 1);
    uint64_t now = vt_write_few(VT_HEAD(VT_K_THREAD_JOIN, 1, team->region), team->level, 0, 0, 0, 2);
    if (!now) now = vt_ticks();
    /* omp_joined may run in another thread that ends the process: no number stands beside the ticks of another one */
    atomic_store_explicit(&team->joined[at].number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&team->joined[at].ticks, now, memory_order_relaxed);
    atomic_store_explicit(&team->joined[at].number, number, memory_order_release);
    team->fork.joined = now;
    team->lasted = now - team->forked;
}

void omp_join(struct omp_thread *t, struct omp_team *team)
{
    if (OMP_LIKELY(team->region)) write_join(team);
    t->team = team->outer;
    t->task = team->outer_task;
    t->ended = team->outer_ended;
    t->hidden = team->outer_hidden;
    t->level = team->level - 1;
    if (t->team) t->wait = t->team->wait;
}

void omp_single_end(struct omp_thread *t)
{
    t->after_single = 0;
    if (!t->single) return;
    t->single = 0;
    omp_close(t, 0);
}

/* ---- Enter and leave; a region of 0 is not recorded ---- */

void omp_enter(uint32_t region)
{
    if (region) vt_enter(region);
}

void omp_leave(uint32_t region)
{
    if (region) vt_leave(region);
}

/* ---- Tasks ---- */

static uint32_t team_of(const struct omp_thread *t) { return t->team && !t->hidden ? t->team->id : 0; }

uint64_t omp_task_create(struct omp_thread *t, uint32_t create)
{
    uint64_t task = two((uint32_t)++t->created & OMP_TASK_MAX, t->location), team = team_of(t);
    uint64_t head = VT_HEAD(VT_K_THREAD_TASK_CREATE, 2, 0);
    if (create) vt_write_5(OMP_ENTER(create), head, task, team, OMP_LEAVE(create));
    else vt_write_3(head, task, team);
    return task;
}

void omp_task_begin(struct omp_thread *t, uint64_t task, uint32_t region)
{
    vt_write_3(VT_HEAD(VT_K_THREAD_TASK_BEGIN, 2, region), task, team_of(t));
    t->task = task;
}

void omp_task_end(struct omp_thread *t, uint64_t task, uint32_t region, uint64_t next, int later)
{
    uint64_t team = two(team_of(t), later);
    vt_write_4(VT_HEAD(VT_K_THREAD_TASK_END, 3, region), task, team, next);
    t->task = next;
}

/* ---- Critical regions and locks: the holder changes most of their fields ---- */

#define HELD 0x80000000u /* marks an open region: the part of a critical region that is executed inside it */

struct omp_wait omp_critical_begin(struct omp_thread *t, const void *variable, const void *code)
{
    struct omp_wait w = {omp_lock_of(variable), 0, 1};
    if (w.lock) {
        w.acquired = atomic_load_explicit(&w.lock->acquired, memory_order_relaxed);
        w.released = atomic_load_explicit(&w.lock->released, memory_order_relaxed);
    }
    omp_open(t, omp_region(OMP_CRITICAL, code));
    return w;
}

void omp_critical_acquired(struct omp_thread *t, struct omp_wait w, const void *code)
{
    if (!w.lock) return;
    uint32_t acquired = atomic_load_explicit(&w.lock->acquired, memory_order_relaxed);
    atomic_store_explicit(&w.lock->acquired, acquired + 1, memory_order_relaxed);
    if (OMP_LIKELY(w.acquired == w.released && acquired == w.acquired)) return;
    omp_open(t, omp_region(OMP_CRITICAL_HELD, code));
    if (t->nopen <= OMP_OPEN) t->open[t->nopen - 1] |= HELD;
}

void omp_critical_release(const void *variable, int shared)
{
    struct omp_lock *lock = omp_lock_of(variable);
    if (!lock) return;
    if (shared) atomic_fetch_add(&lock->released, 1);
    else
        atomic_store_explicit(&lock->released, atomic_load_explicit(&lock->released, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

void omp_critical_end(struct omp_thread *t)
{
    uint32_t region = t->nopen && t->nopen <= OMP_OPEN ? t->open[t->nopen - 1] : 0;
    if (region & HELD) t->nopen--;
    omp_close(t, region & HELD ? region & ~HELD : 0);
}

void omp_lock_acquired(struct omp_thread *t, struct omp_lock *lock, uint32_t region)
{
    uint32_t number = atomic_load_explicit(&lock->acquired, memory_order_relaxed);
    atomic_store_explicit(&lock->acquired, number + 1, memory_order_relaxed);
    t->held[t->nheld % OMP_HELD].lock = lock;
    t->held[t->nheld % OMP_HELD].recorded = region;
    t->held[t->nheld++ % OMP_HELD].number = number;
    if (region)
        vt_write_3(VT_HEAD(VT_K_ACQUIRE_LOCK, 1, VT_PARADIGM_OPENMP), two(omp_lock_id(lock), number),
                   OMP_LEAVE(region));
}

void omp_lock_release(struct omp_thread *t, struct omp_lock *lock, uint32_t region)
{
    uint32_t number = atomic_load_explicit(&lock->acquired, memory_order_relaxed) - 1, recorded = 1;
    for (uint32_t i = 1; i <= OMP_HELD; i++) /* the next holder may have acquired it already */
        if (t->held[(t->nheld - i) % OMP_HELD].lock == lock) {
            number = t->held[(t->nheld - i) % OMP_HELD].number;
            recorded = t->held[(t->nheld - i) % OMP_HELD].recorded;
            break;
        }
    uint64_t head = VT_HEAD(VT_K_RELEASE_LOCK, 1, VT_PARADIGM_OPENMP), which = two(omp_lock_id(lock), number);
    if (recorded && region) vt_write_3(OMP_ENTER(region), head, which);
    else if (recorded) vt_write_2(head, which);
    else omp_enter(region);
}
