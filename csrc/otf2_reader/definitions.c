/* SPDX-License-Identifier: BSD-3-Clause */
/* The callbacks of libotf2 for global definitions: each adds a row to the table of its kind. */
#include "definitions.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../otf2_writer/containers.h"
#include "readback.h"

struct vt_definitions {
    struct vt_table tables[VT_DEF_KINDS + 2]; /* further tables: the members of lists, and text with 8 bytes a row */
    uint64_t text_size;
    int failed;
};
enum { MEMBERS = VT_DEF_KINDS, TEXT };

static struct {
    void *(*create)(void);
    void (*destroy)(void *);
    int32_t (*set[VT_DEF_KINDS])(void *, void *);
} otf2;

#define TEXT(...) #__VA_ARGS__
/* clang-format off */
static const char *const kinds[VT_DEF_KINDS] = {
#define COLUMN(use, type, kind, name) " " #name
#define PLAIN(name) [VT_DEF_##name] = #name ":" VT_D_##name(COLUMN),
#define LISTED(name, arguments, ...) [VT_DEF_##name] = #name ": " TEXT(__VA_ARGS__),
    VT_READ_DEFINITIONS(PLAIN)
    VT_READ_LISTED_DEFINITIONS(LISTED)
};
/* clang-format on */

/* ---- Tables ---- */

static uint64_t *rows(struct vt_definitions *d, unsigned table, uint64_t n)
{
    struct vt_table *t = &d->tables[table];
    if ((!t->rows || n > t->capacity - t->count) &&
        !vt_grow((void **)&t->rows, t->width * sizeof *t->rows, t->count + n + !n, &t->capacity))
        return d->failed = 1, NULL;
    t->count += n;
    return t->rows + (t->count - n) * t->width;
}

static uint32_t add(struct vt_definitions *d, unsigned table, const uint64_t *values)
{
    uint64_t *to = rows(d, table, 1);
    if (!to) return VT_OTF2_CALLBACK_ERROR;
    memcpy(to, values, d->tables[table].width * sizeof *values);
    return VT_OTF2_CALLBACK_SUCCESS;
}

#define ADD(name, ...) add(user, VT_DEF_##name, (const uint64_t[]){__VA_ARGS__})

#define ON_PLAIN(name)                                                                                                 \
    static uint32_t on_##name(void *user VT_D_##name(VT_DECLARED)) { return ADD(name, VT_D_##name(VT_WORD)); }
VT_READ_DEFINITIONS(ON_PLAIN)

static uint32_t on_String(void *user, uint32_t id, const char *text)
{
    struct vt_definitions *d = user;
    uint64_t length = text ? strlen(text) : 0, used = d->tables[TEXT].count * 8;
    if (used - d->text_size < length && !rows(d, TEXT, (length + 7) / 8)) return VT_OTF2_CALLBACK_ERROR;
    if (length) memcpy((char *)d->tables[TEXT].rows + d->text_size, text, length);
    d->text_size += length;
    return ADD(String, id, d->text_size - length, length);
}

static uint32_t on_IoParadigm(void *user, uint8_t id, uint32_t identification, uint32_t name, uint8_t class,
                              uint32_t flags, uint8_t count, const uint8_t *properties, const uint8_t *types,
                              const union OTF2_AttributeValue_union *values)
{
    (void)count, (void)properties, (void)types, (void)values;
    return ADD(IoParadigm, id, identification, name, class, flags);
}

static uint32_t on_Group(void *user, uint32_t id, uint32_t name, uint8_t type, uint8_t paradigm, uint32_t flags,
                         uint32_t count, const uint64_t *members)
{
    struct vt_definitions *d = user;
    uint64_t offset = d->tables[MEMBERS].count;
    uint64_t *to = rows(d, MEMBERS, count);
    if (!to) return VT_OTF2_CALLBACK_ERROR;
    for (uint32_t i = 0; i < count; i++) to[i] = members[i];
    return ADD(Group, id, name, type, paradigm, flags, offset, count);
}

/* Adds a list of members. offset: of the list among all members. Returns false if there is no memory. */
static bool add_members(struct vt_definitions *d, const uint32_t *members, uint32_t count, uint64_t *offset)
{
    *offset = d->tables[MEMBERS].count;
    uint64_t *to = rows(d, MEMBERS, count);
    for (uint32_t i = 0; to && i < count; i++) to[i] = members[i];
    return to != NULL;
}

static uint32_t on_MetricClass(void *user, uint32_t id, uint8_t count, const uint32_t *members, uint8_t occurrence,
                               uint8_t recorder)
{
    uint64_t offset;
    if (!add_members(user, members, count, &offset)) return VT_OTF2_CALLBACK_ERROR;
    return ADD(MetricClass, id, occurrence, recorder, offset, count);
}

static uint32_t on_CartTopology(void *user, uint32_t id, uint32_t name, uint32_t comm, uint8_t count,
                                const uint32_t *dimensions)
{
    uint64_t offset;
    if (!add_members(user, dimensions, count, &offset)) return VT_OTF2_CALLBACK_ERROR;
    return ADD(CartTopology, id, name, comm, offset, count);
}

static uint32_t on_CartCoordinate(void *user, uint32_t topology, uint32_t rank, uint8_t count,
                                  const uint32_t *coordinates)
{
    uint64_t offset;
    if (!add_members(user, coordinates, count, &offset)) return VT_OTF2_CALLBACK_ERROR;
    return ADD(CartCoordinate, topology, rank, offset, count);
}

static uint32_t on_Unknown(void *user) { return ADD(Unknown, 0); }

/* ---- Functions for Python ---- */

/* clang-format off */
static void *const handlers[VT_DEF_KINDS] = {
#define HANDLER(name, ...) [VT_DEF_##name] = (void *)on_##name,
    VT_READ_DEFINITIONS(HANDLER)
    VT_READ_LISTED_DEFINITIONS(HANDLER)
#undef HANDLER
};
/* clang-format on */

VT_EXPORT int vt_definitions_find(const char *path, char *text, size_t size)
{
    void *library = vt_find_setters(path, "GlobalDefReader", kinds, VT_DEF_KINDS, otf2.set, text, size);
    if (!library) return 1;
    if (VT_FIND(otf2.create, "GlobalDefReaderCallbacks_New") &&
        VT_FIND(otf2.destroy, "GlobalDefReaderCallbacks_Delete") && otf2.set[VT_DEF_Location])
        return 0;
    snprintf(text, size, "%s cannot read definitions", path);
    return 1;
}

VT_EXPORT struct vt_definitions *vt_definitions_new(void)
{
    struct vt_definitions *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    for (unsigned i = 0; i < VT_DEF_KINDS; i++) {
        for (const char *p = kinds[i]; *p; p++) d->tables[i].width += *p == ' ';
    }
    d->tables[MEMBERS].width = d->tables[TEXT].width = 1;
    return d;
}

VT_EXPORT void vt_definitions_free(struct vt_definitions *d)
{
    for (unsigned i = 0; d && i < sizeof d->tables / sizeof *d->tables; i++) free(d->tables[i].rows);
    free(d);
}

VT_EXPORT void *vt_definitions_callbacks(void)
{
    void *callbacks = otf2.create();
    if (!callbacks) return NULL;
    for (unsigned i = 0; i < VT_DEF_KINDS; i++)
        if (otf2.set[i]) otf2.set[i](callbacks, handlers[i]);
    return callbacks;
}

VT_EXPORT void vt_definitions_callbacks_free(void *callbacks)
{
    if (callbacks) otf2.destroy(callbacks);
}

VT_EXPORT const char *vt_definitions_kind(uint32_t number)
{
    if (number < VT_DEF_KINDS) return kinds[number];
    return number == MEMBERS ? "Members: member" : number == TEXT ? "Text: bytes" : NULL;
}

VT_EXPORT struct vt_table *vt_definitions_table(struct vt_definitions *d, uint32_t number)
{
    return &d->tables[number];
}

VT_EXPORT int vt_definitions_failed(const struct vt_definitions *d) { return d->failed; }
