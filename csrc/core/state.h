/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the process and its settings. All layers read vt_process. process.c owns vt_process: it fills settings
   and head when recording starts, and again in a forked child. Members that change later are atomic, or protected by
   the lock `naming`. */
#ifndef VT_STATE_H
#define VT_STATE_H

#include <stdatomic.h>
#include <stdint.h>
#include "core.h"

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

enum vt_mode { VT_MODE_TRACE = 0, VT_MODE_RING = 1 };
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
};

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
    uint64_t *alive; /* in a wiped page: id of the process that records; 0 in a forked child */
};

#pragma GCC visibility push(hidden)

extern struct vt_process vt_process;
extern struct vt_scratch vt_scratch; /* protected by vt_process.naming */

/* Returns 1 if this process itself, not its parent, has started recording. */
int vt_is_recording(void);
/* Returns 1 in the child of a vfork: the memory and the recording belong to its parent. */
int vt_is_other_process(void);

#pragma GCC visibility pop

#endif
