/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: creating and freeing them, and synchronization calls. */
#include "mpiwrap.h"

struct vt_mpi_objects vt_mpi_wins;
static struct vt_mpi_win *vt_win_spare;

/* ---- Windows ---- */

static int vt_win_define(const struct vt_mpi_win *w, uint32_t count)
{
    return vt_define(VT_D_RMA_WIN, vt_number(w->id), vt_number(w->comm), vt_number(count));
}

static void vt_win_keep(struct vt_mpi_win *w)
{
    atomic_store(&w->id, 0);
    vt_mpi_rma_forget(w);
    w->next_spare = vt_win_spare;
    vt_win_spare = w;
}

/* The caller holds the lock. NULL if no more windows can be defined. */
static struct vt_mpi_win *vt_win_new(const struct vt_mpi_comm *c, uint32_t count)
{
    struct vt_mpi_win *w = vt_win_spare;
    if (w) vt_win_spare = w->next_spare;
    else w = vt_mpi_objects_memory(&vt_mpi_wins, sizeof *w);
    if (!w) return NULL;
    atomic_store(&w->id, (uint32_t)vt_new_id(VT_ID_RMA_WIN));
    w->comm = c->id;
    w->rank = c->rank;
    w->size = c->size;
    w->access = w->exposure = 0;
    if (w->id && vt_win_define(w, count)) return w;
    vt_warn_left_out("mpi/rma", "too many windows, or no room for their definitions: further windows are not recorded");
    vt_win_keep(w);
    return NULL;
}

static void vt_rma_coll_end(struct vt_mpi_batch *batch, uint32_t win, enum vt_mpi_op op, unsigned level)
{
    uint64_t *w = vt_mpi_add(batch, 5);
    w[0] = VT_HEAD(VT_K_RMA_COLL_END, 4, win);
    w[1] = vt_mpi_pair(op, VT_NO_ROOT);
    w[2] = level;
    w[3] = w[4] = 0;
}

static void vt_rma_coll_begin(uint32_t region)
{
    uint64_t words[] = {VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_RMA_COLL_BEGIN, 0, 0)};
    vt_write(words, 2);
}

/* The window is counted before the call, since all members of the communicator count it, whether their call succeeds or
   not. */
static void vt_win_count(struct vt_mpi_win_creation *creation)
{
    vt_mpi_objects_lock(&vt_mpi_wins);
    creation->win = vt_win_new(creation->comm, atomic_fetch_add(&creation->comm->windows, 1));
    vt_mpi_objects_unlock(&vt_mpi_wins);
}

void vt_mpi_win_create_begin(struct vt_mpi_win_creation *creation, uint32_t region, MPI_Comm comm)
{
    *creation = (struct vt_mpi_win_creation){vt_mpi_comm(comm), comm, NULL};
    if (creation->comm) vt_win_count(creation);
    if (creation->win) vt_rma_coll_begin(region);
    else vt_enter(region);
}

void vt_mpi_win_create_end(struct vt_mpi_win_creation *creation, uint32_t region, const MPI_Win *made, bool allocates,
                           int result)
{
    VT_MPI_BATCH(batch);
    if (!creation->comm && result == MPI_SUCCESS && (creation->comm = vt_mpi_comm_used(creation->from))) {
        vt_win_count(creation);
        if (creation->win) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_RMA_COLL_BEGIN, 0, 0);
    }
    struct vt_mpi_win *w = creation->win;
    if (w) {
        const uint32_t id = w->id;
        vt_mpi_objects_lock(&vt_mpi_wins);
        if (result == MPI_SUCCESS) {
            struct vt_mpi_object *stale = vt_mpi_object_unlink(&vt_mpi_wins, VT_HANDLE(*made));
            /* the program freed it by a function that vtrace does not wrap */
            if (stale) vt_win_keep((struct vt_mpi_win *)stale);
            w->end = allocates ? VT_OP_DESTROY_HANDLE_AND_DEALLOCATE : VT_OP_DESTROY_HANDLE;
            vt_mpi_object_link(&vt_mpi_wins, &w->object, VT_HANDLE(*made));
            atomic_store(&w->made, !atomic_load(&vt_mpi_off));
            *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_RMA_WIN_CREATE, 0, id);
        } else vt_win_keep(w);
        vt_mpi_objects_unlock(&vt_mpi_wins);
        vt_rma_coll_end(&batch, id, allocates ? VT_OP_CREATE_HANDLE_AND_ALLOCATE : VT_OP_CREATE_HANDLE,
                        VT_SYNC_PROCESS);
    }
    vt_mpi_leave(&batch, region);
}

/* The entry is removed before the call: MPI may give the same handle to another thread as soon as the call frees it. */
struct vt_mpi_win *vt_mpi_win_free_begin(uint32_t region, const MPI_Win *win)
{
    struct vt_mpi_win *w = NULL;
    if (win) {
        vt_mpi_objects_lock(&vt_mpi_wins);
        w = (struct vt_mpi_win *)vt_mpi_object_unlink(&vt_mpi_wins, VT_HANDLE(*win));
        vt_mpi_objects_unlock(&vt_mpi_wins);
    }
    if (w) vt_rma_coll_begin(region);
    else vt_enter(region);
    return w;
}

void vt_mpi_win_free_end(uint32_t region, struct vt_mpi_win *w, const MPI_Win *win, int result)
{
    VT_MPI_BATCH(batch);
    if (w) {
        const uint32_t id = w->id;
        if (result == MPI_SUCCESS) {
            vt_mpi_rma_sync(&batch, w, VT_ALL_TARGETS, true, true);
            if (atomic_load(&w->made)) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_RMA_WIN_DESTROY, 0, id);
        }
        vt_rma_coll_end(&batch, id, w->end, VT_SYNC_PROCESS | VT_SYNC_MEMORY);
        vt_mpi_objects_lock(&vt_mpi_wins);
        if (result == MPI_SUCCESS) vt_win_keep(w);
        else vt_mpi_object_link(&vt_mpi_wins, &w->object, VT_HANDLE(*win));
        vt_mpi_objects_unlock(&vt_mpi_wins);
    }
    vt_mpi_leave(&batch, region);
}

/* Recording resumes: windows that were created meanwhile are recorded from now on. */
void vt_mpi_announce_windows(void)
{
    VT_MPI_BATCH(batch);
    vt_mpi_objects_lock(&vt_mpi_wins);
    for (unsigned i = 0; i < VT_OBJECT_BUCKETS; i++)
        for (struct vt_mpi_object *o = atomic_load(&vt_mpi_wins.buckets[i]); o; o = atomic_load(&o->next)) {
            struct vt_mpi_win *w = (struct vt_mpi_win *)o;
            if (!atomic_exchange(&w->made, true)) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_RMA_WIN_CREATE, 0, w->id);
        }
    vt_mpi_objects_unlock(&vt_mpi_wins);
    if (batch.n) vt_write(batch.words, batch.n);
}

void vt_mpi_win_name(MPI_Win win, const char *name)
{
    const struct vt_mpi_win *w = vt_mpi_win(win);
    if (w) vt_mpi_define_name(VT_D_RMA_WIN_NAME, w->id, name);
}

/* ---- Synchronization ---- */

void vt_mpi_flush_end(uint32_t region, MPI_Win win, int64_t target, bool remote, int result)
{
    VT_MPI_BATCH(batch);
    const struct vt_mpi_win *w = result == MPI_SUCCESS ? vt_mpi_win(win) : NULL;
    if (w) vt_mpi_rma_sync(&batch, w, target, false, remote);
    vt_mpi_leave(&batch, region);
}

struct vt_mpi_win *vt_mpi_fence_begin(uint32_t region, MPI_Win win)
{
    struct vt_mpi_win *w = vt_mpi_win(win);
    if (w) vt_rma_coll_begin(region);
    else vt_enter(region);
    return w;
}

void vt_mpi_fence_end(uint32_t region, const struct vt_mpi_win *w, int result)
{
    VT_MPI_BATCH(batch);
    if (w && result == MPI_SUCCESS) vt_mpi_rma_sync(&batch, w, VT_ALL_TARGETS, true, true);
    if (w) vt_rma_coll_end(&batch, w->id, VT_OP_BARRIER, VT_SYNC_PROCESS | VT_SYNC_MEMORY);
    vt_mpi_leave(&batch, region);
}

/* ---- Locks ---- */

/* False for MPI_PROC_NULL and for an error that MPI reports. */
static bool vt_is_target(const struct vt_mpi_win *w, int64_t target)
{
    return target == VT_ALL_TARGETS || (target >= 0 && target < w->size);
}

void vt_mpi_lock_begin(uint32_t region, MPI_Win win, int64_t target, int lock_type)
{
    const struct vt_mpi_win *w = vt_mpi_win(win);
    if (!w || !vt_is_target(w, target)) {
        vt_enter(region);
        return;
    }
    uint64_t words[] = {
        VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_RMA_REQUEST_LOCK, 2, w->id),
        vt_mpi_pair((uint32_t)target, lock_type == MPI_LOCK_EXCLUSIVE ? VT_LOCK_EXCLUSIVE : VT_LOCK_SHARED), 0};
    vt_write(words, 4);
}

void vt_mpi_unlock_end(uint32_t region, MPI_Win win, int64_t target, int result)
{
    VT_MPI_BATCH(batch);
    const struct vt_mpi_win *w = result == MPI_SUCCESS ? vt_mpi_win(win) : NULL;
    if (w && vt_is_target(w, target)) {
        vt_mpi_rma_sync(&batch, w, target, true, true);
        uint64_t *words = vt_mpi_add(&batch, 3);
        words[0] = VT_HEAD(VT_K_RMA_RELEASE_LOCK, 2, w->id);
        words[1] = (uint32_t)target;
        words[2] = 0;
    }
    vt_mpi_leave(&batch, region);
}

void vt_mpi_win_sync_end(uint32_t region, MPI_Win win, int result)
{
    VT_MPI_BATCH(batch);
    const struct vt_mpi_win *w = result == MPI_SUCCESS ? vt_mpi_win(win) : NULL;
    if (w) {
        uint64_t *words = vt_mpi_add(&batch, 2);
        words[0] = VT_HEAD(VT_K_RMA_SYNC, 1, w->id);
        words[1] = w->rank; /* the private and the public copy of this rank's memory */
    }
    vt_mpi_leave(&batch, region);
}

/* ---- Epochs of groups ---- */

/* Defined groups by their content. A program that creates the same group repeatedly gets one definition. */
struct vt_rma_group {
    struct vt_rma_group *next;
    uint64_t content;
    uint32_t id;
};

#define VT_GROUP_BUCKETS 256u
#define VT_GROUP_PART 8000
static struct vt_rma_group *vt_groups[VT_GROUP_BUCKETS];
static int *vt_group_ranks;
static size_t vt_group_room;

static void vt_group_define(uint32_t id, uint32_t comm, const int *ranks, uint32_t n)
{
    uint32_t first = 0;
    do {
        const uint32_t part = n - first < VT_GROUP_PART ? n - first : VT_GROUP_PART;
        vt_define(VT_D_GROUP, vt_number(id), vt_number(comm), vt_number(first), vt_bytes(ranks + first, 4 * part));
        first += part;
    } while (first < n);
}

static uint32_t vt_group_of_ranks(uint32_t comm, const int *ranks, uint32_t n)
{
    const uint64_t content = vt_checksum(comm, ranks, n * sizeof *ranks);
    struct vt_rma_group **bucket = &vt_groups[content % VT_GROUP_BUCKETS], *g = *bucket;
    while (g && g->content != content) g = g->next;
    if (g) return g->id;
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_GROUP);
    g = id ? vt_mpi_objects_memory(&vt_mpi_wins, sizeof *g) : NULL;
    if (!g) {
        vt_warn_left_out("mpi/rma", "too many groups of one-sided synchronization: further groups are not recorded");
        return 0;
    }
    *g = (struct vt_rma_group){*bucket, content, id};
    *bucket = g;
    vt_group_define(id, comm, ranks, n);
    return id;
}

/* The definition of a group, by ranks in the window; 0 if it cannot be defined. MPI has accepted the group just
   before. */
static uint32_t vt_group(const struct vt_mpi_win *w, MPI_Win win, MPI_Group group)
{
    int n = 0;
    MPI_Group members;
    if (PMPI_Group_size(group, &n) != MPI_SUCCESS || PMPI_Win_get_group(win, &members) != MPI_SUCCESS) return 0;
    uint32_t id = 0;
    vt_mpi_objects_lock(&vt_mpi_wins);
    const size_t room = 2 * (size_t)n * sizeof(int);
    if (vt_group_room < room) {
        vt_group_ranks = vt_pages(2 * room);
        vt_group_room = vt_group_ranks ? 2 * room : 0;
    }
    if (vt_group_room >= room) {
        int *ranks = vt_group_ranks, *all = vt_group_ranks + n;
        for (int i = 0; i < n; i++) all[i] = i;
        if (!n || PMPI_Group_translate_ranks(group, n, all, members, ranks) == MPI_SUCCESS)
            id = vt_group_of_ranks(w->comm, ranks, (uint32_t)n);
    }
    vt_mpi_objects_unlock(&vt_mpi_wins);
    PMPI_Group_free(&members);
    return id;
}

static void vt_group_sync(struct vt_mpi_batch *batch, const struct vt_mpi_win *w, uint32_t group, unsigned level)
{
    if (!group) return;
    uint64_t *words = vt_mpi_add(batch, 3);
    words[0] = VT_HEAD(VT_K_RMA_GROUP_SYNC, 2, w->id);
    words[1] = level;
    words[2] = group;
}

void vt_mpi_epoch_opened(uint32_t region, MPI_Win win, MPI_Group group, bool access, int result)
{
    VT_MPI_BATCH(batch);
    struct vt_mpi_win *w = result == MPI_SUCCESS ? vt_mpi_win(win) : NULL;
    if (w) {
        const uint32_t id = vt_group(w, win, group);
        if (access) w->access = id;
        else w->exposure = id;
        vt_group_sync(&batch, w, id, VT_SYNC_PROCESS);
    }
    vt_mpi_leave(&batch, region);
}

void vt_mpi_epoch_closed(uint32_t region, MPI_Win win, bool access, const int *flag, int result)
{
    VT_MPI_BATCH(batch);
    const struct vt_mpi_win *w = result == MPI_SUCCESS ? vt_mpi_win(win) : NULL;
    if (w) {
        if (access) vt_mpi_rma_sync(&batch, w, VT_ALL_TARGETS, true, true);
        vt_group_sync(&batch, w, access ? w->access : w->exposure,
                      flag && !*flag ? VT_SYNC_NONE : VT_SYNC_PROCESS | VT_SYNC_MEMORY);
    }
    vt_mpi_leave(&batch, region);
}
