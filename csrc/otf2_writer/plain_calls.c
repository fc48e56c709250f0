/* SPDX-License-Identifier: BSD-3-Clause */
/* The fast path of a pass without a writer: most records of most programs are enters and leaves of functions that need
   nothing but their time, their region and a place in the stack. Each other record takes the common path. */
#include "pass.h"

/* The part of a batch that the loop fills. */
struct rows {
    int64_t *time;
    uint32_t *ref;
    uint8_t *kind;
    uint64_t room;
    uint64_t offset, low, high; /* times that the batch takes lie in low to high */
};

/* Returns 0 if the batch does not take calls in the common way. */
static int rows_of(const struct pass *p, struct rows *found)
{
    if (!p->listener) {
        *found = (struct rows){.room = UINT64_MAX, .high = UINT64_MAX};
        return 1;
    }
    const struct vt_batch *b = p->listener->batch;
    const int64_t low = b->from > b->last ? b->from : b->last, high = b->to < VT_READ_LATEST ? b->to : VT_READ_LATEST;
    if (b->skip || high < 0 || b->resolution != VT_READ_NS || !b->wanted[VT_READ_Enter] || !b->wanted[VT_READ_Leave])
        return 0;
    *found = (struct rows){
        .time = b->time + b->count,
        .ref = b->ref + b->count,
        .kind = b->kind + b->count,
        .room = b->capacity - b->count,
        .offset = b->clock_offset,
        .low = b->clock_offset + (uint64_t)(low > 0 ? low : 0),
        .high = b->clock_offset + (uint64_t)high,
    };
    return 1;
}

uint32_t vt_plain_calls(struct pass *p, const uint64_t *words, uint32_t at, uint32_t n)
{
    struct rows rows;
    if (!p->is_read || p->unwritten || p->samples || p->attributes || !p->started || p->times.nshifts ||
        !rows_of(p, &rows))
        return at;
    struct vt_times times = p->times;
    struct vt_open_region *frames = p->frames;
    uint64_t ticks = p->ticks, last = p->last > rows.low ? p->last : rows.low, count = 0, enters = 0;
    uint32_t depth = p->depth;
    for (; at < n && count < rows.room; at++) {
        const uint32_t what = (uint32_t)words[at];
        const uint64_t key = what & ~VT_FUNCTION_LEAVE, now = ticks + (words[at] >> 32);
        if (!(what & VT_FUNCTION) || now - times.begin >= times.reach) break;
        if (rows.time || !count) { /* later ticks of a segment have no earlier times: a count needs only both ends */
            int early = 0;
            const uint64_t t = vt_times_ns(&times, now, &early);
            if (t < last || t > rows.high) break;
            last = t;
        }
        uint32_t region;
        if (what & VT_FUNCTION_LEAVE) {
            if (!depth || frames[depth - 1].key != key) break;
            region = frames[--depth].place;
        } else {
            if (depth == p->capacity || (region = vt_function_region(p, key & VT_CODE_MASK)) == VT_UNMAPPED) break;
            frames[depth++] = (struct vt_open_region){key, region, 0, 0, 0};
            enters++;
        }
        ticks = now;
        if (rows.time) {
            rows.time[count] = (int64_t)(last - rows.offset);
            rows.ref[count] = region;
            rows.kind[count] = what & VT_FUNCTION_LEAVE ? VT_READ_Leave : VT_READ_Enter;
        }
        count++;
    }
    if (!count) return at;
    int early = 0;
    p->ticks = ticks;
    p->last = rows.time ? last : vt_times_ns(&times, ticks, &early);
    p->depth = depth;
    p->result->counts[VT_N_EvtWriter_Enter] += enters;
    p->result->counts[VT_N_EvtWriter_Leave] += count - enters;
    if (rows.time) {
        p->listener->batch->count += count;
        p->listener->batch->last = rows.time[count - 1];
    }
    return at;
}
