/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations under way, by handle. MPI libraries give a handle out again as soon as they have it back, which is
   inside the Wait of one thread while another thread may be starting the next operation. So a Wait takes its entries
   before the call and keeps them by pointer; a taken entry is not found again by its handle.

   The table needs no lock: a handle lives in one of 8 neighbouring places that its hash tells, and each place is taken
   and given back by one atomic operation. Where all 8 are in use, a further level of 16 times the size is added.

   Several entries have one handle where a library gives it to all operations that need no waiting. Then each Wait takes
   one of them: which one makes no difference, not even to the program. Four stand in places, more in lists of their row,
   each under a lock. A thread puts into the list that is its own and takes from there first, so that threads which wait
   for what they started do not meet at a lock. Threads may take each other's entries while one of them looks from place to place, so that it
   finds none though there always is one: it looks again if an entry was published meanwhile. What was published after
   it began is not needed, for whoever published it has not waited yet.                                            */
#include "mpiwrap.h"

#include <sched.h>

struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;
__thread uint64_t vt_mpi_next_request __attribute__((tls_model("initial-exec")));

#define VT_PLACES 8u
#define VT_FIRST_BITS 10
#define VT_LEVEL_BITS 4
#define VT_MOST_SHARED 4
#define VT_SPARE_BYTES 16384
#define VT_SHARED 0x2000000000000000u
#define VT_KEY 0x4000000000000000u   /* no key is 0 */
#define VT_TAKEN 0x8000000000000000u

_Static_assert(VT_TABLE_ROWS *VT_PLACES == 1 << VT_FIRST_BITS, "a row is 8 places of the first level");

struct vt_mpi_level {
    _Atomic(uint64_t) *keys;
    struct vt_mpi_request *requests;
};

static uint64_t vt_key(uint64_t handle) { return (handle & (VT_SHARED - 1)) | VT_KEY; }

static size_t vt_place(uint64_t key, int level)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - VT_FIRST_BITS - VT_LEVEL_BITS * level)) &
           ~(size_t)(VT_PLACES - 1);
}

static struct vt_mpi_row *vt_row(struct vt_mpi_table *table, uint64_t key)
{
    return &table->rows[vt_place(key, 0) / VT_PLACES];
}

static struct vt_mpi_level *vt_level(struct vt_mpi_table *table, int level)
{
    struct vt_mpi_level *found = atomic_load_explicit(&table->levels[level], memory_order_acquire);
    if (found) return found;
    const size_t n = (size_t)1 << (VT_FIRST_BITS + VT_LEVEL_BITS * level);
    /* one mapping holds the entries, the keys and the head */
    struct vt_mpi_request *requests =
        vt_pages(n * (sizeof(struct vt_mpi_request) + sizeof(uint64_t)) + sizeof(struct vt_mpi_level));
    if (!requests) return NULL;
    _Atomic(uint64_t) *keys = (_Atomic(uint64_t) *)(requests + n);
    struct vt_mpi_level *made = (struct vt_mpi_level *)(keys + n);
    made->keys = keys;
    made->requests = requests;
    /* two threads may both have made one: the loser's pages stay unused */
    return atomic_compare_exchange_strong(&table->levels[level], &found, made) ? made : found;
}

/* ---- The rows' lists ---- */

static void vt_list_lock(struct vt_mpi_list *list)
{
    while (atomic_flag_test_and_set_explicit(&list->lock, memory_order_acquire)) sched_yield();
}

static void vt_list_unlock(struct vt_mpi_list *list) { atomic_flag_clear_explicit(&list->lock, memory_order_release); }

/* The number of the calling thread's lists: threads get them in turn. */
static unsigned vt_own_list(void)
{
    static _Atomic(unsigned) threads;
    static __thread unsigned own __attribute__((tls_model("initial-exec")));
    if (!own) own = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % VT_TABLE_LISTS + 1;
    return own - 1;
}

static struct vt_mpi_request *vt_take_from(struct vt_mpi_list *list, uint64_t wanted)
{
    if (!atomic_load_explicit(&list->listed, memory_order_acquire)) return NULL;
    vt_list_lock(list);
    struct vt_mpi_request *before = NULL, *r = atomic_load_explicit(&list->listed, memory_order_relaxed);
    for (; r && r->own_key != wanted; r = r->next) before = r;
    if (r && before) before->next = r->next;
    else if (r) atomic_store_explicit(&list->listed, r->next, memory_order_relaxed);
    vt_list_unlock(list);
    return r;
}

static struct vt_mpi_request *vt_take_listed(struct vt_mpi_row *row, uint64_t wanted)
{
    struct vt_mpi_request *r = NULL;
    for (unsigned i = 0, own = vt_own_list(); !r && i < VT_TABLE_LISTS; i++)
        r = vt_take_from(&row->lists[(own + i) % VT_TABLE_LISTS], wanted);
    return r;
}

/* All but the words, which lie in a cache line that most operations do not touch. */
static void vt_clear(struct vt_mpi_request *r, _Atomic(uint64_t) *key, struct vt_mpi_row *row, uint64_t own_key)
{
    memset(r, 0, offsetof(struct vt_mpi_request, words));
    r->key = key;
    r->row = row;
    r->own_key = own_key;
}

static struct vt_mpi_request *vt_new_listed(struct vt_mpi_row *row, uint64_t key)
{
    struct vt_mpi_list *list = &row->lists[vt_own_list()];
    vt_list_lock(list);
    if (!list->spare) {
        struct vt_mpi_request *made = vt_pages(VT_SPARE_BYTES);
        for (size_t i = 0; made && i < VT_SPARE_BYTES / sizeof *made; i++) {
            made[i].next = list->spare;
            list->spare = &made[i];
        }
    }
    struct vt_mpi_request *r = list->spare;
    if (r) list->spare = r->next;
    vt_list_unlock(list);
    if (!r) return NULL;
    vt_clear(r, NULL, row, key);
    r->list = list;
    return r;
}

/* ---- Looking up ---- */

/* An entry in the table's places that is not taken, and in *key its key; with only_unshared none that may have one
   handle with others.                                                                                              */
static struct vt_mpi_request *vt_look(struct vt_mpi_table *table, uint64_t *key, bool only_unshared)
{
    const uint64_t wanted = *key, ignored = only_unshared ? 0 : VT_SHARED;
    for (int level = 0; level < VT_TABLE_LEVELS; level++) {
        struct vt_mpi_level *l = atomic_load_explicit(&table->levels[level], memory_order_acquire);
        if (!l) break;
        const size_t place = vt_place(wanted, level);
        for (size_t i = place; i < place + VT_PLACES; i++) {
            *key = atomic_load_explicit(&l->keys[i], memory_order_acquire);
            if ((*key & ~ignored) == wanted) return &l->requests[i];
        }
    }
    return NULL;
}

static struct vt_mpi_request *vt_take(struct vt_mpi_table *table, uint64_t handle, bool only_unshared)
{
    const uint64_t wanted = vt_key(handle);
    struct vt_mpi_row *row = vt_row(table, wanted);
    for (;;) {
        const uint64_t before = atomic_load_explicit(&row->published, memory_order_acquire);
        uint64_t key = wanted;
        struct vt_mpi_request *r = vt_look(table, &key, only_unshared);
        if (r) {
            if (atomic_compare_exchange_strong(r->key, &key, key | VT_TAKEN)) return r;
            continue;
        }
        if (only_unshared) return NULL;
        r = vt_take_listed(row, wanted);
        if (r || atomic_load_explicit(&row->published, memory_order_acquire) == before) return r;
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

/* A new entry, taken, with everything else zero but words; NULL when there is no memory. */
struct vt_mpi_request *vt_mpi_put(struct vt_mpi_table *table, uint64_t handle, bool shared)
{
    const uint64_t key = vt_key(handle), like = key | (shared ? VT_SHARED : 0);
    struct vt_mpi_row *row = vt_row(table, key);
    unsigned same = 0;
    for (int level = 0; level < VT_TABLE_LEVELS; level++) {
        struct vt_mpi_level *l = vt_level(table, level);
        if (!l) return NULL;
        const size_t place = vt_place(key, level);
        for (size_t i = place; i < place + VT_PLACES; i++) {
            uint64_t found = atomic_load_explicit(&l->keys[i], memory_order_relaxed);
            if (shared && (found & ~VT_TAKEN) == like && ++same == VT_MOST_SHARED) return vt_new_listed(row, key);
            if (found || !atomic_compare_exchange_strong(&l->keys[i], &found, like | VT_TAKEN)) continue;
            vt_clear(&l->requests[i], &l->keys[i], row, 0);
            return &l->requests[i];
        }
    }
    return NULL;
}

/* The taken entry of an operation that the library has given another handle meanwhile, still taken; NULL without memory. */
struct vt_mpi_request *vt_mpi_rename(struct vt_mpi_request *request, uint64_t handle)
{
    const uint64_t flags = VT_TAKEN | VT_SHARED;
    if ((atomic_load_explicit(request->key, memory_order_relaxed) & ~flags) == vt_key(handle)) return request;
    struct vt_mpi_request *stale = vt_mpi_take(&vt_mpi_requests, handle);
    if (stale) vt_mpi_drop(stale);
    struct vt_mpi_request *r = vt_mpi_put(&vt_mpi_requests, handle, false);
    if (r) {
        const struct vt_mpi_request made = *r;
        *r = *request;
        r->key = made.key;
        r->row = made.row;
        r->own_key = made.own_key;
    }
    vt_mpi_drop(request);
    return r;
}

void vt_mpi_put_back(struct vt_mpi_request *request)
{
    /* after the store the entry may be another thread's */
    struct vt_mpi_row *row = request->row;
    bool shared = true;
    if (request->key) {
        const uint64_t key = atomic_load_explicit(request->key, memory_order_relaxed);
        shared = key & VT_SHARED;
        atomic_store_explicit(request->key, key & ~VT_TAKEN, memory_order_release);
    } else {
        struct vt_mpi_list *list = request->list;
        vt_list_lock(list);
        request->next = atomic_load_explicit(&list->listed, memory_order_relaxed);
        atomic_store_explicit(&list->listed, request, memory_order_release);
        vt_list_unlock(list);
    }
    if (shared) atomic_fetch_add_explicit(&row->published, 1, memory_order_release);
}

void vt_mpi_drop(struct vt_mpi_request *request)
{
    if (request->key) {
        atomic_store_explicit(request->key, 0, memory_order_release);
        return;
    }
    struct vt_mpi_list *list = request->list;
    vt_list_lock(list);
    request->next = list->spare;
    list->spare = request;
    vt_list_unlock(list);
}

/* ---- Operations ---- */

/* The entry of an operation that has begun, taken: the caller fills it and puts it back. NULL when there is no memory;
   then its end is not seen. shared: the library may give the handle to several such operations; the others' entry
   found by it is of a request that ended out of our sight.                                                          */
struct vt_mpi_request *vt_mpi_post(enum vt_mpi_request_kind kind, bool shared, uint32_t object,
                                   const MPI_Request *request)
{
    const uint64_t handle = VT_HANDLE(*request);
    struct vt_mpi_request *r =
        shared ? vt_mpi_take_unshared(&vt_mpi_requests, handle) : vt_mpi_take(&vt_mpi_requests, handle);
    if (r) vt_mpi_drop(r);
    r = vt_mpi_put(&vt_mpi_requests, handle, shared);
    if (!r) {
        vt_warn("no memory to follow requests: the completion of some is not recorded");
        return NULL;
    }
    r->kind = (uint8_t)kind;
    r->object = object;
    return r;
}

/* Follows an operation that has begun and is not persistent until a Wait or Test, on any thread, tells that it is
   complete and writes words[0..n), n <= 5: whole records, made by VT_HEAD and without times. An unsuccessful test and
   a cancellation are recorded with object and id. Of VT_REQUEST_IO words[1] is filled in: the bytes of the status.  */
void vt_mpi_follow(enum vt_mpi_request_kind kind, uint32_t object, uint64_t id, const uint64_t *words, unsigned n,
                   const MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL) return;
    struct vt_mpi_request *r = vt_mpi_post(kind, true, object, request);
    if (!r) return;
    r->id = id;
    r->n = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) r->words[i] = words[i];
    r->active = true;
    vt_mpi_put_back(r);
}
