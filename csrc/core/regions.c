/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions of regions, attributes and texts by the calling thread. The thread gets a location if it has none. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "process.h"

#define LEFT_OUT "left_out." /* begins the name of a property; the line follows */

int vt_define_values(const struct vt_definition_value *values, size_t n)
{
    struct vt_location *l = vt_location_of_thread(0);
    return l && vt_define_values_at(l, values, n);
}

int(vt_define)(const void *bytes, size_t n)
{
    const struct vt_definition_value packed = vt_value_of(VT_VALUE_PACKED, bytes, n);
    return vt_define_values(&packed, 1);
}

/* Definitions of equal keys would be equal, but a caller may come here at each event. */
static int is_first(const char *format)
{
    static const char *_Atomic told[64];
    for (unsigned i = 0; i < sizeof told / sizeof *told; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&told[i], &none, format)) return 1;
        if (none == format) return 0;
    }
    return 0;
}

void vt_warn_left_out(const char *classes, const char *format, ...)
{
    char key[256] = LEFT_OUT, value[128];
    const size_t n = strlen(LEFT_OUT);
    const int saved = errno;
    va_list args;
    if (!is_first(format)) return;
    va_start(args, format);
    vsnprintf(key + n, sizeof key - n, format, args);
    va_end(args);
    errno = saved;
    vt_say(1, "%s", key + n);
    struct vt_location *l = vt_location_of_thread(0);
    if (!l) return;
    struct vt_text t = vt_text_into(value, sizeof value);
    vt_text_dec(&t, vt_now());
    vt_text_add(&t, " ", classes);
    vt_define_property(l, key, value);
}

/* Returns the id of a new region; 0: none is left, or the thread is not recorded. */
static uint32_t new_region(const char *name, uint8_t paradigm, uint8_t role)
{
    if (!vt_location_of_thread(0)) return 0;
    uint32_t id = (uint32_t)vt_new_id(VT_ID_REGION);
    if (!id) vt_warn_left_out("all", "more than %u named regions: the others are not recorded", VT_ID_MAX);
    if (!id) return 0;
    vt_size_region(id, paradigm, role);
    vt_thin_region(id, paradigm, role);
    vt_trigger_region(id, paradigm);
    vt_memory_region(id, role);
    vt_groups_region(id, paradigm, role);
    vt_window_defined(name, id);
    if (vt_keep_is_name(name)) vt_keep_watch(VT_WHAT(VT_K_ENTER, 0, id));
    return id;
}

/* All regions but those at an address are defined here. description may be NULL. */
static uint32_t define_region(const char *name, uint8_t paradigm, uint8_t role, const char *file, uint32_t line,
                              const char *description)
{
    uint32_t id = new_region(name, paradigm, role);
    if (!id) return 0;
    return vt_define(VT_D_REGION, vt_number(id), vt_string(name), vt_number(paradigm), vt_number(role), vt_string(file),
                     vt_number(line), vt_string(description))
               ? id
               : 0;
}

uint32_t vt_define_region(const char *name, uint8_t paradigm, uint8_t role, const char *file, uint32_t line)
{
    return define_region(name, paradigm, role, file, line, NULL);
}

uint32_t vt_define_region_about(const char *name, uint8_t paradigm, uint8_t role, const char *description)
{
    return define_region(name, paradigm, role, NULL, 0, description);
}

uint32_t vt_define_region_at(const char *name, uint8_t paradigm, uint8_t role, uintptr_t code)
{
    vt_note_code(code); /* before the definition: vtunify needs the module that contains the code */
    uint32_t id = new_region(name, paradigm, role);
    if (!id) return 0;
    return vt_define(VT_D_REGION_AT, vt_number(id), vt_string(name), vt_number(paradigm), vt_number(role),
                     vt_number(code))
               ? id
               : 0;
}

/* Two threads may define the region at the same time; vtunify merges equal regions. */
uint32_t vt_call_define(struct vt_call *c)
{
    uint32_t none = 0, *counted = NULL;
    enum vt_take take = vt_take_call(c->name, c->paradigm == VT_PARADIGM_PTHREAD ? "Pthreads" : "LIBC-EXEC", &counted);
    if (take == VT_CALL_HIDDEN || (counted && *counted)) return counted ? *counted : 0;
    uint32_t region = vt_define_region(c->name, c->paradigm, c->role, NULL, 0);
    if (counted) return *counted = region;
    if (!region) return 0;
    return atomic_compare_exchange_strong(&c->region, &none, region) ? region : none;
}

uint32_t vt_attribute_id(_Atomic uint32_t *known, const char *name, const char *description, enum vt_type type)
{
    uint32_t id = atomic_load(known);
    if (id) return id;
    id = vt_define_attribute(name, description, type);
    if (id) atomic_store(known, id);
    return id;
}

void vt_count_left_out(uint32_t region)
{
    struct vt_location *l = vt_own_location;
    if (l && l->in_use && vt_memory_call(l, region)) return;
    if (!(l = vt_location_to_record(1))) return;
    vt_busy_begin(l);
    for (int tries = 0; tries < VT_COUNT_TRIES && !vt_memory_call(l, region); tries++) vt_counts_open(l);
    vt_busy_end(l);
}

uint32_t vt_define_text(const char *text)
{
    uint32_t id = vt_location_of_thread(0) ? (uint32_t)vt_new_id(VT_ID_TEXT) : 0;
    return id && vt_define(VT_D_TEXT, vt_number(id), vt_string_of(text, PATH_MAX)) ? id : 0;
}
