/* SPDX-License-Identifier: BSD-3-Clause */
/* The VT_ variables that the traced program obeys: one table. Meanings, defaults and limits: guide, Table 4.5. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "internal.h"

#define KIB 1024u
#define MIB (1024u * 1024u)
#define GIB (1024u * 1024u * 1024u)

enum type { SIZE, COUNT, YESNO, PTHREAD };

static const struct setting {
    const char *name;
    enum type type;
    size_t offset; /* of a uint64_t in struct vt_settings */
    uint64_t standard, least, most;
} table[] = {
#define FIELD(name) offsetof(struct vt_settings, name)
    {"VT_BUFFER_SIZE", SIZE, FIELD(buffer_size), 32 * MIB, 100 * KIB, UINT64_MAX / 2},
    {"VT_THREAD_BUFFER_SIZE", SIZE, FIELD(thread_buffer_size), 0, 100 * KIB, GIB},
    {"VT_MAX_FLUSHES", COUNT, FIELD(max_flushes), 1, 0, UINT32_MAX},
    {"VT_MAX_THREADS", COUNT, FIELD(max_threads), 65536, 1, 65536},
    {"VT_VERBOSE", COUNT, FIELD(verbose), 1, 0, 2},
    {"VT_CLEAN", YESNO, FIELD(clean), 1, 0, 1},
    {"VT_COMPRESSION", YESNO, FIELD(compression), 1, 0, 1},
    {"VT_MPITRACE", YESNO, FIELD(mpitrace), 1, 0, 1},
    {"VT_OMPTRACE", YESNO, FIELD(omptrace), 1, 0, 1},
    {"VT_IOTRACE", YESNO, FIELD(iotrace), 0, 0, 1},
    {"VT_MEMTRACE", YESNO, FIELD(memtrace), 0, 0, 1},
    {"VT_PTHREAD", PTHREAD, FIELD(pthread), VT_PTHREAD_YES, 0, VT_PTHREAD_LOCKS},
    {"VT_PTHREAD_REUSE", YESNO, FIELD(pthread_reuse), 1, 0, 1},
    {"VT_EXECTRACE", YESNO, FIELD(exectrace), 1, 0, 1},
    {"VT_MEMTRACE_THRESHOLD", SIZE, FIELD(memtrace_threshold), 0, 0, UINT64_MAX / 2},
#undef FIELD
};
#define SETTINGS (sizeof table / sizeof *table)

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

static int parse(const char *text, enum type type, uint64_t *value)
{
    if (type == YESNO) return parse_yesno(text, value);
    return type == PTHREAD ? parse_pthread(text, value) : parse_number(text, type == SIZE, value);
}

static void show(char *into, size_t bytes, const struct setting *s, uint64_t v)
{
    struct vt_text t = vt_text_into(into, bytes);
    if (s->type == YESNO || s->type == PTHREAD) vt_text_add(&t, v == VT_PTHREAD_LOCKS ? "locks" : v ? "yes" : "no");
    else {
        int unit = s->type == SIZE && v ? (v % GIB == 0 ? 3 : v % MIB == 0 ? 2 : v % KIB == 0 ? 1 : 0) : 0;
        vt_text_dec(&t, v >> 10 * unit);
        vt_text_add(&t, unit == 3 ? "G" : unit == 2 ? "M" : unit == 1 ? "K" : "");
    }
}

static void read_one(struct vt_settings *set, const struct setting *s)
{
    static const char *const allowed[] = {"a size in bytes, K, M or G", "a whole number", "yes or no",
                                          "yes, no or locks"};
    const char *text = getenv(s->name);
    uint64_t v = s->standard;
    char used[32];
    *field(set, s) = v;
    if (!text || !*text) return;
    if (!parse(text, s->type, &v)) {
        show(used, sizeof used, s, s->standard);
        vt_say(1, "%s=%.100s is not %s: %s is used", s->name, text, allowed[s->type], used);
        return;
    }
    if (s->type == SIZE && !v && !s->standard) return; /* 0: unset, as the guide's default says */
    uint64_t kept = v < s->least ? s->least : v > s->most ? s->most : v;
    *field(set, s) = kept;
    if (kept == v) return;
    show(used, sizeof used, s, kept);
    vt_say(1, "%s=%.100s is too %s: %s is used", s->name, text, v < kept ? "small" : "large", used);
}

/* File names have 255 bytes; host, pid, start, thread and ending need up to 120 of them. */
#define PREFIX_MOST 128

/* The executable's name without .out or .exe (guide 4.2.3.2). */
static void standard_prefix(char *into, size_t bytes)
{
    static char path[PATH_MAX];
    long n = VT_SYS4(readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *dot = strrchr(name, '.');
    if (dot && dot > name && (!strcmp(dot, ".out") || !strcmp(dot, ".exe"))) *dot = 0;
    struct vt_text t = vt_text_into(into, bytes < PREFIX_MOST + 1 ? bytes : PREFIX_MOST + 1);
    vt_text_add(&t, *name ? name : "a");
}

static void read_prefix(struct vt_settings *set)
{
    const char *text = getenv("VT_FILE_PREFIX");
    standard_prefix(set->prefix, sizeof set->prefix);
    if (!text || !*text) return;
    if (strchr(text, '/') || strlen(text) > PREFIX_MOST) {
        /* clang-format off */
        vt_say(1, "VT_FILE_PREFIX=%.100s is not a file name of at most %d bytes without directory (that is VT_PFORM_GDIR): "
                  "%s is used", text, PREFIX_MOST, set->prefix);
        /* clang-format on */
        return;
    }
    strcpy(set->prefix, text);
}

/* Where the program was started: noted before its own code can change the directory. Empty: the directory is gone, or
   its path is too long.                                                                                                */
static char here[sizeof((struct vt_settings *)0)->gdir];

__attribute__((constructor)) static void note_directory(void)
{
    static int noted;
    if (!noted && (VT_SYS2(getcwd, here, sizeof here) <= 0 || here[0] != '/')) here[0] = 0;
    noted = 1;
}

static void read_directory(const char *name, char *into, size_t bytes)
{
    const char *text = getenv(name);
    struct vt_text t = vt_text_into(into, bytes);
    if (!text || !*text) {
        vt_text_add(&t, here);
        return;
    }
    if (*text != '/') {
        vt_text_add(&t, here);
        vt_text_add(&t, "/");
    }
    vt_text_add(&t, text);
    if (!VT_SYS4(faccessat, AT_FDCWD, into, W_OK | X_OK, 0) && strlen(into) < bytes - 1) return;
    vt_say(1, "%s=%.200s is not a directory that can be written to: %s is used", name, text, *here ? here : "no other");
    t = vt_text_into(into, bytes);
    vt_text_add(&t, here);
}

void vt_settings_read(struct vt_settings *set)
{
    note_directory();
    set->verbose = 1;
    for (size_t i = 0; i < SETTINGS; i++)
        if (!strcmp(table[i].name, "VT_VERBOSE")) read_one(set, &table[i]); /* first: it decides what is said */
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(table[i].name, "VT_VERBOSE")) read_one(set, &table[i]);
    read_prefix(set);
    read_directory("VT_PFORM_GDIR", set->gdir, sizeof set->gdir);
    read_directory("VT_PFORM_LDIR", set->ldir, sizeof set->ldir);
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
   start to tell so.                                                                                                   */
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

void vt_settings_define(struct vt_location *l)
{
    struct vt_settings *set = &vt_process.set;
    for (size_t i = 0; i < SETTINGS; i++) {
        char key[64], value[32];
        struct vt_text t = vt_text_into(key, sizeof key);
        vt_text_add(&t, "setting.");
        vt_text_add(&t, table[i].name);
        show(value, sizeof value, &table[i], *field(set, &table[i]));
        vt_define_property(l, key, value);
    }
    vt_define_property(l, "setting.VT_FILE_PREFIX", set->prefix);
    vt_define_property(l, "setting.VT_PFORM_GDIR", set->gdir);
    vt_define_property(l, "setting.VT_PFORM_LDIR", set->ldir);
}
