/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins columns (struct vt_columns) to records. The file may be damaged: every count is checked against the others. */
#include "transcode.h"

/* Transposes 8 x 8 bytes: byte j of row b goes to byte b of row j. */
static inline void transpose(uint64_t r[8])
{
    for (int i = 0; i < 4; i++) {
        uint64_t t = (r[i] >> 32 ^ r[i + 4]) & 0xffffffffu;
        r[i] ^= t << 32;
        r[i + 4] ^= t;
    }
    for (int k = 0; k < 4; k++) {
        int i = k < 2 ? k : k + 2; /* 0 1 4 5 */
        uint64_t t = (r[i] >> 16 ^ r[i + 2]) & 0x0000ffff0000ffffu;
        r[i] ^= t << 16;
        r[i + 2] ^= t;
    }
    for (int i = 0; i < 8; i += 2) {
        uint64_t t = (r[i] >> 8 ^ r[i + 1]) & 0x00ff00ff00ff00ffu;
        r[i] ^= t << 8;
        r[i + 1] ^= t;
    }
}

static inline __attribute__((always_inline)) void few(uint64_t *words, const uint8_t *p, uint32_t n, int count)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = p[i];
        if (count > 1) v |= (uint32_t)p[n + i] << 8;
        if (count > 2) v |= (uint32_t)p[2 * n + i] << 16;
        words[i] = v;
    }
}

static void many(uint64_t *words, const uint8_t *planes, uint32_t n, uint32_t count)
{
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t r[8] = {0};
        for (uint32_t b = 0; b < 8; b++)
            if (b < count) memcpy(&r[b], planes + b * n + i, 8);
        transpose(r);
        memcpy(words + i, r, sizeof r);
    }
    for (; i < n; i++) {
        words[i] = 0;
        for (uint32_t b = 0; b < count; b++) words[i] |= (uint64_t)planes[b * n + i] << 8 * b;
    }
}

/* Reads n words of count bytes from count planes. Returns the first byte after the planes. */
static const uint8_t *join(uint64_t *words, const uint8_t *planes, uint32_t n, uint32_t count)
{
    switch (count) {
    case 0: memset(words, 0, n * sizeof *words); break;
    case 1: few(words, planes, n, 1); break;
    case 2: few(words, planes, n, 2); break;
    case 3: few(words, planes, n, 3); break;
    default: many(words, planes, n, count);
    }
    return planes + n * count;
}

/* Finds the offset of the payload of each what; returns 0 if the size of the payload does not agree with the whats. */
static int place(struct vt_decoder *d, const struct vt_columns *head, uint32_t npayload)
{
    uint32_t records = 0, next = 0;
    for (uint32_t i = 0; i < head->whats; i++) {
        uint32_t what = (uint32_t)d->times[i], count = (uint32_t)(d->times[i] >> 32), size = VT_WORDS(what);
        d->whats[i] = (struct vt_column){what, size, next, count};
        if (count * size > npayload - next) return 0;
        records += count;
        next += count * size;
    }
    return records == head->records && next == npayload;
}

/* Moves ticks to the upper halves of words. */
static void to_ticks(uint64_t *times, uint32_t n, uint64_t step)
{
    if (step)
        for (uint32_t i = 0; i < n; i++)
            times[i] = (((times[i] >> 8) * step >> 16) + (times[i] & 0xff) - VT_STEP_ZERO) << 32;
    else
        for (uint32_t i = 0; i < n; i++) times[i] <<= 32;
}

static void sum(uint64_t *words, uint32_t n)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < n; i++) words[i] = last += words[i] >> 1 ^ -(words[i] & 1);
}

/* high: the upper bytes of the index, or NULL. */
static inline __attribute__((always_inline)) int records(struct vt_decoder *d, const struct vt_columns *head,
                                                         const uint8_t *low, const uint8_t *high, uint32_t n)
{
    uint32_t at = 0, whats = head->whats;
    for (uint32_t r = 0; r < head->records; r++) {
        uint32_t i = low[r] | (high ? (uint32_t)high[r] << 8 : 0);
        if (i >= whats || at >= n) return 0;
        struct vt_column *c = &d->whats[i];
        d->words[at++] = d->times[r] | c->what;
        if (!c->size) continue;
        if (c->size > n - at) return 0;
        /* next stays below n: no what occurs more often than there are records. */
        const uint64_t *from = d->payload + c->next++;
        for (uint32_t k = 0; k < c->size; k++) d->words[at++] = from[k * c->count];
    }
    return at == n;
}

/* For blocks without payload: all records are one word. */
static int words_only(struct vt_decoder *d, const struct vt_columns *head, const uint8_t *index)
{
    int good = 1;
    for (uint32_t r = 0; r < head->records; r++) {
        d->words[r] = d->times[r] | d->whats[index[r]].what;
        good &= index[r] < head->whats;
    }
    return good;
}

int vt_columns_join(struct vt_decoder *d, size_t bytes, uint32_t n)
{
    struct vt_columns head;
    const uint8_t *at = d->columns + sizeof head, *low, *high = NULL;
    if (bytes < sizeof head || bytes > sizeof d->columns) return 0;
    memcpy(&head, d->columns, sizeof head);
    uint32_t npayload = n - head.records, wide = 1 + (head.whats > 256);
    if (head.records > n || head.whats > head.records || head.time_bytes > 8 || head.payload_bytes > 8) return 0;
    if (bytes != sizeof head + head.whats * VT_WHAT_BYTES + head.records * (wide + head.time_bytes) +
                     npayload * head.payload_bytes)
        return 0;
    at = join(d->times, at, head.whats, VT_WHAT_BYTES);
    if (!place(d, &head, npayload)) return 0;
    low = at;
    if (wide > 1) high = low + head.records;
    at = join(d->times, at + head.records * wide, head.records, head.time_bytes);
    join(d->payload, at, npayload, head.payload_bytes);
    to_ticks(d->times, head.records, head.step);
    sum(d->payload, npayload);
    if (!npayload && !high) return words_only(d, &head, low);
    return high ? records(d, &head, low, high, n) : records(d, &head, low, NULL, n);
}
