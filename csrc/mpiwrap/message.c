/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls that start or complete a message. A message with a peer out of range, such as MPI_PROC_NULL, has
   no record. */
#include "mpiwrap.h"

/* ---- Bytes ---- */

/* Reads the fields of the status if their meaning is known, since that is cheaper than a call. */
uint64_t vt_mpi_received(const MPI_Status *status)
{
#if defined MPICH_NUMVERSION
    return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#elif defined OMPI_MAJOR_VERSION
    return status->_ucount;
#else
    int few = 0;
    if (PMPI_Get_count((MPI_Status *)status, MPI_BYTE, &few) == MPI_SUCCESS && few >= 0) return (uint64_t)few;
#ifdef VT_HAVE_MPI_Get_elements_x
    MPI_Count many = 0; /* more than an int holds */
    if (PMPI_Get_elements_x((MPI_Status *)status, MPI_BYTE, &many) == MPI_SUCCESS && many > 0) return (uint64_t)many;
#endif
    return 0;
#endif
}

/* Before MPICH 5 the count in the status of a truncated receive is undefined. Then room, the size of the buffer in
   bytes, replaces the count; 0 if that is unknown. */
MPI_Status vt_mpi_truncated(const MPI_Status *status, uint64_t room)
{
    MPI_Status truncated = *status;
#ifdef MPICH_NUMVERSION
    if (vt_mpich_number >= 50000000) return truncated;
    truncated.count_lo = (int)(uint32_t)room;
    truncated.count_hi_and_cancelled =
        (int)((unsigned)truncated.count_hi_and_cancelled & 1) | (int)((uint32_t)(room >> 32) << 1);
#else
    (void)room;
#endif
    return truncated;
}

/* ---- Posted sizes, for the tables of sections ---- */

_Atomic(uint32_t) vt_mpi_posted;

void vt_mpi_posts_begin(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&begun)) return;
    static const char description[] = "size of the receive buffer: count times the size of the datatype";
    atomic_store(&vt_mpi_posted, vt_define_attribute("posted bytes", description, VT_TYPE_UINT64));
}

/* ---- Blocking ---- */

/* NULL: nothing to record */
static inline const struct vt_mpi_comm *vt_with_peer(const struct vt_mpi_comm *c, int peer)
{
    return c && peer != MPI_PROC_NULL && (uint32_t)peer < vt_mpi_peers(c) ? c : NULL;
}

/* Called after a call that succeeded. */
static const struct vt_mpi_comm *vt_comm_of_peer(MPI_Comm comm, int peer)
{
    return peer == MPI_PROC_NULL ? NULL : vt_with_peer(vt_mpi_comm_used(comm), peer);
}

static const struct vt_mpi_comm *vt_comm_of_source(MPI_Comm comm, int source)
{
    return source == MPI_ANY_SOURCE ? vt_mpi_comm_used(comm) : vt_comm_of_peer(comm, source);
}

/* Returns true if the communicator is not known yet. Then the send is recorded after the call. */
bool vt_mpi_send_begin(uint32_t region, MPI_Comm comm, int dest, int tag, uint64_t bytes)
{
    const struct vt_mpi_comm *known = vt_mpi_comm(comm), *c = vt_with_peer(known, dest);
    if (c)
        vt_write_4(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_SEND, 2, c->id),
                   vt_mpi_pair((uint32_t)dest, (uint32_t)tag), bytes);
    else vt_enter(region);
    return !known;
}

void vt_mpi_send_late(MPI_Comm comm, int dest, int tag, uint64_t bytes, int result)
{
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_comm_of_peer(comm, dest) : NULL;
    if (c) vt_write_3(VT_HEAD(VT_K_SEND, 2, c->id), vt_mpi_pair((uint32_t)dest, (uint32_t)tag), bytes);
}

/* A truncated receive consumes its message, too, and so takes its place in the order of messages. */
bool vt_mpi_consumed(int result)
{
    int class = MPI_SUCCESS;
    if (VT_LIKELY(result == MPI_SUCCESS)) return true;
    return PMPI_Error_class(result, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

static void vt_recv_leave(uint32_t region, uint32_t comm, const MPI_Status *status)
{
    vt_write_4(VT_HEAD(VT_K_RECV, 2, comm), vt_mpi_pair((uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG),
               vt_mpi_received(status), VT_HEAD(VT_K_LEAVE, 0, region));
}

/* room: as for vt_mpi_room. */
void vt_mpi_recv_end(uint32_t region, MPI_Comm comm, const MPI_Status *status, int result, uint64_t room)
{
    const struct vt_mpi_comm *c = vt_mpi_consumed(result) ? vt_comm_of_peer(comm, status->MPI_SOURCE) : NULL;
    if (c && VT_LIKELY(result == MPI_SUCCESS)) vt_recv_leave(region, c->id, status);
    else if (c) {
        const MPI_Status truncated = vt_mpi_truncated(status, room);
        vt_recv_leave(region, c->id, &truncated);
    } else vt_leave(region);
}

/* ---- Non-blocking ---- */

uint64_t vt_mpi_isend_begin(uint32_t region, MPI_Comm comm, int dest, int tag, uint64_t bytes)
{
    const struct vt_mpi_comm *known = vt_mpi_comm(comm), *c = vt_with_peer(known, dest);
    if (!c) {
        vt_enter(region);
        return known ? 0 : VT_LATE;
    }
    const uint64_t id = vt_mpi_new_request();
    vt_write_5(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_ISEND, 3, c->id),
               vt_mpi_pair((uint32_t)dest, (uint32_t)tag), bytes, id);
    return id;
}

/* Returns the number of the request of a send for which vt_mpi_isend_begin returned VT_LATE. */
uint64_t vt_mpi_isend_late(MPI_Comm comm, int dest, int tag, uint64_t bytes, int result)
{
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_comm_of_peer(comm, dest) : NULL;
    if (!c) return 0;
    const uint64_t id = vt_mpi_new_request();
    vt_write_4(VT_HEAD(VT_K_ISEND, 3, c->id), vt_mpi_pair((uint32_t)dest, (uint32_t)tag), bytes, id);
    return id;
}

void vt_mpi_isend_end(uint32_t region, uint64_t id, const MPI_Request *request, int result)
{
    if (id && result != MPI_SUCCESS) {
        vt_write_3(VT_HEAD(VT_K_REQUEST_CANCELLED, 1, 0), id, VT_HEAD(VT_K_LEAVE, 0, region));
        return;
    }
    /* as vt_mpi_follow, inline: programs have many active sends */
    if (id && *request != MPI_REQUEST_NULL) {
        struct vt_mpi_request *r = vt_mpi_post(VT_REQUEST_SEND, true, 0, request);
        if (VT_LIKELY(r != NULL)) {
            r->id = id;
            r->active = true;
            vt_mpi_put_back(r);
        }
    }
    vt_leave(region);
}

static void vt_irecv_leave(uint32_t region, struct vt_mpi_request *r)
{
    if (!r) {
        vt_leave(region);
        return;
    }
    const uint64_t id = r->id = vt_mpi_new_request();
    r->active = true;
    vt_mpi_put_back(r);
    vt_write_3(VT_HEAD(VT_K_IRECV_REQUEST, 1, 0), id, VT_HEAD(VT_K_LEAVE, 0, region));
}

void vt_mpi_irecv_end(uint32_t region, MPI_Comm comm, int source, const MPI_Request *request, int result)
{
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_comm_of_source(comm, source) : NULL;
    if (c) vt_irecv_leave(region, vt_mpi_post(VT_REQUEST_RECV, false, c->id, request));
    else vt_leave(region);
}

/* send: result of vt_mpi_isend_begin. bytes: size of the receive buffer. */
void vt_mpi_isendrecv_end(uint32_t region, uint64_t send, MPI_Comm comm, int source, int tag, uint64_t bytes,
                          const MPI_Request *request, int result)
{
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_comm_of_source(comm, source) : NULL;
    if (!c) {
        vt_mpi_isend_end(region, send, request, result);
        return;
    }
    struct vt_mpi_request *r = vt_mpi_post(VT_REQUEST_PAIR, false, c->id, request);
    if (r) {
        r->n = send ? 2 : 0;
        r->words[0] = VT_HEAD(VT_K_ISEND_COMPLETE, 1, 0);
        r->words[1] = send;
        r->words[2] = vt_mpi_pair((uint32_t)source, (uint32_t)tag);
        r->words[3] = bytes;
    }
    vt_irecv_leave(region, r);
}

/* ---- Persistent ---- */

void vt_mpi_persistent(enum vt_mpi_request_kind kind, MPI_Comm comm, int peer, int tag, uint64_t bytes,
                       const MPI_Request *request)
{
    const struct vt_mpi_comm *c = vt_comm_of_source(comm, peer);
    const bool partitioned = kind == VT_REQUEST_PSEND || kind == VT_REQUEST_PRECV;
    const uint32_t object = !c ? 0 : partitioned ? vt_mpi_comm_partitioned((struct vt_mpi_comm *)c) : c->id;
    if (kind == VT_REQUEST_PSEND) kind = VT_REQUEST_SEND;
    struct vt_mpi_request *r = object ? vt_mpi_post(kind, false, object, request) : NULL;
    if (!r) return;
    r->persistent = true;
    r->words[1] = vt_mpi_pair((uint32_t)peer, (uint32_t)tag);
    r->words[2] = bytes;
    r->words[0] = kind == VT_REQUEST_SEND ? VT_HEAD(VT_K_ISEND, 3, object) : VT_HEAD(VT_K_IRECV, 3, object);
    if (kind == VT_REQUEST_PRECV) r->n = 4;
    vt_mpi_put_back(r);
}

static bool vt_receives(const struct vt_mpi_request *r)
{
    return r->kind == VT_REQUEST_RECV || r->kind == VT_REQUEST_PRECV;
}

/* The entries are taken until the call returns: Open MPI gives a buffered send that is still active a new request, and
   may give the old handle to another thread. */
static void vt_start_take(struct vt_mpi_start *start, int n, const MPI_Request *requests)
{
    start->n = requests && n > 0 ? n : 0;
    start->requests = start->few;
    start->in_arena = start->n > VT_FEW;
    if (start->in_arena) start->requests = vt_mpi_arena_take((size_t)n * sizeof *start->requests);
    if (!start->requests) {
        vt_warn_left_out("mpi", "no memory to follow %d requests: their start is not recorded", n);
        start->n = start->in_arena = 0;
    }
    for (int i = 0; i < start->n; i++) {
        struct vt_mpi_request *r = NULL;
        if (requests[i] != MPI_REQUEST_NULL) r = vt_mpi_take_unshared(&vt_mpi_requests, VT_HANDLE(requests[i]));
        if (r && !r->persistent) {
            vt_mpi_put_back(r);
            r = NULL;
        }
        start->requests[i] = r;
    }
}

/* A send or a collective operation is recorded before the call, since its partner may see it before the call
   returns. */
void vt_mpi_start_begin(struct vt_mpi_start *start, uint32_t region, int n, const MPI_Request *requests)
{
    VT_MPI_BATCH(batch);
    *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_ENTER, 0, region);
    vt_start_take(start, n, requests);
    for (int i = 0; i < start->n; i++) {
        struct vt_mpi_request *r = start->requests[i];
        if (!r || vt_receives(r)) continue;
        r->id = vt_mpi_new_request();
        r->active = true;
        if (r->kind == VT_REQUEST_SEND) {
            r->words[3] = r->id;
            memcpy(vt_mpi_add(&batch, 4), r->words, 4 * sizeof *r->words);
        } else {
            r->words[4] = r->id;
            uint64_t *w = vt_mpi_add(&batch, 2);
            w[0] = VT_HEAD(VT_K_COLL_REQUEST, 1, 0);
            w[1] = r->id;
        }
    }
    vt_write(batch.words, batch.n);
}

void vt_mpi_start_end(struct vt_mpi_start *start, uint32_t region, const MPI_Request *requests, int result)
{
    VT_MPI_BATCH(batch);
    for (int i = 0; i < start->n; i++) {
        struct vt_mpi_request *r = start->requests[i];
        if (r && requests[i] != MPI_REQUEST_NULL) r = vt_mpi_rename(r, VT_HANDLE(requests[i]));
        if (!r) continue;
        uint64_t head = 0;
        if (result != MPI_SUCCESS) {
            if (r->active) head = VT_HEAD(VT_K_REQUEST_CANCELLED, 1, 0);
            r->active = false;
        } else if (vt_receives(r)) {
            r->id = r->words[3] = vt_mpi_new_request();
            r->active = true;
            head = VT_HEAD(VT_K_IRECV_REQUEST, 1, 0);
        }
        const uint64_t id = r->id;
        vt_mpi_put_back(r);
        if (!head) continue;
        uint64_t *w = vt_mpi_add(&batch, 2);
        w[0] = head;
        w[1] = id;
    }
    if (start->in_arena) vt_mpi_arena_drop();
    vt_mpi_leave(&batch, region);
}

/* ---- A matched probe consumes the message, so the receive is recorded as posted at the probe, not at MPI_Mrecv ---- */

void vt_mpi_probed(uint32_t region, MPI_Comm comm, const MPI_Message *message, bool found)
{
    VT_MPI_BATCH(batch);
    if (found && *message != MPI_MESSAGE_NULL && *message != MPI_MESSAGE_NO_PROC) {
        const struct vt_mpi_comm *c = vt_mpi_comm_used(comm);
        struct vt_mpi_request *r = c ? vt_mpi_put(&vt_mpi_messages, VT_HANDLE(*message), false) : NULL;
        if (r) {
            const uint64_t id = r->id = vt_mpi_new_request();
            r->kind = VT_REQUEST_MESSAGE;
            r->object = c->id;
            vt_mpi_put_back(r);
            uint64_t *w = vt_mpi_add(&batch, id ? 2 : 0);
            if (id) {
                w[0] = VT_HEAD(VT_K_IRECV_REQUEST, 1, 0);
                w[1] = id;
            }
        }
    }
    vt_mpi_leave(&batch, region);
}

struct vt_mpi_request *vt_mpi_take_message(const MPI_Message *message)
{
    return message ? vt_mpi_take(&vt_mpi_messages, VT_HANDLE(*message)) : NULL;
}

static void vt_add_cancelled(struct vt_mpi_batch *batch, uint64_t id)
{
    if (!id) return;
    uint64_t *w = vt_mpi_add(batch, 2);
    w[0] = VT_HEAD(VT_K_REQUEST_CANCELLED, 1, 0);
    w[1] = id;
}

void vt_mpi_mrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Status *status, int result,
                      uint64_t room)
{
    VT_MPI_BATCH(batch);
    if (message && vt_mpi_consumed(result)) {
        const MPI_Status completed = result == MPI_SUCCESS ? *status : vt_mpi_truncated(status, room);
        vt_mpi_add_received(&batch, message, &completed);
    } else if (message) vt_add_cancelled(&batch, message->id);
    if (message) vt_mpi_drop(message);
    vt_mpi_leave(&batch, region);
}

void vt_mpi_imrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Request *request, int result)
{
    VT_MPI_BATCH(batch);
    struct vt_mpi_request *r = NULL;
    if (message && result == MPI_SUCCESS) r = vt_mpi_post(VT_REQUEST_RECV, false, message->object, request);
    if (r) {
        r->id = message->id;
        r->active = true;
        vt_mpi_put_back(r);
    } else if (message) vt_add_cancelled(&batch, message->id);
    if (message) vt_mpi_drop(message);
    vt_mpi_leave(&batch, region);
}
