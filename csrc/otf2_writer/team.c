/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of threads, locks, and teams of threads with their tasks. A member's wait for the others ends when the team is joined. The member's next
   record of a team states that time: until then the region of the wait stays open, and contains further regions. */
#include <stdlib.h>
#include "containers.h"
#include "pass.h"

#define OF_team(name, number) ~, OF_##name = number,
enum team_kind { VT_KINDS(VT_HANDLED) };
#undef OF_team

static int push(struct pass *p, struct team team)
{
    if (!VT_ROOM(p->teams, p->nteams + 1, &p->teams_capacity)) return VT_NO_MEMORY;
    team.depth = p->depth;
    p->teams[p->nteams++] = team;
    return VT_OK;
}

static struct team *top(struct pass *p) { return p->nteams ? &p->teams[p->nteams - 1] : NULL; }

/* Ends the innermost team with all regions in it. */
static int close_top(struct pass *p, uint64_t t)
{
    struct team team = p->teams[--p->nteams];
    int code = vt_leave_to(p, t, team.depth + team.is_fork);
    if (!code && team.is_fork) code = WRITE(p, ThreadJoin, t, VT_OTF2_PARADIGM_OPENMP);
    else if (!code && team.comm != VT_UNMAPPED) code = WRITE(p, ThreadTeamEnd, t, team.comm);
    return code ? code : vt_leave_to(p, t, team.depth);
}

/* Ends teams that cannot be open when a team or fork of this nesting begins: their ends were not recorded. */
static int close_stale(struct pass *p, uint32_t nesting, int fork_stays)
{
    int code = VT_OK;
    for (struct team *e; !code && (e = top(p)) && e->nesting >= nesting;) {
        if (e->nesting == nesting && e->is_fork && fork_stays) break;
        code = close_top(p, vt_time_at(p, p->ticks));
    }
    return code;
}

int vt_teams_close(struct pass *p, uint64_t t)
{
    int code = VT_OK;
    while (!code && p->nteams) code = close_top(p, t);
    return code;
}

/* Ends a worker's wait at ticks; 0: now. */
static int end_wait(struct pass *p, uint64_t ticks)
{
    int early = 0;
    if (!top(p) || !top(p)->waits) return vt_samples_until(p, p->ticks);
    if (!ticks || ticks > p->ticks) ticks = p->ticks;
    int code = vt_samples_until(p, ticks);
    uint64_t t = vt_times_ns(&p->times, ticks, &early);
    if (t > p->last) p->last = t;
    if (!code) code = close_top(p, p->last);
    return code ? code : vt_samples_until(p, p->ticks);
}

/* Returns the rank of a location in the communicator of a team: its index among the members. */
static uint64_t place_of(const struct pass *p, uint64_t team, uint64_t location)
{
    const struct vt_maps *m = p->maps;
    if (team >= m->nteams) return UINT64_MAX;
    uint64_t end = team + 1 < m->nteams ? m->team_first[team + 1] : m->nteam_members;
    if (end > m->nteam_members) end = m->nteam_members;
    for (uint64_t i = m->team_first[team]; i < end; i++)
        if (m->team_members[i] == location) return i;
    return UINT64_MAX;
}

int vt_teams_end(struct pass *p)
{
    struct team *e = top(p);
    if (!e || !e->waits) return VT_OK;
    uint64_t at = place_of(p, e->id, p->location), joined = at == UINT64_MAX ? 0 : p->maps->team_joined[at];
    if (joined > p->ticks && joined < VT_TICKS_MAX) p->ticks = joined;
    else joined = 1;
    return end_wait(p, joined);
}

static int begin(struct pass *p, uint32_t id, const uint64_t *w)
{
    uint32_t region = (uint32_t)w[0], nesting = (uint32_t)(w[0] >> 32);
    int code = end_wait(p, w[1]);
    if (!code) code = close_stale(p, nesting, 1);
    uint64_t t = vt_time_at(p, p->ticks);
    uint32_t comm = mapped(p, p->maps->teams, p->maps->nteams, id);
    if (!code) code = push(p, (struct team){.id = id, .comm = comm, .nesting = nesting});
    if (!code && comm != VT_UNMAPPED) code = WRITE(p, ThreadTeamBegin, t, comm);
    return code || !region ? code : vt_enter_region(p, t, region);
}

static int join(struct pass *p, uint32_t nesting)
{
    int code = close_stale(p, nesting, 1);
    if (!code && top(p) && top(p)->is_fork && top(p)->nesting == nesting) code = close_top(p, vt_time_at(p, p->ticks));
    return code;
}

/* ---- Tasks: identified by team, rank of the creator in it, and a number; the implicit task has the number 0 ---- */

static int switch_to(struct pass *p, uint64_t t, uint64_t team, uint64_t task)
{
    uint64_t at = place_of(p, team, task ? task >> 32 : p->location);
    if (at == UINT64_MAX || p->maps->teams[team] == VT_UNMAPPED) return VT_OK;
    uint32_t rank = (uint32_t)(at - p->maps->team_first[team]);
    return WRITE(p, ThreadTaskSwitch, t, p->maps->teams[team], rank, (uint32_t)task);
}

static int task(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    uint64_t team = (uint32_t)w[1], at = place_of(p, team, w[0] >> 32);
    int known = at != UINT64_MAX && p->maps->teams[team] != VT_UNMAPPED, code = VT_OK;
    uint32_t comm = known ? p->maps->teams[team] : VT_UNMAPPED, number = (uint32_t)w[0];
    uint32_t rank = known ? (uint32_t)(at - p->maps->team_first[team]) : 0;
    if (VT_KIND(what) == VT_K_THREAD_TASK_CREATE)
        return known ? WRITE(p, ThreadTaskCreate, t, comm, rank, number) : VT_OK;
    if (VT_KIND(what) == VT_K_THREAD_TASK_BEGIN) {
        if (known) code = WRITE(p, ThreadTaskSwitch, t, comm, rank, number);
        return code ? code : vt_enter_region(p, t, VT_ID(what));
    }
    code = vt_leave_region(p, t, VT_ID(what)); /* THREAD_TASK_END */
    if (!code && known && !(w[1] >> 32)) code = WRITE(p, ThreadTaskComplete, t, comm, rank, number);
    return code || !known ? code : switch_to(p, t, team, w[2]);
}

int vt_team(struct pass *p, uint32_t what, const uint64_t *w)
{
    uint32_t nesting = (uint32_t)w[0];
    uint64_t t;
    struct team *last;
    int code = VT_OK;
    vt_attributes_end(p); /* these records become several events, which have no attributes */
    switch ((enum team_kind)VT_KIND(what)) {
    case VT_K_THREAD_FORK:
        nesting = (uint32_t)(w[0] >> 32);
        code = close_stale(p, nesting, 0);
        t = vt_time_at(p, p->ticks);
        if (!code) code = push(p, (struct team){.comm = VT_UNMAPPED, .nesting = nesting, .is_fork = 1});
        if (!code) code = vt_enter_region(p, t, VT_ID(what));
        return code ? code : WRITE(p, ThreadFork, t, VT_OTF2_PARADIGM_OPENMP, (uint32_t)w[0]);
    case VT_K_THREAD_JOIN: return join(p, nesting);
    case VT_K_THREAD_TEAM_BEGIN: return begin(p, VT_ID(what), w);
    case VT_K_THREAD_TEAM_END:
        if (!(last = top(p)) || last->is_fork || last->nesting != nesting) return VT_OK;
        t = vt_time_at(p, p->ticks);
        last->waits = 1;
        return vt_enter_region(p, t, VT_ID(what));
    case VT_K_THREAD_TEAM_JOINED: return end_wait(p, w[0]);
    case VT_K_THREAD_TASK_CREATE:
    case VT_K_THREAD_TASK_BEGIN:
    case VT_K_THREAD_TASK_END: return task(p, vt_time_at(p, p->ticks), what, w);
    }
    __builtin_unreachable();
}

/* ---- Threads that are created one by one, and locks ---- */

#define OF_thread(name, number) ~, OF_##name = number,
enum thread_kind { VT_KINDS(VT_HANDLED) };

int vt_thread_lock(struct pass *p, uint64_t t, uint32_t what, uint64_t w)
{
    uint32_t paradigm = VT_ID(what), id = (uint32_t)w, order = (uint32_t)(w >> 32);
    if (paradigm > VT_OTF2_PARADIGM_NONE)
        return vt_fail(p->error, VT_BAD_DATA, "unknown paradigm of a lock %u", paradigm);
    if (VT_KIND(what) == VT_K_ACQUIRE_LOCK) return WRITE(p, ThreadAcquireLock, t, (uint8_t)paradigm, id, order);
    return WRITE(p, ThreadReleaseLock, t, (uint8_t)paradigm, id, order);
}

int vt_thread(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    const uint32_t comm = p->maps->thread_comm;
    if (comm == VT_UNMAPPED) {
        p->result->unmapped++;
        return VT_OK;
    }
    switch ((enum thread_kind)VT_KIND(what)) {
    case VT_K_THREAD_CREATE: return WRITE(p, ThreadCreate, t, comm, w[0]);
    case VT_K_THREAD_BEGIN: return WRITE(p, ThreadBegin, t, comm, w[0]);
    case VT_K_THREAD_END: return WRITE(p, ThreadEnd, t, comm, w[0]);
    case VT_K_THREAD_WAIT: return WRITE(p, ThreadWait, t, comm, w[0]);
    }
    __builtin_unreachable();
}
