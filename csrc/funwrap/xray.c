/* SPDX-License-Identifier: BSD-3-Clause */
/* Other threads may run the code whose sleds become calls. The bytes after a sled's first instruction, which no thread
   executes, change first. One store then changes the first instruction. */
#include "funwrap.h"

#if VT_HAS_SLEDS

/* Addresses are relative to the words that hold them. */
struct xray_sled {
    int64_t address, function;
    uint8_t kind, always, version, unused[13];
};
_Static_assert(sizeof(struct xray_sled) == 32, "the size of an entry in xray_instr_map");

/* Returns the first byte of a sled; NULL: the sled is not at a function's start or end. */
static uint8_t *sled_of(const struct xray_sled *s)
{
    uint8_t *at = (uint8_t *)((uintptr_t)&s->address + (uintptr_t)s->address);
    return s->version == 2 && vt_xray_is_sled(s->kind, at) ? at : NULL;
}

static const void *hook_of(const struct vt_sleds *sleds, const struct xray_sled *s)
{
    return s->kind == VT_XRAY_EXIT || s->kind == VT_XRAY_TAIL_EXIT ? sleds->on_leave : sleds->on_enter;
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
        hidden |= at && vt_xray_is_hidden(s->kind, (const uint8_t *)at);
    }
    if (low > high) return 1;
    if (hidden)
        vt_warn_left_out(
            "user",
            "a function with a breakpoint at its start is not recorded: start the program, then set breakpoints");
    if (!vt_patch_protect(low, high + VT_XRAY_BYTES - low, 1)) return 0;
    for (const struct xray_sled *s = first; s < end; s++)
        if (sled_of(s)) vt_xray_prepare(s->kind, sled_of(s), hook_of(sleds, s));
    vt_patch_settle();
    for (const struct xray_sled *s = first; s < end; s++)
        if (sled_of(s)) vt_xray_turn_on(s->kind, sled_of(s), hook_of(sleds, s));
    vt_patch_settle();
    vt_patch_protect(low, high + VT_XRAY_BYTES - low, 0);
    return 1;
}

#else

int vt_xray_make_calls(const struct vt_sleds *sleds)
{
    (void)sleds;
    return 1;
}

#endif
