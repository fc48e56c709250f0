/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI shim: generated wrappers and the hand-written code behind them, compiled as one unit per MPI installation.
   The generated part defines before this header: VT_HAVE_x of each wrapped function, enum vt_mpi_function. */
#ifndef VT_MPIWRAP_H
#define VT_MPIWRAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "core.h"
#include "msgpack.h"

/* A program's own definition of an MPI function goes before ours. */
#define VT_WRAPPER __attribute__((weak, visibility("default")))

#define VT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VT_NO_ROOT 0xffffffffu

#include "around.h"
#include "counts.h"

/* ---- init_finalize.c: attaching, regions, Init and Finalize ---- */

enum vt_mpi_state { VT_MPI_NEW, VT_MPI_ATTACHING, VT_MPI_RECORD, VT_MPI_PASSIVE };

struct vt_mpi_function_info {
    const char *name;
    uint8_t role, group;
};

extern const char *const vt_mpi_groups[]; /* names by number, then NULL */

extern const struct vt_mpi_function_info vt_mpi_functions[VT_FUNCTIONS];
extern _Atomic(uint32_t) vt_mpi_regions[VT_FUNCTIONS];
extern _Atomic(int) vt_mpi_state;

uint32_t vt_mpi_first_call(unsigned function, _Atomic(uint32_t) *region, const char *binding);
void vt_mpi_begun(void);
void vt_mpi_ends(void);
void vt_mpi_control(int level, bool after);

/* tools.c: by function the definition of a tool behind us; NULL where there is no such tool, or none for a function */
extern void *const *vt_mpi_nexts;

#define VT_MPI_NEXT(name)                                                                                              \
    (VT_LIKELY(!vt_mpi_nexts) || !vt_mpi_nexts[VT_F_##name]                                                            \
         ? P##name                                                                                                     \
         : (__typeof__(&P##name))(uintptr_t)vt_mpi_nexts[VT_F_##name])

/* mpi_groups.c: VT_MPI_GROUPS */
void vt_mpi_read_groups(void);
bool vt_mpi_group_is_on(unsigned group);

/* Instead of the region of a function whose group is off. */
#define VT_MPI_QUIET 0xffffffffu

/* Where the code of the MPI's Fortran binding lies: the C functions that it calls are recorded as the Fortran ones. */
extern struct vt_mpi_binding {
    _Atomic(uintptr_t) start, bytes;
} vt_mpi_binding;

__attribute__((always_inline)) static inline bool vt_mpi_by_binding(void)
{
    return (uintptr_t)__builtin_return_address(0) - atomic_load_explicit(&vt_mpi_binding.start, memory_order_relaxed) <
           atomic_load_explicit(&vt_mpi_binding.bytes, memory_order_relaxed);
}

/* The region of a function, 0 where its call is not recorded, VT_MPI_QUIET where its group is off. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_region(unsigned function)
{
    if (atomic_load_explicit(&vt_mpi_state, memory_order_relaxed) == VT_MPI_PASSIVE || vt_mpi_by_binding()) return 0;
    const uint32_t region = atomic_load_explicit(&vt_mpi_regions[function], memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_mpi_first_call(function, &vt_mpi_regions[function], NULL);
}

/* At the begin of a function whose effects must be known when its group is off, too. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_track(unsigned function)
{
    return vt_mpi_placed(vt_mpi_region(function));
}

/* The same of any other: 0 instead of VT_MPI_QUIET. */
__attribute__((always_inline)) static inline uint32_t vt_mpi_begin(unsigned function)
{
    const uint32_t region = vt_mpi_track(function);
    return VT_LIKELY(region != VT_MPI_QUIET) ? region : 0;
}

/* ---- Records ---- */

static inline uint64_t vt_mpi_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Records that go out together. */
struct vt_mpi_batch {
    unsigned n;
    uint64_t words[64];
};

/* An empty one; an initializer would clear all of its words, which costs as much as a clock read. */
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

/* Handles are int (MPICH) or pointers (Open MPI, MPI-5). */
#define VT_HANDLE(x) ((uint64_t)(uintptr_t)(x))

struct vt_mpi_comm {
    _Atomic(uint64_t) handle;
    _Atomic(struct vt_mpi_comm *) next;
    uint32_t id;               /* never 0 in the table */
    uint32_t rank, size;
    uint32_t remote;           /* size of the remote group, 0: not an inter-communicator */
    bool made;                 /* with a COMM_CREATE record, so that its end gets one too */
    bool foreign;              /* has members of other worlds */
    bool unseen;               /* made out of our sight: not all of its members need know it */
    _Atomic(uint32_t) created; /* calls so far that made communicators from it */
    _Atomic(uint32_t) windows; /* the same of windows */
    uint64_t hash;             /* of its members */
    struct vt_mpi_seen *seen;  /* made from it by some of its members */
    _Atomic(struct vt_mpi_comm *) partitioned; /* the definition that its partitioned messages name, or NULL */
};

#define VT_COMM_BUCKETS 512u
extern _Atomic(struct vt_mpi_comm *) vt_mpi_comms[VT_COMM_BUCKETS];

static inline unsigned vt_mpi_bucket(uint64_t handle) { return (unsigned)(handle * 0x9e3779b97f4a7c15u >> 55); }

/* NULL for one that was not met before. */
static inline struct vt_mpi_comm *vt_mpi_comm_find(MPI_Comm comm)
{
    const uint64_t handle = VT_HANDLE(comm);
    struct vt_mpi_comm *c = atomic_load_explicit(&vt_mpi_comms[vt_mpi_bucket(handle)], memory_order_acquire);
    while (c && atomic_load_explicit(&c->handle, memory_order_relaxed) != handle)
        c = atomic_load_explicit(&c->next, memory_order_acquire);
    return c;
}

struct vt_mpi_comm *vt_mpi_comm_first(MPI_Comm comm, bool used);

/* NULL for what is no communicator, where none can be defined any more, and where MPI cannot be asked yet. */
static inline struct vt_mpi_comm *vt_mpi_comm(MPI_Comm comm)
{
    struct vt_mpi_comm *c = vt_mpi_comm_find(comm);
    return VT_LIKELY(c != NULL) ? c : vt_mpi_comm_first(comm, false);
}

/* The same after a call with this communicator has succeeded. */
static inline struct vt_mpi_comm *vt_mpi_comm_used(MPI_Comm comm)
{
    struct vt_mpi_comm *c = vt_mpi_comm_find(comm);
    return VT_LIKELY(c != NULL) ? c : vt_mpi_comm_first(comm, true);
}

/* The number of processes that a rank argument counts. */
static inline uint32_t vt_mpi_peers(const struct vt_mpi_comm *c) { return c->remote ? c->remote : c->size; }

extern uint64_t vt_mpi_world_id;
void vt_mpi_define_world(void);

/* How a communicator comes to be: what format.h calls its identity. */
struct vt_mpi_origin {
    enum vt_comm_kind kind;
    struct vt_mpi_comm *parent; /* or NULL */
    MPI_Comm from;              /* the parent's handle */
    int64_t tag;
    const char *string;         /* instead of the tag, or NULL */
    bool counted;               /* count is known; else it is the number of earlier ones of equal identity */
    uint64_t count;
};

/* Under the lock: an entry is added, then linked; unlinked, then kept for the next one. */
void vt_mpi_comm_lock(void);
void vt_mpi_comm_unlock(void);
struct vt_mpi_comm *vt_mpi_comm_add(MPI_Comm comm, const struct vt_mpi_origin *origin);
uint32_t vt_mpi_comm_partitioned(struct vt_mpi_comm *c);
struct vt_mpi_comm *vt_mpi_comm_add_twin(const struct vt_mpi_origin *origin);
void vt_mpi_comm_link(struct vt_mpi_comm *c, MPI_Comm comm);
struct vt_mpi_comm *vt_mpi_comm_unlink(MPI_Comm comm);
void vt_mpi_comm_keep(struct vt_mpi_comm *c);
void *vt_mpi_comm_memory(size_t bytes);
void vt_mpi_comm_define_name(const struct vt_mpi_comm *c, const char *name);

/* ---- create.c: calls that make, name and free communicators ---- */

struct vt_mpi_creation {
    struct vt_mpi_comm *parent;
    MPI_Comm from;
    enum vt_comm_kind kind;
    uint32_t count;
};

struct vt_mpi_creation vt_mpi_create_begin(uint32_t region, MPI_Comm parent, enum vt_comm_kind kind);
void vt_mpi_create_end(uint32_t region, struct vt_mpi_creation creation, int64_t tag, int result, const MPI_Comm *made);
void vt_mpi_create_alone_end(uint32_t region, const struct vt_mpi_origin *origin, int result, const MPI_Comm *made);
struct vt_mpi_creation vt_mpi_idup_begin(uint32_t region, MPI_Comm parent);
void vt_mpi_idup_end(uint32_t region, struct vt_mpi_creation creation, int result, const MPI_Comm *made,
                     const MPI_Request *request);
struct vt_mpi_comm *vt_mpi_free_begin(uint32_t region, const MPI_Comm *comm);
void vt_mpi_free_end(uint32_t region, struct vt_mpi_comm *c, MPI_Comm comm, int result);
void vt_mpi_name(MPI_Comm comm, const char *name);
void vt_mpi_name_grid(MPI_Comm comm, int n, const int *extents, const int *periodic);

/* ---- world.c: which processes belong together ---- */

bool vt_mpi_world_group(MPI_Group *world);
#ifdef VT_HAVE_MPI_Session_init
void vt_mpi_session_begun(const MPI_Session *session, int result);
void vt_mpi_session_ends(const MPI_Session *session);
#endif

/* ---- spawn.c: processes that come later ---- */

struct vt_mpi_spawn {
    int64_t id;      /* of this call, the same in all processes that it concerns */
    char **commands; /* what is started instead, or NULL */
    char ***argvs;
    size_t bytes;
};

void vt_mpi_spawn_begin(struct vt_mpi_spawn *spawn, MPI_Comm comm, int root, int n, const char *const *commands,
                        char *const *const *argvs, const MPI_Info *infos);
void vt_mpi_spawn_done(struct vt_mpi_spawn *spawn);
void vt_mpi_spawned(void);
void vt_mpi_info_made(MPI_Info info, const MPI_Info *from, bool anything);
void vt_mpi_info_set(MPI_Info info, const char *key, bool there);
struct vt_mpi_origin vt_mpi_connection(MPI_Comm comm, int root, const char *port, bool accepts);

/* ---- coll.c: collective operations ---- */

/* OTF2's numbers (OTF2_CollectiveOp). */
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
    const struct vt_mpi_comm *comm; /* NULL: no record */
    uint32_t n, me;                 /* processes that a count argument has entries for; own rank */
    enum vt_mpi_op op;
    uint32_t root;
    bool is_root, is_leaf; /* with a root: has the root's part; has the others' (in an intra-communicator all) */
    bool from_all;         /* gets something from every other member, which not each operation tells */
    uint64_t sent, received;
    uint64_t id; /* of a non-blocking one's request */
};

static inline void vt_mpi_coll_of(struct vt_mpi_coll *coll, MPI_Comm comm)
{
    const struct vt_mpi_comm *c = coll->comm = vt_mpi_comm(comm);
    coll->root = VT_NO_ROOT;
    coll->sent = coll->received = 0;
    coll->from_all = false;
    if (!c) return;
    coll->n = vt_mpi_peers(c);
    coll->me = c->rank;
}

bool vt_mpi_coll_late(struct vt_mpi_coll *coll, MPI_Comm comm, bool request, int result);

/* clocks.c, by all ranks */
void vt_mpi_clocks_begin(int rank, bool records), vt_mpi_clocks_measure(void), vt_mpi_clocks_end(void);

static inline void vt_mpi_coll_begin(struct vt_mpi_coll *coll, uint32_t region, MPI_Comm comm)
{
    vt_mpi_coll_of(coll, comm);
    if (VT_LIKELY(coll->comm != NULL)) vt_write_2(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_COLL_BEGIN, 0, 0));
    else vt_enter(region);
}

/* In an inter-communicator the root passes MPI_ROOT, its group MPI_PROC_NULL, the other group the root's rank. */
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

/* An operation that failed ends too, without bytes: what began must end in the trace. */
static inline void vt_mpi_coll_end(const struct vt_mpi_coll *coll, uint32_t region, int result)
{
    const bool done = VT_LIKELY(result == MPI_SUCCESS);
    if (VT_LIKELY(coll->comm != NULL))
        vt_write_5(VT_HEAD(VT_K_COLL_END, 3, coll->comm->id), vt_mpi_op_root(coll), done ? coll->sent : 0,
                   done ? coll->received : 0, VT_HEAD(VT_K_LEAVE, 0, region));
    else vt_leave(region);
}

void vt_mpi_icoll_begin(struct vt_mpi_coll *coll, uint32_t region, MPI_Comm comm);
void vt_mpi_icoll_end(const struct vt_mpi_coll *coll, uint32_t region, const MPI_Request *request, int result);
void vt_mpi_coll_persistent(const struct vt_mpi_coll *coll, const MPI_Request *request, int result);

/* The neighbours in a topology: how many entries the arguments have for those that this process receives from and sends
   to, and how many and which of them (a bit each) a non-periodic grid lacks at its border. */
struct vt_mpi_neighbours {
    uint32_t in, out, lacks;
    uint64_t missing;
};

struct vt_mpi_neighbours vt_mpi_neighbours(MPI_Comm comm);

static inline bool vt_mpi_is_missing(const struct vt_mpi_neighbours *neighbours, uint32_t i)
{
    return i < 64 && neighbours->missing >> i & 1;
}

/* ---- request.c: requests and matched messages that are under way ---- */

#include "request.h"

#define VT_REQUEST_BLOCK 1024u
extern __thread uint64_t vt_mpi_next_request __attribute__((tls_model("initial-exec")));

/* Recording is switched off, by MPI_Pcontrol or the user API. */
extern _Atomic(bool) vt_mpi_off;

/* A number that no other request of the process has. Threads take them in blocks. 0: the start is not recorded, so that
   completion must not speak of it. */
static inline uint64_t vt_mpi_new_request(void)
{
    if (atomic_load_explicit(&vt_mpi_off, memory_order_relaxed)) return 0;
    if (vt_mpi_next_request % VT_REQUEST_BLOCK == 0)
        vt_mpi_next_request = vt_new_id(VT_ID_REQUEST) * VT_REQUEST_BLOCK + 1;
    return vt_mpi_next_request++;
}

/* ---- complete.c: Wait and Test ---- */

#define VT_FEW 32

void *vt_mpi_arena_take(size_t bytes);
void vt_mpi_arena_drop(void);

struct vt_mpi_wait {
    int n;
    bool in_arena, cancels;
    MPI_Status *statuses; /* what the call is given */
    const MPI_Status *given, *ignore; /* what the user gave; what that is to ignore them */
    struct vt_mpi_request **requests; /* NULL where we know of no operation under way */
    struct vt_mpi_request *few[VT_FEW];
    MPI_Status few_statuses[VT_FEW];
};

MPI_Status *vt_mpi_wait_begin(struct vt_mpi_wait *wait, uint32_t region, int n, const MPI_Request *requests,
                              MPI_Status *statuses, const MPI_Status *ignore);
void vt_mpi_all_end(struct vt_mpi_wait *wait, uint32_t region, MPI_Request *requests, const int *flag, int result);
void vt_mpi_any_end(struct vt_mpi_wait *wait, uint32_t region, const MPI_Request *requests, const int *index,
                    const int *flag, int result);
void vt_mpi_some_end(struct vt_mpi_wait *wait, uint32_t region, const MPI_Request *requests, const int *done,
                     const int *indices, bool test, int result);
void vt_mpi_cancel(void);
struct vt_mpi_request *vt_mpi_free_request(const MPI_Request *request);
void vt_mpi_freed(struct vt_mpi_request *request, int result);

/* ---- types.c: sizes of datatypes ---- */

uint64_t vt_mpi_type_size(MPI_Datatype type);
void vt_mpi_learn_types(void);
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

#define VT_LATE UINT64_MAX /* instead of a request's number: the communicator is not known yet */

uint64_t vt_mpi_received(const MPI_Status *status);
MPI_Status vt_mpi_truncated(const MPI_Status *status, uint64_t room);
bool vt_mpi_consumed(int result);

/* The bytes of a receive's buffer, where the message was too long for it; else 0. */
static inline uint64_t vt_mpi_room(int result, int64_t count, MPI_Datatype type)
{
    return VT_LIKELY(result == MPI_SUCCESS) || !vt_mpi_consumed(result) ? 0 : vt_mpi_bytes(count, type);
}

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
    struct vt_mpi_request **requests, *few[VT_FEW]; /* NULL where there is nothing to record */
};

void vt_mpi_start_begin(struct vt_mpi_start *start, uint32_t region, int n, const MPI_Request *requests);
void vt_mpi_start_end(struct vt_mpi_start *start, uint32_t region, const MPI_Request *requests, int result);
void vt_mpi_add_received(struct vt_mpi_batch *batch, const struct vt_mpi_request *r, const MPI_Status *status);
void vt_mpi_probed(uint32_t region, MPI_Comm comm, const MPI_Message *message, bool found);
struct vt_mpi_request *vt_mpi_take_message(const MPI_Message *message);
void vt_mpi_mrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Status *status, int result,
                      uint64_t room);
void vt_mpi_imrecv_end(uint32_t region, struct vt_mpi_request *message, const MPI_Request *request, int result);

/* ---- objects.c: windows and files by their handles ---- */

struct vt_mpi_object {
    _Atomic(uint64_t) handle;
    _Atomic(struct vt_mpi_object *) next;
};

#define VT_OBJECT_BUCKETS 64u

/* at, left: memory for further ones. All belongs to whoever holds the lock; looking up needs none. */
struct vt_mpi_objects {
    atomic_flag lock;
    char *at;
    size_t left;
    _Atomic(struct vt_mpi_object *) buckets[VT_OBJECT_BUCKETS];
};

static inline unsigned vt_mpi_object_bucket(uint64_t handle) { return (unsigned)(handle * 0x9e3779b97f4a7c15u >> 58); }

void vt_mpi_objects_lock(struct vt_mpi_objects *objects);
void vt_mpi_objects_unlock(struct vt_mpi_objects *objects);
struct vt_mpi_object *vt_mpi_object_find(struct vt_mpi_objects *objects, uint64_t handle);
void vt_mpi_object_link(struct vt_mpi_objects *objects, struct vt_mpi_object *object, uint64_t handle);
struct vt_mpi_object *vt_mpi_object_unlink(struct vt_mpi_objects *objects, uint64_t handle);
void *vt_mpi_objects_memory(struct vt_mpi_objects *objects, size_t bytes);

/* ---- rma.c: one-sided operations ---- */

#define VT_ALL_TARGETS 0xffffffffll /* no rank: those are int */

/* OTF2's numbers (OTF2_RmaSyncLevel, OTF2_LockType, OTF2_RmaAtomicType). */
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
    _Atomic(bool) made; /* with an RMA_WIN_CREATE record */
    enum vt_mpi_op end; /* what freeing it is */
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

void vt_mpi_put_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes, bool request);
void vt_mpi_get_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, uint64_t bytes, bool request);
enum vt_mpi_atomic vt_mpi_atomic_of(MPI_Op op);
void vt_mpi_atomic_begin(struct vt_mpi_rma *op, uint32_t region, MPI_Win win, int peer, enum vt_mpi_atomic type,
                         uint64_t sent, uint64_t received, bool request);
void vt_mpi_rma_end(const struct vt_mpi_rma *op, uint32_t region);
void vt_mpi_rma_request_end(const struct vt_mpi_rma *op, uint32_t region, const MPI_Request *request, int result);
void vt_mpi_rma_sync(struct vt_mpi_batch *batch, const struct vt_mpi_win *w, int64_t target, bool all_threads,
                     bool remote);
void vt_mpi_rma_forget(struct vt_mpi_win *w);

/* ---- rma_windows.c: windows ---- */

struct vt_mpi_win_creation {
    struct vt_mpi_comm *comm; /* NULL: not known yet */
    MPI_Comm from;
    struct vt_mpi_win *win;
};

void vt_mpi_win_create_begin(struct vt_mpi_win_creation *creation, uint32_t region, MPI_Comm comm);
void vt_mpi_win_create_end(struct vt_mpi_win_creation *creation, uint32_t region, const MPI_Win *made, bool allocates,
                           int result);
void vt_mpi_announce_windows(void);
void vt_mpi_win_name(MPI_Win win, const char *name);
struct vt_mpi_win *vt_mpi_win_free_begin(uint32_t region, const MPI_Win *win);
void vt_mpi_win_free_end(uint32_t region, struct vt_mpi_win *w, const MPI_Win *win, int result);
struct vt_mpi_win *vt_mpi_fence_begin(uint32_t region, MPI_Win win);
void vt_mpi_fence_end(uint32_t region, const struct vt_mpi_win *w, int result);
void vt_mpi_flush_end(uint32_t region, MPI_Win win, int64_t target, bool remote, int result);
void vt_mpi_lock_begin(uint32_t region, MPI_Win win, int64_t target, int lock_type);
void vt_mpi_unlock_end(uint32_t region, MPI_Win win, int64_t target, int result);
void vt_mpi_win_sync_end(uint32_t region, MPI_Win win, int result);
void vt_mpi_epoch_opened(uint32_t region, MPI_Win win, MPI_Group group, bool access, int result);
void vt_mpi_epoch_closed(uint32_t region, MPI_Win win, bool access, const int *flag, int result);

/* ---- file.c: MPI-IO ---- */

/* OTF2's numbers (OTF2_IoOperationMode, OTF2_IoOperationFlag). */
enum vt_mpi_io_mode { VT_IO_READ = 0, VT_IO_WRITE = 1, VT_IO_FLUSH = 2 };
enum vt_mpi_io_flag { VT_IO_ALONE = 0, VT_IO_NON_BLOCKING = 1, VT_IO_COLLECTIVE = 2 };

#define VT_NO_OFFSET ((MPI_Offset) - 1)

/* An operation that is being issued. */
struct vt_mpi_io {
    struct vt_mpi_file *file; /* NULL: not recorded */
    uint64_t id;
};

void vt_mpi_file_opened(uint32_t region, MPI_Comm comm, const char *name, int amode, const MPI_File *fh, int result);
struct vt_mpi_file *vt_mpi_file_close_begin(uint32_t region, const MPI_File *fh);
void vt_mpi_file_close_end(uint32_t region, struct vt_mpi_file *f, const MPI_File *fh, int result);
void vt_mpi_file_deleted(uint32_t region, const char *name, int result);
void vt_mpi_file_sought(uint32_t region, MPI_File fh, MPI_Offset offset, int whence, bool shared, int result);
void vt_mpi_io_begin(struct vt_mpi_io *io, uint32_t region, MPI_File fh, enum vt_mpi_io_mode mode, unsigned flags,
                     uint64_t bytes);
void vt_mpi_io_begin_at(struct vt_mpi_io *io, uint32_t region, MPI_File fh, enum vt_mpi_io_mode mode, unsigned flags,
                        uint64_t bytes, MPI_Offset offset);
void vt_mpi_io_end(const struct vt_mpi_io *io, uint32_t region, const MPI_Status *status, int result);
void vt_mpi_io_flushed(const struct vt_mpi_io *io, uint32_t region);
void vt_mpi_io_request(const struct vt_mpi_io *io, uint32_t region, const MPI_Request *request, int result);
void vt_mpi_io_split(const struct vt_mpi_io *io, uint32_t region, int result);
void vt_mpi_io_split_end(uint32_t region, MPI_File fh, const MPI_Status *status, int result);

#endif
