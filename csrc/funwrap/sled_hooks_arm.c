/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of sleds, for aarch64 (sled_code_arm.c). A sled calls a hook with the function's return address in x17, and
   expects x30 to hold that address again. x16 and x17 are free at sleds, since a linker's veneer may change them; any
   other register may hold an argument or result. vt_sled_enters and vt_sled_leaves handle most events and change no
   vector register. For the others the hooks save all registers, with SVE the whole vectors.

   The place of a frame is 8 bytes below the stack pointer at the sled, as on x86-64, where the return address is there:
   a landing whose stack pointer is that of the caller ends the frame.

   The frame description gives unwinders the true state of the function: it continues after the sled (column 16), and
   its return address is in x17. */
#include <sys/auxv.h>
#include "funwrap.h"

#if defined(__aarch64__)

#define SVE (1u << 22) /* HWCAP_SVE */

__attribute__((used, visibility("hidden"))) uint32_t vt_sled_has_sve;

__attribute__((constructor)) static void prepare(void) { vt_sled_has_sve = (getauxval(AT_HWCAP) & SVE) != 0; }

/* clang-format off */
#define X4(X, a, b, c, d, at) "    " X " x" #a ", x" #b ", [sp, #" #at "]\n    " X " x" #c ", x" #d ", [sp, #" #at " + 16]\n"
#define GENERAL(X) X4(X, 0, 1, 2, 3, 32) X4(X, 4, 5, 6, 7, 64) X4(X, 8, 9, 10, 11, 96) X4(X, 12, 13, 14, 15, 128)
#define Q4(X, a, b, c, d, at) "    " X " q" #a ", q" #b ", [sp, #" #at "]\n    " X " q" #c ", q" #d ", [sp, #" #at " + 32]\n"
#define VECTORS(X)                                                                                                     \
    Q4(X, 0, 1, 2, 3, 0) Q4(X, 4, 5, 6, 7, 64) Q4(X, 8, 9, 10, 11, 128) Q4(X, 12, 13, 14, 15, 192)                      \
    Q4(X, 16, 17, 18, 19, 256) Q4(X, 20, 21, 22, 23, 320) Q4(X, 24, 25, 26, 27, 384) Q4(X, 28, 29, 30, 31, 448)
#define R1(X, r, i) "    " X " " #r #i ", [sp, #" #i ", mul vl]\n"
#define R8(X, r, a, b, c, d, e, f, g, h)                                                                               \
    R1(X, r, a) R1(X, r, b) R1(X, r, c) R1(X, r, d) R1(X, r, e) R1(X, r, f) R1(X, r, g) R1(X, r, h)
#define R16(X, r) R8(X, r, 0, 1, 2, 3, 4, 5, 6, 7) R8(X, r, 8, 9, 10, 11, 12, 13, 14, 15)
#define R32(X, r) R16(X, r) R8(X, r, 16, 17, 18, 19, 20, 21, 22, 23) R8(X, r, 24, 25, 26, 27, 28, 29, 30, 31)

#define EVENT "    add x0, x29, #184\n    ldr x1, [x29, #8]\n"
#define HOOK(name, few, all)                                                                                           \
    ".p2align 6\n.globl " name "\n.hidden " name "\n.type " name ", %function\n" name ":\n"                            \
    "    .cfi_startproc\n"                                                                                             \
    "    .cfi_return_column 16\n    .cfi_register 16, 30\n    .cfi_register 30, 17\n"                                  \
    "    hint #34\n" /* bti c */                                                                                       \
    "    stp x29, x30, [sp, #-192]!\n"                                                                                 \
    "    .cfi_def_cfa_offset 192\n    .cfi_offset 29, -192\n    .cfi_offset 16, -184\n"                                \
    "    stp x17, x18, [sp, #16]\n"                                                                                    \
    "    .cfi_offset 30, -176\n"                                                                                       \
    "    mov x29, sp\n    .cfi_def_cfa_register 29\n"                                                                  \
    GENERAL("stp")                                                                                                     \
    EVENT                                                                                                              \
    "    bl " few "\n"                                                                                                 \
    "    cbnz w0, 2f\n"                                                                                                \
    "    mrs x2, fpsr\n"                                                                                               \
    "    str x2, [x29, #160]\n"                                                                                        \
    "    adrp x2, vt_sled_has_sve\n"                                                                                   \
    "    ldr w2, [x2, #:lo12:vt_sled_has_sve]\n"                                                                       \
    "    cbnz w2, 1f\n"                                                                                                \
    "    sub sp, sp, #512\n"                                                                                           \
    VECTORS("stp")                                                                                                     \
    EVENT                                                                                                              \
    "    bl " all "\n"                                                                                                 \
    VECTORS("ldp")                                                                                                     \
    "3:  ldr x2, [x29, #160]\n"                                                                                        \
    "    msr fpsr, x2\n"                                                                                               \
    "    mov sp, x29\n"                                                                                                \
    "2:\n"                                                                                                             \
    GENERAL("ldp")                                                                                                     \
    "    .cfi_remember_state\n"                                                                                        \
    "    ldp x17, x18, [sp, #16]\n"                                                                                    \
    "    ldp x29, x16, [sp], #192\n"                                                                                   \
    "    .cfi_def_cfa 31, 0\n    .cfi_restore 29\n    .cfi_same_value 16\n    .cfi_register 30, 17\n"                  \
    "    mov x30, x17\n    .cfi_same_value 30\n"                                                                      \
    "    ret x16\n"                                                                                                    \
    "    .cfi_restore_state\n"                                                                                         \
    "    .arch_extension sve\n"                                                                                        \
    "1:  addvl sp, sp, #-32\n"                                                                                         \
    R32("str", z)                                                                                                      \
    "    addpl sp, sp, #-16\n"                                                                                         \
    R16("str", p)                                                                                                      \
    EVENT                                                                                                              \
    "    bl " all "\n"                                                                                                 \
    R16("ldr", p)                                                                                                      \
    "    addpl sp, sp, #16\n"                                                                                          \
    R32("ldr", z)                                                                                                      \
    "    .arch_extension nosve\n"                                                                                      \
    "    b 3b\n"                                                                                                       \
    "    .cfi_endproc\n.size " name ", .-" name "\n"

__asm__(".section .text.vt_sleds,\"ax\",%progbits\n"
    HOOK("vt_sled_enter", "vt_sled_enters", "vt_sled_entered")
    HOOK("vt_sled_leave", "vt_sled_leaves", "vt_sled_left")
    /* the hooks apply all rules */
    ".hidden vt_sled_check_enter, vt_sled_ask_enter, vt_sled_ask_leave\n"
    ".globl vt_sled_check_enter, vt_sled_ask_enter, vt_sled_ask_leave\n"
    ".set vt_sled_check_enter, vt_sled_enter\n"
    ".set vt_sled_ask_enter, vt_sled_enter\n"
    ".set vt_sled_ask_leave, vt_sled_leave\n"
    ".text\n");
/* clang-format on */

#endif
