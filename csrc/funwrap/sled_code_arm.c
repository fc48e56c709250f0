/* SPDX-License-Identifier: BSD-3-Clause */
/* aarch64: a sled is the room of eight instructions that clang's -fxray-instrument leaves at the start of a function
   and before each end: a branch past the room and seven NOPs. The seven NOPs become a call of a hook whose address is
   part of the sled. To switch the sled, its first instruction changes, from the branch to a NOP and back. These two are
   instructions that may change while other threads execute them (Arm Architecture Reference Manual, B2.2.5).
   Memory order: the store of the first instruction is relaxed, and the cache is cleared. The other seven are written
   while the branch leads around them, and membarrier (SYNC_CORE) runs before the first NOP replaces a branch. */
#include "funwrap.h"

#if defined(__aarch64__)

#include <string.h>

enum {
    NOP = 0xd503201f,
    SKIP = 0x14000008, /* b .+32 */
    BREAK = 0xd4200000, /* brk #0: a debugger's breakpoint */
    BTI_C = 0xd503245f,
    MOVE = 0xaa1e03f1, /* mov x17, x30 */
    LOAD = 0x58000090, /* ldr x16, .+16 */
    CALL = 0xd63f0200, /* blr x16 */
    BEHIND = 0x14000004, /* b .+16 */
};
#define BYTES VT_XRAY_BYTES
#define RETURN 16 /* offset of the instruction after the call */
#define HOOK 24 /* offset of the hook's address */

static uint32_t word(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static int calls(const uint8_t *at, const void *hook)
{
    uint32_t first = word(at);
    return (first == NOP || first == SKIP || first == BREAK) && word(at + 4) == MOVE && word(at + 8) == LOAD &&
           word(at + 12) == CALL && !memcmp(at + HOOK, &hook, sizeof hook);
}

/* Writes the first instruction of a sled, the only one that a thread may be executing. */
static void write_first(uint8_t *at, uint32_t instruction)
{
    __atomic_store_n((uint32_t *)(void *)at, instruction, __ATOMIC_RELAXED);
    __builtin___clear_cache((char *)at, (char *)at + 4);
}

uint8_t *vt_sled_first(const struct vt_sleds *sleds, uintptr_t function, size_t bytes)
{
    const uint8_t *c = (const uint8_t *)function;
    if (bytes >= BYTES + 4 && word(c) == BTI_C) c += 4;
    return bytes >= BYTES && calls(c, sleds->on_enter) ? (uint8_t *)c : NULL;
}

uint8_t *vt_sled_next(const uint8_t **code, const uint8_t *end, const void *hook)
{
    for (const uint8_t *c = *code; end - c >= BYTES; c += 4) {
        if (!calls(c, hook)) continue;
        *code = c + BYTES;
        return (uint8_t *)c;
    }
    *code = end;
    return NULL;
}

uintptr_t vt_sled_place(const uint8_t *sled, const void *hook)
{
    (void)hook;
    return (uintptr_t)sled + RETURN;
}

uint8_t *vt_sled_of_place(uintptr_t place) { return (uint8_t *)place - RETURN; }

int vt_sled_is_on(const uint8_t *sled) { return word(sled) == NOP; }

int vt_sled_is_hidden(const uint8_t *sled) { return word(sled) == BREAK; }

void vt_sled_switch(uint8_t *sled, int on)
{
    if (!vt_sled_is_hidden(sled)) write_first(sled, on ? NOP : SKIP);
}

int vt_xray_is_sled(uint8_t kind, const uint8_t *at)
{
    return kind <= VT_XRAY_ENTER_WITH_ARGUMENTS && (uintptr_t)at % 4 == 0;
}

/* Returns 1 if nothing has changed the seven instructions after the first one. */
static int is_room(const uint8_t *at)
{
    for (unsigned i = 1; i < BYTES / 4; i++)
        if (word(at + (size_t)4 * i) != NOP) return 0;
    return 1;
}

int vt_xray_is_hidden(uint8_t kind, const uint8_t *at)
{
    (void)kind;
    return word(at) == BREAK && is_room(at);
}

void vt_xray_prepare(uint8_t kind, uint8_t *at, const void *hook)
{
    const uint32_t call[] = {MOVE, LOAD, CALL, BEHIND};
    (void)kind;
    if (word(at) != SKIP || !is_room(at)) return;
    memcpy(at + 4, call, sizeof call);
    memcpy(at + HOOK, &hook, sizeof hook);
    __builtin___clear_cache((char *)at, (char *)at + BYTES);
}

void vt_xray_turn_on(uint8_t kind, uint8_t *at, const void *hook)
{
    (void)kind;
    if (word(at) == SKIP && calls(at, hook)) write_first(at, NOP);
}

#endif
