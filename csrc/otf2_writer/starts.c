/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts: rows of a location from which a later pass may begin without the rows before. */
#include <stdlib.h>
#include <string.h>
#include "pass.h"

#define DEEPEST 4096u /* open regions of a start: more would take longer to store than to read the rows before */

/* Teams, samples, attributes, time switched off and rows that a flight recorder has overwritten leave a state that a
   start does not hold: then the rows before are read, too. */
static int is_simple(const struct pass *p)
{
    return p->started && p->depth <= DEEPEST && !p->nteams && !p->samples && !p->attributes && !p->freed.depth &&
           !p->off && !p->nearly && !p->late_wait && !p->result->dropped;
}

int vt_note_start(struct pass *p, const struct vt_row *rows, uint32_t i)
{
    struct vt_starts *s = p->starts;
    const uint32_t before = s->nstarts ? s->starts[s->nstarts - 1].row : 0;
    if (i - before < s->step || !is_simple(p)) return 1;
    if (!VT_ROOM(s->starts, s->nstarts + 1, &s->starts_room)) return 0;
    if (!VT_ROOM(s->opens, s->nopens + p->depth, &s->opens_room)) return 0;
    uint64_t events = 0;
    for (unsigned kind = 0; kind < VT_EVENT_KINDS; kind++) events += p->result->counts[kind];
    s->starts[s->nstarts++] = (struct vt_start){
        .last = p->last,
        .events = events,
        .messages = p->messages,
        .credit = p->credit,
        .first = s->nopens,
        .row = i,
        .sequence = rows[i - 1].sequence + 1,
        .depth = p->depth,
        .operations = p->operations,
    };
    if (p->depth) memcpy(s->opens + s->nopens, p->frames, p->depth * sizeof *p->frames);
    s->nopens += p->depth;
    return 1;
}

int vt_begin_at(struct pass *p, const struct vt_start *from, const struct vt_open_region *opens)
{
    p->from = from;
    p->frames = malloc((from->depth + 1) * sizeof *p->frames);
    if (!p->frames) return VT_NO_MEMORY;
    if (from->depth) memcpy(p->frames, opens, from->depth * sizeof *p->frames);
    p->depth = from->depth;
    p->capacity = from->depth + 1;
    p->last = from->last;
    p->messages = from->messages;
    p->credit = from->credit;
    p->operations = from->operations;
    p->started = 1;
    return VT_OK;
}

VT_EXPORT int vt_kernel_count(const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                              const struct vt_sampled *sampled, struct vt_starts *starts, struct vt_transcoded *result,
                              struct vt_error *error)
{
    struct pass p = {.is_read = 1, .maps = maps, .result = result, .error = error, .starts = starts};
    return vt_pass_run(&p, rows, count, sampled, NULL);
}

VT_EXPORT void vt_kernel_starts_free(struct vt_starts *starts)
{
    free(starts->starts);
    free(starts->opens);
    *starts = (struct vt_starts){0};
}

VT_EXPORT int vt_kernel_events_from(const struct vt_start *from, const struct vt_open_region *opens,
                                    const struct vt_row *rows, uint32_t count, const struct vt_maps *maps,
                                    struct vt_batch *batch, vt_batch_full *full, struct vt_transcoded *result,
                                    struct vt_error *error)
{
    const struct vt_listener listener = {batch, full};
    struct pass p = {.is_read = 1, .listener = &listener, .maps = maps, .result = result, .error = error};
    const int code = vt_begin_at(&p, from, opens);
    return code ? code : vt_pass_run(&p, rows, count, NULL, NULL);
}
