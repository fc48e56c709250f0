/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of waits in the order of the replay: all that a wait depends on stands before it. */
#ifndef VT_WAIT_LOG_H
#define VT_WAIT_LOG_H

#include <stdint.h>

/* The wait of a call for a partner. Calls are places in the times of their locations; VT_NONE as meet: unknown. */
struct vt_logged {
    int64_t enter, until, leave;
    uint32_t location, call, node, kind;
    uint32_t partner, partner_call, partner_node;
    uint32_t previous; /* number of the location's wait before, + 1; 0: none */
    uint32_t meet, partner_meet; /* the calls in which the two met last */
};

#define VT_LOG_BLOCK 1024u /* waits in a block */
#define VT_LOG_BLOCKS 128u /* blocks in memory */

struct vt_logged_call {
    uint32_t location, call;
};

struct vt_wait_log {
    int file;
    uint64_t count, room;
    struct vt_logged_call *calls; /* of all waits */
    struct vt_logged *last; /* the open block */
    struct vt_logged *blocks; /* a cache */
    uint64_t *kept; /* number of each block in the cache, + 1 */
};

/* Returns 0 without memory. */
int vt_log_open(struct vt_wait_log *log, int file);
void vt_log_close(struct vt_wait_log *log);
/* Returns 0 without memory, or if the file cannot be written. */
int vt_log_add(struct vt_wait_log *log, const struct vt_logged *one);
/* A wait, valid until the next call; NULL if the file cannot be read. */
const struct vt_logged *vt_log_get(struct vt_wait_log *log, uint64_t number);
/* Reads bytes of a file. Returns 0 if this fails. */
int vt_read_all(int file, void *to, uint64_t bytes, uint64_t offset);

#endif
