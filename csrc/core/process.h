/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer of the process: start and end of recording, the location of each thread, and what wrappers call. */
#ifndef VT_PROCESS_H
#define VT_PROCESS_H

#include <signal.h>
#include "recording.h"

#pragma GCC visibility push(hidden)

/* ---- process.c: A recording process. process.c owns vt_process ---- */

/* Returns the location of the calling thread; creates it at the first event. Returns NULL if the thread is not
   recorded; then counts the events as lost, if recording was intended but not possible. */
struct vt_location *vt_location_of_thread(unsigned events);
/* Defines the properties of the process in this location: command, executable, directory, settings, groups. */
void vt_define_process(struct vt_location *l);
/* Claims rank 0's file names if this process has no rank and they are unused. */
void vt_be_alone(void);
/* Returns 1 if the process is a rank of MPI whose calls no shim records: only its libraries were linked by vtrace-cc. */
int vt_process_lacks_shim(void);

/* ---- thread.c, which owns the assignment of locations to threads: their start, name and end ---- */

/* Returns a location for a thread: a new one, or that of an ended thread; NULL: the thread is not recorded. thread: id
   (gettid). */
struct vt_location *vt_location_new(uint32_t thread);
/* Returns a new lane: a location without a thread, for regions that do not nest in a thread (csrc/userwrap/ranges.c);
   NULL: there are too many locations. */
struct vt_location *vt_location_new_lane(void);
/* The same for a stream of a device: its name, the device's, and ticks of which no record is earlier. */
struct vt_location *vt_location_new_stream(const char *name, const char *device, uint64_t begin);
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
   one; at its end; in the thread that ends the process. All but begins: NULL for none. Those registered last run first.
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

/* ---- end.c: the end of a recording process ---- */

/* Registers vt_end as an exit handler, which runs after those registered later, and after all destructors. */
void vt_end_register(void);
/* Completes the files and ends recording. */
void vt_end(void);
/* Also keeps the process from recording again: the process ends without another call of vtrace. */
void vt_end_for_good(void);
/* 1: the last exit handler has run: records would never be completed. */
int vt_end_is_over(void);
/* Completes the files before an exec. Returns 0 if the files are not complete, for example because other threads
   run. */
int vt_suspend(void);
/* Continues recording after an exec that failed. */
void vt_resume(void);
/* Writes the records of the calling thread. A flight recorder writes the records of all threads, each at its next
   event. */
void vt_flush(void);
/* Completes the files of a location. Called by its thread, at the end of the thread. */
void vt_location_complete(struct vt_location *l);

/* ---- signal.c ---- */

/* VT_RING_SIGNAL, and the signals of sampling. signal.c owns the actions that the program set for VT_RING_SIGNAL and for
   SIGIO. */

/* Installs the handler, if the setting asks for it. Runs once, when the runtime starts. */
void vt_signal_start(void);
/* Calls a function before the program changes the action of a signal that vtrace uses. */
void vt_signal_watch(int signal, void (*taken)(void));
/* Call this function before an action of the program for a signal that does not pass through sigaction or signal. */
void vt_signal_taken(int signal);
/* Calls a function at each SIGIO that the program does not ignore, before the program's handler. has_handler: 1 if the
   program has one. If the function returns 1, SIGIO has no other effect; else the program's action follows. */
void vt_signal_guard_io(int (*came)(const siginfo_t *info, void *context, int has_handler));

/* ---- vfork.c: vfork, whose child runs in the memory of its parent ---- */

/* Registers functions that vfork calls: `begins` before the system call, `ends` after it, in the parent only. ends gets
   the result of the system call, and returns the result of vfork. */
void vt_vfork_record(void (*begins)(void), int (*ends)(long result));

/* ---- frames.c ---- */

/* The frames of a thread: its open calls of functions with sleds (csrc/funwrap) and of functions that a shim wraps.
   Stacks grow downwards, so the frame of a callee lies below that of its caller. A call that longjmp or an exception
   left has a dead frame. The runtime writes the leave of a dead frame when it learns of the jump (funwrap/landing.c,
   csrc/hooks/personality.h, vt_unwinds), or else before the next enter or leave at the same level of the stack or
   above.

   The frame of a shim's call stays open if its stack is not known: a coroutine may have been interrupted in the call.
   Only the thread of a location changes its frames. Most functions here require that l->busy is set. */

/* Returns the frame of the call whose return address is at `at`; NULL: the call is not recorded. Records the leaves of
   dead frames. entered: 1 if a call begins at `at`; a frame there is dead, too. */
struct vt_frame *vt_frames_find(struct vt_location *l, uintptr_t at, int entered);
/* Removes the innermost frame and records its leave. */
void vt_frames_pop(struct vt_location *l);
/* Adds a frame. Returns 0 if there is no memory: then recording stops, and the call counts as lost. */
int vt_frames_push(struct vt_location *l, uintptr_t at, uint64_t what);
/* Records an event of a function. what: as in struct vt_frame. */
void vt_frames_record(struct vt_location *l, uint64_t what, int leaves);
/* Records the leaves of the frames below the stack pointer of a landing. */
void vt_frames_land(struct vt_location *l, uintptr_t stack_pointer);
/* A shim's call begins (at: as in struct vt_frame) or ends. Record the leaves of dead frames. here: an address in the
   stack below the wrapper, by less than VT_WRAPPER_STACK. */
void vt_frames_open(struct vt_location *l, uintptr_t at, uint32_t region);
void vt_frames_close(struct vt_location *l, uintptr_t here, uint32_t region);
#define VT_WRAPPER_STACK 16384u
/* As vt_land, if both the calling function and the landing are on the thread's own stack. */
void vt_land_on_own(uintptr_t stack_pointer);
/* Records the leaves of all frames. These two functions require that l->busy is clear. */
void vt_frames_end(struct vt_location *l);
/* Writes records without looking at the frames (record.c). Requires that l->busy is clear. Returns their time; 0: they may
   be missing. */
uint64_t vt_write_words(uint64_t *words, unsigned n);

/* Addresses of a stack. A signal handler or coroutine may run on another stack than the thread's own one. */
struct vt_stack {
    uintptr_t start, end;
};
/* Returns the part of the memory in which a frame may belong to the same stack as a frame at `at`. These two functions
   change no vector register, and need no busy word. */
struct vt_stack vt_stack_of(const struct vt_location *l, uintptr_t at);
/* Returns 1 if a signal handler runs on an alternate stack. */
int vt_stack_alternate(struct vt_stack *stack);

/* Returns the innermost frame, vt_no_frame if there is none. A signal handler may fork at any moment, after which the
   location is empty in the child: load the frame once for each use. */
static inline VT_GENERAL_REGISTERS struct vt_frame *vt_frames_top(const struct vt_location *l)
{
    struct vt_frame *f = VT_READ(l->frame);
    return f ? f : &vt_no_frame;
}

static inline VT_GENERAL_REGISTERS int vt_stack_holds(const struct vt_stack *stack, uintptr_t at)
{
    return at - stack->start < stack->end - stack->start;
}

/* ---- long_calls.c: the places of calls of shims in which the thread waits long ---- */

/* Adds the time since the last event of the calling thread, whose location is l, until now (ticks) to its innermost call,
   if that is one of a shim. words: the n words of the records that follow, perhaps none. Requires that l->busy is
   clear. */
void vt_long_call(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now);
/* Defines the sums of a location at its end. */
void vt_long_calls_end(struct vt_location *l);

/* ---- regions.c: definitions of regions, attributes and texts by the calling thread ---- */

/* Defines the region of a call; returns 0 if the call is not recorded. */
uint32_t vt_call_define(struct vt_call *c);

/* call_sites.c: returns the text of a stack, as vt_call_site. at: n return addresses less 1, innermost first. */
uint32_t vt_call_site_of(const uintptr_t *at, uint32_t n);
/* call_sites.c: returns the text with the name of the variable at an address of an executable or library; 0: none. */
uint32_t vt_data_site(uintptr_t address);

/* Returns the id of an attribute; defines it at its first use. Returns 0 if no id is left or nothing is
   recorded. */
uint32_t vt_attribute_id(_Atomic uint32_t *id, const char *name, const char *description, enum vt_type type);
/* Defines a text; returns its id, or 0. */
uint32_t vt_define_text(const char *text);

/* Returns the region of a call; 0: the call is not recorded. */
static inline uint32_t vt_call_region(struct vt_call *c)
{
    uint32_t region = atomic_load_explicit(&c->region, memory_order_relaxed);
    return VT_LIKELY(region) ? region : vt_call_define(c);
}

/* ---- csrc/sampling/blocked_calls.c: calls of libc that sleep ---- */

/* A call of SLEEPS that HOLDS_LOCK: the thread may have a lock of the program at the end of the call. SHARED: the call may
   wait for another process. TIMED: it ends at a time at the latest. */
enum vt_sleep { VT_SLEEPS = 1, VT_HOLDS_LOCK = 2, VT_WAITS_SHARED = 4, VT_WAITS_TIMED = 8 };

/* 1: the thread is in such a call, which tells the sleep itself. */
extern _Thread_local int vt_in_sleeping_call __attribute__((tls_model("initial-exec")));
/* Tells how long the thread has slept in a call that began at `since`, if recording is on. frame: of the wrapper, whose
   first two words are the caller's frame pointer and the return address. function: the next definition. how: of enum
   vt_sleep. */
void vt_slept(uint64_t since, const uintptr_t *frame, void *function, unsigned how);

/* Returns the text of the stack of the calling thread, as vt_call_site, with the functions of Python; 0: there are none, or
   the thread is not sampled. */
uint32_t vt_python_site(uintptr_t caller);
/* The same for signal handlers, and without Python, too: asks neither libgcc nor the loader. A thread that is not sampled
   has one call; 0: its code is not known yet. */
uint32_t vt_signal_safe_site(uintptr_t caller);

/* Runs `call`, of the function `next`, in a wrapper. siglongjmp and cancellation leave vt_in_sleeping_call set until the
   next such call; a handler that sleeps meanwhile clears it.
   A sample before vt_slept would tell the sleep without its call. */
#define VT_SLEEPING_CALL(type, result, next, call, how)                                                                \
    const uint64_t since = vt_now();                                                                                   \
    vt_in_sleeping_call = 1;                                                                                           \
    type result = call;                                                                                                \
    if ((vt_now() - since) >> VT_WAIT_TICKS) vt_slept(since, __builtin_frame_address(0), *(void **)&(next), how);      \
    vt_in_sleeping_call = 0;

#pragma GCC visibility pop

#endif
