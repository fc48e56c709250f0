/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait and Test, and calls that find nothing. Entries are taken before the call. After the call each is completed, put
   back or dropped. */
#include "mpiwrap.h"

/* ---- Memory for calls with many requests: one block for each thread, free again when the outermost such call ends (a
   callback of MPI may call Wait, too) ---- */
static __thread struct {
    char *at;
    size_t bytes, used;
    unsigned depth;
} vt_arena;

void *vt_mpi_arena_take(size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    if (vt_arena.bytes - vt_arena.used < bytes) {
        const size_t more = 2 * (vt_arena.bytes + bytes);
        char *at = vt_pages(more);
        if (!at) return NULL;
        vt_arena.at = at;
        vt_arena.bytes = more;
        vt_arena.used = 0;
    }
    vt_arena.used += bytes;
    vt_arena.depth++;
    return vt_arena.at + vt_arena.used - bytes;
}

void vt_mpi_arena_drop(void)
{
    if (--vt_arena.depth == 0) vt_arena.used = 0;
}

/* ---- One request ---- */

/* Set by the first MPI_Cancel. From then on any operation may be cancelled, since a thread may cancel an operation that
   another thread already waits for. MPI is asked about a send only if the Wait began after that and has a status for
   it. */
static _Atomic(bool) vt_cancels;

static inline struct vt_mpi_request *vt_take_active(MPI_Request request)
{
    if (request == MPI_REQUEST_NULL) return NULL;
    struct vt_mpi_request *r = vt_mpi_take(&vt_mpi_requests, VT_HANDLE(request));
    if (!r || r->active) return r;
    vt_mpi_put_back(r);
    return NULL;
}

/* Ends a request: drops its entry, or keeps it for the next start of a persistent request. */
static inline void vt_end(struct vt_mpi_request *r)
{
    if (VT_LIKELY(!r->persistent)) {
        vt_mpi_drop(r);
        return;
    }
    r->active = false;
    vt_mpi_put_back(r);
}

/* True if the records of the completion need the status. */
static inline bool vt_needs_status(const struct vt_mpi_request *r)
{
    return r->kind == VT_REQUEST_RECV || r->kind == VT_REQUEST_PAIR || r->kind == VT_REQUEST_IO;
}

/* True if the start of the operation is recorded. Else recording was off, and the completion is not recorded either. */
static inline bool vt_is_known(const struct vt_mpi_request *r) { return r->id || r->kind == VT_REQUEST_RMA; }

/* Adds a record that holds only the id of the operation. */
static void vt_add_id_record(struct vt_mpi_batch *batch, const struct vt_mpi_request *r, enum vt_kind message,
                             enum vt_kind rma, enum vt_kind io)
{
    if (!vt_is_known(r)) return;
    uint64_t *w = vt_mpi_add(batch, 2);
    if (r->kind == VT_REQUEST_RMA) w[0] = VT_HEAD(rma, 1, r->object);
    else if (r->kind == VT_REQUEST_IO) w[0] = VT_HEAD(io, 1, r->object);
    else w[0] = VT_HEAD(message, 1, 0);
    w[1] = r->id;
}

static inline void vt_received(struct vt_mpi_batch *batch, const struct vt_mpi_request *r, uint64_t pair,
                               uint64_t bytes)
{
    uint64_t *w = vt_mpi_add(batch, r->id ? 4 : 3);
    w[0] = r->id ? VT_HEAD(VT_K_IRECV, 3, r->object) : VT_HEAD(VT_K_RECV, 2, r->object);
    w[1] = pair;
    w[2] = bytes;
    if (r->id) w[3] = r->id;
}

void vt_mpi_add_received(struct vt_mpi_batch *batch, const struct vt_mpi_request *r, const MPI_Status *status)
{
    if (status->MPI_SOURCE >= 0)
        vt_received(batch, r, vt_mpi_pair((uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG),
                    vt_mpi_received(status));
}

/* MPICH does not set the status of an MPI_Isendrecv. Then the arguments of the call are recorded. */
static void vt_received_pair(struct vt_mpi_batch *batch, const struct vt_mpi_request *r, const MPI_Status *status)
{
    const int source = (int)(uint32_t)r->words[2], tag = (int)(r->words[2] >> 32);
#ifndef MPICH_NUMVERSION
    if (status->MPI_SOURCE < 0) return;
    const uint64_t pair = vt_mpi_pair((uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG);
    if ((source == MPI_ANY_SOURCE || source == status->MPI_SOURCE) && (tag == MPI_ANY_TAG || tag == status->MPI_TAG)) {
        vt_received(batch, r, pair, vt_mpi_received(status));
        return;
    }
#else
    (void)status;
#endif
    if (source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) vt_received(batch, r, r->words[2], r->words[3]);
    else
        vt_warn_left_out(
            "mpi/p2p",
            "this MPI returns no source and tag for MPI_Isendrecv with wildcards: such receives are not recorded");
}

static __attribute__((noinline)) void vt_record_end(struct vt_mpi_batch *batch, struct vt_mpi_request *r,
                                                    const MPI_Status *status)
{
    if (r->end) r->end(r, batch);
    if (r->kind == VT_REQUEST_SEND) {
        vt_add_id_record(batch, r, VT_K_ISEND_COMPLETE, 0, 0);
        return;
    }
    if (r->kind == VT_REQUEST_IO) r->words[1] = vt_mpi_received(status);
    const unsigned n = vt_is_known(r) ? r->n : 0;
    uint64_t *w = vt_mpi_add(batch, n);
    for (unsigned i = 0; i < n; i++) w[i] = r->words[i];
    if (r->kind == VT_REQUEST_RECV) vt_mpi_add_received(batch, r, status);
    else if (r->kind == VT_REQUEST_PAIR) vt_received_pair(batch, r, status);
}

static __attribute__((noinline)) bool vt_is_cancelled(const struct vt_mpi_wait *wait, const struct vt_mpi_request *r,
                                                      const MPI_Status *status)
{
    int cancelled = 0;
    if (wait->cancels || vt_needs_status(r)) PMPI_Test_cancelled((MPI_Status *)status, &cancelled);
    return cancelled;
}

static void vt_completed(const struct vt_mpi_wait *wait, struct vt_mpi_batch *batch, struct vt_mpi_request *r,
                         const MPI_Status *status)
{
    const bool cancels = atomic_load_explicit(&vt_cancels, memory_order_acquire);
    if (!VT_LIKELY(!cancels) && vt_is_cancelled(wait, r, status))
        vt_add_id_record(batch, r, VT_K_REQUEST_CANCELLED, VT_K_RMA_COMPLETE_NON_BLOCKING, VT_K_IO_CANCELLED);
    else vt_record_end(batch, r, status);
    vt_end(r);
}

/* Writes the completion of a send or receive that is neither cancelled nor persistent. Returns the next position; NULL
   for other operations. */
__attribute__((always_inline)) static inline uint64_t *vt_complete_plain(uint64_t *at, struct vt_mpi_request *r,
                                                                         const MPI_Status *status)
{
    if (r->persistent || r->end || !r->id) return NULL;
    if (r->kind == VT_REQUEST_SEND) {
        at[0] = VT_HEAD(VT_K_ISEND_COMPLETE, 1, 0);
        at[1] = r->id;
        at += 2;
    } else {
        if (r->kind != VT_REQUEST_RECV || r->n || status->MPI_SOURCE < 0) return NULL;
        at[0] = VT_HEAD(VT_K_IRECV, 3, r->object);
        at[1] = vt_mpi_pair((uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG);
        at[2] = vt_mpi_received(status);
        at[3] = r->id;
        at += 4;
    }
    vt_mpi_drop(r);
    return at;
}

/* Completes all requests of a call. Programs wait for many at once, so the position in the batch, which is empty, stays
   in a register. */
static void vt_complete_all(const struct vt_mpi_wait *wait, struct vt_mpi_batch *batch)
{
    struct vt_mpi_request *const *requests = wait->requests;
    const MPI_Status *status = wait->statuses;
    uint64_t *at = batch->words;
    for (int i = 0, n = wait->n; i < n; i++, status++) {
        struct vt_mpi_request *r = requests[i];
        if (!r) continue;
        if (!VT_LIKELY(at <= batch->words + 60)) {
            vt_write(batch->words, (unsigned)(at - batch->words));
            at = batch->words;
        }
        uint64_t *next = NULL;
        if (VT_LIKELY(!atomic_load_explicit(&vt_cancels, memory_order_acquire)))
            next = vt_complete_plain(at, r, status);
        if (VT_LIKELY(next != NULL)) {
            at = next;
            continue;
        }
        batch->n = (unsigned)(at - batch->words);
        vt_completed(wait, batch, r, status);
        at = batch->words + batch->n;
    }
    batch->n = (unsigned)(at - batch->words);
}

static void vt_tested(struct vt_mpi_batch *batch, struct vt_mpi_request *r)
{
    vt_add_id_record(batch, r, VT_K_REQUEST_TEST, VT_K_RMA_TEST, VT_K_IO_TEST);
    vt_mpi_put_back(r);
}

/* Ends a call that found nothing. Batches that are full are written in parts, and so in full. */
static void vt_wait_failed(struct vt_mpi_wait *wait, struct vt_mpi_batch *batch, uint32_t region)
{
    *vt_mpi_add(batch, 1) = VT_HEAD(VT_K_LEAVE, 0, region);
    vt_mpi_poll(batch->words, batch->n);
    if (wait->in_arena) vt_mpi_arena_drop();
}

/* Handles a request after an error without a status: MPI either freed the handle, or the operation is unchanged. A
   persistent request keeps its handle in both cases. Its operation counts as ended, since a completion that did not
   happen would be wrong. */
static void vt_end_without_status(struct vt_mpi_request *r, MPI_Request now)
{
    if (now == MPI_REQUEST_NULL || r->persistent) vt_end(r);
    else vt_mpi_put_back(r);
}

/* ---- Calls ---- */

/* Takes the entries and returns the statuses that the call fills. These are the program's statuses, or own ones if the
   program ignores statuses and a receive needs its source, tag and length. */
MPI_Status *vt_mpi_wait_begin(struct vt_mpi_wait *wait, uint32_t region, int n, const MPI_Request *requests,
                              MPI_Status *statuses, const MPI_Status *ignore)
{
    vt_enter(region);
    bool needs_statuses = false;
    if (!requests) n = 0; /* an error that MPI reports */
    wait->n = n > 0 ? n : 0;
    wait->given = wait->statuses = statuses;
    wait->ignore = ignore;
    wait->cancels = atomic_load(&vt_cancels);
    wait->requests = wait->few;
    wait->in_arena = n > VT_FEW;
    MPI_Status *own = wait->few_statuses;
    if (wait->in_arena) {
        own = vt_mpi_arena_take((size_t)n * (sizeof(MPI_Status) + sizeof(struct vt_mpi_request *)) + 64);
        if (!own) {
            vt_warn_left_out("mpi", "no memory to follow %d requests: their completion is not recorded", n);
            wait->n = wait->in_arena = 0;
            return statuses;
        }
        wait->requests = (struct vt_mpi_request **)(((uintptr_t)(own + n) + 63) & ~(uintptr_t)63);
    }
    struct vt_mpi_request **taken = wait->requests; /* local copies, so that the loop keeps them in registers */
    const int taking = wait->n;
    const bool cancels = wait->cancels;
    for (int i = 0; i < taking; i++) {
        struct vt_mpi_request *r = taken[i] = vt_take_active(requests[i]);
        if (r) needs_statuses |= vt_needs_status(r) || cancels;
    }
    if (needs_statuses && statuses == ignore) {
        wait->statuses = own;
        for (int i = 0; i < wait->n; i++) own[i].MPI_ERROR = MPI_SUCCESS;
    }
    return wait->statuses;
}

static void vt_wait_leave(struct vt_mpi_wait *wait, struct vt_mpi_batch *batch, uint32_t region)
{
    vt_mpi_leave(batch, region);
    if (wait->in_arena) vt_mpi_arena_drop();
}

static bool vt_in_status(int result)
{
    int class = MPI_SUCCESS;
    if (result == MPI_SUCCESS) return false;
    return PMPI_Error_class(result, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS;
}

/* True if the operation had the effect that its completion record states. A receive whose message was truncated has
   consumed the message. */
static bool vt_took_message(const struct vt_mpi_request *r, int result)
{
    return result == MPI_SUCCESS || (r->kind == VT_REQUEST_RECV && vt_mpi_consumed(result));
}

/* A truncated receive has a result other than MPI_SUCCESS. Only persistent receives know the size of their buffer. */
static __attribute__((noinline)) void vt_completed_with(const struct vt_mpi_wait *wait, struct vt_mpi_batch *batch,
                                                        struct vt_mpi_request *r, const MPI_Status *status, int result)
{
    MPI_Status truncated;
    if (result != MPI_SUCCESS) {
        truncated = vt_mpi_truncated(status, r->persistent ? r->words[2] : 0);
        status = &truncated;
    }
    vt_completed(wait, batch, r, status);
}

/* Handles one request of a call that returned MPI_ERR_IN_STATUS, by the error code of its status. */
static void vt_by_status(const struct vt_mpi_wait *wait, struct vt_mpi_batch *batch, struct vt_mpi_request *r,
                         const MPI_Status *status)
{
    if (vt_took_message(r, status->MPI_ERROR)) vt_completed_with(wait, batch, r, status, status->MPI_ERROR);
    else if (status->MPI_ERROR == MPI_ERR_PENDING) vt_mpi_put_back(r);
    else vt_end(r);
}

/* After an error, MPI_Waitall returns and leaves the other requests to the program. MPICH 4.2 and later does so only if
   the call has statuses. If the statuses are vtrace's own, this function waits for the rest, so that the program sees
   the same result as without vtrace. If another operation fails too, the error handler of the program is called once
   more. */
static void vt_wait_for_rest(struct vt_mpi_wait *wait, MPI_Request *requests)
{
#ifdef MPICH_NUMVERSION
    for (int i = 0; i < wait->n && vt_mpich_number >= 40200000; i++) {
        MPI_Status *status = &wait->statuses[i];
        if (status->MPI_ERROR == MPI_ERR_PENDING) status->MPI_ERROR = PMPI_Wait(&requests[i], status);
    }
#else
    (void)wait;
    (void)requests;
#endif
}

/* With an error handler of the program MPICH returns success. Then the statuses show the error, if they are vtrace's
   own. */
static bool vt_own_statuses_failed(const struct vt_mpi_wait *wait)
{
    for (int i = 0; i < wait->n; i++)
        if (wait->statuses[i].MPI_ERROR != MPI_SUCCESS) return true;
    return false;
}

void vt_mpi_all_end(struct vt_mpi_wait *wait, uint32_t region, MPI_Request *requests, const int *flag, int result)
{
    VT_MPI_BATCH(batch);
    const bool own = wait->statuses != wait->given;
    const bool in_status = vt_in_status(result) || (own && wait->n > 1 && vt_own_statuses_failed(wait));
    if (in_status && own && !flag) vt_wait_for_rest(wait, requests);
    if (VT_LIKELY(result == MPI_SUCCESS && !in_status && (!flag || *flag))) {
        vt_complete_all(wait, &batch);
        vt_wait_leave(wait, &batch, region);
        return;
    }
    if (VT_LIKELY(result == MPI_SUCCESS && !in_status)) {
        for (int i = 0; i < wait->n; i++)
            if (wait->requests[i]) vt_tested(&batch, wait->requests[i]);
        vt_wait_failed(wait, &batch, region);
        return;
    }
    for (int i = 0; i < wait->n; i++) {
        struct vt_mpi_request *r = wait->requests[i];
        if (!r) continue;
        if (in_status && (own || wait->given != wait->ignore)) vt_by_status(wait, &batch, r, &wait->statuses[i]);
        else if (result != MPI_SUCCESS && (wait->n > 1 || !vt_took_message(r, result)))
            vt_end_without_status(r, requests[i]);
        else if (result == MPI_SUCCESS) vt_tested(&batch, r);
        else vt_completed_with(wait, &batch, r, &wait->statuses[i], result);
    }
    vt_wait_leave(wait, &batch, region);
}

void vt_mpi_any_end(struct vt_mpi_wait *wait, uint32_t region, const MPI_Request *requests, const int *index,
                    const int *flag, int result)
{
    VT_MPI_BATCH(batch);
    /* the request at *index, with a truncated message */
    const bool failed = result != MPI_SUCCESS && vt_mpi_consumed(result), none = !result && flag && !*flag;
    for (int i = 0; i < wait->n; i++) {
        struct vt_mpi_request *r = wait->requests[i];
        if (!r) continue;
        if (result != MPI_SUCCESS && !(failed && i == *index && vt_took_message(r, result)))
            vt_end_without_status(r, requests[i]);
        else if (none) vt_tested(&batch, r);
        else if (i == *index && failed) vt_completed_with(wait, &batch, r, wait->statuses, result);
        else if (i == *index) vt_completed(wait, &batch, r, wait->statuses);
        else vt_mpi_put_back(r);
    }
    if (none) vt_wait_failed(wait, &batch, region);
    else vt_wait_leave(wait, &batch, region);
}

/* Status j belongs to request indices[j]. */
void vt_mpi_some_end(struct vt_mpi_wait *wait, uint32_t region, const MPI_Request *requests, const int *done,
                     const int *indices, bool test, int result)
{
    VT_MPI_BATCH(batch);
    const bool in_status = vt_in_status(result), has_statuses = wait->statuses != wait->ignore;
    const int n = (result == MPI_SUCCESS || in_status) && *done != MPI_UNDEFINED ? *done : 0;
    for (int j = 0; j < n; j++) {
        struct vt_mpi_request *r = indices[j] < wait->n ? wait->requests[indices[j]] : NULL;
        if (!r) continue;
        wait->requests[indices[j]] = NULL;
        if (!in_status) vt_completed(wait, &batch, r, &wait->statuses[j]);
        else if (has_statuses) vt_by_status(wait, &batch, r, &wait->statuses[j]);
        else vt_end_without_status(r, requests[indices[j]]);
    }
    for (int i = 0; i < wait->n; i++) {
        struct vt_mpi_request *r = wait->requests[i];
        if (!r) continue;
        if (result != MPI_SUCCESS && !in_status) vt_end_without_status(r, requests[i]);
        else if (test) vt_tested(&batch, r);
        else vt_mpi_put_back(r);
    }
    if (test && result == MPI_SUCCESS && *done == 0) vt_wait_failed(wait, &batch, region);
    else vt_wait_leave(wait, &batch, region);
}

/* ---- Calls that found nothing ---- */

static bool vt_each_poll;
void vt_mpi_polls_begin(void) { vt_each_poll = vt_setting("VT_MPI_POLLS"); }

/* The attribute is defined when a call repeats another one. src/vtrace/analysis/source.py knows its texts. */
void vt_mpi_poll(uint64_t *words, unsigned n)
{
    static _Atomic(uint32_t) calls;
    static atomic_flag defines = ATOMIC_FLAG_INIT;
    static const char description[] = "number of calls that found nothing, recorded as one";
    const uint32_t attribute = atomic_load_explicit(&calls, memory_order_relaxed);
    if (vt_each_poll) vt_write(words, n);
    else if (vt_write_poll(attribute, words, n) && !attribute && !atomic_flag_test_and_set(&defines))
        atomic_store(&calls, vt_define_attribute("calls", description, VT_TYPE_UINT64));
}

void vt_mpi_poll_leave(uint32_t region)
{
    uint64_t leave = VT_HEAD(VT_K_LEAVE, 0, region);
    vt_mpi_poll(&leave, 1);
}

/* ---- Cancel and free ---- */

void vt_mpi_cancel(void) { atomic_store(&vt_cancels, true); }

struct vt_mpi_request *vt_mpi_free_request(const MPI_Request *request)
{
    return request && *request != MPI_REQUEST_NULL ? vt_mpi_take(&vt_mpi_requests, VT_HANDLE(*request)) : NULL;
}

/* The operation continues, but no call reports its end. */
void vt_mpi_freed(struct vt_mpi_request *request, int result)
{
    if (!request) return;
    if (result == MPI_SUCCESS) vt_mpi_drop(request);
    else vt_mpi_put_back(request);
}
