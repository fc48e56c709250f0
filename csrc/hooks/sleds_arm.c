/* SPDX-License-Identifier: BSD-3-Clause */
/* The targets of a function's sleds on aarch64, in programs and libraries that vtrace-cc links (csrc/hooks/sleds.s: x86-64).
   clang's -fxray-instrument leaves room for calls, which funwrap/xray.c makes. */
#include "../core/core.h"

#if defined(__aarch64__)

#pragma GCC visibility push(hidden)
extern struct vt_sleds vt_module_sleds;
extern const char __start_xray_instr_map[] __attribute__((weak)), __stop_xray_instr_map[] __attribute__((weak));
void vt_sled_enters_here(void), vt_sled_leaves_here(void);
#pragma GCC visibility pop

__typeof__(vt_sleds_attach) vt_sleds_attach __attribute__((weak)); /* NULL without libvtrace.so.1 */

struct vt_sleds vt_module_sleds = {
    .size = sizeof vt_module_sleds,
    .on_enter = vt_sled_enters_here,
    .on_leave = vt_sled_leaves_here,
    .xray = __start_xray_instr_map,
    .xray_end = __stop_xray_instr_map,
};

/* The hooks take their arguments from x17 and x30, and x16 is free. */
#define JUMP(name, offset)                                                                                             \
    ".p2align 4\n.hidden " name "\n.globl " name "\n.type " name ", %function\n" name ":\n"                            \
    "    .cfi_startproc\n"                                                                                             \
    "    .cfi_return_column 16\n    .cfi_register 16, 30\n    .cfi_register 30, 17\n"                                  \
    "    hint #34\n" /* bti c */                                                                                       \
    "    adrp x16, vt_module_sleds+" offset "\n"                                                                       \
    "    ldr x16, [x16, #:lo12:vt_module_sleds+" offset "]\n"                                                          \
    "    br x16\n"                                                                                                     \
    "    .cfi_endproc\n.size " name ", .-" name "\n"

_Static_assert(__builtin_offsetof(struct vt_sleds, enter) == 8 && __builtin_offsetof(struct vt_sleds, leave) == 16,
               "the offsets that the jumps use");
__asm__(".text\n" JUMP("vt_sled_enters_here", "8") JUMP("vt_sled_leaves_here", "16"));

/* Before other constructors, which may call functions with sleds. */
__attribute__((constructor(101))) static void begin(void)
{
    if (vt_sleds_attach) vt_sleds_attach(&vt_module_sleds);
}

#endif
