/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of libvtrace-opencl.so, a layer of OpenCL: its loader, named by OPENCL_LAYERS, calls
   the layer's functions, and these call those of the next layer or driver. The declarations are those of CL/cl.h, whose
   binary interface does not change, so that no header of OpenCL is needed.

   layer.c owns the tables, calls.c has the functions, commands.c the commands that have not been read yet, queues.c the
   queues, clocks.c the timers of devices. */
#ifndef VT_OPENCLWRAP_H
#define VT_OPENCLWRAP_H

#include <stddef.h>
#include <stdint.h>
#include "../devices/devices.h"
#include "entries.h"

#define VT_EXPORTED __attribute__((visibility("default")))

#pragma GCC visibility push(hidden)

/* ---- OpenCL ---- */

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef struct cl_any_queue *cl_command_queue;
typedef struct cl_any_event *cl_event;
typedef struct cl_any_device *cl_device_id;
typedef struct cl_any_context *cl_context;
typedef struct cl_any_program *cl_program;
typedef struct cl_any_kernel *cl_kernel;
typedef struct cl_any_memory *cl_mem;

enum {
    CL_SUCCESS = 0,
    CL_PROFILING_INFO_NOT_AVAILABLE = -7,
    CL_INVALID_VALUE = -30,
    CL_COMPLETE = 0,
    CL_QUEUE_OUT_OF_ORDER = 1, /* bits of CL_QUEUE_PROPERTIES */
    CL_QUEUE_PROFILING = 2,
    CL_QUEUE_ON_DEVICE = 4,
    CL_IMAGE_ELEMENT_SIZE = 0x1111,
    CL_DEVICE_NAME = 0x102B,
    CL_QUEUE_DEVICE = 0x1091,
    CL_QUEUE_PROPERTIES = 0x1093,
    CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
    CL_MEM_SIZE = 0x1102,
    CL_KERNEL_FUNCTION_NAME = 0x1190,
    CL_EVENT_COMMAND_QUEUE = 0x11D0,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_PROFILING_COMMAND_QUEUED = 0x1280, /* the next three: submit, start, end */
};

/* Functions of the next layer or driver that the library itself calls. */
typedef cl_int cl_info_function(void *object, cl_uint what, size_t bytes, void *value, size_t *used);
typedef cl_int cl_event_function(cl_event event);
typedef cl_int cl_queue_function(cl_command_queue queue);
typedef cl_int cl_timer_function(cl_device_id device, cl_ulong *device_ns, cl_ulong *host_ns);

enum vt_cl_place {
#define VT_CL_PLACE(name, place) VT_AT_##name = place,
    VT_CL_ENTRIES(VT_CL_PLACE)
#undef VT_CL_PLACE
};

/* ---- layer.c ---- */

typedef void vt_cl_function(void);
/* The functions of the next layer or driver. */
extern vt_cl_function *vt_cl_next[VT_CL_TABLE];
/* The next function, as a pointer of a type, or of the type of this library's function. */
#define VT_NEXT_AS(type, name) ((type *)vt_cl_next[VT_AT_##name])
#define VT_NEXT(name) VT_NEXT_AS(__typeof__(name), name)
/* Returns 1 if calls are recorded. */
int vt_cl_records(void);
/* Returns the region of a function; 0: it is not recorded. */
uint32_t vt_cl_function_region(struct vt_device_named *function);

/* ---- calls.c ---- */

/* Puts the functions of this library into a table, where the next one has a function. */
void vt_cl_set_calls(vt_cl_function **table);

/* ---- clocks.c ---- */

struct vt_cl_device {
    cl_device_id handle;
    uint32_t number;
    _Atomic uint32_t queues; /* number of all that were created */
    _Atomic int has_timer; /* 0: clGetDeviceAndHostTimer does not work */
    _Atomic uint64_t asked; /* CLOCK_MONOTONIC of its last call */
    struct vt_device_clock clock;
    char name[128];
};

/* Asks the device for its time, if it can tell and has not been asked for a while. */
void vt_cl_clock_ask(struct vt_cl_device *d);

/* ---- queues.c ---- */

struct vt_cl_command; /* commands.c */

struct vt_cl_queue {
    struct vt_cl_queue *next; /* in the list of all */
    cl_command_queue _Atomic handle; /* NULL: none */
    _Atomic int users; /* references of the program; 0: another queue of the device may take the place */
    struct vt_cl_device *device;
    int is_in_order, is_forced; /* is_forced: the program did not ask for profiling */
    uint64_t properties[32]; /* the program's own, ended by 0 */
    uint32_t nproperties; /* with the 0; 0: none were given */
    _Atomic int lock; /* of the list of commands */
    _Atomic int reads; /* a thread reads the times of finished commands, and owns `streams` */
    struct vt_cl_command *first, *last; /* in the order of the calls */
    _Atomic uint64_t failed; /* commands without times */
    struct vt_device_queue streams;
};

extern struct vt_cl_queue *_Atomic vt_cl_queues;
/* Returns the queue of a handle; NULL: its times are not known. */
struct vt_cl_queue *vt_cl_queue_of(cl_command_queue handle);

/* The program's calls. */
cl_command_queue vt_cl_create(cl_context context, cl_device_id device, cl_bitfield bits, cl_int *error);
cl_command_queue vt_cl_create_with(cl_context context, cl_device_id device, const uint64_t *given, cl_int *error);
cl_int vt_cl_retain(cl_command_queue handle);
cl_int vt_cl_release(cl_command_queue handle);
cl_int vt_cl_queue_info(cl_command_queue handle, cl_uint what, size_t bytes, void *value, size_t *used);
cl_int vt_cl_profiling_info(cl_event event, cl_uint what, size_t bytes, void *value, size_t *used);

/* ---- commands.c ---- */

/* A call that enqueues a command. */
struct vt_cl_call {
    uint32_t region; /* of the call; 0: it is not recorded */
    struct vt_cl_queue *queue;
    struct vt_cl_command *command; /* NULL: its times are not recorded */
    cl_event event;
};

/* Enters the call. kernel: the command's; else NULL. blocks: the call waits for its command.
   Returns the place for the event of the command. */
cl_event *vt_cl_begin(struct vt_cl_call *call, struct vt_device_named *function, cl_command_queue queue,
                      enum vt_device_action action, cl_kernel kernel, uint64_t bytes, int blocks);
/* Leaves the call; event: where the program wants its event, or NULL; has_ended: the call has waited for the command. */
void vt_cl_end(struct vt_cl_call *call, cl_int result, cl_event *event, int has_ended);
/* Records the finished commands of a queue: all of them, or in a queue without order those near the head of its list.
   ended: CLOCK_MONOTONIC at which all commands had ended whose calls had returned; 0: unknown. */
void vt_cl_read(struct vt_cl_queue *queue, int all, uint64_t ended);
void vt_cl_read_all(void);
/* Ends the streams of a queue at the program's end. */
void vt_cl_end_queue(struct vt_cl_queue *queue);
/* Returns 1 if no command of a queue is left to read. */
int vt_cl_is_idle(struct vt_cl_queue *queue);
/* Returns the number of commands whose times are not known: they have not finished, or failed. */
uint64_t vt_cl_unfinished(struct vt_cl_queue *queue);
/* In a forked child: forgets the commands of the parent. */
void vt_cl_forget(struct vt_cl_queue *queue);

#pragma GCC visibility pop

#endif
