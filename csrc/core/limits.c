/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of VT_FILTER_SPEC on the number of recorded calls. A limit counts the calls of all threads of the process.
   funwrap/filter_map.c applies the limits of functions with hooks.
   Memory order: the number of counted names is stored with release, so the entries below a number that was loaded with
   acquire are complete. */
#include <string.h>
#include "recording.h"

/* The groups of calls of libraries, and the classes of these calls in the ledger. */
static const struct {
    const char *group, *class;
} classes[] = {{"MPI", "mpi"},          {"LIBC-I/O", "io"}, {"LIBC-MALLOC", "memory"}, {"LIBC-EXEC", "processes"},
               {"Pthreads", "threads"}, {"OMP", "openmp"}};
#define CLASSES (sizeof classes / sizeof *classes)
static _Atomic uint32_t limited_classes; /* bits: the program has used a function of that class that has a limit */

int64_t vt_call_limit(const char *name, const char *group)
{
    const struct vt_names_of f = {.names = {name}, .mangled = name, .group = group};
    const int64_t limit = vt_filter_limit(&f);
    for (unsigned i = 0; limit != VT_CALL_ALL && i < CLASSES; i++)
        if (!strcmp(classes[i].group, group)) atomic_fetch_or(&limited_classes, 1u << i);
    return limit;
}

void vt_limits_define(struct vt_location *first)
{
    char text[64];
    struct vt_text t = vt_text_into(text, sizeof text);
    const uint32_t limited_now = atomic_load(&limited_classes);
    for (unsigned i = 0; i < CLASSES; i++) {
        if (!(limited_now >> i & 1)) continue;
        if (t.at > text) vt_text_add(&t, "+");
        vt_text_add(&t, classes[i].class);
    }
    if (limited_now) vt_define_property(first, "filter.classes", text);
}

int vt_hides(const char *name, const char *group) { return !vt_call_limit(name, group); }

/* ---- Functions whose wrappers call vt_take_call at each call ---- */

#define MOST_COUNTED 1024u
static struct counted {
    const char *name;
    _Atomic int64_t left;
    uint32_t region;
} counted[MOST_COUNTED];
static _Atomic uint32_t ncounted, counting; /* counting: the lock for new entries */

static struct counted *find_counted(const char *name)
{
    for (uint32_t i = 0; i < atomic_load_explicit(&ncounted, memory_order_acquire); i++)
        if (counted[i].name == name) return &counted[i];
    return NULL;
}

static struct counted *count_calls(const char *name, int64_t limit)
{
    uint64_t mask;
    vt_lock(&counting, &mask);
    struct counted *c = find_counted(name);
    uint32_t n = atomic_load(&ncounted);
    if (!c && n < MOST_COUNTED) {
        c = &counted[n];
        c->name = name;
        atomic_store(&c->left, limit);
        atomic_store_explicit(&ncounted, n + 1, memory_order_release);
    }
    vt_unlock(&counting, &mask);
    return c;
}

enum vt_take vt_take_call(const char *name, const char *group, uint32_t **region)
{
    struct counted *c = find_counted(name);
    if (!c) {
        int64_t limit = vt_call_limit(name, group);
        if (limit <= 0) return limit ? VT_CALL_SHOWN : VT_CALL_HIDDEN;
        if (!(c = count_calls(name, limit))) return VT_CALL_SHOWN;
    }
    if (!vt_take_one(&c->left)) return VT_CALL_HIDDEN;
    *region = &c->region;
    return VT_CALL_COUNTED;
}

/* ---- Regions of the user API ---- */

#define MOST_LIMITED 4096u
static struct {
    uint32_t region;
    _Atomic int64_t left;
} limited[MOST_LIMITED];
static _Atomic uint32_t nlimited = 1;

uint32_t vt_limited_new(uint32_t region, int64_t limit)
{
    uint32_t n = atomic_fetch_add(&nlimited, 1);
    if (n >= MOST_LIMITED) {
        atomic_store(&nlimited, MOST_LIMITED);
        vt_warn("VT_FILTER_SPEC limits more than %u regions: the others are recorded without a limit", MOST_LIMITED);
        return 0;
    }
    limited[n].region = region;
    atomic_store(&limited[n].left, limit);
    return n;
}

int vt_limited_is_given(uint32_t number) { return number < MOST_LIMITED && VT_READ(limited[number].region); }

/* When the limit of a region is reached, all later calls are not recorded. The unrecorded open calls of a thread are
   therefore its innermost ones, and a counter per thread is sufficient to match the leaves. */
uint32_t vt_limited_begin(uint32_t number) { return vt_take_one(&limited[number].left) ? limited[number].region : 0; }

void vt_limited_leave_out(struct vt_location *l, uint32_t number)
{
    if (!l) return;
    if (!l->left_out) l->left_out = vt_pages_wiped(MOST_LIMITED * sizeof *l->left_out);
    if (l->left_out) l->left_out[number]++;
}

uint32_t vt_limited_end(uint32_t number)
{
    struct vt_location *l = vt_own_location;
    if (!l || !l->left_out || !l->left_out[number]) return limited[number].region;
    l->left_out[number]--;
    return 0;
}

void vt_limited_reset(struct vt_location *l)
{
    for (uint32_t i = 0; l->left_out && i < MOST_LIMITED; i++) l->left_out[i] = 0;
}
