/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues: the layer creates each with profiling, and hides this from a program that did not ask for it. The place of a
   released queue serves the next one of its device, so that a program that creates many has few locations. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "openclwrap.h"

#define DEVICES 64u
#define PROPERTIES (sizeof((struct vt_cl_queue *)0)->properties / sizeof(uint64_t))

struct vt_cl_queue *_Atomic vt_cl_queues;
static struct vt_cl_device devices[DEVICES];
static _Atomic int lock; /* of devices, and of taking a place */

struct vt_cl_queue *vt_cl_queue_of(cl_command_queue handle)
{
    for (struct vt_cl_queue *q = handle ? atomic_load(&vt_cl_queues) : NULL; q; q = q->next)
        if (atomic_load_explicit(&q->handle, memory_order_relaxed) == handle) return q;
    return NULL;
}

static struct vt_cl_device *device_of(cl_device_id handle)
{
    for (uint32_t i = 0; i < DEVICES; i++) {
        struct vt_cl_device *d = &devices[i];
        if (d->handle == handle) return d;
        if (d->handle) continue;
        d->handle = handle;
        d->number = i;
        d->has_timer = 1;
        VT_NEXT_AS(cl_info_function, clGetDeviceInfo)(handle, CL_DEVICE_NAME, sizeof d->name - 1, d->name, NULL);
        return d;
    }
    return NULL;
}

static struct vt_cl_queue *place_for(struct vt_cl_device *d)
{
    struct vt_cl_queue *q = atomic_load(&vt_cl_queues);
    while (q && (atomic_load(&q->users) > 0 || q->device != d || !vt_cl_is_idle(q))) q = q->next;
    if (q || !(q = vt_pages(sizeof *q))) return q;
    q->device = d;
    q->streams.device = d->name;
    q->streams.clock = &d->clock;
    q->streams.begin = vt_ticks();
    const uint32_t number = atomic_fetch_add(&d->queues, 1);
    snprintf(q->streams.name, sizeof q->streams.name, "%s[%u:%u]", vt_device_api.name, d->number, number);
    q->next = atomic_load(&vt_cl_queues);
    atomic_store(&vt_cl_queues, q);
    return q;
}

/* ---- Forks and the end of the program ---- */

static void forget(void)
{
    atomic_store(&lock, 0);
    for (uint32_t i = 0; i < DEVICES; i++) atomic_store(&devices[i].clock.lock, 0);
    for (struct vt_cl_queue *q = atomic_load(&vt_cl_queues); q; q = q->next) vt_cl_forget(q);
}

static void end(void)
{
    vt_cl_read_all();
    uint64_t left = 0;
    for (struct vt_cl_queue *q = atomic_load(&vt_cl_queues); q; q = q->next) {
        vt_cl_end_queue(q);
        left += vt_cl_unfinished(q);
    }
    if (left)
        vt_warn_left_out("library", "OpenCL commands that had not finished at the program's end: %llu",
                         (unsigned long long)left);
}

/* Registered once there is a queue: so the handler runs before those of the driver. */
static void watch_end(void)
{
    atexit(end);
    pthread_atfork(NULL, NULL, forget);
}

static void keep(cl_command_queue handle, const uint64_t *given, uint64_t bits, int is_forced)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    cl_device_id device = NULL;
    VT_NEXT_AS(cl_info_function, clGetCommandQueueInfo)(handle, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    pthread_once(&once, watch_end);
    vt_device_lock(&lock);
    struct vt_cl_queue *old = vt_cl_queue_of(handle);
    if (old) atomic_store(&old->handle, NULL); /* freed by the driver, after its commands */
    struct vt_cl_device *d = device_of(device);
    struct vt_cl_queue *q = d ? place_for(d) : NULL;
    if (q) {
        q->is_in_order = !(bits & CL_QUEUE_OUT_OF_ORDER);
        q->is_forced = is_forced;
        q->nproperties = 0;
        for (uint32_t n = 0; given && !q->nproperties && n < PROPERTIES; n += 2) {
            if (!(q->properties[n] = given[n])) q->nproperties = n + 1;
            else q->properties[n + 1] = given[n + 1];
        }
        atomic_store(&q->users, 1);
        atomic_store(&q->handle, handle);
    }
    vt_device_unlock(&lock);
    if (!q)
        vt_warn_left_out("library", "more than %u devices of OpenCL: activities of others are not recorded", DEVICES);
}

static void not_profiled(void)
{
    vt_warn_left_out("library", "a queue of OpenCL cannot measure times: activities of its device are not recorded");
}

/* ---- The calls of the program ---- */

typedef cl_command_queue create(cl_context context, cl_device_id device, cl_bitfield bits, cl_int *error);
typedef cl_command_queue create_with(cl_context context, cl_device_id device, const uint64_t *properties,
                                     cl_int *error);

cl_command_queue vt_cl_create(cl_context context, cl_device_id device, cl_bitfield bits, cl_int *error)
{
    create *next = VT_NEXT_AS(create, clCreateCommandQueue);
    if (!vt_cl_records()) return next(context, device, bits, error);
    cl_command_queue made = next(context, device, bits | CL_QUEUE_PROFILING, error);
    if (made) keep(made, NULL, bits, !(bits & CL_QUEUE_PROFILING));
    else if (!(bits & CL_QUEUE_PROFILING) && (made = next(context, device, bits, error))) not_profiled();
    return made;
}

/* Copies the properties, with profiling added, to `into`. Returns the program's bits; -1: there are too many properties,
   or the queue is one on the device. */
static int64_t with_profiling(const uint64_t *given, uint64_t *into)
{
    uint64_t bits = 0;
    uint32_t n = 0, found = 0;
    for (; given && given[n]; n += 2) {
        if (n + 4 > PROPERTIES) return -1;
        const int is_bits = given[n] == CL_QUEUE_PROPERTIES;
        if (is_bits) bits = given[n + 1];
        found |= (uint32_t)is_bits;
        into[n] = given[n];
        into[n + 1] = given[n + 1] | (is_bits ? CL_QUEUE_PROFILING : 0);
    }
    if (!found) {
        into[n++] = CL_QUEUE_PROPERTIES;
        into[n++] = CL_QUEUE_PROFILING;
    }
    into[n] = 0;
    return bits & CL_QUEUE_ON_DEVICE ? -1 : (int64_t)bits;
}

cl_command_queue vt_cl_create_with(cl_context context, cl_device_id device, const uint64_t *given, cl_int *error)
{
    create_with *next = VT_NEXT_AS(create_with, clCreateCommandQueueWithProperties);
    uint64_t properties[PROPERTIES + 2];
    const int64_t bits = vt_cl_records() ? with_profiling(given, properties) : -1;
    if (bits < 0) return next(context, device, given, error);
    cl_command_queue made = next(context, device, properties, error);
    if (made) keep(made, given, (uint64_t)bits, !(bits & CL_QUEUE_PROFILING));
    else if (!(bits & CL_QUEUE_PROFILING) && (made = next(context, device, given, error))) not_profiled();
    return made;
}

cl_int vt_cl_retain(cl_command_queue handle)
{
    struct vt_cl_queue *q = vt_cl_queue_of(handle);
    if (q) atomic_fetch_add(&q->users, 1);
    return VT_NEXT_AS(cl_queue_function, clRetainCommandQueue)(handle);
}

cl_int vt_cl_release(cl_command_queue handle)
{
    struct vt_cl_queue *q = vt_cl_queue_of(handle);
    if (q) vt_cl_read(q, 1, 0);
    if (q) atomic_fetch_sub(&q->users, 1); /* before another queue can have the same handle */
    return VT_NEXT_AS(cl_queue_function, clReleaseCommandQueue)(handle);
}

cl_int vt_cl_queue_info(cl_command_queue handle, cl_uint what, size_t bytes, void *value, size_t *used)
{
    cl_info_function *next = VT_NEXT_AS(cl_info_function, clGetCommandQueueInfo);
    struct vt_cl_queue *q = vt_cl_queue_of(handle);
    if (!q || !q->is_forced) return next(handle, what, bytes, value, used);
    if (what == CL_QUEUE_PROPERTIES_ARRAY) {
        const size_t size = q->nproperties * sizeof(uint64_t);
        if (value && bytes < size) return CL_INVALID_VALUE;
        if (value && size) memcpy(value, q->properties, size);
        if (used) *used = size;
        return CL_SUCCESS;
    }
    const cl_int result = next(handle, what, bytes, value, used);
    if (result == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && value)
        *(uint64_t *)value &= ~(uint64_t)CL_QUEUE_PROFILING;
    return result;
}

cl_int vt_cl_profiling_info(cl_event event, cl_uint what, size_t bytes, void *value, size_t *used)
{
    cl_command_queue handle = NULL;
    const cl_int known =
        VT_NEXT_AS(cl_info_function, clGetEventInfo)(event, CL_EVENT_COMMAND_QUEUE, sizeof handle, &handle, NULL);
    struct vt_cl_queue *q = known == CL_SUCCESS ? vt_cl_queue_of(handle) : NULL;
    if (q && q->is_forced) return CL_PROFILING_INFO_NOT_AVAILABLE;
    return VT_NEXT_AS(cl_info_function, clGetEventProfilingInfo)(event, what, bytes, value, used);
}
