/* SPDX-License-Identifier: BSD-3-Clause */
/* x86-64: a sled is a call of on_enter or on_leave of struct vt_sleds, direct or through a slot of the global offset
   table. To switch a sled, one byte changes: the opcode of its call becomes that of a TEST of the same length, or back.
   The instruction is complete at any moment. TEST changes only the flags, which no code reads at the start and end of a
   function. */
#include "funwrap.h"

#if defined(__x86_64__)

#include <string.h>

/* Opcodes: CALL rel32 and TEST eax, imm32; CALL [rip + disp32] and TEST [rip + disp32], edx. */
enum { CALL = 0xe8, TEST = 0xa9, CALL_SLOT = 0xff, TEST_SLOT = 0x85, SLOT = 0x15, ADDRESS_32 = 0x67 };
enum { NOP = 0x90, INT3 = 0xcc /* hides the opcode: a debugger's breakpoint */ };

static int32_t operand(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* target NULL: a stub (count_stubs.c), which only the sled at the start of a function calls. */
static int is_direct(const uint8_t *o, const void *target)
{
    const uintptr_t to = (uintptr_t)o + 5 + (uintptr_t)operand(o + 1);
    return (*o == CALL || *o == TEST || *o == INT3) && (target ? to == (uintptr_t)target : vt_is_stub(to));
}

/* Returns the opcode of the sled at this instruction; NULL: the instruction is no sled that calls `target`. */
static uint8_t *opcode_of(const uint8_t *c, const void *target)
{
    if (is_direct(c, target)) return (uint8_t *)c;
    /* ld puts the prefix before a call that it has shortened */
    if ((*c == ADDRESS_32 || *c == INT3) && is_direct(c + 1, target)) return (uint8_t *)c + 1;
    if ((*c != CALL_SLOT && *c != TEST_SLOT) || c[1] != SLOT) return NULL;
    uintptr_t slot = (uintptr_t)c + 6 + (uintptr_t)operand(c + 2);
    return slot % 8 == 0 && *(const uintptr_t *)slot == (uintptr_t)target ? (uint8_t *)c : NULL;
}

static uint8_t *stub_call(const uint8_t *c)
{
    if (*c == ADDRESS_32) c++;
    return is_direct(c, NULL) ? (uint8_t *)c : NULL;
}

/* ENDBR64 may precede the sled, and so may PUSH r10 in a nested function, where r10 points to the variables of the
   outer function, and a NOP with which clang moves its sled to an even address. */
uint8_t *vt_sled_first(const struct vt_sleds *sleds, uintptr_t function, size_t bytes)
{
    const uint8_t *c = (const uint8_t *)function, *end = c + bytes;
    if (bytes > 9 && operand(c) == (int32_t)0xfa1e0ff3) c += 4;
    if (bytes > 9 && c[0] == 0x41 && c[1] == 0x52) c += 2;
    if (bytes > VT_XRAY_BYTES && sleds->xray && (uintptr_t)c % 2 && *c == NOP) c++;
    if (end - c <= 5) return NULL;
    uint8_t *opcode = opcode_of(c, sleds->on_enter);
    return opcode ? opcode : stub_call(c);
}

uint8_t *vt_sled_next(const uint8_t **code, const uint8_t *end, const void *hook)
{
    unsigned length;
    for (const uint8_t *c = *code; (*code = c) < end && (length = vt_x86_length(c, (size_t)(end - c))); c += length) {
        uint8_t *opcode = length > 4 ? opcode_of(c, hook) : NULL;
        if (!opcode) continue;
        *code = c + length;
        return opcode;
    }
    return NULL;
}

uintptr_t vt_sled_place(const uint8_t *sled, const void *hook)
{
    return (uintptr_t)sled + (is_direct(sled, hook) || is_direct(sled, NULL) ? 5 : 6);
}

uint8_t *vt_sled_of_place(uintptr_t place)
{
    uint8_t *behind = (uint8_t *)place;
    return behind - (behind[-5] == SLOT ? 6 : 5); /* else there is the opcode of a direct call */
}

int vt_sled_is_on(const uint8_t *sled) { return *sled == CALL || *sled == CALL_SLOT; }

int vt_sled_is_hidden(const uint8_t *sled) { return *sled == INT3; }

void vt_sled_switch(uint8_t *sled, int on)
{
    uint8_t direct = *sled == CALL || *sled == TEST;
    if (vt_sled_is_hidden(sled)) return; /* the debugger puts the opcode back */
    __atomic_store_n(sled, direct ? (on ? CALL : TEST) : (on ? CALL_SLOT : TEST_SLOT), __ATOMIC_RELAXED);
}

/* ---- A sled of clang's -fxray-instrument ----

   At first the sled is a jump over nine bytes at the start of a function and before a tail call, or a RET and ten bytes
   of padding at the end of a function. The sled becomes CALL rel32 and a NOP of six bytes, or CALL rel32 and RET. */

static const uint8_t jump[VT_XRAY_BYTES] = {0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
static const uint8_t returns[VT_XRAY_BYTES] = {0xc3, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
static const uint8_t nop[6] = {0x66, 0x0f, 0x1f, 0x44, 0, 0};
enum { RET = 0xc3 };

static const uint8_t *as_written(uint8_t kind) { return kind == VT_XRAY_EXIT ? returns : jump; }

/* Returns the distance of the called hook from the end of the CALL. */
static int32_t distance(const uint8_t *at, const void *hook)
{
    return (int32_t)((uintptr_t)hook - ((uintptr_t)at + 5));
}

int vt_xray_is_sled(uint8_t kind, const uint8_t *at)
{
    return kind <= VT_XRAY_ENTER_WITH_ARGUMENTS && (uintptr_t)at % 2 == 0;
}

int vt_xray_is_hidden(uint8_t kind, const uint8_t *at)
{
    return *at == INT3 && !memcmp(at + 1, as_written(kind) + 1, sizeof jump - 1);
}

void vt_xray_prepare(uint8_t kind, uint8_t *at, const void *hook)
{
    int32_t to = distance(at, hook);
    if (memcmp(at, as_written(kind), sizeof jump) != 0) return;
    if (kind == VT_XRAY_EXIT) {
        memcpy(at + 1, &to, 4);
        at[5] = RET;
        memset(at + 6, INT3, 5); /* vt_sled_next reads the function's instructions */
    } else {
        memcpy(at + 2, (const uint8_t *)&to + 1, 3);
        memcpy(at + 5, nop, sizeof nop);
    }
}

void vt_xray_turn_on(uint8_t kind, uint8_t *at, const void *hook)
{
    uint32_t to = (uint32_t)distance(at, hook);
    if (kind == VT_XRAY_EXIT) {
        if (*at == RET && at[5] == RET) __atomic_store_n(at, CALL, __ATOMIC_RELAXED);
    } else if (*at == jump[0] && !memcmp(at + 5, nop, sizeof nop))
        __atomic_store_n((uint16_t *)(void *)at, (uint16_t)(CALL | (to & 0xff) << 8), __ATOMIC_RELAXED);
}

#endif
