/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes maps of the code. A thread of vtrace makes the tables, since those of large libraries take milliseconds, and a
   signal handler may neither ask the loader nor wait. A new map replaces the current one by one store. The old map is
   released when no handler uses it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "../core/call.h"
#include "../core/location.h"
#include "../core/lock.h"
#include "../core/memory.h"
#include "../core/module.h"
#include "code_map.h"
#include "python_frames.h"

#define STACK (256u << 10) /* bytes of the thread's stack */
#define FORK_WAIT 10000 /* maximum wait in units of 0.1 ms */
#define AGAIN 100000000u /* least number of ticks between two requests of handlers */

static struct vt_code_map *_Atomic current;
static _Atomic uint32_t inside; /* number of handlers that use a map */
static _Atomic uint32_t making; /* lock: one thread makes a map */
static _Atomic uint32_t wanted; /* futex: number of requests */
static _Atomic uint64_t asked; /* ticks of the last request */
static _Atomic int dismissed; /* 1: the thread ends */
static int has_thread;
static uint64_t whole_at; /* making.changes of the current map if it has all modules, else 0 */

const struct vt_code_map *vt_code_map_enter(void)
{
    atomic_fetch_add(&inside, 1);
    return atomic_load(&current);
}

void vt_code_map_leave(void) { atomic_fetch_sub(&inside, 1); }

static size_t bytes_of(uint32_t room) { return sizeof(struct vt_code_map) + room * sizeof(struct vt_code_range); }

/* ---- The modules ---- */

struct making {
    const struct vt_code_map *old; /* NULL: none */
    struct vt_code_map *map; /* NULL: only count the ranges */
    uint32_t count;
    int only_known; /* 1: omit modules that the old map lacks */
    int is_partial; /* 1: there are such modules, or ranges without a slot */
    uint64_t changes; /* number of modules that were loaded or unloaded so far */
};

static int is_own(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && !strncmp(slash ? slash + 1 : path, "libvtrace", 9);
}

/* Finds the bytes of .eh_frame_hdr, and those of the segment that holds it and .eh_frame. Returns 0 if there are
   none. */
static uint64_t find_source(const struct dl_phdr_info *info, struct vt_unwind_source *source)
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
        uint64_t room = (uint64_t)(source->end - source->header);
        return vt_checksum(1, source->header, header->p_memsz < room ? header->p_memsz : room) | 1;
    }
    return 0;
}

/* Adds a range; reuses the table of the old map if that map has the same module there. */
static void add(struct making *m, const struct dl_phdr_info *info, const ElfW(Phdr) * code)
{
    struct vt_unwind_source source = {.code = info->dlpi_addr + code->p_vaddr, .code_bytes = (uint32_t)code->p_memsz};
    struct vt_code_range range = {.begin = source.code, .bytes = source.code_bytes, .own = is_own(info->dlpi_name)};
    range.key = find_source(info, &source);
    const struct vt_code_range *known = m->old ? vt_code_range_of(m->old, range.begin) : NULL;
    if (known && known->begin == range.begin && known->bytes == range.bytes && known->key == range.key)
        range.table = known->table;
    else if (m->only_known) {
        m->is_partial = 1;
        return;
    } else if (range.key) vt_unwind_table_make(&range.table, &source);
    m->map->ranges[m->map->count++] = range;
}

static int each_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct making *m = data;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        m->changes = info->dlpi_adds + info->dlpi_subs;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_memsz || p->p_memsz > UINT32_MAX) continue;
        m->count++;
        if (m->map && m->map->count < m->map->room) add(m, info, p);
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

/* Releases a map, and its tables that the new map does not use. A handler that has entered before the new map was
   published may use them: a map that is in use for long is not released. */
static void release(struct vt_code_map *old, const struct vt_code_map *new)
{
    for (int i = 0; atomic_load(&inside); i++) {
        if (i == FORK_WAIT) return;
        vt_pause();
    }
    for (uint32_t i = 0; i < old->count; i++) {
        const struct vt_code_range *now = vt_code_range_of(new, old->ranges[i].begin);
        if (!now || now->table.rows != old->ranges[i].table.rows) vt_unwind_table_free(&old->ranges[i].table);
    }
    VT_SYS2(munmap, old, bytes_of(old->room));
}

static int is_same(const struct vt_code_map *a, const struct vt_code_map *b)
{
    if (!a || a->count != b->count) return 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->ranges[i].begin != b->ranges[i].begin || a->ranges[i].table.rows != b->ranges[i].table.rows ||
            a->ranges[i].slot != b->ranges[i].slot)
            return 0;
    return 1;
}

static void free_map(struct vt_code_map *map) { VT_SYS2(munmap, map, bytes_of(map->room)); }

/* Makes and publishes a map of the modules that are loaded now. Returns 0 if they do not fit, because others were loaded
   meanwhile. Requires the lock. */
static int renew(int only_known)
{
    struct vt_location *l = atomic_load(&vt_locations[0]);
    struct making m = {.old = atomic_load(&current), .only_known = only_known};
    dl_iterate_phdr(each_module, &m);
    if (m.changes && m.changes == whole_at) return 1; /* code without tables that is in no module */
    uint32_t room = m.count + 4;
    m.map = vt_pages(bytes_of(room));
    if (!m.map) return 1;
    m.map->room = room;
    m.count = 0;
    dl_iterate_phdr(each_module, &m);
    sort(m.map);
    for (uint32_t i = 0; i < m.map->count; i++) {
        struct vt_code_range *range = &m.map->ranges[i];
        int can = l && atomic_load(&vt_process.state) == VT_ON && range->bytes <= VT_CODE_MASK;
        range->slot = can ? vt_code_slot(l, range->begin) : VT_CODE_UNKNOWN;
        m.is_partial |= !can;
    }
    m.map->generation = m.old ? m.old->generation + 1 : 1;
    if (is_same(m.old, m.map)) free_map(m.map);
    else {
        struct vt_code_map *old = atomic_exchange(&current, m.map);
        if (old) release(old, m.map);
    }
    whole_at = m.is_partial || m.count > room ? 0 : m.changes;
    return m.count <= room;
}

/* Requires the lock. */
static void renew_map(int only_known)
{
    while (!renew(only_known)) continue;
}

static void renew_locked(int only_known)
{
    uint64_t mask;
    vt_lock(&making, &mask);
    renew_map(only_known);
    vt_unlock(&making, &mask);
}

/* Takes unloaded modules out of the map. Runs after dlclose. */
static void forget_unloaded_code(void)
{
    int saved = errno;
    if (atomic_load(&current) && !vt_shares_memory()) renew_locked(1);
    errno = saved;
}

/* ---- The thread ---- */

static void *serve(void *unused)
{
    (void)unused;
    vt_suppressed = 1;
    VT_SYS2(prctl, PR_SET_NAME, "vtrace");
    while (atomic_load(&vt_process.state) <= VT_ON) {
        uint32_t seen = atomic_load(&wanted);
        vt_find_python(); /* an interpreter that was loaded later */
        renew_locked(0);
        if (atomic_load(&dismissed)) break;
        VT_SYS4(futex, &wanted, FUTEX_WAIT_PRIVATE, seen, NULL);
    }
    return NULL;
}

/* The main thread has called pthread_exit. libc ends the process when no thread is left, so this thread ends now. */
static void dismiss(void *unused)
{
    (void)unused;
    if (!has_thread) return;
    has_thread = 0;
    atomic_store(&dismissed, 1);
    atomic_fetch_add(&wanted, 1);
    VT_SYS4(futex, &wanted, FUTEX_WAKE_PRIVATE, 1, NULL);
}

void vt_code_map_start(void)
{
    static struct vt_call create = {.name = "pthread_create"};
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    uint64_t mask;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_key_t at_end;
    vt_on_unload(forget_unloaded_code);
    *(void **)&real = vt_call_next(&create);
    if (pthread_attr_init(&attributes)) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    vt_hold_signals(&mask);
    has_thread = !pthread_key_create(&at_end, dismiss) && !pthread_setspecific(at_end, "") &&
                 !real(&thread, &attributes, serve, NULL);
    vt_release_signals(&mask);
    pthread_attr_destroy(&attributes);
    if (!has_thread) renew_locked(0);
}

void vt_code_map_want(uint64_t now)
{
    uint64_t last = atomic_load_explicit(&asked, memory_order_relaxed);
    if (!has_thread || now - last < AGAIN || !atomic_compare_exchange_strong(&asked, &last, now)) return;
    atomic_fetch_add(&wanted, 1);
    VT_SYS4(futex, &wanted, FUTEX_WAKE_PRIVATE, 1, NULL);
}

/* This thread holds the lock over its fork. Other threads may fork at the same time. */
static _Thread_local int holds __attribute__((tls_model("initial-exec")));

/* The child has no thread that makes tables, so it must find them in the map. */
void vt_code_map_before_fork(void)
{
    for (int i = 0; i < FORK_WAIT && !(holds = vt_try_lock(&making)); i++) vt_pause();
    if (holds && !atomic_load(&current)) renew_map(0);
}

void vt_code_map_after_fork(int in_child)
{
    if (in_child) {
        has_thread = 0; /* modules that the child loads have no tables */
        atomic_store(&inside, 0);
    }
    if (holds || in_child) atomic_store(&making, 0);
    holds = 0;
}
