/* SPDX-License-Identifier: BSD-3-Clause */
/* ITT: a collector, which a program loads by INTEL_LIBITTNOTIFY64, once for each library that contains ITT. The layouts
   are those of ittnotify.h and ittnotify_config.h (github.com/intel/ittapi), which Intel keeps compatible: structures
   grow at their end only. Functions without an entry below keep ITT's own, which do nothing: objects of
   synchronization, metadata, histograms, frames with times in the past. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "annotations.h"

struct domain { /* ___itt_domain */
    volatile int enabled;
    const char *name;
    void *wide;
    int reserved;
    _Atomic(struct vt_named *) named; /* extra2, for the collector */
    struct domain *next;
};

struct string { /* ___itt_string_handle */
    const char *text;
    void *wide;
    int reserved;
    _Atomic(struct vt_named *) named; /* extra2: in the domain that has used it last */
    struct string *next;
};

struct id { /* ___itt_id */
    unsigned long long part[3];
};

/* A domain of the program, or one that it created before it loaded this library. */
static struct vt_named *domain_of(struct domain *d)
{
    struct vt_named *n = atomic_load_explicit(&d->named, memory_order_relaxed);
    if (!n && (n = vt_named(NULL, d->name))) atomic_store(&d->named, n);
    return n;
}

static struct vt_named *named_in(struct domain *d, struct string *s)
{
    struct vt_named *domain = domain_of(d);
    struct vt_named *n = s ? atomic_load_explicit(&s->named, memory_order_relaxed) : NULL;
    if (n && n->domain == domain) return n;
    if (domain && (n = vt_named(domain, s ? s->text : NULL)) && s) atomic_store(&s->named, n);
    return domain ? n : NULL;
}

static struct vt_named *itt(void) { return vt_named(NULL, "ITT"); }

/* ---- Domains and strings ---- */

static void *handle_of(struct vt_named *n, size_t bytes, void (*fill)(void *, struct vt_named *))
{
    void *known = n ? atomic_load(&n->handle) : NULL, *fresh;
    if (known || !n || !(fresh = vt_annotation_memory(bytes))) return known;
    fill(fresh, n);
    return atomic_compare_exchange_strong(&n->handle, &known, fresh) ? fresh : known;
}

static void fill_domain(void *at, struct vt_named *n)
{
    struct domain *d = at;
    d->enabled = 1;
    d->name = n->text;
    atomic_store(&d->named, n);
}

static void fill_string(void *at, struct vt_named *n) { ((struct string *)at)->text = n->text; }

static void *create_domain(const char *name)
{
    return name ? handle_of(vt_named(NULL, name), sizeof(struct domain), fill_domain) : NULL;
}

static void *create_string(const char *text)
{
    return text ? handle_of(vt_named(itt(), text), sizeof(struct string), fill_string) : NULL;
}

/* ---- Tasks, frames, markers ---- */

/* The number of an id in attributes: the program's first number, mixed with the others if it has them; 0: no id. */
static uint64_t number_of(struct id id)
{
    return id.part[0] ^ (id.part[1] * 0x9e3779b97f4a7c15u) ^ (id.part[2] * 0xff51afd7ed558ccdu);
}

/* Adds the ids of a task and of its parent. Returns the number of words. */
static unsigned ids(uint64_t *words, struct id task, struct id parent)
{
    const uint64_t own = number_of(task), of = number_of(parent);
    unsigned n = own ? vt_add_attribute(words, VT_ANNOTATION_ID, own) : 0;
    if (of) n += vt_add_attribute(&words[n], VT_ANNOTATION_PARENT, of);
    return n;
}

static void begin_task(struct domain *d, struct id task, struct id parent, struct string *name)
{
    uint64_t words[VT_ATTRIBUTE_WORDS];
    struct vt_named *n = named_in(d, name);
    const unsigned known = n ? ids(words, task, parent) : 0;
    if (n && known) VT_User_push_with__(n->domain->number, vt_region_of(n), words, known);
    else if (n) VT_User_push__(n->domain->number, vt_region_of(n));
}

static void begin_function(struct domain *d, struct id task, struct id parent, void *function)
{
    (void)function;
    begin_task(d, task, parent, NULL);
}

static void begin_task_at(struct domain *d, void *clock, unsigned long long time, struct id task, struct id parent,
                          struct string *name)
{
    (void)clock, (void)time;
    begin_task(d, task, parent, name);
}

static void end_task(struct domain *d)
{
    struct vt_named *domain = domain_of(d);
    if (domain) VT_User_pop__(domain->number);
}

static void end_task_at(struct domain *d, void *clock, unsigned long long time)
{
    (void)clock, (void)time;
    end_task(d);
}

static struct vt_range_id range_id(struct domain *d, struct id id)
{
    return (struct vt_range_id){(uintptr_t)domain_of(d), {id.part[0], id.part[1], id.part[2]}};
}

/* Also of regions, which any thread may end. */
static void begin_overlapped(struct domain *d, struct id task, struct id parent, struct string *name)
{
    uint64_t words[VT_ATTRIBUTE_WORDS];
    struct vt_named *n = named_in(d, name);
    if (n) vt_range_open(range_id(d, task), vt_region_of(n), words, ids(words, task, parent));
}

static void end_overlapped(struct domain *d, struct id task) { vt_range_close(range_id(d, task)); }

static struct id frame_id(const struct id *id)
{
    struct id none = {{UINT64_MAX, 0, 0}};
    return id ? *id : none;
}

static void begin_frame(struct domain *d, struct id *id)
{
    struct vt_named *domain = domain_of(d);
    if (domain) vt_range_open(range_id(d, frame_id(id)), vt_region_in(domain, "frame"), NULL, 0);
}

static void end_frame(struct domain *d, struct id *id) { end_overlapped(d, frame_id(id)); }

static void marker(struct domain *d, struct id id, struct string *name, int scope)
{
    (void)id, (void)scope;
    struct vt_named *domain = domain_of(d);
    if (domain) vt_mark_in(domain, name ? name->text : NULL);
}

/* ---- Relations: a marker, since the tasks have begun already ---- */

static void relate(struct domain *d, struct id head, int relation, struct id tail)
{
    static const char *const names[] = {"is related to",   "is dependent on",    "is sibling of",
                                        "is parent of",    "is continuation of", "is child of",
                                        "is continued by", "is predecessor to"};
    char text[96];
    struct vt_named *domain = domain_of(d);
    const uint64_t own = number_of(head);
    const int known = relation > 0 && relation < (int)(sizeof names / sizeof *names) ? relation : 0;
    const int used =
        own ? snprintf(text, sizeof text, "%llu", (unsigned long long)own) : snprintf(text, sizeof text, "task");
    snprintf(text + used, sizeof text - (size_t)used, " %s %llu", names[known], (unsigned long long)number_of(tail));
    if (domain) vt_mark_in(domain, text);
}

static void relate_at(struct domain *d, void *clock, unsigned long long time, struct id head, int relation,
                      struct id tail)
{
    (void)clock, (void)time;
    relate(d, head, relation, tail);
}

static void relate_current(struct domain *d, int relation, struct id tail)
{
    const struct id current = {{0}};
    relate(d, current, relation, tail);
}

static void relate_current_at(struct domain *d, void *clock, unsigned long long time, int relation, struct id tail)
{
    (void)clock, (void)time;
    relate_current(d, relation, tail);
}

/* ---- Counters ---- */

enum { ITT_U64 = 1, ITT_S64, ITT_U32, ITT_S32, ITT_U16, ITT_S16, ITT_FLOAT, ITT_DOUBLE }; /* __itt_metadata_type */

struct counter {
    uint32_t id;
    int type;
    _Atomic int64_t value; /* which inc and dec change */
};

static void fill_counter(void *at, struct vt_named *n)
{
    (void)n;
    ((struct counter *)at)->type = ITT_U64;
}

static struct counter *counter_in(struct vt_named *domain, const char *name, int type)
{
    struct vt_named *n = domain ? vt_named(domain, name) : NULL;
    struct counter *c = handle_of(n, sizeof *c, fill_counter);
    if (!c || c->id) return c;
    c->type = type;
    const int is_real = type == ITT_FLOAT || type == ITT_DOUBLE, is_signed = type % 2 == 0;
    c->id = vt_counter_in(domain, n->text,
                          is_real     ? VT_COUNT_TYPE_DOUBLE
                          : is_signed ? VT_COUNT_TYPE_SIGNED
                                      : VT_COUNT_TYPE_UNSIGNED);
    return c;
}

static void *create_typed(const char *name, const char *domain, int type)
{
    return counter_in(domain && *domain ? vt_named(NULL, domain) : itt(), name, type);
}
static void *create_counter(const char *name, const char *domain) { return create_typed(name, domain, ITT_U64); }
static void *create_counter_in(struct domain *d, const char *name, int type)
{
    return counter_in(d ? domain_of(d) : itt(), name, type);
}

static void set_value(struct counter *c, const void *value)
{
    union {
        uint64_t u64;
        int64_t s64;
        uint32_t u32;
        int32_t s32;
        uint16_t u16;
        int16_t s16;
        float f32;
        double f64;
    } v = {0};
    static const uint8_t bytes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
    if (!c || !value || c->type <= 0 || c->type >= (int)sizeof bytes) return;
    memcpy(&v, value, bytes[c->type]);
    const int64_t whole[] = {0, v.s64, v.s64, v.u32, v.s32, v.u16, v.s16};
    if (c->type == ITT_FLOAT) VT_User_count_double_val__(c->id, (double)v.f32);
    else if (c->type == ITT_DOUBLE) VT_User_count_double_val__(c->id, v.f64);
    else atomic_store(&c->value, whole[c->type]);
    if (c->type < ITT_FLOAT) VT_User_count_signed_val__(c->id, whole[c->type]);
}

static void set_value_at(struct counter *c, void *clock, unsigned long long time, const void *value)
{
    (void)clock, (void)time;
    set_value(c, value);
}

static void add(struct counter *c, int64_t delta)
{
    if (c) VT_User_count_signed_val__(c->id, atomic_fetch_add(&c->value, delta) + delta);
}
static void increase_by(struct counter *c, unsigned long long delta) { add(c, (int64_t)delta); }
static void increase(struct counter *c) { add(c, 1); }
static void decrease_by(struct counter *c, unsigned long long delta) { add(c, -(int64_t)delta); }
static void decrease(struct counter *c) { add(c, -1); }

/* ---- Events: each has a number. A thread may start one again without an end ---- */

#define EVENTS 4096
static _Atomic int events;
static struct vt_named *event_names[EVENTS]; /* from 1 on */

static int create_event(const char *name, int bytes)
{
    char text[VT_LABEL_BYTES];
    const size_t n = name && bytes > 0 ? strnlen(name, (size_t)bytes) : 0, most = n < sizeof text ? n : sizeof text - 1;
    if (most) memcpy(text, name, most);
    text[most] = 0;
    const int event = atomic_fetch_add(&events, 1) + 1;
    if (event < EVENTS) {
        event_names[event] = vt_named(itt(), text);
        return event;
    }
    vt_warn_left_out("user", "more than %d events of ITT: further events are not recorded", EVENTS - 1);
    return 0;
}

static struct vt_range_id event_id(int event)
{
    return (struct vt_range_id){(uintptr_t)event_names, {(uint64_t)event, vt_location_number(), 0}};
}

static int end_event(int event)
{
    vt_range_close(event_id(event));
    return 0;
}

static int start_event(int event)
{
    if (event <= 0 || event >= EVENTS || !event_names[event]) return 0;
    end_event(event);
    vt_range_open(event_id(event), vt_region_of(event_names[event]), NULL, 0);
    return 0;
}

/* ---- Threads and the process ---- */

static void name_thread(const char *name) { vt_name_thread((uint32_t)syscall(SYS_gettid), name); }
static void pause_recording(void) { VT_User_trace_off__(); }
static void resume_recording(void) { VT_User_trace_on__(); }
static void pause_scope(int scope)
{
    (void)scope;
    VT_User_trace_off__();
}
static void resume_scope(int scope)
{
    (void)scope;
    VT_User_trace_on__();
}

/* ---- Loading ---- */

typedef void function(void);

struct api { /* ___itt_api_info */
    const char *name;
    void **pointer;
    void *at_first, *none;
    int group;
};

struct global { /* ___itt_global, its first members */
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long is_started, has_mutex, counter;
    pthread_mutex_t mutex;
    void *library, *on_error;
    const char **path;
    struct api *apis;
};

/* clang-format off */
#define CALL(name, function_) {"__itt_" name, (function *)(function_)}
static const struct {
    const char *name;
    function *call;
} calls[] = {
    CALL("domain_create", create_domain), CALL("string_handle_create", create_string),
    CALL("task_begin", begin_task), CALL("task_begin_fn", begin_function), CALL("task_end", end_task),
    CALL("task_begin_ex", begin_task_at), CALL("task_end_ex", end_task_at),
    CALL("task_begin_overlapped", begin_overlapped), CALL("task_end_overlapped", end_overlapped),
    CALL("region_begin", begin_overlapped), CALL("region_end", end_overlapped),
    CALL("frame_begin_v3", begin_frame), CALL("frame_end_v3", end_frame), CALL("marker", marker),
    CALL("relation_add", relate), CALL("relation_add_ex", relate_at),
    CALL("relation_add_to_current", relate_current), CALL("relation_add_to_current_ex", relate_current_at),
    CALL("counter_create", create_counter), CALL("counter_create_typed", create_typed),
    CALL("counter_create_v3", create_counter_in), CALL("counter_set_value", set_value),
    CALL("counter_set_value_ex", set_value_at), CALL("counter_inc_delta", increase_by), CALL("counter_inc", increase),
    CALL("counter_dec_delta", decrease_by), CALL("counter_dec", decrease),
    CALL("event_create", create_event), CALL("event_start", start_event), CALL("event_end", end_event),
    CALL("thread_set_name", name_thread),
    CALL("pause", pause_recording), CALL("resume", resume_recording), CALL("detach", pause_recording),
    CALL("pause_scoped", pause_scope), CALL("resume_scoped", resume_scope),
};
/* clang-format on */

/* The OpenMP library of LLVM tells ITT what OMPT tells vtrace. */
static int is_openmp(const struct global *g)
{
    Dl_info about;
    if (!VT_OWN_WORK(dladdr(g, &about)) || !about.dli_fname) return 0;
    const char *slash = strrchr(about.dli_fname, '/'), *name = slash ? slash + 1 : about.dli_fname;
    return !strncmp(name, "libomp.", 7) || !strncmp(name, "libiomp5.", 9);
}

static function *call_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name)) return calls[i].call;
    return NULL;
}

VT_EXPORTED void __itt_api_init(struct global *g, unsigned groups)
{
    (void)groups;
    const int records = !is_openmp(g) && vt_annotations_attach("ITT");
    for (struct api *a = g->apis; a->name; a++) {
        function *call = records ? call_of(a->name) : NULL;
        *a->pointer = call ? (void *)call : a->none;
    }
}
