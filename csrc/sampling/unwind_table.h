/* SPDX-License-Identifier: BSD-3-Clause */
/* A compact table with a rule for each instruction of a module's code to find the caller's frame. The table is made
   from .eh_frame (System V ABI for AMD64, 3.7 and 4.2.4; DWARF 4, 6.4; LSB Core, "Exception Frames"). A lookup needs no
   DWARF, so a signal handler can unwind a frame in some nanoseconds. */
#ifndef VT_UNWIND_TABLE_H
#define VT_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The rule for the canonical frame address (CFA): the stack pointer of the caller after the call. */
enum vt_unwind_rule {
    VT_RULE_NONE, /* no information for these instructions */
    VT_RULE_OTHER, /* a rule that the table cannot express */
    VT_RULE_END, /* the outermost frame */
    VT_RULE_SP, /* CFA = stack pointer + 8 * cfa */
    VT_RULE_BP, /* CFA = frame pointer + 8 * cfa */
    VT_RULE_PLT, /* CFA = stack pointer + 8, and 8 more from byte `cfa` of an entry of the PLT on */
    VT_RULE_REALIGNED, /* CFA = the word at frame pointer + 8 * cfa; the frame pointer is saved at itself */
    VT_RULE_FAR, /* CFA = stack pointer + 8 * far[cfa]: frames of more than 256 KiB, such as Fortran's arrays */
    VT_RULE_SIGNAL, /* the return from a signal handler: the stack pointer is the address of the ucontext_t */
};

/* Valid from byte pc of the code to the next row. The return address is the word below the CFA. */
struct vt_unwind_row {
    uint32_t pc;
    uint8_t rule; /* enum vt_unwind_rule */
    int8_t bp; /* the caller's frame pointer is the word at CFA + 8 * bp; 0: it is unchanged */
    int16_t cfa;
};

#define VT_BUCKET_SHIFT 8
#define VT_FAR_MOST 4096u /* distances */

struct vt_unwind_table {
    struct vt_unwind_row *rows; /* ascending; the first row is at byte 0 */
    uint32_t *buckets; /* for each 256 bytes of code the row that is valid at their start */
    int32_t *far; /* NULL: no frame is so large */
    uint32_t nrows, nbuckets, nfar;
    uint32_t others, damaged; /* number of rows with VT_RULE_OTHER, and of damaged entries */
};

/* The sources of a table: the readable bytes that hold .eh_frame_hdr and .eh_frame, .eh_frame_hdr in it, and the
   module's executable code. */
struct vt_unwind_source {
    const uint8_t *begin, *end, *header;
    uintptr_t code;
    uint32_t code_bytes;
};

#pragma GCC visibility push(hidden)

/* Makes a table, in memory of its own. Reads only bytes between begin and end, for any content. Returns 0 if there is
   no table: no memory, or a header of an unknown form. */
int vt_unwind_table_make(struct vt_unwind_table *t, const struct vt_unwind_source *from);
void vt_unwind_table_free(struct vt_unwind_table *t);

#pragma GCC visibility pop

/* Returns the row for byte `offset` of the code, which must be below code_bytes. */
static inline struct vt_unwind_row vt_unwind_table_row(const struct vt_unwind_table *t, uint32_t offset)
{
    uint32_t bucket = offset >> VT_BUCKET_SHIFT, low = t->buckets[bucket], high = t->buckets[bucket + 1] + 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (t->rows[middle].pc <= offset) low = middle;
        else high = middle;
    }
    return t->rows[low];
}

#endif
