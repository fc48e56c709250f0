/* SPDX-License-Identifier: BSD-3-Clause */
/* The callbacks of libotf2 for events: each fills one row of the columns. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../otf2_writer/containers.h"
#include "readback.h"

#define INTERRUPT VT_OTF2_CALLBACK_ERROR /* any number but success interrupts */
#define NONE VT_NONE

_Static_assert(VT_READ_KINDS <= sizeof((struct vt_batch *)0)->wanted, "as many kinds as fit");

static struct {
    void *(*create)(void);
    void (*destroy)(void *);
    uint32_t (*attributes)(const OTF2_AttributeList *);
    int32_t (*attribute)(const OTF2_AttributeList *, uint32_t, uint32_t *, uint8_t *, uint64_t *);
    int32_t (*set[VT_READ_KINDS])(void *, void *);
} otf2;

#define TEXT(...) #__VA_ARGS__
#define REF_NAME(use, type, kind, name) VT_IF_REF(use, #name, "")
#define WORD_NAME(use, type, kind, name) VT_IF_REF(use, "", ", " #name)
#define BARE(name) [VT_READ_##name] = #name ":" VT_E_##name(REF_NAME),
#define MORE(name) [VT_READ_##name] = #name ":" VT_E_##name(REF_NAME) VT_E_##name(WORD_NAME),
#define LIST(name, ...) [VT_READ_##name] = #name ":" TEXT(__VA_ARGS__),
static const char *const events[VT_READ_KINDS] = {VT_READ_BARE_EVENTS(BARE) VT_READ_EVENTS(MORE)
                                                      VT_READ_LIST_EVENTS(LIST)};

VT_EXPORT const char *vt_readback_event(uint32_t number) { return number < VT_READ_KINDS ? events[number] : NULL; }

/* ---- Rows ---- */

/* The part of OTF2's union that a value of a type uses; the rest may be anything. */
static uint64_t used(uint8_t type, uint64_t value)
{
    switch (type) {
    case VT_OTF2_TYPE_UINT64:
    case VT_OTF2_TYPE_INT64:
    case VT_OTF2_TYPE_DOUBLE:
    case VT_OTF2_TYPE_LOCATION: return value;
    case VT_OTF2_TYPE_UINT8: return (uint8_t)value;
    case VT_OTF2_TYPE_UINT16: return (uint16_t)value;
    case VT_OTF2_TYPE_INT8: return (uint64_t)(int8_t)value;
    case VT_OTF2_TYPE_INT16: return (uint64_t)(int16_t)value;
    case VT_OTF2_TYPE_INT32: return (uint64_t)(int32_t)value;
    default: return (uint32_t)value;
    }
}

static __attribute__((noinline)) uint32_t keep_attributes(struct vt_batch *b, const OTF2_AttributeList *list)
{
    uint32_t n = otf2.attributes(list);
    for (uint32_t i = 0; i < n; i++) {
        if (!VT_ROOM(b->attributes, b->nattributes + 1, &b->attributes_max)) {
            b->out_of_room = 1;
            return INTERRUPT;
        }
        uint32_t id;
        uint8_t type;
        uint64_t value = 0;
        if (otf2.attribute(list, i, &id, &type, &value)) continue;
        if (!b->want_attributes && id + UINT64_C(1) != b->calls_attribute) continue;
        b->attributes[b->nattributes++] =
            (struct vt_read_attribute){(uint32_t)b->count - 1, id, NONE, NONE, 0, type, used(type, value)};
    }
    return VT_OTF2_CALLBACK_SUCCESS;
}

enum { SKIPPED = 2 };

/* Adds a row for an event. Returns SKIPPED if the event is not wanted. */
static inline uint32_t row(struct vt_batch *b, uint64_t time, uint8_t kind, uint32_t ref,
                           const OTF2_AttributeList *attributes)
{
    if (__builtin_expect(b->skip != 0, 0)) {
        b->skip--;
        return SKIPPED;
    }
    int64_t t = vt_read_ns(b, time);
    if (__builtin_expect(t < b->last, 0)) {
        b->early++;
        t = b->last; /* readers rely on the order */
    }
    b->last = t;
    if (__builtin_expect(t > b->to, 0)) {
        b->ended = 1;
        return INTERRUPT;
    }
    if (t < b->from || !b->wanted[kind] || b->count == b->capacity) return SKIPPED;
    uint64_t n = b->count++;
    b->time[n] = t;
    b->ref[n] = ref;
    b->kind[n] = kind;
    const int ends = kind == VT_READ_Leave || kind == VT_READ_CallingContextLeave;
    if (__builtin_expect(attributes && (b->want_attributes || (ends && b->calls_attribute)), 0))
        return keep_attributes(b, attributes);
    return VT_OTF2_CALLBACK_SUCCESS;
}

static inline uint32_t detail(struct vt_batch *b, uint8_t kind, uint32_t ref, const uint64_t *words, unsigned n)
{
    if (!VT_ROOM(b->details, b->ndetails + 1, &b->details_max)) {
        b->out_of_room = 1;
        return INTERRUPT;
    }
    b->detailed[kind] = 1;
    struct vt_detail *d = &b->details[b->ndetails++];
    *d = (struct vt_detail){(uint32_t)b->count - 1, kind, 0, ref, NONE, NONE, 0, {0}};
    for (unsigned i = 0; i < n; i++) d->words[i] = words[i];
    return VT_OTF2_CALLBACK_SUCCESS;
}

#define UNUSED_HEAD (void)location, (void)position

#define SET_REF(use, type, kind, name) VT_IF_REF(use, ref =, (void)) name;
#define ON_BARE(name)                                                                                                  \
    uint32_t vt_read_##name(VT_READ_HEAD VT_E_##name(VT_DECLARED))                                                     \
    {                                                                                                                  \
        UNUSED_HEAD;                                                                                                   \
        uint32_t ref = NONE;                                                                                           \
        VT_E_##name(SET_REF) uint32_t code = row(user, time, VT_READ_##name, ref, attributes);                         \
        return code == SKIPPED ? VT_OTF2_CALLBACK_SUCCESS : code;                                                      \
    }
#define vt_read_Unknown plain_unknown
static uint32_t plain_unknown(VT_READ_HEAD);
VT_READ_BARE_EVENTS(ON_BARE)
#undef vt_read_Unknown

uint32_t vt_read_Unknown(VT_READ_HEAD)
{
    ((struct vt_batch *)user)->unknown++;
    return plain_unknown(location, time, position, user, attributes);
}

/* Signed values keep their bits. */
#define SET_VALUE(use, type, kind, name) VT_IF_REF(use, ref =, words[n++] = (uint64_t)) name;
#define ON_MORE(name)                                                                                                  \
    uint32_t vt_read_##name(VT_READ_HEAD VT_E_##name(VT_DECLARED))                                                     \
    {                                                                                                                  \
        UNUSED_HEAD;                                                                                                   \
        uint32_t ref = NONE, n = 0;                                                                                    \
        uint64_t words[VT_DETAIL_WORDS];                                                                               \
        VT_E_##name(SET_VALUE) uint32_t code = row(user, time, VT_READ_##name, ref, attributes);                       \
        if (code) return code == SKIPPED ? VT_OTF2_CALLBACK_SUCCESS : code;                                            \
        return detail(user, VT_READ_##name, ref, words, n);                                                            \
    }
VT_READ_EVENTS(ON_MORE)

uint32_t vt_read_Metric(VT_READ_HEAD, uint32_t metric, uint8_t count, const uint8_t *types,
                        const union OTF2_MetricValue_union *values)
{
    UNUSED_HEAD;
    uint32_t code = row(user, time, VT_READ_Metric, metric, attributes);
    if (code) return code == SKIPPED ? VT_OTF2_CALLBACK_SUCCESS : code;
    const uint64_t *bits = (const void *)values;
    for (unsigned i = 0; !code && i < count; i++) {
        const uint64_t words[] = {i, types[i], bits[i]};
        code = detail(user, VT_READ_Metric, metric, words, 3);
    }
    return code;
}

uint32_t vt_read_ProgramBegin(VT_READ_HEAD, uint32_t program, uint32_t count, const uint32_t *arguments)
{
    UNUSED_HEAD, (void)arguments;
    uint32_t code = row(user, time, VT_READ_ProgramBegin, program, attributes);
    if (code) return code == SKIPPED ? VT_OTF2_CALLBACK_SUCCESS : code;
    const uint64_t words[] = {count};
    return detail(user, VT_READ_ProgramBegin, program, words, 1);
}

/* ---- Functions for Python ---- */

/* clang-format off */
static void *const handlers[VT_READ_KINDS] = {
#define HANDLER(name, ...) [VT_READ_##name] = (void *)vt_read_##name,
    VT_READ_BARE_EVENTS(HANDLER)
    VT_READ_EVENTS(HANDLER)
    VT_READ_LIST_EVENTS(HANDLER)
#undef HANDLER
};
/* clang-format on */

VT_EXPORT int vt_readback_find(const char *path, char *text, size_t size)
{
    /* An older libotf2 calls the callback for unknown events if it has no setter for a kind. */
    void *library = vt_find_setters(path, "EvtReader", events, VT_READ_KINDS, otf2.set, text, size);
    if (!library) return 1;
    if (VT_FIND(otf2.create, "EvtReaderCallbacks_New") && VT_FIND(otf2.destroy, "EvtReaderCallbacks_Delete") &&
        VT_FIND(otf2.attributes, "AttributeList_GetNumberOfElements") &&
        VT_FIND(otf2.attribute, "AttributeList_GetAttributeByIndex") && otf2.set[VT_READ_Enter])
        return 0;
    snprintf(text, size, "%s cannot read events", path);
    return 1;
}

VT_EXPORT void *vt_readback_callbacks(void)
{
    void *callbacks = otf2.create();
    if (!callbacks) return NULL;
    for (unsigned i = 0; i < VT_READ_KINDS; i++)
        if (otf2.set[i]) otf2.set[i](callbacks, handlers[i]);
    return callbacks;
}

VT_EXPORT void vt_readback_callbacks_free(void *callbacks)
{
    if (callbacks) otf2.destroy(callbacks);
}

VT_EXPORT struct vt_batch *vt_readback_batch(uint64_t capacity)
{
    struct vt_batch *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->capacity = capacity;
    b->time = malloc(capacity * sizeof *b->time);
    b->ref = malloc(capacity * sizeof *b->ref);
    b->kind = malloc(capacity * sizeof *b->kind);
    if (b->time && b->ref && b->kind) return b;
    vt_readback_batch_free(b);
    return NULL;
}

VT_EXPORT void vt_readback_batch_free(struct vt_batch *b)
{
    if (!b) return;
    free(b->time);
    free(b->ref);
    free(b->kind);
    free(b->details);
    free(b->attributes);
    free(b);
}

/* ---- libotf2 ---- */

/* Finds the functions of libotf2 that register callbacks. */

void *vt_find_setters(const char *path, const char *reader, const char *const *kinds, unsigned n,
                      int32_t (**set)(void *, void *), char *text, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) snprintf(text, size, "%s", dlerror());
    for (unsigned i = 0; library && i < n; i++) {
        char name[96];
        snprintf(name, sizeof name, "OTF2_%sCallbacks_Set%.*sCallback", reader, (int)strcspn(kinds[i], ":"), kinds[i]);
        *(void **)&set[i] = dlsym(library, name);
    }
    return library;
}
