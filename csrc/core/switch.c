/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches recording off and on, for the whole process. While recording is off, each event takes the slow path, which
   follows the stack. A leave is recorded if its region was entered before recording was switched off. When recording is
   switched on, regions entered in between and still open get an enter record. Stacks therefore stay balanced, and the
   fast path needs no test. Classes that VT_MAX_SIZE stops first (stop.c) are handled in the same way. */
#define _GNU_SOURCE
#include <stddef.h>
#include "recording.h"

/* Writes a record at a time not before the last record, nor before the end of the last flush. */
static void put(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t when)
{
    if (when < l->last) when = l->last;
    vt_put_record(l, words, n, when < l->resumed ? l->resumed : when);
}

static void put_word(struct vt_location *l, uint64_t word, uint64_t when) { put(l, &word, 1, when); }

static void put_off(struct vt_location *l, uint64_t when)
{
    uint32_t n = when == vt_window_cut() && when < l->last ? vt_cut(l, when, l->missed) : 0;
    put_word(l, VT_HEAD(VT_K_OFF, 0, 0), when);
    l->off = 1;
    l->nmissed = n;
}

static int goes_first(uint64_t open) { return open & VT_OPEN_ADDRESS || vt_size_goes_first((uint32_t)open); }

static void put_on(struct vt_location *l, uint64_t when)
{
    uint32_t n = l->nmissed < VT_MISSED ? l->nmissed : VT_MISSED, out = 0;
    l->off = 0;
    if (vt_process.set.processor_wait && l == vt_own_location)
        (void)vt_thread_off_core(l); /* those until now were not recorded */
    put_word(l, VT_HEAD(VT_K_ON, 0, 0), when);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t words[2] = {VT_HEAD(VT_K_ENTER_ADDRESS, 1, 0), l->missed[i] & ~VT_OPEN_ADDRESS};
        if (l->size && goes_first(l->missed[i])) l->missed[out++] = l->missed[i];
        else if (l->missed[i] & VT_OPEN_ADDRESS) put(l, words, 2, when);
        else put_word(l, l->missed[i], when);
    }
    l->nmissed = l->size ? out + (l->nmissed - n) : 0;
}

/* Brings the location to the state of the process, at the time of the last switch. */
void vt_switch_follow(struct vt_location *l, uint64_t now)
{
    uint32_t off = atomic_load(&vt_process.off);
    uint64_t when = atomic_load(&vt_process.switched);
    if (off == l->off) return;
    if (when > now) when = now;
    if (off) put_off(l, when);
    else put_on(l, when);
}

static VT_GENERAL_REGISTERS void enter(struct vt_location *l, uint64_t what)
{
    if (l->nmissed < VT_MISSED) l->missed[l->nmissed] = what;
    l->nmissed++;
}

/* Returns 0 if the region was entered before recording was switched off; regions entered since then count as left. */
static VT_GENERAL_REGISTERS int leave(struct vt_location *l, uint64_t what)
{
    if (l->nmissed > VT_MISSED) {
        l->nmissed--;
        return 1;
    }
    for (uint32_t i = l->nmissed; i > 0; i--)
        if (l->missed[i - 1] == what) {
            l->nmissed = i - 1;
            return 1;
        }
    l->nmissed = 0;
    return 0;
}

/* Handles one record while recording is off. Returns 0 if the record must be written, with the records of the same
   moment. */
static VT_GENERAL_REGISTERS int pass_by(struct vt_location *l, uint32_t what, const uint64_t *payload)
{
    if (what & VT_FUNCTION) {
        if (what & VT_FUNCTION_LEAVE) return leave(l, what & ~VT_FUNCTION_LEAVE);
        enter(l, what);
        return 1;
    }
    switch (vt_effect(what)) {
    case VT_STACK_ENTER: enter(l, VT_WHAT(VT_K_ENTER, 0, VT_ID(what))); return 1;
    case VT_STACK_LEAVE: return leave(l, VT_WHAT(VT_K_ENTER, 0, VT_ID(what)));
    case VT_STACK_ENTER_ADDRESS: enter(l, *payload | VT_OPEN_ADDRESS); return 1;
    case VT_STACK_LEAVE_ADDRESS: return leave(l, *payload | VT_OPEN_ADDRESS);
    case VT_STACK_END: l->nmissed = 0; return 0;
    case VT_STACK_NONE: break;
    }
    return VT_KIND(what) != VT_K_HEAP; /* heap of a thread that ends: no later record contains it */
}

static int is_attribute(uint32_t what) { return !(what & VT_FUNCTION) && VT_KIND(what) == VT_K_ATTRIBUTE; }

/* Decides about records of one moment after VT_MAX_SIZE has stopped some classes. Returns 1 if one record is of another
   class or leaves a recorded region; an operation of MPI I/O then keeps its call. */
static int stays(struct vt_location *l, const uint64_t *words, unsigned n)
{
    int stays = 0, goes = 0;
    for (unsigned i = 0; i < n; i += 1 + VT_WORDS((uint32_t)words[i])) {
        uint32_t what = (uint32_t)words[i];
        int first = vt_size_goes_first(what);
        goes |= first;
        if (first && vt_kinds[what >> 24] & VT_KIND_STACK) stays |= !pass_by(l, what, words + i + 1);
        else stays |= !first && !is_attribute(what);
        if (!(what & VT_FUNCTION) && VT_KIND(what) == VT_K_THREAD) l->nmissed = 0;
    }
    if (goes && !stays) VT_SET(l->left, l->left + vt_events_in(words, n));
    return stays || !goes;
}

void vt_put_switched(struct vt_location *l, const uint64_t *words, unsigned n, uint64_t now)
{
    int record = 0;
    vt_switch_follow(l, now);
    if (!l->off) record = !l->size || l->stopped || stays(l, words, n);
    for (unsigned i = 0; l->off && i < n; i += 1 + VT_WORDS((uint32_t)words[i]))
        record |= !pass_by(l, (uint32_t)words[i], words + i + 1);
    /* after VT_STOP_AFTER no record has a later time, as if the regions had been left then */
    const uint64_t switched = atomic_load(&vt_process.switched);
    if (record) put(l, words, n, l->off && switched == vt_window_cut() && switched < now ? switched : now);
}

/* Returns 1 if a function event is only counted, without a clock reading: the location has stopped or records no
   functions any more. Returns 0 if the event may have to be recorded, or if another action is due. */
VT_GENERAL_REGISTERS int vt_leaves_out(struct vt_location *l, uint64_t what)
{
    static const uint64_t none;
    int off = l->off || atomic_load_explicit(&vt_process.off, memory_order_relaxed);
    int due = vt_window_is_due(UINT64_MAX - 1) || vt_ring_is_asked(l);
    if (off || due || VT_READ(l->vforked) || l->size != atomic_load_explicit(&vt_process.full, memory_order_relaxed))
        return 0;
    if (l->stopped) atomic_fetch_add_explicit(&l->lost, 1, memory_order_relaxed);
    else if (!pass_by(l, (uint32_t)what, &none)) return 0;
    else VT_SET(l->left, l->left + 1);
    return 1;
}

VT_GENERAL_REGISTERS int vt_passes_by(struct vt_location *l, uint32_t what, uint64_t now)
{
    static const uint64_t none;
    uint32_t off = atomic_load_explicit(&vt_process.off, memory_order_relaxed);
    uint32_t full = atomic_load_explicit(&vt_process.full, memory_order_relaxed);
    if (!off || !l->off || l->size != full || vt_window_is_due(now) || vt_ring_is_asked(l)) return 0;
    return pass_by(l, what, &none);
}

/* ---- The switch ---- */

static _Atomic uint32_t switching; /* lock: one thread at a time */
static void (*_Atomic told)(int on);

/* 1: the structure, perhaps from an older MPI shim, contains the member, and the member is set. */
#define HAS(shim, member) ((shim)->size >= offsetof(struct vt_shim, member) + sizeof(shim)->member && (shim)->member)

static void (*_Atomic synchronize)(void);

static void (*_Atomic sections)(void);
static _Atomic int has_sections;

void vt_sections_attach(const struct vt_shim *shim)
{
    if (!HAS(shim, sections)) return;
    atomic_store(&sections, shim->sections);
    if (atomic_load(&has_sections) || vt_setting_text("VT_SECTION_LEVEL")) shim->sections();
}

void vt_sections_begin(void)
{
    if (atomic_exchange(&has_sections, 1)) return;
    void (*call)(void) = atomic_load(&sections);
    if (call) call();
}

void vt_switch_attach(const struct vt_shim *shim)
{
    if (HAS(shim, switched)) atomic_store(&told, shim->switched);
    if (HAS(shim, switched) && !vt_is_on()) shim->switched(0);
    if (HAS(shim, synchronize)) atomic_store(&synchronize, shim->synchronize);
}

void vt_synchronize(struct vt_location *l)
{
    void (*call)(void) = atomic_load(&synchronize);
    vt_define_clock(l);
    if (call) call();
}

/* Also 1 before the first event, which starts the runtime. */
int vt_is_on(void) { return atomic_load(&vt_process.state) < VT_ENDED && !atomic_load(&vt_process.off); }

static void change(struct vt_location *own, int on, uint64_t when)
{
    if (own) vt_busy_begin(own);
    uint64_t now = vt_now();
    atomic_store(&vt_process.switched, when && when < now ? when : now);
    atomic_store(&vt_process.off, !on);
    vt_limits_clear();
    if (!own) return;
    vt_switch_follow(own, now);
    if (!on) VT_SET(own->limit, NULL);
    vt_busy_end(own);
}

void vt_switch_at(struct vt_location *own, int on, uint64_t when)
{
    uint64_t mask;
    if (vt_shares_memory()) return;
    vt_lock(&switching, &mask);
    if (atomic_load(&vt_process.off) != !on) {
        void (*tell)(int) = atomic_load(&told);
        if (tell && !on) tell(0);
        change(own, on, when);
        if (tell && on) tell(1);
    }
    vt_unlock(&switching, &mask);
}
