/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns of VT_FUNCTIONS. A list may name a thousand functions: names without * and ? are found by a hash. */
#define _GNU_SOURCE
#include <string.h>
#include "recording.h"

struct pattern {
    const char *text;
    uint32_t excludes, wild;
};

static struct {
    char *text; /* the patterns, each ending with 0 */
    struct pattern *patterns;
    uint32_t *slots; /* index + 1 of the last pattern without * and ? that has this text; open addressing */
    uint32_t n, mask;
    size_t bytes;
    int others;  /* 1: functions that no pattern matches are selected */
    int selects; /* 1: a pattern without - is in the list */
    int found;   /* 1: such a pattern has selected a function */
} chosen;

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

static uint32_t *slot_of(const char *text)
{
    uint32_t i = hash(text) & chosen.mask;
    while (chosen.slots[i] && strcmp(chosen.patterns[chosen.slots[i] - 1].text, text)) i = (i + 1) & chosen.mask;
    return &chosen.slots[i];
}

/* Several stars match the same texts as one. */
static void join_stars(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != '*' || from[1] != '*') *to++ = *from;
    *to = 0;
}

static void add(char *text)
{
    uint32_t excludes = *text == '-';
    text += excludes;
    while (*text == ' ') text++;
    for (size_t n = strlen(text); n && text[n - 1] == ' '; n--) text[n - 1] = 0;
    join_stars(text);
    if (!*text) return;
    if (!chosen.n) chosen.others = (int)excludes;
    struct pattern *p = &chosen.patterns[chosen.n++];
    *p = (struct pattern){text, excludes, text[strcspn(text, "*?")] != 0};
    chosen.selects |= !excludes;
    if (!strcmp(text, "*")) chosen.others = !excludes; /* functions without a name, too */
    if (!p->wild) *slot_of(text) = chosen.n;
}

int vt_functions_set(const char *patterns)
{
    size_t length = patterns ? strlen(patterns) : 0, most = 1, slots = 4;
    if (chosen.text) VT_SYS2(munmap, chosen.text, chosen.bytes);
    memset(&chosen, 0, sizeof chosen);
    for (size_t i = 0; i < length; i++) most += patterns[i] == ';';
    while (slots < 2 * most) slots *= 2;
    if (!length || length > UINT32_MAX) return !length;
    chosen.bytes = most * sizeof *chosen.patterns + slots * sizeof *chosen.slots + length + 1;
    char *memory = vt_pages(chosen.bytes);
    if (!memory) return 0;
    chosen.patterns = (struct pattern *)(void *)memory;
    chosen.slots = (uint32_t *)(void *)(chosen.patterns + most);
    chosen.mask = (uint32_t)slots - 1;
    char *text = memcpy(chosen.slots + slots, patterns, length + 1);
    for (char *rest = text, *one; (one = strsep(&rest, ";"));) add(one + strspn(one, " "));
    chosen.text = memory;
    return 1;
}

int vt_functions_chosen(void) { return chosen.n != 0; }

int vt_functions_missed(void) { return chosen.selects && !chosen.found; }

int vt_functions_select(const struct vt_names_of *f)
{
    uint32_t last = 0; /* number of the last pattern that matches */
    if (!chosen.n) return 1;
    for (int i = 0; f && i < VT_NAMES_MOST && f->names[i]; i++) {
        uint32_t exact = *slot_of(f->names[i]);
        if (exact > last) last = exact;
        for (uint32_t p = chosen.n; p > last; p--)
            if (chosen.patterns[p - 1].wild && vt_pattern_matches(chosen.patterns[p - 1].text, f->names[i], 0))
                last = p;
    }
    int selected = last ? !chosen.patterns[last - 1].excludes : chosen.others;
    chosen.found |= selected && (last || !f);
    return selected;
}
