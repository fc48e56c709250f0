/* SPDX-License-Identifier: BSD-3-Clause */
/* Models the run with some faster call paths: each location has its recorded times minus the saved time, and the waits
   of each call are computed again. The rest of a call, the transfer, stays as recorded. */
#include "replayed.h"
#include <stdlib.h>

#define CHUNK 256u

/* Returns the saved ns in the times of a location before number `until`, or -1 if reading the times fails. */
static int64_t save(struct vt_replayed *r, struct vt_reader *c, uint64_t until)
{
    const struct vt_matcher *o = r->out;
    struct vt_modelled *m = &c->modelled;
    int64_t found = 0;
    if (!m->times && !(m->times = malloc(CHUNK * sizeof *m->times))) return -1;
    for (; m->next < until; m->next++) {
        if (m->next >= m->from + m->n) {
            const uint64_t left = c->place->ntimes - m->next;
            m->from = m->next;
            m->n = left < CHUNK ? (uint32_t)left : CHUNK;
            const uint64_t offset = c->place->times_offset + m->from * sizeof *m->times;
            if (!m->n || !vt_read_all((int)c->place->file, m->times, m->n * sizeof *m->times, offset)) return -1;
        }
        const struct vt_path_time *t = &m->times[m->next - m->from];
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
