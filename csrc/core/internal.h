/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the recording core share. Shims include core.h only (funwrap, a part of this library, record.h). */
#ifndef VT_INTERNAL_H
#define VT_INTERNAL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include "core.h"
#include "msgpack.h"
#include "sys.h"
#include "write.h"

#define VT_PAGE 4096u
#define VT_MAX_LOCATIONS 65536u
#define VT_FILTER_SLOTS 2048u /* of the per-location filter that finds functions new to the location */
#define VT_MISSED 128u /* open regions that are entered anew when recording is switched on */
#define VT_CODE_UNKNOWN 0xffffffffu
#define VT_LIMIT_WORDS 8 /* of each chunk of events: for two LIMIT records, each perhaps behind a TIME */

#define VT_PATH 1024

/* Which file has a name: another user may give the name to another file. */
struct vt_identity {
    uint64_t device, inode;
    uint32_t owner;
};

/* Memory for what would be large on a stack: events may come from a signal handler's small one. */
struct vt_scratch {
    char head[VT_FILE_HEAD], path[VT_PATH], other[VT_PATH];
    struct vt_identity made[VT_BUFFER]; /* the files that exist, by enum vt_content */
};

/* A recorded call of a library, from its enter to its leave, without others in it: the lower halves of its records' heads,
   and where they stand. The next call of the function is mostly like it, and comparing heads costs a fraction of walking
   from record to record, where each has to be known before the next one is found. */
#define VT_SHAPE_RECORDS 6
#define VT_SHAPES 16 /* functions, a power of two */
struct vt_shape {
    struct vt_shape *next; /* that followed it last time */
    uint32_t records, words, classes;
    uint32_t what[VT_SHAPE_RECORDS];
    uint8_t at[VT_SHAPE_RECORDS];
};
struct vt_shapes {
    struct vt_shape *last, of[VT_SHAPES];
};

/* ---- A location: one thread's recording. Lies in pages that a forked child sees zeroed, so that its first
   event there finds no room, takes the slow path and gets a buffer of its own.                             ---- */
struct vt_location {
    /* Read and written by every event; away from the page's begin, where the chunk heads' addresses alias. */
    uint8_t away[192];
    union {
        struct vt_write_cursor write_cursor;
        struct { /* its members, by their own names */
            uintptr_t busy;
            uint64_t *cursor, *limit, last;
        };
    };
    uint64_t vforked; /* 1: the thread has called vfork */
    uintptr_t code_base[2]; /* the two modules seen last: address range and place in the code space */
    uint32_t code_size[2], code_slot[2];

    uint32_t number, thread;
    _Atomic uint32_t lock; /* kernel id of the thread that moves chunks of this location or defines; 0 free */
    _Atomic uint32_t ended; /* 1: its thread has run its exit handlers; a later thread may adopt the location */
    uint32_t in_use; /* 0 in a forked child */
    uint32_t late; /* 1: exit handlers of its thread run, the others' first */
    const char *helper; /* the library that has made its thread for itself; NULL: the program has */
    uint64_t begun; /* number of its thread, whose begin stands in the trace; 0: it does not */
    char name[16]; /* of its thread, as last defined */
    uint32_t stopped; /* enum vt_lost: why it records no more */
    uint32_t size; /* enum vt_full: what it knows of VT_MAX_SIZE */
    uint64_t left; /* events that VT_MAX_SIZE has left out while others were recorded; no part of lost */
    struct vt_chunk *spare; /* the last one written by a flush that wants another at once */
    int wants_spare, keeps_room; /* keeps_room: in its def file, behind what is written now */
    uint64_t signals; /* under the lock: the signal mask of before */
    uint64_t blocked; /* the signal mask of its thread at the first event */

    struct vt_chunk *chunk, *full, *full_last; /* events: being filled, filled */
    struct vt_chunk *defs, *defs_full, *defs_last; /* the same for definitions */
    uint32_t sequence, defs_sequence, chunks, quota; /* chunks: of events in memory */
    uint32_t flushes, files; /* files: bits VT_EVENTS, VT_DEFINITIONS already created */
    uint32_t stale; /* bits of files whose head tells an earlier name: to be written when they are opened again */
    _Atomic uint64_t lost; /* events not recorded, all in all */
    uint64_t lost_told; /* of these, standing in LOST records */
    uint32_t lost_why, unwritten; /* unwritten: bits like files, a write failed, the buffer must stay */
    uint64_t records, clamped, flush_ticks, first, written_bytes;
    uint64_t complete; /* lost + 1 when its thread's last summary was written, 0: it was not */

    uint64_t resumed; /* ticks: when the last flush was over */
    uint32_t off, nmissed; /* recording is switched off; regions entered since then, and the outermost of them */
    uint64_t missed[VT_MISSED];

    struct {
        struct vt_chunk *chunk; /* where records go on after a rewind; NULL: there is no mark */
        uint32_t offset, off, voided; /* voided: 1, there was one before a flush */
        uint64_t last, lost_told; /* as they were then */
    } mark;

    uint64_t dropped, overwritten; /* ring.c: records before the next chunk that are gone; all in all */
    uint32_t answered; /* ring.c: how often it was written when that was asked for */

    struct vt_shapes shapes; /* replay.c */
    struct vt_levels *levels; /* levels.c of funwrap */
    uint32_t *left_out; /* limits.c: calls of each limited region that are open and not recorded */
    uint32_t depth, nopen;
    uint64_t open[VT_OPEN_MAX];
    uint32_t filter[VT_FILTER_SLOTS];
    struct vt_scratch scratch; /* under the lock */
};

_Static_assert(offsetof(struct vt_location, last) == offsetof(struct vt_location, write_cursor.last),
               "the members of a write cursor");

/* ---- The process ---- */
enum vt_state { VT_NEW = 0, VT_STARTING = 1, VT_ON = 2, VT_ENDED = 3, VT_FAILED = 4 };

enum vt_mode { VT_MODE_TRACE = 0, VT_MODE_RING = 1 };
enum vt_pthread { VT_PTHREAD_NO = 0, VT_PTHREAD_YES = 1, VT_PTHREAD_LOCKS = 2 };

/* How much of VT_MAX_SIZE is used up: what VT_CLASS_FIRST names is no longer recorded, then nothing. */
enum vt_full { VT_FULL_NOT = 0, VT_FULL_FIRST = 1, VT_FULL_ALL = 2 };

struct vt_settings {
    uint64_t buffer_size, thread_buffer_size; /* bytes; thread_buffer_size 0: a tenth of buffer_size */
    uint64_t max_size; /* bytes; 0: not set */
    uint64_t processes; /* of the node, as the launcher says; 0: it does not */
    uint64_t max_flushes, max_threads, verbose;
    uint64_t clean, compression, mpitrace, omptrace, iotrace, memtrace, memtrace_threshold, pytrace;
    uint64_t pthread, pthread_reuse, exectrace; /* pthread: enum vt_pthread */
    uint64_t mpi_callsites, mpi_barrier; /* mpi_barrier: bits, 1 before, 2 after */
    uint64_t max_stack_depth, sync_flush, sync_flush_level, clock_counter;
    uint64_t mode; /* enum vt_mode */
    uint32_t speaks; /* this process says what is wrong with the settings */
    uint32_t unique,
        count; /* VT_FILE_UNIQUE: 0 no, a number, or VT_UNIQUE_YES; what stands behind the prefix, 0 none */
    char base[256], prefix[256], gdir[512], ldir[512]; /* the prefix without and with count; directories absolute */
    char unique_text[16], nmfile[512], filter_spec[512], groups_spec[512];
    char ring_signal[32], start_after[256], stop_after[256];
};

#define VT_UNIQUE_YES UINT32_MAX
#define VT_COUNT_MOST 999999u

struct vt_process {
    _Atomic int state;
    _Atomic uint32_t starter; /* id of the process that is being started */
    _Atomic uint32_t naming; /* lock: rank and run id change, or files are named after them; vt_scratch */
    struct vt_settings set;
    struct vt_file head; /* of this process's files */
    struct vt_file *mapped; /* the copy in the buffer file, NULL without one */
    uint32_t pid, page_size;
    _Atomic uint32_t locations, ended; /* ended: those whose thread is gone */
    char name[16]; /* what threads are called that nobody has named */
    _Atomic uint64_t ids[VT_IDS];
    _Atomic uint64_t lost; /* by threads that have no location */
    int named; /* it has its rank */
    int first; /* this process, or the image that it had before an exec, is the first of its run */
    uint32_t name_rank; /* the rank in its files' names; VT_NO_RANK also in a world that another process started */
    _Atomic uint32_t off; /* recording is switched off */
    _Atomic uint64_t switched; /* ticks: when that changed last */
    _Atomic uint64_t written; /* bytes in the local files */
    _Atomic int small_disk; /* max_size follows from the free space */
    _Atomic uint64_t max_size; /* what stands for VT_MAX_SIZE where that is not set; 0: not known yet */
    _Atomic uint64_t all_at; /* bytes written at which nothing more is recorded, once some classes are not; else 0 */
    _Atomic uint32_t full; /* enum vt_full */
};

extern struct vt_process vt_process __attribute__((visibility("hidden")));
extern struct vt_scratch vt_scratch __attribute__((visibility("hidden"))); /* under vt_process.naming */
extern struct vt_location *_Atomic vt_locations[VT_MAX_LOCATIONS] __attribute__((visibility("hidden")));
extern _Thread_local int vt_suppressed
    __attribute__((tls_model("initial-exec"), visibility("hidden"))); /* records nothing */
/* This thread ends the program, and completes other threads' stacks in the room that their chunks have left. */
extern _Thread_local int vt_closing __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern _Thread_local struct vt_location *vt_own_location
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#pragma GCC visibility push(hidden)

/* clock.c */
extern int vt_clock_is_counter;
extern uint32_t vt_clock_step; /* as in struct vt_columns */
enum vt_clock_kind vt_clock_choose(void);
uint64_t vt_clock_ns(int id);
struct vt_clock_pair vt_clock_measure(void);
struct vt_clock_pair vt_clock_recent(void); /* at most a second old */

/* settings.c: from the environment; complains about wrong values, never fails */
void vt_settings_read(struct vt_settings *set);
void vt_settings_define(struct vt_location *l);
/* What VT_MAX_SIZE is taken for; by_disk: because of the free space. */
void vt_settings_define_size(struct vt_location *l, uint64_t bytes, int by_disk);
void vt_settings_show_size(char *into, size_t bytes, uint64_t size); /* "1G" */
int vt_settings_want(uint32_t kind);
int vt_settings_allow(uint32_t kind);
enum vt_pthread vt_settings_pthread(void);

/* file_locations.c: what the environment tells of the process, and the settings that say where and under which name files lie */
const char *vt_launcher_rank(void); /* NULL: none is told */
void vt_place_read(struct vt_settings *set);
void vt_place_count(struct vt_settings *set, uint32_t count);
int vt_place_has_room(const struct vt_settings *set); /* 0: neither for the buffer nor for files, which is told */

/* process.c */
int vt_is_recording(void); /* this process itself, already */
int vt_is_other_process(void); /* a vfork child */
struct vt_location *vt_location_of_thread(unsigned events); /* counts them as lost where it should record and cannot */
void vt_define_process(struct vt_location *l);
void vt_define_clock(struct vt_location *l); /* the clocks, now */
void vt_synchronize(struct vt_location *l); /* and how far they are from those of other ranks */
void vt_be_alone(void); /* claims rank 0's file names if this process has no rank and they are unused */

/* end.c */
void vt_end(void); /* completes the files; nothing is recorded any more */
int vt_suspend(void); /* completes the files before an exec; 0: it cannot, for other threads run */
void vt_resume(void); /* after one that failed */
void vt_flush(
    void); /* writes out what the calling thread has recorded; of a flight recorder all threads, each when it can */
void vt_write_out(struct vt_location *l, int all); /* the same under busy, this thread only or all */
void vt_location_complete(struct vt_location *l); /* by its thread, at its end */

/* record.c */
struct vt_location *vt_location_to_record(unsigned events);

/* buffer.c */
int vt_buffer_open(void);
void vt_buffer_tell(void);
struct vt_chunk *vt_chunk_take(void);
void vt_chunk_give(struct vt_chunk *c);
void vt_chunk_keep(struct vt_chunk *c);
void vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c);
int vt_buffer_in_file(void);
int vt_buffer_is_there(void);
struct vt_chunk *vt_buffer_last_chunk(void);
int vt_chunk_in_memory(const struct vt_chunk *c);
void vt_buffer_close(int keep);
void vt_buffer_forget(void); /* in a forked child */
void *vt_pages_wiped(size_t bytes);

/* location.c */
struct vt_location *vt_location_new(uint32_t thread);
void vt_location_here(struct vt_location *l); /* it is the calling thread's; NULL: the thread has none */
int vt_busy_is_stale(uintptr_t busy, uintptr_t here);
int vt_location_lock(struct vt_location *l);
void vt_location_unlock(struct vt_location *l);
void vt_location_mend(struct vt_location *l);

void vt_put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now); /* under busy */
uint64_t *vt_stamp(struct vt_location *l, uint64_t *at, uint64_t word, uint64_t now);
void vt_put_record(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now); /* off or on */
void vt_stay_off(struct vt_location *l); /* behind it */
void vt_chunk_finish(struct vt_location *l);
void vt_location_flushed(struct vt_location *l); /* under busy */
unsigned vt_events_in(const uint64_t *words, unsigned n);

/* stop.c */
void vt_stop(struct vt_location *l, enum vt_lost why, int told);
void vt_size_look(struct vt_location *l);
void vt_size_follow(struct vt_location *l, uint64_t now);
void vt_size_region(uint32_t id, uint8_t paradigm, uint8_t role);
int vt_size_goes_first(uint32_t what);

/* thread.c: how threads begin, what they are called, how they end */
int vt_thread_start(void); /* once; 0: nobody will know when threads end */
void vt_thread_watch(struct vt_location *l); /* by its thread */
const char *vt_thread_name(struct vt_location *l); /* as it is now; NULL: nobody has named it */
void vt_thread_begins(uint64_t number); /* by a thread that is new */
void vt_thread_helps(const char *library); /* by a new thread that a library has made for itself; a constant */
const char *vt_thread_helper(void); /* what the calling thread has said so; NULL: it has not */

/* switch.c: off and on */
void vt_put_switched(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now); /* under busy */
void vt_switch_follow(struct vt_location *l, uint64_t now); /* under busy */
int vt_leaves_out(struct vt_location *l, uint64_t what); /* under busy */
void vt_switch_attach(const struct vt_shim *shim); /* it will be told */
int vt_is_on(void);
void vt_switch_at(int on, uint64_t when); /* ticks, not later than now; 0: now */

/* recording_window.c: VT_START_AFTER, VT_STOP_AFTER */
void vt_window_read(struct vt_settings *set);
void vt_window_prepare(void);
void vt_window_start(uint64_t mono); /* of the program's start */
int vt_window_is_due(uint64_t now); /* 1: somebody has to look */
void vt_window_look(void); /* not under busy */
void vt_window_defined(const char *name, uint32_t id);
void vt_window_enter(uint32_t what);
void vt_window_wrote(const uint64_t *words, unsigned n);
uint64_t vt_window_cut(void); /* ticks: what was recorded later is taken back */
void vt_window_end(void);
extern int vt_window_watches; /* calls of a region are counted */
extern uint32_t vt_window_enters[2], vt_window_leave;

/* rewind.c: the calling thread's records since the mark are discarded */
void vt_set_rewind_mark(void);
void vt_rewind(void);
unsigned vt_cut(struct vt_location *l, uint64_t when, uint64_t open[VT_OPEN_MAX]);

/* ring.c: the flight recorder */
int vt_ring_drop(struct vt_location *l); /* under the lock */
void vt_ring_ask(void); /* all locations are to be written: each by its thread, at its next event */
int vt_ring_is_asked(const struct vt_location *l);
void vt_ring_answered(struct vt_location *l);

void vt_ring_signalled(void);

/* signal.c: the signal of VT_RING_SIGNAL */
void vt_signal_read(struct vt_settings *set);
void vt_signal_start(void);

/* replay.c: what the records of a chunk leave open */
void vt_replay(struct vt_location *l, struct vt_chunk *c);
uint32_t vt_replay_part(uint64_t *open, uint32_t depth, const uint64_t *words, uint32_t n, uint32_t *least);
uint64_t vt_replay_times(struct vt_chunk *c, uint64_t *lost);

/* filter_map.c: functions that a filter keeps out */
void vt_filter_map_forget(void);
void vt_filter_map_again(void);

/* limits.c: regions that are recorded so many times, which begin and end by calls of their own. The region, 0: this one is
   not recorded. */
uint32_t vt_limited_new(uint32_t region, int64_t limit); /* a number for it; 0: there are too many */
uint32_t vt_limited_begin(uint32_t number);
uint32_t vt_limited_end(uint32_t number);
void vt_limited_reset(struct vt_location *l);

/* filter.c, region_groups.c */
int vt_filter_load(void);
int vt_filter_rank(uint32_t rank);
void vt_groups_load(void);
void vt_groups_define(struct vt_location *l);

/* levels.c of funwrap */
void vt_levels_reset(struct vt_location *l);

/* module.c */
uint32_t vt_code_offset(struct vt_location *l, uintptr_t address);

/* define.c */
struct vt_mp vt_define_begin(struct vt_location *l, size_t most);
int vt_define_end(struct vt_location *l, const struct vt_mp *m);
void vt_defs_finish(struct vt_location *l);
void vt_define_property(struct vt_location *l, const char *key, const char *value);

/* lineage.c */
void vt_family_tell(void);
int vt_family_read(struct vt_file *h, struct vt_settings *set);
int vt_family_has_rank(void); /* this process, or one that has led to it, is a rank of an MPI_COMM_WORLD */
#define VT_FAMILY_NAME "VTRACE_PARENT="
const char *vt_family_variable(void); /* what children get, with its name; NULL: nothing is recorded yet */
/* Has the environment of this process hold it, for what libc starts by itself. Not in the child of a vfork. */
void vt_family_enter(void);
int vt_exec_is_traced(void); /* what VT_EXECTRACE says */

/* launcher.c */
int vt_is_launcher(void);
struct vt_process_look {
    uint64_t began; /* clock ticks since boot */
    uint32_t parent;
    char name[32], state; /* as in proc(5) */
};
int vt_process_look(uint32_t pid, struct vt_process_look *look); /* 0: it is not there */
/* Sets the run's id to that of all that the launcher starts on this host, if one has started this process. */
void vt_launcher_run(struct vt_file *h);
struct vt_launched {
    const char *launcher;
    uint32_t rank, ranks;
};
/* 1: a launcher has started this process as one of several ranks. */
int vt_launcher_look(struct vt_launched *launched);

/* vfork.c */
int vt_is_vfork_child(struct vt_location *l);

/* codec.c */
/* clang-format off */
struct vt_encoded { uint8_t codec; const void *data; uint32_t bytes; };
/* clang-format on */
struct vt_codec_context;
struct vt_codec_context *vt_codec_get(void); /* NULL: none free */
void vt_codec_put(struct vt_codec_context *x);
struct vt_encoded vt_encode(struct vt_codec_context *x, const struct vt_chunk *c, uint32_t raw_bytes);

/* safe_files.c: files in directories where other users may create files, too; results below 0 are -errno */
struct stat;
int vt_is_foreign(const char *path); /* 1: it exists and belongs to another user */
int vt_is_strangers_directory(const char *path); /* 1: another user has made it where all users may */
long vt_create(const char *path, int mode, struct vt_identity *made);
long vt_create_temporary(const char *path, struct vt_identity *made);
long vt_reopen(const char *path, int flags, const struct vt_identity *made);
long vt_replace(const char *from, const char *to, const struct vt_identity *made);
long vt_open_plain(const char *path, struct stat *s);
long vt_read_plain(const char *path, char *into, size_t bytes);
long vt_put_file(const char *path, char *temporary, const char *text);

/* file.c */
long vt_open(const char *path, int flags, int mode); /* -errno */
struct vt_chunk *vt_chunk_next(struct vt_chunk *c);
int vt_file_flush(struct vt_location *l);
int vt_file_flush_events(struct vt_location *l); /* without definitions, which stay in the buffer */
int vt_file_flush_last(struct vt_location *l); /* into the room that was kept for it */
void vt_file_start(void);
void vt_file_rename(struct vt_location *l, const char *old_prefix, uint32_t old_rank);
void vt_file_uctl(void);
int vt_file_is_there(void);

/* prefix_claim.c */
enum vt_names { VT_NAMES_FREE, VT_NAMES_OURS, VT_NAMES_OTHERS };
long vt_names_claim(void); /* a descriptor, or below 0 */
void vt_names_disclaim(long claim);
enum vt_names vt_names_settle(void);

/* text.c: strings without stdio */
struct vt_text {
    char *at, *end;
};
struct vt_text vt_text_into(char *memory, size_t bytes);
void vt_text_add(struct vt_text *t, const char *s);
void vt_text_word(struct vt_text *t, const char *s);
void vt_text_plain(char *s);
void vt_text_hex(struct vt_text *t, uint64_t v);
void vt_text_dec(struct vt_text *t, uint64_t v);
const char *vt_reason(long error); /* -errno */
void vt_text_start(void);
long vt_read_file(const char *path, char *into, size_t bytes); /* zero-terminated; bytes read or -errno */
void vt_say(uint64_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop

/* A lock for all threads of a process. One that another process holds is its parent's, copied by a fork. */
static inline int vt_try_lock(_Atomic uint32_t *lock)
{
    uint32_t held = atomic_load(lock), me = vt_process.pid;
    return held != me && atomic_compare_exchange_strong(lock, &held, me);
}

static inline void vt_lock(_Atomic uint32_t *lock, uint64_t *signals)
{
    vt_hold_signals(signals);
    for (int i = 0; !vt_try_lock(lock); i++) {
        if (i < 100) VT_SYS0(sched_yield);
        else vt_pause(); /* the holder may have less priority than this thread */
    }
}

static inline void vt_unlock(_Atomic uint32_t *lock, const uint64_t *signals)
{
    atomic_store(lock, 0);
    vt_release_signals(signals);
}

static inline uint64_t *vt_chunk_end(struct vt_chunk *c) { return (uint64_t *)((char *)c + VT_CHUNK_SIZE); }
/* Where the records of the program end. */
static inline uint64_t *vt_chunk_limit(struct vt_chunk *c) { return vt_chunk_end(c) - VT_LIMIT_WORDS; }
static inline uint64_t *vt_chunk_words(struct vt_chunk *c) { return (uint64_t *)((char *)c + VT_CHUNK_DATA); }
static inline uint32_t vt_chunk_used(const struct vt_chunk *c)
{
    uint32_t head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE);
    return (head ? head : VT_CHUNK_SIZE) - VT_CHUNK_DATA;
}

#endif
