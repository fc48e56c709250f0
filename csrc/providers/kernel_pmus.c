/* SPDX-License-Identifier: BSD-3-Clause */
/* Files are read by direct system calls, into memory on the stack: malloc and stdio belong to the program. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include "provider.h"

/* ---- Directories ---- */

/* The kernel's struct linux_dirent64. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

void vt_directory_each(const char *path, vt_directory_visit *visit, void *data)
{
    _Alignas(uint64_t) char entries[2048];
    long fd = vt_open(path, O_RDONLY | O_DIRECTORY, 0), n;
    if (fd < 0) return;
    while ((n = VT_SYS3(getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < n; at += ((struct directory_entry *)(void *)(entries + at))->bytes) {
            const char *name = ((struct directory_entry *)(void *)(entries + at))->name;
            if (strcmp(name, ".") && strcmp(name, "..")) visit(name, data);
        }
    VT_SYS1(close, fd);
}

#define PATH_BYTES 640
#define TEXT_BYTES 512

/* A part of a name. */
struct event_term {
    const char *at;
    size_t length;
};

/* Returns the part up to `end` or to the end of the text, and moves *rest past that part. */
static struct event_term cut(struct event_term *rest, char end)
{
    const char *found = memchr(rest->at, end, rest->length);
    struct event_term first = {rest->at, found ? (size_t)(found - rest->at) : rest->length};
    size_t used = first.length + (found != NULL);
    *rest = (struct event_term){rest->at + used, rest->length - used};
    return first;
}

static int equals(struct event_term p, const char *word)
{
    return p.length == strlen(word) && !memcmp(p.at, word, p.length);
}

static void add_part(struct vt_text *t, struct event_term p)
{
    for (size_t i = 0; i < p.length; i++) {
        char one[2] = {p.at[i], 0};
        vt_text_add(t, one);
    }
}

/* Returns 1 for the name of a file, not of a parent directory. */
static int is_name(struct event_term p)
{
    return p.length && p.length < VT_PMU_NAME_BYTES && *p.at != '.' && !memchr(p.at, '/', p.length) &&
           !memchr(p.at, 0, p.length);
}

/* Reads the file root/pmu[/folder/file] without its newline. Returns its length; -1: there is no such file. */
static long read_file(const char *root, struct event_term pmu, const char *folder, struct event_term file, char *into,
                      size_t bytes)
{
    char path[PATH_BYTES];
    struct vt_text t = vt_text_into(path, sizeof path);
    vt_text_add(&t, root, "/");
    add_part(&t, pmu);
    vt_text_add(&t, folder);
    add_part(&t, file);
    if (t.at == t.end) return -1;
    long fd = vt_open(path, O_RDONLY, 0);
    if (fd < 0) return -1;
    long n = VT_SYS3(read, fd, into, bytes - 1);
    VT_SYS1(close, fd);
    if (n < 0) return -1;
    while (n > 0 && (into[n - 1] == '\n' || into[n - 1] == ' ')) n--;
    into[n] = 0;
    return n;
}

/* Parses a number, decimal or 0x and hexadecimal. Returns 0 if the text is not a number. */
static int read_number(struct event_term p, uint64_t *value)
{
    uint64_t base = 10;
    *value = 0;
    if (p.length > 2 && p.at[0] == '0' && (p.at[1] == 'x' || p.at[1] == 'X')) {
        base = 16;
        p = (struct event_term){p.at + 2, p.length - 2};
    }
    for (size_t i = 0; i < p.length; i++) {
        char c = (char)(p.at[i] | ' ');
        uint64_t digit = c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a') + 10 : (uint64_t)(c - '0');
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return 0;
        if (digit >= base || *value > (UINT64_MAX - digit) / base) return 0;
        *value = *value * base + digit;
    }
    return p.length > 0;
}

/* Returns the word of the event that a format names: config, config1 or config2. */
static uint64_t *word_of(struct event_term name, struct vt_perf_event *event)
{
    return equals(name, "config")    ? &event->config
           : equals(name, "config1") ? &event->config1
           : equals(name, "config2") ? &event->config2
                                     : NULL;
}

/* Writes a value into bits of an event. format: config:0-7,32-35; the first range has the lowest bits of the value.
   Returns 0 for an unknown format, or a value that needs more bits. */
static int write_bits(struct event_term format, uint64_t value, struct vt_perf_event *event)
{
    uint64_t *word = word_of(cut(&format, ':'), event);
    if (!word || !format.length) return 0;
    while (format.length) {
        struct event_term range = cut(&format, ','), low = cut(&range, '-');
        uint64_t first, last;
        if (!read_number(low, &first) || first > 63) return 0;
        last = first;
        if (range.length && (!read_number(range, &last) || last > 63 || last < first)) return 0;
        uint64_t mask = ~UINT64_C(0) >> (63 - (last - first));
        *word = (*word & ~(mask << first)) | (value & mask) << first;
        value = last - first == 63 ? 0 : value >> (last - first + 1);
    }
    return !value;
}

/* Applies terms separated by commas. may_name: 1: a term may also be the name of an event, whose file has terms. */
static int apply(const char *root, struct event_term pmu, struct event_term terms, int may_name,
                 struct vt_perf_event *event)
{
    if (!terms.length) return 0;
    while (terms.length) {
        struct event_term given = cut(&terms, ','), value = given, name = cut(&value, '=');
        char text[TEXT_BYTES];
        long n;
        int has_value = name.length < given.length;
        uint64_t number = 1;
        if (!is_name(name) || (has_value && !read_number(value, &number))) return 0;
        uint64_t *word = word_of(name, event);
        if (word && has_value) {
            *word = number;
        } else if (may_name && !has_value && (n = read_file(root, pmu, "/events/", name, text, sizeof text)) > 0) {
            if (!apply(root, pmu, (struct event_term){text, (size_t)n}, 0, event)) return 0;
        } else if ((n = read_file(root, pmu, "/format/", name, text, sizeof text)) <= 0 ||
                   !write_bits((struct event_term){text, (size_t)n}, number, event)) {
            return 0;
        }
    }
    return 1;
}

/* Returns 1 and the type of a PMU if the PMU exists. */
static int find_type(const char *root, struct event_term pmu, struct vt_perf_event *found)
{
    char text[TEXT_BYTES];
    uint64_t type;
    long n = read_file(root, pmu, "/type", (struct event_term){"", 0}, text, sizeof text);
    if (n <= 0 || !read_number((struct event_term){text, (size_t)n}, &type) || type > UINT32_MAX) return 0;
    *found = (struct vt_perf_event){.type = (uint32_t)type};
    return 1;
}

int vt_pmu_find(const char *root, const char *name, size_t length, struct vt_perf_event *found)
{
    struct event_term terms = {name, length}, pmu = cut(&terms, '/');
    if (!terms.length || terms.at[terms.length - 1] != '/' || !is_name(pmu)) return 0;
    terms.length--;
    return find_type(root, pmu, found) && apply(root, pmu, terms, 1, found);
}

/* ---- Lists ---- */

struct listing {
    const char *root;
    const char *pmu; /* PMU of the events; NULL: the names are those of PMUs */
    vt_pmu_visit *visit;
    void *data;
};

/* perf(1) reads these files for scales and units of the event of the same name. */
static int describes_another(const char *name)
{
    static const char *const ends[] = {".scale", ".unit", ".per-pkg", ".snapshot"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(dot, ends[i])) return 1;
    return 0;
}

static void list_event(const char *name, void *data)
{
    const struct listing *of = data;
    char full[VT_PMU_NAME_BYTES], terms[TEXT_BYTES];
    struct event_term pmu = {of->pmu, strlen(of->pmu)}, file = {name, strlen(name)};
    struct vt_perf_event event;
    struct vt_text t = vt_text_into(full, sizeof full);
    if (!is_name(file) || describes_another(name) || memchr(name, ',', file.length)) return;
    vt_text_add(&t, of->pmu, "/", name, "/");
    if (t.at == t.end || !vt_pmu_find(of->root, full, strlen(full), &event)) return;
    if (read_file(of->root, pmu, "/events/", file, terms, sizeof terms) <= 0) return;
    of->visit(full, terms, &event, of->data);
}

static void list_pmu(const char *pmu, void *data)
{
    struct listing events = *(const struct listing *)data;
    char path[PATH_BYTES];
    struct vt_text t = vt_text_into(path, sizeof path);
    if (!is_name((struct event_term){pmu, strlen(pmu)})) return;
    vt_text_add(&t, events.root, "/", pmu, "/events");
    events.pmu = pmu;
    if (t.at < t.end) vt_directory_each(path, list_event, &events);
}

static void add_name(const char *pmu, void *into)
{
    if (!is_name((struct event_term){pmu, strlen(pmu)})) return;
    vt_text_add(into, pmu, " ");
}

void vt_pmu_names(const char *root, struct vt_text *into) { vt_directory_each(root, add_name, into); }

void vt_pmu_each(const char *root, vt_pmu_visit *visit, void *data)
{
    struct listing of = {root, NULL, visit, data};
    vt_directory_each(root, list_pmu, &of);
}
