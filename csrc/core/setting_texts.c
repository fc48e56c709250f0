/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings with text values: a moment (VT_START_AFTER, VT_STOP_AFTER) or a signal (VT_RING_SIGNAL). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "setting_texts.h"
#include "text.h"

#define SECOND UINT64_C(1000000000)
#define MOST_SECONDS 1000000000u

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
    const char *text = getenv(name);
    uint64_t value;
    into[0] = 0;
    if (!text || !*text) return;
    int good = strlen(text) < bytes && vt_setting_moment(text, &value) >= 0;
    struct vt_text t = vt_text_into(into, bytes);
    if (good) vt_text_add(&t, text);
    else if (speaks)
        vt_say(1, "%s=%.100s is not seconds (10 or 0.5s) or calls of a region (NAME:100): it is left out", name, text);
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
    const char *text = getenv(name);
    into[0] = 0;
    if (!text || !*text) return;
    if (!vt_setting_signal(text)) {
        if (speaks) vt_say(1, "%s=%.100s is not USR1, USR2, URG, WINCH or RTMIN+n: no signal is used", name, text);
        return;
    }
    struct vt_text t = vt_text_into(into, bytes);
    vt_text_add(&t, text);
}

void vt_setting_texts_check(struct vt_settings *set)
{
    if (*set->ring_signal && set->mode != VT_MODE_RING && set->speaks)
        vt_say(1, "VT_RING_SIGNAL has a meaning with VT_MODE=RING only");
    uint64_t from, to;
    if (vt_setting_moment(set->start_after, &from) || vt_setting_moment(set->stop_after, &to) || to > from) return;
    if (set->speaks)
        vt_say(1, "VT_STOP_AFTER=%s is not later than VT_START_AFTER=%s: it is left out", set->stop_after,
               set->start_after);
    set->stop_after[0] = 0;
}
