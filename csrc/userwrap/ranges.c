/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges: regions that overlap others of their thread, or that another thread ends (nvtxRangeStart, overlapped tasks of
   ITT). Since the regions of a location nest, each range takes the first lane without an open range; lanes are
   locations without a thread.
   A lane's state says who may write to its location: FREE, TAKEN by a thread that is writing, else the open range. The
   exchanges to and from TAKEN are sequentially consistent, so one thread sees all records of the one before. */
#include <string.h>
#include "userwrap.h"

#define LANES 1024u /* as many ranges may be open at one time; the lower bits of a range's number */
enum { FREE, TAKEN };

struct lane {
    _Atomic uint64_t state;
    struct vt_location *location; /* a forked child reads in_use 0 there, and replaces it */
    uint64_t generation;
    uint32_t region;
};

static void *lanes; /* LANES of struct lane, once there is a range */

static void record(struct vt_location *l, const uint64_t *words, unsigned n)
{
    vt_busy_begin(l);
    vt_put(l, words, n, vt_now());
    vt_busy_end(l);
}

/* As vt_user_begins. The limits of a filter count open calls by threads, which ranges do not have. */
static uint32_t region_of(uint32_t id)
{
    if (VT_LIKELY(vt_user_is_defined(VT_ID_REGION, id))) return id;
    const uint32_t number = vt_user_limit_of(id);
    return number ? vt_limited_begin(number) : 0;
}

static struct lane *take(void)
{
    struct lane *all = vt_pages_once(&lanes, LANES * sizeof *all);
    if (!all) return NULL;
    for (struct lane *lane = all; lane < all + LANES; lane++) {
        uint64_t is = FREE;
        if (!atomic_load_explicit(&lane->state, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&lane->state, &is, TAKEN))
            return lane;
    }
    vt_warn_left_out("user", "more than %u ranges of annotations are open at one time: further ones are not recorded",
                     LANES);
    return NULL;
}

VT_PUBLIC uint64_t VT_User_range_start__(uint32_t id) { return VT_User_range_start_with__(id, NULL, 0); }

VT_PUBLIC uint64_t VT_User_range_start_with__(uint32_t id, const uint64_t *attributes, unsigned words)
{
    uint64_t all[VT_ATTRIBUTE_WORDS + 1];
    if (!vt_location_to_record(1) || vt_shares_memory()) return 0;
    const uint32_t region = region_of(id);
    struct lane *lane = region ? take() : NULL;
    if (!lane) return 0;
    if (!lane->location || !lane->location->in_use) lane->location = vt_location_new_lane();
    if (!lane->location) {
        atomic_store(&lane->state, FREE);
        return 0;
    }
    if (words) memcpy(all, attributes, words * sizeof *all);
    all[words] = VT_HEAD(VT_K_ENTER, 0, lane->region = region);
    record(lane->location, all, words + 1);
    const uint64_t range = ++lane->generation * LANES + (uint64_t)(lane - (struct lane *)lanes);
    atomic_store(&lane->state, range);
    return range;
}

VT_PUBLIC void VT_User_range_end__(uint64_t range)
{
    struct lane *all = __atomic_load_n(&lanes, __ATOMIC_ACQUIRE);
    if (!all || range < LANES || vt_shares_memory()) return;
    struct lane *lane = &all[range % LANES];
    uint64_t is = range;
    if (!atomic_compare_exchange_strong(&lane->state, &is, TAKEN)) return;
    /* a forked child does not end its parent's ranges */
    const uint64_t word = VT_HEAD(VT_K_LEAVE, 0, lane->region);
    if (lane->location->in_use) record(lane->location, &word, 1);
    atomic_store(&lane->state, FREE);
}
