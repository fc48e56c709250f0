/* SPDX-License-Identifier: BSD-3-Clause */
/* The moments at which a thread goes on in a function whose callees never return: after longjmp, and in a landing pad
   after an exception (csrc/hooks/personality.h). The frames of the callees end there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include "../core/thread.h"
#include "sleds.h"

void vt_land(uintptr_t stack_pointer)
{
    struct vt_location *l = vt_own_location;
    int saved = errno;
    if (!l || !l->in_use || l->frame == l->frames || !(l = vt_location_to_record(0))) return;
    if (VT_READ(l->vforked) && vt_is_vfork_child(l)) return;
    vt_busy_begin(l);
    vt_frames_land(l, stack_pointer);
    vt_busy_end(l);
    errno = saved;
}

#if defined(__x86_64__)

/* The stack pointer in a jmp_buf. glibc keeps it encrypted (sysdeps/x86_64/jmpbuf-offsets.h, pointer_guard.h). */
static uintptr_t target_of(const void *buffer)
{
    uintptr_t sp = ((const uintptr_t *)buffer)[6];
#ifdef __GLIBC__
    __asm__("rorq $17, %0\n    xorq %%fs:0x30, %0" : "+r"(sp) : : "cc");
#endif
    return sp;
}

typedef void jump(void *buffer, int value);

#define JUMPS(X) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk)
#define REAL(name) static jump *real_##name;
JUMPS(REAL)

static jump *find(const char *name)
{
    jump *real;
    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real;
}

/* A signal handler that jumps must not call dlsym. */
__attribute__((constructor)) static void find_jumps(void)
{
    int saved = errno;
#define FIND(name) real_##name = find(#name);
    JUMPS(FIND)
    errno = saved;
}

#define JUMP(name)                                                                                                     \
    __attribute__((visibility("default"), noreturn)) void name(void *buffer, int value);                               \
    void name(void *buffer, int value)                                                                                 \
    {                                                                                                                  \
        jump *real = real_##name ? real_##name : find(#name);                                                          \
        vt_land(target_of(buffer));                                                                                    \
        real(buffer, value);                                                                                           \
        __builtin_unreachable();                                                                                       \
    }
JUMPS(JUMP)

#endif
