/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer of recording: selects the events to record, and does all that an event causes besides its record. */
#ifndef VT_RECORDING_H
#define VT_RECORDING_H

#include <stdint.h>
#include "location.h"

#pragma GCC visibility push(hidden)

/* A time in which the thread may have lost its processor, or slept: 1 to 2 ms; on aarch64 as VT_LONG_TICKS. */
#if defined(__aarch64__)
#define VT_WAIT_TICKS VT_LONG_TICKS
#else
#define VT_WAIT_TICKS 22
#endif

/* ---- slow_path.c: the slow path of an event. All functions require that l->busy is set ---- */

/* Writes records of n words at the time `now` (ticks), after everything else that is due. */
void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now);
/* Writes the records of the calling thread to its files. */
void vt_write_out(struct vt_location *l);
/* Writes that the calling thread, which is recorded, has slept since a time (ticks; 0: since its last event), in a call. site: text of the call, 0:
   unknown. */
void vt_blocked_in(uint64_t since, uint64_t site);
/* Reads at a sample whether the calling thread, whose location is l, was off its processor since the last reading: it may
   have no events. */
void vt_off_core_at_sample(struct vt_location *l);
/* Writes how long the calling thread, whose location is l, has waited for a processor and has slept since the last
   reading, if the chunk has room: at the end of the thread or of the program, where nothing more is flushed. */
void vt_put_last_wait(struct vt_location *l);
/* Writes a FLUSH record for a flush that began at `begin` (ticks) and ends now. */
void vt_tell_flush(struct vt_location *l, uint64_t begin);

/* ---- switch.c: switches recording off and on ---- */

/* Writes records of n words while recording is off, or after VT_MAX_SIZE has stopped classes. Requires that l->busy is
   set. */
void vt_put_switched(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now);
/* Brings the location to the state of the process. Requires that l->busy is set. */
void vt_switch_follow(struct vt_location *l, uint64_t now);
/* Returns 1 if a function event is only counted. Requires that l->busy is set. */
int vt_leaves_out(struct vt_location *l, uint64_t what);
/* Returns 1 if a function event is omitted because recording is off, and nothing else is due. Requires that l->busy is
   set. Changes no vector register, like vt_leaves_out. */
int vt_passes_by(struct vt_location *l, uint32_t what, uint64_t now);
/* Registers the callbacks of a shim: for switches, and for the synchronization of clocks. */
void vt_switch_attach(const struct vt_shim *shim);
/* Registers the function of a shim that records MPI calls for the first section. */
void vt_sections_attach(const struct vt_shim *shim);
/* Informs the MPI shim that the program has sections. Only the first call has an effect. */
void vt_sections_begin(void);
/* Returns 1 unless recording is switched off or has ended. */
int vt_is_on(void);
/* Switches recording. own: location of the calling thread, with l->busy clear; NULL: none. when: ticks, not in the
   future; 0: now. */
void vt_switch_at(struct vt_location *own, int on, uint64_t when);
/* Defines a clock reading in the location, and lets the MPI shim measure the offsets to the clocks of other ranks. */
void vt_synchronize(struct vt_location *l);

/* ---- recording_window.c ---- */

/* VT_START_AFTER and VT_STOP_AFTER. recording_window.c owns both moments. Times are in ticks of vt_now; `mono` is in ns
   of CLOCK_MONOTONIC_RAW. */

/* Bits of a function whose calls a moment counts. The values follow those of enum vt_how and of funwrap.h. */
enum { VT_WATCHED_START = 4, VT_WATCHED_STOP = 8 };

/* Reads the moments from the settings. */
void vt_window_prepare(void);
/* Runs when the runtime starts. mono: start of the program. */
void vt_window_start(uint64_t mono);
/* Returns 1 if a thread must call vt_window_apply. */
int vt_window_is_due(uint64_t now);
/* Switches recording on or off if a moment has come. l: location of the calling thread, with l->busy clear; NULL:
   none. */
void vt_window_apply(struct vt_location *l);
/* Notes the id of a newly defined region. */
void vt_window_defined(const char *name, uint32_t id);
/* Counts a record that enters a watched region. l: result of vt_location_to_record(0), also in the functions below.
   what: first word of the record. */
void vt_window_enter(struct vt_location *l, uint32_t what);
/* Looks for the end of the last counted call in the records just written. */
void vt_window_wrote(struct vt_location *l, const uint64_t *words, unsigned n);
/* Returns the time after which records are discarded; UINT64_MAX: none. */
uint64_t vt_window_cut(void);
/* Runs when recording ends. Prints a message if recording never started. */
void vt_window_end(struct vt_location *l);
/* 1: calls of a region are counted. */
extern int vt_window_watches;
/* First words of the records that enter or leave the watched regions; 0: none. */
extern uint32_t vt_window_enters[2], vt_window_leave;
/* Returns the bits VT_WATCHED_START and VT_WATCHED_STOP of a function with one of these n names. */
uint8_t vt_window_bits(const char *const *names, unsigned n);
/* Counts a call of a function with such bits. leaves: 1 at the end of the call. */
void vt_window_function(struct vt_location *l, uint8_t bits, int leaves);

/* ---- rewind.c ---- */

/* Discards the records of a location since its mark. The thread of the location calls these functions. */

/* Sets the mark. Requires that l->busy is clear. */
void vt_set_rewind_mark(struct vt_location *l);
/* Discards the records since the mark; prints a message if this is not possible. Requires that l->busy is clear. */
void vt_rewind(struct vt_location *l);
/* Discards the records after a moment (ticks) in the current chunk. Returns the number of regions entered since then
   and still open; `open` receives them. Requires that l->busy is set, or that the location records no more. */
unsigned vt_cut(struct vt_location *l, uint64_t when, uint64_t open[VT_OPEN_MAX]);

/* ---- module.c ---- */

/* The code space: offsets of functions, which function events store. module.c owns the table of modules. */

struct dl_phdr_info;

/* Returns the offset of the function at this address; VT_CODE_UNKNOWN: it has none. Requires that l->busy is set. */
uint32_t vt_code_offset(struct vt_location *l, uintptr_t address);
/* Like vt_code_offset, for any thread and without the cache of the location, which gets the definition of a new
   module. */
uint32_t vt_code_slot(struct vt_location *l, uintptr_t start);
/* Like vt_code_slot, for a signal handler: info is the module's, and the loader is not asked. */
uint32_t vt_code_slot_in(struct vt_location *l, uintptr_t start, const struct dl_phdr_info *info);
/* Finds the module of code that runs, and takes no lock: for a signal handler that has interrupted this code. Returns 0
   for code in no module, and before glibc 2.35. Only the address, name and program headers of info are set. */
int vt_module_of(uintptr_t address, struct dl_phdr_info *info);
/* As vt_code_offset, but VT_CODE_UNKNOWN for a module without events. Changes no vector register. */
uint32_t vt_code_known_offset(struct vt_location *l, uintptr_t address);
/* Returns the address of a function in a loaded module; 0: none. what: offset in the code space, with other bits above
   VT_CODE_MASK. */
uintptr_t vt_code_address(uint32_t what);
/* Notes that calls of this function are iterations (VT_KEEP). */
void vt_code_iteration(uintptr_t function);
/* Call this function after dlclose: takes the unloaded modules out of the table. */
void vt_code_forget_unloaded(void);
/* Registers a function that runs after modules have been unloaded. */
void vt_on_unload(void (*call)(void));

/* ---- filter.c ---- */

/* The filter rules of VT_FILTER_SPEC, which exclude functions and calls from the trace. funwrap/filter_map.c applies
   the rules to functions. */

#define VT_NAMES_MOST 4
#define VT_NAME_BYTES 4096u

/* The names by which a rule may match a function or call. NULL follows the last name. */
struct vt_names_of {
    const char *names[VT_NAMES_MOST];
    const char *mangled, *group; /* mangled name; group such as "MPI" */
};

/* Returns the number of calls that the rules admit; -1: all. */
int64_t vt_filter_limit(const struct vt_names_of *f);
/* 1: the name matches a pattern with * and ?. classes 1: the pattern may also have [...] and \. The time is at most
   proportional to the product of both lengths. */
int vt_pattern_matches(const char *pattern, const char *name, int classes);
/* Adds the name of a C++ function without its arguments to f, in the memory `into`. f->names[0]: the full name. */
void vt_names_shorten(struct vt_names_of *f, char *into, size_t bytes);
/* Reads the rules at the first call. Returns 1 if there are rules. */
int vt_filter_load(void);
/* Sets the rank of the process: rules may apply to some ranks only. */
void vt_filter_rank(uint32_t rank);
/* Registers a function that vt_filter_rank calls if other rules apply to the new rank. */
void vt_filter_on_change(void (*call)(void));

/* ---- function_patterns.c ---- */

/* VT_FUNCTIONS: the patterns that select functions. funwrap/filter_map.c applies the patterns, and decides when they
   change. */

/* Replaces the patterns: "Calc*;-*get*". The last pattern that matches a name decides; a function that no pattern
   matches is selected if the first pattern begins with -; * matches functions without a name, too. NULL or "": all
   functions. Returns 0 if there is no memory. */
int vt_functions_set(const char *patterns);
/* Returns 1 if there are patterns. */
int vt_functions_chosen(void);
/* Returns 1 if patterns without - are set and none has selected a function. */
int vt_functions_missed(void);
/* Returns 1 if a function with these names is selected; f NULL: a function without a known name. */
int vt_functions_select(const struct vt_names_of *f);

/* ---- region_groups.c ---- */

/* Groups of functions (VT_GROUPS_SPEC). region_groups.c owns the text and the list of members. */

/* Reads the file, once. Prints a message if the file cannot be read. */
void vt_groups_load(void);
/* Returns 1 if a group whose name matches the pattern contains the function. */
int vt_groups_hold(const char *group, const struct vt_names_of *f);
/* Defines the property "groups" in a location. */
void vt_groups_define(struct vt_location *l);

/* ---- limits.c ---- */

/* Regions with a limited number of recorded calls, which the program enters and leaves explicitly (the user API). */

/* Returns a number for a region of which only `limit` calls are recorded; 0: there are too many such regions. */
uint32_t vt_limited_new(uint32_t region, int64_t limit);
/* Returns 1 for a number that vt_limited_new has returned. */
int vt_limited_is_given(uint32_t number);
/* At the enter: returns the region; 0: the call is not recorded. */
uint32_t vt_limited_begin(uint32_t number);
/* Notes that the calling thread has entered the region without a record. */
void vt_limited_leave_out(struct vt_location *l, uint32_t number);
/* At the leave: returns the region; 0: the call is not recorded. */
uint32_t vt_limited_end(uint32_t number);
/* At the end: defines the classes of library calls that rules excluded, for the ledger. */
void vt_limits_define(struct vt_location *first);
/* Forgets the open calls of a location that another thread takes over. */
void vt_limited_reset(struct vt_location *l);

/* ---- counter_groups.c ---- */

/* Groups of counters at the enters and leaves of regions (VT_METRICS). This file knows at which records values are
   written; csrc/providers/counters.c reads the values. */

#define VT_GROUP_MOST 7u /* counters of a group: payload words of METRIC_GROUP */
#define VT_GROUPS_MOST 7u /* groups of a process */
#define VT_GROUP_WORDS (VT_GROUPS_MOST * (VT_GROUP_MOST + 1)) /* words of the records of all groups */

/* Reads the counters of the calling thread into METRIC_GROUP records. Returns their words; 0: there is no value. Call
   this function with the location's busy word clear: a handler may record meanwhile. in_handler 1: omits counters whose
   reading takes a lock. */
typedef unsigned vt_read_counters(struct vt_location *l, int in_handler, uint64_t words[VT_GROUP_WORDS]);

/* Begins to write groups. where: the value of VT_METRICS_AT. Returns the length of its first unknown word, which begins
   at *wrong; 0: all are known. Regions that were defined before have no values. */
size_t vt_groups_start(vt_read_counters *read, const char *where, const char **wrong);
/* Notes whether values are read at the calls of a new region. paradigm, role: as in OTF2. */
void vt_groups_region(uint32_t id, uint8_t paradigm, uint8_t role);
/* Returns the VT_K_ENTER or VT_K_LEAVE of a region at which values are read, if there is such a record; else 0. The
   start of a section counts as VT_K_ENTER, its end as VT_K_LEAVE. */
enum vt_kind vt_groups_want(const uint64_t *words, unsigned n);
/* Writes records with the values of the counters before them. l: result of vt_location_to_record. kind: result of
   vt_groups_want. */
void vt_groups_write(struct vt_location *l, enum vt_kind kind, const uint64_t *words, unsigned n);
/* Reads the values for a sample, in the handler of the sampling signal. Returns their words; 0: the sample has none. */
unsigned vt_groups_sample(struct vt_location *l, uint64_t words[VT_GROUP_WORDS]);

/* ---- thread_time.c: CPU time and page faults of threads, for the summaries of their locations ---- */

/* ns since the last reading in which a thread could run but waited for a processor, and in which it was asleep in the
   kernel. */
struct vt_off_core {
    uint64_t waited, blocked;
};
/* Reads them for the calling thread, whose location is l; 0 where the kernel does not count waits, and of the sleep at the
   first reading. */
struct vt_off_core vt_thread_off_core(struct vt_location *l);
/* Begins to count for the calling thread, whose location is l. */
void vt_off_core_start(struct vt_location *l);
/* Notes the waits of the main thread before recording, also those in earlier programs (exec). */
void vt_thread_waits_start(void);
/* Adds the usage of the calling thread, which ends, to that of its location. */
void vt_thread_time_end(struct vt_location *l);
/* Returns the usage of all threads of the location until now. */
struct vt_usage vt_thread_usage(struct vt_location *l);

#pragma GCC visibility pop

#endif
