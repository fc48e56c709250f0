/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_FILTER_SPEC selects the functions and calls that are recorded. The file has VampirTrace's grammar (VampirTrace
   5.14 User Manual, 5.1) or Score-P's (Score-P User Manual, "Defining and Testing a Filter"). The keywords of Score-P
   identify its grammar. docs/filter.md describes both grammars. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "recording.h"

#define MOST_BYTES (1u << 20) /* maximum size of the file */
#define MOST_RULES 32768u
#define ALL VT_CALL_ALL

struct rule {
    const char *pattern;
    int64_t limit; /* number of calls that are recorded, or ALL */
    uint32_t line;
    uint32_t ranks; /* index in `ranges` of the first range of its list; 0: all ranks */
    uint8_t group; /* 1: the pattern is for names of groups */
    uint8_t mangled; /* 1: the pattern is for mangled names */
};

static struct {
    char *text; /* the file, split into patterns */
    struct rule *rules;
    uint32_t n, refused, nranges, begin; /* begin: index of the first range of the current list */
    uint32_t (*ranges)[2]; /* first and last rank of each range; a list ends with first > last */
    int scorep, loaded;
    uint32_t rank;
} filter;

static const char *path(void) { return vt_process.set.filter_spec; }

static void refuse(uint32_t line, const char *text, const char *why)
{
    filter.refused++;
    if (vt_process.set.speaks) vt_say(1, "VT_FILTER_SPEC: %.200s:%u: ignored \"%.100s\": %s", path(), line, text, why);
}

static void add(const char *pattern, int64_t limit, uint32_t line, uint8_t group, uint8_t mangled)
{
    if (!strncmp(pattern, "!$omp", 5) && strchr(pattern, '@')) {
        refuse(line, pattern, "the lines of OpenMP constructs are unknown; !$omp for* matches all loops");
        return;
    }
    if (filter.n == MOST_RULES) vt_warn("VT_FILTER_SPEC: more than %u rules: the others are ignored", MOST_RULES);
    else filter.rules[filter.n++] = (struct rule){pattern, limit, line, filter.begin, group, mangled};
}

/* ---- Patterns ---- */

/* 1: c is in the class at *pattern, such as [a-z] or [!a-z]; *pattern moves past the class. -1: the class has no end,
   so the [ is an ordinary character. */
static int in_class(const char **pattern, char c)
{
    const char *p = *pattern + 1, *end = strchr(p + (*p == '!' || *p == '^') + 1, ']');
    int not = *p == '!' || *p == '^', found = 0;
    if (!end) return -1;
    for (p += not; p < end; p++) {
        if (p + 2 < end && p[1] == '-') {
            found |= c >= *p && c <= p[2];
            p += 2;
        } else found |= c == *p;
    }
    *pattern = end + 1;
    return found != not;
}

/* 1: c matches the first element of the pattern; *pattern moves past the element. */
static int matches_one(const char **pattern, char c, int classes)
{
    const char *p = *pattern;
    int known = classes && *p == '[' ? in_class(pattern, c) : -1;
    if (known >= 0) return known;
    if (classes && *p == '\\' && p[1]) p++;
    *pattern = p + 1;
    return *p == c || (*p == '?' && p == *pattern - 1);
}

int vt_pattern_matches(const char *pattern, const char *name, int classes)
{
    const char *star = NULL, *resume = NULL;
    while (*name) {
        const char *p = pattern;
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
            continue;
        }
        if (*p && matches_one(&p, *name, classes)) {
            pattern = p;
            name++;
            continue;
        }
        if (!star) return 0;
        pattern = star;
        name = ++resume;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

/* ---- VampirTrace's grammar: NAME;NAME;... -- LIMIT [G], and @ RANK - RANK, RANK [-- OFF] ---- */

static int read_ranks(char *text, uint32_t line)
{
    uint32_t begin = filter.nranges;
    for (char *rest = text, *item; (item = strsep(&rest, ","));) {
        char *end;
        item = vt_text_trim(item);
        if (!*item) continue;
        unsigned long first = strtoul(item, &end, 10), last = first;
        int bad = *item < '0' || *item > '9';
        end = vt_text_trim(end);
        if (*end == '-') {
            char *from = vt_text_trim(end + 1);
            bad |= *from < '0' || *from > '9';
            last = strtoul(from, &end, 10);
            end = vt_text_trim(end);
        }
        if (bad || *end || last >= UINT32_MAX || first > last) {
            refuse(line, item, "not a rank or a range of ranks");
            continue;
        }
        filter.ranges[filter.nranges][0] = (uint32_t)first;
        filter.ranges[filter.nranges++][1] = (uint32_t)last;
    }
    filter.ranges[filter.nranges][0] = 1; /* the end of the list; a list without a valid range applies to no rank */
    filter.ranges[filter.nranges++][1] = 0;
    filter.begin = begin;
    return begin != 0;
}

static void read_rank_line(char *text, uint32_t line)
{
    char *off = strstr(text, "--");
    if (off) {
        *off = 0;
        off = vt_text_trim(off + 2);
    }
    read_ranks(text, line);
    if (!off) return;
    if (strcasecmp(off, "off")) refuse(line, off, "not OFF");
    else add("*", 0, line, 0, 0);
    filter.begin = 0;
}

static void read_vt_line(char *text, uint32_t line)
{
    char *limit = NULL, *end;
    for (char *at = text; (at = strstr(at, "--")); at += 2) limit = at; /* the last --: a name may be operator-- */
    if (!limit) {
        refuse(line, text, "without -- and a limit");
        return;
    }
    *limit = 0;
    limit = vt_text_trim(limit + 2);
    long long calls = strtoll(limit, &end, 10);
    if (end == limit || calls < -1 || (*end && *end != ' ' && *end != '\t')) {
        refuse(line, limit, "not a number of calls (0: never, -1: always)");
        return;
    }
    end = vt_text_trim(end);
    text = vt_text_trim(text);
    if (!text[strspn(text, "; \t")]) refuse(line, limit, "no names before --");
    int group = !strcasecmp(end, "G");
    if (*end && !group) {
        refuse(line, end, "only G may follow the limit; the rest of the rule applies");
        filter.refused -= !strcmp(end, "S") || !strcmp(end, "R") || !strcmp(end, "C"); /* valid in VampirTrace */
    }
    for (char *rest = text, *name; (name = strsep(&rest, ";"));)
        if (*(name = vt_text_trim(name))) add(name, calls, line, (uint8_t)group, 0);
}

/* ---- Score-P's grammar: blocks of EXCLUDE and INCLUDE rules; the last matching rule applies ---- */

static int is(const char *word, const char *keyword) { return !strcmp(word, keyword); }

/* Returns the next word, terminated in place. A blank after a backslash belongs to the word. The backslash remains, for
   the pattern. */
static char *next_word(char **rest)
{
    char *s = *rest + strspn(*rest, " \t\r"), *begin = s;
    if (!*s) return NULL;
    while (*s && !strchr(" \t\r", *s)) s += s[0] == '\\' && s[1] ? 2 : 1;
    *rest = *s ? s + 1 : s;
    *s = 0;
    return begin;
}

static void read_scorep_line(char *text, uint32_t line)
{
    static enum { OUTSIDE, NAMES, FILES } block;
    static int64_t limit;
    static uint8_t mangled, ruled;
    if (line == 1) block = OUTSIDE;
    for (char *word; (word = next_word(&text));) {
        if (is(word, "SCOREP_REGION_NAMES_BEGIN")) block = NAMES, ruled = 0;
        else if (is(word, "SCOREP_FILE_NAMES_BEGIN")) {
            block = FILES;
            refuse(line, word, "only the compiler (vtrace-cc) filters by file");
            filter.refused--; /* valid in Score-P */
        } else if (is(word, "SCOREP_REGION_NAMES_END") || is(word, "SCOREP_FILE_NAMES_END")) block = OUTSIDE;
        else if (block == FILES) continue;
        else if (block == OUTSIDE) refuse(line, word, "outside of a block");
        else if (is(word, "EXCLUDE") || is(word, "INCLUDE")) {
            limit = *word == 'E' ? 0 : ALL;
            mangled = 0;
            ruled = 1;
        } else if (is(word, "MANGLED")) mangled = 1;
        else if (!ruled) refuse(line, word, "before EXCLUDE or INCLUDE");
        else add(word, limit, line, 0, mangled);
    }
}

/* ---- The file ---- */

static void read_lines(char *text)
{
    uint32_t line = 0;
    filter.scorep = strstr(text, "SCOREP_REGION_NAMES_BEGIN") || strstr(text, "SCOREP_FILE_NAMES_BEGIN");
    for (char *rest = text, *one; (one = strsep(&rest, "\n"));) {
        char *comment = strchr(one, '#');
        line++;
        if (comment) *comment = 0;
        one = vt_text_trim(one);
        if (filter.scorep) read_scorep_line(one, line);
        else if (*one == '@') read_rank_line(one + 1, line);
        else if (*one) read_vt_line(one, line);
    }
}

int vt_filter_load(void)
{
    const char *rank = vt_launcher_rank();
    if (filter.loaded) return filter.n != 0;
    filter.loaded = 1;
    filter.rank = rank ? (uint32_t)strtoul(rank, NULL, 10) : 0;
    if (!*path()) return 0;
    filter.text = vt_pages(MOST_BYTES + 2);
    filter.rules = vt_pages(MOST_RULES * sizeof *filter.rules);
    filter.ranges = vt_pages((MOST_BYTES + 4) * sizeof *filter.ranges); /* a range takes at least 2 bytes of text */
    if (!filter.text || !filter.rules || !filter.ranges) return 0;
    long n = vt_read_file(path(), filter.text, MOST_BYTES + 2);
    filter.nranges = 1; /* index 0 means no list */
    filter.refused = 1; /* counts the whole file, unless it is read */
    if (n < 0) vt_warn("VT_FILTER_SPEC=%s cannot be read (%s): all functions are recorded", path(), vt_reason(n));
    else if (n > MOST_BYTES)
        vt_warn("VT_FILTER_SPEC=%s has more than %u bytes: all functions are recorded", path(), MOST_BYTES);
    else if (memchr(filter.text, 0, (size_t)n))
        vt_warn("VT_FILTER_SPEC=%s is not a text file: all functions are recorded", path());
    else {
        filter.refused = 0;
        read_lines(filter.text);
    }
    return filter.n != 0;
}

static void (*changed)(void);

void vt_filter_on_change(void (*call)(void)) { changed = call; }

void vt_filter_rank(uint32_t rank)
{
    int changes = rank != filter.rank && filter.nranges > 1;
    filter.rank = rank;
    if (changes && changed) changed();
}

/* ---- Queries ---- */

/* 1: the rule applies to the rank of this process. */
static int for_rank(const struct rule *r)
{
    if (!r->ranks) return 1;
    for (uint32_t (*range)[2] = filter.ranges + r->ranks; (*range)[0] <= (*range)[1]; range++)
        if (filter.rank >= (*range)[0] && filter.rank <= (*range)[1]) return 1;
    return 0;
}

static int fits(const struct rule *r, const struct vt_names_of *f)
{
    if (r->group) return vt_pattern_matches(r->pattern, f->group, 0) || vt_groups_hold(r->pattern, f);
    if (r->mangled) return vt_pattern_matches(r->pattern, f->mangled, 1);
    for (int i = 0; i < VT_NAMES_MOST && f->names[i]; i++)
        if (vt_pattern_matches(r->pattern, f->names[i], filter.scorep)) return 1;
    return 0;
}

/* The rule that applies to a function; NULL: none. */
static const struct rule *rule_of(const struct vt_names_of *f)
{
    const struct rule *last = NULL;
    for (uint32_t i = 0; i < filter.n; i++) {
        if (!for_rank(&filter.rules[i]) || !fits(&filter.rules[i], f)) continue;
        last = &filter.rules[i];
        if (!filter.scorep) break; /* VampirTrace: the first matching rule applies */
    }
    return last;
}

/* Removes the source location from the name of an OpenMP construct: at run time the line is unknown. */
static void without_place(struct vt_names_of *f, char *into, size_t bytes)
{
    const char *place = strstr(f->names[0], " @");
    size_t n = place ? (size_t)(place - f->names[0]) : bytes;
    if (n >= bytes) return;
    memcpy(into, f->names[0], n);
    into[n] = 0;
    f->names[0] = f->mangled = into;
}

int64_t vt_filter_limit(const struct vt_names_of *f)
{
    const struct rule *r = filter.n ? rule_of(f) : NULL;
    return r ? r->limit : ALL;
}

long vt_filter_explain(const char *name, const char *group, uint32_t rank, char *into, size_t bytes)
{
    struct vt_text t = vt_text_into(into, bytes);
    struct vt_names_of f = {.names = {name}, .mangled = name, .group = group};
    char shown[VT_NAME_BYTES];
    if (atomic_load(&vt_process.state) == VT_NEW) vt_settings_read(&vt_process.set);
    vt_filter_load();
    filter.rank = rank;
    vt_names_shorten(&f, shown, sizeof shown);
    if (!strcmp(group, "OMP")) without_place(&f, shown, sizeof shown);
    const struct rule *r = rule_of(&f);
    vt_text_add(&t, r ? r->pattern : "", "\n");
    vt_text_dec(&t, r ? r->line : 0);
    vt_text_add(&t, "\n");
    vt_text_dec(&t, filter.n);
    vt_text_add(&t, "\n");
    vt_text_dec(&t, filter.refused);
    return r ? (long)r->limit : ALL;
}

/* ---- Names ---- */

void vt_names_shorten(struct vt_names_of *f, char *into, size_t bytes)
{
    const char *name = f->names[0], *end = NULL;
    size_t length = strlen(name);
    int depth = 0;
    if (length >= bytes || !strchr(name, '(')) return;
    for (const char *c = name + length; c > name && !end; c--) { /* from the last ) to its ( */
        depth += c[-1] == ')' ? 1 : c[-1] == '(' ? -1 : 0;
        if (c[-1] == '(' && !depth) end = c - 1;
    }
    if (!end || end == name) return;
    memcpy(into, name, (size_t)(end - name));
    into[end - name] = 0;
    f->names[1] = into;
}
