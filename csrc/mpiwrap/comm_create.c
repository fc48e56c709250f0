/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that create, name and free communicators. Their effects on the table are followed also when their group is off;
   then they write no records. */
#include "mpiwrap.h"

/* Writes the records at the end of a call, unless its group is off. */
static void vt_write_end(struct vt_mpi_batch *batch, uint32_t region)
{
    if (region != VT_MPI_GROUP_OFF) vt_mpi_leave(batch, region);
}

static void vt_write_begin(uint32_t region, bool collective)
{
    uint64_t words[] = {VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_BEGIN, 0, 0)};
    if (region != VT_MPI_GROUP_OFF) vt_write(words, 1 + collective);
}

static void vt_add_end(struct vt_mpi_batch *batch, uint32_t comm, enum vt_mpi_op op)
{
    uint64_t *w = vt_mpi_add(batch, 4);
    w[0] = VT_HEAD(VT_K_COLL_END, 3, comm);
    w[1] = vt_mpi_pair(op, VT_NO_ROOT);
    w[2] = w[3] = 0;
}

/* True for the two kinds of creation in which not all members of the parent take part. For these no counter of the
   parent is used, and the collective record is written on the new communicator. */
static bool vt_by_members(enum vt_comm_kind kind)
{
    return kind == VT_COMM_CREATE_GROUP || kind == VT_COMM_INTER_CREATE;
}

static struct vt_mpi_comm *vt_comm_created(MPI_Comm comm, const struct vt_mpi_origin *origin)
{
    vt_mpi_comm_lock();
    /* the program freed it by a function that vtrace does not wrap */
    struct vt_mpi_comm *stale = vt_mpi_comm_unlink(comm);
    if (stale) vt_mpi_comm_keep(stale);
    struct vt_mpi_comm *c = origin->kind == VT_COMM_DUP ? vt_mpi_comm_add_twin(origin) : vt_mpi_comm_add(comm, origin);
    if (c) vt_mpi_comm_link(c, comm);
    vt_mpi_comm_unlock();
    return c;
}

struct vt_mpi_creation vt_mpi_create_begin(uint32_t region, MPI_Comm parent, enum vt_comm_kind kind)
{
    struct vt_mpi_creation creation = {vt_mpi_comm(parent), parent, kind, 0};
    if (creation.parent && !vt_by_members(kind)) creation.count = atomic_fetch_add(&creation.parent->created, 1);
    vt_write_begin(region, creation.parent != NULL);
    return creation;
}

/* Returns true if the parent was unknown before this call; the call succeeded. */
static bool vt_parent_late(struct vt_mpi_creation *creation, int result)
{
    if (creation->parent || result != MPI_SUCCESS) return false;
    creation->parent = vt_mpi_comm_used(creation->from);
    if (creation->parent && !vt_by_members(creation->kind))
        creation->count = atomic_fetch_add(&creation->parent->created, 1);
    return creation->parent != NULL;
}

void vt_mpi_create_end(uint32_t region, struct vt_mpi_creation creation, int64_t tag, int result, const MPI_Comm *made)
{
    VT_MPI_BATCH(batch);
    struct vt_mpi_comm *c = NULL;
    const enum vt_comm_kind kind = creation.kind;
    if (vt_parent_late(&creation, result)) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COLL_BEGIN, 0, 0);
    if (creation.parent && result == MPI_SUCCESS && *made != MPI_COMM_NULL) {
        /* clang-format off */
        struct vt_mpi_origin origin = {.kind = kind, .parent = creation.parent, .from = creation.from, .tag = tag,
                                       .counted = !vt_by_members(kind), .count = creation.count};
        /* clang-format on */
        /* an inter-communicator's two sides have different local communicators; a spawned process does not know the
           parent */
        if (kind == VT_COMM_INTER_CREATE) origin.local = origin.parent;
        if (kind == VT_COMM_INTER_CREATE || kind == VT_COMM_SPAWN) origin.parent = NULL;
        if (kind == VT_COMM_SPAWN) origin.count = 0;
        c = vt_comm_created(*made, &origin);
    }
    if (c && kind != VT_COMM_SPAWN) {
        c->made = !atomic_load(&vt_mpi_off);
        *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COMM_CREATE, 0, c->id);
    }
    if (creation.parent)
        vt_add_end(&batch, c && vt_by_members(kind) ? c->id : creation.parent->id, VT_OP_CREATE_HANDLE);
    vt_write_end(&batch, region);
}

/* Before the inter-communicator is defined, since readers expect the peer communicator first. */
const struct vt_mpi_comm *vt_mpi_leaders_peer(MPI_Comm local, int leader, MPI_Comm peer, int result)
{
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_mpi_comm_used(local) : NULL;
    return c && c->rank == (uint32_t)leader ? vt_mpi_comm_used(peer) : NULL;
}

/* Threads that concurrently create inter-communicators of equal members and tags get them in a different order in each
   process. The leaders know which ones belong together, since a program must not use one peer communicator and tag for
   two calls at once. */
void vt_mpi_define_peer(MPI_Comm made, const struct vt_mpi_comm *peer, int leader)
{
    const struct vt_mpi_comm *c = peer && made != MPI_COMM_NULL ? vt_mpi_comm_find(made) : NULL;
    if (c) vt_define(VT_D_COMM_PEER, vt_number(c->id), vt_number(peer->id), vt_number((uint64_t)leader));
}

/* No communicator takes part in the call, so all its records are written at its end. */
void vt_mpi_create_alone_end(uint32_t region, const struct vt_mpi_origin *origin, int result, const MPI_Comm *made)
{
    VT_MPI_BATCH(batch);
    struct vt_mpi_comm *c = result == MPI_SUCCESS && *made != MPI_COMM_NULL ? vt_comm_created(*made, origin) : NULL;
    if (c) {
        c->made = !atomic_load(&vt_mpi_off);
        *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COLL_BEGIN, 0, 0);
        *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COMM_CREATE, 0, c->id);
        vt_add_end(&batch, c->id, VT_OP_CREATE_HANDLE);
    }
    vt_write_end(&batch, region);
}

/* ---- MPI_Comm_idup: the communicator is valid when the request is complete ---- */

struct vt_mpi_pending_comm {
    struct vt_mpi_pending_comm *next;
    const struct vt_mpi_request *request;
    struct vt_mpi_comm *comm;
    MPI_Comm handle;
};
static struct vt_mpi_pending_comm *vt_pending_comms, *vt_pending_spare; /* protected by the lock of communicators */

static void vt_idup_completed(struct vt_mpi_request *request, struct vt_mpi_batch *batch)
{
    vt_mpi_comm_lock();
    struct vt_mpi_pending_comm **link = &vt_pending_comms, *u;
    while ((u = *link) && u->request != request) link = &u->next;
    if (u) {
        *link = u->next;
        u->next = vt_pending_spare;
        vt_pending_spare = u;
        struct vt_mpi_comm *stale = vt_mpi_comm_unlink(u->handle);
        if (stale) vt_mpi_comm_keep(stale);
        vt_mpi_comm_link(u->comm, u->handle);
        u->comm->made = !atomic_load(&vt_mpi_off);
        *vt_mpi_add(batch, 1) = VT_HEAD(VT_K_COMM_CREATE, 0, u->comm->id);
    }
    vt_mpi_comm_unlock();
}

/* The caller holds the lock. All MPI libraries with MPI_Comm_idup store the handle before the call returns. */
static bool vt_add_pending(const struct vt_mpi_request *request, const struct vt_mpi_creation *creation,
                           MPI_Comm handle)
{
    const struct vt_mpi_origin origin = {
        .kind = VT_COMM_DUP, .parent = creation->parent, .counted = true, .count = creation->count};
    struct vt_mpi_comm *c = vt_mpi_comm_add_twin(&origin);
    struct vt_mpi_pending_comm *u = vt_pending_spare;
    if (!c) return false;
    if (u) vt_pending_spare = u->next;
    else u = vt_mpi_comm_memory(sizeof *u);
    if (!u) return false;
    *u = (struct vt_mpi_pending_comm){vt_pending_comms, request, c, handle};
    vt_pending_comms = u;
    return true;
}

void vt_mpi_idup_end(uint32_t region, struct vt_mpi_creation creation, int result, const MPI_Comm *made,
                     const MPI_Request *request)
{
    VT_MPI_BATCH(batch);
    struct vt_mpi_request *r = NULL;
    vt_parent_late(&creation, result);
    if (creation.parent && result == MPI_SUCCESS) r = vt_mpi_post(VT_REQUEST_COLL, false, creation.parent->id, request);
    if (r) {
        r->id = region == VT_MPI_GROUP_OFF ? 0 : vt_mpi_new_request();
        uint64_t *w = vt_mpi_add(&batch, r->id ? 2 : 0);
        if (r->id) {
            w[0] = VT_HEAD(VT_K_COLL_REQUEST, 1, 0);
            w[1] = r->id;
        }
        r->words[0] = VT_HEAD(VT_K_COLL_COMPLETE, 4, creation.parent->id);
        r->words[1] = vt_mpi_pair(VT_OP_CREATE_HANDLE, VT_NO_ROOT);
        r->words[2] = r->words[3] = 0;
        r->words[4] = r->id;
        r->n = 5;
        vt_mpi_comm_lock();
        if (vt_add_pending(r, &creation, *made)) r->end = vt_idup_completed;
        vt_mpi_comm_unlock();
        r->active = true;
        vt_mpi_put_back(r);
    }
    vt_write_end(&batch, region);
}

struct vt_mpi_creation vt_mpi_idup_begin(uint32_t region, MPI_Comm parent)
{
    struct vt_mpi_creation creation = {vt_mpi_comm(parent), parent, VT_COMM_DUP, 0};
    if (creation.parent) creation.count = atomic_fetch_add(&creation.parent->created, 1);
    vt_write_begin(region, false);
    return creation;
}

/* ---- Freeing and naming ---- */

/* The entry is removed before the call: MPI may give the same handle to another thread as soon as the call frees it. */
struct vt_mpi_comm *vt_mpi_free_begin(uint32_t region, const MPI_Comm *comm)
{
    vt_mpi_comm_lock();
    struct vt_mpi_comm *c = comm ? vt_mpi_comm_unlink(*comm) : NULL;
    vt_mpi_comm_unlock();
    vt_write_begin(region, c != NULL);
    return c;
}

/* comm: the handle before the call. */
void vt_mpi_free_end(uint32_t region, struct vt_mpi_comm *c, MPI_Comm comm, int result)
{
    VT_MPI_BATCH(batch);
    if (c) {
        if (result == MPI_SUCCESS && c->made) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COMM_DESTROY, 0, c->id);
        vt_add_end(&batch, c->id, VT_OP_DESTROY_HANDLE);
        vt_mpi_comm_lock();
        if (result == MPI_SUCCESS) vt_mpi_comm_keep(c);
        else vt_mpi_comm_link(c, comm);
        vt_mpi_comm_unlock();
    }
    vt_write_end(&batch, region);
}

void vt_mpi_name(MPI_Comm comm, const char *name)
{
    const struct vt_mpi_comm *c = vt_mpi_comm_used(comm);
    if (c) vt_mpi_comm_define_name(c, name);
}

static char *vt_put_number(char *at, unsigned n)
{
    if (n > 9) at = vt_put_number(at, n / 10);
    *at = (char)('0' + n % 10);
    return at + 1;
}

static void vt_define_grid(const struct vt_mpi_comm *c, int n, const int *extents, const int *periodic)
{
    uint64_t wraps = 0;
    if (c->rank || n < 1 || n > VT_MOST_DIMENSIONS) return;
    for (int i = 0; i < n; i++) wraps |= (uint64_t)(periodic[i] != 0) << i;
    vt_define(VT_D_COMM_GRID, vt_number(c->id), vt_bytes(extents, 4 * (size_t)n), vt_number(wraps));
}

/* Defines the shape of a grid, and its name until the program names it: its extents, with p for periodic ones
   (4p x 2). */
void vt_mpi_define_grid(MPI_Comm comm, int n, const int *extents, const int *periodic)
{
    char name[256] = "MPI_Cart_create ", *at = name + strlen(name);
    const struct vt_mpi_comm *c = comm == MPI_COMM_NULL ? NULL : vt_mpi_comm_find(comm);
    if (!c) return;
    for (int i = 0; i < n && at < name + sizeof name - 20; i++) {
        if (i) {
            memcpy(at, " x ", 3);
            at += 3;
        }
        at = vt_put_number(at, (unsigned)extents[i]);
        if (periodic[i]) *at++ = 'p';
    }
    *at = 0;
    vt_mpi_comm_define_name(c, name);
    vt_define_grid(c, n, extents, periodic);
}
