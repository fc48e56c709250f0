/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes definitions: each once, into a chunk of the buffer, before the first event that refers to the definition. */
#define _GNU_SOURCE
#include <string.h>
#include "buffer.h"
#include "clock.h"
#include "define.h"
#include "location.h"
#include "msgpack.h"
#include "settings.h"
#include "text.h"

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

struct vt_mp vt_define_begin(struct vt_location *l, size_t most)
{
    struct vt_mp none = {NULL, NULL, 1};
    /* One byte remains unused: only for events a head of 0 means a full chunk. */
    if (most > VT_CHUNK_SIZE - VT_CHUNK_DATA - 1 || !vt_location_lock(l)) return none;
    if ((l->defs && vt_chunk_used(l->defs) + most <= room_of(l->defs)) || (!is_last(l->defs) && begin_chunk(l)))
        return vt_mp_into((char *)l->defs + VT_READ(l->defs->head), most);
    vt_location_unlock(l);
    return none;
}

int vt_define_end(struct vt_location *l, const struct vt_mp *m)
{
    if (!m->at) return 0;
    struct vt_chunk *c = l->defs;
    if (!m->full) {
        c->records++;
        __atomic_store_n(&c->head, (uint16_t)(m->at - (uint8_t *)c), __ATOMIC_RELEASE);
    }
    vt_location_unlock(l);
    return !m->full;
}

void vt_define_property(struct vt_location *l, const char *key, const char *value)
{
    struct vt_mp m = vt_define_begin(l, strlen(key) + strlen(value) + 16);
    vt_mp_array(&m, 3);
    vt_mp_uint(&m, VT_D_PROPERTY);
    vt_mp_str(&m, key);
    vt_mp_str(&m, value);
    vt_define_end(l, &m);
}

void vt_define_missing(struct vt_location *l, const char *what, const char *why)
{
    char key[32], text[128];
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, what);
    vt_text_add(&t, ".");
    vt_text_dec(&t, l->number);
    t = vt_text_into(text, sizeof text);
    vt_text_dec(&t, vt_now());
    vt_text_add(&t, " ");
    vt_text_add(&t, why);
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
    struct vt_mp m = vt_define_begin(l, 48);
    vt_mp_array(&m, 4);
    vt_mp_uint(&m, VT_D_CLOCK);
    vt_mp_uint(&m, p.ticks);
    vt_mp_uint(&m, p.mono);
    vt_mp_uint(&m, p.real);
    vt_define_end(l, &m);
}

static void define_setting(struct vt_location *l, const char *name, const char *value)
{
    char key[64];
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, "setting.");
    vt_text_add(&t, name);
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
