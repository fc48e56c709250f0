/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the rule for an instruction. The module's memory is read with checks only: .eh_frame may be damaged, or written by
   an unusual tool. The code of an entry that cannot be read has no rule, or VT_RULE_OTHER. */
#include <string.h>
#include "sampling.h"

/* DWARF numbers of registers, AMD64 ABI Figure 3.36 */
#define BP 6
#define SP 7
#define RETURN 16
#define STATES 8 /* depth of DW_CFA_remember_state; compilers use 1 */

/* ---- Reading with checks ---- */

struct eh_reader {
    const uint8_t *at, *end;
    int bad; /* 1: a read went beyond the end; all later values are 0 */
};

static uint64_t fixed(struct eh_reader *r, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->bad = 1;
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, bytes);
    r->at += bytes;
    return value;
}

static void skip(struct eh_reader *r, uint64_t bytes)
{
    if ((uint64_t)(r->end - r->at) < bytes) r->bad = 1;
    r->at = r->bad ? r->end : r->at + bytes;
}

static uint64_t leb(struct eh_reader *r, int is_signed)
{
    uint64_t value = 0, byte = 128;
    unsigned shift = 0;
    for (; byte & 128 && !r->bad; shift += 7) {
        byte = fixed(r, 1);
        if (shift < 64) value |= (byte & 127) << shift;
    }
    if (is_signed && byte & 64 && shift < 64) value |= ~UINT64_C(0) << shift;
    return value;
}

static uint64_t uleb(struct eh_reader *r) { return leb(r, 0); }
static int64_t sleb(struct eh_reader *r) { return (int64_t)leb(r, 1); }

/* Reads a pointer of an encoding DW_EH_PE_. */
static uint64_t pointer(struct eh_reader *r, uint8_t encoding)
{
    uint64_t place = (uintptr_t)r->at, value = 0;
    switch (encoding & 15) {
    case 0x1: value = uleb(r); break;
    case 0x2: value = fixed(r, 2); break;
    case 0x3: value = fixed(r, 4); break;
    case 0x9: value = (uint64_t)sleb(r); break;
    case 0xa: value = (uint64_t)(int16_t)fixed(r, 2); break;
    case 0xb: value = (uint64_t)(int32_t)fixed(r, 4); break;
    case 0x0:
    case 0x4:
    case 0xc: value = fixed(r, 8); break;
    default: r->bad = 1;
    }
    if ((encoding & 0x70) == 0x10) value += place;
    else if (encoding & 0x70 && encoding != 0xff) r->bad = 1;
    if (encoding & 0x80) r->bad = 1; /* indirect: only for personality routines, which `common` skips */
    return value;
}

/* ---- The rules at one instruction ---- */

enum cfa_form { CFA_REGISTER, CFA_PLT, CFA_REALIGNED, CFA_COMPLEX };
enum bp_form { BP_SAME, BP_AT_CFA, BP_AT_BP, BP_COMPLEX };

struct eh_state {
    enum cfa_form cfa;
    enum bp_form bp;
    uint64_t base; /* register of CFA_REGISTER */
    int64_t offset, bp_offset; /* bytes; offset: for CFA_PLT the byte of the entry */
    int outermost, complex_return;
};

/* A common information entry (CIE). */
struct eh_common {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding;
    int is_signal, augmented, is_bad;
    struct eh_state initial;
};

struct rule_finder {
    const struct vt_unwind_source *from;
    struct vt_unwind_row *row; /* the last one up to the wanted instruction */
    uint32_t wanted;
    uint32_t end; /* end of the code of the entry that is being read */
};

static struct vt_unwind_row row_of(const struct eh_state *s, uint32_t pc, int is_signal)
{
    struct vt_unwind_row row = {pc, 0, VT_RULE_OTHER, 0};
    int64_t cfa = s->cfa == CFA_PLT ? s->offset : s->offset / 8, bp = s->bp_offset / 8;
    if (is_signal) row.rule = VT_RULE_SIGNAL;
    else if (s->outermost) row.rule = VT_RULE_END;
    if (row.rule != VT_RULE_OTHER || s->complex_return || s->cfa == CFA_COMPLEX || s->bp == BP_COMPLEX) return row;
    if (s->cfa != CFA_PLT && s->offset % 8) return row;
    if (cfa < INT32_MIN || cfa > INT32_MAX) return row;
    if ((s->bp == BP_AT_BP) != (s->cfa == CFA_REALIGNED)) return row;
    if (s->bp == BP_AT_CFA && (s->bp_offset % 8 || !bp || bp < INT8_MIN || bp > INT8_MAX)) return row;
    if (s->cfa == CFA_REGISTER && s->base != SP && s->base != BP) return row;
    row.rule = s->cfa == CFA_PLT         ? VT_RULE_PLT
               : s->cfa == CFA_REALIGNED ? VT_RULE_REALIGNED
               : s->base == SP           ? VT_RULE_SP
                                         : VT_RULE_BP;
    row.cfa = (int32_t)cfa;
    row.bp = s->bp == BP_AT_CFA ? (int8_t)bp : 0;
    return row;
}

/* Takes the row that is valid from pc on, unless the wanted instruction lies before. */
static void take(struct rule_finder *f, const struct eh_state *s, uint64_t pc, int is_signal)
{
    if (pc <= f->wanted) *f->row = row_of(s, (uint32_t)pc, is_signal);
}

/* ---- The instructions of an entry ---- */

/* Reads the expression of a CFA. gcc and binutils write two: the word below a frame pointer (a realigned stack), and
   the entries of a PLT: breg7 8, breg16 0, lit15, and, lit<byte>, ge, lit3, shl, plus. */
static void cfa_expression(struct eh_reader *r, struct eh_state *s)
{
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    uint64_t bytes = uleb(r);
    const uint8_t *e = r->at;
    skip(r, bytes);
    s->cfa = CFA_COMPLEX;
    if (r->bad) return;
    if (bytes == sizeof plt && !memcmp(e, plt, 6) && !memcmp(e + 7, plt + 7, 4) && e[6] >= 0x30 && e[6] <= 0x3f) {
        s->cfa = CFA_PLT;
        s->offset = e[6] - 0x30;
    } else if (bytes == 3 && e[0] == 0x70 + BP && e[2] == 6 && !(e[1] & 128)) {
        s->cfa = CFA_REALIGNED;
        s->offset = e[1] & 64 ? (int64_t)e[1] - 128 : e[1];
    }
}

static void saved_by_expression(struct eh_reader *r, struct eh_state *s)
{
    uint64_t reg = uleb(r), bytes = uleb(r);
    const uint8_t *e = r->at;
    skip(r, bytes);
    if (r->bad) return;
    if (reg == BP) s->bp = bytes == 2 && e[0] == 0x70 + BP && !e[1] ? BP_AT_BP : BP_COMPLEX;
    if (reg == RETURN) s->complex_return = 1;
}

static void saved(struct eh_state *s, uint64_t reg, int64_t offset)
{
    if (reg == BP) {
        s->bp = BP_AT_CFA;
        s->bp_offset = offset;
    } else if (reg == RETURN) s->complex_return = offset != -8;
}

static void restored(struct eh_state *s, uint64_t reg, const struct eh_state *initial)
{
    if (reg == BP) {
        s->bp = initial->bp;
        s->bp_offset = initial->bp_offset;
    } else if (reg == RETURN) {
        s->complex_return = initial->complex_return;
        s->outermost = initial->outermost;
    }
}

static void define_cfa(struct eh_state *s, uint64_t reg, int64_t offset)
{
    s->cfa = CFA_REGISTER;
    s->base = reg;
    s->offset = offset;
}

/* Instructions with an operand in their upper bits, and those that only change the rules. Returns 0 for an unknown
   instruction. */
static int change(struct eh_reader *r, uint8_t op, struct eh_state *s, const struct eh_common *c)
{
    uint64_t reg = op & 63;
    switch (op & 0xc0) {
    case 0x80: saved(s, reg, (int64_t)uleb(r) * c->data_align); return 1;
    case 0xc0: restored(s, reg, &c->initial); return 1;
    }
    switch (op) {
    case 0x00: return 1;
    case 0x05:
        reg = uleb(r);
        saved(s, reg, (int64_t)uleb(r) * c->data_align);
        return 1;
    case 0x06: restored(s, uleb(r), &c->initial); return 1;
    case 0x07: /* undefined: the return address of the outermost frame */
        reg = uleb(r);
        if (reg == RETURN) s->outermost = 1;
        if (reg == BP) s->bp = BP_SAME;
        return 1;
    case 0x08:
        if (uleb(r) == BP) s->bp = BP_SAME;
        return 1;
    case 0x09: /* in another register */
        reg = uleb(r);
        uleb(r);
        if (reg == BP) s->bp = BP_COMPLEX;
        if (reg == RETURN) s->complex_return = 1;
        return 1;
    case 0x0c:
        reg = uleb(r);
        define_cfa(s, reg, (int64_t)uleb(r));
        return 1;
    case 0x0d: define_cfa(s, uleb(r), s->offset); return 1;
    case 0x0e: define_cfa(s, s->base, (int64_t)uleb(r)); return 1;
    case 0x0f: cfa_expression(r, s); return 1;
    case 0x10: saved_by_expression(r, s); return 1;
    case 0x11:
        reg = uleb(r);
        saved(s, reg, sleb(r) * c->data_align);
        return 1;
    case 0x12:
        reg = uleb(r);
        define_cfa(s, reg, sleb(r) * c->data_align);
        return 1;
    case 0x13: define_cfa(s, s->base, sleb(r) * c->data_align); return 1;
    case 0x14: /* the value of a register, not its place */
    case 0x15:
    case 0x16:
        reg = uleb(r);
        if (op == 0x16) skip(r, uleb(r));
        else uleb(r);
        if (reg == BP) s->bp = BP_COMPLEX;
        if (reg == RETURN) s->complex_return = 1;
        return 1;
    case 0x2e: uleb(r); return 1; /* size of the arguments */
    default: return 0;
    }
}

/* Returns the number of bytes of code by which an instruction advances; -1: it does not advance; -2: an absolute
   place, in *place. */
static int64_t advance(struct eh_reader *r, uint8_t op, const struct eh_common *c, uint64_t *place)
{
    if ((op & 0xc0) == 0x40) return (int64_t)((op & 63) * c->code_align);
    switch (op) {
    case 0x01: *place = pointer(r, c->encoding); return -2;
    case 0x02: return (int64_t)(fixed(r, 1) * c->code_align);
    case 0x03: return (int64_t)(fixed(r, 2) * c->code_align);
    case 0x04: return (int64_t)(fixed(r, 4) * c->code_align);
    default: return -1;
    }
}

/* Executes the instructions of an entry up to those for the wanted instruction. pc: first byte of its code. Returns 0 if
   they are damaged. */
static int execute(struct rule_finder *f, struct eh_reader *r, struct eh_state *s, const struct eh_common *c,
                   uint64_t pc)
{
    struct eh_state kept[STATES];
    unsigned n = 0;
    while (r->at < r->end) {
        uint64_t place = 0;
        uint8_t op = (uint8_t)fixed(r, 1);
        int64_t bytes = advance(r, op, c, &place);
        if (bytes != -1) {
            uint64_t next = bytes == -2 ? place - f->from->code : pc + (uint64_t)bytes;
            if (r->bad || next < pc || next > f->end) return 0;
            if (next > pc) take(f, s, pc, c->is_signal);
            pc = next;
            if (pc > f->wanted && f->end) return 1;
        } else if (op == 0x0a) {
            if (n == STATES) return 0;
            kept[n++] = *s;
        } else if (op == 0x0b) {
            if (!n) return 0;
            *s = kept[--n];
        } else if (!change(r, op, s, c)) return 0;
        if (r->bad) return 0;
    }
    if (pc < f->end) take(f, s, pc, c->is_signal);
    return 1;
}

/* ---- Entries ---- */

/* Finds the end of the entry at a place; returns 0 if it lies outside of the readable bytes. */
static int entry(const struct vt_unwind_source *from, const uint8_t *place, struct eh_reader *r)
{
    if (place < from->begin || place >= from->end) return 0;
    *r = (struct eh_reader){place, from->end, 0};
    uint64_t bytes = fixed(r, 4);
    if (r->bad || bytes < 4 || bytes >= 0xfffffff0 || bytes > (uint64_t)(from->end - r->at)) return 0;
    r->end = r->at + bytes;
    return 1;
}

/* Reads the augmentation of a CIE: a letter for each value. */
static void augmentation(struct eh_reader *r, struct eh_common *c, const uint8_t *letters)
{
    if (!*letters) return;
    if (*letters != 'z') {
        r->bad = 1;
        return;
    }
    uint64_t bytes = uleb(r);
    if (r->bad || bytes > (uint64_t)(r->end - r->at)) {
        r->bad = 1;
        return;
    }
    const uint8_t *end = r->at + bytes;
    c->augmented = 1;
    for (letters++; *letters; letters++) {
        if (*letters == 'R') c->encoding = (uint8_t)fixed(r, 1);
        else if (*letters == 'L') skip(r, 1);
        else if (*letters == 'P') {
            uint8_t encoding = (uint8_t)fixed(r, 1);
            pointer(r, encoding & 15);
        } else if (*letters == 'S') c->is_signal = 1;
        else break;
    }
    if (r->at > end) r->bad = 1;
    else r->at = end;
}

static void common(struct rule_finder *f, struct eh_common *c, const uint8_t *place)
{
    struct eh_reader r;
    *c = (struct eh_common){.is_bad = 1};
    if (!entry(f->from, place, &r)) return;
    uint64_t id = fixed(&r, 4), version = fixed(&r, 1);
    const uint8_t *letters = r.at, *zero = memchr(r.at, 0, (size_t)(r.end - r.at));
    if (r.bad || id || (version != 1 && version != 3) || !zero) return;
    r.at = zero + 1;
    c->code_align = uleb(&r);
    c->data_align = sleb(&r);
    uint64_t reg = version == 1 ? fixed(&r, 1) : uleb(&r);
    augmentation(&r, c, letters);
    if (r.bad || reg != RETURN || c->code_align > 16 || c->data_align < -16 || c->data_align > 16) return;
    f->end = 0; /* a CIE has no code */
    c->is_bad = !execute(f, &r, &c->initial, c, 0);
}

/* Reads the frame description entry (FDE) for the code from pc on. Returns 0 if it is damaged. */
static int describe(struct rule_finder *f, const uint8_t *place, uint32_t pc)
{
    struct eh_reader r;
    struct eh_common c;
    if (!entry(f->from, place, &r)) return 0;
    const uint8_t *field = r.at;
    uint64_t back = fixed(&r, 4);
    if (back > (uint64_t)(field - f->from->begin)) return 0;
    common(f, &c, field - back);
    if (c.is_bad) return 0;
    uint64_t begin = pointer(&r, c.encoding), bytes = pointer(&r, c.encoding & 15);
    if (c.augmented) skip(&r, uleb(&r));
    if (r.bad || begin != f->from->code + pc || !bytes || bytes > f->from->code_bytes - pc) return 0;
    f->end = pc + (uint32_t)bytes;
    if (f->wanted >= f->end) return 1;
    struct eh_state s = c.initial;
    if (execute(f, &r, &s, &c, pc)) return 1;
    *f->row = (struct vt_unwind_row){.pc = pc, .rule = VT_RULE_OTHER};
    return 0;
}

/* The table in .eh_frame_hdr: for each FDE the distances of its code and of itself from the header, ascending. */
struct eh_table {
    const uint8_t *entries;
    uint64_t count;
    int64_t code; /* distance of the module's code from the header */
};

static int32_t distance_at(const uint8_t *place)
{
    int32_t value;
    memcpy(&value, place, sizeof value);
    return value;
}

static int open_table(const struct vt_unwind_source *from, struct eh_table *t)
{
    if (from->header < from->begin || from->header >= from->end) return 0;
    struct eh_reader r = {from->header, from->end, 0};
    uint64_t version = fixed(&r, 1), eh_frame = fixed(&r, 1), count = fixed(&r, 1), form = fixed(&r, 1);
    pointer(&r, (uint8_t)eh_frame & 0x1f);
    count = pointer(&r, (uint8_t)count);
    if (r.bad || version != 1 || form != 0x3b || count > (uint64_t)(r.end - r.at) / 8) return 0;
    *t = (struct eh_table){r.at, count, (int64_t)(from->code - (uintptr_t)from->header)};
    return 1;
}

int vt_unwind_row_at(const struct vt_unwind_source *from, uint32_t offset, struct vt_unwind_row *row)
{
    struct rule_finder f = {.from = from, .row = row, .wanted = offset};
    struct eh_table t;
    *row = (struct vt_unwind_row){.rule = VT_RULE_NONE};
    if (!open_table(from, &t)) return 1;
    uint64_t low = 0, high = t.count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (distance_at(t.entries + 8 * middle) - t.code <= offset) low = middle + 1;
        else high = middle;
    }
    if (!low) return 1;
    const uint8_t *found = t.entries + 8 * (low - 1);
    int64_t pc = distance_at(found) - t.code;
    int32_t place = distance_at(found + 4);
    if (pc < 0) return 1; /* code of another segment */
    if (place < from->begin - from->header || place >= from->end - from->header) return 0;
    return describe(&f, from->header + place, (uint32_t)pc);
}
