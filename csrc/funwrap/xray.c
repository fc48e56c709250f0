/* SPDX-License-Identifier: BSD-3-Clause */
/* A sled of clang's -fxray-instrument is at first a jump over nine bytes at the begin of a function and before a tail
   call, or a RET and ten bytes of padding at the end of a function. Here it becomes CALL rel32 and a NOP of six bytes, or
   CALL rel32 and RET. A thread may run the code meanwhile: the bytes behind the first instruction change first, which
   nobody executes, and then the first instruction, by one store. */
#include "xray.h"

#if defined(__x86_64__)

#include <string.h>
#include "patch.h"

/* Addresses are relative to the words that hold them. */
struct xray_sled {
    int64_t address, function;
    uint8_t kind, always, version, unused[13];
};
_Static_assert(sizeof(struct xray_sled) == 32, "the size of an entry in xray_instr_map");
enum { ENTER, EXIT, TAIL_EXIT, ENTER_WITH_ARGUMENTS };

static const uint8_t jump[11] = {0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
static const uint8_t returns[11] = {0xc3, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
static const uint8_t nop[6] = {0x66, 0x0f, 0x1f, 0x44, 0, 0};
enum { CALL = 0xe8, RET = 0xc3, INT3 = 0xcc };

/* Returns the first byte of a sled; NULL: the sled is none of a function's begin or end. */
static uint8_t *sled_of(const struct xray_sled *s)
{
    uint8_t *at = (uint8_t *)((uintptr_t)&s->address + (uintptr_t)s->address);
    return s->version == 2 && s->kind <= ENTER_WITH_ARGUMENTS && (uintptr_t)at % 2 == 0 ? at : NULL;
}

/* Returns the distance of the called hook from the end of the CALL. */
static int32_t distance(const struct vt_sleds *sleds, const struct xray_sled *s, const uint8_t *at)
{
    const void *hook = s->kind == EXIT || s->kind == TAIL_EXIT ? sleds->on_leave : sleds->on_enter;
    return (int32_t)((uintptr_t)hook - ((uintptr_t)at + 5));
}

/* Returns 1 if a breakpoint hides the first byte of a sled. The debugger puts that byte back, so the sled must stay. */
static int is_hidden(const struct xray_sled *s, const uint8_t *at)
{
    return *at == INT3 && !memcmp(at + 1, (s->kind == EXIT ? returns : jump) + 1, sizeof jump - 1);
}

/* Writes the bytes behind the first instruction, if the sled is as clang has written it. */
static void prepare(const struct vt_sleds *sleds, const struct xray_sled *s, uint8_t *at)
{
    int32_t to = distance(sleds, s, at);
    if (memcmp(at, s->kind == EXIT ? returns : jump, sizeof jump) != 0) return;
    if (s->kind == EXIT) {
        memcpy(at + 1, &to, 4);
        at[5] = RET;
        memset(at + 6, INT3, 5); /* patch.c reads the function's instructions */
    } else {
        memcpy(at + 2, (const uint8_t *)&to + 1, 3);
        memcpy(at + 5, nop, sizeof nop);
    }
}

/* Writes the first instruction of a prepared sled. */
static void turn_on(const struct vt_sleds *sleds, const struct xray_sled *s, uint8_t *at)
{
    uint32_t to = (uint32_t)distance(sleds, s, at);
    if (s->kind == EXIT) {
        if (*at == RET && at[5] == RET) __atomic_store_n(at, CALL, __ATOMIC_RELAXED);
    } else if (*at == jump[0] && !memcmp(at + 5, nop, sizeof nop))
        __atomic_store_n((uint16_t *)(void *)at, (uint16_t)(CALL | (to & 0xff) << 8), __ATOMIC_RELAXED);
}

int vt_xray_make_calls(const struct vt_sleds *sleds)
{
    const struct xray_sled *first = sleds->xray, *end = sleds->xray_end;
    uintptr_t low = UINTPTR_MAX, high = 0;
    int hidden = 0;
    for (const struct xray_sled *s = first; s < end; s++) {
        uintptr_t at = (uintptr_t)sled_of(s);
        if (at && at < low) low = at;
        if (at && at > high) high = at;
        hidden |= at && is_hidden(s, (const uint8_t *)at);
    }
    if (low > high) return 1;
    if (hidden)
        vt_warn("a function with a breakpoint at its begin is not recorded: start the program, then set breakpoints");
    if (!vt_patch_protect(low, high + sizeof jump - low, 1)) return 0;
    for (const struct xray_sled *s = first; s < end; s++)
        if (sled_of(s)) prepare(sleds, s, sled_of(s));
    vt_patch_settle();
    for (const struct xray_sled *s = first; s < end; s++)
        if (sled_of(s)) turn_on(sleds, s, sled_of(s));
    vt_patch_settle();
    vt_patch_protect(low, high + sizeof jump - low, 0);
    return 1;
}

#else

int vt_xray_make_calls(const struct vt_sleds *sleds)
{
    (void)sleds;
    return 1;
}

#endif
