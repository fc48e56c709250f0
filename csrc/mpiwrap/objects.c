/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of MPI's objects by their handles, and definitions that several kinds of objects have. A lookup takes no
   lock. Entries are reused and never freed. So a lookup that races with a reuse reads valid memory. At worst the lookup
   misses, and is repeated under the lock.
   Memory order: an entry is complete before a bucket leads to it (release, acquire). A lookup cannot find an old entry
   of its handle: MPI has returned the handle to the program before. The same holds in comm.c and rma_windows.c. */
#include "mpiwrap.h"

#include <sched.h>

void vt_mpi_objects_lock(struct vt_mpi_objects *objects)
{
    while (atomic_flag_test_and_set_explicit(&objects->lock, memory_order_acquire)) sched_yield();
}

void vt_mpi_objects_unlock(struct vt_mpi_objects *objects)
{
    atomic_flag_clear_explicit(&objects->lock, memory_order_release);
}

static struct vt_mpi_object *vt_find_object(struct vt_mpi_objects *objects, uint64_t handle)
{
    struct vt_mpi_object *o =
        atomic_load_explicit(&objects->buckets[vt_mpi_object_bucket(handle)], memory_order_acquire);
    while (o && atomic_load_explicit(&o->handle, memory_order_relaxed) != handle)
        o = atomic_load_explicit(&o->next, memory_order_acquire);
    return o;
}

struct vt_mpi_object *vt_mpi_object_find(struct vt_mpi_objects *objects, uint64_t handle)
{
    struct vt_mpi_object *o = vt_find_object(objects, handle);
    if (VT_LIKELY(o != NULL)) return o;
    vt_mpi_objects_lock(objects);
    o = vt_find_object(objects, handle);
    vt_mpi_objects_unlock(objects);
    return o;
}

void vt_mpi_object_link(struct vt_mpi_objects *objects, struct vt_mpi_object *object, uint64_t handle)
{
    _Atomic(struct vt_mpi_object *) *bucket = &objects->buckets[vt_mpi_object_bucket(handle)];
    atomic_store(&object->handle, handle);
    atomic_store(&object->next, atomic_load(bucket));
    atomic_store_explicit(bucket, object, memory_order_release);
}

struct vt_mpi_object *vt_mpi_object_unlink(struct vt_mpi_objects *objects, uint64_t handle)
{
    _Atomic(struct vt_mpi_object *) *link = &objects->buckets[vt_mpi_object_bucket(handle)];
    struct vt_mpi_object *o;
    while ((o = atomic_load(link)) && o->handle != handle) link = &o->next;
    if (o) atomic_store(link, atomic_load(&o->next));
    return o;
}

void *vt_mpi_objects_memory(struct vt_mpi_objects *objects, size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    if (objects->left < bytes) {
        objects->left = bytes > 64 * 1024 ? bytes : 64 * 1024;
        objects->at = vt_pages(objects->left);
        if (!objects->at) objects->left = 0;
    }
    if (objects->left < bytes) return NULL;
    void *memory = objects->at;
    objects->at += bytes;
    objects->left -= bytes;
    return memory;
}

/* ---- Entries that have only a number ---- */

struct vt_mpi_noted {
    struct vt_mpi_object object;
    _Atomic(uint64_t) number;
};

void vt_mpi_object_note(struct vt_mpi_objects *objects, uint64_t handle, uint64_t number)
{
    struct vt_mpi_noted *n = (struct vt_mpi_noted *)vt_mpi_object_find(objects, handle);
    if (n) {
        atomic_store(&n->number, number);
        return;
    }
    vt_mpi_objects_lock(objects);
    n = vt_mpi_objects_memory(objects, sizeof *n);
    if (n) {
        atomic_store(&n->number, number);
        vt_mpi_object_link(objects, &n->object, handle);
    }
    vt_mpi_objects_unlock(objects);
}

bool vt_mpi_object_noted(struct vt_mpi_objects *objects, uint64_t handle, uint64_t *number)
{
    struct vt_mpi_noted *n = (struct vt_mpi_noted *)vt_mpi_object_find(objects, handle);
    if (n) *number = atomic_load_explicit(&n->number, memory_order_relaxed);
    return n;
}

/* ---- Definitions ---- */

void vt_mpi_define_name(uint32_t kind, uint32_t id, const char *name)
{
    vt_define(kind, vt_number(id), vt_string_of(name, 1000));
}

void vt_mpi_define_property(const char *key, const char *value)
{
    vt_define(VT_D_PROPERTY, vt_string(key), vt_string(value));
}
