/* SPDX-License-Identifier: BSD-3-Clause */
/* The code space: each loaded module (executable or library) whose functions record events has a range of offsets in 1
   GiB. A function event stores such an offset, so that no look-up is needed. A module gets its range at its first
   event. vtunify finds the names of the functions.
   Memory order: the number of modules is stored with release, so the entries below a number that was loaded with
   acquire are complete. A thread stores its cache, then loads `generation`; a thread that unloads a module adds to
   `generation`, then empties the caches. All are sequentially consistent, so one of them sees the other's store. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include "recording.h"

#define MAX_MODULES 4096u
#define BUILD_ID 32

struct module {
    uintptr_t start, bias;
    uint32_t size, slot, build_id_bytes;
    _Atomic uint32_t live;
    uint8_t build_id[BUILD_ID];
};

static struct module modules[MAX_MODULES];
static _Atomic uint32_t module_count;
static _Atomic uint32_t adding; /* lock: one thread changes the table; not held during dl_iterate_phdr */
static _Atomic uint32_t next_slot;
static _Atomic uint32_t generation; /* number of unloads; an unload makes the modules cached in a location invalid */

/* Functions whose calls are iterations (VT_KEEP): their events have offsets from the module's first event on. */
#define ITERATIONS 8u
static uintptr_t iterations[ITERATIONS];
static _Atomic uint32_t niterations;

struct search {
    uintptr_t address;
    struct module found;
    const char *path;
};

static void read_notes(struct module *m, const char *notes, size_t bytes)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        const ElfW(Nhdr) *n = (const void *)(notes + at);
        const char *name = (const char *)(n + 1), *value = name + ((n->n_namesz + 3) & ~3u);
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4) && n->n_descsz <= BUILD_ID) {
            memcpy(m->build_id, value, n->n_descsz);
            m->build_id_bytes = n->n_descsz;
        }
        at = (size_t)(value - notes) + ((n->n_descsz + 3) & ~3u);
    }
}

static int look(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct search *s = data;
    struct module *m = &s->found;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (s->address - start >= p->p_memsz || p->p_memsz > VT_CODE_MASK) continue;
        m->start = start;
        m->size = (uint32_t)p->p_memsz;
        m->bias = info->dlpi_addr;
        s->path = info->dlpi_name;
        for (int j = 0; j < info->dlpi_phnum; j++)
            if (info->dlpi_phdr[j].p_type == PT_NOTE)
                read_notes(m, (const char *)(info->dlpi_addr + info->dlpi_phdr[j].p_vaddr), info->dlpi_phdr[j].p_memsz);
        return 1;
    }
    return 0;
}

static int same(const struct module *a, const struct module *b)
{
    return a->start == b->start && a->size == b->size && a->bias == b->bias && a->build_id_bytes == b->build_id_bytes &&
           !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

/* Writes the definition of a module. Requires the lock `adding`. Returns 0 if there is no room for the definition. */
static int define(struct vt_location *l, const struct module *m, const char *path)
{
    static char own[PATH_MAX];
    if (!path || !*path) {
        vt_executable(own, sizeof own);
        path = own;
    } else if (*path != '/' && strchr(path, '/') && VT_SYS2(getcwd, own, sizeof own) > 0) {
        struct vt_text t = {own + strlen(own), own + sizeof own - 1};
        vt_text_add(&t, "/", path);
        path = own;
    }
    return vt_define_at(l, VT_D_MODULE, vt_number(m->slot), vt_number(m->start), vt_number(m->size), vt_number(m->bias),
                        vt_string(path), vt_bytes(m->build_id, m->build_id_bytes), vt_number(vt_now()));
}

/* Returns the live module whose code holds the address; NULL: not in the table. */
static VT_GENERAL_REGISTERS const struct module *known(uintptr_t address)
{
    uint32_t n = atomic_load_explicit(&module_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&modules[i].live) && address - modules[i].start < modules[i].size) return &modules[i];
    return NULL;
}

static void watch(const struct module *m, uintptr_t function)
{
    if (function - m->start < m->size) vt_keep_watch(VT_FUNCTION | (m->slot + (uint32_t)(function - m->start)));
}

void vt_code_iteration(uintptr_t function)
{
    const uint32_t before = atomic_load(&niterations), n = atomic_load(&module_count);
    for (uint32_t i = 0; i < before && i < ITERATIONS; i++)
        if (VT_READ(iterations[i]) == function) return;
    const uint32_t place = atomic_fetch_add(&niterations, 1);
    vt_keep_watch(function | VT_OPEN_ADDRESS); /* code without offsets */
    if (place < ITERATIONS) VT_SET(iterations[place], function);
    for (uint32_t i = 0; i < n; i++) watch(&modules[i], function);
}

/* Requires the lock `adding`, so that one thread at a time appends. Other threads see the module when it is complete
   and defined. */
static const struct module *append(struct vt_location *l, struct search *s)
{
    uint32_t n = atomic_load(&module_count);
    for (uint32_t i = 0; i < n; i++)
        if (same(&modules[i], &s->found)) { /* the module was unloaded, and is loaded again at the same address */
            atomic_store(&modules[i].live, 1);
            return &modules[i];
        }
    uint32_t span = (s->found.size + VT_PAGE - 1) & ~(VT_PAGE - 1), slot = atomic_load(&next_slot);
    if (n == MAX_MODULES || (uint64_t)slot + span > VT_CODE_MASK) return NULL;
    modules[n] = s->found;
    modules[n].slot = slot;
    if (!define(l, &modules[n], s->path)) return NULL;
    atomic_store(&next_slot, slot + span);
    for (uint32_t i = 0; i < atomic_load(&niterations) && i < ITERATIONS; i++)
        watch(&modules[n], VT_READ(iterations[i]));
    atomic_store(&modules[n].live, 1);
    atomic_store_explicit(&module_count, n + 1, memory_order_release);
    return &modules[n];
}

static const struct module *add_found(struct vt_location *l, struct search *s)
{
    uint64_t mask;
    vt_lock(&adding, &mask);
    const struct module *m = known(s->address);
    if (!m) m = append(l, s);
    vt_unlock(&adding, &mask);
    return m;
}

static const struct module *add(struct vt_location *l, uintptr_t address)
{
    struct search s = {.address = address};
    return dl_iterate_phdr(look, &s) ? add_found(l, &s) : NULL;
}

static VT_GENERAL_REGISTERS void empty_cache(struct vt_location *l)
{
    VT_SET(l->code_size[0], 0);
    VT_SET(l->code_size[1], 0);
}

/* Looks in the two modules that the location caches, then in the table; not for a module that the table lacks. */
VT_GENERAL_REGISTERS uint32_t vt_code_known_offset(struct vt_location *l, uintptr_t address)
{
    uint32_t before = atomic_load(&generation);
    uintptr_t base = l->code_base[1];
    uint32_t size = VT_READ(l->code_size[1]), slot = l->code_slot[1];
    int hit = address - base < size;
    if (address - l->code_base[0] < VT_READ(l->code_size[0]))
        return (l->code_slot[0] + (uint32_t)(address - l->code_base[0])) & ~VT_FUNCTION;
    if (!hit) {
        const struct module *m = known(address);
        if (!m) return VT_CODE_UNKNOWN;
        base = m->start;
        size = m->size;
        slot = m->slot | VT_FUNCTION;
    }
    l->code_base[1] = l->code_base[0];
    VT_SET(l->code_size[1], VT_READ(l->code_size[0]));
    l->code_slot[1] = l->code_slot[0];
    l->code_base[0] = base;
    /* sequentially consistent: the store precedes the load of `generation` */
    __atomic_store_n(&l->code_size[0], size, __ATOMIC_SEQ_CST);
    l->code_slot[0] = slot;
    if (before != atomic_load(&generation)) empty_cache(l);
    return (slot + (uint32_t)(address - base)) & ~VT_FUNCTION;
}

/* As vt_code_known_offset, and then asks the loader. */
uint32_t vt_code_offset(struct vt_location *l, uintptr_t address)
{
    uint32_t offset = vt_code_known_offset(l, address);
    if (offset != VT_CODE_UNKNOWN) return offset;
    return add(l, address) ? vt_code_known_offset(l, address) : VT_CODE_UNKNOWN;
}

uintptr_t vt_code_address(uint32_t what)
{
    uint32_t n = atomic_load_explicit(&module_count, memory_order_acquire), offset = what & VT_CODE_MASK;
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&modules[i].live) && offset - modules[i].slot < modules[i].size)
            return modules[i].start + (offset - modules[i].slot);
    return 0;
}

uint32_t vt_code_slot(struct vt_location *l, uintptr_t start)
{
    const struct module *m = known(start);
    if (!m) m = add(l, start);
    return m ? m->slot + (uint32_t)(start - m->start) : VT_CODE_UNKNOWN;
}

uint32_t vt_code_slot_in(struct vt_location *l, uintptr_t start, const struct dl_phdr_info *info)
{
    struct search s = {.address = start};
    const struct module *m = known(start);
    if (!m && look((struct dl_phdr_info *)(uintptr_t)info, sizeof *info, &s)) m = add_found(l, &s);
    return m ? m->slot + (uint32_t)(start - m->start) : VT_CODE_UNKNOWN;
}

static int (*find_object)(void *, struct vt_found_object *);

__attribute__((constructor)) static void find_finder(void)
{
    *(void **)&find_object = VT_OWN_WORK(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

int vt_module_of(uintptr_t address, struct dl_phdr_info *info)
{
    struct vt_found_object found;
    if (!find_object || find_object((void *)address, &found)) return 0;
    const ElfW(Ehdr) *head = found.begin;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return 0;
    if (head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) > VT_PAGE) return 0;
    *info = (struct dl_phdr_info){.dlpi_addr = found.map->l_addr,
                                  .dlpi_name = found.map->l_name,
                                  .dlpi_phdr = (const void *)((const char *)head + head->e_phoff),
                                  .dlpi_phnum = head->e_phnum};
    return 1;
}

struct loaded {
    uint32_t count;
    uint8_t bits[MAX_MODULES / 8];
};

static int mark_loaded(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct loaded *loaded = data;
    (void)bytes;
    for (uint32_t m = 0; m < loaded->count; m++)
        if (modules[m].bias == info->dlpi_addr)
            for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == modules[m].start) loaded->bits[m / 8] |= 1 << m % 8;
    return 0;
}

static void (*_Atomic on_unload)(void);

void vt_on_unload(void (*call)(void)) { atomic_store(&on_unload, call); }

/* The loader may map another library where an unloaded library was; the other library must get a new range. A library
   that is loaded again before this function clears its `live` becomes live again at its next look-up. */
void vt_code_forget_unloaded(void)
{
    struct loaded loaded = {.count = atomic_load_explicit(&module_count, memory_order_acquire)};
    uint32_t gone = 0;
    uint64_t mask;
    if (!loaded.count) return;
    dl_iterate_phdr(mark_loaded, &loaded);
    vt_lock(&adding, &mask);
    for (uint32_t m = 0; m < loaded.count; m++)
        if (!(loaded.bits[m / 8] & 1 << m % 8) && atomic_exchange(&modules[m].live, 0)) gone++;
    vt_unlock(&adding, &mask);
    if (!gone) return;
    atomic_fetch_add(&generation, 1);
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (l) empty_cache(l);
    }
    void (*call)(void) = atomic_load(&on_unload);
    if (call) call();
}
