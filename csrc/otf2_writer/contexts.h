/* SPDX-License-Identifier: BSD-3-Clause */
/* Calling contexts of one location. A context is a step and its parent context. A step is a region, or a region and a
   line in its source. */
#ifndef VT_CONTEXTS_H
#define VT_CONTEXTS_H

#include "transcode.h"

#define VT_MEMO 4096u /* a power of two */

/* Context 0 is the root, which OTF2 does not have. A context has a greater number than its parent. */
struct vt_tree {
    uint32_t *parents, *steps, *depths;
    uint32_t *latest; /* the most recently found child of each context, 0: none */
    uint32_t *children; /* open addressing: contexts by parent and step, 0 is free */
    uint32_t count, capacity;
    uint64_t mask;
};

/* Returns 0 if there is no memory. */
int vt_tree_begin(struct vt_tree *t);
void vt_tree_free(struct vt_tree *t);
/* Returns the context of a step inside another context; VT_UNMAPPED: no memory. */
uint32_t vt_tree_child(struct vt_tree *t, uint32_t parent, uint32_t step);

/* The samples of a location, and the place of its newest sample. */
struct vt_samples {
    const struct vt_sampled *from;
    struct vt_tree tree;
    struct vt_decoder *decoder;
    uint32_t row, at, words; /* the next row, the next word and the end of the words of the current row */
    uint64_t next; /* ticks of the next sample, UINT64_MAX: there is none */
    uint64_t weight; /* weight of the newest sample; generator: for this weight */
    uint32_t generator, depth;
    struct vt_level {
        uint32_t context, frame; /* context of this frame and the outer frames; frame: index, nframes: unknown */
    } levels[VT_SAMPLE_FRAMES]; /* frames of the newest sample, outermost first */
    struct vt_memo { /* cache: the context of a frame inside a context */
        uint64_t frame;
        uint32_t parent;
        struct vt_level level;
    } memo[VT_MEMO];
};

struct pass;

struct vt_samples *vt_samples_new(const struct vt_sampled *from);
void vt_samples_free(struct vt_samples *s);
/* Reads the first sample. rows: number of rows of events, for errors. */
int vt_samples_first(struct pass *p);
/* Writes the samples before ticks. */
int vt_samples_until(struct pass *p, uint64_t ticks);

/* Write the enter and the leave of a call. *place: the region of the call; then its context. */
int vt_context_enter(struct pass *p, uint64_t t, uint32_t around, uint32_t *place);
int vt_context_leave(struct pass *p, uint64_t t, uint32_t context, OTF2_AttributeList *attributes);

#define VT_GROUP_RECORD 8u /* words of METRIC_GROUP */

static inline int vt_is_group(uint32_t what)
{
    return !(what & VT_FUNCTION) && VT_KIND(what) == VT_K_METRIC_GROUP && VT_WORDS(what) == VT_GROUP_RECORD - 1;
}

/* 1: the entry has the values of counters at the next sample. */
static inline int vt_sample_is_values(const uint64_t *entry) { return (entry[2] >> 32 & 0xff) == VT_SAMPLE_VALUES; }

/* Returns the number of words of the sample or values at words[at] of n, after a sample with `depth` frames; 0, with a
   text: damage. */
static inline uint32_t vt_sample_words(const uint64_t *words, uint32_t at, uint32_t n, uint32_t depth,
                                       struct vt_error *error)
{
    uint64_t head = n - at >= VT_SAMPLE_WORDS ? words[at + 2] : 0;
    uint32_t size = (uint32_t)(head & 0xffff), shared = (uint32_t)(head >> 16 & 0xffff);
    int good = size + shared && size + shared <= VT_SAMPLE_FRAMES && shared <= depth &&
               (head >> 32 & 0xff) < VT_SAMPLE_END_MOST && VT_SAMPLE_WORDS + size <= n - at &&
               words[at] <= VT_TICKS_MAX;
    if (n - at >= VT_SAMPLE_WORDS && vt_sample_is_values(words + at)) {
        good = size && size % VT_GROUP_RECORD == 0 && VT_SAMPLE_WORDS + size <= n - at && words[at] <= VT_TICKS_MAX;
        for (uint32_t i = VT_SAMPLE_WORDS; good && i < VT_SAMPLE_WORDS + size; i += VT_GROUP_RECORD)
            good = vt_is_group((uint32_t)words[at + i]);
    }
    if (good) return VT_SAMPLE_WORDS + size;
    error->offset = at * 8;
    vt_fail(error, VT_BAD_DATA, "a damaged sample");
    return 0;
}

#endif
