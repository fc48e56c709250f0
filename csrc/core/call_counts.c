/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of functions that are left out (VT_BUDGET=...,N%), by location and function: rows of the location's profile
   right below the path outside all regions, without times. The rows are in chunks of their own, so that a function has
   the same place in each location, and a stub counts with one instruction (funwrap/count_stubs.c). A location without
   the pointer to such a chunk takes the slow way, which fills the rows. */
#define _GNU_SOURCE
#include <time.h>
#include "location.h"

static uint64_t *functions; /* by number, as in struct vt_profile_row */
static _Atomic uint32_t nfunctions;
uintptr_t vt_stub_areas[VT_STUB_AREAS];
static char *none[VT_COUNT_CHUNKS];
_Thread_local char **vt_counts __attribute__((tls_model("initial-exec"))) = none;
static char *nowhere; /* gets the counts while recording is off */

void vt_counts_bind(struct vt_location *l) { vt_counts = l ? l->counts : none; }

uint32_t vt_counts_add(uint64_t what)
{
    const uint32_t n = atomic_load(&nfunctions);
    if (n == VT_COUNTED_MOST || !vt_pages_once((void **)&functions, VT_COUNTED_MOST * sizeof *functions) ||
        !vt_pages_once((void **)&nowhere, VT_CHUNK_SIZE))
        return VT_COUNTED_MOST;
    functions[n] = what;
    atomic_store(&nfunctions, n + 1);
    return n;
}

VT_GENERAL_REGISTERS int vt_counts_call(struct vt_location *l, uint32_t number)
{
    char *chunk = VT_READ(l->counts[number / VT_PROFILE_ROWS]);
    if (!chunk) return 0;
    vt_add_turn((int64_t *)(void *)(chunk + VT_COUNTED_AT(number)));
    return 1;
}

/* Returns a location's chunk number i with the rows of the first n functions. */
static char *filled(struct vt_location *l, uint32_t i, uint32_t n)
{
    const uint32_t rows = (uint32_t)VT_PROFILE_ROWS, first = i * rows;
    struct vt_profile *t = vt_profile_of(l);
    struct vt_chunk *c = !t ? NULL : l->count_chunks[i] ? l->count_chunks[i] : vt_profile_chunk(l, t);
    if (!c) {
        l->lost_why = VT_LOST_MEMORY;
        atomic_fetch_add(&l->lost, 1);
        return nowhere;
    }
    l->count_chunks[i] = c;
    for (uint32_t place = vt_chunk_used(c) / (uint32_t)sizeof(struct vt_profile_row); place < rows && first + place < n;
         place++) {
        struct vt_profile_row *row = (struct vt_profile_row *)(void *)vt_chunk_words(c) + place;
        *row = (struct vt_profile_row){.what = functions[first + place], .least = UINT64_MAX};
        row->parent = t->stack[0]->number;
        row->number = c->sequence * rows + place;
        atomic_fetch_add(&vt_process.profile_rows, 1);
        __atomic_store_n(&c->head, (uint16_t)(uintptr_t)(row + 1), __ATOMIC_RELEASE);
    }
    return (char *)c;
}

void vt_counts_open(struct vt_location *l)
{
    uint32_t n, off;
    if (!vt_location_lock(l)) return;
    do { /* another thread may add functions or switch recording, and then removes the pointers */
        n = atomic_load(&nfunctions);
        off = (uint32_t)atomic_load(&vt_process.off);
        for (uint32_t i = 0; i * VT_PROFILE_ROWS < n; i++) VT_SET(l->counts[i], off ? nowhere : filled(l, i, n));
        atomic_thread_fence(memory_order_seq_cst);
    } while (n != atomic_load(&nfunctions) || off != (uint32_t)atomic_load(&vt_process.off));
    vt_location_unlock(l);
}

#define MEASURED 10000

double vt_counts_measure(struct vt_location *l, uint32_t number, void (*stub)(void))
{
    const uint32_t i = number / (uint32_t)VT_PROFILE_ROWS;
    double least = 0;
    for (int round = 0; round < 3; round++) {
        VT_SET(l->counts[i], nowhere);
        const uint64_t begin = vt_clock_ns(CLOCK_MONOTONIC_RAW);
        for (int call = 0; call < MEASURED; call++) stub();
        const double ns = (double)(vt_clock_ns(CLOCK_MONOTONIC_RAW) - begin) / MEASURED;
        if (!round || ns < least) least = ns;
    }
    VT_SET(l->counts[i], NULL);
    return least;
}
