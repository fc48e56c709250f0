/* SPDX-License-Identifier: BSD-3-Clause */
/* The VT_ variables of the traced program's environment. settings_table.h lists all of them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "settings.h"

#define KIB 1024u
#define MIB (1024u * 1024u)
#define GIB (1024u * 1024u * 1024u)
#define PROFILE_SHARE 8 /* 1/PROFILE_SHARE of VT_BUDGET is for the call paths of calls that are only counted */

enum setting_type {
    SIZE,
    COUNT,
    YESNO,
    PTHREAD,
    MODE,
    BARRIER,
    ROUTINES,
    RATE,
    BUDGET,
    SAMPLECLOCK,
    COUNTS,
    PLACE,
    PATH,
    SIGNAL,
    MOMENT,
    WORDS,
    PATTERNS,
    KEEP,
    TRIGGER
};
enum leaves { NOTHING, PART, WHOLE };

static const struct setting {
    const char *name;
    enum setting_type type;
    enum leaves leaves;
    /* offset: of a field of struct vt_settings; bytes: length of a text field, 0 for a uint64_t */
    size_t offset, bytes;
    uint64_t standard, least, most;
    const char *page;
    const char *text[2]; /* meaning; default in words, NULL: show `standard` */
} table[] = {
#define NUMBER(name, field, type, standard, least, most, leaves, page, ...)                                            \
    {#name, type, leaves, offsetof(struct vt_settings, field), 0, standard, least, most, page, {__VA_ARGS__}},
#define TEXT(name, field, bytes, type, leaves, page, ...)                                                              \
    {#name, type, leaves, offsetof(struct vt_settings, field), bytes, 0, 0, 0, page, {__VA_ARGS__}},
#include "settings_table.h"
};
#define SETTINGS (sizeof table / sizeof *table)

static const char *const others[] = {
#define OTHER(name, leaves) #name,
#include "settings_table.h"
};
#define OTHERS (sizeof others / sizeof *others)

static uint64_t *field(struct vt_settings *set, const struct setting *s)
{
    return (uint64_t *)(void *)((char *)set + s->offset);
}

/* Parses a number in decimal digits; a size may end in K, M or G (powers of 1024). Returns 0 if the text is neither. */
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
    int yes = vt_setting_yes(text);
    if (yes < 0) return 0;
    *value = (uint64_t)yes;
    return 1;
}

/* Accepts yes, no and locks. */
static int parse_pthread(const char *text, uint64_t *value)
{
    if (strcasecmp(text, "locks")) return parse_yesno(text, value);
    *value = VT_PTHREAD_LOCKS;
    return 1;
}

/* The words of the settings that are one of a few words. */
#define MOST_WORDS 4
static const char *const words[][MOST_WORDS] = {
    [MODE] = {[VT_MODE_TRACE] = "TRACE",
              [VT_MODE_RING] = "RING",
              [VT_MODE_PROFILE] = "PROFILE",
              [VT_MODE_STAT] = "STAT"},
    [BARRIER] = {"no", "before", "after", "both"},
    [ROUTINES] = {[VT_SECTIONS_ALL] = "all", [VT_SECTIONS_FAPP] = "fapp", [VT_SECTIONS_COLLECTION] = "collection"},
    [COUNTS] = {[VT_COUNTS_EXACT] = "exact", [VT_COUNTS_SAMPLED] = "sampled"},
    [SAMPLECLOCK] = {[VT_SAMPLE_CLOCK_CPU] = "cpu", [VT_SAMPLE_CLOCK_WALL] = "wall", [VT_SAMPLE_CLOCK_PERF] = "perf"},
};

static int has_words(enum setting_type type) { return type < sizeof words / sizeof *words && words[type][1]; }

static int parse_word(const char *text, enum setting_type type, uint64_t *value)
{
    for (*value = 0; *value < MOST_WORDS; ++*value)
        if (words[type][*value] && !strcasecmp(text, words[type][*value])) return 1;
    return 0;
}

/* Parses a percentage such as 3% or 0.5%. *part: in VT_OVERHEAD_UNIT; 0: no such percentage. */
static void parse_percent(const char *text, uint64_t *part)
{
    uint64_t whole = 0, hundredths = 0, unit = 10;
    *part = 0;
    if (*text < '0' || *text > '9') return;
    for (; *text >= '0' && *text <= '9' && whole <= 100; text++) whole = whole * 10 + (uint64_t)(*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10) hundredths += unit * (uint64_t)(*text - '0');
    whole = whole * 100 + hundredths;
    if (text[0] == '%' && !text[1] && whole <= VT_OVERHEAD_UNIT) *part = whole;
}

/* Parses SIZE, SIZE/process, SIZE/node or SIZE/run: the share of a process; N% or SIZE,N%. *overhead: as in struct
   vt_settings. */
static int parse_budget(const char *text, uint64_t *value, uint64_t *overhead)
{
    char size[32];
    const char *comma = strchr(text, ','), *percent = comma ? comma + 1 : text;
    *overhead = 0;
    if (strchr(percent, '%')) parse_percent(percent, overhead);
    if ((comma || strchr(percent, '%')) && !*overhead) return 0;
    if (*overhead && !comma) return 1;
    struct vt_text t = vt_text_into(size, sizeof size);
    vt_text_add(&t, text);
    if (comma && (size_t)(comma - text) < sizeof size) size[comma - text] = 0;
    char *unit = strchr(size, '/');
    if (unit) *unit++ = 0;
    if (!parse_number(size, 1, value)) return 0;
    if (!unit || !strcmp(unit, "process")) return 1;
    const int by_node = !strcmp(unit, "node");
    const uint64_t n = by_node ? vt_launcher_processes() : vt_launcher_ranks();
    if (n) *value /= n;
    return by_node || !strcmp(unit, "run");
}

static int parse(const char *text, enum setting_type type, uint64_t *value)
{
    if (has_words(type)) return parse_word(text, type, value);
    if (type == YESNO) return parse_yesno(text, value);
    if (type == RATE) return vt_setting_rate(text, value);
    return type == PTHREAD ? parse_pthread(text, value) : parse_number(text, type == SIZE, value);
}

static void show(char *into, size_t bytes, const struct setting *s, uint64_t v)
{
    struct vt_text t = vt_text_into(into, bytes);
    if (has_words(s->type)) vt_text_add(&t, words[s->type][v]);
    else if (s->type == RATE) vt_setting_show_rate(&t, v);
    else if (s->type == YESNO || s->type == PTHREAD)
        vt_text_add(&t, v == VT_PTHREAD_LOCKS ? "locks" : v ? "yes" : "no");
    else {
        int unit = (s->type == SIZE || s->type == BUDGET) && v ? (v % GIB == 0   ? 3
                                                                  : v % MIB == 0 ? 2
                                                                  : v % KIB == 0 ? 1
                                                                                 : 0)
                                                               : 0;
        vt_text_dec(&t, v >> 10 * unit);
        vt_text_add(&t, unit == 3 ? "G" : unit == 2 ? "M" : unit == 1 ? "K" : "");
    }
}

/* Adds the percentage of VT_BUDGET to its size; 0: there is no size. */
static void show_overhead(char *into, size_t bytes, const struct vt_settings *set)
{
    const size_t begin = set->budget ? strlen(into) : 0;
    struct vt_text t = vt_text_into(into + begin, bytes - begin);
    vt_text_add(&t, begin ? "," : "");
    vt_text_dec(&t, set->overhead / 100);
    if (set->overhead % 100) {
        vt_text_add(&t, set->overhead % 100 < 10 ? ".0" : ".");
        vt_text_dec(&t, set->overhead % 10 ? set->overhead % 100 : set->overhead % 100 / 10);
    }
    vt_text_add(&t, "%");
}

void vt_settings_show_size(char *into, size_t bytes, uint64_t size)
{
    const struct setting s = {.type = SIZE};
    show(into, bytes, &s, size);
}

/* Writes the range of a number or size, such as " (100K to 1G)". */
static void show_range(char *into, size_t bytes, const struct setting *s)
{
    struct vt_text t = vt_text_into(into, bytes);
    char end[32];
    if (s->type != SIZE && s->type != COUNT && s->type != BUDGET) return;
    show(end, sizeof end, s, s->least);
    int bounded = s->most <= UINT32_MAX;
    vt_text_add(&t, bounded ? " (" : " (at least ", end);
    show(end, sizeof end, s, s->most);
    if (bounded) {
        vt_text_add(&t, " to ", end);
    }
    vt_text_add(&t, ")");
}

static void read_one(struct vt_settings *set, const struct setting *s)
{
    static const char *const allowed[] = {[SIZE] = "a size in bytes, K, M or G",
                                          [COUNT] = "a whole number",
                                          [YESNO] = "yes or no",
                                          [PTHREAD] = "yes, no or locks",
                                          [MODE] = "TRACE, RING or PROFILE",
                                          [BARRIER] = "before, after, both or no",
                                          [ROUTINES] = "all, fapp or collection",
                                          [RATE] = "a rate of 1 to 10000 per second, or a time of 100us to 3600s",
                                          [BUDGET] =
                                              "a size in bytes, K, M or G, also SIZE/node or SIZE/run; N%; or SIZE,N%",
                                          [SAMPLECLOCK] = "cpu, wall or perf",
                                          [COUNTS] = "exact or sampled"};
    const char *text = vt_setting_text(s->name);
    uint64_t v = s->standard;
    char used[32], range[64] = "";
    *field(set, s) = v;
    if (!text || !*text) return;
    show_range(range, sizeof range, s);
    if (s->type == BUDGET ? !parse_budget(text, &v, &set->overhead) : !parse(text, s->type, &v)) {
        if (s->type == BUDGET) set->overhead = 0;
        show(used, sizeof used, s, s->standard);
        if (set->speaks) vt_say(1, "%s=%.100s is not %s%s: %s is used", s->name, text, allowed[s->type], range, used);
        return;
    }
    if ((s->type == SIZE || s->type == BUDGET) && !v && !s->standard) return; /* 0 means unset, as in the guide */
    uint64_t kept = v < s->least ? s->least : v > s->most ? s->most : v;
    *field(set, s) = kept;
    if (kept == v) return;
    show(used, sizeof used, s, kept);
    if (!set->speaks) return;
    vt_say(1, "%s=%.100s is too %s%s: %s is used", s->name, text, v < kept ? "small" : "large", range, used);
}

/* Reads a setting that is a text. file_locations.c reads the settings of type PLACE, since they depend on each
   other. */
static void read_text(struct vt_settings *set, const struct setting *s)
{
    char *into = (char *)set + s->offset;
    if (s->type == PATH) vt_place_read_path(s->name, into, s->bytes);
    else if (s->type == SIGNAL) vt_setting_read_signal(set->speaks, s->name, into, s->bytes);
    else if (s->type == WORDS) vt_setting_read_words(set->speaks, s->name, into, s->bytes, "");
    else if (s->type == PATTERNS)
        vt_setting_read_words(set->speaks, s->name, into, s->bytes, "; VT_FILTER_SPEC reads a file of any size");
    else if (s->type == KEEP) vt_setting_read_keep(set->speaks, s->name, into, s->bytes);
    else if (s->type == TRIGGER) vt_setting_read_trigger(set->speaks, s->name, into, s->bytes);
    else if (s->type == MOMENT) vt_setting_read_moment(set->speaks, s->name, into, s->bytes);
}

/* ---- Unknown names ---- */

static const char *known_name(size_t i)
{
    return i < SETTINGS ? table[i].name : i < SETTINGS + OTHERS ? others[i - SETTINGS] : NULL;
}

#define NEAR 4 /* names at this distance or more are not suggested */

static void look_at_name(const char *name)
{
    const char *nearest = NULL, *known;
    unsigned least = NEAR;
    for (size_t i = 0; (known = known_name(i)); i++) {
        if (!strcmp(name, known)) return;
        unsigned d = vt_text_distance(name, strlen(name), known, strlen(known));
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
    const char *name;
    for (unsigned i = 0; (name = vt_settings_file_name(i)); i++)
        if (!getenv(name)) look_at_name(name);
}

/* Returns 1 if this process prints messages about invalid settings. One process of a run prints them: not the other
   ranks, and not programs that a traced program starts. */
static int speaks(void)
{
    const char *rank = vt_launcher_rank();
    return !vt_lineage_has_parent() && (!rank || !strcmp(rank, "0"));
}

void vt_settings_read(struct vt_settings *set)
{
    static int read; /* a filter reads the settings before the first event */
    if (set == &vt_process.set && read) return;
    read |= set == &vt_process.set;
    set->verbose = 1;
    set->speaks = speaks();
    for (int first = 1; first >= 0; first--) /* VT_VERBOSE first: it decides which messages are printed */
        for (size_t i = 0; i < SETTINGS; i++)
            if (!table[i].bytes && first == !strcmp(table[i].name, "VT_VERBOSE")) read_one(set, &table[i]);
    vt_place_read(set);
    for (size_t i = 0; i < SETTINGS; i++) read_text(set, &table[i]);
    if (set->mode == VT_MODE_STAT) set->mode = VT_MODE_PROFILE;
    vt_setting_texts_check(set);
    if (set->mode == VT_MODE_PROFILE) { /* a profile has neither samples nor a size that joined polls would save */
        set->sample_period = set->memtrace_callsites = 0;
        set->mpi_polls = 1;
    }
    if (set->mode != VT_MODE_TRACE && (set->budget || set->overhead)) {
        if (set->speaks)
            vt_say(1, "VT_BUDGET has no effect with VT_MODE=%s: its size is that of the buffer or of the profile",
                   words[MODE][set->mode]);
        set->budget = set->overhead = 0;
    }
    if (set->budget && set->profile_size > set->budget / PROFILE_SHARE) set->profile_size = set->budget / PROFILE_SHARE;
    if (set->mode != VT_MODE_TRACE && set->sync_flush) {
        if (set->speaks)
            vt_say(1, "VT_SYNC_FLUSH has no effect with VT_MODE=%s: no buffer is written when it is full",
                   words[MODE][set->mode]);
        set->sync_flush = 0;
    }
    if (!set->speaks) return;
    vt_settings_file_check();
    look_at_names();
}

/* Returns the value of a setting: a number, a size in bytes, or 1 for yes and 0 for no. Returns 0 for an unknown
   name. */
uint64_t vt_setting(const char *name)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (!table[i].bytes && !strcmp(table[i].name, name)) return *field(&vt_process.set, &table[i]);
    return 0;
}

static const char *const switches[] = {[VT_SHIM_MPI] = "VT_MPITRACE",
                                       [VT_SHIM_IO] = "VT_IOTRACE",
                                       [VT_SHIM_MEMORY] = "VT_MEMTRACE",
                                       [VT_SHIM_OPENMP] = "VT_OMPTRACE"};

/* Returns 1 if the settings let shims of this kind record. */
int vt_settings_allow(uint32_t kind)
{
    return !kind || kind >= sizeof switches / sizeof *switches || vt_setting(switches[kind]);
}

/* Returns the value of a setting before the runtime starts, without starting it. For an invalid value returns the
   standard, since only the started runtime prints a message. */
static uint64_t early(const char *name, enum setting_type type, uint64_t standard)
{
    uint64_t value;
    const char *text = vt_setting_text(name);
    return text && *text && parse(text, type, &value) ? value : standard;
}

int vt_settings_want(uint32_t kind)
{
    if (kind != VT_SHIM_IO && kind != VT_SHIM_MEMORY) return 1;
    const char *text = vt_setting_text(switches[kind]);
    /* For an invalid value the runtime must start, since only the started runtime prints a message. */
    return text && *text && early(switches[kind], YESNO, 1);
}

enum vt_pthread vt_settings_pthread(void) { return (enum vt_pthread)early("VT_PTHREAD", PTHREAD, VT_PTHREAD_YES); }

int vt_exec_is_traced(void) { return (int)early("VT_EXECTRACE", YESNO, 1); }

static const char *value_of(struct vt_settings *set, const struct setting *s, char *into, size_t bytes)
{
    if (s->bytes) return (char *)set + s->offset;
    show(into, bytes, s, *field(set, s));
    if (s->type == BUDGET && set->overhead) show_overhead(into, bytes, set);
    return into;
}

const char *vt_settings_value(size_t i, const char **name)
{
    static char value[32];
    if (i >= SETTINGS) return NULL;
    *name = table[i].name;
    return value_of(&vt_process.set, &table[i], value, sizeof value);
}

/* ---- For `vtrace settings` ---- */

static void add_cell(struct vt_text *t, const char *text)
{
    char *begin = t->at;
    vt_text_add(t, text);
    vt_text_plain(begin);
    vt_text_add(t, "\t");
}

static void list(struct vt_text *t, struct vt_settings *set, const struct setting *s)
{
    static const char *const leaves[] = {"", "part", "whole"};
    char value[32], standard[32] = "";
    const char *given = vt_setting_text(s->name);
    if (!s->bytes) show(standard, sizeof standard, s, s->standard);
    add_cell(t, s->name);
    add_cell(t, value_of(set, s, value, sizeof value));
    add_cell(t, standard);
    add_cell(t, given ? given : "");
    vt_text_add(t, s->text[0]);
    if (*s->page) vt_text_add(t, " (docs/");
    vt_text_add(t, s->page, *s->page ? ")\t" : "\t");
    add_cell(t, s->text[1] ? s->text[1] : "");
    vt_text_add(t, leaves[s->leaves], "\n");
}

size_t vt_settings_list(char *into, size_t bytes)
{
    static struct vt_settings again;
    struct vt_settings *set = atomic_load(&vt_process.state) == VT_NEW ? &vt_process.set : &again;
    struct vt_text t = vt_text_into(into, bytes);
    vt_settings_read(set);
    for (size_t i = 0; i < SETTINGS; i++) list(&t, set, &table[i]);
    return (size_t)(t.at - into);
}
