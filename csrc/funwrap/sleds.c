/* SPDX-License-Identifier: BSD-3-Clause */
/* The modules with sleds.
   Memory order: the hooks of a module are stored with release; the jump at a sled needs the address that was loaded,
   so the load comes first. */
#define _GNU_SOURCE
#include <link.h>
#include "funwrap.h"

#define MOST VT_SLED_MODULES

static struct {
    _Atomic uintptr_t code; /* an address in the module's code; 0: free */
    struct vt_sleds *_Atomic sleds;
} modules[MOST];

static _Atomic uint32_t known; /* entries that are or were in use */
static _Atomic uint32_t changing; /* lock: one thread changes the table */

#if VT_HAS_SLEDS

int vt_sleds_keep(struct vt_sleds *sleds, uintptr_t code)
{
    uint32_t i = 0;
    uint64_t mask;
    /* locks need the pid; the constructor that stores it may run later */
    if (!vt_process.pid) vt_process.pid = (uint32_t)VT_SYS0(getpid);
    vt_lock(&changing, &mask);
    while (i < MOST && atomic_load(&modules[i].code) && atomic_load(&modules[i].code) != code) i++;
    if (i < MOST) {
        atomic_store(&modules[i].sleds, sleds);
        atomic_store(&modules[i].code, code);
        if (i >= atomic_load(&known)) atomic_store(&known, i + 1);
    }
    vt_unlock(&changing, &mask);
    return i < MOST;
}

void vt_sleds_found(struct vt_sleds *sleds)
{
    if (sleds->size < sizeof *sleds) return;
    sleds->ask_enter = vt_sled_ask_enter;
    sleds->ask_leave = vt_sled_ask_leave;
    if (!vt_filter_map_prepared) return; /* no constructor has run yet */
    if (!sleds->attached && !vt_xray_make_calls(sleds))
        vt_warn(
            "this system does not let programs change their own code: functions compiled by clang are not recorded");
    int rules = vt_function_rules & VT_RULES_FILTER, kept = vt_sleds_keep(sleds, (uintptr_t)sleds->on_enter);
    if (!rules || !kept || !vt_filter_map_read((uintptr_t)sleds->on_enter)) vt_sleds_use(sleds, rules);
    sleds->attached = 1;
}

void vt_sleds_use(struct vt_sleds *sleds, int asks)
{
    asks |= vt_function_rules & VT_RULES_DEPTH;
    __atomic_store_n(&sleds->enter, asks ? vt_sled_check_enter : vt_sled_enter, __ATOMIC_RELEASE);
    __atomic_store_n(&sleds->leave, vt_sled_leave, __ATOMIC_RELEASE);
}

#if defined(__aarch64__)
void vt_sleds_attach(struct vt_sleds *sleds) { vt_sleds_found(sleds); }
#endif

#else

void vt_sleds_attach(void) {}

int vt_sleds_keep(struct vt_sleds *sleds, uintptr_t code)
{
    (void)sleds, (void)code;
    return 0;
}

void vt_sleds_use(struct vt_sleds *sleds, int asks)
{
    (void)sleds;
    (void)asks;
}

#endif

struct vt_sleds *vt_sleds_in(uintptr_t start, uintptr_t bytes)
{
    for (uint32_t i = 0; i < atomic_load(&known); i++)
        if (atomic_load(&modules[i].code) - start < bytes) return atomic_load(&modules[i].sleds);
    return NULL;
}

uintptr_t vt_sleds_code(uint32_t i) { return atomic_load(&modules[i].code); }

static int look(struct dl_phdr_info *info, size_t bytes, void *data)
{
    uint8_t *loaded = data;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        for (uint32_t m = 0; p->p_type == PT_LOAD && m < atomic_load(&known); m++)
            if (atomic_load(&modules[m].code) - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) loaded[m] = 1;
    }
    return 0;
}

/* Another module may be mapped where an unloaded module was. The new module has its own structure, which is not
   attached yet. */
void vt_sleds_forget_unloaded(void)
{
    uint8_t loaded[MOST] = {0};
    uint64_t mask;
    if (!atomic_load(&known)) return;
    vt_lock(&changing, &mask); /* before looking: another thread may load a module there meanwhile */
    dl_iterate_phdr(look, loaded);
    for (uint32_t m = 0; m < MOST; m++)
        if (!loaded[m]) atomic_store(&modules[m].code, 0);
    vt_unlock(&changing, &mask);
}
