/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of settings that are words: yes or no, a moment (VT_START_AFTER, VT_STOP_AFTER), a signal (VT_RING_SIGNAL), a
   rate (VT_SAMPLE_RATE), names (VT_SAMPLE_EVENT, VT_METRICS), patterns (VT_FUNCTIONS), iterations (VT_KEEP,
   VT_TRIGGER). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "settings.h"

#define SECOND UINT64_C(1000000000)
#define MOST_SECONDS 1000000000u

int vt_setting_yes(const char *text)
{
    static const char *const yes[] = {"yes", "on", "true", "1"}, *const no[] = {"no", "off", "false", "0"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(text, yes[i])) return 1;
        if (!strcasecmp(text, no[i])) return 0;
    }
    return -1;
}

long vt_setting_moment(const char *text, uint64_t *value)
{
    const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
    uint64_t whole = 0, part = 0, unit = SECOND;
    if (*digits < '0' || *digits > '9') return -1;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        if ((whole = whole * 10 + (uint64_t)(*digits - '0')) > MOST_SECONDS) return -1;
    if (colon) {
        *value = whole;
        return *digits || !whole || colon == text ? -1 : colon - text;
    }
    if (*digits == '.')
        for (digits++; *digits >= '0' && *digits <= '9'; digits++)
            if (unit > 1) part += (uint64_t)(*digits - '0') * (unit /= 10);
    if (*digits == 's') digits++;
    *value = whole * SECOND + part;
    return *digits ? -1 : 0;
}

void vt_setting_read_moment(int speaks, const char *name, char *into, size_t bytes)
{
    const char *text = vt_setting_text(name);
    uint64_t value;
    into[0] = 0;
    if (!text || !*text) return;
    int good = strlen(text) < bytes && vt_setting_moment(text, &value) >= 0;
    struct vt_text t = vt_text_into(into, bytes);
    if (good) vt_text_add(&t, text);
    else if (speaks)
        vt_say(
            1,
            "%s=%.100s is not a time in seconds (10 or 0.5s) or a call of a region (NAME:100): the setting is ignored",
            name, text);
}

#define LEAST_PERIOD (SECOND / 10000)
#define MOST_PERIOD (3600 * SECOND) /* guide of the Instant Profiler, 2.1.2, -i */

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {{"s", SECOND}, {"ms", SECOND / 1000}, {"us", 1000}};

int vt_setting_rate(const char *text, uint64_t *ns)
{
    uint64_t n = 0;
    if (*text < '0' || *text > '9') return 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if ((n = n * 10 + (uint64_t)(*text - '0')) > MOST_PERIOD) return 0;
    *ns = !*text && n ? SECOND / n : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(text, units[i].name)) *ns = n * units[i].ns;
    return (!*text && !n) || (*ns >= LEAST_PERIOD && *ns <= MOST_PERIOD);
}

void vt_setting_show_rate(struct vt_text *t, uint64_t ns)
{
    size_t unit = 0;
    int is_rate = !ns || (ns <= SECOND && SECOND / (SECOND / ns) == ns);
    while (unit < 2 && ns % units[unit].ns) unit++;
    vt_text_dec(t, !ns ? 0 : is_rate ? SECOND / ns : ns / units[unit].ns);
    if (!is_rate) vt_text_add(t, units[unit].name);
}

void vt_setting_read_words(int speaks, const char *name, char *into, size_t bytes, const char *advice)
{
    const char *text = vt_setting_text(name);
    into[0] = 0;
    if (!text || !*text) return;
    struct vt_text t = vt_text_into(into, bytes);
    if (strlen(text) < bytes) vt_text_add(&t, text);
    else if (speaks)
        vt_say(1, "%s has more than %u bytes: the setting is ignored%s", name, (unsigned)bytes - 1, advice);
}

/* Signals that the kernel itself does not raise to report an error. */
static const struct {
    const char *name;
    int number;
} known[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"URG", SIGURG}, {"WINCH", SIGWINCH}};

int vt_setting_signal(const char *name)
{
    char *end;
    if (!strncasecmp(name, "SIG", 3)) name += 3;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(name, known[i].name)) return known[i].number;
    if (!strcasecmp(name, "RTMIN")) return SIGRTMIN;
    if (strncasecmp(name, "RTMIN+", 6) || name[6] < '0' || name[6] > '9') return 0;
    long above = strtol(name + 6, &end, 10);
    return *end || above > SIGRTMAX - SIGRTMIN ? 0 : SIGRTMIN + (int)above;
}

void vt_setting_read_signal(int speaks, const char *name, char *into, size_t bytes)
{
    const char *text = vt_setting_text(name);
    into[0] = 0;
    if (!text || !*text) return;
    if (!vt_setting_signal(text)) {
        if (speaks) vt_say(1, "%s=%.100s is not USR1, USR2, URG, WINCH or RTMIN+n: no signal is used", name, text);
        return;
    }
    struct vt_text t = vt_text_into(into, bytes);
    vt_text_add(&t, text);
}

#define MOST_ITERATIONS 1000000000000u

/* Parses a number from 1 on, also of millionths if `millionths` is 1. Returns the text after it; NULL: there is none. */
static const char *read_number(const char *text, int millionths, uint64_t *value)
{
    uint64_t unit = millionths ? VT_KEEP_ALL / 100 : 1;
    *value = 0;
    if (*text < '0' || *text > '9') return NULL;
    for (; *text >= '0' && *text <= '9'; text++)
        if ((*value = *value * 10 + (uint64_t)(*text - '0') * unit) > MOST_ITERATIONS) return NULL;
    if (millionths && *text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++) *value += (uint64_t)(*text - '0') * (unit /= 10);
    return *value ? text : NULL;
}

int vt_setting_keep(const char *text, struct vt_keep_rules *rules)
{
    *rules = (struct vt_keep_rules){0};
    for (;; text++) {
        if (!strncasecmp(text, "first:", 6)) text = read_number(text + 6, 0, &rules->first);
        else if (!strncasecmp(text, "every:", 6)) text = read_number(text + 6, 0, &rules->every);
        else if (!strncasecmp(text, "slowest:", 8)) {
            text = read_number(text + 8, 1, &rules->slowest);
            if (!text || *text++ != '%' || rules->slowest > VT_KEEP_ALL) return 0;
        } else return 0;
        if (!text || !*text) return text != NULL;
        if (*text != ',') return 0;
    }
}

/* Returns the text after a word and spaces; NULL: it does not begin with the word. */
static const char *after(const char *text, const char *word)
{
    if (!text || strncasecmp(text, word, strlen(word)) != 0) return NULL;
    text += strlen(word);
    return text + strspn(text, " ");
}

/* "NAME > VALUE". Names may have blanks and >, so the last > counts. The value is an integer: strtod depends on the locale. */
static int read_counter(const char *text, struct vt_keep_rules *rules)
{
    const char *at = strrchr(text, '>');
    char *end;
    if (!at) return 0;
    rules->counter = text;
    for (rules->counter_bytes = (size_t)(at - text); rules->counter_bytes; rules->counter_bytes--)
        if (text[rules->counter_bytes - 1] != ' ') break;
    at += 1 + strspn(at + 1, " ");
    rules->above = (double)strtoll(at, &end, 10);
    return rules->counter_bytes && end > at && !end[strspn(end, " ")];
}

int vt_setting_trigger(const char *text, struct vt_keep_rules *rules)
{
    *rules = (struct vt_keep_rules){.slowest = VT_KEEP_ALL / 2};
    const char *counter = after(text, "counter ");
    if (counter) return read_counter(counter, rules);
    const char *part = after(after(after(text, "mpi"), "wait"), ">");
    if (part) {
        part = read_number(part, 1, &rules->mpi);
        part = part ? after(part + strspn(part, " "), "%") : NULL;
        return part && !*part && rules->mpi <= VT_KEEP_ALL;
    }
    text = after(after(text, "iteration"), ">");
    if (!text || !(text = read_number(text, 1, &rules->longer))) return 0;
    text = after(after(text + strspn(text, " "), "x"), "median");
    return text && !*text;
}

typedef int reads(const char *text, struct vt_keep_rules *rules);

static void read_rules(const char *name, char *into, size_t bytes, reads *read, const char *wrong)
{
    const char *text = vt_setting_text(name);
    struct vt_keep_rules rules;
    into[0] = 0;
    if (!text || !*text) return;
    if (strlen(text) >= bytes || !read(text, &rules)) {
        if (wrong) vt_say(1, "%s=%.100s is not %s", name, text, wrong);
        return;
    }
    struct vt_text t = vt_text_into(into, bytes);
    vt_text_add(&t, text);
}

void vt_setting_read_keep(int speaks, const char *name, char *into, size_t bytes)
{
    read_rules(name, into, bytes, vt_setting_keep,
               speaks ? "first:N, every:N, slowest:P% or several of these: all is recorded" : NULL);
}

void vt_setting_read_trigger(int speaks, const char *name, char *into, size_t bytes)
{
    read_rules(name, into, bytes, vt_setting_trigger,
               speaks
                   ? "such as 'iteration > 1.5 x median', 'mpi wait > 20 %' or 'counter NAME > 9': there is no trigger"
                   : NULL);
}

/* A setting that needs a mode, and the name of a region. keeps: the mode keeps only the last records. */
static void check_rules(const struct vt_settings *set, const char *name, char *rules, int keeps)
{
    struct vt_keep_rules trigger = {0};
    const int fits = (set->mode != VT_MODE_TRACE) == keeps;
    if (!*rules) return;
    if (keeps) vt_setting_trigger(rules, &trigger);
    if (fits && (*set->iteration || trigger.mpi || trigger.counter)) return;
    const char *mode_needed = keeps ? "without VT_MODE=RING or PROFILE" : "with VT_MODE=RING or PROFILE";
    if (set->speaks) vt_say(1, "%s has no effect %s", name, fits ? "without VT_ITERATION" : mode_needed);
    rules[0] = 0;
}

void vt_setting_texts_check(struct vt_settings *set)
{
    const int has_rules = *set->keep || *set->trigger;
    check_rules(set, "VT_KEEP", set->keep, 0);
    check_rules(set, "VT_TRIGGER", set->trigger, 1);
    if (*set->iteration && !has_rules && set->speaks)
        vt_say(1, "VT_ITERATION has no effect without VT_KEEP or VT_TRIGGER");
    if (!*set->keep && !*set->trigger) set->iteration[0] = 0;
    if (*set->ring_signal && set->mode == VT_MODE_TRACE && set->speaks)
        vt_say(1, "VT_RING_SIGNAL has no effect without VT_MODE=RING or PROFILE");
    if (*set->sample_event && set->sample_clock != VT_SAMPLE_CLOCK_PERF && set->speaks)
        vt_say(1, "VT_SAMPLE_EVENT has no effect without VT_SAMPLE_CLOCK=perf");
    uint64_t from, to;
    if (vt_setting_moment(set->start_after, &from) || vt_setting_moment(set->stop_after, &to) || to > from) return;
    if (set->speaks)
        vt_say(1, "VT_STOP_AFTER=%s is ignored: it is not later than VT_START_AFTER=%s", set->stop_after,
               set->start_after);
    set->stop_after[0] = 0;
}
