/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the lines of a comma-separated table into columns. A field is checked completely before its value is used. */
#include "external_lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE (-1)
#define LARGEST_ID INT32_MAX
#define REAL_MOST 64 /* characters of a real number */

/* Names by their bytes: an open hash table of numbers plus 1. */
struct name_table {
    uint32_t *slots;
    uint64_t mask;
};

struct field {
    const char *from, *to; /* without spaces around */
};

static int refuse(struct vt_external_lines *l, const char *line, const char *at, const char *fault)
{
    l->column = (uint64_t)(at - line) + 1;
    snprintf(l->fault, sizeof l->fault, "%s", fault);
    return 0;
}

static inline int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads a whole number below 2^63. */
static inline int whole(struct field f, int64_t *value)
{
    uint64_t found = 0;
    if (f.from == f.to || f.to - f.from > 19) return 0;
    for (const char *c = f.from; c < f.to; c++) {
        if (!is_digit(*c)) return 0;
        found = found * 10 + (uint64_t)(*c - '0');
    }
    *value = (int64_t)found;
    return found <= INT64_MAX;
}

static int is_number(struct field f)
{
    int digits = 0;
    const char *c = f.from + (f.from < f.to && (*f.from == '-' || *f.from == '+'));
    for (; c < f.to && is_digit(*c); c++) digits++;
    if (c < f.to && *c == '.')
        for (c++; c < f.to && is_digit(*c); c++) digits++;
    if (!digits) return 0;
    if (c < f.to && (*c == 'e' || *c == 'E')) {
        c += 1 + (c + 1 < f.to && (c[1] == '-' || c[1] == '+'));
        if (c >= f.to) return 0;
        for (; c < f.to && is_digit(*c); c++) {}
    }
    return c == f.to;
}

/* Reads a number; *exact: 1 if it is a whole number of 64 bits. */
static int number(struct field f, int64_t *integer, double *real, int *exact)
{
    char text[REAL_MOST + 1];
    struct field digits = {f.from + (f.from < f.to && *f.from == '-'), f.to};
    *exact = whole(digits, integer);
    if (*exact) {
        if (digits.from > f.from) *integer = -*integer;
        *real = (double)*integer;
        return 1;
    }
    if (!is_number(f) || f.to - f.from > REAL_MOST) return 0;
    memcpy(text, f.from, (size_t)(f.to - f.from));
    text[f.to - f.from] = 0;
    *real = strtod(text, NULL);
    *integer = 0;
    return *real - *real == 0; /* finite */
}

static int two(const char *c, int *value)
{
    *value = (c[0] - '0') * 10 + c[1] - '0';
    return is_digit(c[0]) && is_digit(c[1]);
}

/* The days since 1970 of a date of the Gregorian calendar. */
static int64_t days(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Reads YYYY-MM-DD hh:mm:ss and any number of decimal digits; digits beyond ns are ignored. */
static int date(struct field f, int64_t *ns)
{
    static const char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int century, years, month, day, hour, minute, second;
    const char *c = f.from;
    if (f.to - c < 19 || c[4] != '-' || c[7] != '-' || c[10] != ' ' || c[13] != ':' || c[16] != ':') return 0;
    if (!two(c, &century) || !two(c + 2, &years) || !two(c + 5, &month) || !two(c + 8, &day)) return 0;
    if (!two(c + 11, &hour) || !two(c + 14, &minute) || !two(c + 17, &second)) return 0;
    int year = century * 100 + years, leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year < 1970 || year > 2260 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 60)
        return 0;
    if (day > lengths[month - 1] + (month == 2 && leap)) return 0;
    int64_t part = 0, unit = 1000000000;
    c += 19;
    if (c < f.to && *c++ != '.') return 0;
    for (; c < f.to; c++) {
        if (!is_digit(*c)) return 0;
        unit /= 10;
        part += unit * (*c - '0');
    }
    *ns = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    *ns = *ns * 1000000000 + part;
    return 1;
}

/* ---- Names ---- */

static uint64_t hash(const char *text, uint64_t size)
{
    uint64_t found = 1469598103934665603u;
    for (uint64_t i = 0; i < size; i++) found = (found ^ (uint8_t)text[i]) * 1099511628211u;
    return found ^ found >> 29;
}

static int grow(const struct vt_external_lines *l, struct name_table *names)
{
    uint64_t mask = names->slots ? names->mask * 2 + 1 : 1023;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) return 0;
    for (uint32_t n = 0; n < l->names; n++) {
        uint64_t at = hash((const char *)l->text + l->name_at[n], l->name_size[n]) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = n + 1;
    }
    free(names->slots);
    *names = (struct name_table){slots, mask};
    return 1;
}

/* Returns the number of a name; UINT32_MAX: no memory. */
static uint32_t name_of(struct vt_external_lines *l, struct name_table *names, struct field f)
{
    const char *text = (const char *)l->text;
    uint64_t size = (uint64_t)(f.to - f.from);
    if (l->names * 2 >= names->mask && !grow(l, names)) return UINT32_MAX;
    uint64_t at = hash(f.from, size) & names->mask;
    for (; names->slots[at]; at = (at + 1) & names->mask) {
        uint32_t n = names->slots[at] - 1;
        if (l->name_size[n] == size && !memcmp(text + l->name_at[n], f.from, size)) return n;
    }
    l->name_at[l->names] = (uint64_t)(f.from - text);
    l->name_size[l->names++] = size;
    return (names->slots[at] = (uint32_t)l->names) - 1;
}

/* ---- Lines ---- */

/* Returns the end of a field: a comma or the end of the line. A name that begins with a quote may contain commas, and
   quotes written twice. NULL: the closing quote is missing. */
static const char *end_of(const char *from, const char *end, int quoted)
{
    if (!quoted || from == end || *from != '"') {
        while (from < end && *from != ',') from++;
        return from;
    }
    for (from++; from < end; from++)
        if (*from == '"') {
            if (from + 1 < end && from[1] == '"') from++;
            else return from + 1 == end || from[1] == ',' ? from + 1 : NULL;
        }
    return NULL;
}

static struct field trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
    return (struct field){from, to};
}

static const char *take(struct vt_external_lines *l, struct name_table *names, uint8_t use, uint64_t value,
                        struct field f)
{
    uint64_t row = l->rows, place = row * l->nvalues + value;
    int exact;
    switch (use) {
    case VT_FIELD_NAME:
        if (f.from == f.to) return "the name is empty";
        if ((l->name[row] = name_of(l, names, f)) == UINT32_MAX) return "memory";
        return NULL;
    case VT_FIELD_BEGIN:
    case VT_FIELD_END: {
        int64_t *time = use == VT_FIELD_BEGIN ? &l->begin[row] : &l->end[row];
        if (l->dates) return date(f, time) ? NULL : "expected: a time in UTC as YYYY-MM-DD hh:mm:ss.sssss";
        if (!whole(f, time)) return "expected: a time as a whole number";
        return NULL;
    }
    case VT_FIELD_VALUE:
        if (!number(f, &l->integers[place], &l->reals[place], &exact)) return "expected: a number";
        if (!exact) l->is_real[value] = 1;
        return NULL;
    default: {
        int64_t *id = use == VT_FIELD_PID ? &l->pid[row] : &l->tid[row];
        *id = NONE;
        if (f.from == f.to) return NULL;
        if (!whole(f, id) || *id > LARGEST_ID)
            return use == VT_FIELD_PID ? "expected: a process id, or nothing" : "expected: a thread id, or nothing";
        return NULL;
    }
    }
}

static int read_line(struct vt_external_lines *l, struct name_table *names, const char *line, const char *end)
{
    const char *at = line, *times = line;
    uint64_t value = 0;
    for (uint64_t i = 0; i < l->columns; i++) {
        uint8_t use = l->uses[i];
        const char *to = end_of(at, end, use == VT_FIELD_NAME);
        if (!to) return refuse(l, line, at, "the name has a quote without its end");
        struct field f = use == VT_FIELD_NAME ? (struct field){at, to} : trimmed(at, to);
        const char *fault = take(l, names, use, value, f);
        if (fault) return refuse(l, line, f.from, fault);
        value += use == VT_FIELD_VALUE;
        if (use == VT_FIELD_END) times = f.from;
        if (to == end && i + 1 < l->columns) return refuse(l, line, end, "fields are missing");
        if (to < end && i + 1 == l->columns) return refuse(l, line, to, "more fields than in the first line");
        at = to + 1;
    }
    if (l->end && l->end[l->rows] < l->begin[l->rows]) return refuse(l, line, times, "the end is before the start");
    return 1;
}

VT_EXPORT int vt_external_read(struct vt_external_lines *l)
{
    struct name_table names = {0};
    const char *text = (const char *)l->text, *all = text + l->size, *line = text + l->at;
    uint64_t room = l->rows;
    int fine = grow(l, &names) || refuse(l, line, line, "memory");
    l->rows = 0;
    for (; fine && line < all; l->line++) {
        const char *newline = memchr(line, '\n', (size_t)(all - line)), *end = newline ? newline : all;
        if (end > line && end[-1] == '\r') end--;
        if (end > line) {
            fine = l->rows < room ? read_line(l, &names, line, end) : refuse(l, line, line, "more lines than counted");
            l->rows += (uint64_t)fine;
        }
        if (!fine) break;
        line = newline ? newline + 1 : all;
    }
    free(names.slots);
    return fine;
}
