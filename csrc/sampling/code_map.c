/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes maps of the code. vtrace has no thread of its own: a thread more would change what the program may do (unshare,
   setuid). The first map is made before main. A signal handler that interrupts code of an unknown module makes a
   map with this module, which replaces the current one by one store; it takes no lock of the loader. The old map is released when no handler uses it.
   Samples are taken on x86-64 only, so the orders of this file and of sampler.c have not been argued for aarch64. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <string.h>
#include "sampling.h"

#define WAIT 10000 /* maximum wait in units of 0.1 ms */

static struct vt_code_map *_Atomic current;
static _Atomic uint32_t inside; /* number of handlers that use a map */
static _Atomic uint32_t making; /* lock: one thread makes a map */

const struct vt_code_map *vt_code_map_enter(void)
{
    atomic_fetch_add(&inside, 1);
    return atomic_load(&current);
}

void vt_code_map_leave(void) { atomic_fetch_sub(&inside, 1); }

static size_t bytes_of(uint32_t room) { return sizeof(struct vt_code_map) + room * sizeof(struct vt_code_range); }

/* ---- The modules ---- */

struct making {
    struct vt_code_map *map; /* NULL: only count the ranges */
    uint32_t count;
};

static int is_own(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && !strncmp(slash ? slash + 1 : path, "libvtrace", 9);
}

/* Finds .eh_frame_hdr, and the bytes of the segment that holds it and .eh_frame. */
static void find_source(const struct dl_phdr_info *info, struct vt_unwind_source *source)
{
    const ElfW(Phdr) *header = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) header = &info->dlpi_phdr[i];
    for (int i = 0; header && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || header->p_vaddr - p->p_vaddr >= p->p_filesz) continue;
        source->begin = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);
        source->end = source->begin + p->p_filesz;
        source->header = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
    }
}

static void add(struct vt_code_map *map, const struct dl_phdr_info *info, const ElfW(Phdr) * code)
{
    struct vt_code_range *range = &map->ranges[map->count++];
    *range = (struct vt_code_range){
        .begin = info->dlpi_addr + code->p_vaddr, .bytes = (uint32_t)code->p_memsz, .own = is_own(info->dlpi_name)};
    range->source.code = range->begin;
    range->source.code_bytes = range->bytes;
    find_source(info, &range->source);
}

static int each_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct making *m = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_memsz || p->p_memsz > UINT32_MAX) continue;
        m->count++;
        if (m->map && m->map->count < m->map->room) add(m->map, info, p);
    }
    return 0;
}

static void sort(struct vt_code_map *map)
{
    for (uint32_t i = 1; i < map->count; i++) {
        struct vt_code_range range = map->ranges[i];
        uint32_t at = i;
        for (; at && map->ranges[at - 1].begin > range.begin; at--) map->ranges[at] = map->ranges[at - 1];
        map->ranges[at] = range;
    }
}

/* ---- Maps ---- */

static void free_map(struct vt_code_map *map) { VT_SYS2(munmap, map, bytes_of(map->room)); }

/* Releases a map. A handler that has entered before the new map was published may use the old one: it is not released
   then, nor by a handler, which does not wait. */
static void release(struct vt_code_map *old, int may_wait)
{
    for (int i = 0; atomic_load(&inside); i++) {
        if (!may_wait || i == WAIT) return;
        vt_pause();
    }
    free_map(old);
}

static int is_same(const struct vt_code_map *a, const struct vt_code_map *b)
{
    if (!a || a->count != b->count) return 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->ranges[i].begin != b->ranges[i].begin || a->ranges[i].source.header != b->ranges[i].source.header ||
            a->ranges[i].bytes != b->ranges[i].bytes || a->ranges[i].slot != b->ranges[i].slot)
            return 0;
    return 1;
}

/* A module has no slot before its definition, and none at the end of recording. */
static uint32_t slot_of(const struct vt_code_range *range, const struct dl_phdr_info *info)
{
    struct vt_location *l = atomic_load(&vt_locations[0]);
    if (!l || atomic_load(&vt_process.state) != VT_ON || range->bytes > VT_CODE_MASK) return VT_CODE_UNKNOWN;
    return info ? vt_code_slot_in(l, range->begin, info) : vt_code_slot(l, range->begin);
}

/* Requires the lock. */
static void publish(struct vt_code_map *map, int may_wait)
{
    struct vt_code_map *old = atomic_load(&current);
    sort(map);
    map->generation = old ? old->generation + 1 : 1;
    if (is_same(old, map)) free_map(map);
    else {
        atomic_store(&current, map);
        if (old) release(old, may_wait);
    }
}

/* Makes and publishes a map of the modules that are loaded now. Returns 0 if they do not fit, because others were loaded
   meanwhile. Requires the lock. */
static int make(void)
{
    struct making m = {0};
    dl_iterate_phdr(each_module, &m);
    uint32_t room = m.count + 4;
    m.map = vt_pages(bytes_of(room));
    if (!m.map) return 1;
    m.map->room = room;
    m.count = 0;
    dl_iterate_phdr(each_module, &m);
    for (uint32_t i = 0; i < m.map->count; i++) m.map->ranges[i].slot = slot_of(&m.map->ranges[i], NULL);
    publish(m.map, 1);
    return m.count <= room;
}

/* Publishes a map with one module more. Requires the lock. */
static void extend(struct dl_phdr_info *info)
{
    const struct vt_code_map *old = atomic_load(&current);
    struct making m = {0};
    each_module(info, sizeof *info, &m);
    uint32_t first = old ? old->count : 0, room = first + m.count;
    m.map = vt_pages(bytes_of(room));
    if (!m.map) return;
    if (first) memcpy(m.map->ranges, old->ranges, first * sizeof *old->ranges);
    m.map->room = room;
    m.map->count = first;
    each_module(info, sizeof *info, &m);
    for (uint32_t i = first; i < m.map->count; i++) m.map->ranges[i].slot = slot_of(&m.map->ranges[i], info);
    publish(m.map, 0);
}

static void make_locked(void)
{
    uint64_t mask;
    vt_lock(&making, &mask);
    while (!make()) continue;
    vt_unlock(&making, &mask);
}

/* Takes unloaded modules out of the map. Runs after dlclose. */
static void forget_unloaded_code(void)
{
    int saved = errno;
    if (atomic_load(&current) && !vt_shares_memory()) make_locked();
    errno = saved;
}

void vt_code_map_extend(uintptr_t code)
{
    struct dl_phdr_info info;
    if (!vt_module_of(code, &info) || !vt_try_lock(&making)) return;
    const struct vt_code_map *now = atomic_load(&current);
    if (!now || !vt_code_range_of(now, code)) extend(&info);
    atomic_store(&making, 0);
}

/* This thread holds the lock over its fork. Other threads may fork at the same time. */
static _Thread_local int holds __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    for (int i = 0; i < WAIT && !(holds = vt_try_lock(&making)); i++) vt_pause();
}

static void in_parent(void)
{
    if (holds) atomic_store(&making, 0);
    holds = 0;
}

static void in_child(void)
{
    atomic_store(&inside, 0);
    atomic_store(&making, 0);
    holds = 0;
}

void vt_code_map_start(void)
{
    static _Atomic uint32_t started;
    if (atomic_exchange(&started, 1)) return; /* samples and call sites of allocations need it */
    pthread_atfork(before_fork, in_parent, in_child);
    vt_on_unload(forget_unloaded_code);
    make_locked();
}
