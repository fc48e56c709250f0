/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations under way, by handle. MPI libraries give a handle out again as soon as they have it back, which is
   inside the Wait of one thread while another thread may be starting the next operation. So a Wait takes its entries
   before the call and keeps them by pointer; a taken entry is not found again by its handle.

   The table needs no lock: a handle lives in one of 8 neighbouring places that its hash tells, and each place is taken
   and given back by one atomic operation. Where all 8 are in use, a further level of 16 times the size is added. Where
   the program calls MPI from one thread at a time there are neither atomic operations nor locks (vt_mpi_alone).

   Several entries have one handle where a library gives it to all operations that need no waiting. Then each Wait takes
   one of them: which one makes no difference, not even to the program. Four stand in places, more in lists of their row,
   each under a lock. A thread puts into the list that is its own and takes from there first, so that threads which wait
   for what they started do not meet at a lock. Threads may take each other's entries while one of them looks from place to place, so that it
   finds none though there always is one: it looks again if an entry was published meanwhile. What was published after
   it began is not needed, for whoever published it has not waited yet. */
#include "mpiwrap.h"

#include <sched.h>

struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;
__thread uint64_t vt_mpi_next_request __attribute__((tls_model("initial-exec")));

#define VT_FIRST_BITS 10
#define VT_LEVEL_BITS 4
#define VT_MOST_SHARED 4
#define VT_SPARE_BYTES 16384

_Static_assert(VT_FIRST_PLACES == 1 << VT_FIRST_BITS, "each further level has 16 times the places of the one before");

bool vt_mpi_alone;

/* Stores a word if it still is *found, and else says in *found what it is. */
static inline bool vt_swap(_Atomic(uint64_t) *word, uint64_t *found, uint64_t next)
{
    if (!vt_mpi_alone) return atomic_compare_exchange_strong(word, found, next);
    const uint64_t now = atomic_load_explicit(word, memory_order_relaxed);
    const bool same = now == *found;
    *found = now;
    if (same) atomic_store_explicit(word, next, memory_order_relaxed);
    return same;
}

static inline void vt_add(_Atomic(uint64_t) *word, uint64_t more)
{
    if (!vt_mpi_alone) atomic_fetch_add_explicit(word, more, memory_order_acq_rel);
    else atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

static struct vt_mpi_row *vt_row(struct vt_mpi_table *table, uint64_t key)
{
    return &table->rows[vt_mpi_place(key) / VT_ROW_PLACES];
}

static struct vt_mpi_list *vt_lists(struct vt_mpi_table *table, uint64_t key)
{
    return table->lists[vt_mpi_place(key) / VT_ROW_PLACES];
}

/* ---- Levels ---- */

/* The 8 places of one level where an entry may stand. */
struct vt_level_row {
    _Atomic(uint64_t) *keys; /* NULL: there is no such level */
    struct vt_mpi_request *requests;
};

/* level: from 0; more: a level that is not there yet is made. */
static struct vt_level_row vt_level_row(struct vt_mpi_table *table, unsigned level, uint64_t key, bool more)
{
    const size_t n = (size_t)1 << (VT_FIRST_BITS + VT_LEVEL_BITS * level);
    const size_t at = vt_mpi_fold(key) % n & ~(size_t)(VT_ROW_PLACES - 1);
    if (!level) return (struct vt_level_row){&table->keys[at], &table->requests[at]};
    struct vt_mpi_level *found = atomic_load_explicit(&table->more[level - 1], memory_order_acquire);
    if (!found && more) {
        /* one mapping holds the entries, the keys and the head */
        struct vt_mpi_request *requests =
            vt_pages(n * (sizeof(struct vt_mpi_request) + sizeof(uint64_t)) + sizeof(struct vt_mpi_level));
        struct vt_mpi_level *made = requests ? (struct vt_mpi_level *)((uint64_t *)(requests + n) + n) : NULL;
        if (made) *made = (struct vt_mpi_level){(_Atomic(uint64_t) *)(requests + n), requests};
        /* two threads may both have made one: the loser's pages stay unused */
        if (made && atomic_compare_exchange_strong(&table->more[level - 1], &found, made)) found = made;
    }
    return found ? (struct vt_level_row){&found->keys[at], &found->requests[at]} : (struct vt_level_row){NULL, NULL};
}

/* ---- The rows' lists ---- */

static void vt_list_lock(struct vt_mpi_list *list)
{
    if (vt_mpi_alone) return;
    while (atomic_flag_test_and_set_explicit(&list->lock, memory_order_acquire)) sched_yield();
}

static void vt_list_unlock(struct vt_mpi_list *list)
{
    if (!vt_mpi_alone) atomic_flag_clear_explicit(&list->lock, memory_order_release);
}

/* The number of the calling thread's lists: threads get them in turn. The first is the one of all that are alone. */
static unsigned vt_own_list(void)
{
    if (vt_mpi_alone) return 0;
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

/* The newest entry of the calling thread's own list, if it has the key. */
static struct vt_mpi_request *vt_take_newest(struct vt_mpi_list *lists, uint64_t wanted)
{
    struct vt_mpi_list *list = &lists[vt_own_list()];
    if (!atomic_load_explicit(&list->listed, memory_order_acquire)) return NULL;
    vt_list_lock(list);
    struct vt_mpi_request *r = atomic_load_explicit(&list->listed, memory_order_relaxed);
    if (r && r->own_key == wanted) atomic_store_explicit(&list->listed, r->next, memory_order_relaxed);
    else r = NULL;
    vt_list_unlock(list);
    return r;
}

static struct vt_mpi_request *vt_take_listed(struct vt_mpi_list *lists, uint64_t wanted)
{
    struct vt_mpi_request *r = NULL;
    for (unsigned i = 0, own = vt_own_list(); !r && i < VT_TABLE_LISTS; i++)
        r = vt_take_from(&lists[(own + i) % VT_TABLE_LISTS], wanted);
    return r;
}

static struct vt_mpi_request *vt_new_listed(struct vt_mpi_table *table, uint64_t key)
{
    struct vt_mpi_list *list = &vt_lists(table, key)[vt_own_list()];
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
    vt_mpi_clear(r, NULL, vt_row(table, key), key);
    r->list = list;
    return r;
}

/* ---- Looking up ---- */

/* An entry in the table's places that is not taken, and in *key its key; with only_unshared none that may have one
   handle with others. */
static struct vt_mpi_request *vt_look(struct vt_mpi_table *table, uint64_t *key, bool only_unshared)
{
    const uint64_t wanted = *key, ignored = only_unshared ? VT_DISPLACED : VT_DISPLACED | VT_SHARED;
    const size_t place = vt_mpi_place(wanted);
    *key = atomic_load_explicit(&table->keys[place], memory_order_acquire);
    if ((*key & ~ignored) == wanted) return &table->requests[place];
    if (!atomic_load_explicit(&vt_row(table, wanted)->displaced, memory_order_acquire)) return NULL;
    for (unsigned level = 0; level <= VT_MORE_LEVELS; level++) {
        const struct vt_level_row places = vt_level_row(table, level, wanted, false);
        if (!places.keys) break;
        for (unsigned i = 0; i < VT_ROW_PLACES; i++) {
            *key = atomic_load_explicit(&places.keys[i], memory_order_acquire);
            if ((*key & ~ignored) == wanted) return &places.requests[i];
        }
    }
    return NULL;
}

__attribute__((noinline)) struct vt_mpi_request *vt_mpi_take_any(struct vt_mpi_table *table, uint64_t handle,
                                                                 bool only_unshared)
{
    const uint64_t wanted = vt_mpi_key(handle);
    struct vt_mpi_row *row = vt_row(table, wanted);
    for (;;) {
        const uint64_t before = atomic_load_explicit(&row->published, memory_order_acquire);
        uint64_t key = wanted;
        struct vt_mpi_request *r = before && !only_unshared ? vt_take_newest(vt_lists(table, wanted), wanted) : NULL;
        if (r) return r;
        r = vt_look(table, &key, only_unshared);
        if (r) {
            if (vt_swap(r->key, &key, key | VT_TAKEN)) return r;
            continue;
        }
        if (only_unshared || !before) return NULL;
        r = vt_take_listed(vt_lists(table, wanted), wanted);
        if (r || atomic_load_explicit(&row->published, memory_order_acquire) == before) return r;
    }
}

/* Where a new entry can go. */
struct vt_room {
    _Atomic(uint64_t) *word; /* NULL: nowhere */
    struct vt_mpi_request *request;
    uint64_t found; /* 0, or the key of the entry that it replaces */
    unsigned same; /* entries that share the handle */
};

/* The first free place, or that of an entry which is found by the handle already: of a request that ended out of our
   sight, unless operations may share the handle. */
static struct vt_room vt_find_room(struct vt_mpi_table *table, uint64_t key, bool shared)
{
    const uint64_t ignored = shared ? VT_DISPLACED : VT_DISPLACED | VT_SHARED;
    struct vt_room room = {.word = NULL};
    for (unsigned level = 0; level <= VT_MORE_LEVELS; level++) {
        const struct vt_level_row places = vt_level_row(table, level, key, !room.word);
        if (!places.keys) break;
        for (unsigned i = 0; i < VT_ROW_PLACES; i++) {
            const uint64_t found = atomic_load_explicit(&places.keys[i], memory_order_relaxed);
            const bool stale = (found & ~ignored) == key;
            if (stale || (!found && !room.word))
                room = (struct vt_room){&places.keys[i], &places.requests[i], found, room.same};
            if (stale) return room;
            room.same += (found & ~(VT_TAKEN | VT_DISPLACED)) == (key | VT_SHARED);
        }
    }
    return room;
}

/* Takes the place for a new entry; false where another thread was faster. What is replaced stays as far from its first
   place as it is. */
static bool vt_take_room(struct vt_mpi_table *table, struct vt_room *room, uint64_t key, bool shared)
{
    struct vt_mpi_row *row = vt_row(table, key);
    const bool moves = !room->found && room->word != &table->keys[vt_mpi_place(key)];
    const uint64_t displaced = moves ? VT_DISPLACED : room->found & VT_DISPLACED;
    if (moves) vt_add(&row->displaced, 1);
    const bool taken = vt_swap(room->word, &room->found, key | (shared ? VT_SHARED : 0) | displaced | VT_TAKEN);
    if (moves && !taken) vt_add(&row->displaced, (uint64_t)-1);
    if (taken) vt_mpi_clear(room->request, room->word, row, 0);
    return taken;
}

__attribute__((noinline)) struct vt_mpi_request *vt_mpi_put_any(struct vt_mpi_table *table, uint64_t handle,
                                                                bool shared)
{
    const uint64_t key = vt_mpi_key(handle);
    const size_t place = vt_mpi_place(key);
    struct vt_mpi_row *row = vt_row(table, key);
    if (atomic_load_explicit(&row->published, memory_order_acquire)) {
        if (shared && atomic_load_explicit(&vt_lists(table, key)[vt_own_list()].listed, memory_order_relaxed))
            return vt_new_listed(table, key); /* beside others that share the handle */
        struct vt_mpi_request *stale = shared ? NULL : vt_take_listed(vt_lists(table, key), key);
        if (stale) vt_mpi_drop(stale);
    }
    struct vt_room room = {&table->keys[place], &table->requests[place], 0, 0};
    if (!atomic_load_explicit(&row->displaced, memory_order_acquire) && vt_take_room(table, &room, key, shared))
        return room.request;
    do {
        room = vt_find_room(table, key, shared);
        if (shared && !room.found && room.same >= VT_MOST_SHARED) return vt_new_listed(table, key);
        if (!room.word) return NULL;
    } while (!vt_take_room(table, &room, key, shared));
    return room.request;
}

/* The taken entry of an operation that the library has given another handle meanwhile, still taken; NULL without memory. */
struct vt_mpi_request *vt_mpi_rename(struct vt_mpi_request *request, uint64_t handle)
{
    const uint64_t flags = VT_TAKEN | VT_SHARED | VT_DISPLACED;
    if ((atomic_load_explicit(request->key, memory_order_relaxed) & ~flags) == vt_mpi_key(handle)) return request;
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

/* One whose handle is shared. */
__attribute__((noinline)) void vt_mpi_put_back_any(struct vt_mpi_request *request)
{
    struct vt_mpi_row *row = request->row; /* after the store the entry may be another thread's */
    if (request->key) {
        const uint64_t key = atomic_load_explicit(request->key, memory_order_relaxed);
        atomic_store_explicit(request->key, key & ~VT_TAKEN, memory_order_release);
    } else {
        struct vt_mpi_list *list = request->list;
        vt_list_lock(list);
        request->next = atomic_load_explicit(&list->listed, memory_order_relaxed);
        atomic_store_explicit(&list->listed, request, memory_order_release);
        vt_list_unlock(list);
    }
    vt_add(&row->published, 1);
}

/* One in a list, or not in its first place. */
__attribute__((noinline)) void vt_mpi_drop_any(struct vt_mpi_request *request)
{
    if (request->key) {
        struct vt_mpi_row *row = request->row; /* after the store the entry may be another thread's */
        atomic_store_explicit(request->key, 0, memory_order_release);
        vt_add(&row->displaced, (uint64_t)-1);
        return;
    }
    struct vt_mpi_list *list = request->list;
    vt_list_lock(list);
    request->next = list->spare;
    list->spare = request;
    vt_list_unlock(list);
}

/* ---- Operations ---- */

/* Follows an operation that has begun and is not persistent until a Wait or Test, on any thread, tells that it is
   complete and writes words[0..n), n <= 5: whole records, made by VT_HEAD and without times. An unsuccessful test and
   a cancellation are recorded with object and id. Of VT_REQUEST_IO words[1] is filled in: the bytes of the status. */
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
