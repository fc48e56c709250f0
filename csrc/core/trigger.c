/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_TRIGGER: the flight recorder writes all records when an iteration takes longer than a multiple of the median of those
   before on its thread, when MPI calls take more than a part of a thread's time, in an iteration or in a second, or when a
   counter of the user API rises above a value. The walk over a full chunk (thin.c) sees the calls and values. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include "location.h"

#define LEAST 10u /* iterations before the first one that may take long */
#define SECOND 1000000000u

static void *mpi_regions; /* a bit for each id */

void vt_trigger_region(uint32_t id, uint8_t paradigm)
{
    if (!*vt_process.set.trigger || paradigm != VT_PARADIGM_MPI) return;
    uint8_t *bits = vt_pages_once(&mpi_regions, VT_ID_MAX / 8 + 1);
    if (bits) __atomic_fetch_or(&bits[id / 8], 1u << id % 8, __ATOMIC_RELAXED);
}

static int is_mpi(uint64_t region)
{
    const uint8_t *bits = __atomic_load_n(&mpi_regions, __ATOMIC_ACQUIRE);
    const uint32_t id = VT_ID((uint32_t)region);
    if (!bits || region & VT_OPEN_ADDRESS || region & VT_FUNCTION) return 0;
    return VT_READ(bits[id / 8]) >> id % 8 & 1;
}

static void fire(struct vt_keep *k, uint64_t number)
{
    if (!k->fired) k->fired = number;
    VT_SET(k->fires, k->fires + 1);
    vt_ring_ask();
    vt_node_fire();
}

/* Looks at the time in MPI since the last look. Fires for the first of several parts that are above the bound.
   number: of the iteration, 1: none. */
static void see_part(struct vt_keep *k, uint64_t ticks, uint64_t now, uint64_t number)
{
    const uint64_t open = k->mpi_depth ? now - k->mpi_entered : 0;
    const double part = ticks ? (double)(k->mpi_ticks + open) / (double)ticks : 0;
    const uint32_t is_above = part * (double)VT_KEEP_ALL > (double)k->rules.mpi;
    k->mpi_ticks = 0;
    k->mpi_entered = k->since = now;
    if (is_above && !k->is_above) {
        k->part = (uint32_t)(100 * part + 0.5);
        fire(k, number);
    }
    k->is_above = is_above;
}

static void see_second(struct vt_keep *k, uint64_t now)
{
    if (!*vt_process.set.iteration && now - k->since >= k->second) see_part(k, now - k->since, now, 1);
}

void vt_trigger_call(struct vt_keep *k, uint64_t region, int enters, uint64_t now)
{
    if (!k->rules.mpi || !is_mpi(region)) return;
    if (!k->since) k->since = now;
    if (enters) {
        if (!k->mpi_depth++) k->mpi_entered = now;
        return;
    }
    if (k->mpi_depth && !--k->mpi_depth) k->mpi_ticks += now - k->mpi_entered;
    see_second(k, now);
}

/* ---- Counters ---- */

static _Atomic(uint32_t) counter; /* id of the counter that VT_TRIGGER names; 0: not defined yet */
static char counter_type; /* as in VT_D_METRIC; set before `counter` */

void vt_trigger_counter(uint32_t id, const char *name, char type)
{
    struct vt_keep_rules rules;
    if (!*vt_process.set.trigger || !vt_setting_trigger(vt_process.set.trigger, &rules) || !rules.counter) return;
    if (strlen(name) != rules.counter_bytes || memcmp(name, rules.counter, rules.counter_bytes)) return;
    counter_type = type;
    atomic_store(&counter, id);
}

int vt_trigger_lacks_counter(void)
{
    struct vt_keep_rules rules;
    const int is_rule = *vt_process.set.trigger && vt_setting_trigger(vt_process.set.trigger, &rules);
    return is_rule && rules.counter && !atomic_load(&counter);
}

void vt_trigger_value(struct vt_keep *k, const uint64_t *record)
{
    double value = (double)record[1];
    const uint32_t id = atomic_load(&counter);
    if (!k->rules.counter || !id || VT_ID((uint32_t)*record) != id) return;
    if (counter_type == 'f') memcpy(&value, &record[1], sizeof value);
    else if (counter_type == 'i') value = (double)(int64_t)record[1];
    const uint32_t is_above = value > k->rules.above;
    if (is_above && !k->is_above) fire(k, k->open.at ? k->open.number : 1);
    k->is_above = is_above;
}

/* ---- Iterations and seconds ---- */

void vt_trigger_begins(struct vt_keep *k, uint64_t now)
{
    k->mpi_ticks = 0;
    k->mpi_entered = now;
}

void vt_trigger_ends(struct vt_keep *k, uint64_t number, uint64_t ticks, uint64_t now)
{
    if (k->rules.mpi) {
        see_part(k, ticks, now, number);
        return;
    }
    if (!k->rules.longer || !k->slow || k->ended < LEAST) return;
    const double median = (double)vt_keep_median(k);
    if ((double)ticks / (median > 1 ? median : 1) * 10000 > (double)k->rules.longer) fire(k, number);
}

void vt_trigger_walked(struct vt_keep *k, uint64_t now)
{
    if (!*vt_process.set.trigger) return;
    if (vt_node_has_fired()) vt_ring_ask();
    const struct vt_clock_pair *p = &vt_process.head.pair;
    const uint64_t ns = vt_clock_ns(CLOCK_MONOTONIC_RAW) - p->mono;
    if (!k->rules.mpi || !ns) return;
    k->second = (uint64_t)((double)(vt_now() - p->ticks) / (double)ns * SECOND);
    see_second(k, now);
}

void vt_trigger_tell(struct vt_location *l)
{
    char words[200];
    struct vt_keep *k = l->keep;
    const char *iteration = vt_process.set.iteration;
    if (!k || !k->fired) return;
    struct vt_text t = vt_text_into(words, sizeof words);
    vt_text_add(&t, "VT_TRIGGER: ");
    if (k->rules.mpi) vt_text_dec(&t, k->part);
    vt_text_add(&t, k->rules.counter ? vt_process.set.trigger : k->rules.mpi ? " % of " : "long ");
    if (k->rules.counter && *iteration) vt_text_add(&t, " in ");
    if (*iteration) {
        vt_text_add(&t, "iteration ");
        vt_text_dec(&t, k->fired);
        vt_text_add(&t, " of ", iteration);
    } else if (k->rules.mpi) vt_text_add(&t, "the last second");
    if (k->rules.mpi) vt_text_add(&t, " in MPI");
    k->fired = 0;
    const uint32_t marker = (uint32_t)vt_new_id(VT_ID_MARKER), text = (uint32_t)vt_new_id(VT_ID_TEXT);
    if (!marker || !text) return;
    vt_define_at(l, VT_D_MARKER, vt_number(marker), vt_string("trigger"), vt_number(VT_MARKER_HINT));
    vt_define_at(l, VT_D_TEXT, vt_number(text), vt_string(words));
    const uint64_t record[2] = {VT_HEAD(VT_K_MARKER, 1, marker), text};
    vt_put_record(l, record, 2, vt_now());
}
