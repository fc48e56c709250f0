/* SPDX-License-Identifier: BSD-3-Clause */
/* What a finished chunk holds and leaves open, found by reading it again: nothing of this burdens the path of an event. */
#include "internal.h"

static const uint16_t classes[128] = {
#define KIND_CLASS(name, number, words, class) [number] = VT_CLASS_##class,
    VT_KINDS(KIND_CLASS)
#undef KIND_CLASS
};

static void enter(struct vt_location *l, uint64_t what)
{
    if (l->depth < VT_OPEN_MAX) l->open[l->nopen++] = what;
    l->depth++;
}

/* A leave ends the regions above its own too: longjmp and exceptions pass them by. Below the regions that are known by
   name, depth counts alone.                                                                                         */
static void leave(struct vt_location *l, uint64_t what)
{
    if (l->depth > VT_OPEN_MAX) {
        l->depth--;
        return;
    }
    for (uint32_t i = l->nopen; i > 0; i--)
        if (l->open[i - 1] == what) {
            l->depth = l->nopen = i - 1;
            return;
        }
}

/* Whether the location has probably not met this function before. */
static uint32_t is_new(struct vt_location *l, uint32_t offset)
{
    uint32_t *slot = &l->filter[(offset * 0x9e3779b1u) >> 21];
    if (*slot == offset) return 0;
    *slot = offset;
    return VT_CLASS_NEW_CODE;
}

void vt_replay(struct vt_location *l, struct vt_chunk *c)
{
    uint32_t n = vt_chunk_used(c) / 8, found = 0, records = 0;
    const uint64_t *w = vt_chunk_words(c);
    for (uint32_t i = 0; i < n; records++) {
        uint32_t what = (uint32_t)w[i];
        if (what & VT_FUNCTION) {
            found |= VT_CLASS_FUNCTION | is_new(l, what & VT_CODE_MASK);
            if (what & VT_FUNCTION_LEAVE) leave(l, what & ~VT_FUNCTION_LEAVE);
            else enter(l, what);
            i++;
            continue;
        }
        uint32_t kind = VT_KIND(what);
        found |= classes[kind];
        if (kind == VT_K_ENTER) enter(l, what);
        else if (kind == VT_K_LEAVE) leave(l, VT_WHAT(VT_K_ENTER, 0, VT_ID(what)));
        else if (kind == VT_K_ENTER_ADDRESS) enter(l, w[i + 1] | VT_OPEN_ADDRESS);
        else if (kind == VT_K_LEAVE_ADDRESS) leave(l, w[i + 1] | VT_OPEN_ADDRESS);
        else if (kind == VT_K_THREAD) l->depth = l->nopen = 0;
        i += 1 + VT_WORDS(what);
    }
    c->records = records;
    c->classes = found;
    l->records += records;
}
