/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer of the locations: the chunks, definitions and files of one thread. */
#ifndef VT_LOCATION_H
#define VT_LOCATION_H

#include <stdatomic.h>
#include <stddef.h>
#include "buffer.h"

#pragma GCC visibility push(hidden)

/* ---- location.c: locations (OTF2); each thread has one, which holds its chunks and the state of its recording ---- */

/* A function that leaves vector registers alone. A hook of a sled calls it without saving them. */
#if defined(__x86_64__) || defined(__aarch64__)
#define VT_GENERAL_REGISTERS __attribute__((target("general-regs-only")))
#else
#define VT_GENERAL_REGISTERS
#endif

#define VT_MAX_LOCATIONS 65536u
#define VT_FILTER_SLOTS 2048u /* size of the filter that finds functions that are new to the location */
#define VT_LONG_CALLS 64u /* entries for the long calls of a location */
#define VT_MISSED 128u /* maximum number of open regions that are entered when recording is switched on */
#define VT_CODE_UNKNOWN 0xffffffffu
#define VT_COUNT_CHUNKS 6u /* of a location, for the calls of functions that are left out */
#define VT_NO_THREAD 0u /* kernel id of a lane */
#define VT_STEP 6u /* chunks that a location writes in a step: 0.5 to 1.5 ms; with 4, cold caches cost 2 % more */

/* The shape of a recorded call without nested calls: the lower halves of the heads of its records, from enter to leave,
   and the offsets of these heads. The next call of the function mostly has the same shape. To compare heads costs a
   fraction of the time of a walk over the records, which needs each record to find the next one. */
#define VT_SHAPE_RECORDS 6
#define VT_SHAPES 16 /* number of functions with a shape; a power of two */
struct vt_shape {
    struct vt_shape *next; /* shape of the call that followed last time */
    uint32_t records, words, classes;
    uint32_t what[VT_SHAPE_RECORDS];
    uint8_t at[VT_SHAPE_RECORDS]; /* offsets of the heads in words */
};
/* The shapes that a location has learned, by function. */
struct vt_shapes {
    struct vt_shape *last, of[VT_SHAPES];
};

/* The parts of the runtime above csrc/core that keep state for each location. A part allocates its state, and its header
   has the type and the accessor. NULL: the location has none. */
enum vt_slot {
    VT_SLOT_LEVELS, /* csrc/funwrap */
    VT_SLOT_SAMPLER, /* csrc/sampling */
    VT_SLOT_COUNTERS, /* csrc/providers */
    VT_SLOT_SECTIONS, /* csrc/userwrap */
    VT_SLOT_PUSHED, /* csrc/userwrap */
    VT_SLOT_SITES, /* csrc/sampling */
    VT_SLOT_PYTHON, /* csrc/userwrap */
    VT_SLOTS,
};

/* The samples of a location. Only the sampling signal's handler of the thread writes samples; whoever finishes or writes
   chunks holds the location's lock. */
struct vt_sample_stream {
    struct vt_chunk *chunk, *full, *full_last; /* current chunk, list of full chunks */
    uint64_t *cursor; /* position of the next sample */
    const uint64_t *before; /* frames of the previous sample in the chunk, innermost first */
    uint32_t nbefore, sequence, chunks, closed; /* closed: 1 while no sample may be written */
    uint32_t unsampled; /* 1: the local files state that samples are missing */
    uint64_t last, samples, weight, overruns, lost, dropped, overwritten, ends[VT_SAMPLE_END_MOST];
    uint64_t spent; /* ticks in the handler of the signal, if VT_BUDGET bounds the time of recording */
    uint64_t in_calls; /* ns of CPU time of the samples that have found the thread in a system call */
};

/* The long calls of a region from one place (long_calls.c). place: return address less 1; 0: all that have no entry. site: its text, 0: unknown.
   defined: the ticks that the last definition states. */
struct vt_long_call {
    uintptr_t place;
    uint32_t region, site;
    uint64_t calls, ticks, defined;
};

/* The usage of threads, as the summary of their location states it. us of CPU time in user and in kernel mode; page faults
   without and with reading from a disk; us of samples in system calls, and, for the first location, the most pages that
   the process had in memory at one time: 0 if unknown. */
struct vt_usage {
    uint64_t user, system, minor_faults, major_faults, in_calls, resident;
};

/* The last failing poll of a location, or the run of failing polls that continues it (polls.c). Times in ticks. */
struct vt_polls {
    uint64_t *end; /* position after its LEAVE; NULL: none */
    uint64_t n; /* words of its records, without its ENTER and attribute */
    uint64_t calls; /* number of calls in the run; 0: a call without the attribute */
    uint64_t spent, gaps; /* time in these calls and between them */
    uint64_t begun, moved; /* time of the record before the LEAVE, and from there to the LEAVE */
    uint64_t ended; /* end of the last call */
};

/* The profile of a location (VT_MODE=PROFILE): its rows are in chunks of the buffer, which outlive the process; all else
   is in memory of the process. A region of a team that began counts inside of the fork or team. */
#define VT_PROFILE_DEPTH 1024u /* deeper calls have no row */
#define VT_PROFILE_BEYOND 64u /* known regions of the open calls without a row */
#define VT_PROFILE_TEAMS 16u
struct vt_profile_team {
    uint32_t nesting, depth; /* depth: number of open calls when it began */
    int is_fork, waits;
};
struct vt_profile {
    struct vt_chunk *first, *last; /* chunks of rows */
    struct vt_profile_row **index; /* hash table of the rows by parent and region */
    uint32_t mask, filled, full; /* mask: size of the index less 1; full: 1 if no further row fits */
    uint32_t depth, beyond, nteams; /* number of open calls with a row, without a row, and of teams */
    int writes; /* 1: the last blocking I/O operation writes */
    uint64_t beyond_whats[VT_PROFILE_BEYOND];
    struct vt_profile_team teams[VT_PROFILE_TEAMS];
    uint32_t sequence, nkept; /* kept: the open calls of a table that is lost with its buffer */
    struct vt_profile_row *kept;
    /* of the open calls; above `depth` the last ones. Last, since most threads use only its begin */
    struct vt_profile_row *stack[VT_PROFILE_DEPTH + 1];
};

/* The thinning of a location (VT_BUDGET). Lengths of calls are in bits: a call of n bits takes less than 2^n ticks. */
#define VT_THIN_DEPTH 1024u /* deeper calls stay */
#define VT_THIN_BITS 32u /* longer calls stay */
#define VT_THIN_LOCKS 8u /* locks that a thread may have at one time, for their calls to go */
struct vt_thin_call {
    uint64_t what, entered, before; /* before: time of the record before the call */
    struct vt_profile_row *row; /* NULL: not looked up yet */
    uint32_t at, words, stays; /* at: its first word in the thinned chunk; stays: 1 if it is never thinned */
    uint32_t writes; /* 1: its operation on a file writes */
    uint32_t first; /* place in the chunk of the record after its ENTER; UINT32_MAX: attributes precede it */
    uint64_t lock; /* that it gets without a wait, if the call that releases the lock may go, too; 0: none */
    uint64_t out, in; /* as in struct vt_profile_row */
};
/* Regions of teams and tasks around calls (thin_teams.c), outermost first. */
#define VT_THIN_LEVELS 16u
enum vt_thin_kind { VT_THIN_FORK, VT_THIN_TEAM, VT_THIN_WAIT, VT_THIN_TASK };
struct vt_thin_level {
    uint64_t what; /* 0: no region */
    uint32_t kind, nesting, depth; /* depth: calls around it */
};
struct vt_thin_levels {
    uint32_t n, beyond; /* beyond: open tasks inside these that have no level */
    struct vt_thin_level of[VT_THIN_LEVELS];
};
struct vt_thin {
    struct vt_thin_levels levels, first; /* first: at the start of the current chunk */
    uint32_t bits, told; /* calls of at most so many bits are only counted, 0: none; the value of the last record */
    uint32_t from; /* words of the current chunk that were looked at before */
    uint64_t since, lowered; /* ns: time of the last look; time when bits last became smaller */
    uint64_t words; /* new ones at the last look, without open calls */
    uint64_t by_bits[VT_THIN_BITS + 1]; /* those of calls that may be thinned, by length */
    uint32_t depth, beyond;
    uint64_t locks[VT_THIN_LOCKS]; /* of calls taken out of the chunk, before their releases; 0: free */
    struct vt_thin_call calls[VT_THIN_DEPTH]; /* the open calls */
};

/* The iterations of a location (VT_KEEP, VT_TRIGGER). A chunk may be walked several times while it fills: `start` is the
   state at its begin, `open` at the end of the last walk. */
#define VT_KEEP_STEPS 976u /* classes of durations (keep.c) */
enum vt_fate { VT_UNDECIDED, VT_KEPT, VT_LEFT_OUT };
struct vt_iteration {
    uint64_t number, entered; /* number: from 1 */
    uint32_t at; /* number of open calls with the iteration's; 0: no iteration is open */
    uint32_t index; /* in fates */
    uint32_t begin; /* words of the chunk up to the begin, with its record */
    uint32_t lacks; /* 1: calls have been taken out */
};
struct vt_keep {
    struct vt_keep_rules rules;
    struct vt_iteration start, open;
    uint64_t iterations, left_out; /* numbers of those that began, and that are left out */
    uint32_t seen, changed; /* words of the chunk that were walked before; 1: further iterations are left out */
    uint32_t is_main; /* 1: those of the main thread, which the ranks of a node choose together */
    struct vt_chunk *held; /* full chunk with the begin of the open iteration, while that is undecided; NULL: none */
    uint32_t held_from; /* as vt_iteration.begin, in this chunk */
    /* the first and the last full chunk of an iteration that is left out, whose calls are still to be taken out; NULL: none */
    struct vt_chunk *out, *out_end;
    uint32_t held_out; /* as held_from, in `out` */
    uint32_t slow; /* first class of durations that fewer than rules.slowest reach */
    uint64_t ended, slower; /* number of iterations with a duration, and of those from class `slow` on */
    uint64_t fires,
        fired; /* number of times that VT_TRIGGER has fired; the iteration that is still to be told, 0: none */
    /* VT_TRIGGER='mpi wait > N %', in ticks: time in MPI since `since`; begin of the open MPI call; a second */
    uint64_t mpi_ticks, mpi_entered, since, second;
    uint32_t mpi_depth, is_above, part; /* open MPI calls; 1: the last part was above N %; the part to tell, in % */
    uint32_t durations[VT_KEEP_STEPS];
    uint8_t fates[VT_CHUNK_WORDS / 2 +
                  2]; /* enum vt_fate: of the iteration at `start`, and of those that begin in the chunk */
};

/* The time that recording takes in a location (VT_BUDGET=...,N%), in ns of CPU time. */
struct vt_overhead {
    uint32_t thread, from; /* id of the location's present thread; from: words of the current chunk that are counted */
    uint64_t cpu, words; /* CPU time of the thread at the last look; words recorded */
    uint64_t sampled; /* ticks of samples that are counted */
    uint32_t python, unused; /* python: events of Python functions since the last look, recorded or not */
    double spent, credit; /* in all; what recording may still take */
};

/* A location. A forked child sees its pages zeroed (MADV_WIPEONFORK): the first event of the child then finds no room,
   takes the slow path and opens a new buffer. The thread of the location owns all members. Other threads read members
   with VT_READ, and change only `limit` and, with `lock` held, chunks. */
struct vt_location {
    /* Each event reads and writes this cursor. At the start of the page its loads would alias stores to chunk heads,
       whose addresses have the same low bits. */
    uint8_t away[192];
    union {
        struct vt_write_cursor write_cursor;
        struct { /* the members of write_cursor */
            uintptr_t busy;
            uint64_t *cursor, *limit, last;
            struct vt_frame *frame, *frames_end;
        };
    };
    uint64_t vforked; /* 1: the thread has called vfork */
    uintptr_t code_base[2], code_size[2]; /* the two modules used last: address range and first code slot */
    uint32_t code_slot[2]; /* first slot of each, with the bit VT_FUNCTION */
    struct vt_frame *frames; /* the frames' memory; NULL: none yet */
    uintptr_t stack_low; /* the thread's own stack is known from here to its end; 0: unknown (frames.c) */

    uint32_t number, thread;
    _Atomic uint32_t lock; /* kernel id of the holder, which moves chunks or writes definitions; 0: free */
    _Atomic uint32_t ended; /* 1: the thread has run its exit handlers; a later thread may adopt the location */
    uint32_t in_use; /* 1; a forked child reads 0 */
    uint32_t adopted; /* earlier threads of the location whose ids are defined */
    uint32_t late; /* 1: the exit handlers of the thread run; vtrace waits for the others */
    const char *helper; /* library that created the thread for its own use; NULL: the program created the thread */
    uint64_t begun; /* number of the thread, if the trace has its start; else 0 */
    char name[64]; /* last defined name of the thread */
    char given[64]; /* name that the program gives the thread by an annotation; "": none, its name is the kernel's */
    uint32_t stopped; /* enum vt_lost: reason why recording has stopped; 0: recording */
    uint32_t size; /* enum vt_full: state of VT_MAX_SIZE that the location has applied */
    uint64_t left; /* events omitted by VT_MAX_SIZE while other classes were recorded; not in `lost` */
    struct vt_chunk *spare; /* last chunk that a flush wrote, kept for the next events */
    int wants_spare, keeps_room; /* keeps_room: reserve disk space in the def file for the end (file.c) */
    uint64_t signals; /* signal mask before the lock was taken */
    uint64_t blocked; /* signal mask of the thread at the first event */

    struct vt_chunk *chunk, *full, *full_last; /* events: current chunk, list of full chunks */
    struct vt_chunk *defs, *defs_full, *defs_last; /* definitions: current chunk, list of full chunks */
    uint32_t sequence, defs_sequence, chunks, quota; /* chunks: event chunks in the buffer; quota: maximum of chunks */
    uint32_t flushes, files; /* files: bits 1 << enum vt_content of the existing files */
    uint32_t stale; /* bits as in files: the head has an earlier name and is written at the next open */
    _Atomic uint64_t lost; /* number of lost events */
    uint64_t lost_told; /* number of lost events that LOST records state */
    uint32_t lost_why, unwritten; /* unwritten: bits as in files: a write failed, so the buffer file must be kept */
    uint64_t records, clamped, flush_ticks, first, written_bytes;
    struct vt_usage used; /* by ended threads (thread_time.c) */
    uint32_t is_timed; /* 1: used has the usage of the location's present thread */
    /* ns that the present thread has waited for a processor and has run, and how often it has slept (thread_time.c), as
       last read; times of the last question and of the last reading, 0: none */
    uint64_t waited, ran, sleeps, wait_read, core_read;
    uint64_t wait, slept; /* ns of waiting for a processor, and asleep, that the next record of the slow path tells */
    uint64_t short_waits; /* ns of waits of which each is too short for a record */
    uint64_t complete; /* lost + 1 when the summary at the end of the thread was written; 0: not written */

    uint64_t resumed; /* ticks: end of the last flush */
    uint32_t off, nmissed; /* off: 1 while recording is off; nmissed: open regions entered since then */
    uint64_t missed[VT_MISSED]; /* the outermost of these regions */

    struct {
        struct vt_chunk *chunk; /* chunk in which recording continues after a rewind; NULL: no mark */
        uint32_t offset, off, voided; /* voided: 1 if a flush has removed the mark */
        uint64_t last, lost_told; /* values of these members at the mark */
    } mark;

    uint64_t dropped, overwritten; /* ring.c: overwritten records before the next chunk; total */
    uint32_t answered; /* ring.c: number of flush requests that the location has served */

    struct vt_shapes shapes; /* replay.c */
    void *slot[VT_SLOTS];
    uint32_t *left_out; /* limits.c: number of open, unrecorded calls of each limited region */
    uint32_t depth, nopen;
    uint64_t open[VT_OPEN_MAX];
    uint32_t filter[VT_FILTER_SLOTS];
    struct vt_scratch scratch; /* used with the lock held */
    struct vt_sample_stream samples;
    uint32_t reads_counters; /* 1: a record with values of counters is being written (counter_groups.c) */
    struct vt_polls polls;
    struct vt_long_call long_calls[VT_LONG_CALLS];
    uint32_t nlong_calls;
    uint64_t long_until; /* ticks: until then the time of long calls has been added up */
    uint32_t to_write; /* chunks of events or samples that the flush still writes (file.c) */
    uint32_t round; /* chunks to write by steps until a step counts as the next flush */
    uint32_t step_at; /* number of chunks at which the next step is written; 0: the buffer has never been full */
    struct vt_profile *profile; /* profile.c; NULL: none yet */
    struct vt_chunk *ring, *ring_last; /* list of full chunks that are in the profile (ring.c) */
    uint64_t counted; /* events that are in the profile */
    struct vt_thin *thin; /* thin.c; NULL: none yet */
    uint32_t is_beyond; /* 1: no further events fit into the budget (file.c) */
    struct vt_keep *keep; /* keep.c; NULL: none yet */
    uint32_t is_stream; /* 1: of a device, whose times are earlier than those of the calls that record them */
    struct vt_overhead overhead; /* overhead.c */
    struct vt_chunk *count_chunks[VT_COUNT_CHUNKS]; /* call_counts.c; NULL: none yet */
    char *counts[VT_COUNT_CHUNKS]; /* the chunks where calls are counted now; NULL: not known */
};

_Static_assert(offsetof(struct vt_location, frames_end) == offsetof(struct vt_location, write_cursor.frames_end),
               "the members of a write cursor");

extern struct vt_location *_Atomic vt_locations[VT_MAX_LOCATIONS];
/* The frame of a location without open calls; no frame is at a higher address. */
extern struct vt_frame vt_no_frame;
/* 1: this thread ends the program and completes the stacks of other threads in the remaining room of their chunks. */
extern _Thread_local int vt_closing __attribute__((tls_model("initial-exec")));
/* 1: threads have no write cursor, so that vt_write sees each record. */
extern int vt_sees_records;
/* The location of the calling thread; NULL: none yet. */
extern _Thread_local struct vt_location *vt_own_location __attribute__((tls_model("initial-exec")));

/* 1: the function that set the busy word has been left by siglongjmp. 0: a signal handler has interrupted that
   function. here: the stack pointer of the caller. */
int vt_busy_is_stale(uintptr_t busy, uintptr_t here);
/* Locks the chunks and definitions of a location, for its thread, or for another thread at the end of the program. The
   holder blocks signals. Returns 0 if this thread already holds the lock, if the holder does not release the lock in
   time, or in a forked child that continues the interrupted call of its parent. */
int vt_location_lock(struct vt_location *l);
void vt_location_unlock(struct vt_location *l);
/* Repairs the cursor and times after a siglongjmp out of a recording: the last published record is now the last
   record. */
void vt_location_mend(struct vt_location *l);
/* Creates the buffer that vt_buffer_open_later put off, before the first chunk that is not one of the first location's
   definitions. The caller holds no lock of a location. */
void vt_location_create_buffer(void);
/* Writes the first word of a record with its time, after a TIME record if necessary. Returns the next position. */
uint64_t *vt_stamp(struct vt_location *l, uint64_t *at, uint64_t word, uint64_t now);
/* Writes one or more records of n words, whether recording is on or off. now: ticks. */
void vt_put_record(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now);
/* Clears the limits of all locations, and their pointers to counts: their next events take the slow path, which loads
   vt_process.off and .full and the requests of the flight recorder. Call it after the store of these: the fence in this function and that in vt_stay_off
   keep a processor with weaker order (aarch64) from showing the limit before the store. */
void vt_limits_clear(void);
/* Called after vt_put_record: keeps the slow path in use if another thread has just requested it. */
void vt_stay_off(struct vt_location *l);
/* Appends the current chunk to the list of full chunks. The caller holds the lock. */
void vt_chunk_finish(struct vt_location *l);
/* Counts a flush before the buffer was full. The caller has set the busy word. */
void vt_location_flushed(struct vt_location *l);
/* The number of events of the program in n words of records. */
unsigned vt_events_in(const uint64_t *words, unsigned n);
/* 1: this process is the child of a vfork, which records nothing. In the parent the location records again. */
int vt_is_vfork_child(struct vt_location *l);

/* The functions of write.h, for a location. */
static inline void vt_busy_begin(struct vt_location *l) { vt_cursor_begin(&l->write_cursor); }
static inline void vt_busy_end(struct vt_location *l) { vt_cursor_end(&l->write_cursor); }
static inline void vt_publish(struct vt_location *l, uint64_t *cursor) { vt_cursor_publish(&l->write_cursor, cursor); }

/* ---- define.c: definitions that a location writes ---- */

/* As vt_define_values and vt_define, on a location. */
int vt_define_values_at(struct vt_location *l, const struct vt_definition_value *values, size_t n);
#define vt_define_at(l, kind, ...) vt_define_values_at(l, VT_DEFINITION(kind, __VA_ARGS__), 1 + VT_COUNT(__VA_ARGS__))
/* Appends the current chunk of definitions to the list of full chunks. The caller holds the lock. */
void vt_defs_finish(struct vt_location *l);
/* Defines a property of the run. */
void vt_define_property(struct vt_location *l, const char *key, const char *value);
/* Defines the property "WHAT.NUMBER": from now on the location has no samples ("unsampled") or counters ("uncounted").
   why: for unify/account/ledger_intervals.py. */
void vt_define_missing(struct vt_location *l, const char *what, const char *why);
/* Defines the values of all settings as properties. */
void vt_define_settings(struct vt_location *l);
/* Defines the effective value of VT_MAX_SIZE in bytes. by_disk 1: the value follows from the free space. */
void vt_define_size(struct vt_location *l, uint64_t bytes, int by_disk);
/* Reads all clocks now and defines the times. */
void vt_define_clock(struct vt_location *l);

/* ---- file.c: the local files (docs/file-format.md) ---- */

/* Writes the full chunks of a location to its files, definitions first, so that no file has events whose definitions
   are lost. Signal handlers may run between two chunks, while the location is unlocked: a handler may leave by
   siglongjmp. Returns 0 or -errno. */
int vt_file_flush(struct vt_location *l);
/* As vt_file_flush, but only the oldest chunks of events, at most `most` and a step; no samples. The last of them becomes
   the spare chunk. */
int vt_file_flush_step(struct vt_location *l, uint32_t most);
/* As vt_file_flush, for events only. Definitions remain in the buffer. */
int vt_file_flush_events(struct vt_location *l);
/* As vt_file_flush_step, for samples only, in a handler with all signals blocked. The modules in the samples may be
   defined later than here. */
int vt_file_flush_samples(struct vt_location *l);
/* As vt_file_flush, at the end of the location: the reserved room of the def file is now used. */
int vt_file_flush_last(struct vt_location *l);
/* Writes the head of a location's def file again, if the file exists. The caller holds the lock of the location. */
void vt_file_tell_head(struct vt_location *l);
/* Creates the def file of location 0, which has only its head. */
void vt_file_start(void);
/* Renames the existing files of a location after the prefix or rank of the process has changed, and writes their heads
   again. l NULL: location 0, before the location exists. */
void vt_file_rename(struct vt_location *l, const char *old_prefix, uint32_t old_rank);
/* Writes the file PREFIX.uctl, which has the run id and the number of ranks. */
void vt_file_uctl(void);
/* 1: the def file of location 0 exists under its name. */
int vt_file_is_there(void);

/* ---- replay.c: replays the records of a chunk to find the regions that stay open ---- */

/* Of each kind of record, by the highest byte of what happened: its classes, VT_KIND_COUNTED if a lost record of this
   kind counts, and its effect on the stack (enum vt_stack_effect). Function events change the stack, too. */
#define VT_KIND_CLASSES 0xffffffu
#define VT_KIND_COUNTED 0x1000000u
#define VT_KIND_STACK_SHIFT 29
#define VT_KIND_STACK (7u << VT_KIND_STACK_SHIFT)
extern const uint32_t vt_kinds[256];

/* what: not a function event. */
static inline enum vt_stack_effect vt_effect(uint32_t what) { return vt_kinds[what >> 24] >> VT_KIND_STACK_SHIFT; }

/* Stores the number and the classes of the records in a full chunk, and the open regions in its location. */
void vt_replay(struct vt_location *l, struct vt_chunk *c);
/* Returns the depth of the stack after n words; updates open and the smallest depth, *least. */
uint32_t vt_replay_part(uint64_t *open, uint32_t depth, const uint64_t *words, uint32_t n, uint32_t *least);
/* Returns the time (ticks) of the last published record. lost: events reported as lost up to then. */
uint64_t vt_replay_times(struct vt_chunk *c, uint64_t *lost);

/* ---- profile.c: the table of call paths of a location (VT_MODE=PROFILE) ---- */

/* Returns the profile of a location, with its first row; NULL: no memory. Requires the lock of the location. */
struct vt_profile *vt_profile_of(struct vt_location *l);
/* Returns the row of a region called from the path `parent`, a new one if need be; NULL: the table is full. */
struct vt_profile_row *vt_profile_row(struct vt_location *l, const struct vt_profile_row *parent, uint64_t what);
/* Returns a further chunk for rows, of which the caller takes care; NULL: no memory. */
struct vt_chunk *vt_profile_chunk(struct vt_location *l, struct vt_profile *t);
/* Before the buffer is replaced: the open calls continue in a new table. */
void vt_profile_keep(struct vt_location *l);

/* Adds the time of a call to its row. */
static inline void vt_profile_add_time(struct vt_profile_row *row, uint64_t ticks)
{
    const unsigned __int128 square = (unsigned __int128)ticks * ticks;
    const unsigned __int128 squares = ((unsigned __int128)row->squares[1] << 64 | row->squares[0]) + square;
    row->ticks += ticks;
    if (ticks < row->least) row->least = ticks;
    if (ticks > row->most) row->most = ticks;
    row->squares[0] = (uint64_t)squares;
    row->squares[1] = (uint64_t)(squares >> 64);
}

/* ---- profile_fold.c: counts the records of a chunk ---- */

/* Adds the records of a full chunk to the profile. Afterwards the chunk is free, or in the ring. Requires the
   lock of the location. */
void vt_profile_fold(struct vt_location *l, struct vt_chunk *c);

/* ---- budget.c: the bytes of local files that may still be written (VT_BUDGET) ---- */

/* Returns 1 if the process has to save bytes: it has used more than its share of the budget for its time so far. now: ns of
   CLOCK_MONOTONIC_RAW, also below. */
int vt_budget_is_short(uint64_t now);
/* Adds the bytes of a block to those that are written. Returns 0 if they do not fit into the budget. at_end: 1 if it is a
   part of what the end of the process needs. */
int vt_budget_take(uint64_t bytes, int at_end);
/* The reason for which recording stops at a size. */
static inline enum vt_lost vt_size_reason(void) { return vt_process.set.budget ? VT_LOST_BUDGET : VT_LOST_SIZE; }
/* Returns the size at which recording stops. */
uint64_t vt_budget_limit(void);
/* Notes that a chunk of so many raw bytes of events became so many stored ones, or would become them. */
void vt_budget_wrote(uint64_t raw, uint64_t stored);
/* 1: vt_budget_wrote has been called. */
int vt_budget_knows_blocks(void);
/* Chooses the calls of the location that are only counted from now on, from the lengths of its last ones. */
void vt_budget_choose(struct vt_thin *t, uint64_t now);

/* ---- keep.c: chooses the iterations that stay in full (VT_KEEP) ---- */

/* Returns 1 if full chunks are walked for VT_KEEP or VT_TRIGGER. */
static inline int vt_keep_looks(void) { return *vt_process.set.iteration || *vt_process.set.trigger; }
/* Returns the median duration of the iterations; requires k->slow. */
uint64_t vt_keep_median(const struct vt_keep *k);

/* Returns 1 for the name of the region whose calls are iterations. */
int vt_keep_is_name(const char *name);
/* Notes that calls of a region are iterations. what: as in vt_chunk.open. */
void vt_keep_watch(uint64_t what);
int vt_keep_is_iteration(uint64_t what);
/* Returns the iterations of a location; NULL: VT_ITERATION is not set, or there is no memory. Requires the lock of the location. */
struct vt_keep *vt_keep_of(struct vt_location *l);
/* In the first walk over records: an iteration begins or ends; the walk ends. now: ticks. */
void vt_keep_begins(struct vt_keep *k, const struct vt_iteration *i);
void vt_keep_ends(struct vt_keep *k, const struct vt_iteration *i, uint64_t now);
void vt_keep_judged(struct vt_keep *k, const struct vt_iteration *i, uint64_t now);
/* The walked chunk is full. */
void vt_keep_next_chunk(struct vt_keep *k, struct vt_chunk *c);
/* A full chunk is written: an undecided iteration that began in it stays. */
void vt_keep_written(struct vt_location *l, const struct vt_chunk *c);
/* Returns the number of full chunks before those that are held or to be thinned; UINT32_MAX: all chunks may be written. */
uint32_t vt_keep_ready(struct vt_location *l);
/* Defines the numbers of iterations. */
void vt_keep_define(struct vt_location *l);

/* ---- node.c: a file that all ranks of a run on a node map ---- */

/* Returns 1 if an iteration stays: the first rank to ask decides for all. insists: 1 for an iteration that is to stay
   whatever the ranks before have chosen; those that ask later keep it, too. Also for a process that chooses alone. */
int vt_node_keeps(uint64_t number, int keeps, int insists);
/* The trigger has fired in this process. */
void vt_node_fire(void);
/* Returns 1 if a trigger has fired in another rank since the last call. */
int vt_node_has_fired(void);
/* At the end of the process: the last rank of the node removes the file. */
void vt_node_end(void);

/* ---- left_out_memory.c: calls of malloc and its family that are left out for a time ---- */

/* Notes the memory shim, and its regions. */
void vt_memory_attach(const struct vt_shim *shim);
void vt_memory_region(uint32_t id, uint8_t role);
/* Counts a call. Returns 0 if vt_counts_open and this function must be called. */
int vt_memory_call(struct vt_location *l, uint32_t region);
/* For the thread that chooses. part: of its time that recording took, in %. vt_memory_may_go returns 0 if the calls cannot be
   left out, or are; vt_memory_return if they are not recorded again. */
int vt_memory_may_go(void);
void vt_memory_leave_out(struct vt_location *l, uint32_t part);
int vt_memory_return(struct vt_location *l);

/* ---- left_out_python.c: functions of Python programs that are left out for a time ---- */

struct vt_python_function {
    _Atomic uint32_t open; /* calls that are recorded and open, in all threads */
    uint8_t is_one, is_out; /* is_one: the region is a function of Python */
};
#define VT_PYTHON_BYTES ((VT_ID_MAX + 1) * sizeof(struct vt_python_function))
extern struct vt_python_function *vt_python_functions; /* by id of the region; NULL: none */
/* vt_python_all_out: all functions are left out; vt_python_returned: how often functions returned. */
extern _Atomic uint32_t vt_python_all_out, vt_python_returned;
/* The time that the interpreter takes to call vtrace for an event. all: functions are left out together. */
void vt_python_costs(double ns, int all);
double vt_python_event_ns(void);
/* Notes that a new region is a function of Python. */
void vt_python_define(uint32_t id);
/* Returns the number by which a function goes, for the first word of its ENTER or LEAVE; 0: it is none of Python. */
uint32_t vt_python_entry(uint32_t what);
/* For the thread that chooses, as those of left_out_memory.c. */
int vt_python_may_go(uint32_t entry);
void vt_python_leave_out(struct vt_location *l, const uint32_t *entries, uint32_t n, uint32_t part);
int vt_python_return(struct vt_location *l);

/* ---- trigger.c: when the ring is written (VT_TRIGGER) ---- */

/* Notes the paradigm of a new region. */
void vt_trigger_region(uint32_t id, uint8_t paradigm);
/* In the walk over records: a call begins or ends, an iteration begins or ends, the walk ends. now: ticks. */
void vt_trigger_call(struct vt_keep *k, uint64_t region, int enters, uint64_t now);
/* A counter of the user API is defined; type: as in VT_D_METRIC. Returns 1 if the program has not defined the counter that
   VT_TRIGGER names. */
void vt_trigger_counter(uint32_t id, const char *name, char type);
int vt_trigger_lacks_counter(void);
/* record: a METRIC. */
void vt_trigger_value(struct vt_keep *k, const uint64_t *record);
void vt_trigger_begins(struct vt_keep *k, uint64_t now);
void vt_trigger_ends(struct vt_keep *k, uint64_t number, uint64_t ticks, uint64_t now);
void vt_trigger_walked(struct vt_keep *k, uint64_t now);
/* Writes a marker for the iteration or second for which the trigger has just fired. Requires that l->busy is set. */
void vt_trigger_tell(struct vt_location *l);

/* ---- overhead.c: the part of a thread's time that recording may take (VT_BUDGET=...,N%) ---- */

/* A choice: functions to leave out from now on, or to record again. */
struct vt_left_out {
    const uint32_t *out; /* offsets in the code space of functions that are left out */
    uint32_t first, last; /* those of the choice; the ones below `first` are left out before and after it */
    uint32_t location, part; /* of the thread that is beyond its part; part of its time that recording took, in % */
    int returns; /* 1: the functions are recorded again */
    uint64_t begun; /* CPU time of the thread that switches the functions, when it began */
};
/* Not 0: a choice waits for a thread that switches functions. */
extern _Atomic uint32_t vt_overhead_asks;
/* Measures the cost of a record, at the start of the program. */
void vt_overhead_start(void);
/* Look at the time of the calling thread, whose location is l: before other work than recording, and after it. */
void vt_overhead_look(struct vt_location *l);
void vt_overhead_worked(struct vt_location *l);
/* Returns 1 if the calling thread has to switch functions, and then to call vt_overhead_done. */
int vt_overhead_take(struct vt_left_out *taken);
void vt_overhead_done(struct vt_location *l, const struct vt_left_out *taken);

/* ---- call_counts.c: the calls of functions that are left out ---- */

#define VT_COUNTED_MOST (VT_COUNT_CHUNKS * (uint32_t)VT_PROFILE_ROWS) /* functions */
/* The place in its chunk of the number of calls of function `number`; each call adds 2. */
#define VT_COUNTED_AT(number)                                                                                          \
    (VT_CHUNK_DATA + (number) % VT_PROFILE_ROWS * sizeof(struct vt_profile_row) +                                      \
     offsetof(struct vt_profile_row, turns))

/* Returns the number of a function whose calls are counted from now on, for the thread that switches functions;
   VT_COUNTED_MOST: there is no room. what: as in struct vt_profile_row. Call vt_limits_clear afterwards. */
uint32_t vt_counts_add(uint64_t what);
/* The calling thread counts in this location from now on; NULL: in none. */
void vt_counts_bind(struct vt_location *l);
/* Counts a call. Returns 0 if the location does not know where: call vt_counts_open, and this function again. */
int vt_counts_call(struct vt_location *l, uint32_t number);
void vt_counts_open(struct vt_location *l);
#define VT_COUNT_TRIES 1000 /* another thread may remove the pointer again at once (vt_limits_clear) */
/* Returns the ns that a stub takes to count a call, and counts none. l: of the calling thread. */
double vt_counts_measure(struct vt_location *l, uint32_t number, void (*stub)(void));

/* The code of the stubs (funwrap/count_stubs.c): addresses of areas of VT_STUB_BYTES; 0: none. */
#define VT_STUB_AREAS 16u
#define VT_STUB_BYTES 65536u
extern uintptr_t vt_stub_areas[VT_STUB_AREAS];
static inline VT_GENERAL_REGISTERS int vt_is_stub(uintptr_t code)
{
    for (uint32_t i = 0; i < VT_STUB_AREAS; i++) {
        const uintptr_t area = VT_READ(vt_stub_areas[i]);
        if (!area) return 0;
        if (code - area < VT_STUB_BYTES) return 1;
    }
    return 0;
}

/* ---- thin.c: takes calls out of a chunk, and counts them in the profile ---- */

/* Thins the current chunk of the calling thread's location, if need be. Returns 1 if recording continues in the chunk. 0:
   it is still full. Requires the lock of the location. */
int vt_thin(struct vt_location *l);
/* Notes the teams at the end of a chunk that is finished. Requires the lock of the location. */
void vt_thin_finished(struct vt_location *l, struct vt_chunk *c);
/* Takes the calls in iterations that are left out from the current chunk, which is finished now. Requires the lock of the
   location. */
void vt_thin_last(struct vt_location *l);
/* Takes them from at most so many full chunks that wait for it. Requires the lock of the location. */
void vt_thin_held(struct vt_location *l, uint32_t most);
/* Writes from which length on calls are recorded, if that has changed for the present chunk. */
void vt_thin_tell(struct vt_location *l);
/* Notes if the calls of a new region may be thinned. paradigm, role: as in OTF2. */
void vt_thin_region(uint32_t id, uint8_t paradigm, uint8_t role);

/* ---- thin_teams.c: the regions of teams and tasks around calls ---- */

/* Handles a record of the class TEAM. w: its words after the first one; depth: of the open calls. */
void vt_thin_team(struct vt_thin_levels *s, uint32_t what, const uint64_t *w, uint32_t depth);

/* ---- ring.c: the flight recorder (VT_MODE=RING, or VT_MODE=PROFILE with VT_TRIGGER) ---- */

/* Returns 1 if locations keep their last chunks. */
static inline int vt_ring_keeps(void)
{
    return vt_process.set.mode == VT_MODE_RING || (vt_process.set.mode == VT_MODE_PROFILE && *vt_process.set.trigger);
}
/* Releases the oldest chunk; returns 0 if there is none. Requires the lock of the location. */
int vt_ring_drop(struct vt_location *l);
/* The next flush writes the chunks of a profile's ring. Requires the lock of the location. */
void vt_ring_take(struct vt_location *l);
/* At the end of the location: as vt_ring_take if the location has not answered a request; else releases the chunks. */
void vt_ring_end(struct vt_location *l);
/* Requests that all locations are written: each by its own thread, at its next event. */
void vt_ring_ask(void);
/* Returns 1 if a request has come that this location has not answered. */
int vt_ring_is_asked(const struct vt_location *l);
/* Notes that this location has answered all requests. */
void vt_ring_answered(struct vt_location *l);

/* ---- sample_stream.c: the stream of samples of a location: chunks of their own, beside those of the events ---- */

/* A sample to write. frames: innermost first; they must stay unchanged until the next sample. weight: ns. values: the
   words of METRIC_GROUP records. */
struct vt_sample {
    uint64_t ticks, weight;
    uint32_t overruns, nframes, nvalues;
    enum vt_sample_end end;
    const uint64_t *frames, *values;
};

/* Appends a sample to the stream of the calling thread's location, in a handler with all signals blocked. Counts the
   sample as lost if recording has stopped or there is no memory. */
void vt_samples_put(struct vt_location *l, const struct vt_sample *sample);
/* Appends the current chunk to the list of full chunks. The caller holds the lock. */
void vt_samples_finish(struct vt_location *l);
/* Defines the sums of a location at its end; nothing for a location without samples. */
void vt_samples_define(struct vt_location *l);

/* ---- stop.c: stops recording before the end of the program ---- */

/* Stops a location for good. told: 1 if its LIMIT record is already written. Requires that l->busy is set. */
void vt_stop(struct vt_location *l, enum vt_lost why, int told);
/* Compares the bytes written with VT_MAX_SIZE. Runs after a location has written to its files. */
void vt_size_check(struct vt_location *l);
/* Applies the state of VT_MAX_SIZE to a location, at its next event. Requires that l->busy is set. */
void vt_size_follow(struct vt_location *l, uint64_t now);
/* Notes if VT_MAX_SIZE stops the calls of a new region first. paradigm, role: as in OTF2. */
void vt_size_region(uint32_t id, uint8_t paradigm, uint8_t role);
/* Returns 1 if VT_MAX_SIZE stops this record first. what: its first word. */
int vt_size_goes_first(uint32_t what);

#pragma GCC visibility pop

#endif
