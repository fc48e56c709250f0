/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of active operations by handle. An MPI library may reuse a handle as soon as it is free. The Wait of one thread
   frees a handle while another thread may start the next operation. So a Wait takes its entries before the call and
   keeps pointers to them. A lookup does not find a taken entry.

   The table needs no lock. An entry is in one of 8 adjacent places, which the hash of its handle selects. One atomic
   operation takes or frees a place. If all 8 places are in use, a level with 16 times the size is added. If one thread
   at a time calls MPI (vt_mpi_single_threaded), the table uses neither atomic operations nor locks.

   Several entries have the same handle if a library gives one handle to all operations that are complete at once. Then
   each Wait takes any one of them, which makes no difference to the program either. Four such entries are in places,
   further ones in lists of the row, each with a lock. A thread adds to its own list and takes from that list first, so
   that threads that wait for their own operations do not contend for a lock.

   While one thread searches the places, other threads may take and add entries, so the search may find none though
   there always was one. Then the search is repeated if an entry was published meanwhile. Entries published after the
   search began are not needed, since their threads have not called Wait yet.
   Memory order: `key`, or the head of a list, is stored last, with release. Relaxed loads look at the thread's own
   list, or precede an exchange. Where one thread at a time calls MPI all is relaxed: the program itself orders its
   calls. */
#include "mpiwrap.h"

#include <sched.h>

struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;
__thread uint64_t vt_mpi_next_request __attribute__((tls_model("initial-exec")));

#define VT_FIRST_BITS 10
#define VT_LEVEL_BITS 4
#define VT_MOST_SHARED 4
#define VT_SPARE_BYTES 16384

_Static_assert(VT_FIRST_PLACES == 1 << VT_FIRST_BITS, "each further level has 16 times the places of the one before");

bool vt_mpi_single_threaded;

/* Stores next if the word is *found. Else stores the word in *found and returns false. */
static inline bool vt_swap(_Atomic(uint64_t) *word, uint64_t *found, uint64_t next)
{
    if (!vt_mpi_single_threaded) return atomic_compare_exchange_strong(word, found, next);
    const uint64_t now = atomic_load_explicit(word, memory_order_relaxed);
    const bool same = now == *found;
    *found = now;
    if (same) atomic_store_explicit(word, next, memory_order_relaxed);
    return same;
}

static inline void vt_add(_Atomic(uint64_t) *word, uint64_t more)
{
    if (!vt_mpi_single_threaded) atomic_fetch_add_explicit(word, more, memory_order_acq_rel);
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

/* The 8 places of one level where an entry may be. */
struct vt_level_row {
    _Atomic(uint64_t) *keys; /* NULL: the level does not exist */
    struct vt_mpi_request *requests;
};

/* level: from 0. more: creates the level if it does not exist. */
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
        /* if two threads create the level, the pages of one stay unused */
        if (made && atomic_compare_exchange_strong(&table->more[level - 1], &found, made)) found = made;
    }
    return found ? (struct vt_level_row){&found->keys[at], &found->requests[at]} : (struct vt_level_row){NULL, NULL};
}

/* ---- The rows' lists ---- */

static void vt_list_lock(struct vt_mpi_list *list)
{
    if (vt_mpi_single_threaded) return;
    while (atomic_flag_test_and_set_explicit(&list->lock, memory_order_acquire)) sched_yield();
}

static void vt_list_unlock(struct vt_mpi_list *list)
{
    if (!vt_mpi_single_threaded) atomic_flag_clear_explicit(&list->lock, memory_order_release);
}

/* Index of the calling thread's lists: threads get them in turn. If one thread at a time calls MPI, all threads use the
   first one. */
static unsigned vt_own_list(void)
{
    if (vt_mpi_single_threaded) return 0;
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
    else if (r) atomic_store_explicit(&list->listed, r->next, memory_order_release); /* see vt_mpi_take_any */
    vt_list_unlock(list);
    return r;
}

static struct vt_mpi_request *vt_take_newest(struct vt_mpi_list *lists, uint64_t wanted)
{
    struct vt_mpi_list *list = &lists[vt_own_list()];
    if (!atomic_load_explicit(&list->listed, memory_order_acquire)) return NULL;
    vt_list_lock(list);
    struct vt_mpi_request *r = atomic_load_explicit(&list->listed, memory_order_relaxed);
    if (r && r->own_key == wanted) atomic_store_explicit(&list->listed, r->next, memory_order_release);
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
            made[i].row = vt_row(table, key);
            made[i].list = list;
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
    if (vt_mpi_single_threaded) {
        table->listed_key = key;
        table->list = list;
    }
    return r;
}

/* ---- Looking up ---- */

/* Finds an entry that is not taken, in the table's places. *key is replaced by the entry's key. only_unshared: skips
   entries that may share their handle. */
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

/* If another thread puts an entry back and then takes the next one, this thread, which finds both taken, sees the new
   value of `published`: each take is a release, and each look an acquire. */
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

/* A place for a new entry. */
struct vt_room {
    _Atomic(uint64_t) *word; /* NULL: no place is free */
    struct vt_mpi_request *request;
    uint64_t found; /* 0, or the key of the entry that it replaces */
    unsigned same; /* number of entries that share the handle */
};

/* The first free place, or the place of an entry with the same handle. Such an entry belongs to a request whose end
   vtrace did not see, unless operations may share the handle. */
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

/* Takes the place for a new entry. Returns false if another thread took it first. A replaced entry keeps its distance
   to its first place. */
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
            return vt_new_listed(table, key); /* together with others that share the handle */
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

/* Moves a taken entry to the new handle that MPI gave to its operation. Returns the entry, still taken; NULL if there
   is no memory. */
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

/* For an entry with a shared handle. */
__attribute__((noinline)) void vt_mpi_put_back_any(struct vt_mpi_request *request)
{
    struct vt_mpi_row *row = request->row; /* another thread may own the entry after the store */
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

/* For an entry in a list, or not in its first place. */
__attribute__((noinline)) void vt_mpi_drop_any(struct vt_mpi_request *request)
{
    if (request->key) {
        struct vt_mpi_row *row = request->row; /* another thread may own the entry after the store */
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

/* Follows an operation that is not persistent until a Wait or Test of any thread completes it and writes words[0..n), n
   <= 5. The words are whole records, made by VT_HEAD, without times. An unsuccessful test and a cancellation are
   recorded with object and id. For VT_REQUEST_IO words[1] becomes the number of bytes in the status. */
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
