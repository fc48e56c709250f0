/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_GROUPS_SPEC: a file with lines GROUP=NAME;NAME;... and comments after # (VampirTrace 5.14 User Manual, 5.3). Rules
   of a filter may name the groups. The text of the file becomes a property in the trace; vtunify creates groups of
   regions from it. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "recording.h"

#define MOST_BYTES 50000u /* the text must fit into one definition */
#define MOST_MEMBERS 8192u

/* Pages of their own: few programs have groups, and memory may be limited. */
static struct {
    char text[MOST_BYTES + 2], cut[MOST_BYTES + 2]; /* the text as read, and a copy split into strings */
    struct {
        const char *group, *pattern;
    } members[MOST_MEMBERS];
} *all; /* NULL: no groups */
static uint32_t nmembers;
static int loaded;

static void read_lines(void)
{
    uint32_t number = 0;
    memcpy(all->cut, all->text, sizeof all->cut);
    for (char *rest = all->cut, *line; (line = strsep(&rest, "\n"));) {
        char *comment = strchr(line, '#'), *list = line, *pattern;
        number++;
        if (comment) *comment = 0;
        char *group = vt_text_trim(strsep(&list, "="));
        if (!list && *group && vt_process.set.speaks)
            vt_say(1, "VT_GROUPS_SPEC: %.200s:%u: ignored \"%.100s\": not GROUP=NAME;NAME", vt_process.set.groups_spec,
                   number, group);
        while (list && (pattern = strsep(&list, ";"))) {
            pattern = vt_text_trim(pattern);
            if (!*pattern || nmembers == MOST_MEMBERS) continue;
            all->members[nmembers].group = group;
            all->members[nmembers++].pattern = pattern;
        }
    }
}

void vt_groups_load(void)
{
    const char *path = vt_process.set.groups_spec;
    if (loaded || !*path) return;
    loaded = 1;
    all = vt_pages(sizeof *all);
    long n = all ? vt_read_file(path, all->text, sizeof all->text) : -ENOMEM;
    if (n >= 0 && n <= MOST_BYTES && !memchr(all->text, 0, (size_t)n)) {
        read_lines();
        return;
    }
    if (n < 0) vt_warn("VT_GROUPS_SPEC=%s cannot be read (%s): no groups are defined", path, vt_reason(n));
    else vt_warn("VT_GROUPS_SPEC=%s is not a text file of at most %u bytes: no groups are defined", path, MOST_BYTES);
    if (all) all->text[0] = 0;
}

/* Returns 1 if a group whose name matches the pattern contains the function. */
int vt_groups_hold(const char *group, const struct vt_names_of *f)
{
    for (uint32_t i = 0; i < nmembers; i++) {
        if (!vt_pattern_matches(group, all->members[i].group, 0)) continue;
        for (int j = 0; j < VT_NAMES_MOST && f->names[j]; j++)
            if (vt_pattern_matches(all->members[i].pattern, f->names[j], 0)) return 1;
    }
    return 0;
}

void vt_groups_define(struct vt_location *l)
{
    if (all && *all->text) vt_define_property(l, "groups", all->text);
}
