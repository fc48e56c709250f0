/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules to find the caller's frame at an instruction, from .eh_frame (System V ABI for AMD64, 3.7 and 4.2.4; DWARF 4, 6.4;
   LSB Core, "Exception Frames"). A look-up takes less than a microsecond, so a signal handler can unwind; the unwinder
   keeps the rules that it has found. */
#ifndef VT_UNWIND_RULES_H
#define VT_UNWIND_RULES_H

#include <stddef.h>
#include <stdint.h>

/* The rule for the canonical frame address (CFA): the stack pointer of the caller after the call. */
enum vt_unwind_rule {
    VT_RULE_NONE, /* no information for these instructions */
    VT_RULE_OTHER, /* a rule that a row cannot express */
    VT_RULE_END, /* the outermost frame */
    VT_RULE_SP, /* CFA = stack pointer + 8 * cfa */
    VT_RULE_BP, /* CFA = frame pointer + 8 * cfa */
    VT_RULE_PLT, /* CFA = stack pointer + 8, and 8 more from byte `cfa` of an entry of the PLT on */
    VT_RULE_REALIGNED, /* CFA = the word at frame pointer + 8 * cfa; the frame pointer is saved at itself */
    VT_RULE_SIGNAL, /* the return from a signal handler: the stack pointer is the address of the ucontext_t */
};

/* Valid from byte pc of the code on. The return address is the word below the CFA. */
struct vt_unwind_row {
    uint32_t pc;
    int32_t cfa;
    uint8_t rule; /* enum vt_unwind_rule */
    int8_t bp; /* the caller's frame pointer is the word at CFA + 8 * bp; 0: it is unchanged */
};

/* The sources of the rules: the readable bytes that hold .eh_frame_hdr and .eh_frame, .eh_frame_hdr in it, and the
   module's executable code. */
struct vt_unwind_source {
    const uint8_t *begin, *end, *header;
    uintptr_t code;
    uint32_t code_bytes;
};

#pragma GCC visibility push(hidden)

/* Finds the row for byte `offset` of the code. Reads only bytes between begin and end, for any content; takes no lock and
   no memory. Returns 0 if the entry of this code is damaged: the row has no rule then, or VT_RULE_OTHER. */
int vt_unwind_row_at(const struct vt_unwind_source *from, uint32_t offset, struct vt_unwind_row *row);

#pragma GCC visibility pop

#endif
