/* SPDX-License-Identifier: BSD-3-Clause */
/* A vfork child runs in its parent's memory until it execs. What it records would stand in the parent's location, so the
   location has no room until its thread is seen in the parent again. The wrapper must leave the stack as it found it,
   since the child returns through it first: hence assembly, and a jump instead of a call.                            */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>
#include "internal.h"

#define LIMIT 208 /* offsets in struct vt_location, for the assembler */
#define VFORKED 216
#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x
_Static_assert(offsetof(struct vt_location, limit) == LIMIT, "the assembler code below knows this offset");
_Static_assert(offsetof(struct vt_location, vforked) == VFORKED, "the assembler code below knows this offset");

/* The next vfork: libc's or another tool's, and before that is known the bare system call. */
__attribute__((visibility("hidden"))) pid_t vt_bare_vfork(void);
__attribute__((visibility("hidden"))) pid_t (*vt_real_vfork)(void) = vt_bare_vfork;

/* The one of a preloaded shim, which leads back to ours. */
extern const char vt_shim_vfork[] __attribute__((weak));

__attribute__((constructor)) static void find(void)
{
    int saved = errno;
    void *next = dlsym(RTLD_NEXT, "vfork");
    errno = saved;
    if (next && next != (void *)vt_shim_vfork) *(void **)&vt_real_vfork = next;
}

/* clang-format off */
#if defined(__x86_64__)
__asm__(".text\n.globl vfork, vt_vfork\n.type vfork, @function\n.type vt_vfork, @function\nvt_vfork:\nvfork:\n"
        "    movq vt_here@gottpoff(%rip), %rax\n"
        "    movq %fs:(%rax), %rax\n"
        "    testq %rax, %rax\n"
        "    je 1f\n"
        "    movq $1, " TEXT(VFORKED) "(%rax)\n"
        "    movq $0, " TEXT(LIMIT) "(%rax)\n"
        "1:  jmp *vt_real_vfork(%rip)\n"
        ".size vfork, .-vfork\n.size vt_vfork, .-vt_vfork\n"
        ".type vt_bare_vfork, @function\nvt_bare_vfork:\n"
        "    popq %rdi\n"
        "    movl $58, %eax\n"
        "    syscall\n"
        "    pushq %rdi\n"
        "    ret\n"
        ".size vt_bare_vfork, .-vt_bare_vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl vfork, vt_vfork\n.type vfork, %function\n.type vt_vfork, %function\nvt_vfork:\nvfork:\n"
        "    mrs x9, tpidr_el0\n"
        "    adrp x10, :gottprel:vt_here\n"
        "    ldr x10, [x10, #:gottprel_lo12:vt_here]\n"
        "    ldr x9, [x9, x10]\n"
        "    cbz x9, 1f\n"
        "    mov x10, #1\n"
        "    str x10, [x9, #" TEXT(VFORKED) "]\n"
        "    str xzr, [x9, #" TEXT(LIMIT) "]\n"
        "1:  adrp x9, vt_real_vfork\n"
        "    ldr x9, [x9, #:lo12:vt_real_vfork]\n"
        "    br x9\n"
        ".size vfork, .-vfork\n.size vt_vfork, .-vt_vfork\n"
        ".type vt_bare_vfork, %function\nvt_bare_vfork:\n"
        "    mov x8, #220\n" /* clone(CLONE_VM | CLONE_VFORK | SIGCHLD, 0) */
        "    mov x0, #0x4111\n"
        "    mov x1, #0\n"
        "    svc #0\n"
        "    ret\n"
        ".size vt_bare_vfork, .-vt_bare_vfork\n");
#endif

int vt_shares_memory(void)
{
    struct vt_location *l = vt_here;
    return l ? VT_READ(l->vforked) && vt_is_vfork_child(l) : vt_is_other_process();
}

/* Whether this is the child of a vfork: it records nothing. In the parent the location gets its room back. */
int vt_is_vfork_child(struct vt_location *l)
{
    if (vt_is_other_process()) return 1;
    VT_SET(l->vforked, 0);
    return 0;
}
/* clang-format on */
