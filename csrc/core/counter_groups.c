/* SPDX-License-Identifier: BSD-3-Clause */
/* The interval between the values of an enter and those of its leave contains the region and nothing of vtrace: an
   enter reads the values before the clock, a leave after the clock. */
#define _GNU_SOURCE
#include <string.h>
#include "recording.h"

enum { AT_MPI = 1, AT_OPENMP = 2, AT_USER = 4, AT_THREADS = 8, AT_IO = 16, AT_SAMPLES = 32 };

static const struct {
    const char *name;
    uint32_t bit;
} places[] = {{"mpi", AT_MPI},         {"openmp", AT_OPENMP}, {"user", AT_USER},
              {"threads", AT_THREADS}, {"io", AT_IO},         {"samples", AT_SAMPLES}};

static vt_read_counters *read_counters;
static uint32_t chosen = AT_MPI | AT_OPENMP | AT_USER | AT_SAMPLES;
static uint8_t *regions; /* bit set of the chosen regions; NULL: no counters */

static uint32_t bit_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strlen(places[i].name) == length && !memcmp(places[i].name, word, length)) return places[i].bit;
    return 0;
}

size_t vt_groups_start(vt_read_counters *read, const char *where, const char **wrong)
{
    uint32_t bits = 0;
    for (size_t length; *where; where += length + (where[length] != 0)) {
        length = strcspn(where, ":,");
        if (length && !bit_of(where, length)) {
            *wrong = where;
            return length;
        }
        bits |= bit_of(where, length);
    }
    if (bits) chosen = bits;
    if (!regions && !(regions = vt_pages(VT_ID_MAX / 8 + 1))) return 0;
    read_counters = read;
    vt_sees_records = 1;
    return 0;
}

void vt_groups_region(uint32_t id, uint8_t paradigm, uint8_t role)
{
    uint32_t bit = 0;
    if (paradigm == VT_PARADIGM_MPI) bit = AT_MPI;
    else if (paradigm == VT_PARADIGM_OPENMP) bit = AT_OPENMP;
    else if (paradigm == VT_PARADIGM_USER) bit = AT_USER;
    else if (paradigm == VT_PARADIGM_PTHREAD) bit = AT_THREADS;
    else if (role == VT_ROLE_FILE_IO || role == VT_ROLE_FILE_IO_METADATA) bit = AT_IO;
    if (regions && bit & chosen) __atomic_fetch_or(&regions[id / 8], 1u << id % 8, __ATOMIC_RELAXED);
}

enum vt_kind vt_groups_want(const uint64_t *words, unsigned n)
{
    if (!read_counters) return 0;
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i])) {
        uint32_t what = (uint32_t)words[i], id = VT_ID(what);
        if (what & VT_FUNCTION) continue;
        if (VT_KIND(what) == VT_K_SECTION && chosen & AT_USER) return words[i + 1] ? VT_K_ENTER : VT_K_LEAVE;
        if (VT_KIND(what) != VT_K_ENTER && VT_KIND(what) != VT_K_LEAVE) continue;
        if (VT_READ(regions[id / 8]) >> id % 8 & 1) return VT_KIND(what);
    }
    return 0;
}

void vt_groups_write(struct vt_location *l, enum vt_kind kind, const uint64_t *words, unsigned n)
{
    uint64_t values[VT_GROUP_WORDS], now;
    /* VT_START_AFTER may switch recording on with this record, which has values then */
    if (vt_window_is_due(UINT64_MAX - 1) && vt_window_is_due(vt_now()) && l == vt_own_location) vt_window_apply(l);
    VT_SET(l->reads_counters, 1);
    now = kind == VT_K_LEAVE ? vt_now() : 0;
    int skips = l->stopped || atomic_load(&vt_process.off) || VT_READ(l->vforked);
    unsigned of_values = skips ? 0 : read_counters(l, 0, values);
    if (!now) now = vt_now();
    vt_busy_begin(l);
    if (now < l->last) now = vt_now(); /* a handler has recorded */
    if (of_values) vt_put(l, values, of_values, now);
    if (now < l->last) { /* a flush came after the values, which must have the time of the record */
        now = vt_now();
        if (of_values) vt_put(l, values, of_values, now);
    }
    VT_SET(l->reads_counters, 0);
    vt_put(l, words, n, now);
    vt_busy_end(l);
}

/* A sample between the reading of values and their record would have newer values at an earlier time. */
unsigned vt_groups_sample(struct vt_location *l, uint64_t words[VT_GROUP_WORDS])
{
    if (!read_counters || !(chosen & AT_SAMPLES) || VT_READ(l->reads_counters)) return 0;
    return read_counters(l, 1, words);
}
