/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of annotations: a table of lists, to whose heads new names are added. A name never changes afterwards. */
#include <string.h>
#include "annotations.h"

#ifndef VT_VERSION
#define VT_VERSION "development"
#endif
#define LISTS 4096u
#define BLOCK (64u << 10)

static struct vt_named *_Atomic lists[LISTS];
static _Atomic uint32_t domains;

struct block {
    _Atomic size_t used;
    char data[];
};

static struct block *_Atomic room;

/* Not by malloc: --memory shows the program's own allocations. */
void *vt_annotation_memory(size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > BLOCK / 4) return vt_pages(bytes);
    for (;;) {
        struct block *b = atomic_load(&room);
        const size_t at = b ? atomic_fetch_add(&b->used, bytes) : BLOCK;
        if (at + bytes <= BLOCK - sizeof *b) return b->data + at;
        struct block *fresh = vt_pages(BLOCK);
        if (!fresh) return NULL;
        atomic_compare_exchange_strong(&room, &b, fresh); /* of several threads one block is used */
    }
}

static uint32_t hash_of(const struct vt_named *domain, const char *text)
{
    uint64_t h = (uintptr_t)domain + 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    return (uint32_t)(h >> 20) % LISTS;
}

struct vt_named *vt_named(struct vt_named *domain, const char *text)
{
    if (!text) text = VT_UNNAMED;
    struct vt_named *_Atomic *list = &lists[hash_of(domain, text)];
    struct vt_named *first = atomic_load(list), *mine = NULL;
    do {
        for (struct vt_named *n = first; n; n = n->next)
            if (n->domain == domain && !strcmp(n->text, text)) return n;
        if (!mine) {
            const size_t bytes = strlen(text) + 1;
            if (!(mine = vt_annotation_memory(sizeof *mine + bytes))) return NULL;
            mine->domain = domain;
            if (!domain) mine->number = atomic_fetch_add(&domains, 1) + 1;
            memcpy(mine->text, text, bytes);
        }
        mine->next = first;
    } while (!atomic_compare_exchange_weak(list, &first, mine));
    return mine;
}

uint32_t vt_region_in(const struct vt_named *domain, const char *name)
{
    return VT_User_def__(name && *name ? name : VT_UNNAMED, domain->text, NULL, 0);
}

uint32_t vt_counter_in(const struct vt_named *domain, const char *name, int type)
{
    return VT_User_count_def__(name && *name ? name : VT_UNNAMED, "#", type, VT_User_count_group_def__(domain->text));
}

void vt_mark_in(const struct vt_named *domain, const char *text)
{
    VT_User_marker__(VT_User_marker_def__(domain->text, VT_MARKER_TYPE_HINT), text && *text ? text : VT_UNNAMED);
}

const char *vt_from_wide(char *into, const wchar_t *text)
{
    char *at = into;
    for (; text && *text && at < into + VT_LABEL_BYTES - 4; text++) {
        const uint32_t c = (uint32_t)*text;
        if (c < 0x80) *at++ = (char)c;
        else if (c < 0x800) *at++ = (char)(0xc0 | c >> 6);
        else if (c < 0x10000) *at++ = (char)(0xe0 | c >> 12);
        else *at++ = (char)(0xf0 | (c >> 18 & 7));
        if (c >= 0x10000) *at++ = (char)(0x80 | (c >> 12 & 63));
        if (c >= 0x800) *at++ = (char)(0x80 | (c >> 6 & 63));
        if (c >= 0x80) *at++ = (char)(0x80 | (c & 63));
    }
    *at = 0;
    return into;
}

int vt_annotations_attach(const char *name)
{
    const struct vt_shim shim = {.size = sizeof shim, .abi = VT_ABI, .name = name, .version = VT_VERSION};
    return vt_attach(&shim);
}
