/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous I/O of POSIX. An operation begins in the call that issues it. It completes in the aio_return that
   returns its result. In between, the address of its control block identifies it. */
#define _GNU_SOURCE
#include <aio.h>
#include "iowrap.h"

/* ---- Active operations. If the table is full, the call is recorded without its operation. ---- */

#define PLACES 4096u
#define TRIES 64u

static struct aio_operation {
    _Atomic(uintptr_t) block; /* address of the control block; 0: free; BUSY: being filled in */
    uint32_t handle;
    uint64_t match;
} under_way[PLACES];

#define BUSY 1u

static unsigned place_of(uintptr_t block) { return (unsigned)(block / 16 * 0x9e3779b1u >> 9) % PLACES; }

static void begin(struct vt_io_batch *batch, const void *block, int fd, enum vt_io_mode mode, uint64_t bytes,
                  const int64_t *offset)
{
    const uint32_t handle = vt_io_fd(fd);
    for (unsigned i = 0; handle && i < TRIES; i++) {
        struct aio_operation *o = &under_way[(place_of((uintptr_t)block) + i) % PLACES];
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&o->block, &none, BUSY)) continue;
        o->handle = handle;
        o->match = vt_io_match();
        uint64_t *words = vt_io_add(batch, offset ? 6 : 4);
        if (offset) {
            words[0] = VT_HEAD(VT_K_ATTRIBUTE, 1, vt_io_offset);
            words[1] = (uint64_t)*offset;
            words += 2;
        }
        words[0] = VT_HEAD(VT_K_IO_BEGIN, 3, handle);
        words[1] = vt_io_pair(mode, VT_IO_NON_BLOCKING);
        words[2] = bytes;
        words[3] = o->match;
        atomic_store(&o->block, (uintptr_t)block);
        return;
    }
}

static struct aio_operation *find(const void *block)
{
    for (unsigned i = 0; block && i < TRIES; i++) {
        struct aio_operation *o = &under_way[(place_of((uintptr_t)block) + i) % PLACES];
        if (atomic_load(&o->block) == (uintptr_t)block) return o;
    }
    return NULL;
}

/* Adds a record about an operation. kind: IO_ISSUED, IO_TEST or IO_CANCELLED. */
static void progress(struct vt_io_batch *batch, const void *block, enum vt_kind kind)
{
    const struct aio_operation *o = find(block);
    if (!o) return;
    uint64_t *words = vt_io_add(batch, 2);
    words[0] = VT_HEAD(kind, 1, o->handle);
    words[1] = o->match;
}

/* Completes an operation with a number of bytes, or as cancelled. */
static void end(struct vt_io_batch *batch, const void *block, uint64_t bytes, bool cancelled)
{
    struct aio_operation *o = find(block);
    if (!o) return;
    if (cancelled) progress(batch, block, VT_K_IO_CANCELLED);
    else {
        uint64_t *words = vt_io_add(batch, 3);
        words[0] = VT_HEAD(VT_K_IO_COMPLETE, 2, o->handle);
        words[1] = bytes;
        words[2] = o->match;
    }
    atomic_store(&o->block, 0);
}

/* ---- Issuing ---- */

static void issue(struct vt_io_batch *batch, uint32_t region, int r, const void *block)
{
    const int error = r < 0 ? errno : 0;
    if (error) end(batch, block, 0, true);
    else progress(batch, block, VT_K_IO_ISSUED);
    vt_io_finish(batch, region, error);
}

#define VT_IO_AIO(symbol, type, mode)                                                                                  \
    VT_IO_DEFINE(symbol, symbol, FILE_IO, int, (struct type * block), (block))                                         \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, (struct type *), (block))                                                             \
        struct vt_io_batch batch = {1, {VT_HEAD(VT_K_ENTER, 0, region)}};                                              \
        const int64_t offset = block->aio_offset;                                                                      \
        begin(&batch, block, block->aio_fildes, VT_IO_##mode, block->aio_nbytes, &offset);                             \
        vt_write(batch.words, batch.n);                                                                                \
        batch.n = 0;                                                                                                   \
        const int r = VT_IO_NEXT(symbol, int, (struct type *))(block);                                                 \
        issue(&batch, region, r, block);                                                                               \
        return r;                                                                                                      \
    }

VT_IO_AIO(aio_read, aiocb, READ)
VT_IO_AIO(aio_read64, aiocb64, READ)
VT_IO_AIO(aio_write, aiocb, WRITE)
VT_IO_AIO(aio_write64, aiocb64, WRITE)

#define VT_IO_AIO_SYNC(symbol, type)                                                                                   \
    VT_IO_DEFINE(symbol, symbol, FILE_IO, int, (int operation, struct type *block), (operation, block))                \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, (int, struct type *), (operation, block))                                             \
        struct vt_io_batch batch = {1, {VT_HEAD(VT_K_ENTER, 0, region)}};                                              \
        begin(&batch, block, block->aio_fildes, VT_IO_FLUSH, VT_IO_UNKNOWN, NULL);                                     \
        vt_write(batch.words, batch.n);                                                                                \
        batch.n = 0;                                                                                                   \
        const int r = VT_IO_NEXT(symbol, int, (int, struct type *))(operation, block);                                 \
        issue(&batch, region, r, block);                                                                               \
        return r;                                                                                                      \
    }

VT_IO_AIO_SYNC(aio_fsync, aiocb)
VT_IO_AIO_SYNC(aio_fsync64, aiocb64)

/* A list of operations. If the call fails, some of them may be active nevertheless; aio_return shows which. */
#define VT_IO_LISTIO(symbol, type)                                                                                     \
    VT_IO_DEFINE(symbol, symbol, FILE_IO, int, (int wait, struct type *const *list, int n, struct sigevent *then),     \
                 (wait, list, n, then))                                                                                \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, (int, struct type *const *, int, struct sigevent *), (wait, list, n, then))           \
        struct vt_io_batch batch = {1, {VT_HEAD(VT_K_ENTER, 0, region)}};                                              \
        for (int i = 0; i < n; i++) {                                                                                  \
            if (!list[i] || list[i]->aio_lio_opcode == LIO_NOP) continue;                                              \
            const int64_t offset = list[i]->aio_offset;                                                                \
            const enum vt_io_mode mode = list[i]->aio_lio_opcode == LIO_READ ? VT_IO_READ : VT_IO_WRITE;               \
            begin(&batch, list[i], list[i]->aio_fildes, mode, list[i]->aio_nbytes, &offset);                           \
        }                                                                                                              \
        vt_write(batch.words, batch.n);                                                                                \
        batch.n = 0;                                                                                                   \
        const int r =                                                                                                  \
            VT_IO_NEXT(symbol, int, (int, struct type *const *, int, struct sigevent *))(wait, list, n, then);         \
        const int error = r < 0 ? errno : 0;                                                                           \
        for (int i = 0; i < n; i++)                                                                                    \
            if (list[i] && list[i]->aio_lio_opcode != LIO_NOP) progress(&batch, list[i], VT_K_IO_ISSUED);              \
        vt_io_finish(&batch, region, error);                                                                           \
        return r;                                                                                                      \
    }

VT_IO_LISTIO(lio_listio, aiocb)
VT_IO_LISTIO(lio_listio64, aiocb64)

/* ---- Testing, waiting, completing ---- */

/* Returns the state of the operation; EINPROGRESS while it is active. */
#define VT_IO_AIO_ERROR(symbol, type)                                                                                  \
    VT_IO_DEFINE(symbol, symbol, FILE_IO_METADATA, int, (const struct type *block), (block))                           \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, int, (const struct type *), (block))                                                       \
        vt_enter_call(region);                                                                                         \
        const int r = VT_IO_NEXT(symbol, int, (const struct type *))(block);                                           \
        struct vt_io_batch batch = {0};                                                                                \
        if (r == EINPROGRESS) progress(&batch, block, VT_K_IO_TEST);                                                   \
        vt_io_finish(&batch, region, r < 0 ? errno : 0);                                                               \
        return r;                                                                                                      \
    }

VT_IO_AIO_ERROR(aio_error, aiocb)
VT_IO_AIO_ERROR(aio_error64, aiocb64)

#define VT_IO_AIO_RETURN(symbol, type)                                                                                 \
    VT_IO_DEFINE(symbol, symbol, FILE_IO, ssize_t, (struct type * block), (block))                                     \
    {                                                                                                                  \
        VT_IO_BEGIN(symbol, ssize_t, (struct type *), (block))                                                         \
        vt_enter_call(region);                                                                                         \
        const ssize_t r = VT_IO_NEXT(symbol, ssize_t, (struct type *))(block);                                         \
        struct vt_io_batch batch = {0};                                                                                \
        const int error = r < 0 ? errno : 0;                                                                           \
        if (error != EINPROGRESS) end(&batch, block, r < 0 ? 0 : (uint64_t)r, error == ECANCELED);                     \
        vt_io_finish(&batch, region, error);                                                                           \
        return r;                                                                                                      \
    }

VT_IO_AIO_RETURN(aio_return, aiocb)
VT_IO_AIO_RETURN(aio_return64, aiocb64)

VT_IO_CALL(aio_suspend, aio_suspend, FILE_IO, int,
           (const struct aiocb *const *list, int n, const struct timespec *most), (list, n, most), r < 0)
VT_IO_CALL(aio_suspend64, aio_suspend64, FILE_IO, int,
           (const struct aiocb64 *const *list, int n, const struct timespec *most), (list, n, most), r < 0)
VT_IO_CALL(aio_cancel, aio_cancel, FILE_IO, int, (int fd, struct aiocb *block), (fd, block), r < 0)
VT_IO_CALL(aio_cancel64, aio_cancel64, FILE_IO, int, (int fd, struct aiocb64 *block), (fd, block), r < 0)
