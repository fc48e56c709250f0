/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations under way, by handle. MPI libraries give a handle out again as soon as they have it back, which is
   inside the Wait of one thread while another thread may be starting the next operation. So a Wait takes its entries
   before the call and keeps them by pointer; a taken entry is not found again by its handle.

   The table needs no lock: a handle lives in one of 7 neighbouring places that its hash tells, and each place is taken
   and given back by one atomic operation. Where all 7 are in use, a further level of 4 times the size is added.

   Several entries have one handle where a library gives it to all sends that need no waiting. Then threads may take
   each other's entries while one of them looks from place to place, so that it finds none though there always is one:
   it looks again if an entry was published meanwhile. What was published after it began is not needed, for whoever
   published it has not waited yet.                                                                               */
#include "mpiwrap.h"

struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;

#define VT_PLACES 7u /* and in an eighth word of the first level the number of shared entries published so far */
#define VT_ROW 8u
#define VT_FIRST_BITS 10
#define VT_SHARED 0x2000000000000000u
#define VT_KEY 0x4000000000000000u   /* no key is 0 */
#define VT_TAKEN 0x8000000000000000u

struct vt_mpi_level {
    _Atomic(uint64_t) *keys;
    struct vt_mpi_request *requests;
};

static uint64_t vt_key(uint64_t handle) { return (handle & (VT_SHARED - 1)) | VT_KEY; }

static size_t vt_place(uint64_t key, int level)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - VT_FIRST_BITS - 2 * level)) & ~(size_t)(VT_ROW - 1);
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

/* An entry that is not taken, and in *key its key; with only_unshared none that may have one handle with others. */
static struct vt_mpi_request *vt_look(struct vt_mpi_table *table, uint64_t *key, bool only_unshared)
{
    const uint64_t wanted = *key, ignored = only_unshared ? 0 : VT_SHARED;
    struct vt_mpi_level *first = atomic_load_explicit(&table->levels[0], memory_order_acquire);
    if (!first) return NULL;
    _Atomic(uint64_t) *published = &first->keys[vt_place(wanted, 0) + VT_PLACES];
    uint64_t before;
    do {
        before = atomic_load_explicit(published, memory_order_acquire);
        for (int level = 0; level < VT_TABLE_LEVELS; level++) {
            struct vt_mpi_level *l = atomic_load_explicit(&table->levels[level], memory_order_acquire);
            if (!l) break;
            const size_t place = vt_place(wanted, level);
            for (size_t i = place; i < place + VT_PLACES; i++) {
                *key = atomic_load_explicit(&l->keys[i], memory_order_acquire);
                if ((*key & ~ignored) == wanted) return &l->requests[i];
            }
        }
    } while (atomic_load_explicit(published, memory_order_relaxed) != before);
    return NULL;
}

static struct vt_mpi_request *vt_take(struct vt_mpi_table *table, uint64_t handle, bool only_unshared)
{
    for (;;) {
        uint64_t key = vt_key(handle);
        struct vt_mpi_request *r = vt_look(table, &key, only_unshared);
        if (!r || atomic_compare_exchange_strong(r->key, &key, key | VT_TAKEN)) return r;
    }
}

struct vt_mpi_request *vt_mpi_find(struct vt_mpi_table *table, uint64_t handle)
{
    uint64_t key = vt_key(handle);
    return vt_look(table, &key, false);
}

/* The entry, no longer found by its handle until it is put back; NULL when there is none. */
struct vt_mpi_request *vt_mpi_take(struct vt_mpi_table *table, uint64_t handle)
{
    return vt_take(table, handle, false);
}

struct vt_mpi_request *vt_mpi_take_unshared(struct vt_mpi_table *table, uint64_t handle)
{
    return vt_take(table, handle, true);
}

/* How many shared entries a handle has, taken ones included, as far as its first places tell. */
unsigned vt_mpi_count_shared(struct vt_mpi_table *table, uint64_t handle)
{
    const uint64_t key = vt_key(handle) | VT_SHARED;
    struct vt_mpi_level *l = atomic_load_explicit(&table->levels[0], memory_order_acquire);
    unsigned n = 0;
    const size_t place = vt_place(vt_key(handle), 0);
    for (size_t i = place; l && i < place + VT_PLACES; i++)
        n += (atomic_load_explicit(&l->keys[i], memory_order_relaxed) & ~VT_TAKEN) == key;
    return n;
}

/* A new entry, taken, with everything else zero; NULL when there is no memory. */
struct vt_mpi_request *vt_mpi_put(struct vt_mpi_table *table, uint64_t handle, bool shared)
{
    const uint64_t key = vt_key(handle);
    const uint64_t taken = key | VT_TAKEN | (shared ? VT_SHARED : 0);
    for (int level = 0; level < VT_TABLE_LEVELS; level++) {
        struct vt_mpi_level *l = vt_level(table, level);
        if (!l) return NULL;
        const size_t place = vt_place(key, level);
        for (size_t i = place; i < place + VT_PLACES; i++) {
            uint64_t empty = 0;
            if (atomic_load_explicit(&l->keys[i], memory_order_relaxed)) continue;
            if (!atomic_compare_exchange_strong(&l->keys[i], &empty, taken)) continue;
            struct vt_mpi_level *first = atomic_load_explicit(&table->levels[0], memory_order_relaxed);
            l->requests[i] = (struct vt_mpi_request){
                .key = &l->keys[i], .published = &first->keys[vt_place(key, 0) + VT_PLACES]};
            return &l->requests[i];
        }
    }
    return NULL;
}

void vt_mpi_put_back(struct vt_mpi_request *request)
{
    const uint64_t key = atomic_load_explicit(request->key, memory_order_relaxed);
    /* after the store the entry may be another thread's */
    _Atomic(uint64_t) *published = request->published;
    atomic_store_explicit(request->key, key & ~VT_TAKEN, memory_order_release);
    if (key & VT_SHARED) atomic_fetch_add_explicit(published, 1, memory_order_release);
}

void vt_mpi_drop(struct vt_mpi_request *request)
{
    atomic_store_explicit(request->key, 0, memory_order_release);
}
