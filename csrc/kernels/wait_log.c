/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "replayed.h"
#include <stdlib.h>
#include <unistd.h>

#define BYTES (VT_LOG_BLOCK * sizeof(struct vt_logged))

int vt_log_open(struct vt_wait_log *log, int file)
{
    *log = (struct vt_wait_log){.file = file};
    log->blocks = malloc(VT_LOG_BLOCKS * BYTES);
    log->places = calloc(VT_LOG_BLOCKS, sizeof *log->places);
    return log->blocks && log->places;
}

void vt_log_close(struct vt_wait_log *log)
{
    free(log->blocks);
    free(log->places);
    *log = (struct vt_wait_log){.file = -1};
}

/* Writes a block to the file. Returns 0 if writing fails. */
static int write_block(const struct vt_wait_log *log, const struct vt_logged *block, uint64_t number)
{
    const char *p = (const char *)block;
    off_t at = (off_t)(number * BYTES);
    for (size_t left = BYTES; left;) {
        const ssize_t done = pwrite(log->file, p, left, at);
        if (done <= 0) return 0;
        p += done;
        at += done;
        left -= (size_t)done;
    }
    return 1;
}

int vt_read_all(int file, void *to, uint64_t bytes, uint64_t offset)
{
    for (char *p = to; bytes;) {
        const ssize_t got = pread(file, p, bytes, (off_t)offset);
        if (got <= 0) return 0;
        p += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return 1;
}

/* Returns a block, from the file unless it is new. The block that had its place goes to the file. NULL if reading or
   writing fails. */
static struct vt_logged *block_of(struct vt_wait_log *log, uint64_t number, int is_new)
{
    const uint64_t slot = number % VT_LOG_BLOCKS;
    struct vt_log_place *place = &log->places[slot];
    struct vt_logged *here = log->blocks + slot * VT_LOG_BLOCK;
    if (place->kept == number + 1) return here;
    if (place->kept && !place->in_file && !write_block(log, here, place->kept - 1)) return NULL;
    place->kept = 0;
    if (!is_new && !vt_read_all(log->file, here, BYTES, number * BYTES)) return NULL;
    *place = (struct vt_log_place){number + 1, !is_new};
    return here;
}

struct vt_logged *vt_log_add(struct vt_wait_log *log)
{
    struct vt_logged *here = block_of(log, log->count / VT_LOG_BLOCK, 1);
    return here ? &here[log->count++ % VT_LOG_BLOCK] : NULL;
}

const struct vt_logged *vt_log_get(struct vt_wait_log *log, uint64_t number)
{
    const struct vt_logged *here = block_of(log, number / VT_LOG_BLOCK, 0);
    return here ? &here[number % VT_LOG_BLOCK] : NULL;
}

/* ---- Times of call paths ---- */

/* Reads the times of call paths that are in a file by blocks. The search for causes goes backwards in time, so most
   times are in a block that is in memory. */

#define BLOCK 64u /* the least number of times in a block */
#define BLOCK_MAX 1024u
#define TIMES (1u << 20) /* times in memory, shared by all locations */
#define ROW_MAX 16u /* bytes of a packed time */

static uint64_t bytes_of(uint64_t times) { return times * ROW_MAX + VT_PACKED_SLACK; }

int vt_times_open(struct vt_time_blocks *t, uint64_t locations)
{
    for (t->block = BLOCK_MAX; t->block > BLOCK && TIMES / t->block < 4 * locations;) t->block /= 2;
    t->blocks = malloc(TIMES / t->block * bytes_of(t->block));
    t->kept = calloc(TIMES / t->block, sizeof *t->kept);
    return t->blocks && t->kept;
}

void vt_times_close(struct vt_time_blocks *t)
{
    free(t->blocks);
    free(t->kept);
}

uint64_t vt_times_at(struct vt_replayed *r, uint32_t location, uint64_t at, struct vt_packed_times *found)
{
    struct vt_time_blocks *t = &r->times;
    const struct vt_location_ends *place = &r->out->places[location];
    *found = vt_packed_times((const unsigned char *)(uintptr_t)place->times, place->times_widths);
    if (place->times) {
        found->rows += at * found->row;
        return place->ntimes - at;
    }
    const uint64_t block = at / t->block, first = block * t->block, left = place->ntimes - first;
    const uint64_t slot = (location * 0x9e3779b1ull + block) % (TIMES / t->block);
    const uint64_t key = (uint64_t)location << 32 | (block + 1), count = left < t->block ? left : t->block;
    unsigned char *here = t->blocks + slot * bytes_of(t->block);
    if (t->kept[slot] != key) {
        const uint64_t from = place->times_offset + first * found->row;
        t->kept[slot] = 0;
        if (!vt_read_all((int)place->file, here, count * found->row + VT_PACKED_SLACK, from)) return 0;
        t->kept[slot] = key;
    }
    found->rows = here + (at - first) * found->row;
    return count - (at - first);
}
