/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaves of functions without sleds at their returns. The enter hook replaces the return address of such a function
   by vt_sled_return, which records the leave and continues at the true address. The true address of the slot at stack
   address A lies at vt_return_blocks[A / 4 GiB] + A % 4 GiB, so that no stack of calls has to be searched and unwinders
   find it without vtrace: by the rule for the return address that the frame description of vt_sled_return has.
   Exceptions, pthread_exit, backtrace and debuggers pass through these functions as usual. A tail call finds the slot
   replaced. */
#include "funwrap.h"

#if defined(__x86_64__)

#include <string.h>
#include <sys/mman.h>

#define BLOCK_BITS 32
#define BLOCK ((uintptr_t)1 << BLOCK_BITS)
#define BLOCKS (1u << (47 - BLOCK_BITS)) /* Linux gives programs 47 bits of addresses */

__attribute__((used, visibility("hidden"))) uint8_t *_Atomic vt_return_blocks[BLOCKS];
void vt_sled_return(void) __attribute__((visibility("hidden")));

/* clang-format off */
__asm__(".section .text.vt_sleds,\"ax\",@progbits\n"
    ".p2align 6\n"
    /* The frame description reads this word, which lies 5 bytes before vt_sled_return. */
    "    .long vt_return_blocks - vt_sled_return\n"
    ".globl vt_sled_return\n.hidden vt_sled_return\n.type vt_sled_return, @function\n"
    "    .cfi_startproc\n"
    /* DW_CFA_def_cfa_expression: breg7 -1. Unwinders know a frame by its CFA, so it must differ from the callee's, which
       is the slot's address + 8. DW_CFA_val_expression, register 7 (the stack pointer): CFA + 1. */
    "    .cfi_escape 0x0f, 2, 0x77, 0x7f\n"
    "    .cfi_escape 0x16, 0x07, 2, 0x31, 0x22\n"
    /* DW_CFA_expression, register 16 (the return address), 25 bytes: from the CFA, lit7 minus, dup const1u 32 shr lit3 shl, breg16 -5 deref_size 4 plus, breg16 0 plus, deref,
       swap const4u 0xffffffff and plus. In this frame register 16 holds the address of vt_sled_return. */
    "    .cfi_escape 0x10, 0x10, 25, 0x37, 0x1c, 0x12, 0x08, 0x20, 0x25, 0x33, 0x24, 0x80, 0x7b, 0x94, 0x04, 0x22, 0x80, 0x00, "
    "0x22, 0x06, 0x16, 0x0c, 0xff, 0xff, 0xff, 0xff, 0x1a, 0x22\n"
    "    nop\n" /* unwinders look for the instruction before the return address */
    "vt_sled_return:\n"
    "    pushq %rax\n" /* the slot */
    "    .cfi_def_cfa rsp, 8\n    .cfi_restore 7\n    .cfi_same_value 16\n"
    "    pushq %rax\n    pushq %rcx\n    pushq %rdx\n"
    "    leaq 24(%rsp), %rax\n"
    "    movq %rax, %rcx\n"
    "    shrq $32, %rcx\n"
    "    leaq vt_return_blocks(%rip), %rdx\n"
    "    movq (%rdx,%rcx,8), %rcx\n"
    "    movl %eax, %eax\n"
    "    movq (%rcx,%rax), %rcx\n"
    "    movq %rcx, 24(%rsp)\n"
    "    popq %rdx\n    popq %rcx\n    popq %rax\n"
    "    .cfi_offset 16, -8\n"
    "    call vt_sled_leave\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size vt_sled_return, .-vt_sled_return\n"

    ".p2align 6\n.globl vt_sled_take_return\n.hidden vt_sled_take_return\n.type vt_sled_take_return, @function\n"
    "vt_sled_take_return:\n"
    "    .cfi_startproc\n"
    "    .cfi_def_cfa_offset 16\n"
    "    pushq %rax\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rcx\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rdx\n    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rsi\n    .cfi_adjust_cfa_offset 8\n"
    "    leaq 48(%rsp), %rax\n" /* the slot: above are four registers, the hook and the hook's return address */
    "    leaq vt_sled_return(%rip), %rdx\n"
    "    cmpq %rdx, (%rax)\n"
    "    je 1f\n" /* a tail call */
    "    movq %rax, %rcx\n"
    "    shrq $32, %rcx\n"
    "    leaq vt_return_blocks(%rip), %rsi\n"
    "    movq (%rsi,%rcx,8), %rsi\n"
    "    testq %rsi, %rsi\n"
    "    je 2f\n"
    "    movl %eax, %ecx\n"
    "    addq %rcx, %rsi\n"
    "    movq (%rax), %rcx\n"
    "    movq %rcx, (%rsi)\n"
    "    movq %rdx, (%rax)\n"
    "1:  .cfi_remember_state\n"
    "    popq %rsi\n    .cfi_adjust_cfa_offset -8\n"
    "    popq %rdx\n    .cfi_adjust_cfa_offset -8\n"
    "    popq %rcx\n    .cfi_adjust_cfa_offset -8\n"
    "    popq %rax\n    .cfi_adjust_cfa_offset -8\n"
    "    ret\n" /* to the hook */
    "    .cfi_restore_state\n"
    "2:  popq %rsi\n    .cfi_adjust_cfa_offset -8\n"
    "    popq %rdx\n    .cfi_adjust_cfa_offset -8\n"
    "    popq %rcx\n    .cfi_adjust_cfa_offset -8\n"
    "    popq %rax\n    .cfi_adjust_cfa_offset -8\n"
    "    jmp vt_sled_first_return\n"
    "    .cfi_endproc\n"
    ".size vt_sled_take_return, .-vt_sled_take_return\n"
    ".text\n");
/* clang-format on */

/* Replaces the first return address in a block of addresses. Without memory the function keeps its return address; its
   leave is recorded with the thread's next event. */
__attribute__((used, visibility("hidden"))) void vt_sled_first_taken(uintptr_t *slot)
{
    uint8_t *_Atomic *block = &vt_return_blocks[(uintptr_t)slot >> BLOCK_BITS];
    uint8_t *none = NULL;
    if ((uintptr_t)slot >> 47) return;
    if (!atomic_load(block)) {
        long p = VT_SYS6(mmap, 0, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p < 0 && p > -4096) return;
        if (!atomic_compare_exchange_strong(block, &none, (uint8_t *)p)) VT_SYS2(munmap, p, BLOCK);
    }
    memcpy(atomic_load(block) + ((uintptr_t)slot & (BLOCK - 1)), slot, sizeof *slot);
    *slot = (uintptr_t)vt_sled_return;
}

#endif
