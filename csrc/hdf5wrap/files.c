/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing of files and datasets (H5Fpublic.h, H5Dpublic.h, H5Opublic.h). */
#include "hdf5wrap.h"

struct vt_h5_token { /* H5O_token_t */
    uint64_t words[2];
};

enum { READ_WRITE = 1, TRUNCATE = 2, EXCLUSIVE = 4 }; /* H5F_ACC_... */

static unsigned creation_of(unsigned flags)
{
    return VT_H5_CREATE | (flags & TRUNCATE ? VT_H5_TRUNCATE : 0) | (flags & EXCLUSIVE ? VT_H5_EXCLUSIVE : 0);
}

VT_H5_WRAP(H5Fcreate, FILE_IO_METADATA, vt_h5_id, (const char *path, unsigned flags, vt_h5_id create, vt_h5_id access),
           (path, flags, create, access))
{
    struct vt_h5_batch batch = {0};
    vt_h5_enter(&call, at);
    const vt_h5_id r = next(path, flags, create, access);
    if (r >= 0) vt_h5_opened_file(&batch, call.library, r, path, VT_H5_READ_WRITE, creation_of(flags));
    vt_h5_finish(&batch, call.region);
    return r;
}

VT_H5_WRAP(H5Fopen, FILE_IO_METADATA, vt_h5_id, (const char *path, unsigned flags, vt_h5_id access),
           (path, flags, access))
{
    struct vt_h5_batch batch = {0};
    vt_h5_enter(&call, at);
    const vt_h5_id r = next(path, flags, access);
    if (r >= 0) vt_h5_opened_file(&batch, call.library, r, path, flags & READ_WRITE ? VT_H5_READ_WRITE : VT_H5_READ, 0);
    vt_h5_finish(&batch, call.region);
    return r;
}

/* clang-format off */
#define VT_H5_OPENS_DATASET(name, params, args, has_name, creation)                                                    \
    VT_H5_WRAP(name, FILE_IO_METADATA, vt_h5_id, params, args)                                                         \
    {                                                                                                                  \
        struct vt_h5_batch batch = {0};                                                                                \
        vt_h5_enter(&call, at);                                                                                        \
        const vt_h5_id r = next args;                                                                                  \
        if (r >= 0) vt_h5_opened_dataset(&batch, call.library, r, has_name, creation);                                 \
        vt_h5_finish(&batch, call.region);                                                                             \
        return r;                                                                                                      \
    }

VT_H5_OPENS_DATASET(H5Dcreate1, (vt_h5_id where, const char *name, vt_h5_id t, vt_h5_id s, vt_h5_id c),
                    (where, name, t, s, c), true, VT_H5_CREATE)
VT_H5_OPENS_DATASET(H5Dcreate2, (vt_h5_id where, const char *name, vt_h5_id t, vt_h5_id s, vt_h5_id l, vt_h5_id c, vt_h5_id a),
                    (where, name, t, s, l, c, a), true, VT_H5_CREATE)
VT_H5_OPENS_DATASET(H5Dcreate_anon, (vt_h5_id where, vt_h5_id t, vt_h5_id s, vt_h5_id c, vt_h5_id a), (where, t, s, c, a),
                    false, VT_H5_CREATE)
VT_H5_OPENS_DATASET(H5Dopen1, (vt_h5_id where, const char *name), (where, name), true, 0)
VT_H5_OPENS_DATASET(H5Dopen2, (vt_h5_id where, const char *name, vt_h5_id a), (where, name, a), true, 0)
VT_H5_OPENS_DATASET(H5Oopen, (vt_h5_id where, const char *name, vt_h5_id a), (where, name, a), true, 0)
VT_H5_OPENS_DATASET(H5Oopen_by_idx, (vt_h5_id where, const char *group, int index, int order, uint64_t n, vt_h5_id a),
                    (where, group, index, order, n, a), true, 0)
VT_H5_OPENS_DATASET(H5Oopen_by_addr, (vt_h5_id where, uint64_t address), (where, address), false, 0)
VT_H5_OPENS_DATASET(H5Oopen_by_token, (vt_h5_id where, struct vt_h5_token token), (where, token), false, 0)

VT_H5_WRAP(H5Olink, FILE_IO_METADATA, int, (vt_h5_id object, vt_h5_id where, const char *name, vt_h5_id l, vt_h5_id a),
           (object, where, name, l, a))
{
    vt_h5_enter(&call, at);
    const int r = next(object, where, name, l, a);
    if (r >= 0) vt_h5_linked(call.library, object, where, name);
    vt_leave(call.region);
    return r;
}

/* An identifier with further references stays (H5Iinc_ref, as netCDF does). */
#define VT_H5_CLOSES(name)                                                                                             \
    VT_H5_WRAP(name, FILE_IO_METADATA, int, (vt_h5_id id), (id))                                                       \
    {                                                                                                                  \
        struct vt_h5_batch batch = {0};                                                                                \
        struct vt_h5_object *o = vt_h5_known(call.library, id);                                                        \
        vt_h5_enter(&call, at);                                                                                        \
        const int r = next(id);                                                                                        \
        vt_h5_closed(&batch, o, o && r >= 0 && call.library->is_valid(id) <= 0);                                       \
        vt_h5_finish(&batch, call.region);                                                                             \
        return r;                                                                                                      \
    }
/* clang-format on */

VT_H5_CLOSES(H5Fclose)
VT_H5_CLOSES(H5Dclose)
VT_H5_CLOSES(H5Oclose)

/* How h5py closes: the last reference closes a file or dataset, and may write it. Other identifiers are in memory only. */
VT_H5_WRAP(H5Idec_ref, FILE_IO_METADATA, int, (vt_h5_id id), (id))
{
    struct vt_h5_batch batch = {0};
    struct vt_h5_object *o = vt_h5_known(call.library, id);
    if (!o) return next(id);
    vt_h5_enter(&call, at);
    const int r = next(id); /* the references that are left */
    vt_h5_closed(&batch, o, !r);
    vt_h5_finish(&batch, call.region);
    return r;
}

static struct vt_h5_function close_all VT_H5_ENTRY = {"H5close", 0, VT_ROLE_FILE_IO_METADATA, false};
__attribute__((visibility("default"))) int H5close(void)
{
    const struct vt_h5_call call = vt_h5_begin(&close_all, __builtin_return_address(0));
    int (*next)(void) = (int (*)(void))call.next;
    if (call.library) vt_h5_forget(call.library); /* before the identifiers can be used again */
    if (!call.region) return next();
    vt_enter_call(call.region);
    const int r = next();
    vt_leave(call.region);
    return r;
}
