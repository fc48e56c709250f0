/* SPDX-License-Identifier: BSD-3-Clause */
/* glibc's _dl_find_object (2.35) finds the library of an address without a lock or an allocation, so a wrapper of
   malloc may call the function. A library is defined once, as a text; each call refers to the text by an attribute. */
#define _GNU_SOURCE
#include "memwrap.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include "core/core.h"
#include "core/sys.h"

#define LIBRARIES 256u /* a power of 2; at most three quarters are used */

static int (*find_object)(void *address, struct vt_found_object *found);
static uint32_t attribute;
static struct {
    _Atomic(uint64_t) key; /* hash of the name */
    _Atomic(uint32_t) id; /* 0: another thread is defining it, or there are no more ids */
} libraries[LIBRARIES];
static _Atomic(uint32_t) nlibraries;

static uint64_t hash(const char *text)
{
    uint64_t key = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++) key = (key ^ (uint8_t)*text) * 0x100000001b3u;
    return key ? key : 1;
}

static uint32_t define(const char *path)
{
    const char *name = *path ? path : program_invocation_name;
    const char *slash = strrchr(name, '/');
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_TEXT);
    name = slash ? slash + 1 : name;
    return id && vt_define(VT_D_TEXT, vt_number(id), vt_string_of(name, 256)) ? id : 0;
}

/* Two threads that meet a new library at the same time define it twice; vtunify merges equal texts. Returns 0 if the
   table is full. */
static uint32_t id_of(const char *path)
{
    const uint64_t key = hash(path);
    for (uint64_t at = key >> 32;; at++) {
        uint64_t there = atomic_load_explicit(&libraries[at % LIBRARIES].key, memory_order_relaxed);
        if (!there && atomic_load_explicit(&nlibraries, memory_order_relaxed) >= LIBRARIES / 4 * 3) return 0;
        if (!there && atomic_compare_exchange_strong(&libraries[at % LIBRARIES].key, &there, key)) {
            atomic_fetch_add(&nlibraries, 1);
            there = key;
        }
        if (there != key) continue;
        uint32_t id = atomic_load_explicit(&libraries[at % LIBRARIES].id, memory_order_relaxed);
        if (!id) atomic_store_explicit(&libraries[at % LIBRARIES].id, id = define(path), memory_order_relaxed);
        return id;
    }
}

void vt_library_of_next(const void *caller)
{
    struct vt_found_object found;
    if (!attribute || find_object((void *)((uintptr_t)caller - 1), &found)) return;
    const uint32_t id = id_of(found.map->l_name ? found.map->l_name : "");
    if (id) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attribute), id);
}

void vt_libraries_begin(int on)
{
    if (!on) return;
    *(void **)&find_object = VT_OWN_WORK(dlsym(RTLD_DEFAULT, "_dl_find_object"));
    if (find_object)
        attribute = vt_define_attribute("source library", "library that calls malloc or the like", VT_TYPE_STRING);
    else vt_warn("VT_MEMTRACE_LIBRARIES needs glibc 2.35 or newer: libraries are not recorded");
}
