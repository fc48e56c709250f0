/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "system.h"

/* Replaces a function that this libc lacks. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* If a function has several versions, dlsym returns the newest. */
void *vt_call_find(struct vt_call *c)
{
    void *next = VT_OWN_WORK(dlsym(RTLD_NEXT, c->name));
    if (!next) *(long (**)(void))&next = missing;
    atomic_store(&c->next, next);
    return next;
}
