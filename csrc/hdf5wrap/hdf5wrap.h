/* SPDX-License-Identifier: BSD-3-Clause */
/* The HDF5 shim (libvtrace-hdf5.so): wraps the functions of HDF5 that use a file. Files and datasets get I/O handles;
   a dataset's parent is its file. Groups, attributes, links and objects are calls only.
   - libraries.c finds the library of HDF5 behind each caller: h5py and netCDF4 of PyPI bring one each.
   - objects.c knows the handle of each open file and dataset.
   - files.c and transfers.c wrap the functions of files and datasets, metadata.c all others.

   Identifiers have 64 bits since HDF5 1.10 (H5Ipublic.h); with older libraries nothing is recorded.
   A public function of HDF5 clears the error stack of the thread before its work, and prints its error. So the shim asks
   HDF5 only after a call that succeeded, or for an identifier that H5Iis_valid confirms. */
#ifndef VT_HDF5WRAP_H
#define VT_HDF5WRAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/write.h"

#pragma GCC visibility push(hidden)

typedef int64_t vt_h5_id; /* hid_t */

/* ---- Functions and libraries (libraries.c) ---- */

struct vt_h5_function {
    const char *name;
    _Atomic(uint32_t) region; /* 0: not called yet, or not recorded */
    uint8_t role; /* enum vt_role */
    _Atomic(bool) hidden; /* a filter excludes it */
} __attribute__((aligned(16)));

#define VT_H5_FUNCTIONS 256u

/* A loaded library of HDF5. */
struct vt_h5_library {
    _Atomic(uintptr_t) base; /* the address of its first byte; 0: unused */
    void *module; /* of dlopen; NULL: HDF5 is part of the program or not there */
    bool is_apart; /* its file is libhdf5, so that calls from it are its own */
    bool records; /* HDF5 1.10 or newer */
    void *_Atomic next[VT_H5_FUNCTIONS];
    /* What the shim asks HDF5 (H5Ipublic.h, H5Dpublic.h, H5Spublic.h, H5Tpublic.h). */
    int (*type_of)(vt_h5_id);
    int (*is_valid)(vt_h5_id);
    long (*name_of)(vt_h5_id, char *, size_t);
    vt_h5_id (*file_of)(vt_h5_id);
    int (*drop)(vt_h5_id);
    long (*file_name_of)(vt_h5_id, char *, size_t);
    vt_h5_id (*space_of)(vt_h5_id);
    int64_t (*points_of)(vt_h5_id); /* of a selection */
    size_t (*size_of)(vt_h5_id); /* of a type */
    int (*chunk_bytes_of)(vt_h5_id, const uint64_t *, uint64_t *); /* NULL before HDF5 1.10.2 */
};

struct vt_h5_call {
    void *next; /* the function of HDF5 */
    struct vt_h5_library *library;
    uint32_t region; /* 0: the call is not recorded */
};

/* caller: the return address of the wrapper. */
struct vt_h5_call vt_h5_begin(struct vt_h5_function *f, const void *caller);
/* The number of a library, from 0 on. */
unsigned vt_h5_number(const struct vt_h5_library *library);

#define VT_H5_ENTRY __attribute__((section("vt_h5_functions"), used))

/* Defines a wrapper. The body follows: it has `call` and `next`, and records the call. */
#define VT_H5_WRAP(name, kind, type, params, args)                                                                     \
    static struct vt_h5_function vt_h5_f_##name VT_H5_ENTRY = {#name, 0, VT_ROLE_##kind, false};                       \
    static inline __attribute__((always_inline)) type vt_h5_record_##name(struct vt_h5_call call, uintptr_t at,        \
                                                                          type(*next) params, VT_H5_UNPACK params);    \
    __attribute__((visibility("default"))) type name params                                                            \
    {                                                                                                                  \
        const struct vt_h5_call call = vt_h5_begin(&vt_h5_f_##name, __builtin_return_address(0));                      \
        type(*next) params = (type(*) params)call.next;                                                                \
        if (!call.region) return next args;                                                                            \
        return vt_h5_record_##name(call, VT_CALLED_AT, next, VT_H5_UNPACK args);                                       \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) type vt_h5_record_##name(struct vt_h5_call call, uintptr_t at,        \
                                                                          type(*next) params, VT_H5_UNPACK params)
#define VT_H5_UNPACK(...) __VA_ARGS__

static inline void vt_h5_enter(const struct vt_h5_call *call, uintptr_t at)
{
    vt_called_at = at;
    vt_enter(call->region);
}

/* ---- Handles (objects.c) ---- */

struct vt_h5_object {
    _Atomic(uint64_t) key;
    uint32_t handle, file, parent;
    uint32_t name; /* place of its definition, which may be used again; 0: none */
    bool is_dataset, nameless; /* nameless: it has no link yet */
    uint32_t version; /* of points */
    int64_t points; /* of a dataset: elements of its extent; -1: not asked yet */
};

enum vt_h5_access { VT_H5_READ = 0, VT_H5_READ_WRITE = 2 }; /* OTF2_IoAccessMode */
enum vt_h5_creation { VT_H5_CREATE = 1, VT_H5_TRUNCATE = 2, VT_H5_EXCLUSIVE = 8 }; /* OTF2_IoCreationFlag */

/* Records that are written together. */
struct vt_h5_batch {
    unsigned n;
    uint64_t words[8];
};
void vt_h5_finish(struct vt_h5_batch *batch, uint32_t region); /* adds LEAVE and writes the batch */

void vt_h5_opened_file(struct vt_h5_batch *batch, struct vt_h5_library *l, vt_h5_id file, const char *path,
                       enum vt_h5_access access, unsigned creation);
/* has_name: false for a dataset without links, and where HDF5 would search the file for a name. */
void vt_h5_opened_dataset(struct vt_h5_batch *batch, struct vt_h5_library *l, vt_h5_id dataset, bool has_name,
                          unsigned creation);
/* A link to an object: the name of a dataset that had none. where: of the group, whose path the name may need. */
void vt_h5_linked(struct vt_h5_library *l, vt_h5_id object, vt_h5_id where, const char *name);
/* Before a close: the object, or NULL. After it, closed: whether the call succeeded. */
struct vt_h5_object *vt_h5_known(const struct vt_h5_library *l, vt_h5_id id);
void vt_h5_closed(struct vt_h5_batch *batch, struct vt_h5_object *o, bool closed);
/* A dataset that a call uses, defined now if it is unknown; NULL: none. */
struct vt_h5_object *vt_h5_dataset(struct vt_h5_library *l, vt_h5_id id);
/* H5close: all identifiers of the library are invalid. */
void vt_h5_forget(const struct vt_h5_library *l);
/* The extent of a dataset or the size of a type may have changed. */
void vt_h5_resized(void);
/* Bytes of an element of a type. */
size_t vt_h5_size(struct vt_h5_library *l, vt_h5_id type);
/* Elements that a transfer selects, after it; the spaces are arguments of H5Dread. */
int64_t vt_h5_points(struct vt_h5_library *l, vt_h5_id dataset, struct vt_h5_object *o, vt_h5_id memory, vt_h5_id file);

#pragma GCC visibility pop

#endif
