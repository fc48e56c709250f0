/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of this folder, from the timers to the functions of a stack. */
#ifndef VT_SAMPLING_H
#define VT_SAMPLING_H

#include <signal.h>
#include <stdatomic.h>
#include "../core/process.h"
#include "../providers/perf_events.h"

#pragma GCC visibility push(hidden)

/* ---- unwind_rules.c ---- */

/* Rules to find the caller's frame at an instruction, from .eh_frame (System V ABI for AMD64, 3.7 and 4.2.4; DWARF 4, 6.4;
   LSB Core, "Exception Frames"). A look-up takes less than a microsecond, so a signal handler can unwind; the unwinder
   keeps the rules that it has found. */

/* The rule for the canonical frame address (CFA): the stack pointer of the caller after the call. */
enum vt_unwind_rule {
    VT_RULE_NONE, /* no information for these instructions */
    VT_RULE_OTHER, /* a rule that a row cannot express */
    VT_RULE_END, /* the outermost frame */
    VT_RULE_SP, /* CFA = stack pointer + 8 * cfa */
    VT_RULE_BP, /* CFA = frame pointer + 8 * cfa */
    VT_RULE_PLT, /* CFA = stack pointer + 8, and 8 more from byte `cfa` of an entry of the PLT on */
    VT_RULE_REALIGNED, /* CFA = the word at frame pointer + 8 * cfa; the frame pointer is saved at itself */
    VT_RULE_SIGNAL, /* the return from a signal handler: the stack pointer is the address of the ucontext_t */
};

/* Valid from byte pc of the code on. The return address is the word below the CFA. */
struct vt_unwind_row {
    uint32_t pc;
    int32_t cfa;
    uint8_t rule; /* enum vt_unwind_rule */
    int8_t bp; /* the caller's frame pointer is the word at CFA + 8 * bp; 0: it is unchanged */
};

/* The sources of the rules: the readable bytes that hold .eh_frame_hdr and .eh_frame, .eh_frame_hdr in it, and the
   module's executable code. */
struct vt_unwind_source {
    const uint8_t *begin, *end, *header;
    uintptr_t code;
    uint32_t code_bytes;
};

/* Finds the row for byte `offset` of the code. Reads only bytes between begin and end, for any content; takes no lock and
   no memory. Returns 0 if the entry of this code is damaged: the row has no rule then, or VT_RULE_OTHER. */
int vt_unwind_row_at(const struct vt_unwind_source *from, uint32_t offset, struct vt_unwind_row *row);

/* ---- code_map.c ---- */

/* The executable code of the process: ranges of addresses with their unwind rules and their offsets in the code space.
   A map never changes after it is published. code_map.c owns the current map. */

/* The code of one module (of one of its segments). */
struct vt_code_range {
    uintptr_t begin;
    uint32_t bytes;
    uint32_t slot; /* offset in the code space; VT_CODE_UNKNOWN: none */
    int own; /* 1: of a library of vtrace */
    struct vt_unwind_source source; /* header NULL: the module has no rules */
};

struct vt_code_map {
    uint32_t generation, count, room;
    struct vt_code_range ranges[]; /* ascending */
};

/* Returns the current map for a signal handler, which must call vt_code_map_leave; NULL: none is made yet. */
const struct vt_code_map *vt_code_map_enter(void);
void vt_code_map_leave(void);
/* Makes the first map, and keeps maps whole over forks. Must not run in a signal handler. */
void vt_code_map_start(void);
/* Adds the module of code that the signal handler has interrupted, which the program has loaded since. Needs glibc 2.35;
   before, such code stays unknown until a dlclose. */
void vt_code_map_extend(uintptr_t code);

/* Returns the range that holds an address; NULL: none. */
static inline const struct vt_code_range *vt_code_range_of(const struct vt_code_map *map, uintptr_t address)
{
    uint32_t low = 0, high = map->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (map->ranges[middle].begin <= address) low = middle + 1;
        else high = middle;
    }
    return low && address - map->ranges[low - 1].begin < map->ranges[low - 1].bytes ? &map->ranges[low - 1] : NULL;
}

/* ---- unwind.c ---- */

/* Unwinds the stack of the calling thread in a signal handler: no malloc, no lock, no call of the loader. Each load from
   the stack is checked before. */

#define VT_UNWIND_CACHE 1024u /* instructions; a power of two */

/* A rule that the cache keeps, with the place of the instruction as a frame. */
struct vt_unwind_known {
    uintptr_t place; /* address of the instruction; 0: empty */
    uint32_t code; /* offset in the code space; VT_CODE_UNKNOWN: none */
    int32_t cfa;
    uint8_t rule; /* enum vt_unwind_rule; OWN: a frame of vtrace */
    int8_t bp;
};

/* The state that a thread keeps between unwindings. */
struct vt_unwinder {
    uintptr_t low, high; /* readable part of the thread's own stack; 0, 0: unknown yet */
    uintptr_t top; /* an address in the page of the stack that is known to be its end; 0: unknown */
    int frame_pointers; /* 1: follow frame pointers where no table has a rule */
    uint32_t generation; /* generation of the map that filled the cache */
    struct vt_unwind_known cache[VT_UNWIND_CACHE];
};

/* The registers of the interrupted instruction. */
struct vt_registers {
    uintptr_t pc, sp, bp;
};

/* Prepares the state of the calling thread, whose memory is zeroed. is_main: the first thread of the process;
   frame_pointers: 1: follow frame pointers in code without a table (VT_SAMPLE_FRAME_POINTERS). */
void vt_unwind_begin(struct vt_unwinder *u, int is_main, int frame_pointers);
/* Stores the frames of the stack, innermost first, as in the record of a sample; at most VT_SAMPLE_FRAMES. Returns their
   number, at least 1; *end: why there are no more. map NULL: only the innermost frame. */
uint32_t vt_unwind(struct vt_unwinder *u, const struct vt_code_map *map, struct vt_registers at, uint64_t *frames,
                   enum vt_sample_end *end);

/* ---- python_frames.c ---- */

/* The functions of a Python program in the stack of a sample: CPython's frames replace the interpreter's. */

#define VT_PYTHON_TEXT 4096u /* bytes of a name or path */
#define VT_PYTHON_KNOWN 2048u /* code objects that a thread remembers; a power of two */

/* A code object that the process has defined. The address of a released object may be used again: the other members
   distinguish the two objects. */
struct vt_python_code {
    uintptr_t code, name, table; /* addresses; code 0: empty */
    uint32_t line, id;
};

/* The state of a thread. Zeroed memory is the empty state. */
struct vt_python {
    struct vt_python_code known[VT_PYTHON_KNOWN];
    uint64_t native[VT_SAMPLE_FRAMES], frames[VT_SAMPLE_FRAMES];
    char name[VT_PYTHON_TEXT], file[VT_PYTHON_TEXT]; /* not on the handler's stack, which may be small */
};

/* Looks for CPython in the process. Not in a signal handler. Warns about a version whose frames are unknown. */
void vt_find_python(void);
/* Returns 1 if the process has a CPython whose frames are known. */
int vt_runs_python(void);
/* Replaces the frames of CPython's interpreter in a stack by the frames of the Python functions that it runs, for the
   calling thread, with signals held. frames: room for VT_SAMPLE_FRAMES; n of them are used. Returns the new number. */
uint32_t vt_python_replace(struct vt_location *l, struct vt_python *p, const struct vt_code_map *map, uint64_t *frames,
                           uint32_t n, enum vt_sample_end end);

/* ---- sample_timers.c ---- */

/* A timer for each sampled thread, on the thread's CPU time, on elapsed time or on a performance event, which signals
   that thread. */

/* The timer of a thread. Its expirations are planned on its clock, at random distances around the period. So a program
   in step with the kernel's tick is not always sampled at the same place, and no time is lost between two samples. */
struct vt_sample_timer {
    int id; /* the kernel's id of a timer, or the descriptor of a performance event */
    int made; /* 1: the timer exists */
    uint64_t event; /* the kernel's id of a performance event */
    /* ns on the clock: next expiration, and the time before it for which it stands. For a performance event: time of
       the last sample, and number of events since then whose signal reached no handler */
    int64_t due; /* the first one may be before the start of the thread, and below 0 */
    uint64_t distance;
    int is_first; /* 1: nothing has expired yet */
    int waits; /* 1: the performance event has sent its signal and is not started again yet */
    uint64_t random;
};

/* The settings of all timers, in ns; with VT_SAMPLE_CLOCK_PERF the period is a number of events, unless these count
   time. tick: the kernel checks CPU times at its ticks only. */
struct vt_sample_rate {
    enum vt_sample_clock clock;
    uint64_t period, tick;
    int signal;
    struct vt_perf_event event;
};

/* Makes and starts the timer of the calling thread. Returns 0 or -errno. */
long vt_sample_timer_start(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Plans the next expiration, but starts no performance event. overruns: of the current expiration. Returns the time in
   ns, or the number of events, for which the expiration stands. */
uint64_t vt_sample_timer_next(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint32_t overruns);
/* Notes a signal that reached no handler: the next sample stands for its time, too. */
void vt_sample_timer_miss(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Starts a performance event again after its signal. The timers of the other clocks continue without a call. */
void vt_sample_timer_renew(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Any thread may stop a timer. Returns 0 if the program has closed the descriptor of its performance event before. */
int vt_sample_timer_stop(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Returns the kernel's tick in ns. */
uint64_t vt_sample_tick(void);

/* ---- perf_timer.c ---- */

/* A performance event that signals its thread after a number of occurrences (VT_SAMPLE_CLOCK=perf). The kernel stops the
   event at each signal, and the handler starts it again at its end: at most one signal of a thread waits. */

/* Makes and starts the event of the calling thread. first: number of occurrences up to its first signal. Returns 0 or
   -errno. */
long vt_perf_timer_start(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint64_t first);
/* Returns the time in ns, or the number of occurrences, for which the current sample stands. */
uint64_t vt_perf_timer_weight(struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Starts the event again, up to its next signal. distance: occurrences until then, if the event counts time. */
void vt_perf_timer_renew(struct vt_sample_timer *t, const struct vt_sample_rate *rate, uint64_t distance);
/* Returns 1 if the event of the calling thread stopped with a signal that the thread did not get: the kernel sent SIGIO
   instead. */
int vt_perf_timer_has_lost(const struct vt_sample_timer *t, const struct vt_sample_rate *rate);
/* Stops the event. Returns 0 if the program has closed its descriptor. */
int vt_perf_timer_stop(const struct vt_sample_timer *t);
/* Closes an event of the parent in a forked child. */
void vt_perf_timer_leave(struct vt_sample_timer *t);

/* ---- sampler.c: Sampling. The sampler starts when the library is loaded, if VT_SAMPLE_RATE is set ---- */

#if defined(__x86_64__)
#define VT_HAS_UNWINDER 1
#else
#define VT_HAS_UNWINDER 0
#endif

/* Records a sample of the calling thread, whose location is l, in a signal handler. context: ucontext_t of the
   interrupted instruction; weight: ns that the sample stands for. */
void vt_sample_take(struct vt_location *l, const void *context, uint64_t weight, uint32_t overruns);
/* Stores the stack of the calling thread, whose location is l, from a frame on: addresses inside the call instructions,
   and frames of Python functions as in the record of a sample, innermost first, at most `most`. Returns their number; 0:
   the thread is not sampled. */
uint32_t vt_sample_stack(struct vt_location *l, struct vt_registers frame, uintptr_t *addresses, uint32_t most);
/* Returns 1 while threads are sampled. */
int vt_sample_is_on(void);
/* Returns 1 if a signal that the calling thread got without a handler comes from its sampling timer. The thread then
   calls vt_sample_go_on when it no longer waits for signals. */
int vt_sample_passes(const siginfo_t *info);
void vt_sample_go_on(void);
/* Returns the signal of sampling; 0: none, or the program has taken it. */
int vt_sample_signal(void);
/* The program uses the signal of sampling by other means than a handler: sampling stops. */
void vt_sample_give_signal(void);

#pragma GCC visibility pop

#endif
