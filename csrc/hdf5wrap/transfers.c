/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of datasets (H5Dpublic.h). Their bytes are elements of the selection times the size of the type in memory; for
   types of variable length, the size of the descriptors. They become known after the call, which may fail for its
   arguments. */
#include "hdf5wrap.h"

enum { COLLECTIVE = 2 }; /* OTF2_IoOperationFlag */
enum mode { READ = 0, WRITE = 1, FLUSH = 2 }; /* OTF2_IoOperationMode */

/* ---- Property lists of collective transfers, by identifier ---- */

static _Atomic(vt_h5_id) collective[256];

static _Atomic(vt_h5_id) *place_of(vt_h5_id properties) { return &collective[(uint64_t)properties % 256]; }

static bool is_collective(vt_h5_id properties)
{
    return properties > 0 && atomic_load_explicit(place_of(properties), memory_order_relaxed) == properties;
}

VT_H5_WRAP(H5Pset_dxpl_mpio, FILE_IO_METADATA, int, (vt_h5_id properties, int mode), (properties, mode))
{
    vt_h5_enter(&call, at);
    const int r = next(properties, mode);
    if (r >= 0) atomic_store(place_of(properties), mode ? properties : 0);
    vt_leave(call.region);
    return r;
}

/* ---- Records ---- */

struct transfer {
    struct vt_h5_object *dataset; /* NULL: unknown */
    uint64_t matching; /* of an operation that is not the only one of its call, or collective; else 0 */
};

static inline __attribute__((always_inline)) struct transfer begin(const struct vt_h5_call *call, uintptr_t at,
                                                                   vt_h5_id id, enum mode mode, vt_h5_id properties)
{
    struct transfer t = {vt_h5_dataset(call->library, id), 0};
    const uint64_t enter = VT_HEAD(VT_K_ENTER, 0, call->region);
    if (VT_UNLIKELY(!t.dataset)) {
        vt_h5_enter(call, at);
    } else if (VT_UNLIKELY(is_collective(properties))) {
        t.matching = vt_new_id(VT_ID_REQUEST);
        vt_called_at = at;
        vt_write_5(enter, VT_HEAD(VT_K_IO_BEGIN, 3, t.dataset->handle), (uint64_t)mode | (uint64_t)COLLECTIVE << 32,
                   VT_IO_UNKNOWN, t.matching);
    } else {
        vt_write_framed(VT_FRAME_OPENS, at, call->region, enter, VT_HEAD(VT_K_IO_READ + mode, 1, t.dataset->handle),
                        VT_IO_UNKNOWN, 0, 0, 3);
    }
    return t;
}

static inline __attribute__((always_inline)) void end(const struct vt_h5_call *call, uintptr_t at,
                                                      const struct transfer *t, uint64_t bytes)
{
    const uint64_t leave = VT_HEAD(VT_K_LEAVE, 0, call->region);
    if (!t->dataset) vt_leave(call->region);
    else if (t->matching) vt_write_4(VT_HEAD(VT_K_IO_COMPLETE, 2, t->dataset->handle), bytes, t->matching, leave);
    else vt_write_framed(VT_FRAME_CLOSES, at, 0, VT_HEAD(VT_K_IO_DONE, 1, t->dataset->handle), bytes, leave, 0, 0, 3);
}

/* The bytes of a transfer that succeeded. */
static uint64_t bytes_of(struct vt_h5_library *l, vt_h5_id id, struct vt_h5_object *dataset, vt_h5_id type,
                         vt_h5_id memory, vt_h5_id file)
{
    if (!dataset) return 0;
    const int64_t points = vt_h5_points(l, id, dataset, memory, file);
    return points < 0 ? VT_IO_UNKNOWN : (uint64_t)points * vt_h5_size(l, type);
}

/* clang-format off */
#define VT_H5_TRANSFER(name, mode, buffer)                                                                             \
    VT_H5_WRAP(name, FILE_IO, int,                                                                                     \
               (vt_h5_id id, vt_h5_id type, vt_h5_id memory, vt_h5_id file, vt_h5_id properties, buffer data),         \
               (id, type, memory, file, properties, data))                                                             \
    {                                                                                                                  \
        const struct transfer t = begin(&call, at, id, mode, properties);                                              \
        const int r = next(id, type, memory, file, properties, data);                                                  \
        end(&call, at, &t, r < 0 ? 0 : bytes_of(call.library, id, t.dataset, type, memory, file));                     \
        return r;                                                                                                      \
    }

VT_H5_TRANSFER(H5Dread, READ, void *)
VT_H5_TRANSFER(H5Dwrite, WRITE, const void *)

/* Several datasets in one call (HDF5 1.14). */
#define VT_H5_TRANSFERS(name, mode, buffer)                                                                            \
    VT_H5_WRAP(name, FILE_IO, int,                                                                                     \
               (size_t n, vt_h5_id id[], vt_h5_id type[], vt_h5_id memory[], vt_h5_id file[], vt_h5_id properties,     \
                buffer data[]),                                                                                        \
               (n, id, type, memory, file, properties, data))                                                          \
    {                                                                                                                  \
        vt_h5_enter(&call, at);                                                                                        \
        const int r = next(n, id, type, memory, file, properties, data);                                               \
        for (size_t i = 0; r >= 0 && i < n; i++)                                                                       \
            add_operation(call.library, id[i], mode, is_collective(properties), type[i], memory[i], file[i]);          \
        vt_leave(call.region);                                                                                         \
        return r;                                                                                                      \
    }

/* An operation at the end of its call, since its arguments may be wrong before. */
static void add_operation(struct vt_h5_library *l, vt_h5_id id, enum mode mode, bool is_collective, vt_h5_id type,
                          vt_h5_id memory, vt_h5_id file)
{
    struct vt_h5_object *dataset = vt_h5_dataset(l, id);
    if (!dataset) return;
    const uint64_t matching = vt_new_id(VT_ID_REQUEST), bytes = bytes_of(l, id, dataset, type, memory, file);
    uint64_t words[] = {VT_HEAD(VT_K_IO_BEGIN, 3, dataset->handle),
                        (uint64_t)mode | (uint64_t)(is_collective ? COLLECTIVE : 0) << 32, bytes, matching,
                        VT_HEAD(VT_K_IO_COMPLETE, 2, dataset->handle), bytes, matching};
    vt_write(words, 7);
}

VT_H5_TRANSFERS(H5Dread_multi, READ, void *)
VT_H5_TRANSFERS(H5Dwrite_multi, WRITE, const void *)
/* clang-format on */

VT_H5_WRAP(H5Dwrite_chunk, FILE_IO, int,
           (vt_h5_id id, vt_h5_id properties, uint32_t filters, const uint64_t *offset, size_t bytes, const void *data),
           (id, properties, filters, offset, bytes, data))
{
    const struct transfer t = begin(&call, at, id, WRITE, properties);
    const int r = next(id, properties, filters, offset, bytes, data);
    end(&call, at, &t, r < 0 ? 0 : bytes);
    return r;
}

/* The bytes of the chunk in the file. */
#define VT_H5_READ_CHUNK(name, params, args)                                                                           \
    VT_H5_WRAP(name, FILE_IO, int, params, args)                                                                       \
    {                                                                                                                  \
        const struct transfer t = begin(&call, at, id, READ, properties);                                              \
        const int r = next args;                                                                                       \
        uint64_t bytes = 0;                                                                                            \
        if (r >= 0 && call.library->chunk_bytes_of && call.library->chunk_bytes_of(id, offset, &bytes) < 0)            \
            bytes = VT_IO_UNKNOWN;                                                                                     \
        end(&call, at, &t, bytes);                                                                                     \
        return r;                                                                                                      \
    }

VT_H5_READ_CHUNK(H5Dread_chunk,
                 (vt_h5_id id, vt_h5_id properties, const uint64_t *offset, uint32_t *filters, void *data),
                 (id, properties, offset, filters, data))
VT_H5_READ_CHUNK(H5Dread_chunk1,
                 (vt_h5_id id, vt_h5_id properties, const uint64_t *offset, uint32_t *filters, void *data),
                 (id, properties, offset, filters, data))
VT_H5_READ_CHUNK(H5Dread_chunk2,
                 (vt_h5_id id, vt_h5_id properties, const uint64_t *offset, uint32_t *filters, void *data,
                  size_t *size),
                 (id, properties, offset, filters, data, size))

VT_H5_WRAP(H5Dflush, FILE_IO, int, (vt_h5_id id), (id))
{
    const struct transfer t = begin(&call, at, id, FLUSH, 0);
    const int r = next(id);
    end(&call, at, &t, 0);
    return r;
}

/* ---- Extents and types ---- */

#define VT_H5_RESIZES(name, params, args)                                                                              \
    VT_H5_WRAP(name, FILE_IO_METADATA, int, params, args)                                                              \
    {                                                                                                                  \
        vt_h5_enter(&call, at);                                                                                        \
        const int r = next args;                                                                                       \
        vt_h5_resized();                                                                                               \
        vt_leave(call.region);                                                                                         \
        return r;                                                                                                      \
    }

VT_H5_RESIZES(H5Dset_extent, (vt_h5_id id, const uint64_t *size), (id, size))
VT_H5_RESIZES(H5Dextend, (vt_h5_id id, const uint64_t *size), (id, size))
VT_H5_RESIZES(H5Tset_size, (vt_h5_id id, size_t size), (id, size))
VT_H5_RESIZES(H5Tset_precision, (vt_h5_id id, size_t bits), (id, bits))
VT_H5_RESIZES(H5Drefresh, (vt_h5_id id), (id))
