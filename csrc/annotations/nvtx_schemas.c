/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts of NVTX's payloads and groups of counters (nvtx3/nvToolsExtPayload.h): the numbers in them become counters, and
   the event's message, category and colour are taken from them. Arrays, pointers, unions and layouts inside of others are
   not read, nor is what follows one of these without an offset. */
#include <stdio.h>
#include <string.h>
#include "nvtx.h"

#define MOST 64u /* fields of a layout */
enum { STATIC = 1, DYNAMIC = 2 }; /* NVTX_PAYLOAD_SCHEMA_TYPE_... */
enum { POINTER = 1 << 1, OFFSETS = 3 << 2, ARRAYS = 7 << 4, MESSAGE = 1 << 10, MEANINGS = 3 << 10 };
enum { CATEGORY = 68, COLOUR = 69, TEXT = 75, UTF8 = 76, HANDLE = 80 }; /* NVTX_PAYLOAD_ENTRY_TYPE_... */

struct entry { /* nvtxPayloadSchemaEntry_t */
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail, offset;
    const void *semantics, *reserved;
};
struct attributes { /* nvtxPayloadSchemaAttr_t */
    uint64_t mask;
    const char *name;
    uint64_t type, flags;
    const struct entry *entries;
    size_t n, bytes, align;
    uint64_t id;
    void *extension;
};
enum { HAS_NAME = 1 << 1, HAS_ENTRIES = 1 << 4, HAS_ID = 1 << 8 };

struct field {
    const char *name;
    uint64_t offset;
    uint8_t type, is_message;
};
struct vt_nvtx_schema {
    struct vt_nvtx_schema *next;
    struct vt_named *domain;
    uint64_t id;
    const char *name; /* "": none */
    unsigned n;
    struct field fields[];
};

static struct vt_nvtx_schema *_Atomic schemas;

/* ---- Types ---- */

enum kind { OTHER, SIGNED, UNSIGNED, REAL };
static const struct {
    uint8_t bytes, kind;
} types[HANDLE + 1] = {
    [1] = {1, OTHER},      [2] = {1, UNSIGNED},     [3] = {2, SIGNED},     [4] = {2, UNSIGNED},  [5] = {4, SIGNED},
    [6] = {4, UNSIGNED},   [7] = {8, SIGNED},       [8] = {8, UNSIGNED},   [9] = {8, SIGNED},    [10] = {8, UNSIGNED},
    [11] = {1, SIGNED},    [12] = {1, UNSIGNED},    [13] = {2, SIGNED},    [14] = {2, UNSIGNED}, [15] = {4, SIGNED},
    [16] = {4, UNSIGNED},  [17] = {8, SIGNED},      [18] = {8, UNSIGNED},  [19] = {4, REAL},     [20] = {8, REAL},
    [22] = {8, UNSIGNED},  [23] = {8, OTHER},       [32] = {1, OTHER},     [43] = {4, REAL},     [44] = {8, REAL},
    [67] = {8, OTHER},     [CATEGORY] = {4, OTHER}, [COLOUR] = {4, OTHER}, [70] = {8, OTHER},    [71] = {4, OTHER},
    [72] = {8, OTHER},     [73] = {4, OTHER},       [74] = {8, OTHER},     [TEXT] = {8, OTHER},  [UTF8] = {8, OTHER},
    [HANDLE] = {8, OTHER},
};

int vt_nvtx_type_of(uint64_t type)
{
    static const uint8_t counts[] = {0, VT_COUNT_TYPE_SIGNED, VT_COUNT_TYPE_UNSIGNED, VT_COUNT_TYPE_DOUBLE};
    return type <= HANDLE ? counts[types[type].kind] : 0;
}

/* Records a number of a type as a counter's value. */
static void count(uint32_t counter, uint8_t type, const void *at)
{
    union {
        uint64_t word;
        int8_t s8;
        int16_t s16;
        int32_t s32;
        int64_t s64;
        float f32;
        double f64;
    } v = {0};
    const uint8_t bytes = types[type].bytes;
    memcpy(&v, at, bytes);
    if (types[type].kind == UNSIGNED) VT_User_count_unsigned_val__(counter, v.word);
    else if (types[type].kind == REAL) VT_User_count_double_val__(counter, bytes == 4 ? (double)v.f32 : v.f64);
    else VT_User_count_signed_val__(counter, bytes == 1 ? v.s8 : bytes == 2 ? v.s16 : bytes == 4 ? v.s32 : v.s64);
}

void vt_nvtx_count_as(uint32_t counter, int type, const void *at, size_t bytes)
{
    for (uint8_t t = 11; t <= 20; t++) /* the types with a size of their own */
        if (types[t].bytes == bytes && vt_nvtx_type_of(t) == type) {
            count(counter, t, at);
            return;
        }
}

/* ---- Layouts ---- */

static const char *copied(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = vt_annotation_memory(bytes);
    return copy ? memcpy(copy, text, bytes) : "";
}

/* Copies the fields that can be read. */
static unsigned read_fields(struct field *fields, const struct entry *entries, size_t n)
{
    unsigned found = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < n && i < MOST; i++) {
        const struct entry *e = &entries[i];
        const uint8_t bytes = e->type <= HANDLE ? types[e->type].bytes : 0;
        const int has_place = e->offset || !i;
        if (has_place) at = e->offset;
        if (!bytes || e->flags & (POINTER | OFFSETS | ARRAYS)) {
            while (i + 1 < n && !entries[i + 1].offset) i++; /* their places are not known */
            continue;
        }
        if (!has_place) at = (at + bytes - 1) / bytes * bytes;
        fields[found++] =
            (struct field){e->name ? copied(e->name) : "", at, (uint8_t)e->type, (e->flags & MEANINGS) == MESSAGE};
        at += bytes;
    }
    return found;
}

uint64_t vt_nvtx_register_schema(struct vt_named *handle, const void *given, uint64_t fresh)
{
    const struct attributes *a = given;
    struct vt_nvtx_schema *s = NULL;
    const int known = a && a->mask & HAS_ENTRIES && a->entries && (a->type == STATIC || a->type == DYNAMIC);
    const uint64_t id = a && a->mask & HAS_ID && a->id ? a->id : fresh;
    if (known) s = vt_annotation_memory(sizeof *s + (a->n < MOST ? a->n : MOST) * sizeof *s->fields);
    if (!s) return id;
    s->domain = vt_nvtx_domain(handle);
    s->id = id;
    s->name = a->mask & HAS_NAME && a->name ? copied(a->name) : "";
    s->n = read_fields(s->fields, a->entries, a->n);
    s->next = atomic_load(&schemas);
    while (!atomic_compare_exchange_weak(&schemas, &s->next, s)) continue;
    return id;
}

const struct vt_nvtx_schema *vt_nvtx_schema(struct vt_named *handle, uint64_t id)
{
    const struct vt_nvtx_schema *s = atomic_load(&schemas);
    while (s && (s->id != id || s->domain != vt_nvtx_domain(handle))) s = s->next;
    return s;
}

/* ---- Data ---- */

static int is_inside(const struct field *f, size_t bytes) { return f->offset + types[f->type].bytes <= bytes; }

void vt_nvtx_count(const struct vt_nvtx_schema *s, const char *name, const void *data, size_t bytes)
{
    char text[VT_LABEL_BYTES];
    for (const struct field *f = s->fields; data && f < s->fields + s->n; f++) {
        const int type = vt_nvtx_type_of(f->type);
        if (!type || !is_inside(f, bytes)) continue;
        snprintf(text, sizeof text, "%s.%s", name, f->name);
        count(vt_counter_in(s->domain, text, type), f->type, (const uint8_t *)data + f->offset);
    }
}

void vt_nvtx_describe(struct nvtx_event *e, struct vt_named *handle, const struct nvtx_data *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct vt_nvtx_schema *s = data[i].bytes ? vt_nvtx_schema(handle, data[i].schema) : NULL;
        for (const struct field *f = s ? s->fields : NULL; s && f < s->fields + s->n; f++) {
            const uint8_t *at = (const uint8_t *)data[i].at + f->offset;
            if (!is_inside(f, data[i].bytes)) continue;
            if (f->type == CATEGORY) memcpy(&e->category, at, sizeof e->category);
            if (f->type == COLOUR) memcpy(&e->color, at, sizeof e->color), e->color_type = NVTX_ARGB;
            if (!f->is_message || (f->type != TEXT && f->type != UTF8 && f->type != HANDLE)) continue;
            memcpy(&e->message, at, sizeof e->message);
            e->message_type = f->type == HANDLE ? NVTX_REGISTERED : NVTX_ASCII;
        }
    }
}

void vt_nvtx_record_data(struct vt_named *handle, const char *name, const struct nvtx_data *data, size_t n)
{
    for (size_t i = 0; i < n && data; i++) {
        const struct nvtx_data *d = &data[i];
        const int type = vt_nvtx_type_of(d->schema);
        const struct vt_nvtx_schema *s = type ? NULL : vt_nvtx_schema(handle, d->schema);
        if (type && d->at && d->bytes >= types[d->schema].bytes)
            count(vt_counter_in(vt_nvtx_domain(handle), name, type), (uint8_t)d->schema, d->at);
        else if (s) vt_nvtx_count(s, *s->name ? s->name : name, d->at, d->bytes);
    }
}
