/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: maps handles to definitions and computes the identity by which vtunify merges the definitions of
   several processes. */
#include "mpiwrap.h"

#include <sched.h>

_Atomic(struct vt_mpi_comm *) vt_mpi_comms[VT_COMM_BUCKETS];
uint64_t vt_mpi_world_id;

#define VT_RANKS_PER_DEFINITION 8000

/* The lock protects everything below; looking up a known communicator needs no lock. Entries are reused and never
   freed. So a lookup that races with a reuse reads valid memory. At worst the lookup misses, and is repeated under the
   lock. */
static atomic_flag vt_comm_lock = ATOMIC_FLAG_INIT;
static struct vt_mpi_comm *vt_comm_spare;
static int *vt_comm_ranks;
static size_t vt_comm_ranks_bytes;

/* Number of occurrences of an identity that no counter of a parent covers. An identity with a parent is in the list of
   its parent and is freed with the parent. */
struct vt_mpi_seen {
    struct vt_mpi_seen *next;
    uint64_t identity;
    uint32_t count;
};
static struct vt_mpi_seen *vt_comm_seen[VT_COMM_BUCKETS], *vt_comm_seen_spare;

/* Hashes of the lists of members that this process has written. */
static struct vt_mpi_seen *vt_comm_lists[VT_COMM_BUCKETS];

void vt_mpi_comm_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&vt_comm_lock, memory_order_acquire)) sched_yield();
}

void vt_mpi_comm_unlock(void) { atomic_flag_clear_explicit(&vt_comm_lock, memory_order_release); }

/* The caller holds the lock. */
void *vt_mpi_comm_memory(size_t bytes)
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

void vt_mpi_comm_link(struct vt_mpi_comm *c, MPI_Comm comm)
{
    _Atomic(struct vt_mpi_comm *) *bucket = &vt_mpi_comms[vt_mpi_bucket(VT_HANDLE(comm))];
    atomic_store(&c->handle, VT_HANDLE(comm));
    atomic_store(&c->next, atomic_load(bucket));
    atomic_store_explicit(bucket, c, memory_order_release);
}

/* Removes a handle from the table. Returns its entry, or NULL. */
struct vt_mpi_comm *vt_mpi_comm_unlink(MPI_Comm comm)
{
    const uint64_t handle = VT_HANDLE(comm);
    _Atomic(struct vt_mpi_comm *) *link = &vt_mpi_comms[vt_mpi_bucket(handle)];
    struct vt_mpi_comm *c;
    while ((c = atomic_load(link)) && c->handle != handle) link = &c->next;
    if (c) atomic_store(link, atomic_load(&c->next));
    return c;
}

/* Keeps an entry for reuse. */
void vt_mpi_comm_keep(struct vt_mpi_comm *c)
{
    while (c->seen) {
        struct vt_mpi_seen *seen = c->seen;
        c->seen = seen->next;
        seen->next = vt_comm_seen_spare;
        vt_comm_seen_spare = seen;
    }
    struct vt_mpi_comm *partitioned = atomic_exchange(&c->partitioned, NULL);
    if (partitioned) vt_mpi_comm_keep(partitioned);
    atomic_store(&c->next, vt_comm_spare);
    vt_comm_spare = c;
}

static struct vt_mpi_comm *vt_comm_new(void)
{
    struct vt_mpi_comm *c = vt_comm_spare;
    if (c) vt_comm_spare = atomic_load(&c->next);
    else c = vt_mpi_comm_memory(sizeof *c);
    if (c) {
        c->made = c->foreign = c->unseen = false;
        c->created = c->windows = 0;
        c->seen = NULL;
    }
    return c;
}

/* ---- Identity ---- */

/* Returns the entry of an identity in a list. A new entry has count 0. NULL if there is no memory. */
static struct vt_mpi_seen *vt_comm_seen_entry(struct vt_mpi_seen **list, uint64_t identity)
{
    struct vt_mpi_seen *seen = *list;
    while (seen && seen->identity != identity) seen = seen->next;
    if (seen) return seen;
    seen = vt_comm_seen_spare;
    if (seen) vt_comm_seen_spare = seen->next;
    else seen = vt_mpi_comm_memory(sizeof *seen);
    if (!seen) return NULL;
    *seen = (struct vt_mpi_seen){*list, identity, 0};
    *list = seen;
    return seen;
}

static uint32_t vt_comm_count(struct vt_mpi_comm *parent, uint64_t identity)
{
    struct vt_mpi_seen **list = parent ? &parent->seen : &vt_comm_seen[vt_mpi_bucket(identity)];
    struct vt_mpi_seen *seen = vt_comm_seen_entry(list, identity);
    return seen ? seen->count++ : 0;
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

/* Stores the ranks in `other` of the n members of a group into ranks[0..n); -1 for a process that is not in `other`.
   ranks[n..2n) is working space. Returns true if all members are in `other`. */
static bool vt_comm_ranks_in(MPI_Group group, int n, MPI_Group other, int *ranks)
{
    bool all = true;
    for (int i = 0; i < n; i++) ranks[n + i] = i;
    const bool known = PMPI_Group_translate_ranks(group, n, ranks + n, other, ranks) == MPI_SUCCESS;
    for (int i = 0; i < n; i++)
        if (!known || ranks[i] < 0) {
            ranks[i] = -1;
            all = false;
        }
    return all;
}

/* Gets the group of one side of a communicator: 0 the own group, 1 the remote group. Returns false if the group does
   not have the n members of that side: the ranks of MPIX_Threadcomm are threads, several of one process. */
static bool vt_comm_group(MPI_Comm comm, int side, uint32_t n, MPI_Group *group)
{
    int members = 0;
    if ((side ? PMPI_Comm_remote_group(comm, group) : PMPI_Comm_group(comm, group)) != MPI_SUCCESS) return false;
    if (PMPI_Group_size(*group, &members) == MPI_SUCCESS && (uint32_t)members == n) return true;
    /* Ranks that are threads of one process call MPI concurrently, whatever MPI_Query_thread returned. */
    vt_mpi_single_threaded = false;
    PMPI_Group_free(group);
    return false;
}

static int *vt_comm_side(const struct vt_mpi_comm *c, int side)
{
    return side ? vt_comm_ranks + 2 * c->size : vt_comm_ranks;
}

static uint32_t vt_comm_members(const struct vt_mpi_comm *c, int side) { return side ? c->remote : c->size; }

/* Stores the ranks of the members in this process's world for both sides. Returns false if the ranks are no
   processes. */
static bool vt_comm_find_members(struct vt_mpi_comm *c, MPI_Comm comm)
{
    MPI_Group group, world;
    const bool has_world = vt_mpi_world_group(&world);
    bool fine = true;
    for (int side = 0; fine && side <= (c->remote > 0); side++) {
        const int n = (int)vt_comm_members(c, side);
        int *ranks = vt_comm_side(c, side);
        fine = vt_comm_group(comm, side, (uint32_t)n, &group);
        if (fine && has_world) {
            if (!vt_comm_ranks_in(group, n, world, ranks)) c->foreign = true;
        } else {
            for (int i = 0; i < n; i++) ranks[i] = -1;
            c->foreign = true;
        }
        if (fine) PMPI_Group_free(&group);
    }
    if (has_world) PMPI_Group_free(&world);
    return fine;
}

/* Hash of both sides. The result is the same for the processes of both groups. */
static uint64_t vt_comm_hash(const struct vt_mpi_comm *c, uint64_t seed)
{
    const uint64_t a = vt_checksum(seed, vt_comm_side(c, 0), c->size * sizeof(int));
    if (!c->remote) return a;
    const uint64_t b = vt_checksum(seed, vt_comm_side(c, 1), c->remote * sizeof(int));
    return a < b ? vt_checksum(a, &b, sizeof b) : vt_checksum(b, &a, sizeof a);
}

/* A hash for a communicator of several worlds, where no process knows the ranks of all members in their worlds. The
   members' ranks in the parent identify them, since every member knows these ranks. Without such a parent the hash is
   seed alone: one call on the parent makes one communicator. Overwrites both sides. */
static uint64_t vt_comm_hash_in_parent(struct vt_mpi_comm *c, MPI_Comm comm, const struct vt_mpi_origin *origin)
{
    MPI_Group group, in;
    const uint64_t seed = origin->parent ? origin->parent->hash : (uint64_t)origin->tag;
    if (!origin->parent || !origin->parent->remote != !c->remote) return seed;
    for (int side = 0; side <= (c->remote > 0); side++) {
        if (!vt_comm_group(comm, side, vt_comm_members(c, side), &group)) return seed;
        if (vt_comm_group(origin->from, side, vt_comm_members(origin->parent, side), &in)) {
            vt_comm_ranks_in(group, (int)vt_comm_members(c, side), in, vt_comm_side(c, side));
            PMPI_Group_free(&in);
        }
        PMPI_Group_free(&group);
    }
    return vt_comm_hash(c, seed);
}

/* ---- Definitions ---- */

static int vt_comm_define(const struct vt_mpi_comm *c, const struct vt_mpi_origin *origin, uint64_t count)
{
    const struct vt_mpi_comm *parent = origin->parent ? origin->parent : origin->local;
    return vt_define(VT_D_COMM, vt_number(c->id), vt_number(origin->kind), vt_id(parent ? parent->id : 0),
                     origin->string ? vt_string_of(origin->string, 256) : vt_signed(origin->tag), vt_number(c->hash),
                     vt_number(count), vt_number(c->size), vt_number(c->rank), vt_number(c->remote));
}

static void vt_comm_define_members(const struct vt_mpi_comm *c, int side)
{
    const uint32_t n = vt_comm_members(c, side);
    const int *ranks = vt_comm_side(c, side);
    for (uint32_t first = 0; first < n; first += VT_RANKS_PER_DEFINITION) {
        const uint32_t part = n - first < VT_RANKS_PER_DEFINITION ? n - first : VT_RANKS_PER_DEFINITION;
        vt_define(VT_D_COMM_MEMBERS, vt_number(c->id), vt_number((uint64_t)side), vt_number(first),
                  vt_number(vt_mpi_world_id), vt_bytes(ranks + first, 4 * part));
    }
}

void vt_mpi_comm_define_name(const struct vt_mpi_comm *c, const char *name)
{
    vt_mpi_define_name(VT_D_COMM_NAME, c->id, name);
}

/* Rank 0 of the communicator (of each group of an inter-communicator) writes the members: its own group as side 0, the
   remote group as side 1. Equal lists are written once, since other definitions refer to a list by its hash. The hash
   of a communicator of several worlds identifies no list. */
static void vt_comm_write_members(const struct vt_mpi_comm *c)
{
    if (c->rank) return;
    if (!c->foreign) {
        struct vt_mpi_seen *list = vt_comm_seen_entry(&vt_comm_lists[vt_mpi_bucket(c->hash)], c->hash);
        if (list && list->count++) return;
    }
    vt_comm_define_members(c, 0);
    if (c->remote) vt_comm_define_members(c, 1);
}

/* Gives a communicator its id and its count, and defines it. */
static bool vt_comm_announce(struct vt_mpi_comm *c, const struct vt_mpi_origin *origin)
{
    uint64_t count = origin->count;
    if (!origin->counted) {
        const uint64_t tag =
            origin->string ? vt_checksum(1, origin->string, strlen(origin->string)) : (uint64_t)origin->tag;
        const uint64_t identity[] = {origin->kind, tag, c->hash};
        count = vt_comm_count(origin->parent, vt_checksum(0, identity, sizeof identity));
    }
    c->id = (uint32_t)vt_new_id(VT_ID_COMM);
    if (c->id && vt_comm_define(c, origin, count)) return true;
    vt_warn_left_out(
        "mpi", "too many communicators, or no room for their definitions: further communicators are not recorded");
    return false;
}

/* The new entry is not in the table yet. The caller holds the lock. NULL if the communicator cannot be recorded. */
struct vt_mpi_comm *vt_mpi_comm_add(MPI_Comm comm, const struct vt_mpi_origin *origin)
{
    int inter = 0, size = 0, rank = 0, remote = 0;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        return NULL;
    if (inter && PMPI_Comm_remote_size(comm, &remote) != MPI_SUCCESS) return NULL;
    struct vt_mpi_comm *c = vt_comm_room(2 * ((size_t)size + (size_t)remote)) ? vt_comm_new() : NULL;
    if (!c) return NULL;
    c->size = (uint32_t)size;
    c->rank = (uint32_t)rank;
    c->remote = (uint32_t)remote;
    if (!vt_comm_find_members(c, comm)) {
        vt_warn_left_out("mpi/p2p+mpi/collective",
                         "the ranks of a communicator are threads: calls on it are recorded without their messages");
        vt_mpi_comm_keep(c);
        return NULL;
    }
    struct vt_mpi_origin known = *origin;
    if (c->foreign) {
        c->hash = vt_comm_hash_in_parent(c, comm, origin);
        vt_comm_find_members(c, comm);
    } else {
        c->hash = vt_comm_hash(c, vt_mpi_world_id);
        /* both sides are in this world and see the same calls */
        if (origin->kind == VT_COMM_CONNECT) known.counted = false;
    }
    if (!vt_comm_announce(c, &known)) {
        vt_mpi_comm_keep(c);
        return NULL;
    }
    vt_comm_write_members(c);
    return c;
}

/* The members are those of the parent, so MPI is not asked and no list is written. */
struct vt_mpi_comm *vt_mpi_comm_add_twin(const struct vt_mpi_origin *origin)
{
    const struct vt_mpi_comm *parent = origin->parent;
    struct vt_mpi_comm *c = vt_comm_new();
    if (!c) return NULL;
    c->size = parent->size;
    c->rank = parent->rank;
    c->remote = parent->remote;
    c->foreign = parent->foreign;
    c->hash = parent->hash;
    if (vt_comm_announce(c, origin)) return c;
    vt_mpi_comm_keep(c);
    return NULL;
}

/* Partitioned messages match only with each other, so their records name a communicator of their own. */
uint32_t vt_mpi_comm_partitioned(struct vt_mpi_comm *c)
{
    vt_mpi_comm_lock();
    struct vt_mpi_comm *p = atomic_load(&c->partitioned);
    if (!p &&
        (p = vt_mpi_comm_add_twin(&(struct vt_mpi_origin){.kind = VT_COMM_PARTITIONED, .parent = c, .counted = true})))
        atomic_store(&c->partitioned, p);
    vt_mpi_comm_unlock();
    return p ? p->id : 0;
}

static void vt_comm_define_own(MPI_Comm comm, enum vt_comm_kind kind, const char *name)
{
    if (vt_mpi_comm_find(comm)) return;
    struct vt_mpi_comm *c = vt_mpi_comm_add(comm, &(struct vt_mpi_origin){.kind = kind});
    if (!c) return;
    vt_mpi_comm_define_name(c, name);
    vt_mpi_comm_link(c, comm);
}

void vt_mpi_define_world(void)
{
    vt_mpi_comm_lock();
    vt_comm_define_own(MPI_COMM_WORLD, VT_COMM_WORLD, "MPI_COMM_WORLD");
    vt_comm_define_own(MPI_COMM_SELF, VT_COMM_SELF, "MPI_COMM_SELF");
    vt_mpi_comm_unlock();
}

/* True if the error handlers of MPI_COMM_WORLD and MPI_COMM_SELF are predefined ones. MPI reports an invalid handle to
   these. Then asking MPI about a handle calls no function of the program, and ends the program only where its own call
   would. */
static bool vt_handlers_are_predefined(void)
{
    int up = 0, down = 0;
    PMPI_Initialized(&up);
    PMPI_Finalized(&down);
    const MPI_Comm on[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int i = 0; up && !down && i < 2; i++) {
        MPI_Errhandler handler;
        if (PMPI_Comm_get_errhandler(on[i], &handler) != MPI_SUCCESS) return false;
        const bool own = handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN;
        PMPI_Errhandler_free(&handler);
        if (own) return false;
    }
    return true;
}

/* With error handlers of the program, only a successful call shows that the handle is valid. MPICH returns success
   after such a handler also for invalid handles. */
static bool vt_is_comm(MPI_Comm comm, bool used)
{
    (void)used;
    int inter;
    if (vt_handlers_are_predefined()) return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS;
#ifdef MPICH_NUMVERSION
    return false;
#else
    return used;
#endif
}

/* Defines a communicator whose creation vtrace did not see; NULL if the handle is invalid. */
struct vt_mpi_comm *vt_mpi_comm_first(MPI_Comm comm, bool used)
{
    if (comm == MPI_COMM_NULL) return NULL;
    vt_mpi_comm_lock();
    struct vt_mpi_comm *c = vt_mpi_comm_find(comm);
    if (!c && vt_is_comm(comm, used) && (c = vt_mpi_comm_add(comm, &(struct vt_mpi_origin){.kind = VT_COMM_OTHER}))) {
        char name[MPI_MAX_OBJECT_NAME] = "";
        int length = 0;
        c->unseen = true;
        vt_mpi_comm_link(c, comm);
        if (PMPI_Comm_get_name(comm, name, &length) == MPI_SUCCESS && length) vt_mpi_comm_define_name(c, name);
    }
    vt_mpi_comm_unlock();
    return c;
}
