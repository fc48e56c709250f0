/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the process and its settings. All layers read vt_process; process.c owns it: it fills settings and head when
   recording starts, and renews them in a forked child. Members that change later are atomic or under `naming`. */
#ifndef VT_STATE_H
#define VT_STATE_H

#include <stdatomic.h>
#include <stdint.h>
#include "core.h"

#define VT_PAGE 4096u
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

enum vt_state { VT_NEW = 0, VT_STARTING = 1, VT_ON = 2, VT_ENDED = 3, VT_FAILED = 4 };

enum vt_mode { VT_MODE_TRACE = 0, VT_MODE_RING = 1 };
enum vt_pthread { VT_PTHREAD_NO = 0, VT_PTHREAD_YES = 1, VT_PTHREAD_LOCKS = 2 };

/* How much of VT_MAX_SIZE is used up: what VT_CLASS_FIRST names is no longer recorded, then nothing. */
enum vt_full { VT_FULL_NOT = 0, VT_FULL_FIRST = 1, VT_FULL_ALL = 2 };

struct vt_settings {
#define NUMBER(name, field, ...) uint64_t field;
#define TEXT(name, field, bytes, ...) char field[bytes];
#include "settings_table.h"
    uint64_t processes; /* of the node, as the launcher says; 0: it does not */
    uint32_t speaks; /* this process says what is wrong with the settings */
    uint32_t unique; /* VT_FILE_UNIQUE: 0 no, a number, or VT_UNIQUE_YES */
    uint32_t count; /* what stands behind the prefix, 0 none */
    char base[256]; /* the prefix without the count */
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
    uint64_t *alive; /* in a wiped page: id of the process that records; 0 tells a forked child */
};

#pragma GCC visibility push(hidden)

extern struct vt_process vt_process;
extern struct vt_scratch vt_scratch; /* under vt_process.naming */

int vt_is_recording(void); /* this process itself, already */
int vt_is_other_process(void); /* a vfork child: the memory is its parent's, and so is the recording */

#pragma GCC visibility pop

#endif
