/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI-IO: files, handles and operations. */
#include "mpiwrap.h"

#include <errno.h>
#include <unistd.h>

static struct vt_mpi_objects vt_files;

/* A file by its name, with its closed handles. If the file is opened again by the same communicator, its I/O handle is
   reused. So opening a file in a loop needs one definition. */
struct vt_mpi_path {
    struct vt_mpi_path *next;
    uint64_t content;
    uint32_t id; /* 0: it cannot be defined */
    struct vt_mpi_file *closed;
};

struct vt_mpi_file {
    struct vt_mpi_object object;
    uint32_t id;
    uint32_t comm; /* 0: the definition is not reused */
    _Atomic(uint64_t) split; /* matching id of the active split collective operation; 0: none */
    struct vt_mpi_path *path;
    struct vt_mpi_file *next_closed;
};

#define VT_PATH_BUCKETS 4096u
static struct vt_mpi_path *vt_paths[VT_PATH_BUCKETS];

/* ---- Names ---- */

#define VT_PATH_MAX 4096

/* Prefixes of paths that name a file system for MPI libraries. */
static const char *vt_without_prefix(const char *name)
{
    static const char *const known[] = {"ufs",   "nfs", "panfs", "lustre", "pvfs2", "pvfs",    "gpfs",      "xfs",
                                        "piofs", "hfs", "sfs",   "testfs", "daos",  "unifyfs", "quobytefs", "gridftp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = strlen(known[i]);
        if (strncmp(name, known[i], n) == 0 && name[n] == ':') return name + n + 1;
    }
    return name;
}

/* Stores the absolute path of a name, without empty and "." components. A longer path is truncated. */
static void vt_absolute(const char *name, char path[VT_PATH_MAX])
{
    const int saved = errno;
    size_t n = 0;
    name = vt_without_prefix(name);
    if (*name != '/' && getcwd(path, VT_PATH_MAX / 2)) n = strlen(path);
    while (n && path[n - 1] == '/') n--;
    while (*name && n < VT_PATH_MAX - 2) {
        const size_t part = strcspn(name, "/");
        const size_t room = VT_PATH_MAX - 2 - n, kept = part < room ? part : room;
        if (part && !(part == 1 && *name == '.')) {
            path[n++] = '/';
            memcpy(path + n, name, kept);
            n += kept;
        }
        name += part + (name[part] == '/');
    }
    path[n] = '\0';
    errno = saved;
}

static int vt_path_define(uint32_t id, const char *path)
{
    return vt_define(VT_D_IO_FILE, vt_number(id), vt_string(path));
}

/* The caller holds the lock. NULL if there is no memory. */
static struct vt_mpi_path *vt_path(const char *path)
{
    const uint64_t content = vt_checksum(0, path, strlen(path));
    struct vt_mpi_path **bucket = &vt_paths[content % VT_PATH_BUCKETS], *p = *bucket;
    while (p && p->content != content) p = p->next;
    if (p) return p;
    p = vt_mpi_objects_memory(&vt_files, sizeof *p);
    if (!p) return NULL;
    *p = (struct vt_mpi_path){*bucket, content, (uint32_t)vt_new_id(VT_ID_IO_FILE), NULL};
    if (!p->id || !vt_path_define(p->id, path)) {
        vt_warn("too many files, or no room for their definitions: names of further files are not recorded");
        p->id = 0;
    }
    *bucket = p;
    return p;
}

/* ---- Handles ---- */

/* Values of OTF2_IoAccessMode, OTF2_IoCreationFlag and OTF2_IoStatusFlag. */
struct vt_mpi_modes {
    uint32_t access, creation, status;
};

static struct vt_mpi_modes vt_modes(int amode)
{
    return (struct vt_mpi_modes){
        .access = amode & MPI_MODE_RDWR     ? 2
                  : amode & MPI_MODE_WRONLY ? 1
                                            : 0,
        .creation = (amode & MPI_MODE_CREATE ? 1u : 0) | (amode & MPI_MODE_EXCL ? 1u << 3 : 0) |
                    (amode & MPI_MODE_SEQUENTIAL ? 1u << 9 : 0) | (amode & MPI_MODE_UNIQUE_OPEN ? 1u << 10 : 0),
        .status = (amode & MPI_MODE_APPEND ? 1u << 1 : 0) | (amode & MPI_MODE_DELETE_ON_CLOSE ? 1u << 8 : 0),
    };
}

/* before: the modes of a file that was opened while recording was off; the trace shows it open from the beginning. Else
   NULL. */
static int vt_file_define(const struct vt_mpi_file *f, const char *path, const struct vt_mpi_modes *before)
{
    const char *name = strrchr(path, '/');
    return vt_define(VT_D_IO_HANDLE, vt_number(f->id), vt_string(name ? name + 1 : path), vt_id(f->path->id),
                     vt_number(VT_IO_MPI), vt_number(before ? 1 : 0 /* OTF2_IO_HANDLE_FLAG_PRE_CREATED */),
                     vt_number(f->comm), vt_nil(), before ? vt_number(before->access) : vt_nil(),
                     before ? vt_number(before->status) : vt_nil());
}

static void vt_file_keep(struct vt_mpi_file *f)
{
    f->next_closed = f->path->closed;
    f->path->closed = f;
}

/* The caller holds the lock. NULL if no more handles can be defined. */
static struct vt_mpi_file *vt_file_new(const char *path, uint32_t comm, const struct vt_mpi_modes *before)
{
    struct vt_mpi_path *p = vt_path(path);
    if (!p) return NULL;
    for (struct vt_mpi_file **link = &p->closed; *link; link = &(*link)->next_closed)
        if ((*link)->comm == comm && !before) {
            struct vt_mpi_file *f = *link;
            *link = f->next_closed;
            return f;
        }
    struct vt_mpi_file *f = p->closed;
    if (f) p->closed = f->next_closed;
    else f = vt_mpi_objects_memory(&vt_files, sizeof *f);
    if (!f) return NULL;
    f->path = p;
    f->comm = comm;
    f->id = (uint32_t)vt_new_id(VT_ID_IO_HANDLE);
    const int defined = f->id && vt_file_define(f, path, before);
    if (before || !defined) f->comm = 0;
    if (defined) return f;
    vt_warn_left_out(
        "io", "too many I/O handles, or no room for their definitions: operations on further files are not recorded");
    vt_file_keep(f);
    return NULL;
}

static struct vt_mpi_file *vt_file(MPI_File fh)
{
    return (struct vt_mpi_file *)vt_mpi_object_find(&vt_files, VT_HANDLE(fh));
}

void vt_mpi_file_opened(uint32_t region, MPI_Comm comm, const char *name, int amode, const MPI_File *fh, int result)
{
    VT_MPI_BATCH(batch);
    const struct vt_mpi_comm *c = result == MPI_SUCCESS ? vt_mpi_comm_used(comm) : NULL;
    if (c) {
        char path[VT_PATH_MAX];
        vt_absolute(name, path);
        vt_mpi_objects_lock(&vt_files);
        struct vt_mpi_object *stale = vt_mpi_object_unlink(&vt_files, VT_HANDLE(*fh));
        /* the program closed it by a function that vtrace does not wrap */
        if (stale) vt_file_keep((struct vt_mpi_file *)stale);
        const struct vt_mpi_modes modes = vt_modes(amode);
        const bool off = atomic_load(&vt_mpi_off);
        struct vt_mpi_file *f = vt_file_new(path, c->id, off ? &modes : NULL);
        if (f) {
            atomic_store(&f->split, 0);
            vt_mpi_object_link(&vt_files, &f->object, VT_HANDLE(*fh));
        }
        if (f && !off) {
            uint64_t *words = vt_mpi_add(&batch, 3);
            words[0] = VT_HEAD(VT_K_IO_CREATE, 2, f->id);
            words[1] = vt_mpi_pair(modes.access, modes.creation);
            words[2] = modes.status;
        }
        vt_mpi_objects_unlock(&vt_files);
    }
    vt_mpi_leave(&batch, region);
}

/* The entry is removed before the call: MPI may give the same handle to another thread as soon as the call frees it. */
struct vt_mpi_file *vt_mpi_file_close_begin(uint32_t region, const MPI_File *fh)
{
    struct vt_mpi_object *f = NULL;
    vt_enter(region);
    if (fh) {
        vt_mpi_objects_lock(&vt_files);
        f = vt_mpi_object_unlink(&vt_files, VT_HANDLE(*fh));
        vt_mpi_objects_unlock(&vt_files);
    }
    return (struct vt_mpi_file *)f;
}

void vt_mpi_file_close_end(uint32_t region, struct vt_mpi_file *f, const MPI_File *fh, int result)
{
    VT_MPI_BATCH(batch);
    if (f) {
        if (result == MPI_SUCCESS) *vt_mpi_add(&batch, 1) = VT_HEAD(VT_K_IO_DESTROY, 0, f->id);
        if (atomic_load(&vt_mpi_off)) f->comm = 0; /* in the trace the file stays open */
        vt_mpi_objects_lock(&vt_files);
        if (result == MPI_SUCCESS) vt_file_keep(f);
        else vt_mpi_object_link(&vt_files, &f->object, VT_HANDLE(*fh));
        vt_mpi_objects_unlock(&vt_files);
    }
    vt_mpi_leave(&batch, region);
}

void vt_mpi_file_deleted(uint32_t region, const char *name, int result)
{
    VT_MPI_BATCH(batch);
    if (result == MPI_SUCCESS) {
        char path[VT_PATH_MAX];
        vt_absolute(name, path);
        vt_mpi_objects_lock(&vt_files);
        const struct vt_mpi_path *p = vt_path(path);
        vt_mpi_objects_unlock(&vt_files);
        if (p && p->id) {
            uint64_t *words = vt_mpi_add(&batch, 2);
            words[0] = VT_HEAD(VT_K_IO_DELETE, 1, p->id);
            words[1] = VT_IO_MPI;
        }
    }
    vt_mpi_leave(&batch, region);
}

/* MPI_SEEK_SET gives the new position. For other values of whence MPI is asked, except for the shared file pointer,
   which needs a lock among all processes. */
void vt_mpi_file_sought(uint32_t region, MPI_File fh, MPI_Offset offset, int whence, bool shared, int result)
{
    VT_MPI_BATCH(batch);
    const struct vt_mpi_file *f = result == MPI_SUCCESS ? vt_file(fh) : NULL;
    if (f) {
        MPI_Offset reached = offset;
        if (whence != MPI_SEEK_SET && (shared || PMPI_File_get_position(fh, &reached) != MPI_SUCCESS))
            reached = (MPI_Offset)VT_IO_UNKNOWN;
        uint64_t *words = vt_mpi_add(&batch, 4);
        words[0] = VT_HEAD(VT_K_IO_SEEK, 3, f->id);
        words[1] = (uint64_t)offset;
        words[2] = whence == MPI_SEEK_CUR ? 1 : whence == MPI_SEEK_END ? 2 : 0; /* OTF2_IoSeekOption */
        words[3] = (uint64_t)reached;
    }
    vt_mpi_leave(&batch, region);
}

/* ---- Operations ---- */

static _Atomic(uint32_t) vt_offset_attribute;

/* The id of the attribute that holds explicit offsets; 0 if it cannot be defined. */
static uint32_t vt_offset(void)
{
    uint32_t id = atomic_load_explicit(&vt_offset_attribute, memory_order_acquire);
    if (VT_LIKELY(id)) return id;
    vt_mpi_objects_lock(&vt_files);
    id = atomic_load(&vt_offset_attribute);
    if (!id) {
        static const char description[] = "Offset in the file at which the operation begins, in elements of the view";
        id = vt_define_attribute("Offset", description, VT_TYPE_UINT64);
        atomic_store_explicit(&vt_offset_attribute, id, memory_order_release);
    }
    vt_mpi_objects_unlock(&vt_files);
    return id;
}

void vt_mpi_io_begin(struct vt_mpi_io *io, uint32_t region, MPI_File fh, enum vt_mpi_io_mode mode, unsigned flags,
                     uint64_t bytes)
{
    vt_mpi_io_begin_at(io, region, fh, mode, flags, bytes, VT_NO_OFFSET);
}

void vt_mpi_io_begin_at(struct vt_mpi_io *io, uint32_t region, MPI_File fh, enum vt_mpi_io_mode mode, unsigned flags,
                        uint64_t bytes, MPI_Offset offset)
{
    struct vt_mpi_file *f = io->file = vt_file(fh);
    if (!f && fh != MPI_FILE_NULL)
        vt_warn_left_out("io", "operations on files whose opening vtrace did not see are not recorded");
    if (!f || !(io->id = vt_mpi_new_request())) { /* 0: recording is off */
        io->file = NULL;
        vt_enter(region);
        return;
    }
    const uint64_t enter = VT_HEAD(VT_K_ENTER, 0, region), begin = VT_HEAD(VT_K_IO_BEGIN, 3, f->id);
    const uint32_t attribute = offset >= 0 ? vt_offset() : 0;
    if (!attribute) {
        vt_write_5(enter, begin, vt_mpi_pair(mode, flags), bytes, io->id);
        return;
    }
    uint64_t words[] = {
        enter, VT_HEAD(VT_K_ATTRIBUTE, 1, attribute), (uint64_t)offset, begin, vt_mpi_pair(mode, flags), bytes, io->id};
    vt_write(words, 7);
}

static void vt_put_complete(uint64_t *words, uint32_t handle, uint64_t bytes, uint64_t id)
{
    words[0] = VT_HEAD(VT_K_IO_COMPLETE, 2, handle);
    words[1] = bytes;
    words[2] = id;
}

/* An operation that failed completes with 0 bytes: each begin needs its end. */
void vt_mpi_io_end(const struct vt_mpi_io *io, uint32_t region, const MPI_Status *status, int result)
{
    if (!io->file) {
        vt_leave(region);
        return;
    }
    vt_write_4(VT_HEAD(VT_K_IO_COMPLETE, 2, io->file->id), result == MPI_SUCCESS ? vt_mpi_received(status) : 0, io->id,
               VT_HEAD(VT_K_LEAVE, 0, region));
}

void vt_mpi_io_flushed(const struct vt_mpi_io *io, uint32_t region)
{
    VT_MPI_BATCH(batch);
    if (io->file) vt_put_complete(vt_mpi_add(&batch, 3), io->file->id, VT_IO_UNKNOWN, io->id);
    vt_mpi_leave(&batch, region);
}

static void vt_add_issued(struct vt_mpi_batch *batch, const struct vt_mpi_io *io)
{
    uint64_t *words = vt_mpi_add(batch, 2);
    words[0] = VT_HEAD(VT_K_IO_ISSUED, 1, io->file->id);
    words[1] = io->id;
}

/* The Wait for the request records the completion. */
void vt_mpi_io_request(const struct vt_mpi_io *io, uint32_t region, const MPI_Request *request, int result)
{
    VT_MPI_BATCH(batch);
    if (io->file) {
        uint64_t words[3];
        vt_put_complete(words, io->file->id, 0, io->id);
        if (result == MPI_SUCCESS) vt_add_issued(&batch, io);
        if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
            vt_mpi_follow(VT_REQUEST_IO, io->file->id, io->id, words, 3, request);
        else memcpy(vt_mpi_add(&batch, 3), words, sizeof words);
    }
    vt_mpi_leave(&batch, region);
}

/* A file has at most one active split collective operation (MPI-4.1, section 14.4.5). */
void vt_mpi_io_split(const struct vt_mpi_io *io, uint32_t region, int result)
{
    VT_MPI_BATCH(batch);
    if (io->file && result == MPI_SUCCESS) {
        atomic_store(&io->file->split, io->id);
        vt_add_issued(&batch, io);
    } else if (io->file) vt_put_complete(vt_mpi_add(&batch, 3), io->file->id, 0, io->id);
    vt_mpi_leave(&batch, region);
}

void vt_mpi_io_split_end(uint32_t region, MPI_File fh, const MPI_Status *status, int result)
{
    VT_MPI_BATCH(batch);
    struct vt_mpi_file *f = vt_file(fh);
    const uint64_t id = f ? atomic_exchange(&f->split, 0) : 0;
    if (id) vt_put_complete(vt_mpi_add(&batch, 3), f->id, result == MPI_SUCCESS ? vt_mpi_received(status) : 0, id);
    vt_mpi_leave(&batch, region);
}
