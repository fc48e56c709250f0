/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes definitions: each once, into a chunk of the buffer, before the first event that refers to the definition. */
#define _GNU_SOURCE
#include <string.h>
#include "location.h"

void vt_defs_finish(struct vt_location *l)
{
    struct vt_chunk *c = l->defs;
    l->defs = NULL;
    if (!c) return;
    c->used = vt_chunk_used(c);
    vt_chunk_append(&l->defs_full, &l->defs_last, c);
}

static int begin_chunk(struct vt_location *l)
{
    vt_defs_finish(l);
    struct vt_chunk *c = l->defs = vt_chunk_take();
    if (!c) return 0;
    c->content = VT_DEFINITIONS;
    VT_SET(c->head, VT_CHUNK_DATA);
    c->location = l->number;
    c->sequence = l->defs_sequence++;
    c->thread = l->thread;
    c->ticks = c->end_ticks = VT_READ(l->last);
    c->pair = vt_clock_recent();
    c->lost = c->dropped = c->depth = c->nopen = c->records = c->classes = 0;
    __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    return 1;
}

/* 1: the chunk after the head of the buffer, the only chunk whose address is not a multiple of the chunk size. */
static int is_last(const struct vt_chunk *c) { return (uintptr_t)c % VT_CHUNK_SIZE != 0; }

/* Bytes for definitions in a chunk. */
static uint32_t room_of(const struct vt_chunk *c)
{
    return VT_CHUNK_SIZE - (uint32_t)((uintptr_t)c % VT_CHUNK_SIZE) - VT_CHUNK_DATA - 1;
}

/* ---- MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), written into memory. The runtime does not
   use a library for it, since it must not load one into the traced process ---- */

struct mp {
    uint8_t *at, *end;
    int full;
};

static struct mp mp_into(void *memory, size_t bytes)
{
    struct mp m = {(uint8_t *)memory, (uint8_t *)memory + bytes, 0};
    return m;
}

static void mp_put(struct mp *m, const void *bytes, size_t n)
{
    if (m->full || (size_t)(m->end - m->at) < n) {
        m->full = 1;
        return;
    }
    memcpy(m->at, bytes, n);
    m->at += n;
}

/* Writes a type byte and a big-endian number of n bytes. */
static void mp_head(struct mp *m, uint8_t type, uint64_t value, int n)
{
    uint8_t b[9] = {type};
    for (int i = 0; i < n; i++) b[1 + i] = (uint8_t)(value >> 8 * (n - 1 - i));
    mp_put(m, b, 1 + (size_t)n);
}

static void mp_nil(struct mp *m) { mp_head(m, 0xc0, 0, 0); }
static void mp_bool(struct mp *m, int yes) { mp_head(m, yes ? 0xc3 : 0xc2, 0, 0); }

static void mp_uint(struct mp *m, uint64_t v)
{
    if (v < 128) mp_head(m, (uint8_t)v, 0, 0);
    else if (v <= UINT8_MAX) mp_head(m, 0xcc, v, 1);
    else if (v <= UINT16_MAX) mp_head(m, 0xcd, v, 2);
    else if (v <= UINT32_MAX) mp_head(m, 0xce, v, 4);
    else mp_head(m, 0xcf, v, 8);
}

static void mp_int(struct mp *m, int64_t v)
{
    if (v >= 0) mp_uint(m, (uint64_t)v);
    else mp_head(m, 0xd3, (uint64_t)v, 8);
}

static void mp_array(struct mp *m, uint32_t n)
{
    if (n < 16) mp_head(m, (uint8_t)(0x90 | n), 0, 0);
    else mp_head(m, 0xdd, n, 4);
}

static void mp_strn(struct mp *m, const char *s, size_t n)
{
    if (n < 32) mp_head(m, (uint8_t)(0xa0 | n), 0, 0);
    else if (n <= UINT8_MAX) mp_head(m, 0xd9, n, 1);
    else mp_head(m, 0xdb, n, 4);
    mp_put(m, s, n);
}

static void mp_bin(struct mp *m, const void *bytes, uint32_t n)
{
    mp_head(m, 0xc6, n, 4);
    mp_put(m, bytes, n);
}

/* ---- Definitions ---- */

/* The most bytes that values need. */
static size_t most_of(const struct vt_definition_value *values, size_t n)
{
    size_t most = 0;
    for (const struct vt_definition_value *v = values; v < values + n; v++) {
        most += 9;
        if (v->type == VT_VALUE_TEXT || v->type == VT_VALUE_BYTES || v->type == VT_VALUE_PACKED) most += v->n;
        else if (v->type == VT_VALUE_LIST) most += most_of(v->at, v->n);
        else if (v->type == VT_VALUE_WORDS) {
            const char *s = v->at;
            for (uint32_t i = 0; i < v->n; i++) s += strlen(s) + 1;
            most += (size_t)(s - (const char *)v->at) + 9 * v->n;
        }
    }
    return most;
}

static void put(struct mp *m, const struct vt_definition_value *values, size_t n)
{
    for (const struct vt_definition_value *v = values; v < values + n; v++) {
        const char *s = v->at;
        switch (v->type) {
        case VT_VALUE_KIND:
            mp_array(m, v->n + 1);
            mp_uint(m, v->number);
            break;
        case VT_VALUE_NIL: mp_nil(m); break;
        case VT_VALUE_NUMBER: mp_uint(m, v->number); break;
        case VT_VALUE_SIGNED: mp_int(m, (int64_t)v->number); break;
        case VT_VALUE_BOOL: mp_bool(m, v->number != 0); break;
        case VT_VALUE_TEXT: mp_strn(m, s, v->n); break;
        case VT_VALUE_BYTES: mp_bin(m, s, v->n); break;
        case VT_VALUE_PACKED: mp_put(m, s, v->n); break;
        case VT_VALUE_LIST:
            mp_array(m, v->n);
            put(m, v->at, v->n);
            break;
        case VT_VALUE_WORDS:
            mp_array(m, v->n);
            for (uint32_t i = 0; i < v->n; i++, s += strlen(s) + 1) mp_strn(m, s, strlen(s));
            break;
        }
    }
}

int vt_define_values_at(struct vt_location *l, const struct vt_definition_value *values, size_t n)
{
    const size_t most = most_of(values, n);
    /* One byte remains unused: only for events a head of 0 means a full chunk. */
    if (most > VT_CHUNK_SIZE - VT_CHUNK_DATA - 1 || !vt_location_lock(l)) return 0;
    const int has_room =
        (l->defs && vt_chunk_used(l->defs) + most <= room_of(l->defs)) || (!is_last(l->defs) && begin_chunk(l));
    if (has_room) {
        struct vt_chunk *c = l->defs;
        struct mp m = mp_into((char *)c + VT_READ(c->head), most);
        put(&m, values, n);
        for (size_t i = 0; i < n; i++)
            c->records += values[i].type == VT_VALUE_KIND || values[i].type == VT_VALUE_PACKED;
        __atomic_store_n(&c->head, (uint16_t)(m.at - (uint8_t *)c), __ATOMIC_RELEASE);
    }
    vt_location_unlock(l);
    return has_room;
}

void vt_define_property(struct vt_location *l, const char *key, const char *value)
{
    vt_define_at(l, VT_D_PROPERTY, vt_string(key), vt_string(value));
}

void vt_define_missing(struct vt_location *l, const char *what, const char *why)
{
    char key[32], text[128];
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, what, ".");
    vt_text_dec(&t, l->number);
    t = vt_text_into(text, sizeof text);
    vt_text_dec(&t, vt_now());
    vt_text_add(&t, " ", why);
    vt_define_property(l, key, text);
}

uint64_t vt_new_id(enum vt_id kind)
{
    uint64_t id = atomic_fetch_add_explicit(&vt_process.ids[kind], 1, memory_order_relaxed) + 1;
    return kind == VT_ID_REQUEST || id <= VT_ID_MAX ? id : 0;
}

void vt_define_clock(struct vt_location *l)
{
    struct vt_clock_pair p = vt_clock_measure();
    vt_define_at(l, VT_D_CLOCK, vt_number(p.ticks), vt_number(p.mono), vt_number(p.real));
}

static void define_setting(struct vt_location *l, const char *name, const char *value)
{
    char key[64];
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, "setting.", name);
    vt_define_property(l, key, value);
}

void vt_define_size(struct vt_location *l, uint64_t bytes, int by_disk)
{
    char value[32], text[64];
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_settings_show_size(value, sizeof value, bytes);
    vt_text_add(&t, value);
    if (by_disk) vt_text_add(&t, " (from the free space)");
    define_setting(l, "VT_MAX_SIZE", text);
}

void vt_define_settings(struct vt_location *l)
{
    const char *name, *value;
    for (size_t i = 0; (value = vt_settings_value(i, &name)); i++)
        if (*value) define_setting(l, name, value);
}
