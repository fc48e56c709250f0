/* SPDX-License-Identifier: BSD-3-Clause */
/* The names that the program has defined: a hash table. Entries never change after they are added. */
#define _GNU_SOURCE
#include <string.h>
#include "userwrap.h"

#define SLOTS (1u << 19)
#define MOST_REGIONS (SLOTS / 2) /* limit for regions; the rest of the table is for the other kinds */
#define MOST_TEXTS (SLOTS / 4)
#define PROBES 512u
#define TEXT_MOST 1024u /* longer names are compared up to this length */
#define BLOCK (64u << 10)

struct name_entry {
    uint64_t hash;
    uint32_t id, kind, number;
    uint32_t bytes[3];
    char text[]; /* the three texts, each ended by 0 */
};

struct name_block {
    _Atomic size_t used;
    char data[];
};

static struct name_entry *_Atomic *_Atomic slots;
static struct name_block *_Atomic room;
static _Atomic uint32_t entries;

/* Zeroed memory, never freed. */
static void *take(size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    for (;;) {
        struct name_block *b = atomic_load(&room);
        size_t at = b ? atomic_fetch_add(&b->used, bytes) : BLOCK;
        if (at + bytes <= BLOCK - sizeof *b) return b->data + at;
        struct name_block *fresh = vt_pages(BLOCK);
        if (!fresh) return NULL;
        if (!atomic_compare_exchange_strong(&room, &b, fresh)) VT_SYS2(munmap, fresh, BLOCK);
    }
}

static uint64_t hash_of(const struct vt_user_key *k, const uint32_t bytes[3])
{
    uint64_t h = (uint64_t)k->kind << 32 | k->number;
    for (int i = 0; i < 3; i++)
        if (bytes[i]) h = vt_checksum(h + (uint64_t)i, k->text[i], bytes[i]);
    return h;
}

static int is_same(const struct name_entry *e, uint64_t hash, const struct vt_user_key *k, const uint32_t bytes[3])
{
    const char *text = e->text;
    if (e->hash != hash || e->kind != k->kind || e->number != k->number) return 0;
    for (int i = 0; i < 3; text += bytes[i++] + 1)
        if (e->bytes[i] != bytes[i] || (bytes[i] && memcmp(text, k->text[i], bytes[i]))) return 0;
    return 1;
}

static struct name_entry *make(uint64_t hash, const struct vt_user_key *k, const uint32_t bytes[3], uint32_t id)
{
    struct name_entry *e = take(sizeof *e + bytes[0] + bytes[1] + bytes[2] + 3);
    if (!e) return NULL;
    char *text = e->text;
    e->hash = hash;
    e->id = id;
    e->kind = k->kind;
    e->number = k->number;
    for (int i = 0; i < 3; text += bytes[i++] + 1) {
        e->bytes[i] = bytes[i];
        if (bytes[i]) memcpy(text, k->text[i], bytes[i]);
    }
    return e;
}

/* Texts need not be found again. If there are too many, each gets a new number. */
static int is_full(uint32_t kind)
{
    uint32_t n = atomic_load_explicit(&entries, memory_order_relaxed);
    return kind == VT_USER_TEXT ? n > MOST_TEXTS : kind == VT_USER_REGION && n > MOST_REGIONS;
}

uint32_t vt_user_id(const struct vt_user_key *key, uint32_t (*define)(const struct vt_user_key *key))
{
    uint32_t bytes[3] = {0}, id = 0;
    for (int i = 0; i < 3; i++) bytes[i] = key->text[i] ? (uint32_t)strnlen(key->text[i], TEXT_MOST) : 0;
    uint64_t hash = hash_of(key, bytes);
    struct name_entry *_Atomic *t = vt_pages_once((void **)&slots, SLOTS * sizeof *slots);
    struct name_entry *mine = NULL;
    for (uint32_t i = 0; t && i < PROBES; i++) {
        struct name_entry *_Atomic *slot = &t[(hash + i) % SLOTS];
        struct name_entry *e = atomic_load_explicit(slot, memory_order_acquire);
        if (e) {
            if (is_same(e, hash, key, bytes)) return e->id;
            continue;
        }
        if (!mine) {
            if (is_full(key->kind)) break;
            id = define(key);
            mine = id ? make(hash, key, bytes, id) : NULL;
            if (!mine) return id;
        }
        if (atomic_compare_exchange_strong(slot, &e, mine)) {
            atomic_fetch_add(&entries, 1);
            return id;
        }
        if (is_same(e, hash, key, bytes)) return e->id;
    }
    if (key->kind == VT_USER_TEXT) return define(key);
    vt_warn_left_out("user+metrics", "more than %u names in the user API: further names are not recorded",
                     MOST_REGIONS);
    return id;
}
