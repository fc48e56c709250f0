/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of annotations that the program leaves without naming them (nvtxRangePop, __itt_task_end): each thread keeps
   those that it has entered. Pushes of different domains need not nest. */
#include <string.h>
#include "userwrap.h"

#define MOST 4095u /* deeper pushes are not recorded */

struct pushed {
    uint32_t depth, unused; /* depth counts the deeper pushes, too */
    struct {
        uint32_t domain, id;
    } open[MOST];
};

static struct pushed *pushed_of(const struct vt_location *l) { return l->slot[VT_SLOT_PUSHED]; }

static __attribute__((noinline)) struct pushed *first_push(void)
{
    struct vt_location *l = vt_location_of_thread(1);
    if (l && !pushed_of(l)) l->slot[VT_SLOT_PUSHED] = vt_pages(sizeof(struct pushed));
    return l ? pushed_of(l) : NULL;
}

/* Returns the region to enter; 0: none. */
static inline __attribute__((always_inline)) uint32_t pushed(uint32_t domain, uint32_t id)
{
    struct vt_location *l = vt_own_location;
    struct pushed *p = VT_LIKELY(l && pushed_of(l)) ? pushed_of(l) : first_push();
    if (VT_UNLIKELY(!p)) return 0;
    const uint32_t depth = p->depth++; /* a signal handler pops what it pushes */
    if (VT_UNLIKELY(depth >= MOST)) {
        vt_warn_left_out("user", "more than %u annotated regions inside each other: deeper ones are not recorded",
                         MOST);
        return 0;
    }
    p->open[depth].domain = domain;
    p->open[depth].id = id;
    return vt_user_begins(id);
}

VT_PUBLIC void VT_User_push__(uint32_t domain, uint32_t id)
{
    const uint32_t region = pushed(domain, id);
    if (VT_LIKELY(region)) vt_write_few(VT_HEAD(VT_K_ENTER, 0, region), 0, 0, 0, 0, 1);
}

VT_PUBLIC void VT_User_push_with__(uint32_t domain, uint32_t id, const uint64_t *attributes, unsigned words)
{
    uint64_t all[VT_ATTRIBUTE_WORDS + 1];
    const uint32_t region = pushed(domain, id);
    if (!region) return;
    memcpy(all, attributes, words * sizeof *all);
    all[words] = VT_HEAD(VT_K_ENTER, 0, region);
    vt_write(all, words + 1);
}

VT_PUBLIC void VT_User_pop__(uint32_t domain)
{
    struct vt_location *l = vt_own_location;
    struct pushed *p = l ? pushed_of(l) : NULL;
    if (VT_UNLIKELY(!p || !p->depth)) return;
    if (VT_UNLIKELY(p->depth > MOST)) {
        p->depth--;
        return;
    }
    uint32_t at = p->depth - 1;
    while (VT_UNLIKELY(p->open[at].domain != domain))
        if (!at--) return;
    const uint32_t region = vt_user_ends(p->open[at].id);
    memmove(&p->open[at], &p->open[at + 1], (--p->depth - at) * sizeof p->open[0]);
    if (VT_LIKELY(region)) vt_write_few(VT_HEAD(VT_K_LEAVE, 0, region), 0, 0, 0, 0, 1);
}

static void thread_begins(struct vt_location *l)
{
    if (pushed_of(l)) pushed_of(l)->depth = 0; /* those of the previous thread of the location */
}

static struct vt_thread_follower follower = {.begins = thread_begins};

__attribute__((constructor)) static void follow(void) { vt_on_threads(&follower); }
