/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI shim: generated wrappers and the hand-written code that they call. Both are compiled as one unit for each MPI
   installation. The generated part defines two things before this header: VT_HAVE_x for each wrapped function x, and
   enum vt_mpi_function.

   Each table of handles (communicators, windows, files, requests) belongs to one file and its lock; other files call
   the functions declared here. In this folder these rules always hold:
   - A wrapper calls the next definition exactly once and returns its result unchanged.
   - Each begin record has an end record, also when the call fails.
   - Entries of tables are reused and never freed, so a concurrent reader always sees valid memory.
   - Handles of the program are passed to MPI only where that cannot call an error handler of the program. */
#ifndef VT_MPIWRAP_H
#define VT_MPIWRAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "core.h"

/* A definition of an MPI function in the program takes precedence over this one. */
#define VT_WRAPPER __attribute__((weak, visibility("default")))

#define VT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VT_NO_ROOT 0xffffffffu

/* ---- sites.c: the setting VT_MPI_CALLSITES ---- */

extern _Atomic(uint32_t) vt_mpi_site_depth; /* frames of a call site; 0: off */
/* Reads the setting, at the first MPI call. */
void vt_mpi_sites_begin(void);
/* Writes the stack of a call as an attribute of the next ENTER. caller: return address in the program. */
void vt_mpi_site(uintptr_t caller);

/* Notes the frame of a wrapper (vt_called_at), and records the call site if the setting asks for call sites. The
   attribute precedes the ENTER record. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_with_site(uint32_t region)
{
    if (region + 1 > 1) vt_called_at = VT_CALLED_AT;
    if (VT_LIKELY(!atomic_load_explicit(&vt_mpi_site_depth, memory_order_relaxed))) return region;
    if (region + 1 > 1) vt_mpi_site((uintptr_t)__builtin_return_address(0));
    return region;
}

/* ---- message.c: posted sizes ---- */

extern _Atomic(uint32_t) vt_mpi_posted; /* the attribute "posted bytes"; 0: the program has no sections */
/* Defines the attribute: from here on each receive has the attribute. */
void vt_mpi_posts_begin(void);

/* Writes the size of a receive buffer as an attribute of the next ENTER. A macro, so that the size is computed only when
   needed. */
#define vt_mpi_posts(count, type)                                                                                      \
    do {                                                                                                               \
        const uint32_t vt_posted = atomic_load_explicit(&vt_mpi_posted, memory_order_relaxed);                         \
        if (VT_LIKELY(!vt_posted)) break;                                                                              \
        vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, vt_posted), vt_mpi_bytes(count, type));                                  \
    } while (0)

/* ---- complete.c: calls that found nothing, and the setting VT_MPI_POLLS ---- */

/* Writes the records of such a call, from the one after its ENTER up to its LEAVE; the LEAVE alone. */
void vt_mpi_poll(uint64_t *words, unsigned n);
void vt_mpi_poll_leave(uint32_t region);
/* Reads the setting, at the first MPI call. */
void vt_mpi_polls_begin(void);

/* ---- sync.c: the settings VT_SYNC_FLUSH and VT_MPI_BARRIER ---- */

/* Actions before and after a collective, as bits. The bits are the same in all ranks of a world. The first two are the
   bits of VT_MPI_BARRIER. */
enum vt_mpi_around { VT_AROUND_BEFORE = 1, VT_AROUND_AFTER = 2, VT_AROUND_SYNC = 4 };

struct vt_mpi_after {
    MPI_Comm comm; /* communicator of the barrier after the call, or MPI_COMM_NULL */
    uintptr_t caller;
};

extern _Atomic(unsigned) vt_mpi_around;
/* At MPI_Init: all ranks agree on the settings. records: this rank records MPI calls. */
void vt_mpi_sync_begin(bool records);
/* All ranks flush if one of them has filled its buffer up to VT_SYNC_FLUSH_LEVEL. */
void vt_mpi_sync_ask(void);
/* Calls a barrier if around has VT_AROUND_BEFORE. Returns comm if a barrier follows after the call, else
   MPI_COMM_NULL. */
MPI_Comm vt_mpi_barrier_before(MPI_Comm comm, unsigned around, uintptr_t caller);
/* Calls the barrier after the call. */
void vt_mpi_barrier_after(const struct vt_mpi_after *after);

/* First statement of a blocking collective. A macro, so that a Fortran handle is converted only when needed. */
#define vt_mpi_sync(communicator)                                                                                      \
    do {                                                                                                               \
        const unsigned vt_around = atomic_load_explicit(&vt_mpi_around, memory_order_relaxed);                         \
        if (VT_LIKELY(!(vt_around & VT_AROUND_SYNC))) break;                                                           \
        if ((communicator) == MPI_COMM_WORLD && !vt_mpi_by_binding()) vt_mpi_sync_ask();                               \
    } while (0)

/* Second statement of a blocking collective: calls the barrier before the call. The barrier after the call runs at each
   return of the wrapper. gets: mpiP calls barriers around this function. */
#define vt_mpi_barriers(gets, communicator)                                                                            \
    struct vt_mpi_after vt_after __attribute__((cleanup(vt_mpi_barrier_last))) = {MPI_COMM_NULL, 0};                   \
    do {                                                                                                               \
        const unsigned vt_around = (gets) ? atomic_load_explicit(&vt_mpi_around, memory_order_relaxed) : 0;            \
        if (VT_LIKELY(!(vt_around & (VT_AROUND_BEFORE | VT_AROUND_AFTER))) || vt_mpi_by_binding()) break;              \
        vt_after.caller = (uintptr_t)__builtin_return_address(0);                                                      \
        vt_after.comm = vt_mpi_barrier_before(communicator, vt_around, vt_after.caller);                               \
    } while (0)

static inline void vt_mpi_barrier_last(const struct vt_mpi_after *after)
{
    if (after->comm != MPI_COMM_NULL) vt_mpi_barrier_after(after);
}

/* ---- The count arrays of collective operations. counts: array of n integers of `each` bytes, or NULL in an erroneous
   program ---- */

static inline int64_t vt_mpi_count(const void *counts, size_t each, uint32_t i)
{
    return each == sizeof(int) ? ((const int *)counts)[i] : ((const MPI_Count *)counts)[i];
}

static inline int64_t vt_mpi_sum(const void *counts, size_t each, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; counts && i < n; i++) sum += vt_mpi_count(counts, each, i);
    return sum;
}

/* True if the counts of all other processes are above 0. */
static inline bool vt_mpi_all_give(const void *counts, size_t each, uint32_t n, uint32_t me)
{
    for (uint32_t i = 0; counts && i < n; i++)
        if (i != me && vt_mpi_count(counts, each, i) <= 0) return false;
    return counts != NULL;
}

/* ---- init_finalize.c: attaching, regions, Init and Finalize ---- */

enum vt_mpi_state { VT_MPI_NEW, VT_MPI_ATTACHING, VT_MPI_RECORD, VT_MPI_PASSIVE };

struct vt_mpi_function_info {
    const char *name;
    uint8_t role, group;
};

extern const char *const vt_mpi_groups[]; /* group names by number, then NULL */

extern const struct vt_mpi_function_info vt_mpi_functions[VT_FUNCTIONS];
extern const uintptr_t vt_mpi_own[VT_FUNCTIONS]; /* addresses of the wrappers, whichever definitions precede them */
extern _Atomic(uint32_t) vt_mpi_regions[VT_FUNCTIONS];
extern _Atomic(int) vt_mpi_state;

/* Attaches to the runtime if necessary and defines the region of a function. Returns the region, 0 if the call is not
   recorded, VT_MPI_GROUP_OFF if the function's group is off. binding: name of the Fortran binding, or NULL. */
uint32_t vt_mpi_first_call(unsigned function, _Atomic(uint32_t) *region, const char *binding);
/* After MPI_Init succeeded: agrees on the run id, the rank and the settings. Collective over MPI_COMM_WORLD. */
void vt_mpi_initialized(void);
/* Before MPI_Finalize: writes the local files. Collective over MPI_COMM_WORLD. */
void vt_mpi_finalizing(void);
/* Implements MPI_Pcontrol (MPI-4.1, section 15.2.4). after: the call is made after the next definition has returned. */
void vt_mpi_control(int level, bool after);

/* tools.c: the definition of another tool for each function, by enum vt_mpi_function. The table is NULL if no such tool
   is loaded; an entry is NULL if the tool does not define the function. */
extern void *const *vt_mpi_tool_functions;

#define VT_MPI_NEXT(name)                                                                                              \
    (VT_LIKELY(!vt_mpi_tool_functions) || !vt_mpi_tool_functions[VT_F_##name]                                          \
         ? P##name                                                                                                     \
         : (__typeof__(&P##name))(uintptr_t)vt_mpi_tool_functions[VT_F_##name])

/* library_version.c: name and version of the MPI library, and MPICH's version as in MPICH_NUMVERSION, without the last
   digits; 0 for other MPIs */
#ifdef VT_PREBUILT
extern char vt_mpi_label[64];
extern int vt_mpich_number;
void vt_mpi_read_version(void);
#else
#define vt_mpi_label VT_MPI_LABEL
#define vt_mpich_number MPICH_NUMVERSION
static inline void vt_mpi_read_version(void) {}
#endif

/* mpi_groups.c: the setting VT_MPI_GROUPS */
void vt_mpi_read_groups(void);
bool vt_mpi_group_is_on(unsigned group);

/* The value of vt_mpi_region for a function whose group is off. */
#define VT_MPI_GROUP_OFF 0xffffffffu

/* The code segment of MPI's Fortran binding. C functions that the binding calls are not recorded, since the Fortran
   function is. */
extern struct vt_mpi_binding {
    _Atomic(uintptr_t) start, bytes;
} vt_mpi_binding;

__attribute__((always_inline)) static inline bool vt_mpi_by_binding(void)
{
    return (uintptr_t)__builtin_return_address(0) - atomic_load_explicit(&vt_mpi_binding.start, memory_order_relaxed) <
           atomic_load_explicit(&vt_mpi_binding.bytes, memory_order_relaxed);
}

/* Returns the region of a function, 0 if the call is not recorded, VT_MPI_GROUP_OFF if the function's group is off. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_region(unsigned function)
{
    if (atomic_load_explicit(&vt_mpi_state, memory_order_relaxed) == VT_MPI_PASSIVE || vt_mpi_by_binding()) return 0;
    const uint32_t region = atomic_load_explicit(&vt_mpi_regions[function], memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_mpi_first_call(function, &vt_mpi_regions[function], NULL);
}

/* Begins a function that changes handles, so its effects are followed even if its group is off. Returns as
   vt_mpi_region. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_track(unsigned function)
{
    return vt_mpi_with_site(vt_mpi_region(function));
}

/* Begins any other function. Returns as vt_mpi_region, but 0 for VT_MPI_GROUP_OFF. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_begin(unsigned function)
{
    const uint32_t region = vt_mpi_track(function);
    return VT_LIKELY(region != VT_MPI_GROUP_OFF) ? region : 0;
}

/* ---- Records ---- */

static inline uint64_t vt_mpi_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Records that are written together. */
struct vt_mpi_batch {
    unsigned n;
    uint64_t words[64];
};

/* Declares an empty batch. An initializer would clear all words, which costs as much as reading the clock. */
#define VT_MPI_BATCH(batch)                                                                                            \
    struct vt_mpi_batch batch;                                                                                         \
    batch.n = 0

static inline uint64_t *vt_mpi_add(struct vt_mpi_batch *batch, unsigned words)
{
    if (batch->n + words > 64) {
        vt_write(batch->words, batch->n);
        batch->n = 0;
    }
    batch->n += words;
    return &batch->words[batch->n - words];
}

static inline void vt_mpi_leave(struct vt_mpi_batch *batch, uint32_t region)
{
    *vt_mpi_add(batch, 1) = VT_HEAD(VT_K_LEAVE, 0, region);
    vt_write(batch->words, batch->n);
}

/* ---- comm.c: communicators ---- */

/* Handles are int in MPICH and pointers in Open MPI and the MPI-5 ABI. */
#define VT_HANDLE(x) ((uint64_t)(uintptr_t)(x))

struct vt_mpi_comm {
    _Atomic(uint64_t) handle;
    _Atomic(struct vt_mpi_comm *) next;
    uint32_t id; /* never 0 in the table */
    uint32_t rank, size;
    uint32_t remote; /* size of the remote group; 0 for an intra-communicator */
    bool made; /* has a COMM_CREATE record, so it also gets a COMM_DESTROY record */
    bool foreign; /* has members in other worlds */
    bool unseen; /* vtrace did not record its creation, so other members may not know it */
    _Atomic(uint32_t) created; /* calls that created communicators from this one */
    _Atomic(uint32_t) windows; /* calls that created windows on this one */
    uint64_t hash; /* hash of the members */
    struct vt_mpi_seen *seen; /* communicators created from this one by some of its members */
    _Atomic(struct vt_mpi_comm *) partitioned; /* definition for its partitioned messages, or NULL */
};

#define VT_COMM_BUCKETS 512u
extern _Atomic(struct vt_mpi_comm *) vt_mpi_comms[VT_COMM_BUCKETS];

static inline unsigned vt_mpi_bucket(uint64_t handle) { return (unsigned)(handle * 0x9e3779b97f4a7c15u >> 55); }

/* Looks up a known communicator; NULL if vtrace does not know the communicator yet. */
static inline struct vt_mpi_comm *vt_mpi_comm_find(MPI_Comm comm)
{
    const uint64_t handle = VT_HANDLE(comm);
    struct vt_mpi_comm *c = atomic_load_explicit(&vt_mpi_comms[vt_mpi_bucket(handle)], memory_order_acquire);
    while (c && atomic_load_explicit(&c->handle, memory_order_relaxed) != handle)
        c = atomic_load_explicit(&c->next, memory_order_acquire);
    return c;
}

/* Defines a communicator that vtrace does not know yet. used: a call on the communicator has succeeded. NULL if it
   cannot be defined. */
struct vt_mpi_comm *vt_mpi_comm_first(MPI_Comm comm, bool used);

/* Returns the entry of a communicator. NULL if the handle is no communicator, if no more communicators can be defined,
   or if MPI cannot be asked yet. */
static inline struct vt_mpi_comm *vt_mpi_comm(MPI_Comm comm)
{
    struct vt_mpi_comm *c = vt_mpi_comm_find(comm);
    return VT_LIKELY(c != NULL) ? c : vt_mpi_comm_first(comm, false);
}

/* As vt_mpi_comm, after a call on this communicator has succeeded. */
static inline struct vt_mpi_comm *vt_mpi_comm_used(MPI_Comm comm)
{
    struct vt_mpi_comm *c = vt_mpi_comm_find(comm);
    return VT_LIKELY(c != NULL) ? c : vt_mpi_comm_first(comm, true);
}

/* Number of processes that a rank argument can name. */
static inline uint32_t vt_mpi_peers(const struct vt_mpi_comm *c) { return c->remote ? c->remote : c->size; }

/* Id of the world of this process, the same in all its processes; 0 without a world. */
extern uint64_t vt_mpi_world_id;
/* Defines MPI_COMM_WORLD and MPI_COMM_SELF. */
void vt_mpi_define_world(void);

/* The identity of a communicator, from its creation, as format.h describes. */
struct vt_mpi_origin {
    enum vt_comm_kind kind;
    struct vt_mpi_comm *parent; /* or NULL */
    struct vt_mpi_comm *local; /* INTER_CREATE: the local communicator, which is not the same on both sides; or NULL */
    MPI_Comm from; /* handle of the parent */
    int64_t tag;
    const char *string; /* replaces the tag, or NULL */
    /* count is given; else it is the number of earlier communicators with the same identity */
    bool counted;
    uint64_t count;
};

/* Table of communicators. The caller holds the lock. A new entry is first added (defined), then linked (found by its
   handle). A freed one is first unlinked, then kept for reuse. */
void vt_mpi_comm_lock(void);
void vt_mpi_comm_unlock(void);
struct vt_mpi_comm *vt_mpi_comm_add(MPI_Comm comm, const struct vt_mpi_origin *origin);
/* Id of the communicator that stands for c in records of partitioned messages; 0 if it cannot be defined. Takes the
   lock. */
uint32_t vt_mpi_comm_partitioned(struct vt_mpi_comm *c);
/* Defines a communicator with the members of its parent; asks MPI for nothing. NULL if it cannot be defined. */
struct vt_mpi_comm *vt_mpi_comm_add_twin(const struct vt_mpi_origin *origin);
void vt_mpi_comm_link(struct vt_mpi_comm *c, MPI_Comm comm);
struct vt_mpi_comm *vt_mpi_comm_unlink(MPI_Comm comm);
void vt_mpi_comm_keep(struct vt_mpi_comm *c);
/* Memory for entries, never freed; NULL if there is none. */
void *vt_mpi_comm_memory(size_t bytes);
void vt_mpi_comm_define_name(const struct vt_mpi_comm *c, const char *name);

/* ---- comm_create.c: calls that make, name and free communicators ---- */

struct vt_mpi_creation {
    struct vt_mpi_comm *parent;
    MPI_Comm from;
    enum vt_comm_kind kind;
    uint32_t count;
};

/* Start of a call that creates a communicator from parent. kind: its identity. Writes ENTER. */
struct vt_mpi_creation vt_mpi_create_begin(uint32_t region, MPI_Comm parent, enum vt_comm_kind kind);
/* End of that call. result: its return value; made: its output argument. Writes COMM_CREATE and LEAVE. */
void vt_mpi_create_end(uint32_t region, struct vt_mpi_creation creation, int64_t tag, int result, const MPI_Comm *made);
/* After MPI_Intercomm_create, before its vt_mpi_create_end: returns the peer communicator if this process is the leader
   of the local one, else NULL. */
const struct vt_mpi_comm *vt_mpi_leaders_peer(MPI_Comm local, int leader, MPI_Comm peer, int result);
/* After vt_mpi_create_end: the leader defines that peer, and the rank of the other leader in it. */
void vt_mpi_define_peer(MPI_Comm made, const struct vt_mpi_comm *peer, int leader);
/* End of a call without a parent communicator. All its records are written here. */
void vt_mpi_create_alone_end(uint32_t region, const struct vt_mpi_origin *origin, int result, const MPI_Comm *made);
/* The same for MPI_Comm_idup: its request completes the creation. */
struct vt_mpi_creation vt_mpi_idup_begin(uint32_t region, MPI_Comm parent);
void vt_mpi_idup_end(uint32_t region, struct vt_mpi_creation creation, int result, const MPI_Comm *made,
                     const MPI_Request *request);
/* Start of a call that frees *comm. Returns its entry, which is no longer found by the handle; NULL if unknown. */
struct vt_mpi_comm *vt_mpi_free_begin(uint32_t region, const MPI_Comm *comm);
/* End of that call. comm: the handle before the call. If the call failed, the entry is linked again. */
void vt_mpi_free_end(uint32_t region, struct vt_mpi_comm *c, MPI_Comm comm, int result);
/* After MPI_Comm_set_name succeeded. */
void vt_mpi_name(MPI_Comm comm, const char *name);
/* Names a new Cartesian communicator by its n extents and their periodicity. */
void vt_mpi_define_grid(MPI_Comm comm, int n, const int *extents, const int *periodic);

/* ---- world.c: the processes of a run ---- */

/* Stores the group of all processes of this world. The caller frees the group and holds the lock of communicators.
   false if there is no world. */
bool vt_mpi_world_group(MPI_Group *world);
#ifdef VT_HAVE_MPI_Session_init
/* After MPI_Session_init, and before MPI_Session_finalize. */
void vt_mpi_session_initialized(const MPI_Session *session, int result);
void vt_mpi_session_finalizing(const MPI_Session *session);
#endif

/* ---- spawn.c: dynamic processes (MPI-4.1, chapter 11) ---- */

struct vt_mpi_spawn {
    int64_t id; /* id of this call, the same in all processes that take part */
    char **commands; /* commands that MPI starts in place of the program's, or NULL */
    char ***argvs;
    size_t bytes;
};

/* Before a call of MPI_Comm_spawn: at the root, replaces the commands so that env(1) passes the run to the children. */
void vt_mpi_spawn_begin(struct vt_mpi_spawn *spawn, MPI_Comm comm, int root, int n, const char *const *commands,
                        char *const *const *argvs, const MPI_Info *infos);
/* Frees the memory of vt_mpi_spawn_begin, after the call. */
void vt_mpi_spawn_done(struct vt_mpi_spawn *spawn);
/* In a spawned process: defines the communicator with its parents. */
void vt_mpi_spawned(void);
/* After a call created info. from: the object that it copies, or NULL. anything: it may hold any keys. */
void vt_mpi_info_made(MPI_Info info, const MPI_Info *from, bool anything);
/* After a call set (there) or deleted a key. */
void vt_mpi_info_set(MPI_Info info, const char *key, bool there);
/* Identity of a communicator made by MPI_Comm_accept (accepts), MPI_Comm_connect or MPI_Comm_join. */
struct vt_mpi_origin vt_mpi_connection(MPI_Comm comm, int root, const char *port, bool accepts);

/* ---- coll.c: collective operations ---- */

/* Values of OTF2_CollectiveOp. */
/* clang-format off */
enum vt_mpi_op {
    VT_OP_BARRIER, VT_OP_BCAST, VT_OP_GATHER, VT_OP_GATHERV, VT_OP_SCATTER, VT_OP_SCATTERV, VT_OP_ALLGATHER,
    VT_OP_ALLGATHERV, VT_OP_ALLTOALL, VT_OP_ALLTOALLV, VT_OP_ALLTOALLW, VT_OP_ALLREDUCE, VT_OP_REDUCE,
    VT_OP_REDUCE_SCATTER, VT_OP_SCAN, VT_OP_EXSCAN, VT_OP_REDUCE_SCATTER_BLOCK, VT_OP_CREATE_HANDLE,
    VT_OP_DESTROY_HANDLE, VT_OP_ALLOCATE, VT_OP_DEALLOCATE, VT_OP_CREATE_HANDLE_AND_ALLOCATE,
    VT_OP_DESTROY_HANDLE_AND_DEALLOCATE,
};
/* clang-format on */

struct vt_mpi_coll {
    const struct vt_mpi_comm *comm; /* NULL: the operation is not recorded */
    uint32_t n, me; /* number of entries in a count argument; own rank */
    enum vt_mpi_op op;
    uint32_t root;
    bool is_root, is_leaf; /* for operations with a root. is_root: this rank has the root's part; is_leaf: it has the
                              part of the others (in an intra-communicator every rank has) */
    bool from_all; /* receives from every other member, though the operation alone does not imply that */
    uint64_t sent, received;
    uint64_t posted; /* bytes of the call's buffers, if sent and received do not tell; else 0 */
    uint64_t id; /* id of the request of a non-blocking operation */
};

static inline void vt_mpi_coll_of(struct vt_mpi_coll *coll, MPI_Comm comm)
{
    const struct vt_mpi_comm *c = coll->comm = vt_mpi_comm(comm);
    coll->root = VT_NO_ROOT;
    coll->sent = coll->received = coll->posted = 0;
    coll->from_all = false;
    if (!c) return;
    coll->n = vt_mpi_peers(c);
    coll->me = c->rank;
}

/* After a call whose communicator was unknown at its start. Returns true if the operation now begins in the records.
   request: the operation is non-blocking. */
bool vt_mpi_coll_late(struct vt_mpi_coll *coll, MPI_Comm comm, bool request, int result);

/* clocks.c: measures clock offsets between nodes. Collective over MPI_COMM_WORLD. */
void vt_mpi_clocks_begin(int rank, bool records), vt_mpi_clocks_measure(void), vt_mpi_clocks_end(void);

static inline void vt_mpi_coll_begin(struct vt_mpi_coll *coll, uint32_t region, MPI_Comm comm)
{
    vt_mpi_coll_of(coll, comm);
    if (VT_LIKELY(coll->comm != NULL)) vt_write_2(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_BEGIN, 0, 0));
    else vt_enter(region);
}

/* In an inter-communicator the root passes MPI_ROOT, the other members of its group pass MPI_PROC_NULL, and the members
   of the other group pass the root's rank (MPI-4.1, section 6.2.3). */
static inline void vt_mpi_coll_root(struct vt_mpi_coll *coll, enum vt_mpi_op op, int root)
{
    coll->op = op;
    if (VT_LIKELY(!coll->comm->remote)) {
        coll->is_root = root == (int)coll->me;
        coll->is_leaf = true;
    } else {
        coll->is_root = root == MPI_ROOT;
        coll->is_leaf = root >= 0;
    }
    if (root >= 0 && (uint32_t)root < coll->n) coll->root = (uint32_t)root;
}

static inline uint64_t vt_mpi_op_root(const struct vt_mpi_coll *coll)
{
    return vt_mpi_pair(coll->op | (coll->from_all && !coll->comm->remote ? VT_FROM_ALL : 0), coll->root);
}

/* Writes the bytes of the buffers as an attribute of the next record, if the program has sections. */
static inline void vt_mpi_coll_posts(const struct vt_mpi_coll *coll)
{
    const uint32_t attribute = atomic_load_explicit(&vt_mpi_posted, memory_order_relaxed);
    if (attribute) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attribute), coll->posted);
}

/* An operation that failed ends too, with 0 bytes: each begin needs its end. */
static inline void vt_mpi_coll_end(const struct vt_mpi_coll *coll, uint32_t region, int result)
{
    const bool done = VT_LIKELY(result == MPI_SUCCESS);
    if (!VT_LIKELY(!coll->comm || !coll->posted)) vt_mpi_coll_posts(coll);
    if (VT_LIKELY(coll->comm != NULL))
        vt_write_5(VT_HEAD(VT_K_COLL_END, 3, coll->comm->id), vt_mpi_op_root(coll), done ? coll->sent : 0,
                   done ? coll->received : 0, VT_HEAD(VT_K_LEAVE, 0, region));
    else vt_leave(region);
}

/* Start and end of a non-blocking operation; a Wait or Test completes the operation. _persistent: end of an
   MPI_..._init. */
void vt_mpi_icoll_begin(struct vt_mpi_coll *coll, uint32_t region, MPI_Comm comm);
void vt_mpi_icoll_end(const struct vt_mpi_coll *coll, uint32_t region, const MPI_Request *request, int result);
void vt_mpi_coll_persistent(const struct vt_mpi_coll *coll, const MPI_Request *request, int result);

/* Neighbours in a topology. in, out: number of entries in the arguments. lacks: number of neighbours that a
   non-periodic grid lacks at its border. missing: a bit for each of these. */
struct vt_mpi_neighbours {
    uint32_t in, out, lacks;
    uint64_t missing;
};

struct vt_mpi_neighbours vt_mpi_neighbours(MPI_Comm comm);

static inline bool vt_mpi_is_missing(const struct vt_mpi_neighbours *neighbours, uint32_t i)
{
    return i < 64 && neighbours->missing >> i & 1;
}

/* ---- request.c: requests and matched messages ---- */

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

#define VT_MOST_DIMENSIONS 32 /* limit for reading the shape of a Cartesian topology */

#define VT_REQUEST_BLOCK 1024u
extern __thread uint64_t vt_mpi_next_request __attribute__((tls_model("initial-exec")));

/* Recording is off, by MPI_Pcontrol or the user API. */
extern _Atomic(bool) vt_mpi_off;

/* Returns a number that is unique in the process; threads take numbers in blocks. Returns 0 while recording is off:
   then the completion is not recorded either. */
static inline uint64_t vt_mpi_new_request(void)
{
    if (atomic_load_explicit(&vt_mpi_off, memory_order_relaxed)) return 0;
    if (vt_mpi_next_request % VT_REQUEST_BLOCK == 0)
        vt_mpi_next_request = vt_new_id(VT_ID_REQUEST) * VT_REQUEST_BLOCK + 1;
    return vt_mpi_next_request++;
}

/* ---- complete.c: Wait and Test ---- */

#define VT_FEW 32

/* Memory of this thread for arrays of a call; NULL if there is none. Each take needs a drop. */
void *vt_mpi_arena_take(size_t bytes);
void vt_mpi_arena_drop(void);

struct vt_mpi_wait {
    int n;
    bool in_arena, cancels;
    MPI_Status *statuses; /* passed to the next definition */
    const MPI_Status *given, *ignore; /* passed by the program; the value of MPI_STATUS(ES)_IGNORE */
    struct vt_mpi_request **requests; /* entry of each request; NULL if vtrace does not follow it */
    struct vt_mpi_request *few[VT_FEW];
    MPI_Status few_statuses[VT_FEW];
};

/* Takes the entries of n requests before a Wait or Test. Returns the statuses to pass to the next definition. */
MPI_Status *vt_mpi_wait_begin(struct vt_mpi_wait *wait, uint32_t region, int n, const MPI_Request *requests,
                              MPI_Status *statuses, const MPI_Status *ignore);
/* After Wait, Waitall, Test, Testall; after Waitany, Testany; after Waitsome, Testsome. flag: NULL for a Wait. */
void vt_mpi_all_end(struct vt_mpi_wait *wait, uint32_t region, MPI_Request *requests, const int *flag, int result);
void vt_mpi_any_end(struct vt_mpi_wait *wait, uint32_t region, const MPI_Request *requests, const int *index,
                    const int *flag, int result);
void vt_mpi_some_end(struct vt_mpi_wait *wait, uint32_t region, const MPI_Request *requests, const int *done,
                     const int *indices, bool test, int result);
/* After MPI_Cancel. From now on completions ask MPI whether an operation was cancelled. */
void vt_mpi_cancel(void);
/* Before and after MPI_Request_free. vt_mpi_free_request returns the entry, taken, or NULL. */
struct vt_mpi_request *vt_mpi_free_request(const MPI_Request *request);
void vt_mpi_freed(struct vt_mpi_request *request, int result);

/* ---- types.c: sizes of datatypes ---- */

/* Size of a datatype in bytes; 0 if it was created before vtrace attached. */
uint64_t vt_mpi_type_size(MPI_Datatype type);
/* At MPI_Init: asks MPI for the sizes of the predefined datatypes. */
void vt_mpi_learn_types(void);
/* After a call has created or committed a datatype: asks MPI for its size. */
void vt_mpi_type_made(MPI_Datatype type);

#define VT_TYPES 256u
extern struct vt_mpi_type {
    uint64_t handle, size;
} vt_mpi_types[VT_TYPES];

static inline unsigned vt_mpi_type_place(uint64_t handle) { return (unsigned)(handle * 0x9e3779b97f4a7c15u >> 56); }

static inline uint64_t vt_mpi_bytes(int64_t count, MPI_Datatype type)
{
    const struct vt_mpi_type *t = &vt_mpi_types[vt_mpi_type_place(VT_HANDLE(type))];
    const uint64_t size = VT_LIKELY(t->handle == VT_HANDLE(type)) ? t->size : vt_mpi_type_size(type);
    return count > 0 ? (uint64_t)count * size : 0;
}

/* ---- message.c: point to point ---- */

#define VT_LATE UINT64_MAX /* in place of a request's number: the communicator is not known yet */

/* Bytes of the message that a status describes. */
uint64_t vt_mpi_received(const MPI_Status *status);
/* The status of a truncated receive (MPI_ERR_TRUNCATE). room: bytes of the receive buffer, 0 if unknown. */
MPI_Status vt_mpi_truncated(const MPI_Status *status, uint64_t room);
/* Returns whether a receive with this result has consumed a message. */
bool vt_mpi_consumed(int result);

/* Bytes of a receive's buffer if the message was truncated; else 0. */
static inline uint64_t vt_mpi_room(int result, int64_t count, MPI_Datatype type)
{
    return VT_LIKELY(result == MPI_SUCCESS) || !vt_mpi_consumed(result) ? 0 : vt_mpi_bytes(count, type);
}

/* Calls with one message. _begin writes ENTER; _end writes the message, if it is recorded, and LEAVE. _late is called
   after a call whose _begin reported an unknown communicator (true, VT_LATE). bytes: of the message or the buffer. */
bool vt_mpi_send_begin(uint32_t region, MPI_Comm comm, int dest, int tag, uint64_t bytes);
void vt_mpi_send_late(MPI_Comm comm, int dest, int tag, uint64_t bytes, int result);
void vt_mpi_recv_end(uint32_t region, MPI_Comm comm, const MPI_Status *status, int result, uint64_t room);
uint64_t vt_mpi_isend_begin(uint32_t region, MPI_Comm comm, int dest, int tag, uint64_t bytes);
uint64_t vt_mpi_isend_late(MPI_Comm comm, int dest, int tag, uint64_t bytes, int result);
void vt_mpi_isend_end(uint32_t region, uint64_t id, const MPI_Request *request, int result);
void vt_mpi_irecv_end(uint32_t region, MPI_Comm comm, int source, const MPI_Request *request, int result);
void vt_mpi_isendrecv_end(uint32_t region, uint64_t send, MPI_Comm comm, int source, int tag, uint64_t bytes,
                          const MPI_Request *request, int result);
void vt_mpi_persistent(enum vt_mpi_request_kind kind, MPI_Comm comm, int peer, int tag, uint64_t bytes,
                       const MPI_Request *request);
struct vt_mpi_start {
    int n;
    bool in_arena;
    struct vt_mpi_request **requests, *few[VT_FEW]; /* NULL: nothing to record */
};
/* Before and after MPI_Start and MPI_Startall. */

void vt_mpi_start_begin(struct vt_mpi_start *start, uint32_t region, int n, const MPI_Request *requests);
void vt_mpi_start_end(struct vt_mpi_start *start, uint32_t region, const MPI_Request *requests, int result);
/* Adds the record of a receive that completed with this status. */
void vt_mpi_add_received(struct vt_mpi_batch *batch, const struct vt_mpi_request *r, const MPI_Status *status);
/* After MPI_Mprobe or MPI_Improbe. The receive of the message begins here. */
void vt_mpi_probed(uint32_t region, MPI_Comm comm, const MPI_Message *message, bool found);
/* Before MPI_Mrecv or MPI_Imrecv: returns the entry of the message, taken, or NULL. */
struct vt_mpi_request *vt_mpi_take_message(const MPI_Message *message);
void vt_mpi_mrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Status *status, int result,
                      uint64_t room);
void vt_mpi_imrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Request *request, int result);

/* ---- objects.c: entries of MPI's objects by their handles ---- */

struct vt_mpi_object {
    _Atomic(uint64_t) handle;
    _Atomic(struct vt_mpi_object *) next;
};

#define VT_OBJECT_BUCKETS 64u

/* at, left: memory for further entries. The holder of the lock owns every field; a lookup needs no lock. */
struct vt_mpi_objects {
    atomic_flag lock;
    char *at;
    size_t left;
    _Atomic(struct vt_mpi_object *) buckets[VT_OBJECT_BUCKETS];
};

static inline unsigned vt_mpi_object_bucket(uint64_t handle) { return (unsigned)(handle * 0x9e3779b97f4a7c15u >> 58); }

void vt_mpi_objects_lock(struct vt_mpi_objects *objects);
void vt_mpi_objects_unlock(struct vt_mpi_objects *objects);
/* Finds the entry of a handle, without the lock; NULL if there is none. The next functions need the lock. */
struct vt_mpi_object *vt_mpi_object_find(struct vt_mpi_objects *objects, uint64_t handle);
void vt_mpi_object_link(struct vt_mpi_objects *objects, struct vt_mpi_object *object, uint64_t handle);
struct vt_mpi_object *vt_mpi_object_unlink(struct vt_mpi_objects *objects, uint64_t handle);
/* Zeroed memory, never freed; NULL if there is none. */
void *vt_mpi_objects_memory(struct vt_mpi_objects *objects, size_t bytes);

/* In a table whose entries have only a number: sets the number of a handle; reads it, false: no entry. Both take the
   lock themselves. */
void vt_mpi_object_note(struct vt_mpi_objects *objects, uint64_t handle, uint64_t number);
bool vt_mpi_object_noted(struct vt_mpi_objects *objects, uint64_t handle, uint64_t *number);

/* Defines the name of an object. kind: VT_D_COMM_NAME or VT_D_RMA_WIN_NAME. */
void vt_mpi_define_name(uint32_t kind, uint32_t id, const char *name);
void vt_mpi_define_property(const char *key, const char *value);

/* ---- rma.c: one-sided communication (MPI-4.1, chapter 12) ---- */

#define VT_ALL_TARGETS 0xffffffffll /* no rank, since ranks are int */

/* Values of OTF2_RmaSyncLevel, OTF2_LockType and OTF2_RmaAtomicType. */
enum vt_mpi_sync_level { VT_SYNC_NONE = 0, VT_SYNC_PROCESS = 1, VT_SYNC_MEMORY = 2 };
enum vt_mpi_lock_type { VT_LOCK_EXCLUSIVE = 0, VT_LOCK_SHARED = 1 };
/* clang-format off */
enum vt_mpi_atomic {
    VT_ATOMIC_ACCUMULATE = 0, VT_ATOMIC_COMPARE_AND_SWAP = 3, VT_ATOMIC_SWAP = 4, VT_ATOMIC_FETCH_AND_ADD = 5,
    VT_ATOMIC_FETCH_AND_ACCUMULATE = 7,
};
/* clang-format on */

struct vt_mpi_win {
    struct vt_mpi_object object;
    _Atomic(uint32_t) id; /* 0: freed */
    uint32_t comm, rank, size;
    uint32_t access, exposure; /* groups of the open epochs */
    _Atomic(bool) made; /* has an RMA_WIN_CREATE record */
    enum vt_mpi_op end; /* operation that frees the window */
    _Atomic(struct vt_rma_thread *) threads;
    struct vt_mpi_win *next_spare;
};

extern struct vt_mpi_objects vt_mpi_wins;

static inline struct vt_mpi_win *vt_mpi_win(MPI_Win win)
{
    return (struct vt_mpi_win *)vt_mpi_object_find(&vt_mpi_wins, VT_HANDLE(win));
}

/* An operation that is being issued. */
struct vt_mpi_rma {
    _Atomic(uint64_t) *issued; /* NULL: not recorded */
    uint64_t count, id;
    uint32_t win;
    bool fetches;
};

/* Start of an operation. peer: rank of the target; bytes, sent, received: of the data at the origin; request: the call
   returns a request. */
void vt_mpi_put_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes, bool request);
void vt_mpi_get_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes, bool request);
enum vt_mpi_atomic vt_mpi_atomic_of(MPI_Op op);
void vt_mpi_atomic_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, enum vt_mpi_atomic type,
                         uint64_t sent, uint64_t received, bool request);
/* End of the call. _request_end: request completes the operation locally. */
void vt_mpi_rma_end(const struct vt_mpi_rma *op, uint32_t region);
void vt_mpi_rma_request_end(const struct vt_mpi_rma *op, uint32_t region, const MPI_Request *request, int result);
/* Adds records of completion for operations on w. target: a rank or VT_ALL_TARGETS. all_threads: operations of all
   threads, else those of this thread. remote: the operations are complete at the target, too. */
void vt_mpi_rma_sync(struct vt_mpi_batch *batch, const struct vt_mpi_win *w, int64_t target, bool all_threads,
                     bool remote);
/* Forgets the operations on a freed window. The caller holds the lock of vt_mpi_wins. */
void vt_mpi_rma_forget(struct vt_mpi_win *w);

/* ---- rma_windows.c: windows and their synchronization ---- */

struct vt_mpi_win_creation {
    struct vt_mpi_comm *comm; /* NULL: not known yet */
    MPI_Comm from;
    struct vt_mpi_win *win;
};

/* Start and end of a call that creates a window. allocates: MPI allocates its memory. */
void vt_mpi_win_create_begin(struct vt_mpi_win_creation *creation, uint32_t region, MPI_Comm comm);
void vt_mpi_win_create_end(struct vt_mpi_win_creation *creation, uint32_t region, const MPI_Win *made, bool allocates,
                           int result);
/* When recording resumes: records the creation of windows that were created while it was off. */
void vt_mpi_announce_windows(void);
void vt_mpi_win_name(MPI_Win win, const char *name);
/* Start of MPI_Win_free: returns the entry, which is no longer found by the handle, or NULL. The end frees or restores
   it. */
struct vt_mpi_win *vt_mpi_win_free_begin(uint32_t region, const MPI_Win *win);
void vt_mpi_win_free_end(uint32_t region, struct vt_mpi_win *w, const MPI_Win *win, int result);
/* Synchronization calls. target: a rank or VT_ALL_TARGETS; lock_type: MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE. */
struct vt_mpi_win *vt_mpi_fence_begin(uint32_t region, MPI_Win win);
void vt_mpi_fence_end(uint32_t region, const struct vt_mpi_win *w, int result);
void vt_mpi_flush_end(uint32_t region, MPI_Win win, int64_t target, bool remote, int result);
void vt_mpi_lock_begin(uint32_t region, MPI_Win win, int64_t target, int lock_type);
void vt_mpi_unlock_end(uint32_t region, MPI_Win win, int64_t target, int result);
void vt_mpi_win_sync_end(uint32_t region, MPI_Win win, int result);
/* Epochs of groups: MPI_Win_start and MPI_Win_complete (access), MPI_Win_post and MPI_Win_wait or MPI_Win_test (else).
   flag: output argument of MPI_Win_test, else NULL. */
void vt_mpi_epoch_opened(uint32_t region, MPI_Win win, MPI_Group group, bool access, int result);
void vt_mpi_epoch_closed(uint32_t region, MPI_Win win, bool access, const int *flag, int result);

/* ---- mpi_io.c: MPI-IO ---- */

/* Values of OTF2_IoOperationMode and OTF2_IoOperationFlag. */
enum vt_mpi_io_mode { VT_IO_READ = 0, VT_IO_WRITE = 1, VT_IO_FLUSH = 2 };
enum vt_mpi_io_flag { VT_IO_ALONE = 0, VT_IO_NON_BLOCKING = 1, VT_IO_COLLECTIVE = 2 };

#define VT_NO_OFFSET ((MPI_Offset) - 1)

/* An operation that is being issued. */
struct vt_mpi_io {
    struct vt_mpi_file *file; /* NULL: not recorded */
    uint64_t id;
};

/* After MPI_File_open. amode: MPI_MODE_x. */
void vt_mpi_file_opened(uint32_t region, MPI_Comm comm, const char *name, int amode, const MPI_File *fh, int result);
/* Start of MPI_File_close: returns the entry, which is no longer found by the handle, or NULL. The end frees or
   restores it. */
struct vt_mpi_file *vt_mpi_file_close_begin(uint32_t region, const MPI_File *fh);
void vt_mpi_file_close_end(uint32_t region, struct vt_mpi_file *f, const MPI_File *fh, int result);
void vt_mpi_file_deleted(uint32_t region, const char *name, int result);
/* After MPI_File_seek, or MPI_File_seek_shared (shared). offset: in elements of the view; whence: MPI_SEEK_x. */
void vt_mpi_file_sought(uint32_t region, MPI_File fh, MPI_Offset offset, int whence, bool shared, int result);
/* Start of an operation. flags: enum vt_mpi_io_flag; bytes: number requested; offset: in elements of the view. */
void vt_mpi_io_begin(struct vt_mpi_io *io, uint32_t region, MPI_File fh, enum vt_mpi_io_mode mode, unsigned flags,
                     uint64_t bytes);
void vt_mpi_io_begin_at(struct vt_mpi_io *io, uint32_t region, MPI_File fh, enum vt_mpi_io_mode mode, unsigned flags,
                        uint64_t bytes, MPI_Offset offset);
/* End of an operation. _flushed: of MPI_File_sync. _request: a request completes the operation. _split: start of a
   split collective operation, which _split_end completes. */
void vt_mpi_io_end(const struct vt_mpi_io *io, uint32_t region, const MPI_Status *status, int result);
void vt_mpi_io_flushed(const struct vt_mpi_io *io, uint32_t region);
void vt_mpi_io_request(const struct vt_mpi_io *io, uint32_t region, const MPI_Request *request, int result);
void vt_mpi_io_split(const struct vt_mpi_io *io, uint32_t region, int result);
void vt_mpi_io_split_end(uint32_t region, MPI_File fh, const MPI_Status *status, int result);

#endif
