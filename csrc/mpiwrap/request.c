/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations under way, by handle. MPI libraries give a handle out again as soon as they have it back, which is
   inside the Wait of one thread while another thread may be starting the next operation. So a Wait takes its entries
   before the call and keeps them by pointer; a taken entry is not found again by its handle.

   The table needs no lock: a handle lives in one of 8 neighbouring places that its hash tells, and each place is taken
   and given back by one atomic operation. Where all 8 are in use, a further level of 4 times the size is added.      */
#include "mpiwrap.h"

struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;

#define VT_PLACES 8u
#define VT_FIRST_BITS 10
#define VT_KEY 0x4000000000000000u   /* no key is 0 */
#define VT_TAKEN 0x8000000000000000u

struct vt_mpi_level {
    _Atomic(uint64_t) *keys;
    struct vt_mpi_request *requests;
};

static uint64_t vt_key(uint64_t handle) { return (handle & (VT_KEY - 1)) | VT_KEY; }

static size_t vt_place(uint64_t key, int level)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - VT_FIRST_BITS - 2 * level)) & ~(size_t)(VT_PLACES - 1);
}

static struct vt_mpi_level *vt_level(struct vt_mpi_table *table, int level)
{
    struct vt_mpi_level *found = atomic_load_explicit(&table->levels[level], memory_order_acquire);
    if (found) return found;
    const size_t n = (size_t)1 << (VT_FIRST_BITS + 2 * level);
    /* one mapping holds the head, the keys and the entries */
    struct vt_mpi_level *made = vt_pages(sizeof *made + n * (sizeof(uint64_t) + sizeof(struct vt_mpi_request)));
    if (!made) return NULL;
    made->requests = (struct vt_mpi_request *)(made + 1);
    made->keys = (_Atomic(uint64_t) *)(made->requests + n);
    /* two threads may both have made one: the loser's pages stay unused */
    return atomic_compare_exchange_strong(&table->levels[level], &found, made) ? made : found;
}

struct vt_mpi_request *vt_mpi_find(struct vt_mpi_table *table, uint64_t handle)
{
    const uint64_t key = vt_key(handle);
    for (int level = 0; level < VT_TABLE_LEVELS; level++) {
        struct vt_mpi_level *l = atomic_load_explicit(&table->levels[level], memory_order_acquire);
        if (!l) return NULL;
        const size_t place = vt_place(key, level);
        for (size_t i = place; i < place + VT_PLACES; i++)
            if (atomic_load_explicit(&l->keys[i], memory_order_acquire) == key) return &l->requests[i];
    }
    return NULL;
}

/* How many entries a handle has, taken ones included, as far as its first 8 places tell. */
unsigned vt_mpi_count(struct vt_mpi_table *table, uint64_t handle)
{
    const uint64_t key = vt_key(handle);
    struct vt_mpi_level *l = atomic_load_explicit(&table->levels[0], memory_order_acquire);
    unsigned n = 0;
    const size_t place = vt_place(key, 0);
    for (size_t i = place; l && i < place + VT_PLACES; i++)
        n += (atomic_load_explicit(&l->keys[i], memory_order_relaxed) & ~VT_TAKEN) == key;
    return n;
}

/* The entry, no longer found by its handle until it is put back; NULL when there is none. */
struct vt_mpi_request *vt_mpi_take(struct vt_mpi_table *table, uint64_t handle)
{
    for (;;) {
        struct vt_mpi_request *r = vt_mpi_find(table, handle);
        uint64_t key = vt_key(handle);
        if (!r || atomic_compare_exchange_strong(r->key, &key, key | VT_TAKEN)) return r;
    }
}

/* A new entry, taken, with everything else zero; NULL when there is no memory. */
struct vt_mpi_request *vt_mpi_put(struct vt_mpi_table *table, uint64_t handle)
{
    const uint64_t key = vt_key(handle);
    for (int level = 0; level < VT_TABLE_LEVELS; level++) {
        struct vt_mpi_level *l = vt_level(table, level);
        if (!l) return NULL;
        const size_t place = vt_place(key, level);
        for (size_t i = place; i < place + VT_PLACES; i++) {
            uint64_t empty = 0;
            if (atomic_load_explicit(&l->keys[i], memory_order_relaxed)) continue;
            if (!atomic_compare_exchange_strong(&l->keys[i], &empty, key | VT_TAKEN)) continue;
            l->requests[i] = (struct vt_mpi_request){.key = &l->keys[i]};
            return &l->requests[i];
        }
    }
    return NULL;
}

void vt_mpi_put_back(struct vt_mpi_request *request)
{
    const uint64_t key = atomic_load_explicit(request->key, memory_order_relaxed);
    atomic_store_explicit(request->key, key & ~VT_TAKEN, memory_order_release);
}

void vt_mpi_drop(struct vt_mpi_request *request)
{
    atomic_store_explicit(request->key, 0, memory_order_release);
}
