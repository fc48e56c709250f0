/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the frames of callees that never return: a thread continues in their caller after longjmp, and in a landing pad
   after an exception (csrc/hooks/personality.h). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <ucontext.h>
#include "funwrap.h"

#if VT_HAS_SLEDS

/* Index of the stack pointer in a jmp_buf (glibc: sysdeps/x86_64/jmpbuf-offsets.h, sysdeps/aarch64/jmpbuf-offsets.h). */
#if defined(__x86_64__)
#define STACK_POINTER 6
#else
#define STACK_POINTER 13
#endif

#if defined(__x86_64__) && defined(__GLIBC__)
/* Decrypts an address in a jmp_buf of glibc (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). */
static uintptr_t decrypt(uintptr_t word)
{
    __asm__("rorq $17, %0\n    xorq %%fs:0x30, %0" : "+r"(word) : : "cc");
    return word;
}
#else
static uintptr_t guard; /* the key with which the C library encrypts, by XOR */

int _setjmp(void *buffer) __attribute__((returns_twice)); /* <setjmp.h> declares longjmp for a struct */

/* Finds the guard from a jmp_buf with a known stack pointer. */
__attribute__((constructor, noinline)) static void find_guard(void)
{
    uintptr_t buffer[64];
    if (!_setjmp(buffer)) guard = buffer[STACK_POINTER] ^ vt_stack_pointer();
}

static uintptr_t decrypt(uintptr_t word) { return word ^ guard; }
#endif

/* Returns the stack pointer in a jmp_buf. */
static uintptr_t target_of(const void *buffer) { return decrypt(((const uintptr_t *)buffer)[STACK_POINTER]); }

typedef void jump(void *buffer, int value);

#define JUMPS(X) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk)
#define REAL(name) static jump *real_##name;
JUMPS(REAL)

static jump *find(const char *name)
{
    jump *real;
    *(void **)&real = VT_OWN_WORK(dlsym(RTLD_NEXT, name));
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

/* A context may be that of a coroutine: it is a jump only if it stays on the thread's own stack. */
static int (*real_setcontext)(const ucontext_t *);

__attribute__((constructor)) static void find_setcontext(void)
{
    int saved = errno;
    *(void **)&real_setcontext = VT_OWN_WORK(dlsym(RTLD_NEXT, "setcontext"));
    errno = saved;
}

__attribute__((visibility("default"))) int setcontext(const ucontext_t *context)
{
#if defined(__x86_64__)
    vt_land_on_own((uintptr_t)context->uc_mcontext.gregs[REG_RSP]);
#else
    vt_land_on_own(context->uc_mcontext.sp);
#endif
    return real_setcontext(context);
}

#endif
