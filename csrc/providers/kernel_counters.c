/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters from files of the kernel: scheduling of the thread (/proc/thread-self/schedstat), memory of the process,
   network and power of the node (sysfs), and any other file that begins with a number, by its path. A file is opened and
   closed at each reading, since the program could close a descriptor and reuse its number. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "provider.h"

#define PATH_MOST 256

/* line: text before the number, at the start of a line; NULL: the file begins with numbers, and `word` of them precede
   the counter's. */
static const struct {
    const char *name, *file, *line, *unit, *meaning;
    unsigned word;
    enum vt_counter_scope scope;
    char mode;
} known[] = {
    {"sched-run", "/proc/thread-self/schedstat", NULL, "ns", "time of the thread on a CPU", 0, VT_SCOPE_THREAD, 'a'},
    {"sched-wait", "/proc/thread-self/schedstat", NULL, "ns", "time that the thread waited for a CPU", 1,
     VT_SCOPE_THREAD, 'a'},
    {"sched-slices", "/proc/thread-self/schedstat", NULL, "#", "number of times that the thread got a CPU", 2,
     VT_SCOPE_THREAD, 'a'},
    {"cpu", NULL, NULL, "#", "number of the CPU on which the thread runs", 0, VT_SCOPE_THREAD, 'p'},
    {"numa-node", NULL, NULL, "#", "number of that CPU's NUMA node", 1, VT_SCOPE_THREAD, 'p'},
    {"resident-memory", "/proc/self/statm", NULL, "pages", "pages of the process in memory", 1, VT_SCOPE_PROCESS, 'p'},
    {"huge-pages", "/proc/self/smaps_rollup", "AnonHugePages:", "KiB", "memory of the process in huge pages", 0,
     VT_SCOPE_PROCESS, 'p'},
};
#define KNOWN (sizeof known / sizeof *known)

/* Counters NAME/DEVICE/FIELD or NAME/DEVICE: a file below sysfs. */
static const struct {
    const char *name, *directory, *between, *file, *unit, *meaning;
} devices[] = {
    {"net", "/class/net", "/statistics", NULL, "#", "of a network interface"},
    {"power", "/class/powercap", NULL, "/energy_uj", "uJ", "energy of a part of the processor"},
};
enum { NET = KNOWN, POWER, A_FILE };

const char *vt_sysfs = "/sys";

static int is_known(unsigned i, struct vt_counter *found)
{
    if (i >= KNOWN) return 0;
    return vt_counter_fill(found, i, known[i].name, known[i].unit, known[i].meaning, known[i].mode, known[i].scope);
}

/* Writes the path of a counter's file. Returns 0 for a name without one. */
static int find_path(const struct vt_counter *c, char *path)
{
    struct vt_text t = vt_text_into(path, PATH_MOST);
    if (c->number < KNOWN || c->number == A_FILE) {
        vt_text_add(&t, c->number == A_FILE ? c->name : known[c->number].file);
        return 1;
    }
    const char *slash = strchr(c->name, '/'), *device = slash ? slash + 1 : "", *field = strchr(device, '/');
    char name[VT_COUNTER_NAME] = "";
    unsigned i = c->number - NET;
    if (!*device || strstr(device, "..") || !field != !devices[i].between) return 0;
    memcpy(name, device, field ? (size_t)(field - device) : strlen(device));
    vt_text_add(&t, vt_sysfs, devices[i].directory, "/", name, field ? devices[i].between : devices[i].file);
    if (field) vt_text_add(&t, field);
    return 1;
}

/* Fills *found with a counter of a device; its name is set. Returns 0 if there is no such file. */
static int is_device(unsigned i, struct vt_counter *found)
{
    char path[PATH_MOST];
    const char *unit = i == 0 && strstr(found->name, "_bytes") ? "bytes" : devices[i].unit;
    vt_counter_fill(found, NET + i, found->name, unit, devices[i].meaning, 'a', VT_SCOPE_NODE);
    return find_path(found, path) && VT_SYS3(faccessat, AT_FDCWD, path, 0) >= 0;
}

static int find(const char *name, size_t length, struct vt_counter *found)
{
    for (unsigned i = 0; is_known(i, found); i++)
        if (strlen(found->name) == length && !memcmp(found->name, name, length)) return 1;
    if (length >= sizeof found->name) return 0;
    memcpy(found->name, name, length);
    found->name[length] = 0;
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        size_t n = strlen(devices[i].name);
        if (length > n && !memcmp(name, devices[i].name, n) && name[n] == '/') return is_device(i, found);
    }
    vt_counter_fill(found, A_FILE, found->name, "#", "number at the start of the file", 'p', VT_SCOPE_PROCESS);
    return *name == '/';
}

/* ---- The list ---- */

/* Limit for all devices: hosts of containers have hundreds of interfaces, and each counter of the list needs a new
   search. */
#define LISTED_MOST 128u

/* The counters of a device that the list has; the other files of net's statistics are counters, too. */
static const char *const fields[][4] = {{"/rx_bytes", "/tx_bytes", "/rx_packets", "/tx_packets"}, {""}};

/* A search for the counter `left` of all devices. */
struct device_search {
    unsigned device, left;
    struct vt_counter *found;
    int is_found;
};

static void search_device(const char *name, void *data)
{
    struct device_search *s = data;
    for (unsigned i = 0; i < 4 && fields[s->device][i] && !s->is_found; i++) {
        struct vt_text t = vt_text_into(s->found->name, VT_COUNTER_NAME);
        vt_text_add(&t, devices[s->device].name, "/", name, fields[s->device][i]);
        if (t.at < t.end && is_device(s->device, s->found)) s->is_found = !s->left--;
    }
}

static int list(unsigned i, struct vt_counter *found)
{
    char path[PATH_MOST];
    struct device_search s = {0, i - KNOWN, found, 0};
    if (i < KNOWN) return is_known(i, found);
    if (i >= KNOWN + LISTED_MOST) return 0;
    for (; s.device < sizeof devices / sizeof *devices && !s.is_found; s.device++) {
        struct vt_text t = vt_text_into(path, sizeof path);
        vt_text_add(&t, vt_sysfs, devices[s.device].directory);
        vt_directory_each(path, search_device, &s);
    }
    return s.is_found;
}

/* ---- Reading ---- */

/* Reads the text of a file, up to its end or the end of the memory. Returns its length, or -errno. */
static long read_text(const char *path, char *text, size_t bytes)
{
    long fd = VT_SYS4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0), n = 0, more = 1;
    if (fd < 0) return fd;
    while (more > 0 && (size_t)n < bytes - 1 && (more = VT_SYS3(read, fd, text + n, bytes - 1 - (size_t)n)) > 0)
        n += more;
    VT_SYS1(close, fd);
    text[n] = 0;
    return more < 0 ? more : n;
}

/* Finds a number in a text. Returns 0 if there is none below 2^64. */
static int find_number(const char *text, const char *line, unsigned word, uint64_t *number)
{
    const char *at = text;
    while (line && strncmp(at, line, strlen(line)))
        if (!(at = strchr(at, '\n')) || !*++at) return 0;
    if (line) at += strlen(line);
    for (unsigned i = 0;; i++) {
        at += strspn(at, " \t");
        if (*at < '0' || *at > '9') return 0;
        if (i == word) break;
        at += strcspn(at, " \t\n");
    }
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, *at - '0', number)) return 0;
    return 1;
}

/* Adjacent counters of one file are read together. */
static long read_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, uint64_t *values)
{
    char text[2048], path[PATH_MOST];
    const char *last = NULL;
    (void)s;
    for (unsigned i = 0; i < n; i++) {
        const struct vt_counter *c = &counters[i];
        int is_known = c->number < KNOWN;
        if (is_known && !known[c->number].file) {
            unsigned at[2] = {0, 0};
            long r = VT_SYS3(getcpu, &at[0], &at[1], NULL);
            if (r < 0) return r;
            values[i] = at[known[c->number].word];
            continue;
        }
        if (!is_known || !last || strcmp(last, known[c->number].file)) {
            if (!find_path(c, path)) return -ENOENT;
            long r = read_text(path, text, sizeof text);
            if (r < 0) return r;
        }
        last = is_known ? known[c->number].file : NULL;
        if (!find_number(text, is_known ? known[c->number].line : NULL, is_known ? known[c->number].word : 0,
                         &values[i]))
            return -EINVAL;
    }
    return 0;
}

static const char *reason(long error)
{
    if (error == -ENOENT) return "there is no such file";
    return error == -EINVAL ? "the file does not begin with a number" : vt_reason(error);
}

const struct vt_provider vt_kernel_counters = {.find = find, .read = read_all, .list = list, .reason = reason};
