/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of I/O. A handle need not be open: the record that opened the handle may be lost. */
#include "pass.h"

#define OF_io(name, number) ~, OF_##name = number,
enum io_kind { VT_KINDS(VT_HANDLED) };

#define CREATION_FLAGS (2 * VT_OTF2_IO_CREATION_FLAG_UNIQUE - 1) /* all bits that have a meaning */
#define STATUS_FLAGS (2 * VT_OTF2_IO_STATUS_FLAG_DELETE_ON_CLOSE - 1)
#define OPERATION_FLAGS (2 * VT_OTF2_IO_OPERATION_FLAG_COLLECTIVE - 1)

/* Checks that OTF2 defines the numbers in a payload w. */
static int good(struct pass *p, uint32_t kind, const uint64_t *w)
{
    const uint64_t first = vt_record_words[kind] > 1 ? w[0] : 0, low = first & UINT32_MAX, high = first >> 32;
    int fine = 1;
    switch ((enum io_kind)kind) {
    case VT_K_IO_CREATE:
        fine = low <= VT_OTF2_IO_ACCESS_MODE_SEARCH_ONLY && high <= CREATION_FLAGS && w[1] <= STATUS_FLAGS;
        break;
    case VT_K_IO_DUPLICATE: fine = high <= STATUS_FLAGS; break;
    case VT_K_IO_SEEK: fine = w[1] <= VT_OTF2_IO_SEEK_HOLE; break;
    case VT_K_IO_STATUS: fine = first <= STATUS_FLAGS; break;
    case VT_K_IO_DELETE: fine = first >= VT_IO_POSIX && first <= VT_IO_MPI; break;
    case VT_K_IO_BEGIN: fine = low <= VT_OTF2_IO_OPERATION_MODE_FLUSH && high <= OPERATION_FLAGS; break;
    case VT_K_IO_ACQUIRE_LOCK:
    case VT_K_IO_RELEASE_LOCK:
    case VT_K_IO_TRY_LOCK: fine = first <= VT_OTF2_LOCK_SHARED; break;
    case VT_K_IO_DESTROY:
    case VT_K_IO_ISSUED:
    case VT_K_IO_TEST:
    case VT_K_IO_COMPLETE:
    case VT_K_IO_CANCELLED:
    case VT_K_IO_READ:
    case VT_K_IO_WRITE:
    case VT_K_IO_FLUSH:
    case VT_K_IO_DONE: break;
    }
    if (!fine) vt_fail(p->error, VT_BAD_DATA, "unknown mode, type or flag of I/O");
    return fine;
}

/* The matching id of the only operation of a region: the location, the operation's number there, and the highest bit,
   which is clear in the matching ids of the runtime. */
static uint64_t match(const struct pass *p, const struct vt_open_region *f)
{
    return 1ull << 63 | (uint64_t)p->location << 32 | f->operation;
}

static int only_operation(struct pass *p, uint64_t t, uint32_t kind, uint32_t handle, uint64_t bytes)
{
    struct vt_open_region *f = p->depth ? &p->frames[p->depth - 1] : NULL;
    if (!f) return VT_OK;
    if (kind != VT_K_IO_DONE) {
        f->operation = ++p->operations;
        f->handle = handle;
        return WRITE(p, IoOperationBegin, t, handle, (uint8_t)(kind - VT_K_IO_READ), 0, bytes, match(p, f));
    }
    if (!f->operation) return VT_OK; /* the start is lost, or recording was off */
    const uint64_t id = match(p, f);
    f->operation = 0;
    return WRITE(p, IoOperationComplete, t, handle, bytes, id);
}

int vt_io_cancel(struct pass *p, uint64_t t)
{
    struct vt_open_region *f = &p->frames[p->depth - 1];
    const uint64_t id = match(p, f);
    f->operation = 0;
    return WRITE_WITH(p, NULL, IoOperationCancelled, t, f->handle, id);
}

static int duplicate(struct pass *p, uint64_t t, uint32_t old, const uint64_t *w)
{
    uint32_t handle = mapped(p, p->maps->handles, p->maps->nhandles, (uint32_t)w[0]);
    return handle == VT_UNMAPPED ? VT_OK : WRITE(p, IoDuplicateHandle, t, old, handle, (uint32_t)(w[0] >> 32));
}

int vt_io(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    uint32_t kind = VT_KIND(what), id = VT_ID(what);
    if (!good(p, kind, w)) return VT_BAD_DATA;
    if (kind == VT_K_IO_DELETE) {
        uint32_t file = mapped(p, p->maps->files, p->maps->nfiles, id);
        /* The archive has all paradigms in the order of enum vt_io_paradigm. */
        return file == VT_UNMAPPED ? VT_OK : WRITE(p, IoDeleteFile, t, (uint8_t)(w[0] - VT_IO_POSIX), file);
    }
    uint32_t handle = mapped(p, p->maps->handles, p->maps->nhandles, id);
    if (handle == VT_UNMAPPED) return VT_OK;
    switch ((enum io_kind)kind) {
    case VT_K_IO_DELETE: return VT_OK; /* written above */
    case VT_K_IO_CREATE:
        return WRITE(p, IoCreateHandle, t, handle, (uint8_t)w[0], (uint32_t)(w[0] >> 32), (uint32_t)w[1]);
    case VT_K_IO_DESTROY: return WRITE(p, IoDestroyHandle, t, handle);
    case VT_K_IO_DUPLICATE: return duplicate(p, t, handle, w);
    case VT_K_IO_SEEK: return WRITE(p, IoSeek, t, handle, (int64_t)w[0], (uint8_t)w[1], w[2]);
    case VT_K_IO_STATUS: return WRITE(p, IoChangeStatusFlags, t, handle, (uint32_t)w[0]);
    case VT_K_IO_READ:
    case VT_K_IO_WRITE:
    case VT_K_IO_FLUSH:
    case VT_K_IO_DONE: return only_operation(p, t, kind, handle, w[0]);
    case VT_K_IO_BEGIN: return WRITE(p, IoOperationBegin, t, handle, (uint8_t)w[0], (uint32_t)(w[0] >> 32), w[1], w[2]);
    case VT_K_IO_ISSUED: return WRITE(p, IoOperationIssued, t, handle, w[0]);
    case VT_K_IO_TEST: return WRITE(p, IoOperationTest, t, handle, w[0]);
    case VT_K_IO_COMPLETE: return WRITE(p, IoOperationComplete, t, handle, w[0], w[1]);
    case VT_K_IO_CANCELLED: return WRITE(p, IoOperationCancelled, t, handle, w[0]);
    case VT_K_IO_ACQUIRE_LOCK: return WRITE(p, IoAcquireLock, t, handle, (uint8_t)w[0]);
    case VT_K_IO_RELEASE_LOCK: return WRITE(p, IoReleaseLock, t, handle, (uint8_t)w[0]);
    case VT_K_IO_TRY_LOCK: return WRITE(p, IoTryLock, t, handle, (uint8_t)w[0]);
    }
    __builtin_unreachable();
}
