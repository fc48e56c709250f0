/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of OpenMP's teams and tasks around the calls that thin.c counts: records of teams open them, as in
   profile_fold.c, and they are no calls of the stack. Each has the number of calls that are open around it. */
#include "location.h"

static struct vt_thin_level *top(struct vt_thin_levels *s) { return s->n ? &s->of[s->n - 1] : NULL; }

static void push(struct vt_thin_levels *s, enum vt_thin_kind kind, uint32_t region, uint32_t nesting, uint32_t depth)
{
    if (s->n == VT_THIN_LEVELS) {
        s->beyond += kind == VT_THIN_TASK;
        return;
    }
    s->of[s->n++] = (struct vt_thin_level){
        .kind = kind, .nesting = nesting, .depth = depth, .what = region ? VT_WHAT(VT_K_ENTER, 0, region) : 0};
}

/* Ends the teams of this nesting and of deeper ones, and the tasks in them. */
static void close_stale(struct vt_thin_levels *s, uint32_t nesting, int fork_stays)
{
    uint32_t n = s->n;
    for (uint32_t i = s->n; i > 0; i--) {
        const struct vt_thin_level *e = &s->of[i - 1];
        if (e->kind == VT_THIN_TASK || e->nesting < nesting) continue;
        if (e->nesting == nesting && e->kind == VT_THIN_FORK && fork_stays) break;
        n = i - 1;
    }
    if (n < s->n) s->beyond = 0;
    s->n = n;
}

/* The wait of a worker for its next team. */
static void end_wait(struct vt_thin_levels *s)
{
    if (top(s) && top(s)->kind == VT_THIN_WAIT) s->n--;
}

void vt_thin_team(struct vt_thin_levels *s, uint32_t what, const uint64_t *w, uint32_t depth)
{
    const uint32_t low = (uint32_t)w[0], high = (uint32_t)(w[0] >> 32), id = VT_ID(what);
    switch (VT_KIND(what)) {
    case VT_K_THREAD_FORK:
        close_stale(s, high, 0);
        push(s, VT_THIN_FORK, id, high, depth);
        break;
    case VT_K_THREAD_JOIN: close_stale(s, low, 0); break;
    case VT_K_THREAD_TEAM_BEGIN:
        end_wait(s);
        close_stale(s, high, 1);
        push(s, VT_THIN_TEAM, low, high, depth);
        break;
    case VT_K_THREAD_TEAM_END:
        if (top(s) && top(s)->kind == VT_THIN_TEAM && top(s)->nesting == low) push(s, VT_THIN_WAIT, id, low, depth);
        break;
    case VT_K_THREAD_TEAM_JOINED: end_wait(s); break;
    case VT_K_THREAD_TASK_BEGIN: push(s, VT_THIN_TASK, id, 0, depth); break;
    case VT_K_THREAD_TASK_END:
        if (s->beyond) s->beyond--;
        else if (top(s) && top(s)->kind == VT_THIN_TASK) s->n--;
        break;
    default: break;
    }
}
