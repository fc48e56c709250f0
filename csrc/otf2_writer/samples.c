/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of a location, between its events by time. A sample becomes a calling context: the functions of its stack, up
   to the shim of the recorded call that it was taken in, and this call. */
#include <stdlib.h>
#include "contexts.h"
#include "pass.h"

struct vt_samples *vt_samples_new(const struct vt_sampled *from)
{
    struct vt_samples *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->from = from;
    s->next = UINT64_MAX;
    s->decoder = vt_decoder_new();
    for (unsigned i = 0; i < VT_MEMO; i++) s->memo[i].parent = VT_UNMAPPED;
    if (s->decoder && vt_tree_begin(&s->tree)) return s;
    vt_samples_free(s);
    return NULL;
}

void vt_samples_free(struct vt_samples *s)
{
    if (!s) return;
    vt_tree_free(&s->tree);
    vt_decoder_free(s->decoder);
    free(s);
}

/* Finds the next sample, in the current row or a later one. */
static int find_next(struct pass *p)
{
    struct vt_samples *s = p->samples;
    while (s->at == s->words) {
        if (s->row) vt_release(s->decoder, &s->from->rows[s->row - 1]);
        s->next = UINT64_MAX;
        if (s->row == s->from->nrows) return VT_OK;
        p->error->row = p->nrows + s->row;
        int code = vt_decode(s->decoder, &s->from->rows[s->row], p->error);
        if (code) return code;
        s->words = s->from->rows[s->row++].raw_bytes / 8;
        s->at = s->depth = 0;
    }
    s->next = s->decoder->words[s->at];
    return VT_OK;
}

int vt_samples_first(struct pass *p) { return find_next(p); }

static uint32_t index_of(const uint64_t *list, uint64_t count, uint64_t value)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list[middle] < value) low = middle + 1;
        else high = middle;
    }
    return (uint32_t)(low < count && list[low] == value ? low : count);
}

/* Returns the context of a frame in a context. */
static struct vt_level descend(struct pass *p, uint32_t parent, uint64_t value)
{
    struct vt_samples *s = p->samples;
    const struct vt_sampled *from = s->from;
    struct vt_level level = {parent, index_of(from->frames, from->nframes, value)};
    if (level.frame == from->nframes) {
        level.context = vt_tree_child(&s->tree, parent, p->maps->unknown_region);
        return level;
    }
    if (from->frame_kinds[level.frame] == VT_FRAME_HIDDEN) return level;
    if (from->frame_kinds[level.frame] == VT_FRAME_STARTS && !parent) return level;
    for (uint32_t i = from->frame_first[level.frame]; i < from->frame_first[level.frame + 1]; i++) {
        level.context = vt_tree_child(&s->tree, level.context, from->frame_steps[i]);
        if (level.context == VT_UNMAPPED) break;
    }
    return level;
}

/* Finds the contexts of the frames in which the sample differs from the previous sample. */
static int follow(struct pass *p, const uint64_t *frames, uint32_t n, uint32_t shared)
{
    struct vt_samples *s = p->samples;
    uint32_t around = shared ? s->levels[shared - 1].context : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t value = frames[n - 1 - i], key = (value ^ (uint64_t)around << 20) * 0x9e3779b97f4a7c15u;
        struct vt_memo *memo = &s->memo[key >> 40 & (VT_MEMO - 1)];
        if (memo->frame != value || memo->parent != around) {
            *memo = (struct vt_memo){value, around, descend(p, around, value)};
            if (memo->level.context == VT_UNMAPPED) return VT_NO_MEMORY;
        }
        s->levels[shared + i] = memo->level;
        around = memo->level.context;
    }
    s->depth = shared + n;
    return VT_OK;
}

/* Returns the context of the recorded call `name` in which the newest sample was taken. Its frame is the innermost
   frame with this name; else the innermost frame of vtrace, whose shim has another name. */
static uint32_t in_call(struct pass *p, uint32_t name, uint32_t context)
{
    struct vt_samples *s = p->samples;
    uint32_t at = s->depth, own = s->depth, step = s->tree.steps[p->frames[p->depth - 1].place];
    while (at-- > 0) {
        uint32_t frame = s->levels[at].frame;
        if (frame == s->from->nframes) continue;
        if (s->from->frame_names[frame] == name) break;
        if (own == s->depth && s->from->frame_kinds[frame] == VT_FRAME_HIDDEN) own = at;
    }
    if (at == UINT32_MAX) at = own;
    if (at == s->depth) return context;
    return vt_tree_child(&s->tree, at ? s->levels[at - 1].context : 0, step);
}

static uint32_t context_of(struct pass *p)
{
    struct vt_samples *s = p->samples;
    const struct vt_level *last = &s->levels[s->depth - 1];
    uint32_t context = last->context;
    uint64_t key = p->depth ? p->frames[p->depth - 1].key : 0, id = key & ~ENTER_KEY;
    if (key & ENTER_KEY && id < s->from->nregion_names && s->from->region_names[id])
        context = in_call(p, s->from->region_names[id], context);
    if (context) return context;
    int known = last->frame < s->from->nframes; /* only code that starts the program, or vtrace's */
    return vt_tree_child(&s->tree, 0,
                         known ? s->from->frame_steps[s->from->frame_first[last->frame]] : p->maps->unknown_region);
}

/* Returns OTF2's number of a context. */
static uint32_t global(struct pass *p, uint32_t context)
{
    const struct vt_sampled *from = p->samples->from;
    return context < from->ncontexts ? from->contexts[context] : VT_UNMAPPED;
}

static int changed(struct pass *p)
{
    return vt_fail(p->error, VT_BAD_DATA, "records or samples that were not there before");
}

/* w: METRIC_GROUP records of `size` words. */
static int put_values(struct pass *p, const uint64_t *w, uint32_t size)
{
    int code = VT_OK;
    for (uint32_t i = 0; !code && i < size; i += VT_GROUP_RECORD)
        code = vt_metric_group(p, p->last, (uint32_t)w[i], w + i + 1);
    return code;
}

static int put(struct pass *p)
{
    struct vt_samples *s = p->samples;
    const uint64_t *w = s->decoder->words + s->at;
    uint32_t size = vt_sample_words(s->decoder->words, s->at, s->words, s->depth, p->error);
    if (!size) return VT_BAD_DATA;
    int early = 0, code = VT_OK;
    if (vt_sample_is_values(w)) {
        uint64_t t = vt_times_ns(&p->times, w[0], &early);
        if (t > p->last) p->last = t;
        s->at += size;
        return put_values(p, w + VT_SAMPLE_WORDS, size - VT_SAMPLE_WORDS);
    }
    code = follow(p, w + VT_SAMPLE_WORDS, size - VT_SAMPLE_WORDS, (uint32_t)(w[2] >> 16 & 0xffff));
    if (code) return code;
    uint32_t context = context_of(p);
    if (context == VT_UNMAPPED) return VT_NO_MEMORY;
    uint64_t t = vt_times_ns(&p->times, w[0], &early);
    if (t > p->last) p->last = t;
    s->at += size;
    if (p->unwritten) return VT_OK;
    if (w[1] != s->weight || !s->generator) {
        s->weight = w[1];
        s->generator = index_of(s->from->weights, s->from->nweights, w[1]);
        if (s->generator == s->from->nweights) return changed(p);
        s->generator = s->from->generators[s->generator] + 1;
    }
    uint32_t number = global(p, context);
    if (number == VT_UNMAPPED) return changed(p);
    return WRITE_WITH(p, NULL, CallingContextSample, p->last, number, s->tree.depths[context] + 1, s->generator - 1);
}

int vt_samples_until(struct pass *p, uint64_t ticks)
{
    int code = VT_OK;
    if (!p->samples) return VT_OK;
    while (!code && p->samples->next < ticks) {
        p->error->row = p->nrows + p->samples->row - 1;
        code = put(p);
        if (code) p->error->offset = p->samples->at * 8;
        else code = find_next(p);
    }
    if (!code) p->error->row = p->row;
    p->next_sample = p->samples->next;
    return code;
}

/* ---- Calls ---- */

int vt_context_enter(struct pass *p, uint64_t t, uint32_t around, uint32_t *place)
{
    uint32_t context = *place = vt_tree_child(&p->samples->tree, around, *place);
    if (context == VT_UNMAPPED) return VT_NO_MEMORY;
    if (p->unwritten) return VT_OK;
    uint32_t number = global(p, context);
    if (number == VT_UNMAPPED) return changed(p);
    return WRITE(p, CallingContextEnter, t, number, 2); /* one call is new, its caller has made progress */
}

int vt_context_leave(struct pass *p, uint64_t t, uint32_t context, OTF2_AttributeList *attributes)
{
    return WRITE_WITH(p, attributes, CallingContextLeave, t, global(p, context));
}
