/* SPDX-License-Identifier: BSD-3-Clause */
/* The budget of local files, VT_BUDGET. Half of it is there at once. Then the process may use what is left at a rate of
   half of it in as much time as has passed: 1 - 1 / (2 sqrt(t)) of the budget after t seconds, so that a run of any length
   fits. A process that is beyond this curve counts its shortest calls instead of recording them (thin.c). */
#define _GNU_SOURCE
#include <time.h>
#include "location.h"

#define PER_LOCATION (2 * VT_FILE_HEAD + 4096u) /* bytes of a location's files beside its events */
#define UCTL 1024u /* bytes of PREFIX.uctl */
#define SPARE 16u /* 1/SPARE of the budget is for definitions */
#define TIMES_WRITTEN 2u /* how often rows are written: at MPI_Finalize and at the end */
#define FIRST_GUESS 8.0 /* bytes of a word in a file, until the first chunk is written: it may not shrink */
#define FIRST_NS 1000000000.0
#define SLOWER 16 /* a location records shorter calls again at most once in 1/SLOWER of its time */

static _Atomic uint64_t raw_bytes, stored_bytes; /* of the events that are written */

/* The bytes that the locations need at the end, and the bytes of their chunks that are not written yet. */
static uint64_t reserve(double *waiting)
{
    uint64_t bytes = 0, chunks = 0, raw = atomic_load(&raw_bytes);
    const uint32_t n = atomic_load(&vt_process.locations);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (!l) continue;
        const struct vt_profile *profile = VT_READ(l->profile);
        bytes += PER_LOCATION;
        chunks += VT_READ(l->chunks);
        if (profile) bytes += TIMES_WRITTEN * VT_READ(profile->filled) * sizeof(struct vt_profile_row);
    }
    const double each = raw ? (double)atomic_load(&stored_bytes) / (double)raw : FIRST_GUESS / 8;
    *waiting = (double)chunks * VT_CHUNK_SIZE * each;
    return bytes;
}

uint64_t vt_budget_limit(void)
{
    double waiting;
    const uint64_t all = vt_process.set.budget, needed = reserve(&waiting) + all / SPARE;
    return needed < all ? all - needed : 1;
}

int vt_budget_take(uint64_t bytes, int at_end)
{
    const uint64_t all = vt_process.set.budget, used = atomic_fetch_add(&vt_process.written, bytes) + bytes;
    const uint64_t heads = 2 * VT_FILE_HEAD * (uint64_t)atomic_load(&vt_process.locations) + UCTL;
    if (!all || (at_end ? used + heads <= all : used <= vt_budget_limit())) return 1;
    atomic_fetch_sub(&vt_process.written, bytes);
    return 0;
}

void vt_budget_wrote(uint64_t raw, uint64_t stored)
{
    atomic_fetch_add(&raw_bytes, raw);
    atomic_fetch_add(&stored_bytes, stored);
}

/* The bytes that are left; 0: none. The last eighth is for records that are never thinned. *all: the bytes at the
   start. */
static double left(double *all)
{
    double waiting;
    const uint64_t budget = vt_process.set.budget - vt_process.set.budget / 8, needed = reserve(&waiting);
    *all = budget > needed ? (double)(budget - needed) : 1;
    const double used = (double)atomic_load(&vt_process.written) + waiting;
    return used < *all ? *all - used : 0;
}

/* The ns since the process began, at least a second. */
static double age(uint64_t now)
{
    const double t = (double)(now - vt_process.head.pair.mono);
    return t > FIRST_NS ? t : FIRST_NS;
}

int vt_budget_is_short(void)
{
    double all;
    const double rest = left(&all), t = age(vt_clock_ns(CLOCK_MONOTONIC_RAW)) / FIRST_NS;
    return 4 * rest * rest * t < all * all;
}

/* The words of the last look that stay, if calls of so many bits are thinned. */
static uint64_t words_that_stay(const struct vt_thin *t, uint32_t bits)
{
    uint64_t words = t->words;
    for (uint32_t i = 0; bits && i <= bits; i++) words -= t->by_bits[i];
    return words;
}

static uint32_t threads_that_write(void)
{
    const uint32_t n = atomic_load(&vt_process.locations);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        found += l && VT_READ(l->thin) && !atomic_load(&l->ended);
    }
    return found ? found : 1;
}

void vt_budget_choose(struct vt_thin *t)
{
    double all;
    const uint64_t now = vt_clock_ns(CLOCK_MONOTONIC_RAW), raw = atomic_load(&raw_bytes);
    const double word = raw ? 8.0 * (double)atomic_load(&stored_bytes) / (double)raw : FIRST_GUESS;
    const double bytes = left(&all) / 2 / age(now) * (double)(now - t->since) / threads_that_write();
    const uint64_t words = (uint64_t)(bytes / word);
    uint32_t bits = 0;
    t->since = now;
    while (bits < VT_THIN_BITS && words_that_stay(t, bits) > words) bits++;
    if (bits > t->bits) t->bits = bits;
    /* it falls rarely and with a margin, so that it does not change all the time; chunks begin anew then */
    while (bits < t->bits && 2 * words_that_stay(t, bits) > words) bits++;
    if (bits < t->bits && !t->from && (double)(now - t->lowered) > age(now) / SLOWER) {
        t->bits = bits;
        t->lowered = now;
    }
}
