/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of waits in the order of the replay: each wait follows the waits on which it depends. */
#ifndef VT_WAIT_LOG_H
#define VT_WAIT_LOG_H

#include <stdint.h>

/* The wait of a call for a partner. Calls are places in the times of their locations; meet: VT_NONE if unknown. */
struct vt_logged {
    int64_t enter, until, leave;
    uint32_t location, call, node, kind;
    uint32_t partner, partner_call, partner_node;
    uint32_t previous; /* 1 + number of the location's previous wait; 0: none */
    uint32_t meet, partner_meet; /* the two calls in which the locations met last */
};

#define VT_LOG_BLOCK 1024u /* number of waits in a block */
#define VT_LOG_BLOCKS 128u /* number of blocks in memory */

struct vt_logged_call {
    uint32_t location, call;
};

struct vt_wait_log {
    int file;
    uint64_t count, room;
    struct vt_logged_call *calls; /* the calls of all waits */
    struct vt_logged *last; /* the open block */
    struct vt_logged *blocks; /* a cache */
    uint64_t *kept; /* 1 + number of each block in the cache */
};

/* Returns 0 without memory. */
int vt_log_open(struct vt_wait_log *log, int file);
void vt_log_close(struct vt_wait_log *log);
/* Appends a wait. Returns 0 without memory or if writing fails. */
int vt_log_add(struct vt_wait_log *log, const struct vt_logged *one);
/* Returns a wait, valid until the next call; NULL if reading fails. */
const struct vt_logged *vt_log_get(struct vt_wait_log *log, uint64_t number);
/* Reads bytes of a file. Returns 0 on failure. */
int vt_read_all(int file, void *to, uint64_t bytes, uint64_t offset);

#endif
