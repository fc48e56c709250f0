/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and matched messages that are under way: see request.c. A part of mpiwrap.h. */
#ifndef VT_MPI_REQUEST_H
#define VT_MPI_REQUEST_H

enum vt_mpi_request_kind {
    VT_REQUEST_SEND = 1,
    VT_REQUEST_RECV, /* completes with the source, tag and bytes of its status */
    VT_REQUEST_MESSAGE, /* of a matched probe */
    VT_REQUEST_PSEND, /* partitioned ones, until they are persistent requests: of MPI_Psend_init ... */
    VT_REQUEST_PRECV, /* ... and a receive */
    VT_REQUEST_PAIR, /* a receive, begun together with a send; words[2..3] are the source, tag and bytes asked for */
    VT_REQUEST_COLL,
    VT_REQUEST_RMA,
    VT_REQUEST_IO, /* words[1] becomes the bytes of its status */
};

struct vt_mpi_request {
    _Alignas(64) _Atomic(uint64_t) *key; /* its place in the table */
    struct vt_mpi_row *row;
    uint64_t id; /* of the operation under way: the request's number, or the matching id in window or I/O handle */
    uint32_t object; /* id of the communicator, the window or the I/O handle */
    uint8_t kind, n;
    bool persistent, active;
    void (*end)(struct vt_mpi_request *request, struct vt_mpi_batch *batch); /* at completion, before words; or NULL */
    struct vt_mpi_list *list; /* NULL: it has a place in the table */
    struct vt_mpi_request *next; /* in that list */
    uint64_t own_key;
    uint64_t words[5]; /* n words of whole records that completion writes; of a persistent send those that begin it */
};

#define VT_TABLE_ROWS 128u
#define VT_ROW_PLACES 8u
#define VT_FIRST_PLACES (VT_TABLE_ROWS * VT_ROW_PLACES)
#define VT_MORE_LEVELS 4u

/* Entries beyond those in the table's places, and spare ones. Each thread has one of a row's lists as its own. */
#define VT_TABLE_LISTS 8
struct vt_mpi_list {
    _Alignas(64) atomic_flag lock;
    _Atomic(struct vt_mpi_request *) listed;
    struct vt_mpi_request *spare;
};

/* What is common to the handles of one row of places; small, since each request reads it. */
struct vt_mpi_row {
    _Atomic(uint64_t) published; /* so many times an entry with a shared handle could be found anew */
    _Atomic(uint64_t) displaced; /* entries that are not in the place where their handles are looked for first */
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
};

extern struct vt_mpi_table vt_mpi_requests, vt_mpi_messages;

/* MPI is called by one thread at a time, as the level says that the program has got from MPI_Init_thread: then the tables
   need no atomic operations, of which one costs as much as a clock read. Set when MPI has begun; taken back where a
   session or threads as ranks (MPIX_Threadcomm) begin, whose level is another one. */
extern bool vt_mpi_alone;

/* A key is a handle and these; no key is 0. */
#define VT_DISPLACED                                                                                                   \
    0x1000000000000000u /* not in the first place for its handle, but beside it or in a further level */
#define VT_SHARED 0x2000000000000000u
#define VT_KEY 0x4000000000000000u
#define VT_TAKEN 0x8000000000000000u

static inline uint64_t vt_mpi_key(uint64_t handle) { return (handle & (VT_DISPLACED - 1)) | VT_KEY; }

/* Handles are numbers that count up, or addresses at equal distances: neighbours in time are neighbours here, so that few
   lines of memory hold them. */
static inline uint64_t vt_mpi_fold(uint64_t key)
{
    const uint64_t handle = key & (VT_DISPLACED - 1);
    return handle ^ handle >> 6 ^ handle >> 12 ^ handle >> 24;
}

/* The place where an entry is looked for first; the others of its row are its neighbours. */
static inline size_t vt_mpi_place(uint64_t key) { return vt_mpi_fold(key) % VT_FIRST_PLACES; }

/* All but the words, which lie in a cache line that most operations do not touch. */
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

/* What is the rule, inline: one thread at a time, then the first list of a row is everybody's own, and entries in their
   first places, or several of one handle. All else is left to request.c. */

/* The newest entry of a list if it has the key. */
static inline struct vt_mpi_request *vt_mpi_pop(struct vt_mpi_list *list, uint64_t key)
{
    struct vt_mpi_request *r = atomic_load_explicit(&list->listed, memory_order_relaxed);
    if (!r || r->own_key != key) return NULL;
    atomic_store_explicit(&list->listed, r->next, memory_order_relaxed);
    return r;
}

/* The entry, no longer found by its handle until it is put back; NULL when there is none. */
static inline struct vt_mpi_request *vt_mpi_take(struct vt_mpi_table *table, uint64_t handle)
{
    const uint64_t key = vt_mpi_key(handle);
    const size_t place = vt_mpi_place(key);
    if (VT_LIKELY(vt_mpi_alone)) {
        if (atomic_load_explicit(&table->keys[place], memory_order_relaxed) == key) {
            atomic_store_explicit(&table->keys[place], key | VT_TAKEN, memory_order_relaxed);
            return &table->requests[place];
        }
        struct vt_mpi_request *r = vt_mpi_pop(&table->lists[place / VT_ROW_PLACES][0], key);
        if (r) return r;
    }
    return vt_mpi_take_any(table, handle, false);
}

/* The same of an entry whose handle no other one has. */
static inline struct vt_mpi_request *vt_mpi_take_unshared(struct vt_mpi_table *table, uint64_t handle)
{
    return vt_mpi_take_any(table, handle, true);
}

/* A new entry beside others in a list; NULL where none is listed or none is spare. */
static inline struct vt_mpi_request *vt_mpi_put_listed(struct vt_mpi_list *list, struct vt_mpi_row *row, uint64_t key)
{
    struct vt_mpi_request *r = list->spare;
    if (!r || !atomic_load_explicit(&list->listed, memory_order_relaxed)) return NULL;
    list->spare = r->next;
    vt_mpi_clear(r, NULL, row, key);
    r->list = list;
    return r;
}

/* A new entry, taken, with everything else zero but words; NULL when there is no memory. Inlined with a constant, so that
   an entry in its place does not read the line of memory that holds the list. */
__attribute__((always_inline)) static inline struct vt_mpi_request *vt_mpi_put(struct vt_mpi_table *table,
                                                                               uint64_t handle, bool shared)
{
    const uint64_t key = vt_mpi_key(handle);
    const size_t place = vt_mpi_place(key);
    struct vt_mpi_row *row = &table->rows[place / VT_ROW_PLACES];
    if (VT_LIKELY(vt_mpi_alone)) {
        struct vt_mpi_request *r = shared ? vt_mpi_put_listed(&table->lists[place / VT_ROW_PLACES][0], row, key) : NULL;
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

static inline void vt_mpi_put_back(struct vt_mpi_request *request)
{
    const uint64_t key = request->key ? atomic_load_explicit(request->key, memory_order_relaxed) : VT_SHARED;
    if (VT_LIKELY(!(key & VT_SHARED))) atomic_store_explicit(request->key, key & ~VT_TAKEN, memory_order_release);
    else if (request->list && vt_mpi_alone) {
        request->next = atomic_load_explicit(&request->list->listed, memory_order_relaxed);
        atomic_store_explicit(&request->list->listed, request, memory_order_relaxed);
    } else vt_mpi_put_back_any(request);
}

static inline void vt_mpi_drop(struct vt_mpi_request *request)
{
    const uint64_t key = request->key ? atomic_load_explicit(request->key, memory_order_relaxed) : VT_DISPLACED;
    if (VT_LIKELY(!(key & VT_DISPLACED))) atomic_store_explicit(request->key, 0, memory_order_release);
    else if (request->list && vt_mpi_alone) {
        request->next = request->list->spare;
        request->list->spare = request;
    } else vt_mpi_drop_any(request);
}

/* The entry of an operation that has begun, taken: the caller fills it and puts it back. NULL when there is no memory;
   then its end is not seen. shared: the library may give the handle to several such operations; the others' entry
   found by it is of a request that ended out of our sight. */
__attribute__((always_inline)) static inline struct vt_mpi_request *
vt_mpi_post(enum vt_mpi_request_kind kind, bool shared, uint32_t object, const MPI_Request *request)
{
    struct vt_mpi_request *r = vt_mpi_put(&vt_mpi_requests, VT_HANDLE(*request), shared);
    if (!VT_LIKELY(r != NULL)) {
        vt_warn("no memory to follow requests: the completion of some is not recorded");
        return NULL;
    }
    r->kind = (uint8_t)kind;
    r->object = object;
    return r;
}

void vt_mpi_follow(enum vt_mpi_request_kind kind, uint32_t object, uint64_t id, const uint64_t *words, unsigned n,
                   const MPI_Request *request);

#endif
