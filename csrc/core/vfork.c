/* SPDX-License-Identifier: BSD-3-Clause */
/* The child of a vfork runs in its parent's memory until it calls exec. Its records would go into the parent's
   location. The location therefore has no room until its thread runs in the parent again. The wrapper must leave the
   stack unchanged, since the child returns through it first. The wrapper is therefore written in assembly, and jumps to
   the next vfork. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>
#include "process.h"

/* The next vfork: that of libc or of another tool; the bare system call before it is found. */
__attribute__((visibility("hidden"))) pid_t vt_bare_vfork(void);
__attribute__((visibility("hidden"))) pid_t (*vt_real_vfork)(void) = vt_bare_vfork;

/* The vfork of a preloaded shim, which jumps to the vfork of this file. */
extern const char vt_shim_vfork[] __attribute__((weak));

static int is_libc = 1; /* no other tool wraps vfork */

__attribute__((constructor)) static void find(void)
{
    int saved = errno;
    Dl_info in;
    void *next = VT_OWN_WORK(dlsym(RTLD_NEXT, "vfork"));
    if (next && next != (void *)vt_shim_vfork)
        is_libc = dladdr(next, &in) && in.dli_fname && strstr(in.dli_fname, "/libc.") != NULL;
    errno = saved;
    if (next && next != (void *)vt_shim_vfork) *(void **)&vt_real_vfork = next;
}

static struct {
    void (*begins)(void);
    int (*ends)(long result);
} recorded;

void vt_vfork_record(void (*begins)(void), int (*ends)(long result))
{
    recorded.begins = begins;
    recorded.ends = ends;
}

/* clang-format off */
#if defined(__x86_64__)
__asm__(".text\n.globl vfork, vt_vfork\n.type vfork, @function\n.type vt_vfork, @function\nvt_vfork:\nvfork:\n"
        "    subq $8, %rsp\n"
        "    call vt_vfork_prepare\n"
        "    addq $8, %rsp\n"
        "    testl %eax, %eax\n"
        "    jne 1f\n"
        "    jmp *vt_real_vfork(%rip)\n"
        "1:  popq %rdi\n"
        "    movl $58, %eax\n"
        "    syscall\n"
        "    pushq %rdi\n"
        "    testl %eax, %eax\n"
        "    je 2f\n"
        "    movq %rax, %rdi\n"
        "    subq $8, %rsp\n"
        "    call vt_vfork_done\n"
        "    addq $8, %rsp\n"
        "2:  ret\n"
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
        "    stp x29, x30, [sp, #-16]!\n"
        "    bl vt_vfork_prepare\n"
        "    ldp x29, x30, [sp], #16\n"
        "    cbnz w0, 1f\n"
        "    adrp x9, vt_real_vfork\n"
        "    ldr x9, [x9, #:lo12:vt_real_vfork]\n"
        "    br x9\n"
        "1:  mov x8, #220\n" /* clone(CLONE_VM | CLONE_VFORK | SIGCHLD, 0) */
        "    mov x0, #0x4111\n"
        "    mov x1, #0\n"
        "    svc #0\n"
        "    cbz x0, 2f\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    bl vt_vfork_done\n"
        "    ldp x29, x30, [sp], #16\n"
        "2:  ret\n"
        ".size vfork, .-vfork\n.size vt_vfork, .-vt_vfork\n"
        ".type vt_bare_vfork, %function\nvt_bare_vfork:\n"
        "    mov x8, #220\n"
        "    mov x0, #0x4111\n"
        "    mov x1, #0\n"
        "    svc #0\n"
        "    ret\n"
        ".size vt_bare_vfork, .-vt_bare_vfork\n");
#endif
/* clang-format on */

/* Returns 1 if the wrapper makes the system call itself, and then calls vt_vfork_done in the parent. Returns 0 if the
   wrapper jumps to the vfork of another tool. */
__attribute__((used, visibility("hidden"))) int vt_vfork_prepare(void)
{
    if (is_libc && recorded.begins) recorded.begins();
    struct vt_location *l = vt_own_location;
    if (l) {
        VT_SET(l->vforked, 1);
        VT_SET(l->limit, NULL);
    }
    return is_libc;
}

__attribute__((used, visibility("hidden"))) int vt_vfork_done(long result)
{
    if (recorded.ends) return recorded.ends(result);
    if (result >= 0) return (int)result;
    errno = (int)-result;
    return -1;
}
