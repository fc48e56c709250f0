/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls that start or finish a message. A peer out of range, MPI_PROC_NULL among them, has no record. */
#include "mpiwrap.h"

/* ---- Bytes ---- */

struct vt_mpi_type
    vt_mpi_types[VT_TYPES]; /* the C types, whose handles always mean the same; filled once, at MPI_Init */

void vt_mpi_learn_types(void)
{
    const MPI_Datatype types[] = {
        /* clang-format off */
        MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_PACKED, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT,
        MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
        MPI_LONG_DOUBLE, MPI_DOUBLE_INT, MPI_FLOAT_INT, MPI_2INT,
        MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
        MPI_C_BOOL, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET,
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int size = 0;
        if (types[i] == MPI_DATATYPE_NULL || PMPI_Type_size(types[i], &size) != MPI_SUCCESS || size < 0) continue;
        unsigned place = vt_mpi_type_place(VT_HANDLE(types[i]));
        while (vt_mpi_types[place].handle) place = (place + 1) % VT_TYPES;
        vt_mpi_types[place].size = (uint64_t)size;
        vt_mpi_types[place].handle = VT_HANDLE(types[i]);
    }
}

uint64_t vt_mpi_type_size(MPI_Datatype type)
{
    const uint64_t handle = VT_HANDLE(type);
    for (unsigned place = vt_mpi_type_place(handle); vt_mpi_types[place].handle; place = (place + 1) % VT_TYPES)
        if (vt_mpi_types[place].handle == handle) return vt_mpi_types[place].size;
    if (type == MPI_DATATYPE_NULL) return 0;
#ifdef VT_HAVE_MPI_Type_size_x
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
#else
    int size = 0;
    PMPI_Type_size(type, &size);
#endif
    return size > 0 ? (uint64_t)size : 0;
}

/* The bytes that a status tells of: from its own fields where their meaning is known, for that is cheaper than a call. */
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

/* ---- Blocking ---- */

/* NULL where there is nothing to record. */
static const struct vt_mpi_comm *vt_comm_of_peer(MPI_Comm comm, int peer)
{
    if (peer == MPI_PROC_NULL) return NULL;
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    return c && (uint32_t)peer < vt_mpi_peers(c) ? c : NULL;
}

static const struct vt_mpi_comm *vt_comm_of_source(MPI_Comm comm, int source)
{
    return source == MPI_ANY_SOURCE ? vt_mpi_comm(comm) : vt_comm_of_peer(comm, source);
}

void vt_mpi_send_begin(uint32_t region, MPI_Comm comm, int dest, int tag, uint64_t bytes)
{
    const struct vt_mpi_comm *c = vt_comm_of_peer(comm, dest);
    if (!c) {
        vt_enter(region);
        return;
    }
    vt_write_4(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_SEND, 2, c->id), vt_mpi_pair((uint32_t)dest, (uint32_t)tag),
               bytes);
}

static void vt_recv_leave(uint32_t region, uint32_t comm, const MPI_Status *status)
{
    vt_write_4(VT_HEAD(VT_K_RECV, 2, comm), vt_mpi_pair((uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG),
               vt_mpi_received(status), VT_HEAD(VT_K_LEAVE, 0, region));
}

void vt_mpi_recv_end(uint32_t region, MPI_Comm comm, const MPI_Status *status, int result)
{
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_comm_of_peer(comm, status->MPI_SOURCE) : NULL;
    if (c) vt_recv_leave(region, c->id, status);
    else vt_leave(region);
}

/* ---- Non-blocking ---- */

uint64_t vt_mpi_isend_begin(uint32_t region, MPI_Comm comm, int dest, int tag, uint64_t bytes)
{
    const struct vt_mpi_comm *c = vt_comm_of_peer(comm, dest);
    if (!c) {
        vt_enter(region);
        return 0;
    }
    const uint64_t id = vt_mpi_new_request();
    vt_write_5(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_ISEND, 3, c->id),
               vt_mpi_pair((uint32_t)dest, (uint32_t)tag), bytes, id);
    return id;
}

void vt_mpi_isend_end(uint32_t region, uint64_t id, const MPI_Request *request, int result)
{
    if (id && result != MPI_SUCCESS) {
        vt_write_3(VT_HEAD(VT_K_REQUEST_CANCELLED, 1, 0), id, VT_HEAD(VT_K_LEAVE, 0, region));
        return;
    }
    if (id) vt_mpi_follow(VT_REQUEST_SEND, 0, id, NULL, 0, request);
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

/* send: what vt_mpi_isend_begin gave; bytes: that the receive has room for. */
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
    struct vt_mpi_request *r = c ? vt_mpi_post(kind, false, c->id, request) : NULL;
    if (!r) return;
    r->persistent = true;
    r->words[1] = vt_mpi_pair((uint32_t)peer, (uint32_t)tag);
    r->words[2] = bytes;
    r->words[0] = kind == VT_REQUEST_SEND ? VT_HEAD(VT_K_ISEND, 3, c->id) : VT_HEAD(VT_K_IRECV, 3, c->id);
    if (kind == VT_REQUEST_PRECV) r->n = 4;
    vt_mpi_put_back(r);
}

static struct vt_mpi_request *vt_find_persistent(const MPI_Request *request)
{
    struct vt_mpi_request *r = vt_mpi_find(&vt_mpi_requests, VT_HANDLE(*request));
    return r && r->persistent ? r : NULL;
}

static bool vt_receives(const struct vt_mpi_request *r)
{
    return r->kind == VT_REQUEST_RECV || r->kind == VT_REQUEST_PRECV;
}

/* A send or a collective operation begins before the call, as it may meet its partners before that returns. */
void vt_mpi_start_begin(uint32_t region, int n, const MPI_Request *requests)
{
    struct vt_mpi_batch batch = {.n = 0};
    *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_ENTER, 0, region);
    for (int i = 0; requests && i < n; i++) {
        struct vt_mpi_request *r = vt_find_persistent(&requests[i]);
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

void vt_mpi_start_end(uint32_t region, int n, const MPI_Request *requests, int result)
{
    struct vt_mpi_batch batch = {.n = 0};
    for (int i = 0; requests && i < n; i++) {
        struct vt_mpi_request *r = vt_find_persistent(&requests[i]);
        if (!r) continue;
        uint64_t head = VT_HEAD(VT_K_IRECV_REQUEST, 1, 0);
        if (result != MPI_SUCCESS) {
            if (!r->active) continue;
            r->active = false;
            head = VT_HEAD(VT_K_REQUEST_CANCELLED, 1, 0);
        } else if (vt_receives(r)) {
            r->id = r->words[3] = vt_mpi_new_request();
            r->active = true;
        } else continue;
        uint64_t *w = vt_mpi_add(&batch, 2);
        w[0] = head;
        w[1] = r->id;
    }
    vt_mpi_leave(&batch, region);
}

/* ---- Matched probe: the message handle stands for the communicator ---- */

void vt_mpi_probed(MPI_Comm comm, const MPI_Message *message)
{
    if (*message == MPI_MESSAGE_NULL || *message == MPI_MESSAGE_NO_PROC) return;
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    struct vt_mpi_request *r = c ? vt_mpi_put(&vt_mpi_messages, VT_HANDLE(*message), false) : NULL;
    if (!r) return;
    r->kind = VT_REQUEST_MESSAGE;
    r->object = c->id;
    vt_mpi_put_back(r);
}

struct vt_mpi_request *vt_mpi_take_message(const MPI_Message *message)
{
    return message ? vt_mpi_take(&vt_mpi_messages, VT_HANDLE(*message)) : NULL;
}

void vt_mpi_mrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Status *status, int result)
{
    if (message && result == MPI_SUCCESS) vt_recv_leave(region, message->object, status);
    else vt_leave(region);
    if (message) vt_mpi_drop(message);
}

void vt_mpi_imrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Request *request, int result)
{
    if (message && result == MPI_SUCCESS)
        vt_irecv_leave(region, vt_mpi_post(VT_REQUEST_RECV, false, message->object, request));
    else vt_leave(region);
    if (message) vt_mpi_drop(message);
}
