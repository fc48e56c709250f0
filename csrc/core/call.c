/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include "call.h"

/* For a function that this libc lacks. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Of functions with several versions the newest, which is what dlsym finds. */
void *vt_call_find(struct vt_call *c)
{
    int saved = errno;
    void *next = dlsym(RTLD_NEXT, c->name);
    if (!next) *(long (**)(void))&next = missing;
    errno = saved;
    atomic_store(&c->next, next);
    return next;
}

/* Of two threads that come at once both define the region; vtunify joins equal ones. */
uint32_t vt_call_define(struct vt_call *c)
{
    uint32_t none = 0, *counted = NULL;
    enum vt_take take = vt_take_call(c->name, c->paradigm == VT_PARADIGM_PTHREAD ? "Pthreads" : "LIBC-EXEC", &counted);
    if (take == VT_CALL_HIDDEN || (counted && *counted)) return counted ? *counted : 0;
    uint32_t region = vt_define_region(c->name, c->paradigm, c->role, NULL, 0);
    if (counted) return *counted = region;
    if (!region) return 0;
    return atomic_compare_exchange_strong(&c->region, &none, region) ? region : none;
}

uint32_t vt_attribute_id(_Atomic uint32_t *known, const char *name, const char *description, uint8_t type)
{
    uint8_t bytes[192];
    uint32_t id = atomic_load(known);
    if (id) return id;
    id = (uint32_t)vt_new_id(VT_ID_ATTRIBUTE);
    struct vt_mp m = vt_mp_into(bytes, sizeof bytes);
    vt_mp_array(&m, 5);
    vt_mp_uint(&m, VT_D_ATTRIBUTE);
    vt_mp_uint(&m, id);
    vt_mp_str(&m, name);
    vt_mp_str(&m, description);
    vt_mp_uint(&m, type);
    if (!id || m.full || !vt_define(bytes, (size_t)(m.at - bytes))) return 0;
    atomic_store(known, id);
    return id;
}

uint32_t vt_define_text(const char *text)
{
    struct vt_location *l = vt_location_of_thread(0);
    uint32_t id = l ? (uint32_t)vt_new_id(VT_ID_TEXT) : 0;
    if (!id) return 0;
    size_t n = strnlen(text, PATH_MAX);
    struct vt_mp m = vt_define_begin(l, n + 32);
    vt_mp_array(&m, 3);
    vt_mp_uint(&m, VT_D_TEXT);
    vt_mp_uint(&m, id);
    vt_mp_strn(&m, text, n);
    return vt_define_end(l, &m) ? id : 0;
}
