/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of sleds, for x86-64. A function's arguments or results may be in any register when the function calls a
   hook, so the hooks are written in assembly. They save the few registers that they use. All cases but the plain one go
   to vt_sled_ask_enter and vt_sled_ask_leave, which save all registers, align the stack, and call C. */
#include "funwrap.h"

#if defined(__x86_64__)

#include <cpuid.h>

/* Offsets from the write cursor of a location, to which vt_cursor points. */
#define BUSY "0"
#define CURSOR "8"
#define LIMIT "16"
#define LAST "24"
#define FRAME "32"
#define FRAMES_END "40"
#define BASE_1 "56"
#define BASE_2 "64"
#define SIZE_1 "72"
#define SIZE_2 "80"
#define SLOT_1 "88"
#define SLOT_2 "92"
#define HEAD "72" /* in a chunk */

#define FROM_CURSOR(member) (offsetof(struct vt_location, member) - offsetof(struct vt_location, write_cursor))
_Static_assert(FROM_CURSOR(busy) == 0 && FROM_CURSOR(cursor) == 8 && FROM_CURSOR(limit) == 16 &&
                   FROM_CURSOR(last) == 24 && FROM_CURSOR(frame) == 32 && FROM_CURSOR(frames_end) == 40 &&
                   FROM_CURSOR(code_base) == 56 && FROM_CURSOR(code_size) == 72 && FROM_CURSOR(code_slot) == 88,
               "the offsets that the hooks use");
_Static_assert(offsetof(struct vt_chunk, head) == 72 && VT_CHUNK_SIZE == 65536, "the chunk that the hooks use");
_Static_assert(sizeof(struct vt_frame) == 16 && offsetof(struct vt_frame, what) == 8, "the frame that the hooks use");
_Static_assert(VT_FUNCTION == 0x80000000u && VT_FUNCTION_LEAVE == 0x40000000u, "the words that the hooks write");

/* clang-format off */
#define FUNCTION(name)                                                                                                 \
    ".p2align 6\n.globl " name "\n.hidden " name "\n.type " name ", @function\n" name ":\n"                            \
    "    .cfi_startproc\n"
#define END(name) "    .cfi_endproc\n.size " name ", .-" name "\n"
#define PUSH(register) "    pushq %" register "\n    .cfi_adjust_cfa_offset 8\n"
#define POP(register) "    popq %" register "\n    .cfi_adjust_cfa_offset -8\n"
#define SAVE PUSH("rax") PUSH("rcx") PUSH("rdx") PUSH("rsi") PUSH("rdi")
#define RESTORE POP("rdi") POP("rsi") POP("rdx") POP("rcx") POP("rax")
/* Loads the write cursor into r11 and the frame into rcx; sets busy. Needs room for a record, else jumps to 7.
   r11 needs no saving: no argument or result is in it (System V ABI for x86-64, 3.2.1), not even with preserve_most. */
#define BEGIN(ask)                                                                                                     \
    "    movq vt_cursor@gottpoff(%rip), %r11\n"                                                                        \
    "    movq %fs:(%r11), %r11\n"                                                                                      \
    "    testq %r11, %r11\n"                                                                                           \
    "    je " ask "\n"                                                                                                 \
    "    cmpq $0, " BUSY "(%r11)\n"                                                                                    \
    "    jne " ask "\n"                                                                                                \
    "    movq %rsp, " BUSY "(%r11)\n"                                                                                  \
    PUSH("rax") PUSH("rdx") PUSH("rcx")                                                                                \
    "    movq " FRAME "(%r11), %rcx\n"                                                                                 \
    "    movq " CURSOR "(%r11), %rax\n"                                                                                \
    "    cmpq " LIMIT "(%r11), %rax\n" /* last: in a child just forked the limit is 0 */                               \
    "    jae 7f\n"                                                                                                     \
    "    leaq 32(%rsp), %rax\n" /* the address of the function's return address */
#define RETURN_ADDRESS "24(%rsp)" /* of the hook: an address in the function */
/* Notes the time, and computes the ticks since the last record in the upper half of rax. A long time takes the slow
   path. */
#define CLOCK                                                                                                          \
    "    rdtsc\n"                                                                                                      \
    "    shlq $32, %rdx\n"                                                                                             \
    "    orq %rax, %rdx\n"                                                                                             \
    "    movq %rdx, %rax\n"                                                                                            \
    "    subq " LAST "(%r11), %rax\n"                                                                                  \
    "    testq $(-1 << " VT_TEXT_NUMBER(VT_LONG_TICKS) "), %rax\n"                                                     \
    "    jne 7f\n"                                                                                                     \
    "    shlq $32, %rax\n"                                                                                             \
    "    movq %rdx, " LAST "(%r11)\n"
/* Writes and publishes the record in rax, and clears busy. In a child that a signal handler has just forked the location
   is empty. */
#define WRITE                                                                                                          \
    "    movq " CURSOR "(%r11), %rdx\n"                                                                                \
    "    testq %rdx, %rdx\n"                                                                                           \
    "    je 7f\n"                                                                                                      \
    "    movq %rcx, " FRAME "(%r11)\n"                                                                                 \
    "    movq %rax, (%rdx)\n"                                                                                          \
    "    movq %rdx, %rax\n"                                                                                            \
    "    addq $8, %rdx\n"                                                                                              \
    "    andq $-65536, %rax\n"                                                                                         \
    "    movq %rdx, " CURSOR "(%r11)\n"                                                                                \
    "    movw %dx, " HEAD "(%rax)\n"                                                                                   \
    "    movq $0, " BUSY "(%r11)\n"
#define FEW POP("rcx") POP("rdx") POP("rax")
/* Returns, or jumps to the hook that handles all cases. */
#define ELSE(ask)                                                                                                      \
    "    .cfi_remember_state\n"                                                                                        \
    FEW                                                                                                                \
    "    ret\n"                                                                                                        \
    "    .cfi_restore_state\n"                                                                                         \
    "7:  movq $0, " BUSY "(%r11)\n"                                                                                    \
    FEW                                                                                                                \
    "    jmp " ask "\n"

__asm__(".section .text.vt_sleds,\"ax\",@progbits\n"
    FUNCTION("vt_sled_enter")
    BEGIN("vt_sled_ask_enter")
    "    cmpq " FRAMES_END "(%r11), %rcx\n"
    "    jae 7f\n"
    "    cmpq %rax, (%rcx)\n"
    "    jbe 7f\n" /* a dead frame */
    "    movq %rax, 16(%rcx)\n"
    "    movq " RETURN_ADDRESS ", %rdx\n"
    "    subq " BASE_1 "(%r11), %rdx\n"
    "    cmpq " SIZE_1 "(%r11), %rdx\n"
    "    jae 2f\n"
    "    addl " SLOT_1 "(%r11), %edx\n"
    "1:  movq %rdx, 24(%rcx)\n"
    CLOCK
    "    orq 24(%rcx), %rax\n"
    "    addq $16, %rcx\n"
    WRITE
    ELSE("vt_sled_ask_enter")
    "    .cfi_adjust_cfa_offset 24\n"
    "2:  movq " RETURN_ADDRESS ", %rdx\n"
    "    subq " BASE_2 "(%r11), %rdx\n"
    "    cmpq " SIZE_2 "(%r11), %rdx\n"
    "    jae 7b\n"
    "    addl " SLOT_2 "(%r11), %edx\n"
    "    jmp 1b\n"
    END("vt_sled_enter")

    FUNCTION("vt_sled_leave")
    BEGIN("vt_sled_ask_leave")
    "    cmpq %rax, (%rcx)\n"
    "    jne 2f\n"
    "    cmpl $0, 12(%rcx)\n" /* not a plain record */
    "    jne 7f\n"
    CLOCK
    "    movl 8(%rcx), %edx\n"
    "    subq $16, %rcx\n"
    "    leaq 0x40000000(%rax,%rdx), %rax\n"
    WRITE
    ELSE("vt_sled_ask_leave")
    "    .cfi_adjust_cfa_offset 24\n"
    "2:  jb 7b\n" /* a dead frame; else the call was entered unrecorded */
    "    movq $0, " BUSY "(%r11)\n"
    FEW
    "    ret\n"
    END("vt_sled_leave"));

/* ---- The hook that applies the plain rules ---- */

/* clang-format off */
__asm__(".section .text.vt_sleds,\"ax\",@progbits\n"
    FUNCTION("vt_sled_check_enter")
    SAVE PUSH("r8") PUSH("r9") PUSH("r10") PUSH("r11") PUSH("rbx")
    "    movq 80(%rsp), %rdi\n"
    "    movq %rsp, %rbx\n"
    "    .cfi_def_cfa_register rbx\n"
    "    andq $-16, %rsp\n"
    "    call vt_sled_judge\n"
    "    movq %rbx, %rsp\n"
    "    .cfi_def_cfa_register rsp\n"
    "    cmpl $1, %eax\n"
    POP("rbx") POP("r11") POP("r10") POP("r9") POP("r8") RESTORE
    "    je vt_sled_enter\n"
    "    ja vt_sled_ask_enter\n"
    "    ret\n"
    END("vt_sled_check_enter")
    ".text\n");
/* clang-format on */

/* ---- The hooks that handle all cases ---- */

/* The way to save the state of vector and floating-point registers: the components (XCR0) and their bytes. Processors
   without XSAVEC or XGETBV 1 save all components in the standard format, and old ones use FXSAVE. */
enum { UNKNOWN, FXSAVE, XSAVE, XSAVEC };
__attribute__((used, visibility("hidden"))) uint32_t vt_sled_save, vt_sled_components, vt_sled_bytes, vt_sled_few_bytes;

#define COMPONENTS 0xe7u /* x87, SSE, AVX and AVX-512 */

__attribute__((used, visibility("hidden"))) void vt_sled_prepare(void)
{
    uint32_t a, b, c, d, way = FXSAVE, bytes = 576;
    if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE && __get_cpuid_count(13, 1, &a, &b, &c, &d)) {
        uint32_t low, high, features = a, compact = 576;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        low &= COMPONENTS;
        way = (features & 6) == 6 ? XSAVEC : XSAVE;
        for (uint32_t i = 2; i < 8; i++) {
            if (!(low >> i & 1) || !__get_cpuid_count(13, i, &a, &b, &c, &d)) continue;
            if (b + a > bytes) bytes = b + a;
            compact = (c & 2 ? (compact + 63) & ~63u : compact) + a;
        }
        if (way == XSAVEC) bytes = compact;
        vt_sled_components = low;
    }
    vt_sled_few_bytes = 576 + 256; /* the compact format without AVX-512 */
    vt_sled_bytes = bytes;
    __atomic_store_n(&vt_sled_save, way, __ATOMIC_RELEASE);
}

/* clang-format off */
/* Saves all registers around a call, whose arguments are set by `arguments` from the address of the caller's frame in
   rbp. steady: a call that may make the other one unnecessary, before vector registers are saved. */
#define AROUND(steady, arguments, call)                                                                                        \
    "    pushq %rbp\n    .cfi_adjust_cfa_offset 8\n    .cfi_offset rbp, -16\n"                                         \
    "    movq %rsp, %rbp\n    .cfi_def_cfa_register rbp\n"                                                             \
    "    pushq %rax\n    pushq %rcx\n    pushq %rdx\n    pushq %rsi\n    pushq %rdi\n"                                 \
    "    pushq %r8\n    pushq %r9\n    pushq %r10\n    pushq %r11\n    pushq %rbx\n"                                   \
    "    cld\n"                                                                                                        \
    steady                                                                                                             \
    "    cmpl $0, vt_sled_save(%rip)\n"                                                                                \
    "    je 1f\n"                                                                                                      \
    "2:  movl vt_sled_bytes(%rip), %esi\n"                                                                             \
    "    cmpl $3, vt_sled_save(%rip)\n"                                                                                \
    "    jb 4f\n"                                                                                                      \
    "    movl $1, %ecx\n"                                                                                              \
    "    xgetbv\n"                                                                                                     \
    "    andl vt_sled_components(%rip), %eax\n" /* the components in use */                                            \
    "    testl $0xf8, %eax\n"                                                                                          \
    "    cmovel vt_sled_few_bytes(%rip), %esi\n"                                                                       \
    "3:  subq %rsi, %rsp\n"                                                                                            \
    "    andq $-64, %rsp\n"                                                                                            \
    "    xorl %edx, %edx\n"                                                                                            \
    "    movq %rdx, 512(%rsp)\n    movq %rdx, 520(%rsp)\n    movq %rdx, 528(%rsp)\n    movq %rdx, 536(%rsp)\n"         \
    "    movq %rdx, 544(%rsp)\n    movq %rdx, 552(%rsp)\n    movq %rdx, 560(%rsp)\n    movq %rdx, 568(%rsp)\n"         \
    "    xsavec (%rsp)\n"                                                                                              \
    "5:\n"                                                                                                             \
    arguments                                                                                                          \
    "    call " call "\n"                                                                                              \
    "    cmpl $2, vt_sled_save(%rip)\n"                                                                                \
    "    jb 7f\n"                                                                                                      \
    "    movl vt_sled_components(%rip), %eax\n"                                                                        \
    "    xorl %edx, %edx\n"                                                                                            \
    "    xrstor (%rsp)\n"                                                                                              \
    "6:  leaq -80(%rbp), %rsp\n"                                                                                       \
    "    popq %rbx\n    popq %r11\n    popq %r10\n    popq %r9\n    popq %r8\n"                                        \
    "    popq %rdi\n    popq %rsi\n    popq %rdx\n    popq %rcx\n    popq %rax\n"                                      \
    "    .cfi_remember_state\n"                                                                                        \
    "    popq %rbp\n    .cfi_def_cfa rsp, 8\n    .cfi_restore rbp\n"                                                   \
    "    ret\n"                                                                                                        \
    "    .cfi_restore_state\n"                                                                                         \
    "1:  pushq %rbx\n"                                                                                                 \
    "    movq %rsp, %rbx\n"                                                                                            \
    "    andq $-64, %rsp\n"                                                                                            \
    "    call vt_sled_prepare\n"                                                                                       \
    "    movq %rbx, %rsp\n"                                                                                            \
    "    popq %rbx\n"                                                                                                  \
    "    jmp 2b\n"                                                                                                     \
    "4:  subq %rsi, %rsp\n"                                                                                            \
    "    andq $-64, %rsp\n"                                                                                            \
    "    cmpl $2, vt_sled_save(%rip)\n"                                                                                \
    "    jb 8f\n"                                                                                                      \
    "    movl vt_sled_components(%rip), %eax\n"                                                                        \
    "    xorl %edx, %edx\n"                                                                                            \
    "    movq %rdx, 512(%rsp)\n    movq %rdx, 520(%rsp)\n    movq %rdx, 528(%rsp)\n    movq %rdx, 536(%rsp)\n"         \
    "    movq %rdx, 544(%rsp)\n    movq %rdx, 552(%rsp)\n    movq %rdx, 560(%rsp)\n    movq %rdx, 568(%rsp)\n"         \
    "    xsave (%rsp)\n"                                                                                               \
    "    jmp 5b\n"                                                                                                     \
    "7:  fxrstor (%rsp)\n"                                                                                             \
    "    jmp 6b\n"                                                                                                     \
    "8:  fxsave (%rsp)\n"                                                                                              \
    "    jmp 5b\n"
#define EVENT "    leaq 16(%rbp), %rdi\n    movq 8(%rbp), %rsi\n"
#define STEADY(call)                                                                                                   \
    EVENT                                                                                                              \
    "    movq %rsp, %rbx\n"                                                                                            \
    "    andq $-16, %rsp\n"                                                                                            \
    "    call " call "\n"                                                                                              \
    "    movq %rbx, %rsp\n"                                                                                            \
    "    testl %eax, %eax\n"                                                                                           \
    "    jne 6f\n"

__asm__(".section .text.vt_sleds,\"ax\",@progbits\n"
    FUNCTION("vt_sled_ask_enter") AROUND(STEADY("vt_sled_enters"), EVENT, "vt_sled_entered") END("vt_sled_ask_enter")
    FUNCTION("vt_sled_ask_leave") AROUND(STEADY("vt_sled_leaves"), EVENT, "vt_sled_left") END("vt_sled_ask_leave")
    ".p2align 4\n.globl vt_sleds_attach\n.type vt_sleds_attach, @function\nvt_sleds_attach:\n"
    "    .cfi_startproc\n"
    "    endbr64\n"
    AROUND("", "    movq %rbx, %rdi\n", "vt_sleds_found")
    END("vt_sleds_attach")
    /* as vt_sled_take_return, which jumps here */
    FUNCTION("vt_sled_first_return") AROUND("", "    leaq 24(%rbp), %rdi\n", "vt_sled_first_taken")
    END("vt_sled_first_return")
    ".text\n");
/* clang-format on */

#endif
