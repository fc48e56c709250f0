/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_METRICS, VT_RUSAGE: counters of each thread at the enters and leaves of regions. core/counter_groups.c chooses the
   records; this file owns the list of counters and their state in each thread. A sample's values are in the stream of
   samples, since the signal may interrupt the writing of an event at any instruction; a sample that interrupts a reading
   has none, so that values rise with the time. In a thread that continues the location of an ended one the counters
   restart: readers count nothing across its ThreadBegin. The replay is the first provider, so that it serves the names
   in its file before all others. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "provider.h"

/* The first provider that knows a name provides the counter, so a replay replaces the others. */
static const struct vt_provider *const providers[] = {&vt_replay_counters, &vt_perf_counters, &vt_usage_counters,
                                                      &vt_kernel_counters, &vt_malloc_counters};
#define PROVIDERS (sizeof providers / sizeof *providers)

/* Counters of one provider with the same readings, one after the other in `counters`, so that one call reads all of
   them. */
struct counter_set {
    const struct vt_provider *provider;
    enum vt_counter_reading reading;
    unsigned first, n;
};
static struct counter_set sets[VT_READINGS * PROVIDERS];
static unsigned nsets;

/* A group: up to VT_GROUP_MOST counters that are read at the same records. */
struct counter_group {
    uint32_t id;
    enum vt_counter_reading reading;
    unsigned first, n;
};
static struct counter_group groups[VT_GROUPS_MOST];
/* The last group of each kind of reading need not be full. */
_Static_assert((VT_COUNTERS_MOST + VT_READINGS * (VT_GROUP_MOST - 1)) / VT_GROUP_MOST <= VT_GROUPS_MOST,
               "room for all groups");
static unsigned ngroups;

static struct vt_counter counters[VT_COUNTERS_MOST];
static unsigned ncounters;
/* ns: time of the next reading VT_READ_BY_PROCESS; UINT64_MAX: none */
static _Atomic uint64_t due;
static int has_usage; /* 1: there are counters VT_READ_BY_THREAD */

#define UNCOUNTED "uncounted" /* argument of vt_define_missing */

struct thread_counters {
    int opened; /* 1: the values can be read */
    const char *reason; /* why the values cannot be read any more, until the local files state this; NULL: they can be
                           read */
    uint64_t due; /* ns: time of the next reading VT_READ_BY_THREAD */
    struct vt_provider_state states[PROVIDERS];
    struct thread_counters *next; /* states of all threads of the process so far; never freed */
};
static struct thread_counters *_Atomic threads;

/* NULL: the location has no counters. */
static struct thread_counters *counters_of(const struct vt_location *l) { return l->slot[VT_SLOT_COUNTERS]; }

static struct vt_provider_state *state_of(struct thread_counters *t, const struct vt_provider *p)
{
    for (size_t i = 0; i < PROVIDERS; i++)
        if (providers[i] == p) return &t->states[i];
    return NULL;
}

static const char *reason_of(const struct vt_counter *c, long error)
{
    return c->provider->reason ? c->provider->reason(error) : vt_reason(error);
}

/* ---- Threads ---- */

static void close_all(struct thread_counters *t)
{
    VT_SET(t->opened, 0); /* first: a sample may come at any moment */
    for (size_t i = 0; i < PROVIDERS; i++)
        if (providers[i]->close) providers[i]->close(&t->states[i]);
}

/* Returns 0, or -errno for counters[*failed]. */
static long open_all(struct thread_counters *t, unsigned *failed)
{
    for (unsigned i = 0; i < nsets; i++) {
        const struct counter_set *s = &sets[i];
        if (!s->provider->open || s->reading > VT_READ_AT_CALLS_ONLY) continue;
        long r = s->provider->open(counters + s->first, s->n, state_of(t, s->provider), failed);
        if (r < 0) {
            *failed += s->first;
            close_all(t);
            return r;
        }
    }
    VT_SET(t->opened, 1);
    return 0;
}

static void begin(struct vt_location *l)
{
    struct thread_counters *t = counters_of(l); /* of the previous thread of the location */
    unsigned failed = 0;
    if (t) close_all(t);
    else if (!(t = vt_pages(sizeof *t))) {
        vt_warn("no memory for the counters of another thread");
        vt_define_missing(l, UNCOUNTED, vt_reason(-ENOMEM));
        return;
    } else {
        t->next = atomic_load(&threads);
        while (!atomic_compare_exchange_weak(&threads, &t->next, t)) continue;
    }
    l->slot[VT_SLOT_COUNTERS] = t;
    t->due = 0;
    t->reason = NULL;
    long r = open_all(t, &failed);
    if (r >= 0) return;
    const char *reason = reason_of(&counters[failed], r);
    vt_warn("VT_METRICS: the counters of a thread are not recorded: %s: %s", counters[failed].name, reason);
    vt_define_missing(l, UNCOUNTED, reason);
}

/* Defines a reason that a signal handler must not define. */
static void tell_reason(struct vt_location *l, struct thread_counters *t)
{
    if (!t->reason) return;
    vt_define_missing(l, UNCOUNTED, t->reason);
    t->reason = NULL;
}

static void end(struct vt_location *l)
{
    struct thread_counters *t = counters_of(l);
    if (!t) return;
    close_all(t);
    tell_reason(l, t);
}

static struct vt_thread_follower follower = {.begins = begin, .ends = end};

/* The descriptors count for the parent's threads. */
static void in_child(void)
{
    for (struct thread_counters *t = atomic_load(&threads); t; t = t->next) close_all(t);
    atomic_store(&threads, NULL);
}

/* ---- Reading ---- */

/* Returns the bits of the readings to make now: BY_PROCESS for one of all threads when VT_METRICS_INTERVAL has passed,
   BY_THREAD when VT_RUSAGE_INTV has passed. */
static unsigned readings_now(struct thread_counters *t, int in_handler)
{
    uint64_t at = atomic_load_explicit(&due, memory_order_relaxed);
    unsigned found = 1u << VT_READ_AT_CALLS | (in_handler ? 0 : 1u << VT_READ_AT_CALLS_ONLY);
    if (at == UINT64_MAX && !has_usage) return found;
    uint64_t now = vt_clock_ns(CLOCK_MONOTONIC_COARSE);
    if (now >= at && atomic_compare_exchange_strong(&due, &at, now + vt_process.set.metrics_interval))
        found |= 1u << VT_READ_BY_PROCESS;
    if (has_usage && now >= t->due) {
        t->due = now + vt_process.set.rusage_interval * 1000000;
        found |= 1u << VT_READ_BY_THREAD;
    }
    return found;
}

static unsigned read_counters(struct vt_location *l, int in_handler, uint64_t words[VT_GROUP_WORDS])
{
    uint64_t values[VT_COUNTERS_MOST];
    struct thread_counters *t = counters_of(l);
    unsigned used = 0;
    if (!t) return 0;
    if (!in_handler) tell_reason(l, t);
    if (!VT_READ(t->opened)) return 0;
    unsigned now = readings_now(t, in_handler);
    for (unsigned i = 0; i < nsets; i++) {
        const struct counter_set *s = &sets[i];
        if (!(now >> s->reading & 1)) continue;
        long r = s->provider->read(counters + s->first, s->n, state_of(t, s->provider), values + s->first);
        if (r >= 0) continue;
        const char *reason = reason_of(&counters[s->first], r);
        vt_warn("VT_METRICS: counters can no longer be read: %s: %s; those of this thread end here",
                counters[s->first].name, reason);
        close_all(t);
        if (in_handler) t->reason = reason; /* the next call or the end of the thread defines this */
        else vt_define_missing(l, UNCOUNTED, reason);
        return 0;
    }
    for (unsigned i = 0; i < ngroups; i++) {
        if (!(now >> groups[i].reading & 1)) continue;
        uint64_t *word = words + used;
        memset(word, 0, (VT_GROUP_MOST + 1) * sizeof *word);
        word[0] = VT_HEAD(VT_K_METRIC_GROUP, VT_GROUP_MOST, groups[i].id);
        memcpy(word + 1, values + groups[i].first, groups[i].n * sizeof *word);
        used += VT_GROUP_MOST + 1;
    }
    return used;
}

/* ---- Names ---- */

static int listed(const struct vt_provider *provider, const char *name, size_t length, struct vt_counter *found)
{
    for (unsigned i = 0; provider->list(i, found); i++)
        if (strlen(found->name) == length && !memcmp(found->name, name, length)) return 1;
    return 0;
}

static int find(const char *name, size_t length, struct vt_counter *found)
{
    if (length >= VT_COUNTER_NAME) return 0;
    for (size_t i = 0; i < PROVIDERS; i++) {
        memset(found, 0, sizeof *found);
        const struct vt_provider *p = providers[i];
        if (!(p->find ? p->find(name, length, found) : listed(p, name, length, found))) continue;
        found->provider = p;
        memcpy(found->name, name, length);
        found->name[length] = 0;
        return 1;
    }
    return 0;
}

static int has(const char *name, size_t length)
{
    for (unsigned i = 0; i < ncounters; i++)
        if (strlen(counters[i].name) == length && !memcmp(counters[i].name, name, length)) return 1;
    return 0;
}

/* Returns the reason why the calling thread cannot read a counter; NULL: it can. */
static const char *why_not(const struct vt_counter *c)
{
    struct vt_provider_state state;
    uint64_t value;
    unsigned failed;
    memset(&state, 0, sizeof state);
    long r = c->provider->open ? c->provider->open(c, 1, &state, &failed) : 0;
    if (r >= 0) r = c->provider->read(c, 1, &state, &value);
    if (c->provider->close) c->provider->close(&state);
    return r < 0 ? reason_of(c, r) : NULL;
}

/* One process of each node records the counters of the whole node. */
static int is_first_of_node(void)
{
    static const char *const names[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK",
                                        "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && *text) return !strcmp(text, "0");
    }
    return 1;
}

/* Writes that a name is unknown, with similar names. */
static const char *unknown(const char *name, size_t length, char *into, size_t bytes)
{
    static struct vt_counter known;
    struct vt_near near;
    vt_near_begin(&near, name, length);
    vt_perf_add_names(&near);
    for (size_t p = 0; p < PROVIDERS; p++)
        for (unsigned i = 0; providers[p]->list && providers[p]->list(i, &known); i++) vt_near_add(&near, known.name);
    return vt_near_tell(&near, "counter", into, bytes);
}

static enum vt_counter_reading reading_of(const struct vt_counter *c, int is_usage)
{
    if (c->scope != VT_SCOPE_THREAD) return VT_READ_BY_PROCESS;
    if (is_usage && vt_process.set.rusage_interval) return VT_READ_BY_THREAD;
    return c->provider->takes_locks ? VT_READ_AT_CALLS_ONLY : VT_READ_AT_CALLS;
}

/* Reports that a counter is not recorded, on stderr and in the local files. */
static void refuse(const char *setting, const char *name, size_t length, const char *reason)
{
    char key[VT_COUNTER_NAME];
    int shown = (int)(length < 100 ? length : 100);
    if (vt_process.set.speaks) vt_say(1, "%s: %.*s is not recorded: %s", setting, shown, name, reason);
    if (!vt_own_location) return; /* a command of vtrace */
    snprintf(key, sizeof key, "refused.%.*s", shown, name);
    vt_define_property(vt_own_location, key, reason);
}

/* setting: VT_METRICS or VT_RUSAGE, which has the name. most: the largest number of counters for which there is
   room. */
static void add(const char *setting, const char *name, size_t length, unsigned most)
{
    struct vt_counter found;
    char text[512];
    const char *reason = "";
    int is_usage = !strcmp(setting, "VT_RUSAGE");
    if (has(name, length)) return;
    if (ncounters >= most) reason = "a process has " VT_TEXT_NUMBER(VT_COUNTERS_CHOSEN) " counters at most";
    else if (!find(name, length, &found)) reason = unknown(name, length, text, sizeof text);
    else if (is_usage && found.provider != &vt_usage_counters) reason = "no counter of getrusage: set VT_METRICS";
    else if (found.scope == VT_SCOPE_NODE && !is_first_of_node()) return;
    else if (!(reason = why_not(&found))) {
        found.reading = reading_of(&found, is_usage);
        counters[ncounters++] = found;
        return;
    }
    refuse(setting, name, length, reason);
}

/* The events of the processor need two more counters. */
static void add_times(void)
{
    for (unsigned i = 0; i < ncounters; i++)
        if (counters[i].provider == &vt_perf_counters && !vt_perf_is_of_kernel(&counters[i].event)) {
            add("VT_METRICS", "time-enabled", strlen("time-enabled"), VT_COUNTERS_MOST);
            add("VT_METRICS", "time-running", strlen("time-running"), VT_COUNTERS_MOST);
            return;
        }
}

static void read_names(const char *setting, const char *names, const char *separators)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, separators);
        if (length) add(setting, at, length, VT_COUNTERS_CHOSEN);
        at += length + (at[length] != 0);
    }
}

static void read_settings(void)
{
    static struct vt_counter member;
    const char *separators = *vt_process.set.metrics_separator ? vt_process.set.metrics_separator : ":";
    read_names("VT_METRICS", vt_process.set.metrics, separators);
    add_times();
    if (strcmp(vt_process.set.rusage, "all")) read_names("VT_RUSAGE", vt_process.set.rusage, ":");
    else
        for (unsigned i = 0; vt_usage_counters.list(i, &member); i++)
            add("VT_RUSAGE", member.name, strlen(member.name), VT_COUNTERS_MOST);
}

/* ---- Start ---- */

/* Sorts the counters by reading, those of calls first, and by provider; the order of the settings within. */
static void make_sets(void)
{
    static struct vt_counter sorted[VT_COUNTERS_MOST];
    unsigned n = 0;
    nsets = 0;
    for (int reading = 0; reading < VT_READINGS; reading++)
        for (size_t p = 0; p < PROVIDERS; p++) {
            struct counter_set *s = &sets[nsets];
            *s = (struct counter_set){providers[p], reading, n, 0};
            for (unsigned i = 0; i < ncounters; i++)
                if (counters[i].provider == providers[p] && (int)counters[i].reading == reading)
                    sorted[n++] = counters[i];
            s->n = n - s->first;
            nsets += s->n > 0;
        }
    memcpy(counters, sorted, sizeof counters);
}

static void make_groups(void)
{
    ngroups = 0;
    for (unsigned i = 0; i < ncounters; i++) {
        struct counter_group *g = ngroups ? &groups[ngroups - 1] : NULL;
        if (!g || g->n == VT_GROUP_MOST || g->reading != counters[i].reading) {
            g = &groups[ngroups++];
            *g = (struct counter_group){0, counters[i].reading, i, 0};
        }
        g->n++;
    }
}

static void define(struct vt_location *l, struct counter_group *g)
{
    const struct vt_counter *c = counters + g->first;
    char modes[VT_GROUP_MOST];
    struct vt_definition_value names[VT_GROUP_MOST], units[VT_GROUP_MOST], meanings[VT_GROUP_MOST];
    for (unsigned i = 0; i < g->n; i++) {
        names[i] = vt_string(c[i].name);
        units[i] = vt_string(c[i].unit);
        meanings[i] = vt_string(c[i].meaning);
        modes[i] = c[i].mode;
    }
    g->id = (uint32_t)vt_new_id(VT_ID_METRIC);
    vt_define_at(l, VT_D_METRIC_GROUP, vt_number(g->id), vt_value_of(VT_VALUE_LIST, names, g->n),
                 vt_value_of(VT_VALUE_LIST, units, g->n), vt_value_of(VT_VALUE_LIST, meanings, g->n),
                 vt_string_of(modes, g->n), vt_bool(g->reading <= VT_READ_AT_CALLS_ONLY));
}

/* Opens the counters of a thread, and omits those that the kernel does not count together. */
static void fit(struct thread_counters *thread)
{
    char reason[256];
    for (unsigned failed; ncounters;) {
        make_sets();
        long r = open_all(thread, &failed);
        if (r >= 0) break;
        snprintf(reason, sizeof reason, "it does not count together with the others: %s",
                 reason_of(&counters[failed], r));
        refuse("VT_METRICS", counters[failed].name, strlen(counters[failed].name), reason);
        memmove(counters + failed, counters + failed + 1, (--ncounters - failed) * sizeof *counters);
    }
}

static int is_set(const char *name)
{
    const char *text = vt_setting_text(name);
    return text && *text;
}

/* Starts recording before the program's own code runs. VTRACE_LISTS: a command of vtrace lists the settings. */
__attribute__((constructor)) static void start(void)
{
    const char *wrong = NULL;
    size_t length;
    if ((!is_set("VT_METRICS") && !is_set("VT_RUSAGE")) || getenv("VTRACE_LISTS")) return;
    int saved = errno;
    struct vt_location *l = vt_location_of_thread(0);
    if (l) {
        read_settings();
        struct thread_counters *t = counters_of(l);
        if (!t) t = l->slot[VT_SLOT_COUNTERS] = vt_pages(sizeof *t);
        if (t) fit(t);
        else ncounters = 0;
        atomic_store(&threads, t);
    }
    if (l && ncounters) {
        vt_define_host(l);
        make_groups();
        for (unsigned i = 0; i < ngroups; i++) {
            define(l, &groups[i]);
            has_usage |= groups[i].reading == VT_READ_BY_THREAD;
        }
        if (groups[ngroups - 1].reading != VT_READ_BY_PROCESS) atomic_store(&due, UINT64_MAX);
        vt_on_threads(&follower);
        pthread_atfork(NULL, NULL, in_child);
        length = vt_groups_start(read_counters, vt_process.set.metrics_at, &wrong);
        if (length && vt_process.set.speaks)
            vt_warn("VT_METRICS_AT: %.*s is not mpi, openmp, user, threads, io or samples: the default is used",
                    (int)(length < 60 ? length : 60), wrong);
        if (length) vt_groups_start(read_counters, "", &wrong);
        vt_bind_location(l);
    }
    errno = saved;
}

/* ---- The list for `vtrace counters` ---- */

static void add_cell(struct vt_text *t, const char *text, const char *end) { vt_text_add(t, text, end); }

size_t vt_counters_list(char *into, size_t bytes)
{
    struct vt_text t = vt_text_into(into, bytes);
    struct vt_counter found;
    for (size_t p = 0; p < PROVIDERS; p++) {
        if (!providers[p]->list) continue;
        memset(&found, 0, sizeof found);
        for (unsigned i = 0; providers[p]->list(i, &found); i++) {
            found.provider = providers[p];
            const char *reason = why_not(&found);
            add_cell(&t, found.name, "\t");
            add_cell(&t, found.unit, "\t");
            add_cell(&t, found.meaning, "\t");
            add_cell(&t, reason ? reason : "", "\n");
        }
    }
    return (size_t)(t.at - into);
}

size_t vt_counters_left_out(char *into, size_t bytes)
{
    static struct thread_counters thread;
    const char *names = vt_setting_text("VT_METRICS"), *separators = vt_setting_text("VT_METRICS_SEP");
    struct vt_text t = vt_text_into(into, bytes);
    struct vt_counter found;
    if (!names) return 0;
    if (!separators || !*separators) separators = ":";
    ncounters = 0;
    read_names("VT_METRICS", names, separators);
    fit(&thread);
    close_all(&thread);
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, separators);
        if (length && !has(at, length) && find(at, length, &found) && !why_not(&found)) add_cell(&t, found.name, "\n");
        at += length + (at[length] != 0);
    }
    return (size_t)(t.at - into);
}
