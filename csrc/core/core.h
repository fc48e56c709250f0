/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of the runtime (libvtrace.so.1, symbol version VTRACE_1) for shims. Everything here is part of the
   binary interface: the MPI shim stands in the user's executable and may be older than the library.
   No function changes errno, blocks, or allocates with malloc. */
#ifndef VT_CORE_H
#define VT_CORE_H

#include <stddef.h>
#include <stdint.h>
#include "format.h"

#define VT_ABI 1 /* the runtime keeps older shims and refuses newer ones with one warning */

/* Paradigms and region roles have OTF2's numbers (OTF2_Paradigm, OTF2_RegionRole); tests compare them. */
enum vt_paradigm {
    VT_PARADIGM_USER = 1,
    VT_PARADIGM_COMPILER = 2,
    VT_PARADIGM_OPENMP = 3,
    VT_PARADIGM_MPI = 4,
    VT_PARADIGM_PTHREAD = 7,
    VT_PARADIGM_NONE = 22
};
enum vt_role {
    /* clang-format off */
    VT_ROLE_FUNCTION = 1, VT_ROLE_BARRIER = 15, VT_ROLE_COLL_ONE2ALL = 23, VT_ROLE_COLL_ALL2ONE = 24,
    VT_ROLE_COLL_ALL2ALL = 25, VT_ROLE_COLL_OTHER = 26, VT_ROLE_FILE_IO = 27, VT_ROLE_POINT2POINT = 28,
    VT_ROLE_RMA = 29, VT_ROLE_THREAD_CREATE = 32, VT_ROLE_THREAD_WAIT = 33, VT_ROLE_ALLOCATE = 35,
    VT_ROLE_DEALLOCATE = 36, VT_ROLE_REALLOCATE = 37,
    /* clang-format on */
    VT_ROLE_FILE_IO_METADATA = 38,
};

#pragma GCC visibility push(default)

/* ---- Attaching ---- */
enum vt_shim_kind { VT_SHIM_MPI = 1, VT_SHIM_IO = 2, VT_SHIM_MEMORY = 3, VT_SHIM_OPENMP = 4 };

struct vt_shim {
    uint32_t size, abi; /* sizeof(struct vt_shim), VT_ABI as the shim was compiled */
    uint32_t kind;      /* enum vt_shim_kind; 0: another, which no setting switches off */
    uint32_t unused;
    const char *name;    /* "MPICH 5.0.2": for messages; of an MPI shim for the trace's properties */
    const char *version; /* vtrace version that built the shim */
    /* Of an MPI shim, or NULL: recording goes off (0, told before), or is on again (1, told after). Older shims have
       no such member. */
    void (*switched)(int on);
    /* Of an MPI shim, or NULL: measures how far the clocks of all ranks are apart, when all of them call VT_TIMESYNC. */
    void (*synchronize)(void);
};

/* Starts the runtime if need be. 1: record; 0: stay passive (class off by VT_MPITRACE, runtime off, ABI too new).
   -1, for I/O and memory only: not now, this thread is starting the runtime, and its call comes from there.
   A shim of I/O or memory that VT_IOTRACE or VT_MEMTRACE does not ask for starts nothing; it reads the environment,
   which is not there yet (environ is NULL) when ld.so itself calls malloc. */
int vt_attach(const struct vt_shim *shim);

/* The value in force of a setting that is a number, a size in bytes, or yes (1) or no (0); 0 for an unknown name. */
uint64_t vt_setting(const char *name);

/* For `vtrace settings`: what a program started now would obey, one line each: name, value, default ("" where it is not fixed),
   what the environment says, meaning, default in words ("" where it is a number), and what the setting may leave out of a trace
   ("", "part" or "whole" of the run), with tabs between them. Complains on stderr about wrong values and starts nothing.
   Returns the bytes. */
size_t vt_settings_list(char *into, size_t bytes);

/* ---- Recording: cheap, from any thread, also from signal handlers ---- */
void vt_enter(uint32_t region);
void vt_leave(uint32_t region);

/* Writes n <= 64 words of one or more whole records (see format.h) at one moment, now: the upper half of
   words[0] is filled in here, in the heads of further records it must be 0. words is changed. */
void vt_write(uint64_t *words, unsigned n);

/* The same for so many words. */
void vt_write_1(uint64_t a);
void vt_write_2(uint64_t a, uint64_t b);
void vt_write_3(uint64_t a, uint64_t b, uint64_t c);
void vt_write_4(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
void vt_write_5(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* One word of a record's head, for vt_write. */
#define VT_HEAD(kind, words, id) ((uint64_t)VT_WHAT(kind, words, id))

/* 1: this is the child of a vfork, in the memory of its parent. The runtime drops its records; a shim must leave its own
   state of the process as it is. */
int vt_shares_memory(void);

/* The runtime's vfork, for shims that are preloaded: their libvtrace.so.1 comes behind libc, and its vfork is not called. */
int vt_vfork(void);

/* Switches the recording of this process off (0) and on. Regions entered while it was off and still open are entered
   when it goes on; those left meanwhile are left. */
void vt_switch(int on);

/* ---- Functions ---- */
enum vt_how {
    VT_SHOWN = 0,
    VT_FILTERED = 1, /* all others are the runtime's own */
};

/* The rules for hooks in executables and libraries (csrc/hooks), which may be older than the runtime: more members may be
   appended. The fields may change concurrently; load `bytes` (acquire) before the others. */
struct vt_inside {
    uintptr_t bytes, start; /* the code that map tells of; 0 bytes: none */
    const uint8_t *map; /* of every 16 bytes of it: enum vt_how of the functions that begin there */
    void (*enter)(void *function, void *site), (*leave)(void *function, void *site); /* of those that are VT_SHOWN */
    void (*ask_enter)(void *function, void *site), (*ask_leave)(void *function, void *site); /* of all others */
};

/* For the hooks of the module whose code holds an address: what to go by now. *keep becomes that, unless it holds for this call
   only. The returned structure stays as long as the module is loaded. */
const struct vt_inside *vt_inside(const struct vt_inside **keep, uintptr_t code);

/* ---- Definitions ---- */
enum vt_id {
    /* clang-format off */
    VT_ID_REGION, VT_ID_COMM, VT_ID_METRIC, VT_ID_REQUEST, VT_ID_ATTRIBUTE, VT_ID_IO_FILE, VT_ID_IO_HANDLE, VT_ID_RMA_WIN,
    VT_ID_GROUP, VT_ID_TEXT, VT_ID_MARKER, VT_ID_USER_COMM, VT_ID_TEAM, VT_IDS
    /* clang-format on */
};

/* The next free id of a kind in this process, from 1. Requests have 64 bits, others at most VT_ID_MAX:
   beyond that 0 is returned, and what would have used it must not be recorded. */
uint64_t vt_new_id(enum vt_id kind);

/* Returns the new region's id, 0 when there are too many or nothing is recorded. file may be NULL. */
uint32_t vt_define_region(const char *name, uint8_t paradigm, uint8_t role, const char *file, uint32_t line);

/* The same for a region whose file and line vtunify finds by an address in the code. */
uint32_t vt_define_region_at(const char *name, uint8_t paradigm, uint8_t role, uintptr_t code);

/* How many calls of this name, of the group "MPI", "LIBC-I/O", "LIBC-MALLOC"..., a filter lets into the trace; VT_CALL_ALL. */
#define VT_CALL_ALL (-1)
int64_t vt_call_limit(const char *name, const char *group);

/* 1: none. Called by no shim of this version, but by MPI shims in programs that were built before vt_call_limit. */
int vt_hides(const char *name, const char *group);

/* The same for one call, which counts where a rule has a limit: whoever gets VT_CALL_COUNTED asks again at the next call, and
   keeps its region's id in *region meanwhile (0 at first). The two other answers hold for good. name: always the same pointer. */
enum vt_take { VT_CALL_HIDDEN = 0, VT_CALL_SHOWN = 1, VT_CALL_COUNTED = 2 };
enum vt_take vt_take_call(const char *name, const char *group, uint32_t **region);

/* For `vtrace filter`: the limit (calls, -1 all) that the rules of VT_FILTER_SPEC set for a function that is shown as name;
   into: the pattern that hits, its line and the number of rules, in lines of their own. */
long vt_filter_explain(const char *name, const char *group, uint32_t rank, char *into, size_t bytes);

/* Writes one definition (a MessagePack array made with core/msgpack.h, at most 60 000 bytes) to the calling
   thread's definitions, before any event that the thread records later. Returns 0 when it is lost. */
int vt_define(const void *bytes, size_t n);

/* Makes known which file the code at an address is of, before a definition that names the address. */
void vt_note_code(uintptr_t address);

#define VT_NO_LOCATION 0xffffffffu
/* The number of the calling thread's location in this process; VT_NO_LOCATION: it is not recorded. */
uint32_t vt_location_number(void);

/* ---- The world ---- */
struct vt_world {
    uint32_t size; /* sizeof(struct vt_world) */
    uint32_t rank, world_size;
    uint32_t count; /* what vt_take_count gave to the one whose run id it is */
    uint64_t world; /* random number that rank 0 chose with vt_random */
    uint8_t run[16]; /* rank 0's run id */
};

/* This process's run id (16 bytes), before the ranks agree on one. */
void vt_run_id(uint8_t run[16]);
uint64_t vt_random(void);

/* At MPI_Init, before vt_set_world, by the process whose run id all take: the number behind the prefix of the run's files, 0
   none. Other runs wait until vt_set_world has taken the names. */
uint32_t vt_take_count(void);

/* After MPI_Init: from here on the process has its rank, and its files that name. Once per process. */
void vt_set_world(const struct vt_world *world);

/* Writes all that is recorded so far to the local files (at MPI_Finalize; the end of the program does it too). */
void vt_complete(void);

/* The same as vt_complete, as one of the VT_MAX_FLUSHES that the calling thread's buffer may be written. */
void vt_flush_together(void);

/* How full the fullest thread's buffer is, in percent. */
unsigned vt_buffer_level(void);

/* ---- Help for shims ---- */
/* Has this called by each thread that recorded, but the first, when it ends; it may record then and afterwards. Only the
   memory shim's: the last one given counts. */
void vt_at_thread_end(void (*call)(void));
/* Zeroed pages that live as long as the process, NULL when there is no memory. */
void *vt_pages(size_t bytes);
/* One line "vtrace: ..." on stderr, at most once per process for equal format, if VT_VERBOSE >= 1. No %f. */
void vt_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Clock ticks now; not for records. */
uint64_t vt_ticks(void);

#pragma GCC visibility pop

#endif
