/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication: windows and active operations.

   A program may issue any number of operations before it synchronizes, so there is no list of operations. The
   operations are numbered by window, thread, target and class. vtrace keeps only the number of issued operations and
   the number of completed ones. Each thread counts its own operations, without an atomic read-modify-write. A thread
   that synchronizes claims a range of numbers.
   Memory order: the number of operations is stored with release after the operation, and an exchange gives each
   completion to one thread. A thread knows a window by its id, which a new window at the same address does not have. */
#include "mpiwrap.h"

/* Operations of one class complete at the same moments. */
enum vt_rma_class {
    VT_RMA_SENDS,         /* local and remote completion differ: MPI_Put, MPI_Accumulate */
    VT_RMA_FETCHES,       /* the data are complete at the target when they have arrived: MPI_Get, MPI_Fetch_and_op */
    VT_RMA_REQUEST_SENDS, /* as VT_RMA_SENDS; the request completes locally */
    VT_RMA_REQUEST_FETCHES,
    VT_RMA_CLASSES,
};

/* Numbers of completed operations: VT_RMA_SENDS locally and remotely, VT_RMA_FETCHES, VT_RMA_REQUEST_SENDS remotely. */
enum vt_rma_done { VT_DONE_LOCAL, VT_DONE_REMOTE, VT_DONE_FETCHES, VT_DONE_REQUEST_SENDS, VT_DONES };

struct vt_rma_target {
    _Atomic(uint64_t) issued[VT_RMA_CLASSES], done[VT_DONES];
};

/* Operations of one thread on a window. An address that only this thread has identifies the owner. After the thread has
   ended, the next thread that gets the same memory continues its numbers. */
struct vt_rma_thread {
    struct vt_rma_thread *next;
    const void *owner;
    uint64_t slot; /* index of the thread on the window; it makes the matching ids of threads differ */
    uint32_t size, capacity;
    struct vt_rma_target *targets;
    _Atomic(uint64_t) touched[]; /* one bit for each target with operations */
};

static struct vt_rma_thread *vt_rma_spare;

#define VT_SLOT_SHIFT 48
#define VT_MOST_SLOTS 65536u

/* ---- Threads ---- */

static __thread struct vt_rma_known {
    uint64_t handle;
    struct vt_mpi_win *win;
    uint32_t id;
    struct vt_rma_thread *thread;
} vt_rma_known[4] __attribute__((tls_model("initial-exec")));

static struct vt_rma_thread *vt_rma_thread_new(uint32_t size)
{
    for (struct vt_rma_thread **link = &vt_rma_spare; *link; link = &(*link)->next)
        if ((*link)->capacity >= size) {
            struct vt_rma_thread *t = *link;
            *link = t->next;
            return t;
        }
    const uint32_t capacity = (size + 3) & ~3u;
    const size_t head = (sizeof(struct vt_rma_thread) + (capacity + 63) / 64 * sizeof(uint64_t) + 63) & ~(size_t)63;
    const size_t bytes = head + (size_t)capacity * sizeof(struct vt_rma_target);
    struct vt_rma_thread *t = bytes < 16 * 1024 ? vt_mpi_objects_memory(&vt_mpi_wins, bytes) : vt_pages(bytes);
    if (!t) return NULL;
    t->capacity = capacity;
    t->targets = (struct vt_rma_target *)((char *)t + head);
    return t;
}

static struct vt_rma_thread *vt_rma_thread_add(struct vt_mpi_win *w)
{
    vt_mpi_objects_lock(&vt_mpi_wins);
    struct vt_rma_thread *first = atomic_load(&w->threads);
    const uint64_t slot = first ? first->slot + 1 : 0;
    struct vt_rma_thread *t = slot < VT_MOST_SLOTS ? vt_rma_thread_new(w->size) : NULL;
    if (t) {
        t->owner = vt_rma_known;
        t->slot = slot;
        t->size = w->size;
        t->next = first;
        atomic_store_explicit(&w->threads, t, memory_order_release);
    } else
        vt_warn_left_out("mpi/rma", "no memory to follow the one-sided operations of a thread: they are not recorded");
    vt_mpi_objects_unlock(&vt_mpi_wins);
    return t;
}

/* State of the calling thread on a window; NULL for an unknown window. */
static struct vt_rma_known *vt_rma_know(MPI_Win win)
{
    const uint64_t handle = VT_HANDLE(win);
    struct vt_rma_known *known = &vt_rma_known[handle * 0x9e3779b97f4a7c15u >> 62];
    if (VT_LIKELY(known->handle == handle && known->win &&
                  atomic_load_explicit(&known->win->id, memory_order_relaxed) == known->id))
        return known;
    struct vt_mpi_win *w = vt_mpi_win(win);
    if (!w) {
        if (win != MPI_WIN_NULL)
            vt_warn_left_out("mpi/rma", "operations on windows whose creation vtrace did not see are not recorded");
        return NULL;
    }
    struct vt_rma_thread *t = atomic_load_explicit(&w->threads, memory_order_acquire);
    while (t && t->owner != vt_rma_known) t = t->next;
    if (!t) t = vt_rma_thread_add(w);
    if (!t) return NULL;
    *known = (struct vt_rma_known){handle, w, atomic_load(&w->id), t};
    return known;
}

/* Clears the counts of all threads and keeps their memory for other windows. The caller holds the lock. */
void vt_mpi_rma_forget(struct vt_mpi_win *w)
{
    struct vt_rma_thread *t = atomic_load(&w->threads);
    atomic_store(&w->threads, NULL);
    while (t) {
        struct vt_rma_thread *next = t->next;
        for (uint32_t i = 0; i < t->size; i++)
            if (t->touched[i / 64] >> i % 64 & 1) memset(&t->targets[i], 0, sizeof t->targets[i]);
        memset(t->touched, 0, (t->size + 63) / 64 * 8);
        t->next = vt_rma_spare;
        vt_rma_spare = t;
        t = next;
    }
}

/* ---- Operations ---- */

/* The matching id of operation i of a class, unique on the window. */
static uint64_t vt_rma_id(const struct vt_rma_thread *t, uint32_t target, enum vt_rma_class class, uint64_t i)
{
    return t->slot << VT_SLOT_SHIFT | ((i * t->size + target) * VT_RMA_CLASSES + class);
}

static void vt_rma_start(struct vt_mpi_rma *op, MPI_Win win, int peer, enum vt_rma_class class)
{
    op->issued = NULL;
    if (peer < 0) return; /* MPI_PROC_NULL, or an error that MPI reports */
    /* then the completion is not recorded either */
    if (atomic_load_explicit(&vt_mpi_off, memory_order_relaxed)) return;
    const struct vt_rma_known *known = vt_rma_know(win);
    if (!known || (uint32_t)peer >= known->thread->size) return;
    struct vt_rma_thread *t = known->thread;
    const uint32_t target = (uint32_t)peer;
    const uint64_t bits = atomic_load_explicit(&t->touched[target / 64], memory_order_relaxed);
    const uint64_t bit = (uint64_t)1 << target % 64;
    if (!(bits & bit)) atomic_store_explicit(&t->touched[target / 64], bits | bit, memory_order_release);
    op->issued = &t->targets[target].issued[class];
    op->count = atomic_load_explicit(op->issued, memory_order_relaxed);
    op->win = known->id;
    op->fetches = class == VT_RMA_FETCHES || class == VT_RMA_REQUEST_FETCHES;
    op->id = vt_rma_id(t, target, class, op->count);
}

static void vt_rma_transfer_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes,
                                  uint64_t head, enum vt_rma_class class)
{
    vt_rma_start(op, win, peer, class);
    if (!op->issued) {
        vt_enter(region);
        return;
    }
    vt_write_5(VT_HEAD(VT_K_ENTER, 0, region), head | op->win, (uint32_t)peer, bytes, op->id);
}

void vt_mpi_put_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes, bool request)
{
    vt_rma_transfer_begin(op, region, win, peer, bytes, VT_HEAD(VT_K_RMA_PUT, 3, 0),
                          request ? VT_RMA_REQUEST_SENDS : VT_RMA_SENDS);
}

void vt_mpi_get_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes, bool request)
{
    vt_rma_transfer_begin(op, region, win, peer, bytes, VT_HEAD(VT_K_RMA_GET, 3, 0),
                          request ? VT_RMA_REQUEST_FETCHES : VT_RMA_FETCHES);
}

enum vt_mpi_atomic vt_mpi_atomic_of(MPI_Op op)
{
    return op == MPI_SUM       ? VT_ATOMIC_FETCH_AND_ADD
           : op == MPI_REPLACE ? VT_ATOMIC_SWAP
                               : VT_ATOMIC_FETCH_AND_ACCUMULATE;
}

void vt_mpi_atomic_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, enum vt_mpi_atomic type,
                         uint64_t sent, uint64_t received, bool request)
{
    const bool fetches = type != VT_ATOMIC_ACCUMULATE;
    vt_rma_start(op, win, peer,
                 request ? (fetches ? VT_RMA_REQUEST_FETCHES : VT_RMA_REQUEST_SENDS)
                         : (fetches ? VT_RMA_FETCHES : VT_RMA_SENDS));
    if (!op->issued) {
        vt_enter(region);
        return;
    }
    /* clang-format off */
    uint64_t words[] = {VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_RMA_ATOMIC, 4, op->win),
                        vt_mpi_pair((uint32_t)peer, type), sent, received, op->id};
    /* clang-format on */
    vt_write(words, 6);
}

/* An operation that failed completes as well: each begin needs its end. */
void vt_mpi_rma_end(const struct vt_mpi_rma *op, uint32_t region)
{
    if (op->issued) atomic_store_explicit(op->issued, op->count + 1, memory_order_release);
    vt_leave(region);
}

static void vt_rma_add(struct vt_mpi_batch *batch, enum vt_kind kind, uint32_t win, uint64_t id)
{
    uint64_t *w = vt_mpi_add(batch, 2);
    w[0] = VT_HEAD(kind, 1, win);
    w[1] = id;
}

/* The Wait for the request records the local completion. For fetched data this is the remote completion, too. */
void vt_mpi_rma_request_end(const struct vt_mpi_rma *op, uint32_t region, const MPI_Request *request, int result)
{
    VT_MPI_BATCH(batch);
    if (op->issued) {
        atomic_store_explicit(op->issued, op->count + 1, memory_order_release);
        vt_rma_add(&batch, VT_K_RMA_COMPLETE_NON_BLOCKING, op->win, op->id);
        if (op->fetches) vt_rma_add(&batch, VT_K_RMA_COMPLETE_REMOTE, op->win, op->id);
        if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
            vt_mpi_follow(VT_REQUEST_RMA, op->win, op->id, batch.words, batch.n, request);
            batch.n = 0;
        }
    }
    vt_mpi_leave(&batch, region);
}

/* ---- Synchronization ---- */

/* Operations with numbers first <= i < end. */
struct vt_rma_range {
    uint64_t first, end;
};

/* The caller that gets a range is the only one that writes its completion. */
static struct vt_rma_range vt_rma_claim(struct vt_rma_target *target, enum vt_rma_class class, enum vt_rma_done done)
{
    struct vt_rma_range range;
    range.end = atomic_load_explicit(&target->issued[class], memory_order_acquire);
    range.first = atomic_load_explicit(&target->done[done], memory_order_relaxed);
    while (range.first < range.end && !atomic_compare_exchange_weak(&target->done[done], &range.first, range.end));
    return range;
}

static void vt_rma_complete(struct vt_mpi_batch *batch, const struct vt_mpi_win *w, const struct vt_rma_thread *t,
                            uint32_t target, bool remote)
{
    struct vt_rma_target *counts = &t->targets[target];
    struct vt_rma_range range = vt_rma_claim(counts, VT_RMA_SENDS, VT_DONE_LOCAL);
    for (uint64_t i = range.first; i < range.end; i++)
        vt_rma_add(batch, VT_K_RMA_COMPLETE_NON_BLOCKING, w->id, vt_rma_id(t, target, VT_RMA_SENDS, i));
    range = vt_rma_claim(counts, VT_RMA_FETCHES, VT_DONE_FETCHES);
    for (uint64_t i = range.first; i < range.end; i++) {
        vt_rma_add(batch, VT_K_RMA_COMPLETE_NON_BLOCKING, w->id, vt_rma_id(t, target, VT_RMA_FETCHES, i));
        vt_rma_add(batch, VT_K_RMA_COMPLETE_REMOTE, w->id, vt_rma_id(t, target, VT_RMA_FETCHES, i));
    }
    if (!remote) return;
    range = vt_rma_claim(counts, VT_RMA_SENDS, VT_DONE_REMOTE);
    for (uint64_t i = range.first; i < range.end; i++)
        vt_rma_add(batch, VT_K_RMA_COMPLETE_REMOTE, w->id, vt_rma_id(t, target, VT_RMA_SENDS, i));
    range = vt_rma_claim(counts, VT_RMA_REQUEST_SENDS, VT_DONE_REQUEST_SENDS);
    for (uint64_t i = range.first; i < range.end; i++)
        vt_rma_add(batch, VT_K_RMA_COMPLETE_REMOTE, w->id, vt_rma_id(t, target, VT_RMA_REQUEST_SENDS, i));
}

/* A flush completes operations of its own thread only, since a record of completion belongs to the location of the
   operation and each thread flushes its own. The end of an epoch completes the operations of all threads. */
void vt_mpi_rma_sync(struct vt_mpi_batch *batch, const struct vt_mpi_win *w, int64_t target, bool all_threads,
                     bool remote)
{
    struct vt_rma_thread *t = atomic_load_explicit(&w->threads, memory_order_acquire);
    for (; t; t = t->next) {
        if (!all_threads && t->owner != vt_rma_known) continue;
        if (target >= 0 && target < t->size) vt_rma_complete(batch, w, t, (uint32_t)target, remote);
        else if (target == VT_ALL_TARGETS)
            for (uint32_t i = 0; i < (t->size + 63) / 64; i++) {
                uint64_t bits = atomic_load_explicit(&t->touched[i], memory_order_acquire);
                for (; bits; bits &= bits - 1)
                    vt_rma_complete(batch, w, t, 64 * i + (uint32_t)__builtin_ctzll(bits), remote);
            }
    }
}
