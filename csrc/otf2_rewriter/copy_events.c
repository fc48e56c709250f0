/* SPDX-License-Identifier: BSD-3-Clause */
/* The callbacks of libotf2 for events: the first pass collects facts, the second one writes the same event. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../otf2_writer/containers.h"
#include "rewriter.h"

#define FINE VT_OTF2_CALLBACK_SUCCESS
#define INTERRUPT VT_OTF2_CALLBACK_ERROR
/* clang-format off */
/* Events that stay by their time. */
#define VT_SINGLE_EVENTS(X)                                                                                            \
    X(OmpTaskCreate) X(OmpTaskSwitch) X(OmpTaskComplete) X(ParameterString) X(ParameterInt)                            \
    X(ParameterUnsignedInt) X(RmaGroupSync) X(ThreadTaskCreate) X(ThreadTaskSwitch) X(ThreadTaskComplete)              \
    X(ThreadCreate) X(ThreadBegin) X(ThreadWait) X(ThreadEnd) X(IoSeek) X(IoDeleteFile) X(IoAcquireLock)               \
    X(IoReleaseLock) X(IoTryLock) X(RmaWaitChange) X(CommCreate) X(CommDestroy)

/* Events with counterparts, which the first pass returns. */
#define VT_PAIRED_EVENTS(X)                                                                                            \
    X(BufferFlush) X(MeasurementOnOff) X(MpiSend) X(MpiIsend) X(MpiIsendComplete) X(MpiIrecvRequest) X(MpiRecv)        \
    X(MpiIrecv) X(MpiRequestTest) X(MpiRequestCancelled) X(MpiCollectiveEnd) X(OmpFork) X(OmpAcquireLock)              \
    X(OmpReleaseLock) X(RmaCollectiveEnd) X(RmaRequestLock) X(RmaAcquireLock) X(RmaTryLock) X(RmaReleaseLock)          \
    X(RmaSync) X(RmaPut) X(RmaGet) X(RmaAtomic) X(RmaOpCompleteBlocking) X(RmaOpCompleteNonBlocking)                   \
    X(RmaOpTest) X(RmaOpCompleteRemote) X(ThreadFork) X(ThreadJoin) X(ThreadAcquireLock) X(ThreadReleaseLock)          \
    X(IoCreateHandle) X(IoDuplicateHandle) X(IoChangeStatusFlags) X(IoOperationBegin) X(IoOperationTest)               \
    X(IoOperationIssued) X(IoOperationComplete) X(IoOperationCancelled) X(ProgramEnd)                                  \
    X(NonBlockingCollectiveRequest) X(NonBlockingCollectiveComplete) X(MpiProbe) X(MpiMrecv) X(MpiImrecvRequest)       \
    X(MpiImrecv) X(MpiCollectiveBegin) X(OmpJoin) X(RmaWinCreate) X(RmaWinDestroy) X(RmaCollectiveBegin)               \
    X(ThreadTeamBegin) X(ThreadTeamEnd) X(IoDestroyHandle)

/* Events with callbacks written by hand: calls, samples, and those with lists. */
#define VT_CALL_EVENTS(X)                                                                                              \
    X(Enter) X(Leave) X(CallingContextEnter) X(CallingContextLeave) X(CallingContextSample)
/* clang-format on */
#define EVENTS(X) VT_CALL_EVENTS(X) VT_SINGLE_EVENTS(X) VT_PAIRED_EVENTS(X)

_Static_assert(VT_READ_KINDS <= sizeof((struct vt_rewrite *)0)->counts / sizeof(uint64_t), "as many kinds as fit");

struct copied_call {
    uint64_t ordinal, time;
    uint32_t ref; /* region or calling context */
    uint32_t path; /* call path, if paths are selected */
    uint8_t kept, is_context;
};

static struct {
    void *(*create)(void);
    void (*destroy)(void *);
    OTF2_AttributeList *(*list)(void);
    int32_t (*free_list)(OTF2_AttributeList *);
    int32_t (*clear)(OTF2_AttributeList *);
    uint32_t (*attributes)(const OTF2_AttributeList *);
    int32_t (*attribute)(const OTF2_AttributeList *, uint32_t, uint32_t *, uint8_t *, vt_attribute_value *);
    int32_t (*add)(OTF2_AttributeList *, uint32_t, uint8_t, vt_attribute_value);
    int32_t (*set[VT_READ_KINDS])(void *, void *);
#define WRITER(name) int32_t (*name)(void *, OTF2_AttributeList *, uint64_t VT_E_##name(VT_PARAMETER));
    EVENTS(WRITER) WRITER(Metric) WRITER(ProgramBegin)
} otf2;

static const char *const texts[VT_READ_KINDS] = {
#define TEXT(use, type, kind, name) " " #use " " #type " " #kind
#define SINGLE(name) [VT_READ_##name] = #name ":" VT_E_##name(TEXT),
#define PAIRED(name) [VT_READ_##name] = "*" #name ":" VT_E_##name(TEXT),
    VT_CALL_EVENTS(SINGLE) VT_SINGLE_EVENTS(SINGLE) VT_PAIRED_EVENTS(PAIRED)[VT_READ_Metric] = "Metric:",
    [VT_READ_ProgramBegin] = "*ProgramBegin:",
    [VT_READ_Unknown] = "Unknown:",
};

VT_EXPORT const char *vt_rewrite_event(uint32_t number) { return number < VT_READ_KINDS ? texts[number] : NULL; }

/* ---- The decision about an event ---- */

/* Makes room for one more item. */
#define ROOM(r, array, count, most) (VT_ROOM(array, (count) + 1, most) || ((r)->out_of_room = 1, 0))

enum { SKIP, TAKE, STOP };

/* Decides about the next event. selected: its region is selected. Moves its time into the window. */
static inline int decide(struct vt_rewrite *r, uint64_t *time, int selected)
{
    if (__builtin_expect(*time < r->last, 0)) {
        r->early++;
        *time = r->last; /* libotf2 refuses to write an earlier time */
    }
    r->last = *time;
    uint64_t n = r->seen++;
    if (r->whole) return TAKE;
    int inside = *time >= r->from && *time < r->to && selected;
    if (!r->writer) return inside;
    if (*time >= r->to && r->next == r->nlisted) {
        r->ended = 1;
        return STOP;
    }
    int listed = r->next < r->nlisted && r->listed[r->next] == n;
    r->next += listed;
    if (*time < r->from) *time = r->from;
    if (*time > r->to) *time = r->to;
    return inside ^ listed;
}

static inline struct copied_call *top(const struct vt_rewrite *r)
{
    return r->depth ? (struct copied_call *)r->stack + r->depth - 1 : NULL;
}

static inline int selects(const struct vt_rewrite *r, uint32_t region)
{
    return !r->regions || (region < r->nregions && r->regions[region]);
}

static inline int selects_context(const struct vt_rewrite *r, uint32_t context)
{
    return !r->contexts || (context < r->ncontexts && r->contexts[context]);
}

/* Returns 1 if the innermost call is selected. */
static inline int in_selected(const struct vt_rewrite *r)
{
    return (!r->regions && !r->ask) || (r->depth && top(r)->kept);
}

static void list_edge(struct vt_rewrite *r, uint64_t ordinal)
{
    if (ROOM(r, r->edges, r->nedges, &r->edges_max)) r->edges[r->nedges++] = ordinal;
}

/* Returns the call path of a region in the innermost call, times two, plus 1 if the path is selected. */
static uint32_t path_in(struct vt_rewrite *r, uint32_t region)
{
    uint32_t parent = r->depth ? top(r)->path : 0;
    uint32_t answer = (uint32_t)vt_pair_table_get(r->answers, parent, region);
    if (answer) return answer;
    answer = r->ask(parent, region);
    r->out_of_room |= !vt_pair_table_set(r->answers, parent, region, answer);
    return answer;
}

static inline int enter(struct vt_rewrite *r, uint64_t *time, uint32_t ref, int is_context)
{
    int kept = is_context ? selects_context(r, ref) : selects(r, ref);
    uint32_t path = r->ask && !is_context ? path_in(r, ref) : 1;
    kept = kept && (path & 1);
    int what = decide(r, time, kept);
    if (r->whole || what == STOP) return what;
    if (!ROOM(r, *(struct copied_call **)&r->stack, r->depth, &r->stack_max)) return STOP;
    ((struct copied_call *)r->stack)[r->depth++] =
        (struct copied_call){r->seen - 1, r->last, ref, path / 2, (uint8_t)kept, (uint8_t)is_context};
    return what;
}

static inline uint32_t kind_of(const struct copied_call *call)
{
    return call->is_context ? VT_COPIED_CallingContext : VT_COPIED_Region;
}

static inline int leave(struct vt_rewrite *r, uint64_t *time)
{
    struct copied_call *call = top(r);
    int what = decide(r, time, call && call->kept);
    if (r->whole || what == STOP) return what;
    if (!call) {
        r->stray += *time >= r->from && *time < r->to;
        return what;
    }
    r->depth--;
    if (r->writer || !call->kept) return what;
    int begins_before = call->time < r->from && r->last >= r->from;
    if (begins_before) list_edge(r, call->ordinal);
    if (call->time < r->to && r->last >= r->to) list_edge(r, r->seen - 1);
    if (begins_before) vt_copy_mark(r->copy, kind_of(call), call->ref);
    return r->out_of_room ? STOP : what;
}

static __attribute__((noinline)) void mark_attributes(struct vt_rewrite *r, const OTF2_AttributeList *list)
{
    uint32_t n = otf2.attributes(list), id;
    uint8_t type;
    vt_attribute_value value = {0};
    for (uint32_t i = 0; i < n; i++)
        if (!otf2.attribute(list, i, &id, &type, &value)) {
            vt_copy_mark(r->copy, VT_COPIED_Attribute, id);
            vt_copy_mark_value(r->copy, type, value.uint64);
        }
}

static __attribute__((noinline)) OTF2_AttributeList *renumbered(struct vt_rewrite *r, const OTF2_AttributeList *list)
{
    uint32_t n = otf2.attributes(list), id;
    uint8_t type;
    vt_attribute_value value = {0};
    if (!n) return NULL;
    otf2.clear(r->attributes);
    for (uint32_t i = 0; i < n; i++)
        if (!otf2.attribute(list, i, &id, &type, &value)) {
            value.uint64 = vt_copy_value(r->copy, type, value.uint64);
            otf2.add(r->attributes, vt_copy_ref(r->copy, VT_COPIED_Attribute, id), type, value);
        }
    return r->attributes;
}

#define ATTRIBUTES (attributes ? renumbered(r, attributes) : NULL)

static inline uint32_t written(struct vt_rewrite *r, uint32_t kind, int32_t code)
{
    r->counts[kind]++;
    r->written++;
    if (__builtin_expect(!code, 1)) return FINE;
    r->code = (uint64_t)code;
    return INTERRUPT;
}

/* ---- Callbacks ---- */

#define PASSED_OF(use, type, kind, name) PASSED_##use(type, kind, name)
#define PASSED_REF(type, kind, name) (type) vt_copy_ref(r->copy, VT_COPIED_##kind, name)
#define PASSED_ALSO(type, kind, name) (type) vt_copy_ref(r->copy, VT_COPIED_##kind, name)
#define PASSED_WITH(type, kind, name) (type) vt_copy_ref(r->copy, VT_COPIED_##kind, name)
#define PASSED_OTHER(type, kind, name) (type) vt_copy_ref(r->copy, VT_COPIED_##kind, name)
#define PASSED_RANK(type, kind, name) vt_copy_rank(r->copy, comm, name)
#define PASSED_TARGET(type, kind, name) vt_copy_target(r->copy, win, name)
#define PASSED_UNTIL(type, kind, name) (name < r->to || r->whole ? name : r->to)
#define PASSED_TAG(type, kind, name) name
#define PASSED_ID(type, kind, name) name
#define PASSED_RAW(type, kind, name) name
#define PASSED(use, type, kind, name) , PASSED_OF(use, type, kind, name)
#define MARKED(use, type, kind, name)                                                                                  \
    if (VT_COPIED_##kind != VT_COPIED_None) vt_copy_mark(r->copy, VT_COPIED_##kind, name);
#define NOTED_OF(use, kind, name) NOTED_##use(kind, name)
#define NOTED_REF(kind, name) e.ref = name;
#define NOTED_WITH(kind, name) vt_copy_mark(r->copy, VT_COPIED_##kind, name);
#define NOTED_OTHER(kind, name) e.id = name;
#define NOTED_RANK(kind, name) e.peer = name;
#define NOTED_TARGET(kind, name) e.peer = name;
#define NOTED_UNTIL(kind, name) e.id = name;
#define NOTED_TAG(kind, name) e.tag = name;
#define NOTED_ID(kind, name) e.id = name;
#define NOTED_RAW(kind, name)
#define NOTED(use, type, kind, name) NOTED_OF(use, kind, name)
#define BEGIN                                                                                                          \
    struct vt_rewrite *r = user;                                                                                       \
    (void)location, (void)position
/* Continues only if the event is to be written. */
#define END_OF_FIRST_PASS(what, marks)                                                                                 \
    if (what != TAKE || !r->writer) {                                                                                  \
        if (what == TAKE) {                                                                                            \
            marks if (attributes) mark_attributes(r, attributes);                                                      \
        }                                                                                                              \
        return what == STOP ? INTERRUPT : FINE;                                                                        \
    }

#define ON_SINGLE(name)                                                                                                \
    static uint32_t on_##name(VT_READ_HEAD VT_E_##name(VT_DECLARED))                                                   \
    {                                                                                                                  \
        BEGIN;                                                                                                         \
        int what = decide(r, &time, in_selected(r));                                                                   \
        END_OF_FIRST_PASS(what, VT_E_##name(MARKED))                                                                   \
        return written(r, VT_READ_##name, otf2.name(r->writer, ATTRIBUTES, time VT_E_##name(PASSED)));                 \
    }

static uint32_t note(struct vt_rewrite *r, const struct vt_copied_event *e, const OTF2_AttributeList *attributes)
{
    if (e->inside && attributes) mark_attributes(r, attributes);
    if (!ROOM(r, r->events, r->nevents, &r->events_max)) return INTERRUPT;
    r->events[r->nevents++] = *e;
    return FINE;
}

static inline struct vt_copied_event fact(const struct vt_rewrite *r, uint64_t time, uint16_t kind, int what)
{
    struct vt_copied_event e = {.time = time, .ordinal = r->seen - 1, .kind = kind};
    e.inside = what == TAKE;
    e.selected = in_selected(r) != 0;
    return e;
}

#define ON_PAIRED(name)                                                                                                \
    static uint32_t on_##name(VT_READ_HEAD VT_E_##name(VT_DECLARED))                                                   \
    {                                                                                                                  \
        BEGIN;                                                                                                         \
        int what = decide(r, &time, in_selected(r));                                                                   \
        if (!r->writer) {                                                                                              \
            struct vt_copied_event e = fact(r, time, VT_READ_##name, what);                                            \
            VT_E_##name(NOTED) return note(r, &e, attributes);                                                         \
        }                                                                                                              \
        if (what != TAKE) return what == STOP ? INTERRUPT : FINE;                                                      \
        return written(r, VT_READ_##name, otf2.name(r->writer, ATTRIBUTES, time VT_E_##name(PASSED)));                 \
    }

VT_SINGLE_EVENTS(ON_SINGLE)
VT_PAIRED_EVENTS(ON_PAIRED)

#define ON_CALL(name, decision)                                                                                        \
    static uint32_t on_##name(VT_READ_HEAD VT_E_##name(VT_DECLARED))                                                   \
    {                                                                                                                  \
        BEGIN;                                                                                                         \
        int what = decision;                                                                                           \
        END_OF_FIRST_PASS(what, VT_E_##name(MARKED))                                                                   \
        return written(r, VT_READ_##name, otf2.name(r->writer, ATTRIBUTES, time VT_E_##name(PASSED)));                 \
    }

ON_CALL(Enter, enter(r, &time, region, 0))
ON_CALL(Leave, leave(r, &time))
ON_CALL(CallingContextEnter, enter(r, &time, context, 1))
ON_CALL(CallingContextLeave, leave(r, &time))
ON_CALL(CallingContextSample, decide(r, &time, selects_context(r, context)))

/* A section is cut at the edges of the window, like a call. begins: 1 for its start. */
static void note_section(struct vt_rewrite *r, uint32_t metric, int begins)
{
    uint64_t i = 0;
    while (i < r->nopen && r->open_sections[i].metric != metric) i++;
    if (begins) {
        if (i == r->nopen && !ROOM(r, r->open_sections, i, &r->open_max)) return;
        r->nopen += i == r->nopen;
        r->open_sections[i] = (struct vt_open_section){r->seen - 1, r->last, metric};
        return;
    }
    if (i == r->nopen) return;
    const struct vt_open_section *s = &r->open_sections[i];
    if (s->time < r->from && r->last >= r->from) {
        list_edge(r, s->ordinal);
        vt_copy_mark(r->copy, VT_COPIED_Metric, metric);
    }
    if (s->time < r->to && r->last >= r->to) list_edge(r, r->seen - 1);
    r->open_sections[i] = r->open_sections[--r->nopen];
}

static uint32_t on_Metric(VT_READ_HEAD, uint32_t metric, uint8_t count, const uint8_t *types,
                          const union OTF2_MetricValue_union *values)
{
    BEGIN;
    uint64_t first = 0;
    if (count) memcpy(&first, values, sizeof first);
    uint8_t kept = metric < r->nmetrics ? r->metrics[metric] : 0;
    int what = decide(r, &time, kept || in_selected(r));
    if (kept == VT_COPY_SECTION && count == 1 && !r->writer && !r->whole) note_section(r, metric, first != 0);
    END_OF_FIRST_PASS(what, vt_copy_mark(r->copy, VT_COPIED_Metric, metric);)
    metric = vt_copy_ref(r->copy, VT_COPIED_Metric, metric);
    return written(r, VT_READ_Metric, otf2.Metric(r->writer, ATTRIBUTES, time, metric, count, types, values));
}

static uint32_t on_ProgramBegin(VT_READ_HEAD, uint32_t program, uint32_t count, const uint32_t *arguments)
{
    BEGIN;
    int what = decide(r, &time, in_selected(r));
    if (!r->writer) {
        struct vt_copied_event e = fact(r, time, VT_READ_ProgramBegin, what);
        vt_copy_mark(r->copy, VT_COPIED_String, program);
        for (uint32_t i = 0; i < count; i++) vt_copy_mark(r->copy, VT_COPIED_String, arguments[i]);
        return note(r, &e, attributes);
    }
    if (what != TAKE) return what == STOP ? INTERRUPT : FINE;
    uint32_t *now = malloc((count + 1) * sizeof *now);
    if (!now) {
        r->out_of_room = 1;
        return INTERRUPT;
    }
    for (uint32_t i = 0; i < count; i++) now[i] = vt_copy_ref(r->copy, VT_COPIED_String, arguments[i]);
    program = vt_copy_ref(r->copy, VT_COPIED_String, program);
    uint32_t code =
        written(r, VT_READ_ProgramBegin, otf2.ProgramBegin(r->writer, ATTRIBUTES, time, program, count, now));
    free(now);
    return code;
}

static uint32_t on_Unknown(VT_READ_HEAD)
{
    BEGIN;
    (void)time, (void)attributes;
    r->unknown++; /* libotf2 cannot write an unknown event */
    return INTERRUPT;
}

/* ---- Functions for Python ---- */

VT_EXPORT void vt_rewrite_end(struct vt_rewrite *r)
{
    struct copied_call *calls = r->stack;
    if (r->whole || r->last < r->from || r->code) return;
    uint64_t end = r->last < r->to ? r->last : r->to;
    if (!r->writer) {
        for (uint64_t i = 0; i < r->depth; i++)
            if (calls[i].kept && calls[i].time < r->from) {
                list_edge(r, calls[i].ordinal);
                vt_copy_mark(r->copy, kind_of(&calls[i]), calls[i].ref);
            }
        return;
    }
    for (; r->depth && !r->code; r->depth--) {
        const struct copied_call *call = &calls[r->depth - 1];
        if (!call->kept || call->time >= r->to) continue;
        uint32_t ref = vt_copy_ref(r->copy, kind_of(call), call->ref);
        if (call->is_context)
            written(r, VT_READ_CallingContextLeave, otf2.CallingContextLeave(r->writer, NULL, end, ref));
        else written(r, VT_READ_Leave, otf2.Leave(r->writer, NULL, end, ref));
    }
}

/* clang-format off */
static void *const handlers[VT_READ_KINDS] = {
#define HANDLER(name) [VT_READ_##name] = (void *)on_##name,
    EVENTS(HANDLER) HANDLER(Metric) HANDLER(ProgramBegin) HANDLER(Unknown)
};
/* clang-format on */

VT_EXPORT int vt_rewrite_find(const char *path, char *text, size_t size)
{
    const char *names[VT_READ_KINDS];
    for (unsigned i = 0; i < VT_READ_KINDS; i++) names[i] = texts[i] ? texts[i] + (texts[i][0] == '*') : "";
    void *library = vt_find_setters(path, "EvtReader", names, VT_READ_KINDS, otf2.set, text, size);
    if (!library) return 1;
    int fine = VT_FIND(otf2.create, "EvtReaderCallbacks_New") && VT_FIND(otf2.destroy, "EvtReaderCallbacks_Delete") &&
               VT_FIND(otf2.list, "AttributeList_New") && VT_FIND(otf2.free_list, "AttributeList_Delete") &&
               VT_FIND(otf2.clear, "AttributeList_RemoveAllAttributes") &&
               VT_FIND(otf2.attributes, "AttributeList_GetNumberOfElements") &&
               VT_FIND(otf2.attribute, "AttributeList_GetAttributeByIndex") &&
               VT_FIND(otf2.add, "AttributeList_AddAttribute");
#define FOUND(name) fine = fine && VT_FIND(otf2.name, "EvtWriter_" #name) && otf2.set[VT_READ_##name];
    EVENTS(FOUND) FOUND(Metric) FOUND(ProgramBegin) if (!fine) snprintf(text, size, "%s cannot copy events", path);
    return !fine;
}

VT_EXPORT void *vt_rewrite_callbacks(void)
{
    void *callbacks = otf2.create();
    if (!callbacks) return NULL;
    for (unsigned i = 0; i < VT_READ_KINDS; i++) otf2.set[i](callbacks, handlers[i]);
    return callbacks;
}

VT_EXPORT struct vt_rewrite *vt_rewrite_new(struct vt_copy *c)
{
    struct vt_rewrite *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->copy = c;
    r->to = UINT64_MAX;
    r->attributes = otf2.list();
    r->answers = calloc(1, sizeof(struct vt_pair_table));
    if (r->attributes && r->answers) return r;
    vt_rewrite_free(r);
    return NULL;
}

VT_EXPORT void vt_rewrite_free(struct vt_rewrite *r)
{
    if (!r) return;
    if (r->attributes) otf2.free_list(r->attributes);
    if (r->answers) vt_pair_table_free(r->answers);
    free(r->answers);
    free(r->events);
    free(r->edges);
    free(r->open_sections);
    free(r->stack);
    free(r);
}
