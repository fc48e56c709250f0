/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions by construct and place in the code, and locks by their variables: two tables without locks that only grow. */
#define _GNU_SOURCE
#include "core/msgpack.h"
#include "ompwrap.h"

#define SITES (1u << 16) /* powers of two */
#define LOCKS (1u << 16)

static const struct {
    const char *text;
    uint8_t role;
} constructs[] = {
#define OMP_CONSTRUCT(name, text, role) {text, role},
    OMP_CONSTRUCTS(OMP_CONSTRUCT)
#undef OMP_CONSTRUCT
};

struct site {
    _Atomic uint64_t key; /* 0 free */
    _Atomic uint32_t region;
};

static _Atomic(struct site *) sites;
static _Atomic(struct omp_lock *) locks;
static _Atomic uint32_t nsites;

static inline uint64_t hash(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 32; }

/* The memory of a table; threads that come at once agree on one. */
static void *table(_Atomic(void *) *where, size_t bytes)
{
    void *known = atomic_load(where), *none = NULL;
    if (known) return known;
    known = vt_pages(bytes);
    return !known || atomic_compare_exchange_strong(where, &none, known) ? known : none;
}

/* Two threads that come at once define it twice: vtunify takes equal regions for one. */
static uint32_t define(enum omp_construct construct, const void *code)
{
    uint8_t bytes[64];
    uint32_t id = (uint32_t)vt_new_id(VT_ID_REGION);
    struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
    vt_note_code((uintptr_t)code);
    vt_mp_array(&m, 6);
    vt_mp_uint(&m, VT_D_REGION_AT);
    vt_mp_uint(&m, id);
    vt_mp_str(&m, constructs[construct].text);
    vt_mp_uint(&m, VT_PARADIGM_OPENMP);
    vt_mp_uint(&m, constructs[construct].role);
    vt_mp_uint(&m, (uintptr_t)code);
    return id && vt_define(bytes, (size_t)(m.at - bytes)) ? id : 0;
}

uint32_t omp_region(enum omp_construct construct, const void *code)
{
    uint64_t key = ((uint64_t)construct + 1) << 56 ^ (uintptr_t)code;
    struct site *list = atomic_load_explicit(&sites, memory_order_acquire);
    if (!list && !(list = table((_Atomic(void *) *)&sites, SITES * sizeof *list))) return 0;
    for (uint64_t at = hash(key);; at++) {
        struct site *s = &list[at & (SITES - 1)];
        uint64_t there = atomic_load_explicit(&s->key, memory_order_relaxed);
        if (!there) {
            if (atomic_load(&nsites) >= SITES / 4 * 3) return code ? omp_region(construct, NULL) : 0;
            if (atomic_compare_exchange_strong(&s->key, &there, key)) {
                atomic_fetch_add(&nsites, 1);
                there = key;
            }
        }
        if (there != key) continue;
        uint32_t region = atomic_load_explicit(&s->region, memory_order_relaxed);
        if (!OMP_LIKELY(region)) atomic_store(&s->region, region = define(construct, code));
        return region;
    }
}

struct omp_lock *omp_lock_of(const void *variable)
{
    struct omp_lock *list = atomic_load_explicit(&locks, memory_order_acquire);
    uintptr_t key = (uintptr_t)variable;
    if (!list && !(list = table((_Atomic(void *) *)&locks, LOCKS * sizeof *list))) return NULL;
    for (uint64_t i = 0, at = hash(key); i < LOCKS; i++, at++) {
        struct omp_lock *l = &list[at & (LOCKS - 1)];
        uintptr_t there = atomic_load_explicit(&l->key, memory_order_relaxed);
        if (!there && atomic_compare_exchange_strong(&l->key, &there, key)) return l;
        if (there == key) return l;
    }
    vt_warn("more than %u locks: the others have no events", LOCKS);
    return NULL;
}

uint32_t omp_lock_id(const struct omp_lock *lock) { return (uint32_t)(lock - atomic_load(&locks)) + 1; }
