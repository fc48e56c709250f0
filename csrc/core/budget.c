/* SPDX-License-Identifier: BSD-3-Clause */
/* The budget of local files, VT_BUDGET. Half of it is there at once. Then the process may use what is left at a rate of
   half of it in as much time as has passed: 1 - 1 / (2 sqrt(t)) of the budget after t seconds, so that a run of any length
   fits. A process that is beyond this curve counts its shortest calls instead of recording them (thin.c). */
#define _GNU_SOURCE
#include "location.h"

#define PER_LOCATION (2 * VT_FILE_HEAD + 4096u) /* bytes of a location's files beside its events */
#define UCTL 1024u /* bytes of PREFIX.uctl */
#define SPARE 16u /* 1/SPARE of the budget is for definitions */
#define TIMES_WRITTEN 2u /* how often rows are written: at MPI_Finalize and at the end */
#define FIRST_GUESS 8.0 /* bytes of a word in a file, until a chunk was compressed: it may not shrink */
#define FIRST_NS 1000000000.0
#define FEW 16u /* locations that are counted each time */
#define NS_PER_LOCATION 20000u
#define SLOWER 16 /* a location records shorter calls again at most once in 1/SLOWER of its time */

static _Atomic uint64_t raw_bytes, stored_bytes; /* of the events that are written */

/* The chunks of events in the buffer, and the threads whose calls are thinned. With many locations they are counted again
   only after a time that grows with their number: to visit a location may take 100 ns, as long as some ten events. */
static struct {
    _Atomic uint64_t at; /* ns */
    _Atomic uint32_t chunks, threads;
} counts;

static void count(uint64_t now)
{
    const uint32_t n = atomic_load(&vt_process.locations);
    uint32_t chunks = 0, threads = 0;
    if (n > FEW && now - atomic_load(&counts.at) < n * NS_PER_LOCATION) return;
    atomic_store(&counts.at, now);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (!l) continue;
        chunks += VT_READ(l->chunks);
        threads += VT_READ(l->thin) && !atomic_load(&l->ended);
    }
    atomic_store(&counts.chunks, chunks);
    atomic_store(&counts.threads, threads ? threads : 1);
}

/* The bytes that the locations need at the end. */
static uint64_t reserve(void)
{
    return PER_LOCATION * (uint64_t)atomic_load(&vt_process.locations) +
           TIMES_WRITTEN * atomic_load(&vt_process.profile_rows) * sizeof(struct vt_profile_row);
}

/* Bytes of a word in a file. */
static double word_bytes(void)
{
    const uint64_t raw = atomic_load(&raw_bytes);
    return raw ? 8.0 * (double)atomic_load(&stored_bytes) / (double)raw : FIRST_GUESS;
}

uint64_t vt_budget_limit(void)
{
    const uint64_t all = vt_process.set.budget, needed = reserve() + all / SPARE;
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

int vt_budget_knows_blocks(void) { return atomic_load(&raw_bytes) != 0; }

/* The bytes that are left; 0: none. The last eighth is for records that are never thinned. *all: the bytes at the
   start. */
static double left(double *all, uint64_t now)
{
    const uint64_t budget = vt_process.set.budget - vt_process.set.budget / 8, needed = reserve();
    *all = budget > needed ? (double)(budget - needed) : 1;
    count(now);
    const double waiting = (double)atomic_load(&counts.chunks) * (VT_CHUNK_SIZE / 8) * word_bytes();
    const double used = (double)atomic_load(&vt_process.written) + waiting;
    return used < *all ? *all - used : 0;
}

/* The ns since the process began, at least a second. */
static double age(uint64_t now)
{
    const double t = (double)(now - vt_process.head.pair.mono);
    return t > FIRST_NS ? t : FIRST_NS;
}

int vt_budget_is_short(uint64_t now)
{
    double all;
    const double rest = left(&all, now), t = age(now) / FIRST_NS;
    return 4 * rest * rest * t < all * all;
}

/* The words of the last look that stay, if calls of so many bits are thinned. */
static uint64_t words_that_stay(const struct vt_thin *t, uint32_t bits)
{
    uint64_t words = t->words;
    for (uint32_t i = 0; bits && i <= bits; i++) words -= t->by_bits[i];
    return words;
}

void vt_budget_choose(struct vt_thin *t, uint64_t now)
{
    double all;
    const double rest = left(&all, now) / atomic_load(&counts.threads);
    const uint64_t words = (uint64_t)(rest / 2 / age(now) * (double)(now - t->since) / word_bytes());
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
