/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, name and end of threads. thread.c owns the assignment of locations to threads. */
#ifndef VT_THREAD_H
#define VT_THREAD_H

#include "location.h"

#pragma GCC visibility push(hidden)

/* Returns a location for a thread: a new one, or that of an ended thread; NULL: the thread is not recorded. thread: id
   (gettid). */
struct vt_location *vt_location_new(uint32_t thread);
/* Sets the location of the calling thread; NULL: none. */
void vt_bind_location(struct vt_location *l);
/* Returns the location of the calling thread, with busy clear. Returns NULL if the thread cannot record now; counts the
   events as lost. */
struct vt_location *vt_location_to_record(unsigned events);
/* Runs once, when the runtime starts. Returns 0 if vtrace cannot detect the end of threads. */
int vt_thread_start(void);
/* Makes vtrace detect the end of the calling thread, whose location is l. */
void vt_thread_watch(struct vt_location *l);
/* Registers functions that run in each thread: after it has got its location; after its THREAD_BEGIN record, if it has
   one; at its end; in the thread that ends the process. has_begun, exits: NULL for none. Those registered last run first.
   Called by constructors. */
struct vt_thread_follower {
    void (*begins)(struct vt_location *l), (*has_begun)(struct vt_location *l);
    void (*ends)(struct vt_location *l), (*exits)(struct vt_location *l);
    struct vt_thread_follower *next; /* the functions registered before */
};
void vt_on_threads(struct vt_thread_follower *follower);
/* Registers functions that run before the calling thread calls exec, and after an exec that failed. */
void vt_on_exec(void (*before)(void), void (*failed)(void));
/* Call the registered functions. */
void vt_before_exec(void);
void vt_after_exec(void);
/* Runs after the calling thread has got its location, with signals blocked. */
void vt_thread_began(struct vt_location *l);
/* Runs in the thread that ends the process, before the end of recording. */
void vt_thread_exits(struct vt_location *l);
/* Returns the current name of the thread; NULL: it has the default name. */
const char *vt_thread_name(struct vt_location *l);
/* Writes a THREAD_BEGIN record. A new thread calls this function. number: as in the record of its creation. */
void vt_thread_begins(uint64_t number);
/* Marks the calling thread as a helper thread of a library. A new thread calls this function. library: a constant
   string. */
void vt_thread_helps(const char *library);
/* Returns the library whose helper the calling thread is; NULL: none. */
const char *vt_thread_helper(void);

#pragma GCC visibility pop

#endif
