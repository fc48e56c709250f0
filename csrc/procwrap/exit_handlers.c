/* SPDX-License-Identifier: BSD-3-Clause */
/* Exit handlers that constructors register before the constructors of this library run. vtrace registers its own handler
   first: libc calls the first one last. Handlers of atexit belong to a library, whose destructor calls them at the
   latest. */
#define _GNU_SOURCE
#include <stdlib.h>
#include "procwrap.h"

int __cxa_at_quick_exit(void (*handler)(void *), void *library);

VT_CALL_EXPORT int on_exit(void (*handler)(int, void *), void *argument)
{
    static struct vt_call call = VT_CALL_OF(on_exit);
    vt_end_register();
    __typeof__(on_exit) *real = vt_call_next(&call);
    return real(handler, argument);
}

/* at_quick_exit */
VT_CALL_EXPORT int __cxa_at_quick_exit(void (*handler)(void *), void *library)
{
    static struct vt_call call = VT_CALL_OF(__cxa_at_quick_exit);
    vt_end_register();
    __typeof__(__cxa_at_quick_exit) *real = vt_call_next(&call);
    return real(handler, library);
}
