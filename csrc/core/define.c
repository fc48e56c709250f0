/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions: written once, into chunks of the same buffer, before the first event that refers to them. */
#define _GNU_SOURCE
#include <string.h>
#include "record.h"

static int begin_chunk(struct vt_location *l)
{
    int locked = vt_location_lock(l);
    if (!locked && atomic_load(&l->lock) != (uint32_t)VT_SYS0(gettid)) return 0;
    if (l->defs) {
        struct vt_chunk *c = l->defs;
        c->next = 0;
        __atomic_store_n(&c->state, VT_CHUNK_FULL, __ATOMIC_RELEASE);
        if (l->defs_last) l->defs_last->next = (uint32_t)((uintptr_t)c / VT_CHUNK_SIZE);
        else l->defs_full = c;
        l->defs_last = c;
    }
    struct vt_chunk *c = l->defs = vt_chunk_take();
    if (c) {
        c->content = VT_DEFINITIONS;
        c->head = VT_CHUNK_DATA;
        c->location = l->number;
        c->sequence = l->defs_sequence++;
        c->thread = l->thread;
        c->ticks = c->end_ticks = l->last;
        c->pair = vt_clock_recent();
        c->lost = c->depth = c->nopen = c->records = c->classes = 0;
        __atomic_store_n(&c->state, VT_CHUNK_FILLING, __ATOMIC_RELEASE);
    }
    if (locked) vt_location_unlock(l);
    return c != NULL;
}

int vt_define_at(struct vt_location *l, const void *bytes, size_t n)
{
    if (n > VT_CHUNK_SIZE - VT_CHUNK_DATA - 8) return 0;
    /* one byte stays free: a head of 0 means full only for events */
    if (!l->defs || vt_chunk_used(l->defs) + n >= VT_CHUNK_SIZE - VT_CHUNK_DATA)
        if (!begin_chunk(l)) return 0;
    struct vt_chunk *c = l->defs;
    memcpy((char *)c + c->head, bytes, n);
    c->records++;
    __atomic_store_n(&c->head, (uint16_t)(c->head + n), __ATOMIC_RELEASE);
    return 1;
}

int vt_define(const void *bytes, size_t n)
{
    struct vt_location *l = vt_location_of_thread();
    if (!l || l->busy) return 0;
    vt_busy_begin(l);
    int done = vt_define_at(l, bytes, n);
    vt_busy_end(l);
    return done;
}

void vt_define_property(struct vt_location *l, const char *key, const char *value)
{
    uint8_t bytes[2048];
    struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
    vt_mp_array(&m, 3);
    vt_mp_uint(&m, VT_D_PROPERTY);
    vt_mp_str(&m, key);
    vt_mp_str(&m, value);
    if (!m.full) vt_define_at(l, bytes, (size_t)(m.at - bytes));
}

uint64_t vt_new_id(enum vt_id kind)
{
    uint64_t id = atomic_fetch_add_explicit(&vt_process.ids[kind], 1, memory_order_relaxed) + 1;
    return kind == VT_ID_REQUEST || id <= VT_ID_MAX ? id : 0;
}

uint32_t vt_define_region(const char *name, uint8_t paradigm, uint8_t role, const char *file, uint32_t line)
{
    uint8_t bytes[4096];
    uint64_t id = vt_new_id(VT_ID_REGION);
    struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
    if (!id) {
        vt_warn("more than %u named regions: the others are not recorded", VT_ID_MAX);
        return 0;
    }
    vt_mp_array(&m, 7);
    vt_mp_uint(&m, VT_D_REGION);
    vt_mp_uint(&m, id);
    vt_mp_str(&m, name);
    vt_mp_uint(&m, paradigm);
    vt_mp_uint(&m, role);
    vt_mp_str(&m, file);
    vt_mp_uint(&m, line);
    return !m.full && vt_define(bytes, (size_t)(m.at - bytes)) ? (uint32_t)id : 0;
}
