/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_METRICS_REPLAY: counters from a table of recorded values, in place of counters that this machine does not have.
   The first line of the file has their names, each other line their values at one reading, separated by commas. Each
   thread begins with the first values, and keeps the last ones at the end. Lines that begin with # are comments, except
   "# most N": at most N counters at once, like counters of a processor. Lines may end with CR LF. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "provider.h"

#define FILE_MOST (16u << 20)
#define COLUMNS_MOST 64u

static struct {
    int is_read;
    unsigned columns, most; /* most: counters at once */
    uint64_t rows, *values; /* row by row */
    const char *names[COLUMNS_MOST];
    size_t lengths[COLUMNS_MOST];
} table;

/* Returns the text of the file, which ends with 0; NULL: *problem has the reason. */
static char *read_file(const char *path, const char **problem)
{
    long fd = VT_SYS4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0), n = 0, more = 1;
    char *text = fd < 0 ? NULL : vt_pages(FILE_MOST + 1);
    *problem = fd == -ENOENT ? "no such file" : fd < 0 ? vt_reason(fd) : text ? NULL : "no memory";
    while (text && more > 0 && n < FILE_MOST && (more = VT_SYS3(read, fd, text + n, FILE_MOST - n)) > 0) n += more;
    if (fd >= 0) VT_SYS1(close, fd);
    if (text && more < 0) *problem = vt_reason(more);
    else if (text && n == FILE_MOST) *problem = "larger than 16 MiB";
    return *problem ? NULL : text;
}

/* The end of a line's text; a line may end with CR LF. */
static int at_end(const char *at) { return *at == '\n' || (*at == '\r' && at[1] == '\n'); }

/* Reads a number up to a comma or the end of the line. Returns 0 if there is none. */
static int take_number(const char **at, uint64_t *number)
{
    const char *begin = *at;
    unsigned overflows = 0;
    for (*number = 0; **at >= '0' && **at <= '9'; ++*at)
        overflows |= __builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, **at - '0', number);
    return *at > begin && !overflows && (**at == ',' || at_end(*at));
}

/* The first line, without its end. Returns the reason why the line is wrong; NULL: it is correct. */
static const char *take_names(const char *line, size_t length)
{
    for (const char *at = line, *end = line + length; at <= end;) {
        size_t n = strcspn(at, ",\n");
        if (n > (size_t)(end - at)) n = (size_t)(end - at);
        if (table.columns == COLUMNS_MOST) return "more than 64 counters";
        if (!n || n >= VT_COUNTER_NAME) return "a counter has no name, or one of more than 127 characters";
        table.names[table.columns] = at;
        table.lengths[table.columns++] = n;
        at += n + 1;
    }
    return NULL;
}

static const char *take_values(const char *line)
{
    uint64_t *into = table.values + table.rows * table.columns;
    for (unsigned i = 0; i < table.columns; i++, line++)
        if (!take_number(&line, &into[i]) || (*line == ',') != (i + 1 < table.columns))
            return "not one number for each counter";
    table.rows++;
    return NULL;
}

static const char *take_line(const char *line, size_t length)
{
    static const char most[] = "# most ";
    uint64_t number = 0;
    if (length && line[length - 1] == '\r') length--;
    if (!length || (*line == '#' && strncmp(line, most, strlen(most)))) return NULL;
    if (*line == '#') {
        line += strlen(most);
        if (!take_number(&line, &number) || !at_end(line) || !number || number > UINT32_MAX) return "not # most NUMBER";
        table.most = (unsigned)number;
        return NULL;
    }
    return table.columns ? take_values(line) : take_names(line, length);
}

/* Values take two bytes of the file or more. A file with an error has no counters. */
static void take_file(const char *path)
{
    const char *problem;
    char *text = read_file(path, &problem);
    unsigned line = 0;
    size_t length = text ? strlen(text) : 0;
    if (text) table.values = vt_pages((length / 2 + COLUMNS_MOST) * sizeof *table.values);
    if (text && !table.values) problem = "no memory";
    if (text && length && text[length - 1] != '\n') text[length] = '\n'; /* there is room: the page after the text */
    for (const char *at = text; !problem && at && *at;) {
        size_t n = strcspn(at, "\n");
        line++;
        problem = take_line(at, n);
        at += n + 1;
    }
    if (!problem && !table.rows) problem = "no values";
    if (!problem) return;
    table.columns = 0;
    if (!vt_process.set.speaks) return;
    if (!line) vt_say(1, "VT_METRICS_REPLAY: %.200s: %s: the file is not used", path, problem);
    else vt_say(1, "VT_METRICS_REPLAY: %.200s, line %u: %s: the file is not used", path, line, problem);
}

static void read_table(void)
{
    const char *path = vt_setting_text("VT_METRICS_REPLAY");
    if (table.is_read) return;
    table.is_read = 1;
    table.most = COLUMNS_MOST;
    if (path && *path) take_file(path);
}

static int list(unsigned i, struct vt_counter *found)
{
    read_table();
    if (i >= table.columns) return 0;
    found->number = i;
    found->mode = 'a';
    found->scope = VT_SCOPE_THREAD;
    found->unit = "#";
    found->meaning = "values of VT_METRICS_REPLAY";
    memcpy(found->name, table.names[i], table.lengths[i]);
    found->name[table.lengths[i]] = 0;
    return 1;
}

static int find(const char *name, size_t length, struct vt_counter *found)
{
    for (unsigned i = 0; list(i, found); i++)
        if (table.lengths[i] == length && !memcmp(found->name, name, length)) return 1;
    return 0;
}

static long open_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, unsigned *failed)
{
    (void)counters;
    s->next = 0;
    *failed = table.most;
    return n <= table.most ? 0 : -EINVAL;
}

static long read_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, uint64_t *values)
{
    const uint64_t *row = table.values + s->next * table.columns;
    for (unsigned i = 0; i < n; i++) values[i] = row[counters[i].number];
    if (s->next + 1 < table.rows) s->next++;
    return 0;
}

static const char *reason(long error)
{
    return error == -EINVAL ? "the file of VT_METRICS_REPLAY allows no more (# most)" : vt_reason(error);
}

const struct vt_provider vt_replay_counters = {
    .find = find, .open = open_all, .read = read_all, .reason = reason, .list = list};
