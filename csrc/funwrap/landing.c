/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends the frames of callees that never return: a thread continues in their caller after longjmp, and in a landing pad
   after an exception (csrc/hooks/personality.h). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>
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
#define JUMP(function)                                                                                                 \
    static struct vt_call call_##function = {.name = #function};                                                       \
    __attribute__((visibility("default"), noreturn)) void function(void *buffer, int value);                           \
    void function(void *buffer, int value)                                                                             \
    {                                                                                                                  \
        jump *real;                                                                                                    \
        *(void **)&real = vt_call_next(&call_##function);                                                              \
        vt_land(target_of(buffer));                                                                                    \
        real(buffer, value);                                                                                           \
        __builtin_unreachable();                                                                                       \
    }
JUMPS(JUMP)

static struct vt_call call_setcontext = {.name = "setcontext"};

/* A signal handler that jumps must not call dlsym. */
__attribute__((constructor)) static void find_jumps(void)
{
#define FIND(name) vt_call_find(&call_##name);
    JUMPS(FIND)
    FIND(setcontext)
}

/* A context may be that of a coroutine: it is a jump only if it stays on the thread's own stack. */
__attribute__((visibility("default"))) int setcontext(const ucontext_t *context)
{
#if defined(__x86_64__)
    vt_land_on_own((uintptr_t)context->uc_mcontext.gregs[REG_RSP]);
#else
    vt_land_on_own(context->uc_mcontext.sp);
#endif
    __typeof__(setcontext) *real = vt_call_next(&call_setcontext);
    return real(context);
}

#endif

/* ---- Exceptions in programs that vtrace-cc has not linked (csrc/hooks/personality.h) ---- */

/* The loader has stored the address of the personality routine in the module; the routine here takes its place. */

typedef _Unwind_Reason_Code personality(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception *,
                                        struct _Unwind_Context *);

static _Unwind_Word (*cfa_of)(struct _Unwind_Context *); /* in libgcc_s, which libvtrace.so.1 does not need */

#define NAMES(X) X(__gxx_personality_v0) X(__gcc_personality_v0)

#define ROUTINE(name)                                                                                                  \
    static personality *real_##name;                                                                                   \
    static _Unwind_Reason_Code own_##name(int version, _Unwind_Action actions, _Unwind_Exception_Class class,          \
                                          struct _Unwind_Exception *exception, struct _Unwind_Context *context)        \
    {                                                                                                                  \
        _Unwind_Reason_Code result = real_##name(version, actions, class, exception, context);                         \
        if (result == _URC_INSTALL_CONTEXT) vt_land(cfa_of(context));                                                  \
        return result;                                                                                                 \
    }
NAMES(ROUTINE)

/* Stores `own` where the loader has stored the address of the symbol. *real: the address found so far. */
static void replace(const struct vt_elf *e, uintptr_t bias, const char *symbol, personality *own, personality **real)
{
    uintptr_t slot = vt_elf_slot(e, symbol);
    personality *found;
    *(void **)&found = dlsym(RTLD_NEXT, symbol); /* not the jump to the routine that a program without PIE has */
    if (!slot || !found || (*real && *real != found)) return;
    /* the linker may have let the loader protect the page after it had stored the address */
    uintptr_t page = vt_process.page_size ? vt_process.page_size : VT_PAGE, at = (bias + slot) & ~(page - 1);
    if (VT_SYS3(mprotect, at, page, PROT_READ | PROT_WRITE) < 0) return;
    *real = found;
    *(personality **)(bias + slot) = own;
}

void vt_foreign_personality(const struct vt_elf *e, uintptr_t bias)
{
    *(void **)&cfa_of = dlsym(RTLD_DEFAULT, "_Unwind_GetCFA");
    if (!cfa_of) return;
#define REPLACE(name) replace(e, bias, #name, own_##name, &real_##name);
    NAMES(REPLACE)
}
