/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of windows and files by their handles. A lookup takes no lock. Entries are reused and never freed. So a
   lookup that races with a reuse reads valid memory. At worst it misses, and looks again under the lock. */
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

static struct vt_mpi_object *vt_object_look(struct vt_mpi_objects *objects, uint64_t handle)
{
    struct vt_mpi_object *o =
        atomic_load_explicit(&objects->buckets[vt_mpi_object_bucket(handle)], memory_order_acquire);
    while (o && atomic_load_explicit(&o->handle, memory_order_relaxed) != handle)
        o = atomic_load_explicit(&o->next, memory_order_acquire);
    return o;
}

struct vt_mpi_object *vt_mpi_object_find(struct vt_mpi_objects *objects, uint64_t handle)
{
    struct vt_mpi_object *o = vt_object_look(objects, handle);
    if (VT_LIKELY(o != NULL)) return o;
    vt_mpi_objects_lock(objects);
    o = vt_object_look(objects, handle);
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
