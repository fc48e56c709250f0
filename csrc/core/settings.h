/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer of the settings: values from the environment, the clock, names of files, and the run. */
#ifndef VT_SETTINGS_H
#define VT_SETTINGS_H

#include <stddef.h>
#include <stdint.h>
#include "system.h"

#pragma GCC visibility push(hidden)

/* ---- settings.c ---- */

/* The settings, from the environment. An invalid value causes a message, never a failure. settings.c owns the table of
   all settings. */

/* Reads all settings from the environment; vt_process.set only once. */
void vt_settings_read(struct vt_settings *set);
/* Returns the current value of setting number i, valid until the next call; "" for an empty text; NULL if i is too
   large. */
const char *vt_settings_value(size_t i, const char **name);
/* Writes a size in bytes with its unit, such as "1G". */
void vt_settings_show_size(char *into, size_t bytes, uint64_t size);
/* Returns 1 if shims of a kind (enum vt_shim_kind) need the runtime. May be called before the runtime starts. */
int vt_settings_want(uint32_t kind);
/* Returns 1 if the settings let shims of a kind record. */
int vt_settings_allow(uint32_t kind);
/* Returns the value of VT_PTHREAD. May be called before the runtime starts. */
enum vt_pthread vt_settings_pthread(void);
/* Returns the value of VT_EXECTRACE: 1 for yes. May be called before the runtime starts. */
int vt_exec_is_traced(void);

/* ---- setting_texts.c ---- */

/* Values of settings that are words: yes or no, a moment (VT_START_AFTER, VT_STOP_AFTER), a signal (VT_RING_SIGNAL), a
   rate (VT_SAMPLE_RATE), names (VT_SAMPLE_EVENT, VT_METRICS), patterns (VT_FUNCTIONS), iterations (VT_KEEP,
   VT_TRIGGER). */

/* Returns 1 for a word for yes, 0 for a word for no; -1 if the text is neither. */
int vt_setting_yes(const char *text);
/* Parses seconds ("10", "0.5" or "10s"; *value in ns) or calls of a region ("REGION:100"; *value is the number).
   Returns the length of the region's name; 0 for seconds; -1 if the text is neither. */
long vt_setting_moment(const char *text, uint64_t *value);
/* Parses a rate per second ("100"), or a time between two samples ("10ms", "2s", "500us"). *ns: the time; 0 for 0.
   Returns 0 if the text is neither, or beyond 10 000 per second or an hour. */
int vt_setting_rate(const char *text, uint64_t *ns);
/* Appends a time in the notation that vt_setting_rate reads. */
void vt_setting_show_rate(struct vt_text *t, uint64_t ns);
/* Returns the number of a signal; 0 if vtrace does not accept the signal. */
int vt_setting_signal(const char *name);
/* The iterations that stay in full (VT_KEEP). slowest: in millionths of all. 0: none by this rule. Of VT_TRIGGER: longer in
   ten-thousandths of the median, mpi in millionths of the time. */
struct vt_keep_rules {
    uint64_t first, every, slowest, longer, mpi;
    const char *counter; /* in the parsed text; NULL: none */
    size_t counter_bytes;
    double above;
};
#define VT_KEEP_ALL UINT64_C(1000000)
/* Parses rules such as "slowest:5%,every:100,first:10". Returns 0 if the text is something else. */
int vt_setting_keep(const char *text, struct vt_keep_rules *rules);
/* Parses "iteration > 1.5 x median", "mpi wait > 20 %" or "counter NAME > 1000" in the same way. */
int vt_setting_trigger(const char *text, struct vt_keep_rules *rules);

/* Reads such a setting from the environment into a text; "" if it is unset or invalid. speaks 1: prints a message if
   the value is invalid. */
void vt_setting_read_moment(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_signal(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_keep(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_trigger(int speaks, const char *name, char *into, size_t bytes);
void vt_setting_read_words(int speaks, const char *name, char *into, size_t bytes, const char *advice);
/* Checks that the settings are consistent; removes a VT_STOP_AFTER that is not later than VT_START_AFTER. */
void vt_setting_texts_check(struct vt_settings *set);

/* ---- clock.c: the clock of the records, and readings of all clocks at the same moment ---- */

extern int vt_clock_is_counter; /* 1: the clock is a counter of the processor; 0: CLOCK_MONOTONIC_RAW */
extern uint32_t vt_clock_step; /* as in struct vt_columns */
#define VT_CLOCK_READINGS 128
/* The step by which a counter advances, from VT_CLOCK_READINGS readings; 0: it advances by single ticks, or irregularly.
   Many counters advance by more than one tick at a time: AMD's time stamp counter advances by the ticks of a 100 MHz
   cycle. Times take fewer bytes as multiples of the step. Two readings may be several steps apart, plus or minus one
   tick. */
uint32_t vt_clock_step_of(const uint64_t *at);
/* Chooses the clock and measures vt_clock_step. */
enum vt_clock_kind vt_clock_choose(void);
/* The time of a POSIX clock in ns, from the kernel: no library that is preloaded can change it. CLOCK_MONOTONIC_RAW is
   that of the host, also in a time namespace. */
uint64_t vt_clock_ns(int id);
/* Nanoseconds by which this process's time namespace shifts CLOCK_MONOTONIC_RAW. vt_clock_choose reads it. */
extern int64_t vt_clock_shift;
/* Reads all clocks now. */
struct vt_clock_pair vt_clock_measure(void);
/* As vt_clock_measure, but the reading may be up to a second old. */
struct vt_clock_pair vt_clock_recent(void);

/* The clock of the records, in ticks. */
static inline uint64_t vt_now(void)
{
    return VT_LIKELY(vt_clock_is_counter) ? vt_counter() : vt_clock_ns(4 /* CLOCK_MONOTONIC_RAW */);
}

/* ---- file_locations.c ---- */

/* Directories and names of the local files, and the environment variables with which launchers describe the process. */

/* Returns the rank that the launcher has set in the environment, as text; NULL: no launcher has set a rank. Known
   before MPI_Init. Source: variables of Hydra, PMIx, Open MPI, MVAPICH, ALPS, PALS and Slurm. */
const char *vt_launcher_rank(void);
/* The number of processes that the launcher has started on this node, and of its ranks; 0: unknown. */
uint64_t vt_launcher_processes(void);
uint64_t vt_launcher_ranks(void);
/* Reads the settings of directories and names: VT_PFORM_GDIR, VT_PFORM_LDIR, VT_FILE_PREFIX and VT_FILE_UNIQUE. */
void vt_place_read(struct vt_settings *set);
/* Reads a setting that names an input file, and writes the absolute path to `into`; "" if there is none. */
void vt_place_read_path(const char *name, char *into, size_t bytes);
/* Changes the prefix to PREFIX_COUNT (guide 4.2.3.5). */
void vt_place_count(struct vt_settings *set, uint32_t count);
/* Adds xHOST-PID-START, the part of a file name that identifies a process without a rank. */
void vt_place_add_process(struct vt_text *t);
/* Returns 0, with a warning, if neither the buffer nor the local files can be written. If only the buffer can be
   written, vtunify reads the buffer. */
int vt_place_has_room(const struct vt_settings *set);

/* ---- lineage.c ---- */

/* The run of a process, and the environment variable that passes the run to the programs that the process starts. */

#define VT_FAMILY_NAME "VTRACE_PARENT="

/* Reads the run id that vtrace run chose. Returns 0 if there is none. */
int vt_lineage_run(uint8_t run[16]);
/* The default prefix of the run, which is that of its first program; NULL: this is the first program, or unknown. */
const char *vt_lineage_prefix(void);
/* 1: a program of the run has started this program. */
int vt_lineage_has_parent(void);
/* Writes the state of this process (vt_process) into the variable. */
void vt_lineage_tell(void);
/* Reads the variable into h (run, parent) and set (prefix, directories). Returns 0 if this program has no traced
   parent. */
int vt_lineage_read(struct vt_file *h, struct vt_settings *set);
/* 1: this process or one of its ancestors is a rank of an MPI_COMM_WORLD. */
int vt_lineage_has_rank(void);
/* Lets environ be an array with the variable while libc itself starts a program (system, popen): the array and the
   strings of the program stay as they are. Returns 1 if vt_lineage_return must follow; 0: there is nothing to pass, or
   another thread is in such a call. Must not be called in the child of a vfork. */
int vt_lineage_lend(void);
/* Gives environ back to the program. */
void vt_lineage_return(void);
/* Gives environ back in a child that was forked meanwhile, before the child's thread loses its location. */
void vt_lineage_forked(void);

/* ---- launcher.c: launchers of parallel programs and their helper processes ---- */

/* A process, from /proc/PID/stat. */
struct vt_process_stat {
    uint64_t began; /* start time in clock ticks since boot */
    uint32_t parent;
    char name[32], state; /* comm and state of proc(5) */
};

/* The launcher of this process, and the rank and number of ranks that the launcher has set. */
struct vt_launched {
    const char *launcher;
    uint32_t rank, ranks;
};

/* 1: this process is a launcher or its helper, not a rank. */
int vt_is_launcher(void);
/* Reads /proc/PID/stat. Returns 0 if there is no such process. */
int vt_process_stat(uint32_t pid, struct vt_process_stat *stat);
/* If a launcher has started this process, sets the run id that all processes of the launcher on this host share. */
void vt_launcher_run(struct vt_file *h);
/* Returns 1 if a launcher has started this process as one of several ranks. */
int vt_find_launcher(struct vt_launched *launched);

/* ---- prefix_claim.c: decides which run may use the file names PREFIX.* ---- */

/* State of the names of rank 0: free, taken by this run, or taken by another run or user. */
enum vt_names { VT_NAMES_FREE, VT_NAMES_OURS, VT_NAMES_OTHERS };

/* Locks the names, by flock on the directory of the files. Returns a descriptor, or -errno if the directory cannot be
   opened. */
long vt_names_claim(void);
/* Unlocks the names. */
void vt_names_disclaim(long claim);
/* Appends a number to the prefix of this run if it needs one. Returns the state of the resulting names. */
enum vt_names vt_names_settle(void);

#pragma GCC visibility pop

#endif
