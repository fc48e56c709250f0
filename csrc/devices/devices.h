/* SPDX-License-Identifier: BSD-3-Clause */
/* What the libraries for devices share (csrc/openclwrap, csrc/cudawrap; each contains these files): activities with times
   of a device's clock become regions on streams.

   clocks.c relates a device's clock to the runtime's, streams.c has the locations of a queue, names.c the regions and
   attributes. */
#ifndef VT_DEVICES_H
#define VT_DEVICES_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include "../core/core.h"

#pragma GCC visibility push(hidden)

/* The interface to devices that a library records; the library defines it. */
struct vt_device_api {
    const char *name; /* begins the names of streams: "OpenCL" */
    const char *group; /* in a filter: "OPENCL" */
    uint8_t paradigm; /* OTF2's */
    const char *window; /* Score-P's name of the window of its copies */
};
extern const struct vt_device_api vt_device_api;

static inline void vt_device_lock(_Atomic int *lock)
{
    while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) sched_yield();
}
static inline void vt_device_unlock(_Atomic int *lock) { atomic_store_explicit(lock, 0, memory_order_release); }

/* ---- clocks.c ---- */

/* The clock of a device: bounds of CLOCK_MONOTONIC less the device's time. */
struct vt_device_clock {
    _Atomic int lock; /* of the other members */
    int is_known; /* there are bounds */
    int64_t low, high;
    uint64_t at; /* CLOCK_MONOTONIC of the newest bounds */
};

uint64_t vt_device_now(void); /* CLOCK_MONOTONIC */
/* Takes the first pair of readings of the runtime's clock, which the runtime has chosen. */
void vt_device_clock_start(void);
/* Adds bounds of CLOCK_MONOTONIC less the device's time, at a time `now` of CLOCK_MONOTONIC. is_certain: 0: they are
   left out if they contradict what is known. */
void vt_device_clock_bounds(struct vt_device_clock *clock, int64_t low, int64_t high, uint64_t now, int is_certain);
/* Returns CLOCK_MONOTONIC less the device's time. */
int64_t vt_device_clock_offset(struct vt_device_clock *clock);
/* Returns ticks of the runtime's clock at a time of the device. */
uint64_t vt_device_clock_ticks(struct vt_device_clock *clock, uint64_t device);

/* ---- names.c ---- */

/* What a device does. */
enum vt_device_action {
    VT_DEVICE_NOTHING,
    VT_DEVICE_KERNEL,
    VT_DEVICE_TO_DEVICE,
    VT_DEVICE_TO_HOST,
    VT_DEVICE_ON_DEVICE,
    VT_DEVICE_BETWEEN,
    VT_DEVICE_ON_HOST,
    VT_DEVICE_FILL,
    VT_DEVICE_MAP,
    VT_DEVICE_UNMAP,
    VT_DEVICE_MIGRATE,
    VT_DEVICE_MIGRATE_TO_DEVICE,
    VT_DEVICE_MIGRATE_TO_HOST,
    VT_DEVICE_MIGRATE_BETWEEN,
    VT_DEVICE_ACTIONS
};

/* A function of the interface. */
struct vt_device_named {
    const char *name;
    _Atomic uint32_t region; /* 0: not known yet */
    _Atomic int64_t limit, calls; /* limit: of a filter */
};

/* Returns the region of a function for one call; 0: the call is not recorded. */
uint32_t vt_device_function_region(struct vt_device_named *function);
/* Returns the region for one activity; 0: it is not recorded. name: a kernel's, else NULL. */
uint32_t vt_device_activity_region(enum vt_device_action action, const char *name);

/* Attributes of events. */
enum vt_device_attribute {
    VT_DEVICE_COMMAND,
    VT_DEVICE_BYTES,
    VT_DEVICE_QUEUED,
    VT_DEVICE_SUBMITTED,
    VT_DEVICE_BLOCKING,
    VT_DEVICE_ATTRIBUTES
};
/* Defines a counter of whole numbers that add up. Returns its id; 0: none. */
uint32_t vt_device_counter(const char *name);
/* Returns the window of copies, defined at its first use; 0: none. Of two threads that define one at one time, each has
   its own. */
uint32_t vt_device_window(void);
/* Returns the id of an attribute; 0: none. */
uint32_t vt_device_attribute(enum vt_device_attribute which);
/* Enters the call of a function that enqueues the command of a number. */
void vt_device_enter(uint32_t region, uint64_t number);

/* ---- streams.c ---- */

#define VT_DEVICE_LANES 64u /* the most activities of a queue at one time */

/* The locations of a queue: its activities may overlap, and those of a location nest. */
struct vt_device_queue {
    char name[48]; /* of the stream: "OpenCL[0:1]" */
    const char *device; /* name of the device */
    struct vt_device_clock *clock;
    uint64_t begin; /* ticks, of which no activity is earlier */
    struct vt_device_lane {
        struct vt_location *stream;
        uint64_t end, ticks; /* of the newest activity, by the device's clock and in ticks */
        uint32_t window; /* of its copies; 0: there was none yet */
    } lanes[VT_DEVICE_LANES];
};

/* An activity of a device: times by its clock. */
struct vt_device_activity {
    uint64_t number, bytes;
    uint64_t queued, submitted; /* 0: unknown */
    uint64_t start, end;
    uint32_t region;
    enum vt_device_action action;
    uint32_t host; /* number of the location whose call asks for the activity; VT_NO_LOCATION: none */
};
/* Records an activity on a lane of the queue, which one thread at a time uses. */
void vt_device_record(struct vt_device_queue *queue, const struct vt_device_activity *a);
/* Records a counter's value at a time of the device, on the first lane of the queue. */
void vt_device_count(struct vt_device_queue *queue, uint32_t counter, uint64_t value, uint64_t time);
/* Ends the use of the queue's lanes at the program's end. */
void vt_device_end(struct vt_device_queue *queue);

#pragma GCC visibility pop

#endif
