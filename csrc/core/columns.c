/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as columns. Records of one kind are adjacent, and values that change little become small numbers, so zstd
   compresses the columns better. */
#include "columns.h"

/* Swaps the two blocks of a 2x2 arrangement of bit fields between two words. */
static inline void swap_fields(uint64_t *a, uint64_t *b, int shift, uint64_t mask)
{
    uint64_t t = ((*a >> shift) ^ *b) & mask;
    *b ^= t;
    *a ^= t << shift;
}

/* Copies byte k of word i to planes[k * n + i], for k < count. The loop transposes eight words at a time, as an 8x8
   matrix of bytes. */
static uint8_t *transpose(uint8_t *planes, const uint64_t *words, size_t n, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t r[8];
        memcpy(r, words + i, sizeof r);
        for (int k = 0; k < 4; k++) swap_fields(&r[k], &r[k + 4], 32, 0x00000000ffffffffu);
        for (int k = 0; k < 8; k += 4)
            for (int j = k; j < k + 2; j++) swap_fields(&r[j], &r[j + 2], 16, 0x0000ffff0000ffffu);
        for (int k = 0; k < 8; k += 2) swap_fields(&r[k], &r[k + 1], 8, 0x00ff00ff00ff00ffu);
        for (size_t k = 0; k < count; k++) memcpy(planes + k * n + i, &r[k], 8);
    }
    for (; i < n; i++)
        for (size_t k = 0; k < count; k++) planes[k * n + i] = (uint8_t)(words[i] >> 8 * k);
    return planes + n * count;
}

/* Number of bytes that a value needs. */
static uint8_t bytes_of(uint64_t bits) { return bits ? (uint8_t)((71 - __builtin_clzll(bits)) / 8) : 0; }

/* The index of `what` in p->whats; a new value is appended. */
static inline uint32_t number_of(struct vt_packer *p, uint32_t what, uint32_t *count)
{
    uint32_t at = what * 0x9e3779b1u >> 18;
    for (; p->slots[at]; at = (at + 1) & (VT_COLUMNS_SLOTS - 1))
        if ((uint32_t)p->whats[p->slots[at] - 1] == what) return p->slots[at] - 1u;
    p->whats[*count] = what;
    p->slots[at] = (uint16_t)++*count;
    return *count - 1;
}

/* Numbers the distinct values of `what` (format.h, struct vt_columns) by first occurrence, counts the records of each
   value, and copies the times. Returns the number of records; 0 if the last record is incomplete. */
static uint32_t number_all(struct vt_packer *p, const uint64_t *words, uint32_t n, uint32_t *whats)
{
    uint32_t records = 0, at = 0, count = 0;
    memset(p->slots, 0, sizeof p->slots);
    for (; at < n; records++) {
        uint32_t what = (uint32_t)words[at], i = number_of(p, what, &count);
        p->whats[i] += 1ull << 32;
        p->index[records] = (uint16_t)i;
        p->values[records] = words[at] >> 32;
        at += 1 + VT_WORDS(what);
    }
    *whats = count;
    return at == n ? records : 0;
}

/* Replaces each time by a multiple of the clock's step, with the rest in the lowest byte. Times remain ticks if most of
   them are only a few steps: the rests would take more bytes than the multiples save. Returns the step, or 0 if times
   remain ticks. */
static uint32_t in_steps(uint64_t *times, uint32_t n, uint32_t step)
{
    uint32_t far = 0, most = step >> 13; /* 8 steps */
    double per_tick = 65536.0 / (step ? step : 1);
    for (uint32_t i = 0; step && i < n; i++) far += times[i] > most;
    if (far < n / 8 || !step) return 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t steps = (uint64_t)((double)(int64_t)times[i] * per_tick + 0.5);
        times[i] = steps << 8 | (uint8_t)(times[i] - (steps * step >> 16) + VT_STEP_ZERO);
    }
    return step;
}

/* Copies the payload after the times, grouped by the first word's lower half (`what`). */
static void sort_payload(struct vt_packer *p, const uint64_t *words, uint32_t records, uint32_t whats)
{
    uint32_t next = records, at = 0;
    for (uint32_t i = 0; i < whats; i++) {
        p->next[i] = (uint16_t)next;
        next += (uint32_t)(p->whats[i] >> 32) * VT_WORDS((uint32_t)p->whats[i]);
    }
    for (uint32_t r = 0; r < records; r++) {
        uint32_t i = p->index[r], count = (uint32_t)(p->whats[i] >> 32), size = VT_WORDS((uint32_t)words[at]);
        uint64_t *to = p->values + p->next[i]++;
        for (uint32_t k = 0; k < size; k++) to[k * count] = words[at + 1 + k];
        at += 1 + size;
    }
}

static uint64_t all_bits(const uint64_t *words, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < n; i++) bits |= words[i];
    return bits;
}

/* Replaces each word by its difference to the previous word, with the sign in bit 0. */
static void differ(uint64_t *words, uint32_t n)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t difference = words[i] - before;
        before = words[i];
        words[i] = difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
    }
}

uint32_t vt_columns_pack(struct vt_packer *p, const uint64_t *words, uint32_t n, uint32_t step)
{
    uint32_t whats, records = number_all(p, words, n, &whats);
    if (!records) return 0;
    uint64_t *payload = p->values + records;
    step = in_steps(p->values, records, step);
    if (records < n) sort_payload(p, words, records, whats);
    differ(payload, n - records);
    struct vt_columns head = {.records = (uint16_t)records,
                              .whats = (uint16_t)whats,
                              .step = step,
                              .time_bytes = bytes_of(all_bits(p->values, records)),
                              .payload_bytes = bytes_of(all_bits(payload, n - records))};
    uint8_t *at = p->columns;
    memcpy(at, &head, sizeof head);
    at = transpose(at + sizeof head, p->whats, whats, VT_WHAT_BYTES);
    for (uint32_t i = 0; i < records; i++) at[i] = (uint8_t)p->index[i];
    at += records;
    for (uint32_t i = 0; whats > 256 && i < records; i++) *at++ = (uint8_t)(p->index[i] >> 8);
    at = transpose(at, p->values, records, head.time_bytes);
    at = transpose(at, payload, n - records, head.payload_bytes);
    return (uint32_t)(at - p->columns);
}
