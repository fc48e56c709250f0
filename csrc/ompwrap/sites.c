/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions by construct and place in the code, and locks by their variables: two tables. */
#define _GNU_SOURCE
#include "ompwrap.h"

static const struct {
    const char *text;
    uint8_t role;
} constructs[] = {
#define OMP_CONSTRUCT(name, text, role) {text, role},
    OMP_CONSTRUCTS(OMP_CONSTRUCT)
#undef OMP_CONSTRUCT
};

struct omp_site omp_sites[OMP_SITES];
struct omp_lock omp_locks[OMP_LOCKS];
static _Atomic uint32_t nsites;

/* Two threads that come at once define it twice: vtunify takes equal regions for one. */
static uint32_t define(enum omp_construct construct, const void *code)
{
    return vt_define_region_at(constructs[construct].text, VT_PARADIGM_OPENMP, constructs[construct].role,
                               (uintptr_t)code);
}

uint32_t omp_find_region(enum omp_construct construct, const void *code)
{
    uint64_t key = ((uint64_t)construct + 1) << 56 ^ (uintptr_t)code;
    for (uint64_t at = omp_hash(key);; at++) {
        struct omp_site *s = &omp_sites[at & (OMP_SITES - 1)];
        uint64_t there = atomic_load_explicit(&s->key, memory_order_relaxed);
        if (!there) {
            if (atomic_load(&nsites) >= OMP_SITES / 4 * 3) return code ? omp_region(construct, NULL) : 0;
            if (atomic_compare_exchange_strong(&s->key, &there, key)) {
                atomic_fetch_add(&nsites, 1);
                there = key;
            }
        }
        if (there != key) continue;
        uint32_t region = atomic_load_explicit(&s->region, memory_order_relaxed);
        if (!region) atomic_store(&s->region, region = define(construct, code));
        return region;
    }
}

struct omp_lock *omp_find_lock(const void *variable)
{
    uintptr_t key = (uintptr_t)variable;
    for (uint64_t i = 0, at = omp_hash(key); i < OMP_LOCKS; i++, at++) {
        struct omp_lock *l = &omp_locks[at & (OMP_LOCKS - 1)];
        uintptr_t there = atomic_load_explicit(&l->key, memory_order_relaxed);
        if (!there && atomic_compare_exchange_strong(&l->key, &there, key)) return l;
        if (there == key) return l;
    }
    vt_warn("more than %u locks: the others have no events", OMP_LOCKS);
    return NULL;
}
