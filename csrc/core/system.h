/* SPDX-License-Identifier: BSD-3-Clause */
/* The lowest layer of the runtime: the state that all layers read, memory, locks, texts, files, and the wrapped
   functions of libc. Each header of a layer includes that of the layer below. */
#ifndef VT_SYSTEM_H
#define VT_SYSTEM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include "core.h"
#include "sys.h"
#include "write.h"

#pragma GCC visibility push(hidden)

/* ---- state.c ---- */

/* The state of the process and its settings. All layers read vt_process. process.c owns vt_process: it fills settings
   and head when recording starts, and again in a forked child. Members that change later are atomic, or protected by
   the lock `naming`. */

#define VT_PAGE 4096u
#define VT_PATH 1024

/* Identifies a file: another user may replace the file under its name. */
struct vt_identity {
    uint64_t device, inode;
    uint32_t owner;
};

/* Memory for data too large for a stack: an event may come from a signal handler with a small stack. */
struct vt_scratch {
    char head[VT_FILE_HEAD], path[VT_PATH], other[VT_PATH];
    struct vt_identity made[VT_BUFFER]; /* files that exist, by enum vt_content */
};

enum vt_state { VT_NEW = 0, VT_STARTING = 1, VT_ON = 2, VT_ENDED = 3, VT_FAILED = 4 };

enum vt_counts { VT_COUNTS_EXACT = 0, VT_COUNTS_SAMPLED = 1 };
enum vt_mode { VT_MODE_TRACE = 0, VT_MODE_RING = 1, VT_MODE_PROFILE = 2, VT_MODE_STAT = 3 };
enum vt_section_routines { VT_SECTIONS_ALL, VT_SECTIONS_FAPP, VT_SECTIONS_COLLECTION };
enum vt_pthread { VT_PTHREAD_NO = 0, VT_PTHREAD_YES = 1, VT_PTHREAD_LOCKS = 2 };

/* State of VT_MAX_SIZE: nothing stopped; the classes of VT_CLASS_FIRST stopped; all stopped. */
enum vt_full { VT_FULL_NOT = 0, VT_FULL_FIRST = 1, VT_FULL_ALL = 2 };

struct vt_settings {
#define NUMBER(name, field, ...) uint64_t field;
#define TEXT(name, field, bytes, ...) char field[bytes];
#include "settings_table.h"
    uint64_t processes; /* number on this node, from the launcher's environment; 0: unknown */
    uint32_t speaks; /* 1: this process prints messages about invalid settings */
    uint32_t unique; /* VT_FILE_UNIQUE: 0 for no, a number, or VT_UNIQUE_YES */
    uint32_t count; /* number after the prefix; 0: none */
    char base[256]; /* prefix without the number */
    uint64_t overhead; /* VT_BUDGET: part of a thread's time that recording may take, in VT_OVERHEAD_UNIT; 0: any */
    uint32_t slow_files; /* 1: gdir is on a network file system, where to open and close a file takes milliseconds */
};

#define VT_OVERHEAD_UNIT 10000u
#define VT_UNIQUE_YES UINT32_MAX
#define VT_COUNT_MOST 999999u

struct vt_process {
    _Atomic int state;
    _Atomic uint32_t starter; /* id of the process that starts the runtime */
    _Atomic uint32_t naming; /* lock for vt_scratch, for changes of rank and run id, and for naming files */
    struct vt_settings set;
    struct vt_file head; /* head of the files of this process */
    struct vt_file *mapped; /* copy of the head in the buffer file; NULL: no buffer file */
    uint32_t pid, page_size;
    _Atomic uint32_t locations, ended; /* ended: locations whose thread has ended */
    char name[16]; /* default name of threads, from /proc/self/comm */
    _Atomic uint64_t ids[VT_IDS];
    _Atomic uint64_t lost; /* events lost in threads without a location */
    int named; /* 1: the process has its rank */
    /* 1: this process, or its image before an exec, is the first of its run */
    int first;
    /* rank in the names of the files; VT_NO_RANK: none, also in a world that another process spawned */
    uint32_t name_rank;
    _Atomic uint32_t off; /* 1: recording is switched off */
    _Atomic uint32_t unsampled; /* 1: VT_SAMPLE_SECTIONS is set, and the program is outside of its sections */
    _Atomic uint64_t switched; /* ticks: time of the last change of `off` */
    _Atomic uint64_t written; /* bytes written to the local files */
    _Atomic int small_disk; /* 1: max_size depends on the free space */
    _Atomic uint64_t max_size; /* bytes, if VT_MAX_SIZE is unset; 0: not computed yet */
    /* once the first classes have stopped: bytes written at which all recording stops; before: 0 */
    _Atomic uint64_t all_at;
    _Atomic uint32_t full; /* enum vt_full */
    _Atomic uint32_t profile_chunks, profile_rows; /* number of chunks with rows of profiles, and of the rows */
    uint64_t *alive; /* in a wiped page: id of the process that records; 0 in a forked child */
};

extern struct vt_process vt_process;
extern struct vt_scratch vt_scratch; /* protected by vt_process.naming */

/* Returns 1 if this process itself, not its parent, has started recording. */
int vt_is_recording(void);
/* Returns 1 in the child of a vfork: the memory and the recording belong to its parent. */
int vt_is_other_process(void);

/* ---- state.c: memory pages from the kernel. vtrace does not call malloc, since malloc belongs to the program ---- */

/* Returns zeroed pages of at least `bytes` bytes; NULL if there is no memory. A forked child finds the pages zeroed
   again (MADV_WIPEONFORK). */
void *vt_pages_wiped(size_t bytes);
/* Returns 1 if the page of an address can be read. */
int vt_is_readable(uintptr_t address);
/* Returns the entry of a key other than 0 in a hash table, and makes the entry if it is missing; NULL: there is no room
   near its place. The table has `count` entries, a power of two, of `bytes` bytes, which begin with the key as an
   _Atomic uint64_t and are never removed. */
static inline void *vt_table_entry(void *table, uint32_t count, size_t bytes, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) & (count - 1);
    for (int i = 0; i < 64; i++, at = (at + 1) & (count - 1)) {
        _Atomic uint64_t *place = (void *)((char *)table + at * bytes);
        uint64_t there = atomic_load(place);
        if (there == key || (!there && atomic_compare_exchange_strong(place, &there, key)) || there == key)
            return place;
    }
    return NULL;
}

/* As vt_table_entry, but makes no entry; NULL: it is missing. */
static inline void *vt_table_find(void *table, uint32_t count, size_t bytes, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) & (count - 1);
    for (int i = 0; i < 64; i++, at = (at + 1) & (count - 1)) {
        _Atomic uint64_t *place = (void *)((char *)table + at * bytes);
        const uint64_t there = atomic_load(place);
        if (there == key) return place;
        if (!there) return NULL;
    }
    return NULL;
}

/* ---- lock ---- */

/* A spin lock between the threads of a process. The holder blocks signals.
   The exchange that takes the lock and the exchange that releases it are sequentially consistent. */

#define VT_LOCK_AWAITED 0x80000000u /* a thread sleeps until the lock is free; pids are smaller */

/* Returns 1 if this process got the lock. The value is the pid of the holder, or 0. The pid of another process is a
   copy of the parent's lock after a fork, so the lock is free. */
static inline int vt_try_lock(_Atomic uint32_t *lock)
{
    uint32_t held = atomic_load(lock), me = vt_process.pid;
    return (held & ~VT_LOCK_AWAITED) != me && atomic_compare_exchange_strong(lock, &held, me);
}

/* *signals: the signal mask before. */
static inline void vt_lock(_Atomic uint32_t *lock, uint64_t *signals)
{
    vt_hold_signals(signals);
    for (int i = 0; !vt_try_lock(lock); i++) {
        if (i < 100) {
            VT_SYS0(sched_yield);
            continue;
        }
        uint32_t held = vt_process.pid;
        atomic_compare_exchange_strong(lock, &held, held | VT_LOCK_AWAITED);
        vt_pause(); /* the holder may have a lower priority than this thread */
    }
}

static inline void vt_unlock(_Atomic uint32_t *lock, const uint64_t *signals)
{
    const int awaited = (atomic_exchange(lock, 0) & VT_LOCK_AWAITED) != 0;
    vt_release_signals(signals);
    if (awaited) vt_pause(); /* else a thread that takes the lock again and again would keep out a sleeping one */
}

/* ---- text.c: strings without stdio, and messages. A text never exceeds its memory: the rest is cut off ---- */

struct vt_text {
    char *at, *end;
};

#define VT_TEXT_NUMBER(macro) VT_TEXT_DIGITS(macro) /* a number as a literal */
#define VT_TEXT_DIGITS(digits) #digits
#define VT_TEXT_NAME 128u /* bytes; names are shorter */

/* Begins an empty text in memory of the caller. */
struct vt_text vt_text_into(char *memory, size_t bytes);
/* Appends strings. */
#define vt_text_add(t, ...) vt_text_add_all(t, (const char *const[]){__VA_ARGS__, NULL})
void vt_text_add_all(struct vt_text *t, const char *const *strings);
/* Appends a path, quoted as a word for a shell. */
void vt_text_word(struct vt_text *t, const char *s);
/* Removes the blanks at both ends of a string, and the carriage returns at its end. */
char *vt_text_trim(char *s);
/* Replaces control characters by question marks: those of ASCII, and those of C1 in UTF-8. */
void vt_text_plain(char *s);
/* Append a number: hexadecimal, decimal. */
void vt_text_hex(struct vt_text *t, uint64_t v);
void vt_text_dec(struct vt_text *t, uint64_t v);
/* Appends the run id. */
void vt_text_run(struct vt_text *t, const uint8_t run[16]);
/* Returns how many characters must be added, removed, replaced or swapped with a neighbour to make one name of the other,
   upper case or not (Damerau 1964). VT_TEXT_NAME for a longer name. */
unsigned vt_text_distance(const char *a, size_t na, const char *b, size_t nb);
/* Returns a description of an error. error: -errno. */
const char *vt_reason(long error);
/* Stores the identity of standard error. Runs when the program starts. */
void vt_text_start(void);
/* Prints a line if VT_VERBOSE is at least `level`. */
void vt_say(uint64_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- safe_files.c ---- */

/* Opens and creates files in directories where other users may create files, too. Results below 0 are -errno. struct
   vt_identity identifies a file that vtrace created. */

/* Opens a file for a short time, with close-on-exec. Returns a descriptor, never 0, 1 or 2. */
long vt_open(const char *path, int flags, int mode);
/* Reads a file into a zero-terminated string of at most `bytes` bytes. Returns the bytes read. */
long vt_read_file(const char *path, char *into, size_t bytes);
/* The path of the program's executable, or "". Without /proc it is the path that the program was started with. */
void vt_executable(char *into, size_t bytes);
/* Returns 1 if the file exists and belongs to another user. */
int vt_is_foreign(const char *path);
/* Returns 1 if another user created the directory in a place where all users may write. */
int vt_is_strangers_directory(const char *path);
/* Creates a file, open for reading and writing, and returns its descriptor; -EEXIST: the name exists. */
long vt_create(const char *path, int mode, struct vt_identity *made);
/* Like vt_create; replaces a file of this user. */
long vt_create_temporary(const char *path, struct vt_identity *made);
/* Opens a file that vt_create created; -ESTALE: another file has its name. */
long vt_reopen(const char *path, int flags, const struct vt_identity *made);
/* Renames a file that vt_create created; replaces files of this user only. -EEXIST: another user has a file `to`. */
long vt_replace(const char *from, const char *to, const struct vt_identity *made);
/* Opens a regular file for reading; -ESTALE: not a regular file. */
long vt_open_plain(const char *path, struct stat *s);
/* Reads a small regular file into a zero-terminated string. Returns the bytes read. */
long vt_read_plain(const char *path, char *into, size_t bytes);
/* Writes a small file under a temporary name and renames it. temporary: VT_PATH bytes for the temporary name. */
long vt_put_file(const char *path, char *temporary, const char *text);

/* ---- settings_file.c ---- */

/* The settings files: VT_CONFIG=FILE, or ~/.config/vtrace/settings and /etc/vtrace.conf. The files contain lines
   NAME=VALUE, comments (lines that begin with #), and empty lines. The environment overrides the user's file, the
   user's file the system's, and the system's the text vt_program_settings of a program (csrc/tracer). */

/* Prints a message for each file that cannot be read and each line that is not a setting. */
void vt_settings_file_check(void);
/* Returns the name of setting number i of the files; NULL: i is too large. */
const char *vt_settings_file_name(unsigned i);

/* ---- state.c ---- */

/* The functions of libc that libvtrace.so.1 itself wraps: those that create and end threads and processes, and
   locks. */

/* Exports a symbol without a version: a preloaded library then defines the symbol for all versions that programs
   use. */
#define VT_CALL_EXPORT __attribute__((visibility("default")))

/* A wrapped function. */
struct vt_call {
    const char *name;
    uint8_t paradigm, role; /* enum vt_paradigm, vt_role */
    _Atomic uint32_t region; /* 0: not called yet, or not recorded */
    void *_Atomic next; /* next definition of the function; NULL: not looked up yet */
};

/* Looks up the next definition of a function: of libc, or of another tool between libc and vtrace. Keeps errno. Returns
   a function that fails with ENOSYS if there is no definition. */
void *vt_call_find(struct vt_call *c);

static inline void *vt_call_next(struct vt_call *c)
{
    void *next = atomic_load_explicit(&c->next, memory_order_relaxed);
    return VT_LIKELY(next) ? next : vt_call_find(c);
}

#pragma GCC visibility pop

#endif
