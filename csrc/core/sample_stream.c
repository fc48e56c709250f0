/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream of samples of a location. The handler of the sampling signal writes each sample into a chunk that the fast
   path of events never sees. The handler may interrupt that path at any instruction. */
#include <string.h>
#include "location.h"

#define PART 8 /* samples get 1/PART of the chunks that the events of the location get, in addition */
#define LEAST 2 /* chunks */

static uint32_t quota_of(const struct vt_location *l) { return l->quota / PART > LEAST ? l->quota / PART : LEAST; }

/* Counts the samples in the published words of a chunk. */
static uint32_t count(struct vt_chunk *c)
{
    const uint64_t *w = vt_chunk_words(c);
    uint32_t n = c->used / 8, samples = 0;
    for (uint32_t i = 0; i + VT_SAMPLE_WORDS <= n; i += VT_SAMPLE_WORDS + (uint32_t)(w[i + 2] & 0xffff))
        samples += (w[i + 2] >> 32 & 0xff) != VT_SAMPLE_VALUES;
    return samples;
}

void vt_samples_finish(struct vt_location *l)
{
    struct vt_sample_stream *s = &l->samples;
    struct vt_chunk *c = s->chunk;
    VT_SET(s->chunk, NULL);
    if (!c) return;
    c->used = vt_chunk_used(c);
    c->records = count(c);
    c->end_ticks = VT_READ(s->last);
    vt_chunk_append(&s->full, &s->full_last, c);
}

/* Releases the oldest full chunk, as vt_ring_drop does. Returns 0 if there is none. */
static int drop(struct vt_sample_stream *s)
{
    struct vt_chunk *c = vt_chunk_drop(&s->full, &s->full_last, &s->dropped);
    if (!c) return 0;
    VT_SET(s->overwritten, s->overwritten + c->records);
    vt_chunk_give(c);
    s->chunks--;
    return 1;
}

static int begin_chunk(struct vt_location *l)
{
    struct vt_sample_stream *s = &l->samples;
    struct vt_chunk *c = vt_chunk_take();
    if (!c) return 0;
    c->content = VT_SAMPLES;
    VT_SET(c->head, VT_CHUNK_DATA);
    c->location = l->number;
    c->sequence = s->sequence++;
    c->thread = l->thread;
    c->ticks = c->end_ticks = s->last;
    c->pair = vt_clock_recent();
    c->lost = s->lost;
    c->dropped = s->dropped;
    c->depth = c->nopen = c->records = c->classes = 0;
    __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    s->dropped = 0;
    s->chunks++;
    s->nbefore = 0;
    s->cursor = vt_chunk_words(c);
    VT_SET(s->chunk, c);
    return 1;
}

/* Begins the next chunk. A location that has used up its share writes its full chunks first; the flight recorder
   releases the oldest one. */
static int next_chunk(struct vt_location *l)
{
    struct vt_sample_stream *s = &l->samples;
    int ring = vt_process.set.mode == VT_MODE_RING;
    vt_location_create_buffer();
    if (!vt_location_lock(l)) return 0;
    vt_samples_finish(l);
    if (ring && s->chunks >= quota_of(l)) drop(s);
    int fits = !s->chunks || vt_buffer_has_room();
    int has = fits && s->chunks < quota_of(l) && begin_chunk(l);
    if (!has && ring) has = drop(s) && begin_chunk(l);
    vt_location_unlock(l);
    if (has || ring) return has;
    if (vt_file_flush_samples(l) < 0) VT_SET(s->closed, 1); /* vt_file_flush_samples has reported the reason */
    else vt_size_check(l);
    if (s->closed || !vt_location_lock(l)) return 0;
    has = begin_chunk(l);
    vt_location_unlock(l);
    return has;
}

/* Returns the number of outermost frames that two stacks share. */
static uint32_t shared_frames(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb)
{
    uint32_t n = 0, most = na < nb ? na : nb;
    while (n < most && a[na - 1 - n] == b[nb - 1 - n]) n++;
    return n;
}

/* Writes the values of counters. Returns the next position. */
static uint64_t *put_values(uint64_t *at, const struct vt_sample *sample)
{
    if (!sample->nvalues) return at;
    at[0] = sample->ticks;
    at[1] = 0;
    at[2] = VT_SAMPLE_HEAD(sample->nvalues, 0, VT_SAMPLE_VALUES, 0);
    memcpy(at + VT_SAMPLE_WORDS, sample->values, sample->nvalues * sizeof *at);
    return at + VT_SAMPLE_WORDS + sample->nvalues;
}

void vt_samples_put(struct vt_location *l, const struct vt_sample *sample)
{
    struct vt_sample_stream *s = &l->samples;
    uint32_t n = sample->nframes, shared = shared_frames(sample->frames, n, s->before, s->nbefore);
    const uint32_t overruns = sample->overruns < VT_SAMPLE_OVERRUNS_MOST ? sample->overruns : VT_SAMPLE_OVERRUNS_MOST;
    int stopped = l->stopped || s->closed || atomic_load_explicit(&vt_process.full, memory_order_relaxed);
    struct vt_chunk *c = VT_READ(s->chunk); /* another thread that ends the program may take the chunk at any moment */
    long words = VT_SAMPLE_WORDS + (long)(n - shared) + (sample->nvalues ? VT_SAMPLE_WORDS + (long)sample->nvalues : 0);
    int has = !stopped && c && vt_chunk_end(c) - s->cursor >= words;
    if (!has && (stopped || !next_chunk(l) || !(c = VT_READ(s->chunk)))) {
        VT_SET(s->lost, s->lost + 1);
        return;
    }
    if (!s->nbefore) shared = 0;
    uint64_t *at = put_values(s->cursor, sample);
    at[0] = sample->ticks;
    at[1] = sample->weight;
    at[2] = VT_SAMPLE_HEAD(n - shared, shared, sample->end, overruns);
    memcpy(at + VT_SAMPLE_WORDS, sample->frames, (n - shared) * sizeof *at);
    at += VT_SAMPLE_WORDS + n - shared;
    s->before = sample->frames;
    s->nbefore = n;
    s->cursor = at;
    VT_SET(s->last, sample->ticks);
    VT_SET(s->samples, s->samples + 1);
    VT_SET(s->weight, s->weight + sample->weight);
    VT_SET(s->overruns, s->overruns + sample->overruns);
    VT_SET(s->ends[sample->end], s->ends[sample->end] + 1);
    __atomic_store_n(&c->head, (uint16_t)(uintptr_t)at, __ATOMIC_RELEASE);
}

void vt_samples_define(struct vt_location *l)
{
    const struct vt_sample_stream *s = &l->samples;
    uint64_t ends[VT_SAMPLE_END_MOST];
    if (!VT_READ(s->samples) && !VT_READ(s->lost)) return;
    for (unsigned i = 0; i < VT_SAMPLE_END_MOST; i++) ends[i] = VT_READ(s->ends[i]);
    vt_define_at(l, VT_D_SAMPLES, vt_number(l->number), vt_number(VT_READ(s->samples)), vt_number(VT_READ(s->weight)),
                 vt_number(VT_READ(s->overruns)), vt_number(VT_READ(s->lost)), vt_number(VT_READ(s->overwritten)),
                 vt_bytes(ends, sizeof ends));
}
