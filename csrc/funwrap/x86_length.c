/* SPDX-License-Identifier: BSD-3-Clause */
/* The lengths of x86-64 instructions (Intel SDM, volume 2, chapter 2 and appendix A). A search for sleds looks only at
   the starts of instructions, since another instruction may contain the bytes of a call. */
#include "funwrap.h"

/* For the two tables of opcodes a bit for each opcode: it has a ModRM byte, or an operand of one byte. Rows of 16. */
static const uint16_t modrm_1[16] = {0x0f0f, 0x0f0f, 0x0f0f, 0x0f0f, 0,      0,      0x0a08, 0,
                                     0xfffb, 0,      0,      0,      0x00c3, 0xff0f, 0,      0xc0c0};
static const uint16_t byte_1[16] = {0x1010, 0x1010, 0x1010, 0x1010, 0,      0, 0x0c00, 0xffff,
                                    0x0009, 0,      0x0100, 0x00ff, 0x2043, 0, 0x08ff, 0};
static const uint16_t word_1[16] = {0x2020, 0x2020, 0x2020, 0x2020, 0,      0, 0x0300, 0,
                                    0x0002, 0,      0x0200, 0xff00, 0x0080, 0, 0x0300, 0};
static const uint16_t invalid_1[16] = {0x40c0, 0xc0c0, 0x8080, 0x8080, 0,      0,      0x0003, 0,
                                       0x0004, 0,      0,      0,      0x4000, 0x0070, 0x0400, 0};
static const uint16_t modrm_2[16] = {0xb00f, 0xffff, 0xff0f, 0,      0xffff, 0xffff, 0xffff, 0xff7f,
                                     0,      0xffff, 0xf838, 0xffff, 0x00ff, 0xffff, 0xffff, 0xffff};
static const uint16_t byte_2[16] = {0x8000, 0, 0, 0, 0, 0, 0, 0x000f, 0, 0, 0x1010, 0x0400, 0x0074, 0, 0, 0};

#define HAS(table, opcode) (table[(opcode) >> 4] >> ((opcode) & 15) & 1)

struct decoding {
    const uint8_t *at, *end;
    int operand_16, address_32, wide, repeat; /* prefixes: 66, 67, REX.W, F2 */
};

static int next(struct decoding *r) { return r->at < r->end ? *r->at++ : -1; }

/* Skips a ModRM byte and the bytes that it requires. Returns the byte; -1 at the end of the code. */
static int modrm(struct decoding *r)
{
    int byte = next(r), mode = byte >> 6, base = byte & 7;
    if (byte < 0 || mode == 3) return byte;
    if (base == 4) {
        int index = next(r);
        if (index < 0) return -1;
        if (mode == 0 && (index & 7) == 5) r->at += 4;
    } else if (mode == 0 && base == 5) r->at += 4;
    if (mode == 1) r->at += 1;
    if (mode == 2) r->at += 4;
    return byte;
}

/* The maps of opcodes after 0F, 0F38 and 0F3A, which VEX and EVEX number 1, 2 and 3. Returns 0 for an unknown one. */
static int in_map(struct decoding *r, int map, int vector)
{
    int opcode = next(r);
    if (opcode < 0) return 0;
    if (map == 2 || map == 5 || map == 6) return modrm(r) >= 0;
    if (map == 3) {
        if (modrm(r) < 0) return 0;
        r->at += 1;
        return 1;
    }
    if (map != 1) return 0;
    if (vector && opcode == 0x77) return 1;
    if (!vector && opcode >= 0x80 && opcode < 0x90) r->at += 4;
    if ((vector || HAS(modrm_2, opcode)) && modrm(r) < 0) return 0;
    if (HAS(byte_2, opcode)) r->at += 1;
    if (!vector && opcode == 0x78 && (r->operand_16 || r->repeat)) r->at += 2; /* EXTRQ, INSERTQ */
    return 1;
}

static int vex(struct decoding *r, int first)
{
    int payload = next(r), map = first == 0xc5 ? 1 : payload & (first == 0x62 ? 7 : 31);
    if (payload < 0) return 0;
    if (first != 0xc5) r->at += first == 0x62 ? 2 : 1;
    return in_map(r, map, 1);
}

static int xop(struct decoding *r)
{
    int map = next(r) & 31;
    r->at += 2; /* payload and opcode */
    if (map < 8 || map > 10 || modrm(r) < 0) return 0;
    r->at += map == 8 ? 1 : map == 10 ? 4 : 0;
    return 1;
}

static int behind_0f(struct decoding *r)
{
    int second = r->at < r->end ? *r->at : -1;
    if (second != 0x38 && second != 0x3a) return in_map(r, 1, 0);
    r->at++;
    return in_map(r, second == 0x38 ? 2 : 3, 0);
}

static int plain(struct decoding *r, int opcode)
{
    int operand = r->operand_16 && !r->wide ? 2 : 4;
    if (HAS(invalid_1, opcode)) return 0;
    if (HAS(modrm_1, opcode)) {
        int byte = modrm(r);
        if (byte < 0) return 0;
        if ((opcode == 0xf6 || opcode == 0xf7) && !(byte & 0x30)) r->at += opcode == 0xf6 ? 1 : operand;
    }
    if (HAS(byte_1, opcode)) r->at += 1;
    if (opcode == 0xe8 || opcode == 0xe9) r->at += 4;
    else if (opcode >= 0xb8 && opcode <= 0xbf && r->wide) r->at += 8;
    else if (HAS(word_1, opcode)) r->at += operand;
    if (opcode >= 0xa0 && opcode <= 0xa3) r->at += r->address_32 ? 4 : 8;
    if (opcode == 0xc2 || opcode == 0xca) r->at += 2;
    if (opcode == 0xc8) r->at += 3;
    return 1;
}

unsigned vt_x86_length(const uint8_t *code, size_t most)
{
    struct decoding r = {.at = code, .end = code + most};
    int opcode;
    for (;;) {
        opcode = next(&r);
        if (opcode == 0x66) r.operand_16 = 1;
        else if (opcode == 0x67) r.address_32 = 1;
        else if (opcode == 0xf2) r.repeat = 1;
        else if (opcode != 0xf0 && opcode != 0xf3 && opcode != 0x2e && opcode != 0x36 && opcode != 0x3e &&
                 opcode != 0x26 && opcode != 0x64 && opcode != 0x65)
            break;
    }
    if (opcode >= 0x40 && opcode <= 0x4f) {
        r.wide = opcode >> 3 & 1;
        opcode = next(&r);
    }
    int known;
    if (opcode < 0) known = 0;
    else if (opcode == 0x0f) known = behind_0f(&r);
    else if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62) known = vex(&r, opcode);
    else if (opcode == 0x8f && r.at < r.end && (*r.at & 31) >= 8) known = xop(&r);
    else known = plain(&r, opcode);
    return known && r.at <= r.end ? (unsigned)(r.at - code) : 0;
}
