/* SPDX-License-Identifier: BSD-3-Clause */
/* Models the run with some faster call paths: each location has its recorded times minus the saved time, and the waits
   of each call are computed again. The rest of a call, the transfer, stays as recorded. */
#include "replayed.h"
#include <stdlib.h>

#define CHUNK 256u

/* Reads times of a location from number `first` on, at most CHUNK. Returns their number, 0 if reading fails. */
static uint32_t read_times(const struct vt_location_ends *place, uint64_t first, struct vt_path_time *to)
{
    unsigned char room[CHUNK * sizeof *to + VT_PACKED_SLACK];
    const uint64_t left = place->ntimes - first;
    const uint32_t n = left < CHUNK ? (uint32_t)left : CHUNK;
    struct vt_packed_times t = vt_packed_times((const unsigned char *)(uintptr_t)place->times, place->times_widths);
    const uint64_t at = first * t.row;
    t.rows = place->times ? t.rows + at : room;
    if (!place->times && !vt_read_all((int)place->file, room, n * t.row + VT_PACKED_SLACK, place->times_offset + at))
        return 0;
    for (uint32_t i = 0; i < n; i++) to[i] = vt_packed_time(&t, i);
    return n;
}

/* Returns a time of a location, NULL if reading fails. */
static const struct vt_path_time *time_at(struct vt_reader *c, uint64_t number)
{
    struct vt_modelled *m = &c->modelled;
    if (number >= c->place->ntimes) return NULL;
    if (!m->times && !(m->times = malloc(CHUNK * sizeof *m->times))) return NULL;
    if (number >= m->from + m->n) {
        m->from = number;
        if (!(m->n = read_times(c->place, number, m->times))) return NULL;
    }
    return &m->times[number - m->from];
}

/* Returns the saved ns in the times of a location before number `until`, or -1 if reading the times fails. */
static int64_t save(const struct vt_replayed *r, struct vt_reader *c, uint64_t until)
{
    const struct vt_matcher *o = r->out;
    struct vt_modelled *m = &c->modelled;
    int64_t found = 0;
    for (; m->next < until; m->next++) {
        const struct vt_path_time *t = time_at(c, m->next);
        if (!t) return -1;
        if (!t->is_mpi && o->faster[c->joined[t->node]]) found += (int64_t)((double)t->ns * o->saved + 0.5);
    }
    return found;
}

int vt_model_enters(struct vt_replayed *r, struct vt_reader *c, const struct vt_mpi_end *e)
{
    struct vt_modelled *m = &c->modelled;
    if (!r->out->faster) return 1;
    const int64_t saved = save(r, c, e->call);
    m->next = (uint64_t)e->call + 1;
    m->enter = m->leave + (e->enter - m->recorded) - saved;
    m->ready = INT64_MIN;
    return saved >= 0;
}

void vt_model_waits(struct vt_reader *c, int64_t model)
{
    if (model > c->modelled.ready) c->modelled.ready = model;
}

void vt_model_leaves(struct vt_reader *c, const struct vt_open_call *o)
{
    struct vt_modelled *m = &c->modelled;
    m->leave = (m->ready > m->enter ? m->ready : m->enter) + (o->leave - o->sure);
    m->recorded = o->leave;
}

int vt_model_ends(struct vt_replayed *r, struct vt_reader *c)
{
    struct vt_modelled *m = &c->modelled;
    if (!r->out->faster) return 1;
    const int64_t saved = save(r, c, c->place->ntimes);
    r->out->places[c->location].modelled = m->leave + (c->place->last - m->recorded) - saved;
    free(m->times);
    m->times = NULL;
    return saved >= 0;
}
