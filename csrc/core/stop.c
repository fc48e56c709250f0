/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops recording before the end of the program: VT_MAX_FLUSHES, VT_MAX_SIZE, no memory, or no space for files. A LIMIT
   record states the reason in the location that stops, even if the process is killed later. VT_MAX_SIZE first stops
   functions, I/O, memory and the user API; its last twentieth is reserved for MPI, threads and processes. */
#define _GNU_SOURCE
#include <sys/statfs.h>
#include "location.h"

#define RESERVE 20 /* 1/RESERVE of VT_MAX_SIZE */
#define GIB (UINT64_C(1) << 30)

/* Writes a LIMIT record into the current chunk, or after the records of a chunk that could not be written. Each chunk
   keeps VT_LIMIT_WORDS free for the record. */
static void put_limit(struct vt_location *l, enum vt_lost why)
{
    if (!vt_location_lock(l)) return;
    struct vt_chunk *c = l->chunk ? l->chunk : l->full_last;
    uint64_t *begin = c ? vt_chunk_words(c) + vt_chunk_used(c) / 8 : NULL;
    if (c && vt_chunk_end(c) - begin >= VT_LIMIT_WORDS / 2) {
        uint64_t *at = vt_stamp(l, begin, VT_HEAD(VT_K_LIMIT, 1, why), vt_now());
        *at++ = VT_CLASS_ALL;
        if (c == l->chunk) l->cursor = at;
        else {
            /* the chunk has been replayed already */
            uint32_t records = at - begin > 2 ? 2 : 1;
            c->used += (uint32_t)(8 * (at - begin));
            c->records += records;
            c->classes |= VT_CLASS_CONTROL;
            c->end_ticks = l->last;
            VT_SET(l->records, l->records + records);
        }
        __atomic_store_n(&c->head, (uint16_t)(uintptr_t)at, __ATOMIC_RELEASE);
    }
    vt_location_unlock(l);
}

/* told: 1 if the LIMIT record is already written. Requires that l->busy is set. */
void vt_stop(struct vt_location *l, enum vt_lost why, int told)
{
    if (!told) put_limit(l, why);
    VT_SET(l->stopped, why);
    l->lost_why = why;
    VT_SET(l->limit, NULL);
    if (why == VT_LOST_MEMORY)
        vt_warn("no memory for more events: recording stops; set a smaller VT_BUFFER_SIZE and VT_MAX_FLUSHES=0");
}

/* ---- VT_MAX_SIZE ---- */

/* Returns the limit on the bytes of local files of this process. Default: 1 GiB, but at most the share of this process
   in 10 GiB and in a tenth of the free space; the processes of the node share both. The default is at least
   VT_BUFFER_SIZE while there is enough space. */
static uint64_t max_size(struct vt_location *l)
{
    const struct vt_settings *set = &vt_process.set;
    uint64_t n = set->processes ? set->processes : 1, known = atomic_load(&vt_process.max_size);
    uint64_t room = UINT64_MAX, most = 10 * GIB;
    struct statfs fs;
    if (set->budget) return vt_budget_limit();
    if (set->max_size || known) return set->max_size ? set->max_size : known;
    if (VT_SYS2(statfs, set->gdir, &fs) >= 0 && fs.f_blocks) room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    if (most > room / 10) most = room / 10;
    int by_disk = most < 10 * GIB && most / n < GIB;
    most = most / n < GIB ? most / n : GIB;
    if (most < set->buffer_size) most = set->buffer_size < room / n ? set->buffer_size : room / n;
    atomic_store(&vt_process.small_disk, by_disk);
    atomic_store(&vt_process.max_size, most);
    vt_define_size(l, most, by_disk);
    return most;
}

/* Stops classes of records in all locations. */
static void stop_all(enum vt_full full)
{
    atomic_store(&vt_process.full, full);
    vt_limits_clear();
}

/* Runs after a location has written to its files. A single flush may exceed the limit; the reserve is added in this
   case, too. */
void vt_size_check(struct vt_location *l)
{
    uint64_t most = max_size(l), written = atomic_load(&vt_process.written), none = 0;
    uint64_t end = written + most / RESERVE;
    if (written < most - most / RESERVE) return;
    if (atomic_compare_exchange_strong(&vt_process.all_at, &none, end > most ? end : most)) stop_all(VT_FULL_FIRST);
    else if (written >= none) stop_all(VT_FULL_ALL);
}

/* Brings a location to the state of the process, at its next event. Requires that l->busy is set. */
void vt_size_follow(struct vt_location *l, uint64_t now)
{
    uint32_t full = atomic_load(&vt_process.full);
    uint64_t words[2] = {VT_HEAD(VT_K_LIMIT, 1, vt_size_reason()), full == VT_FULL_ALL ? VT_CLASS_ALL : VT_CLASS_FIRST};
    l->size = full;
    if (l->stopped) return;
    if (vt_location_lock(l)) { /* a rewind would discard the LIMIT record */
        l->mark.voided |= l->mark.chunk != NULL;
        l->mark.chunk = NULL;
        vt_location_unlock(l);
    }
    vt_put_record(l, words, 2, now < l->last ? l->last : now);
    if (full == VT_FULL_ALL) vt_stop(l, vt_size_reason(), 1);
    else if (!l->off) l->nmissed = 0;
}

static void *goes_first; /* a bit for each id: the regions that VT_MAX_SIZE stops first */

void vt_size_region(uint32_t id, uint8_t paradigm, uint8_t role)
{
    int is_user = paradigm == VT_PARADIGM_USER || paradigm == VT_PARADIGM_COMPILER;
    int is_io = role == VT_ROLE_FILE_IO || role == VT_ROLE_FILE_IO_METADATA;
    int is_memory = role >= VT_ROLE_ALLOCATE && role <= VT_ROLE_REALLOCATE;
    if (!is_user && !(paradigm == VT_PARADIGM_NONE && (is_io || is_memory))) return;
    uint8_t *bits = vt_pages_once(&goes_first, VT_ID_MAX / 8 + 1);
    if (bits) __atomic_fetch_or(&bits[id / 8], 1u << id % 8, __ATOMIC_RELAXED);
}

/* Returns 1 if VT_MAX_SIZE stops this record first. */
int vt_size_goes_first(uint32_t what)
{
    const uint32_t classes = vt_kinds[what >> 24] & VT_KIND_CLASSES, id = VT_ID(what);
    const uint8_t *bits = __atomic_load_n(&goes_first, __ATOMIC_ACQUIRE);
    if (classes == VT_CLASS_REGION) return bits && VT_READ(bits[id / 8]) >> id % 8 & 1;
    return (classes & VT_CLASS_FIRST) != 0;
}
