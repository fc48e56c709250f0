/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of OpenCL whose calls are recorded, with the prototypes of CL/cl.h. */
#include "openclwrap.h"

/* Parameters and arguments without their parentheses. */
#define LIST(...) __VA_ARGS__

/* A function that enqueues a command: what the device does, the kernel, the bytes, and the parameters and arguments
   between the queue and the events to wait for. blocks: the call waits until the command has ended. */
#define ENQUEUES(name, action, kernel, bytes, blocks, parameters, arguments)                                           \
    static cl_int name(cl_command_queue queue, LIST parameters, cl_uint n, const cl_event *waits, cl_event *event)     \
    {                                                                                                                  \
        static struct vt_device_named function = {#name, 0, 0, 0};                                                     \
        struct vt_cl_call own_call;                                                                                    \
        cl_event *own = vt_cl_begin(&own_call, &function, queue, action, kernel, bytes, blocks);                       \
        const cl_int result = VT_NEXT(name)(queue, LIST arguments, n, waits, own ? own : event);                       \
        vt_cl_end(&own_call, result, event, blocks);                                                                   \
        return result;                                                                                                 \
    }

/* The same for one that returns an address. */
#define MAPS(name, bytes, blocks, parameters, arguments)                                                               \
    static void *name(cl_command_queue queue, LIST parameters, cl_uint n, const cl_event *waits, cl_event *event,      \
                      cl_int *error)                                                                                   \
    {                                                                                                                  \
        static struct vt_device_named function = {#name, 0, 0, 0};                                                     \
        struct vt_cl_call own_call;                                                                                    \
        cl_int result = CL_SUCCESS;                                                                                    \
        cl_event *own = vt_cl_begin(&own_call, &function, queue, VT_DEVICE_MAP, NULL, bytes, blocks);                  \
        void *mapped = VT_NEXT(name)(queue, LIST arguments, n, waits, own ? own : event, &result);                     \
        vt_cl_end(&own_call, result, event, blocks);                                                                   \
        if (error) *error = result;                                                                                    \
        return mapped;                                                                                                 \
    }

/* A function whose call alone is recorded; then: a statement after it. */
#define CALLS(type, name, parameters, arguments, then)                                                                 \
    static type name(LIST parameters)                                                                                  \
    {                                                                                                                  \
        static struct vt_device_named function = {#name, 0, 0, 0};                                                     \
        const uint32_t region = vt_cl_function_region(&function);                                                      \
        if (region) vt_enter(region);                                                                                  \
        const type result = VT_NEXT(name)(LIST arguments);                                                             \
        if (region) vt_leave(region);                                                                                  \
        then;                                                                                                          \
        return result;                                                                                                 \
    }

/* ---- Bytes ---- */

static uint64_t box(const size_t *region) { return region ? (uint64_t)region[0] * region[1] * region[2] : 0; }

static uint64_t pixels(cl_mem image, const size_t *region)
{
    size_t size = 0;
    VT_OWN_WORK(VT_NEXT_AS(cl_info_function, clGetImageInfo)(image, CL_IMAGE_ELEMENT_SIZE, sizeof size, &size, NULL));
    return size * box(region);
}

static uint64_t sum_of(const cl_mem *objects, cl_uint n)
{
    uint64_t sum = 0;
    for (cl_uint i = 0; objects && i < n; i++) {
        size_t size = 0;
        VT_OWN_WORK(
            VT_NEXT_AS(cl_info_function, clGetMemObjectInfo)(objects[i], CL_MEM_SIZE, sizeof size, &size, NULL));
        sum += size;
    }
    return sum;
}

static uint64_t sum_of_sizes(const size_t *sizes, cl_uint n)
{
    uint64_t sum = 0;
    for (cl_uint i = 0; sizes && i < n; i++) sum += sizes[i];
    return sum;
}

/* ---- Kernels ---- */

ENQUEUES(clEnqueueNDRangeKernel, VT_DEVICE_KERNEL, kernel, 0, 0,
         (cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local),
         (kernel, dimensions, offset, global, local))
ENQUEUES(clEnqueueTask, VT_DEVICE_KERNEL, kernel, 0, 0, (cl_kernel kernel), (kernel))
ENQUEUES(clEnqueueNativeKernel, VT_DEVICE_KERNEL, NULL, 0, 0,
         (void (*code)(void *), void *data, size_t bytes, cl_uint nobjects, const cl_mem *objects, const void **places),
         (code, data, bytes, nobjects, objects, places))

/* ---- Copies ---- */

ENQUEUES(clEnqueueReadBuffer, VT_DEVICE_TO_HOST, NULL, bytes, blocking,
         (cl_mem from, cl_bool blocking, size_t offset, size_t bytes, void *to), (from, blocking, offset, bytes, to))
ENQUEUES(clEnqueueWriteBuffer, VT_DEVICE_TO_DEVICE, NULL, bytes, blocking,
         (cl_mem to, cl_bool blocking, size_t offset, size_t bytes, const void *from),
         (to, blocking, offset, bytes, from))
ENQUEUES(clEnqueueCopyBuffer, VT_DEVICE_ON_DEVICE, NULL, bytes, 0,
         (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes),
         (from, to, from_offset, to_offset, bytes))
ENQUEUES(clEnqueueReadBufferRect, VT_DEVICE_TO_HOST, NULL, box(region), blocking,
         (cl_mem from, cl_bool blocking, const size_t *from_origin, const size_t *to_origin, const size_t *region,
          size_t from_row, size_t from_slice, size_t to_row, size_t to_slice, void *to),
         (from, blocking, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice, to))
ENQUEUES(clEnqueueWriteBufferRect, VT_DEVICE_TO_DEVICE, NULL, box(region), blocking,
         (cl_mem to, cl_bool blocking, const size_t *to_origin, const size_t *from_origin, const size_t *region,
          size_t to_row, size_t to_slice, size_t from_row, size_t from_slice, const void *from),
         (to, blocking, to_origin, from_origin, region, to_row, to_slice, from_row, from_slice, from))
ENQUEUES(clEnqueueCopyBufferRect, VT_DEVICE_ON_DEVICE, NULL, box(region), 0,
         (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region,
          size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
         (from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice))
ENQUEUES(clEnqueueReadImage, VT_DEVICE_TO_HOST, NULL, pixels(from, region), blocking,
         (cl_mem from, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
          void *to),
         (from, blocking, origin, region, row, slice, to))
ENQUEUES(clEnqueueWriteImage, VT_DEVICE_TO_DEVICE, NULL, pixels(to, region), blocking,
         (cl_mem to, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
          const void *from),
         (to, blocking, origin, region, row, slice, from))
ENQUEUES(clEnqueueCopyImage, VT_DEVICE_ON_DEVICE, NULL, pixels(from, region), 0,
         (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region),
         (from, to, from_origin, to_origin, region))
ENQUEUES(clEnqueueCopyImageToBuffer, VT_DEVICE_ON_DEVICE, NULL, pixels(from, region), 0,
         (cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
         (from, to, origin, region, offset))
ENQUEUES(clEnqueueCopyBufferToImage, VT_DEVICE_ON_DEVICE, NULL, pixels(to, region), 0,
         (cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
         (from, to, offset, origin, region))
ENQUEUES(clEnqueueFillBuffer, VT_DEVICE_FILL, NULL, bytes, 0,
         (cl_mem to, const void *pattern, size_t size, size_t offset, size_t bytes), (to, pattern, size, offset, bytes))
ENQUEUES(clEnqueueFillImage, VT_DEVICE_FILL, NULL, pixels(to, region), 0,
         (cl_mem to, const void *colour, const size_t *origin, const size_t *region), (to, colour, origin, region))
ENQUEUES(clEnqueueMigrateMemObjects, VT_DEVICE_MIGRATE, NULL, sum_of(objects, nobjects), 0,
         (cl_uint nobjects, const cl_mem *objects, cl_bitfield flags), (nobjects, objects, flags))
ENQUEUES(clEnqueueUnmapMemObject, VT_DEVICE_UNMAP, NULL, 0, 0, (cl_mem object, void *mapped), (object, mapped))
MAPS(clEnqueueMapBuffer, bytes, blocking,
     (cl_mem object, cl_bool blocking, cl_bitfield flags, size_t offset, size_t bytes),
     (object, blocking, flags, offset, bytes))
MAPS(clEnqueueMapImage, pixels(object, region), blocking,
     (cl_mem object, cl_bool blocking, cl_bitfield flags, const size_t *origin, const size_t *region, size_t *row,
      size_t *slice),
     (object, blocking, flags, origin, region, row, slice))

/* ---- Shared virtual memory ---- */

ENQUEUES(clEnqueueSVMMemcpy, VT_DEVICE_ON_DEVICE, NULL, bytes, blocking,
         (cl_bool blocking, void *to, const void *from, size_t bytes), (blocking, to, from, bytes))
ENQUEUES(clEnqueueSVMMemFill, VT_DEVICE_FILL, NULL, bytes, 0,
         (void *to, const void *pattern, size_t size, size_t bytes), (to, pattern, size, bytes))
ENQUEUES(clEnqueueSVMMap, VT_DEVICE_MAP, NULL, bytes, blocking,
         (cl_bool blocking, cl_bitfield flags, void *object, size_t bytes), (blocking, flags, object, bytes))
ENQUEUES(clEnqueueSVMUnmap, VT_DEVICE_UNMAP, NULL, 0, 0, (void *object), (object))
ENQUEUES(clEnqueueSVMMigrateMem, VT_DEVICE_MIGRATE, NULL, sum_of_sizes(sizes, nobjects), 0,
         (cl_uint nobjects, const void **objects, const size_t *sizes, cl_bitfield flags),
         (nobjects, objects, sizes, flags))
typedef void free_function(cl_command_queue queue, cl_uint n, void **objects, void *data);
ENQUEUES(clEnqueueSVMFree, VT_DEVICE_NOTHING, NULL, 0, 0,
         (cl_uint nobjects, void **objects, free_function *call, void *data), (nobjects, objects, call, data))

/* ---- Calls without an activity ---- */

CALLS(cl_int, clFlush, (cl_command_queue queue), (queue), )
static cl_int clFinish(cl_command_queue queue)
{
    static struct vt_device_named function = {.name = "clFinish"};
    const uint32_t region = vt_cl_function_region(&function);
    if (region) vt_enter(region);
    const cl_int result = VT_NEXT(clFinish)(queue);
    const uint64_t ended = vt_device_now();
    if (region) vt_leave(region);
    struct vt_cl_queue *q = vt_cl_queue_of(queue);
    if (q) vt_cl_read(q, 1, result == CL_SUCCESS ? ended : 0);
    return result;
}
CALLS(cl_int, clWaitForEvents, (cl_uint n, const cl_event *events), (n, events), vt_cl_read_all())
CALLS(cl_int, clEnqueueMarker, (cl_command_queue queue, cl_event *event), (queue, event), )
CALLS(cl_int, clEnqueueBarrier, (cl_command_queue queue), (queue), )
CALLS(cl_int, clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint n, const cl_event *events), (queue, n, events), )
CALLS(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *event),
      (queue, n, waits, event), )
CALLS(cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *event),
      (queue, n, waits, event), )
typedef void notify(cl_program program, void *data);
CALLS(cl_int, clBuildProgram,
      (cl_program program, cl_uint n, const cl_device_id *devices, const char *options, notify *call, void *data),
      (program, n, devices, options, call, data), )
CALLS(cl_int, clCompileProgram,
      (cl_program program, cl_uint n, const cl_device_id *devices, const char *options, cl_uint nheaders,
       const cl_program *headers, const char **names, notify *call, void *data),
      (program, n, devices, options, nheaders, headers, names, call, data), )
CALLS(cl_program, clLinkProgram,
      (cl_context context, cl_uint n, const cl_device_id *devices, const char *options, cl_uint nprograms,
       const cl_program *programs, notify *call, void *data, cl_int *error),
      (context, n, devices, options, nprograms, programs, call, data, error), )

/* ---- The table ---- */

/* clang-format off */
#define CALL(name) {VT_AT_##name, (vt_cl_function *)(name)}
static const struct {
    enum vt_cl_place place;
    vt_cl_function *call;
} calls[] = {
    CALL(clEnqueueNDRangeKernel), CALL(clEnqueueTask), CALL(clEnqueueNativeKernel), CALL(clEnqueueReadBuffer),
    CALL(clEnqueueWriteBuffer), CALL(clEnqueueCopyBuffer), CALL(clEnqueueReadBufferRect),
    CALL(clEnqueueWriteBufferRect), CALL(clEnqueueCopyBufferRect), CALL(clEnqueueReadImage), CALL(clEnqueueWriteImage),
    CALL(clEnqueueCopyImage), CALL(clEnqueueCopyImageToBuffer), CALL(clEnqueueCopyBufferToImage),
    CALL(clEnqueueFillBuffer), CALL(clEnqueueFillImage), CALL(clEnqueueMigrateMemObjects),
    CALL(clEnqueueUnmapMemObject), CALL(clEnqueueMapBuffer), CALL(clEnqueueMapImage), CALL(clEnqueueSVMMemcpy),
    CALL(clEnqueueSVMMemFill), CALL(clEnqueueSVMMap), CALL(clEnqueueSVMUnmap), CALL(clEnqueueSVMMigrateMem),
    CALL(clEnqueueSVMFree), CALL(clFlush), CALL(clFinish), CALL(clWaitForEvents), CALL(clEnqueueMarker),
    CALL(clEnqueueBarrier), CALL(clEnqueueWaitForEvents), CALL(clEnqueueMarkerWithWaitList),
    CALL(clEnqueueBarrierWithWaitList), CALL(clBuildProgram), CALL(clCompileProgram), CALL(clLinkProgram),
    {VT_AT_clCreateCommandQueue, (vt_cl_function *)vt_cl_create},
    {VT_AT_clCreateCommandQueueWithProperties, (vt_cl_function *)vt_cl_create_with},
    {VT_AT_clRetainCommandQueue, (vt_cl_function *)vt_cl_retain},
    {VT_AT_clReleaseCommandQueue, (vt_cl_function *)vt_cl_release},
    {VT_AT_clGetCommandQueueInfo, (vt_cl_function *)vt_cl_queue_info},
    {VT_AT_clGetEventProfilingInfo, (vt_cl_function *)vt_cl_profiling_info},
};
/* clang-format on */

void vt_cl_set_calls(vt_cl_function **table)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (table[calls[i].place]) table[calls[i].place] = calls[i].call;
}
