/* SPDX-License-Identifier: BSD-3-Clause */
/* Two tables: regions by construct and place in the code, and locks by their variables.
   Memory order: the numbers of regions and places are relaxed. The definition of a number is in a file, not in memory
   that a reader loads. Two threads may define a number twice; vtunify merges both. */
#define _GNU_SOURCE
#include <string.h>
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

/* Limits of calls that a filter counts. Such a construct has no region in omp_sites, so that each execution calls
   omp_find_region. */
static int64_t limits[OMP_NCONSTRUCTS];
static struct {
    _Atomic int64_t used;
    _Atomic uint32_t region;
} counts[OMP_SITES]; /* as omp_sites */

/* A rule of a filter names a construct as the archive does, without the line, which is not known yet. */
static int64_t limit_of(const char *text, int is_function)
{
    char name[64] = "!$omp ";
    strncat(name, text, sizeof name - 8);
    return vt_call_limit(is_function ? text : name, "OMP");
}

int omp_ask_filter(void)
{
    int any = 0;
    for (int i = 0; i < OMP_WAIT; i++) {
        limits[i] = limit_of(constructs[i].text, constructs[i].role == VT_ROLE_FUNCTION);
        if (i == OMP_FOR && limits[i] == VT_CALL_ALL) limits[i] = limit_of("do", 0); /* the name in Fortran */
        any |= limits[i] != 0;
    }
    limits[OMP_WAIT] = VT_CALL_ALL;
    return any;
}

/* Two threads may define the region at the same time; vtunify merges equal regions. */
static uint32_t define(enum omp_construct construct, const void *code)
{
    const int in_target = construct >= OMP_TARGET && construct <= OMP_TARGET_SUBMIT;
    const uint32_t region = in_target ? omp_define_target(constructs[construct].text, constructs[construct].role) : 0;
    if (region) return region;
    return vt_define_region_at(constructs[construct].text, VT_PARADIGM_OPENMP, constructs[construct].role,
                               (uintptr_t)code);
}

static uint32_t take(enum omp_construct construct, const void *code, uint64_t at)
{
    uint32_t region = atomic_load_explicit(&counts[at].region, memory_order_relaxed);
    if (atomic_load_explicit(&counts[at].used, memory_order_relaxed) >= limits[construct] ||
        atomic_fetch_add_explicit(&counts[at].used, 1, memory_order_relaxed) >= limits[construct])
        return 0;
    if (!region) atomic_store(&counts[at].region, region = define(construct, code));
    return region;
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
        if (limits[construct] != VT_CALL_ALL) return take(construct, code, at & (OMP_SITES - 1));
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
    vt_warn_left_out("openmp", "more than %u locks: events of further locks are not recorded", OMP_LOCKS);
    return NULL;
}
