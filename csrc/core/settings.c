/* SPDX-License-Identifier: BSD-3-Clause */
/* The VT_ variables that the traced program obeys: one table. Meanings, defaults and limits: guide, Table 4.5. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "file_locations.h"
#include "setting_texts.h"
#include "settings.h"
#include "text.h"

#define KIB 1024u
#define MIB (1024u * 1024u)
#define GIB (1024u * 1024u * 1024u)

enum type { SIZE, COUNT, YESNO, PTHREAD, MODE, BARRIER };

static const struct setting {
    const char *name;
    enum type type;
    size_t offset; /* of a uint64_t in struct vt_settings */
    uint64_t standard, least, most;
} table[] = {
#define FIELD(name) offsetof(struct vt_settings, name)
    {"VT_BUFFER_SIZE", SIZE, FIELD(buffer_size), 32 * MIB, 100 * KIB, UINT64_MAX / 2},
    {"VT_THREAD_BUFFER_SIZE", SIZE, FIELD(thread_buffer_size), 0, 100 * KIB, GIB},
    {"VT_MAX_FLUSHES", COUNT, FIELD(max_flushes), 0, 0, UINT32_MAX},
    {"VT_MAX_SIZE", SIZE, FIELD(max_size), 0, 1, UINT64_MAX / 2},
    {"VT_MODE", MODE, FIELD(mode), VT_MODE_TRACE, 0, VT_MODE_RING},
    {"VT_MAX_THREADS", COUNT, FIELD(max_threads), 65536, 1, 65536},
    {"VT_VERBOSE", COUNT, FIELD(verbose), 1, 0, 2},
    {"VT_MAX_STACK_DEPTH", COUNT, FIELD(max_stack_depth), 0, 0, UINT32_MAX},
    {"VT_SYNC_FLUSH", YESNO, FIELD(sync_flush), 0, 0, 1},
    {"VT_SYNC_FLUSH_LEVEL", COUNT, FIELD(sync_flush_level), 80, 0, 100},
    {"VT_CLOCK_COUNTER", YESNO, FIELD(clock_counter), 1, 0, 1},
    {"VT_CLEAN", YESNO, FIELD(clean), 1, 0, 1},
    {"VT_COMPRESSION", YESNO, FIELD(compression), 1, 0, 1},
    {"VT_MPITRACE", YESNO, FIELD(mpitrace), 1, 0, 1},
    {"VT_MPI_CALLSITES", COUNT, FIELD(mpi_callsites), 0, 0, 32},
    {"VT_MPI_BARRIER", BARRIER, FIELD(mpi_barrier), 0, 0, 3},
    {"VT_OMPTRACE", YESNO, FIELD(omptrace), 1, 0, 1},
    {"VT_IOTRACE", YESNO, FIELD(iotrace), 0, 0, 1},
    {"VT_MEMTRACE", YESNO, FIELD(memtrace), 0, 0, 1},
    {"VT_PTHREAD", PTHREAD, FIELD(pthread), VT_PTHREAD_YES, 0, VT_PTHREAD_LOCKS},
    {"VT_PTHREAD_REUSE", YESNO, FIELD(pthread_reuse), 1, 0, 1},
    {"VT_EXECTRACE", YESNO, FIELD(exectrace), 1, 0, 1},
    {"VT_PYTRACE", YESNO, FIELD(pytrace), 0, 0, 1}, /* python_hook/sitecustomize.py reads it */
    {"VT_MEMTRACE_THRESHOLD", SIZE, FIELD(memtrace_threshold), 0, 0, UINT64_MAX / 2},
#undef FIELD
};
#define SETTINGS (sizeof table / sizeof *table)

/* The settings that are texts: file_locations.c and filter.c read them. */
static const struct text_setting {
    const char *name;
    size_t offset; /* of a string in struct vt_settings */
} texts[] = {
#define FIELD(name) offsetof(struct vt_settings, name)
    {"VT_FILE_PREFIX", FIELD(prefix)},      {"VT_FILE_UNIQUE", FIELD(unique_text)},
    {"VT_PFORM_GDIR", FIELD(gdir)},         {"VT_PFORM_LDIR", FIELD(ldir)},
    {"VT_GNU_NMFILE", FIELD(nmfile)},       {"VT_FILTER_SPEC", FIELD(filter_spec)},
    {"VT_GROUPS_SPEC", FIELD(groups_spec)}, {"VT_RING_SIGNAL", FIELD(ring_signal)},
    {"VT_START_AFTER", FIELD(start_after)}, {"VT_STOP_AFTER", FIELD(stop_after)},
#undef FIELD
};
#define TEXTS (sizeof texts / sizeof *texts)

/* Read by others than the runtime, or without effect: of VampirTrace or abolished (guide, D.1.2). */
static const char *const others[] = {
    "VT_MPI_GROUPS", "VT_SHIM_CACHE", "VT_GNU_NM",  "VT_MAX_MPI_COMMS", "VT_MAX_MPI_WINS", "VT_PREFIX",
    "VT_WRAPPER",    "VT_INST",       "VT_CC",      "VT_CXX",           "VT_FC",           "VT_CFLAGS",
    "VT_CXXFLAGS",   "VT_FCFLAGS",    "VT_LDFLAGS", "VT_LIBS",
};

/* clang-format off */
static uint64_t *field(struct vt_settings *set, const struct setting *s) { return (uint64_t *)((char *)set + s->offset); }
/* clang-format on */

/* 0: not a number in digits, with K, M or G (1024-based) behind it where a size is meant. */
static int parse_number(const char *text, int size, uint64_t *value)
{
    uint64_t v = 0;
    const char *c = text;
    if (*c < '0' || *c > '9') return 0;
    for (; *c >= '0' && *c <= '9'; c++) {
        if (v > (UINT64_MAX - 9) / 10) return 0;
        v = v * 10 + (uint64_t)(*c - '0');
    }
    /* clang-format off */
    int shift = !*c ? 0 : !size || c[1] ? -1 : *c == 'K' || *c == 'k' ? 10 : *c == 'M' || *c == 'm' ? 20 :
                *c == 'G' || *c == 'g' ? 30 : -1;
    /* clang-format on */
    if (shift < 0 || v > UINT64_MAX >> shift) return 0;
    *value = v << shift;
    return 1;
}

static int parse_yesno(const char *text, uint64_t *value)
{
    static const char *const yes[] = {"yes", "on", "true", "1"}, *const no[] = {"no", "off", "false", "0"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(text, yes[i])) return *value = 1, 1;
        if (!strcasecmp(text, no[i])) return *value = 0, 1;
    }
    return 0;
}

/* yes, no or locks. */
static int parse_pthread(const char *text, uint64_t *value)
{
    if (strcasecmp(text, "locks")) return parse_yesno(text, value);
    *value = VT_PTHREAD_LOCKS;
    return 1;
}

static int parse_mode(const char *text, uint64_t *value)
{
    *value = strcasecmp(text, "ring") ? VT_MODE_TRACE : VT_MODE_RING;
    return *value == VT_MODE_RING || !strcasecmp(text, "trace");
}

static const char *const barriers[] = {"no", "before", "after", "both"};

static int parse_barrier(const char *text, uint64_t *value)
{
    for (uint64_t i = 0; i < 4; i++)
        if (!strcasecmp(text, barriers[i])) return *value = i, 1;
    return 0;
}

static int parse(const char *text, enum type type, uint64_t *value)
{
    if (type == BARRIER) return parse_barrier(text, value);
    if (type == YESNO) return parse_yesno(text, value);
    if (type == MODE) return parse_mode(text, value);
    return type == PTHREAD ? parse_pthread(text, value) : parse_number(text, type == SIZE, value);
}

static void show(char *into, size_t bytes, const struct setting *s, uint64_t v)
{
    struct vt_text t = vt_text_into(into, bytes);
    if (s->type == MODE) vt_text_add(&t, v == VT_MODE_RING ? "RING" : "TRACE");
    else if (s->type == BARRIER) vt_text_add(&t, barriers[v]);
    else if (s->type == YESNO || s->type == PTHREAD)
        vt_text_add(&t, v == VT_PTHREAD_LOCKS ? "locks" : v ? "yes" : "no");
    else {
        int unit = s->type == SIZE && v ? (v % GIB == 0 ? 3 : v % MIB == 0 ? 2 : v % KIB == 0 ? 1 : 0) : 0;
        vt_text_dec(&t, v >> 10 * unit);
        vt_text_add(&t, unit == 3 ? "G" : unit == 2 ? "M" : unit == 1 ? "K" : "");
    }
}

void vt_settings_show_size(char *into, size_t bytes, uint64_t size)
{
    const struct setting s = {.type = SIZE};
    show(into, bytes, &s, size);
}

/* " (100K to 1G)": of numbers and sizes. */
static void show_range(char *into, size_t bytes, const struct setting *s)
{
    struct vt_text t = vt_text_into(into, bytes);
    char end[32];
    if (s->type != SIZE && s->type != COUNT) return;
    show(end, sizeof end, s, s->least);
    int bounded = s->most <= UINT32_MAX;
    vt_text_add(&t, bounded ? " (" : " (at least ");
    vt_text_add(&t, end);
    show(end, sizeof end, s, s->most);
    if (bounded) {
        vt_text_add(&t, " to ");
        vt_text_add(&t, end);
    }
    vt_text_add(&t, ")");
}

static void read_one(struct vt_settings *set, const struct setting *s)
{
    static const char *const allowed[] = {"a size in bytes, K, M or G", "a whole number", "yes or no",
                                          "yes, no or locks",           "TRACE or RING",  "before, after, both or no"};
    const char *text = getenv(s->name);
    uint64_t v = s->standard;
    char used[32], range[64] = "";
    *field(set, s) = v;
    if (!text || !*text) return;
    show_range(range, sizeof range, s);
    if (!parse(text, s->type, &v)) {
        show(used, sizeof used, s, s->standard);
        if (set->speaks) vt_say(1, "%s=%.100s is not %s%s: %s is used", s->name, text, allowed[s->type], range, used);
        return;
    }
    if (s->type == SIZE && !v && !s->standard) return; /* 0: unset, as the guide's default says */
    uint64_t kept = v < s->least ? s->least : v > s->most ? s->most : v;
    *field(set, s) = kept;
    if (kept == v) return;
    show(used, sizeof used, s, kept);
    if (!set->speaks) return;
    vt_say(1, "%s=%.100s is too %s%s: %s is used", s->name, text, v < kept ? "small" : "large", range, used);
}

/* ---- Names that are none ---- */

/* How many letters must be changed, put in, left out or swapped with the next to make one name of the other (Damerau). */
static unsigned distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    uint8_t rows[3][MOST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    size_t n = strlen(a), m = strlen(b);
    if (n > MOST || m > MOST) return MOST;
    for (size_t j = 0; j <= m; j++) last[j] = (uint8_t)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1u < d) d = last[j] + 1u;
            if (row[j - 1] + 1u < d) d = row[j - 1] + 1u;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1u < d)
                d = before[j - 2] + 1u;
            row[j] = (uint8_t)d;
        }
        uint8_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[m];
}

static const char *known_name(size_t i)
{
    if (i < SETTINGS) return table[i].name;
    i -= SETTINGS;
    if (i < TEXTS) return texts[i].name;
    i -= TEXTS;
    return i < sizeof others / sizeof *others ? others[i] : NULL;
}

#define NEAR 4 /* a name that differs by so much is another one */

static void look_at_name(const char *name)
{
    const char *nearest = NULL, *known;
    unsigned least = NEAR;
    for (size_t i = 0; (known = known_name(i)); i++) {
        unsigned d = distance(name, known);
        if (!d) return;
        if (d < least) {
            least = d;
            nearest = known;
        }
    }
    if (nearest) vt_say(1, "unknown setting %.64s; did you mean %s? (vtrace settings lists all)", name, nearest);
    else vt_say(1, "unknown setting %.64s (vtrace settings lists all)", name);
}

static void look_at_names(void)
{
    for (char **e = environ; e && *e; e++) {
        char name[65];
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "VT_", 3) || n < 4) continue;
        struct vt_text t = vt_text_into(name, n < sizeof name ? n + 1 : sizeof name);
        vt_text_add(&t, *e);
        look_at_name(name);
    }
}

/* What is wrong with the settings is said once per run: not by other ranks, nor by programs that a traced one starts. */
static int speaks(void)
{
    const char *rank = vt_launcher_rank();
    return !getenv("VTRACE_PARENT") && (!rank || !strcmp(rank, "0"));
}

void vt_settings_read(struct vt_settings *set)
{
    static int read; /* a filter wants them before the first event does */
    if (set == &vt_process.set && read) return;
    read |= set == &vt_process.set;
    set->verbose = 1;
    set->speaks = speaks();
    for (size_t i = 0; i < SETTINGS; i++)
        if (!strcmp(table[i].name, "VT_VERBOSE")) read_one(set, &table[i]); /* first: it decides what is said */
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(table[i].name, "VT_VERBOSE")) read_one(set, &table[i]);
    vt_place_read(set);
    vt_setting_texts_read(set);
    if (set->mode == VT_MODE_RING && set->sync_flush) {
        if (set->speaks)
            vt_say(1, "VT_SYNC_FLUSH has no effect with VT_MODE=RING: no buffer is written when it is full");
        set->sync_flush = 0;
    }
    if (set->speaks) look_at_names();
}

/* The value of a setting that is a number, a size in bytes, or yes (1) or no (0); 0 for an unknown name. */
uint64_t vt_setting(const char *name)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (!strcmp(table[i].name, name)) return *field(&vt_process.set, &table[i]);
    return 0;
}

static const char *const switches[] = {[VT_SHIM_MPI] = "VT_MPITRACE",
                                       [VT_SHIM_IO] = "VT_IOTRACE",
                                       [VT_SHIM_MEMORY] = "VT_MEMTRACE",
                                       [VT_SHIM_OPENMP] = "VT_OMPTRACE"};

/* Whether shims of a kind are to record, as far as settings say. */
int vt_settings_allow(uint32_t kind)
{
    return !kind || kind >= sizeof switches / sizeof *switches || vt_setting(switches[kind]);
}

/* The same before the runtime starts, and without starting it; where the environment says nothing sensible, it has to
   start to tell so. */
int vt_settings_want(uint32_t kind)
{
    if (kind != VT_SHIM_IO && kind != VT_SHIM_MEMORY) return 1;
    uint64_t wanted = 1;
    const char *text = getenv(switches[kind]);
    return text && *text && (!parse_yesno(text, &wanted) || wanted);
}

/* What VT_PTHREAD says, before the runtime starts and without starting it. */
enum vt_pthread vt_settings_pthread(void)
{
    uint64_t value = VT_PTHREAD_YES;
    const char *text = getenv("VT_PTHREAD");
    if (text && *text) parse_pthread(text, &value);
    return (enum vt_pthread)value;
}

int vt_exec_is_traced(void)
{
    uint64_t value = 1;
    const char *text = getenv("VT_EXECTRACE");
    if (text && *text) parse_yesno(text, &value);
    return (int)value;
}

/* The name of setting number i and its value in force, "" for an empty text; 0: there are no more. */
int vt_settings_value(size_t i, const char **name, char *into, size_t bytes)
{
    struct vt_settings *set = &vt_process.set;
    if (i >= SETTINGS + TEXTS) return 0;
    struct vt_text t = vt_text_into(into, bytes);
    if (i < SETTINGS) show(into, bytes, &table[i], *field(set, &table[i]));
    else vt_text_add(&t, (char *)set + texts[i - SETTINGS].offset);
    *name = i < SETTINGS ? table[i].name : texts[i - SETTINGS].name;
    return 1;
}

/* ---- For `vtrace settings` ---- */

static void add_cell(struct vt_text *t, const char *text, const char *end)
{
    char *begin = t->at;
    vt_text_add(t, text);
    vt_text_plain(begin);
    vt_text_add(t, end);
}

static void list(struct vt_text *t, const char *name, const char *value, const char *standard)
{
    const char *given = getenv(name);
    add_cell(t, name, "\t");
    add_cell(t, value, "\t");
    add_cell(t, standard, "\t");
    add_cell(t, given ? given : "", "\n");
}

size_t vt_settings_list(char *into, size_t bytes)
{
    static struct vt_settings again;
    struct vt_settings *set = atomic_load(&vt_process.state) == VT_NEW ? &vt_process.set : &again;
    struct vt_text t = vt_text_into(into, bytes);
    vt_settings_read(set);
    for (size_t i = 0; i < SETTINGS; i++) {
        char value[32], standard[32];
        show(value, sizeof value, &table[i], *field(set, &table[i]));
        show(standard, sizeof standard, &table[i], table[i].standard);
        list(&t, table[i].name, value, standard);
    }
    for (size_t i = 0; i < TEXTS; i++) list(&t, texts[i].name, (char *)set + texts[i].offset, "");
    return (size_t)(t.at - into);
}
