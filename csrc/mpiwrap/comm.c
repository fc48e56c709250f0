/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: which definition a handle stands for, and what makes two processes' definitions the same. */
#include "mpiwrap.h"

#include <sched.h>

_Atomic(struct vt_mpi_comm *) vt_mpi_comms[VT_COMM_BUCKETS];
uint64_t vt_mpi_world_id;

#define VT_RANKS_PER_DEFINITION 8000

/* Everything below belongs to whoever holds the lock; looking up a known communicator needs none. Entries are used
   again but never given back, so that a reader who is overtaken finds valid memory and, at worst, asks again here.  */
static atomic_flag vt_comm_lock = ATOMIC_FLAG_INIT;
static struct vt_mpi_comm *vt_comm_spare;
static int *vt_comm_ranks;
static size_t vt_comm_ranks_bytes;

/* How often an identity without a counting parent occurred. */
struct vt_mpi_seen {
    struct vt_mpi_seen *next;
    uint64_t identity;
    uint32_t count;
};
static struct vt_mpi_seen *vt_comm_seen[VT_COMM_BUCKETS];

static void vt_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&vt_comm_lock, memory_order_acquire)) sched_yield();
}

static void vt_unlock(void) { atomic_flag_clear_explicit(&vt_comm_lock, memory_order_release); }

/* Memory that is never given back, from pages. */
static void *vt_comm_memory(size_t bytes)
{
    static char *at;
    static size_t left;
    if (left < bytes) {
        left = 64 * 1024;
        at = vt_pages(left);
        if (!at) left = 0;
    }
    if (left < bytes) return NULL;
    void *memory = at;
    at += bytes;
    left -= bytes;
    return memory;
}

static void vt_comm_link(struct vt_mpi_comm *c)
{
    _Atomic(struct vt_mpi_comm *) *bucket = &vt_mpi_comms[vt_mpi_bucket(c->handle)];
    atomic_store(&c->next, atomic_load(bucket));
    atomic_store_explicit(bucket, c, memory_order_release);
}

static struct vt_mpi_comm *vt_comm_unlink(uint64_t handle)
{
    _Atomic(struct vt_mpi_comm *) *link = &vt_mpi_comms[vt_mpi_bucket(handle)];
    struct vt_mpi_comm *c;
    while ((c = atomic_load(link)) && c->handle != handle) link = &c->next;
    if (c) atomic_store(link, atomic_load(&c->next));
    return c;
}

static void vt_comm_keep(struct vt_mpi_comm *c)
{
    atomic_store(&c->next, vt_comm_spare);
    vt_comm_spare = c;
}

static struct vt_mpi_comm *vt_comm_new(void)
{
    struct vt_mpi_comm *c = vt_comm_spare;
    if (c) vt_comm_spare = atomic_load(&c->next);
    else c = vt_comm_memory(sizeof *c);
    return c;
}

/* ---- Identity ---- */

static uint32_t vt_comm_count(uint64_t identity)
{
    struct vt_mpi_seen **bucket = &vt_comm_seen[vt_mpi_bucket(identity)], *seen = *bucket;
    while (seen && seen->identity != identity) seen = seen->next;
    if (!seen) {
        seen = vt_comm_memory(sizeof *seen);
        if (!seen) return 0;
        *seen = (struct vt_mpi_seen){*bucket, identity, 0};
        *bucket = seen;
    }
    return seen->count++;
}

static bool vt_comm_room(size_t ranks)
{
    const size_t bytes = ranks * sizeof(int);
    if (bytes <= vt_comm_ranks_bytes) return true;
    int *more = vt_pages(2 * bytes);
    if (!more) return false;
    vt_comm_ranks = more;
    vt_comm_ranks_bytes = 2 * bytes;
    return true;
}

/* The world ranks of a group's n members into ranks[0..n), with ranks[n..2n) as working space. The group is freed. */
static void vt_comm_world_ranks(MPI_Group group, int n, int *ranks)
{
    MPI_Group world;
    for (int i = 0; i < n; i++) ranks[n + i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, n, ranks + n, world, ranks);
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
}

static uint64_t vt_comm_hash(const int *local, const struct vt_mpi_comm *c, const int *remote)
{
    uint64_t a = vt_checksum(vt_mpi_world_id, local, c->size * sizeof *local);
    if (!c->remote) return a;
    uint64_t b = vt_checksum(vt_mpi_world_id, remote, c->remote * sizeof *remote);
    return a < b ? vt_checksum(a, &b, sizeof b) : vt_checksum(b, &a, sizeof a);
}

/* ---- Definitions ---- */

struct vt_mpi_identity {
    enum vt_comm_kind kind;
    uint32_t parent; /* 0: none */
    int tag;
    bool counted;    /* count is known */
    uint32_t count;
};

static int vt_comm_define(const struct vt_mpi_comm *c, const struct vt_mpi_identity *who, uint64_t hash)
{
    uint8_t bytes[128];
    struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
    vt_mp_array(&m, 10);
    vt_mp_uint(&m, VT_D_COMM);
    vt_mp_uint(&m, c->id);
    vt_mp_uint(&m, who->kind);
    if (who->parent) vt_mp_uint(&m, who->parent);
    else vt_mp_nil(&m);
    vt_mp_int(&m, who->tag);
    vt_mp_uint(&m, hash);
    vt_mp_uint(&m, who->count);
    vt_mp_uint(&m, c->size);
    vt_mp_uint(&m, c->rank);
    vt_mp_uint(&m, c->remote);
    return vt_define(bytes, (size_t)(m.at - bytes));
}

static void vt_comm_define_members(const struct vt_mpi_comm *c, int side, const int *ranks, uint32_t n)
{
    static uint8_t bytes[VT_RANKS_PER_DEFINITION * 4 + 64];
    for (uint32_t first = 0; first < n; first += VT_RANKS_PER_DEFINITION) {
        const uint32_t left = n - first;
        struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
        vt_mp_array(&m, 6);
        vt_mp_uint(&m, VT_D_COMM_MEMBERS);
        vt_mp_uint(&m, c->id);
        vt_mp_uint(&m, (uint64_t)side);
        vt_mp_uint(&m, first);
        vt_mp_uint(&m, vt_mpi_world_id);
        vt_mp_bin(&m, ranks + first, 4 * (left < VT_RANKS_PER_DEFINITION ? left : VT_RANKS_PER_DEFINITION));
        vt_define(bytes, (size_t)(m.at - bytes));
    }
}

static void vt_comm_define_name(uint32_t id, const char *name)
{
    uint8_t bytes[1100];
    struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
    vt_mp_array(&m, 3);
    vt_mp_uint(&m, VT_D_COMM_NAME);
    vt_mp_uint(&m, id);
    vt_mp_strn(&m, name, strnlen(name, 1000));
    vt_define(bytes, (size_t)(m.at - bytes));
}

/* Defines a communicator that the table does not hold and puts it there. Rank 0 of it (of each group) writes the
   members: its own group as side 0, the other one as side 1.                                                     */
static struct vt_mpi_comm *vt_comm_add(MPI_Comm comm, struct vt_mpi_identity who)
{
    int inter = 0, size = 0, rank = 0, remote = 0;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    if (inter) PMPI_Comm_remote_size(comm, &remote);
    struct vt_mpi_comm *c = vt_comm_room(2 * ((size_t)size + (size_t)remote)) ? vt_comm_new() : NULL;
    if (!c) return NULL;
    int *local_ranks = vt_comm_ranks, *remote_ranks = vt_comm_ranks + 2 * size;
    MPI_Group group;
    PMPI_Comm_group(comm, &group);
    vt_comm_world_ranks(group, size, local_ranks);
    if (inter) {
        PMPI_Comm_remote_group(comm, &group);
        vt_comm_world_ranks(group, remote, remote_ranks);
    }
    c->id = (uint32_t)vt_new_id(VT_ID_COMM);
    c->size = (uint32_t)size;
    c->rank = (uint32_t)rank;
    c->remote = (uint32_t)remote;
    c->made = false;
    c->created = c->windows = 0;
    const uint64_t hash = vt_comm_hash(local_ranks, c, remote_ranks);
    if (!who.counted) {
        const uint64_t identity[] = {who.kind, who.parent, (uint64_t)who.tag, hash};
        who.count = vt_comm_count(vt_checksum(0, identity, sizeof identity));
    }
    if (!c->id || !vt_comm_define(c, &who, hash)) {
        vt_warn("too many communicators, or no room to define them: the others are not recorded");
        vt_comm_keep(c);
        return NULL;
    }
    if (rank == 0) {
        vt_comm_define_members(c, 0, local_ranks, c->size);
        if (inter) vt_comm_define_members(c, 1, remote_ranks, c->remote);
    }
    atomic_store(&c->handle, VT_HANDLE(comm));
    vt_comm_link(c);
    return c;
}

void vt_mpi_define_world(void)
{
    vt_lock();
    struct vt_mpi_comm *c = vt_comm_add(MPI_COMM_WORLD, (struct vt_mpi_identity){.kind = VT_COMM_WORLD});
    if (c) vt_comm_define_name(c->id, "MPI_COMM_WORLD");
    c = vt_comm_add(MPI_COMM_SELF, (struct vt_mpi_identity){.kind = VT_COMM_SELF});
    if (c) vt_comm_define_name(c->id, "MPI_COMM_SELF");
    vt_unlock();
}

/* A communicator whose making we did not see. */
struct vt_mpi_comm *vt_mpi_comm_first(MPI_Comm comm)
{
    const uint64_t handle = VT_HANDLE(comm);
    if (comm == MPI_COMM_NULL) return NULL;
    vt_lock();
    struct vt_mpi_comm *c = atomic_load(&vt_mpi_comms[vt_mpi_bucket(handle)]);
    while (c && c->handle != handle) c = atomic_load(&c->next);
    if (!c) c = vt_comm_add(comm, (struct vt_mpi_identity){.kind = VT_COMM_OTHER});
    vt_unlock();
    return c;
}

/* ---- Wrapped calls ---- */

/* The two kinds that not all of the parent take part in: nothing on the parent counts them, and the collective
   record stands on the new communicator.                                                                       */
static bool vt_comm_by_members(enum vt_comm_kind kind)
{
    return kind == VT_COMM_CREATE_GROUP || kind == VT_COMM_INTER_CREATE;
}

struct vt_mpi_creation vt_mpi_create_begin(uint32_t region, MPI_Comm parent, enum vt_comm_kind kind)
{
    struct vt_mpi_creation creation = {vt_mpi_comm(parent), kind, 0};
    if (creation.parent) {
        uint64_t words[] = {VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_BEGIN, 0, 0)};
        if (!vt_comm_by_members(kind)) creation.count = atomic_fetch_add(&creation.parent->created, 1);
        vt_write(words, 2);
    } else vt_enter(region);
    return creation;
}

void vt_mpi_create_end(uint32_t region, struct vt_mpi_creation creation, int tag, int result, const MPI_Comm *made)
{
    struct vt_mpi_batch batch = {.n = 0};
    struct vt_mpi_comm *parent = creation.parent, *c = NULL;
    const enum vt_comm_kind kind = creation.kind;
    if (parent && result == MPI_SUCCESS && *made != MPI_COMM_NULL) {
        struct vt_mpi_identity who = {kind, parent->id, tag, !vt_comm_by_members(kind), creation.count};
        /* the two sides of an inter-communicator have different local communicators */
        if (kind == VT_COMM_INTER_CREATE) who.parent = 0;
        vt_lock();
        /* freed behind our back */
        struct vt_mpi_comm *stale = vt_comm_unlink(VT_HANDLE(*made));
        if (stale) vt_comm_keep(stale);
        c = vt_comm_add(*made, who);
        vt_unlock();
    }
    if (c) {
        c->made = true;
        *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COMM_CREATE, 0, c->id);
    }
    if (parent) {
        uint64_t *w = vt_mpi_add(&batch, 4);
        w[0] = VT_HEAD(VT_K_COLL_END, 3, c && vt_comm_by_members(kind) ? c->id : parent->id);
        w[1] = vt_mpi_pair(VT_OP_CREATE_HANDLE, VT_NO_ROOT);
        w[2] = w[3] = 0;
    }
    vt_mpi_leave(&batch, region);
}

/* The entry goes before the call: another thread may be given the same handle as soon as MPI has it back. */
struct vt_mpi_comm *vt_mpi_free_begin(uint32_t region, const MPI_Comm *comm)
{
    struct vt_mpi_comm *c = comm ? vt_mpi_comm(*comm) : NULL;
    if (!c) {
        vt_enter(region);
        return NULL;
    }
    uint64_t words[] = {VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_BEGIN, 0, 0)};
    vt_write(words, 2);
    vt_lock();
    c = vt_comm_unlink(VT_HANDLE(*comm));
    vt_unlock();
    return c;
}

void vt_mpi_free_end(uint32_t region, struct vt_mpi_comm *c, int result)
{
    struct vt_mpi_batch batch = {.n = 0};
    if (c) {
        if (result == MPI_SUCCESS && c->made) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_COMM_DESTROY, 0, c->id);
        uint64_t *w = vt_mpi_add(&batch, 4);
        w[0] = VT_HEAD(VT_K_COLL_END, 3, c->id);
        w[1] = vt_mpi_pair(VT_OP_DESTROY_HANDLE, VT_NO_ROOT);
        w[2] = w[3] = 0;
        vt_lock();
        if (result == MPI_SUCCESS) vt_comm_keep(c);
        else vt_comm_link(c);
        vt_unlock();
    }
    vt_mpi_leave(&batch, region);
}

void vt_mpi_name(MPI_Comm comm, const char *name)
{
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    if (c) vt_comm_define_name(c->id, name);
}
