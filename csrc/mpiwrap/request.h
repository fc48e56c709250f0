/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of requests and matched messages; request.c describes the table. Part of mpiwrap.h. */
#ifndef VT_MPI_REQUEST_H
#define VT_MPI_REQUEST_H

enum vt_mpi_request_kind {
    VT_REQUEST_SEND = 1,
    VT_REQUEST_RECV, /* its completion writes source, tag and bytes of the status */
    VT_REQUEST_MESSAGE, /* of MPI_Mprobe and MPI_Improbe */
    VT_REQUEST_PSEND, /* MPI_Psend_init, until the request is stored as persistent */
    VT_REQUEST_PRECV, /* MPI_Precv_init, the same */
    VT_REQUEST_PAIR, /* receive of MPI_Isendrecv; words[2..3] hold the source, tag and bytes of its arguments */
    VT_REQUEST_COLL,
    VT_REQUEST_RMA,
    VT_REQUEST_IO, /* words[1] becomes the bytes of its status */
};

struct vt_mpi_request {
    _Alignas(64) _Atomic(uint64_t) *key; /* its place in the table */
    struct vt_mpi_row *row;
    uint64_t id; /* id of the operation: the request's number, or the matching id in the window or I/O handle */
    uint32_t object; /* id of the communicator, window or I/O handle */
    uint8_t kind, n;
    bool persistent, active;
    /* called at completion, before words are written; or NULL */
    void (*end)(struct vt_mpi_request *request, struct vt_mpi_batch *batch);
    struct vt_mpi_list *list; /* NULL: the entry has a place in the table */
    struct vt_mpi_request *next; /* in that list */
    uint64_t own_key;
    uint64_t words[5]; /* n words of records, written at completion; for a persistent send the records of its start */
};

#define VT_TABLE_ROWS 128u
#define VT_ROW_PLACES 8u
#define VT_FIRST_PLACES (VT_TABLE_ROWS * VT_ROW_PLACES)
#define VT_MORE_LEVELS 4u

/* Entries beyond the table's places, and unused entries. Each thread owns one list of each row. */
#define VT_TABLE_LISTS 8
struct vt_mpi_list {
    _Alignas(64) atomic_flag lock;
    _Atomic(struct vt_mpi_request *) listed;
    struct vt_mpi_request *spare;
};

/* State common to the handles of one row of places. Each request reads this state, so it is small. */
struct vt_mpi_row {
    _Atomic(uint64_t) published; /* counts how often an entry with a shared handle was put into the row */
    _Atomic(uint64_t) displaced; /* number of entries outside the place where a lookup begins */
};

struct vt_mpi_level {
    _Atomic(uint64_t) *keys;
    struct vt_mpi_request *requests;
};

struct vt_mpi_table {
    _Alignas(64) _Atomic(uint64_t) keys[VT_FIRST_PLACES]; /* the first level */
    struct vt_mpi_request requests[VT_FIRST_PLACES];
    struct vt_mpi_row rows[VT_TABLE_ROWS];
    struct vt_mpi_list lists[VT_TABLE_ROWS][VT_TABLE_LISTS];
    struct vt_mpi_level *_Atomic more[VT_MORE_LEVELS];
    /* While one thread at a time calls MPI: the key of the newest entry in a list, and the list. Sends that are complete
       at once all have one handle. */
    uint64_t listed_key;
    struct vt_mpi_list *list;
};

extern struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;

/* One thread at a time calls MPI, by the level of thread support that MPI_Init_thread provided. Then the tables need no
   atomic operations, each of which costs as much as reading the clock. Set when MPI is initialized. Cleared when a
   session or MPIX_Threadcomm begins, since these have thread levels of their own. */
extern bool vt_mpi_single_threaded;

/* A key is a handle with the following bits. No key is 0. */
#define VT_DISPLACED                                                                                                   \
    0x1000000000000000u /* not in the first place for its handle: beside that place or in a further level */
#define VT_SHARED 0x2000000000000000u
#define VT_KEY 0x4000000000000000u
#define VT_TAKEN 0x8000000000000000u

static inline uint64_t vt_mpi_key(uint64_t handle) { return (handle & (VT_DISPLACED - 1)) | VT_KEY; }

/* Handles are consecutive numbers or addresses at equal distances. Handles that are close in time get close places, so
   few cache lines hold them. */
static inline uint64_t vt_mpi_fold(uint64_t key)
{
    const uint64_t handle = key & (VT_DISPLACED - 1);
    return handle ^ handle >> 6 ^ handle >> 12 ^ handle >> 24;
}

/* The place where a lookup begins. The other places of the row are next to this one. */
static inline size_t vt_mpi_place(uint64_t key) { return vt_mpi_fold(key) % VT_FIRST_PLACES; }

/* Clears all fields except words, which lie in a cache line that most operations do not touch. */
static inline void vt_mpi_clear(struct vt_mpi_request *r, _Atomic(uint64_t) *key, struct vt_mpi_row *row,
                                uint64_t own_key)
{
    memset(r, 0, offsetof(struct vt_mpi_request, words));
    r->key = key;
    r->row = row;
    r->own_key = own_key;
}

struct vt_mpi_request *vt_mpi_take_any(struct vt_mpi_table *table, uint64_t handle, bool only_unshared);
struct vt_mpi_request *vt_mpi_put_any(struct vt_mpi_table *table, uint64_t handle, bool shared);
void vt_mpi_put_back_any(struct vt_mpi_request *request);
void vt_mpi_drop_any(struct vt_mpi_request *request);
struct vt_mpi_request *vt_mpi_rename(struct vt_mpi_request *request, uint64_t handle);

/* The common case is inline: one thread at a time, entries in their first places, and several entries of one handle.
   request.c handles all other cases. */

/* Returns the newest entry of a list if it has the key, else NULL. */
static inline struct vt_mpi_request *vt_mpi_pop(struct vt_mpi_list *list, uint64_t key)
{
    struct vt_mpi_request *r = atomic_load_explicit(&list->listed, memory_order_relaxed);
    if (!r || r->own_key != key) return NULL;
    atomic_store_explicit(&list->listed, r->next, memory_order_relaxed);
    return r;
}

/* Takes the entry of a handle: no lookup finds the entry until it is put back. NULL if there is none. */
static inline struct vt_mpi_request *vt_mpi_take(struct vt_mpi_table *table, uint64_t handle)
{
    const uint64_t key = vt_mpi_key(handle);
    const size_t place = vt_mpi_place(key);
    if (VT_LIKELY(vt_mpi_single_threaded)) {
        struct vt_mpi_request *r = key == table->listed_key ? vt_mpi_pop(table->list, key) : NULL;
        if (r) return r;
        if (atomic_load_explicit(&table->keys[place], memory_order_relaxed) == key) {
            atomic_store_explicit(&table->keys[place], key | VT_TAKEN, memory_order_relaxed);
            return &table->requests[place];
        }
    }
    return vt_mpi_take_any(table, handle, false);
}

/* As vt_mpi_take, for an entry that shares its handle with no other entry. */
static inline struct vt_mpi_request *vt_mpi_take_unshared(struct vt_mpi_table *table, uint64_t handle)
{
    return vt_mpi_take_any(table, handle, true);
}

/* Adds a new entry to a list; NULL if the list has no unused entry. These have key, row and list. */
static inline struct vt_mpi_request *vt_mpi_put_listed(struct vt_mpi_list *list, uint64_t key)
{
    struct vt_mpi_request *r = list->spare;
    if (!r) return NULL;
    list->spare = r->next;
    r->id = 0;
    r->object = r->kind = r->n = r->persistent = r->active = 0;
    r->end = NULL;
    r->own_key = key;
    return r;
}

/* Adds a new entry, taken. All fields but words are zero. NULL if there is no memory. shared is a constant after
   inlining: an entry with a place in the table then does not read the cache line of the list. */
__attribute__((always_inline)) static inline struct vt_mpi_request *vt_mpi_put(struct vt_mpi_table *table,
                                                                               uint64_t handle, bool shared)
{
    const uint64_t key = vt_mpi_key(handle);
    const size_t place = vt_mpi_place(key);
    struct vt_mpi_row *row = &table->rows[place / VT_ROW_PLACES];
    if (VT_LIKELY(vt_mpi_single_threaded)) {
        struct vt_mpi_request *r = shared && key == table->listed_key ? vt_mpi_put_listed(table->list, key) : NULL;
        if (r) return r;
        if (!(atomic_load_explicit(&row->published, memory_order_relaxed) |
              atomic_load_explicit(&row->displaced, memory_order_relaxed) |
              atomic_load_explicit(&table->keys[place], memory_order_relaxed))) {
            atomic_store_explicit(&table->keys[place], key | (shared ? VT_SHARED : 0) | VT_TAKEN, memory_order_relaxed);
            vt_mpi_clear(&table->requests[place], &table->keys[place], row, 0);
            return &table->requests[place];
        }
    }
    return vt_mpi_put_any(table, handle, shared);
}

/* Makes a taken entry visible to lookups again. */
static inline void vt_mpi_put_back(struct vt_mpi_request *request)
{
    const uint64_t key = request->key ? atomic_load_explicit(request->key, memory_order_relaxed) : VT_SHARED;
    if (VT_LIKELY(!(key & VT_SHARED))) atomic_store_explicit(request->key, key & ~VT_TAKEN, memory_order_release);
    else if (request->list && vt_mpi_single_threaded) {
        request->next = atomic_load_explicit(&request->list->listed, memory_order_relaxed);
        atomic_store_explicit(&request->list->listed, request, memory_order_relaxed);
    } else vt_mpi_put_back_any(request);
}

/* Frees a taken entry. */
static inline void vt_mpi_drop(struct vt_mpi_request *request)
{
    const uint64_t key = request->key ? atomic_load_explicit(request->key, memory_order_relaxed) : VT_DISPLACED;
    if (VT_LIKELY(!(key & VT_DISPLACED))) atomic_store_explicit(request->key, 0, memory_order_release);
    else if (request->list && vt_mpi_single_threaded) {
        request->next = request->list->spare;
        request->list->spare = request;
    } else vt_mpi_drop_any(request);
}

/* Adds the entry of an operation that has begun, taken: the caller fills the entry and puts it back. NULL if there is
   no memory; then the completion is not recorded. shared: MPI may give one handle to several such operations. If it
   does not, an entry with the same handle belongs to a request whose end vtrace did not see, and is replaced. */
__attribute__((always_inline)) static inline struct vt_mpi_request *
vt_mpi_post(enum vt_mpi_request_kind kind, bool shared, uint32_t object, const MPI_Request *request)
{
    struct vt_mpi_request *r = vt_mpi_put(&vt_mpi_requests, VT_HANDLE(*request), shared);
    if (!VT_LIKELY(r != NULL)) {
        vt_warn_left_out("mpi", "no memory to follow requests: the completion of some is not recorded");
        return NULL;
    }
    r->kind = (uint8_t)kind;
    r->object = object;
    return r;
}

/* Adds an entry that writes words[0..n) at completion; see request.c. */
void vt_mpi_follow(enum vt_mpi_request_kind kind, uint32_t object, uint64_t id, const uint64_t *words, unsigned n,
                   const MPI_Request *request);

#endif
