/* SPDX-License-Identifier: BSD-3-Clause */
/* The extensions of NVTX 3: payloads (nvtx3/nvToolsExtPayload.h) and counters (nvtx3/nvToolsExtCounters.h). Numbers of
   functions are those of NVTX3EXT_CBID_... there; functions that are not set do nothing. An extension must succeed to
   load, even one of which nothing is recorded, since Python's nvtx calls NVTX no more if one fails. */
#include <stdio.h>
#include <time.h>
#include "nvtx.h"

/* nvtxExtModuleSegment_t and nvtxExtModuleInfo_t of nvtx3/nvtxDetail/nvtxExtTypes.h */
struct segment {
    size_t id, slots;
    intptr_t *slot;
};
struct module {
    uint16_t nvtx, bytes, id, compatible;
    size_t segments;
    struct segment *segment;
    void *get;
    const void *info;
};
enum { PAYLOAD = 2, COUNTERS = 4 };

/* ---- Payloads: events whose attributes are data with a layout that the program registers. Their names are not known ---- */

#define DYNAMIC (UINT64_C(1) << 32) /* ids below belong to the program */

static uint64_t next_id(void)
{
    static _Atomic uint64_t last = DYNAMIC;
    return atomic_fetch_add(&last, 1) + 1;
}

/* nvtxPayloadSchemaRegister, nvtxPayloadEnumRegister, nvtxScopeRegister */
static uint64_t register_layout(struct vt_named *domain, const void *attributes)
{
    (void)domain, (void)attributes;
    return next_id();
}

static int push(struct vt_named *handle, const void *data, size_t n)
{
    (void)data, (void)n;
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (domain) VT_User_push__(domain->number, vt_region_in(domain, NULL));
    return NVTX_UNTRACKED;
}

static int pop(struct vt_named *handle, const void *data, size_t n)
{
    (void)data, (void)n;
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (domain) VT_User_pop__(domain->number);
    return NVTX_UNTRACKED;
}

static uint64_t start(struct vt_named *handle, const void *data, size_t n)
{
    (void)data, (void)n;
    struct vt_named *domain = vt_nvtx_domain(handle);
    return domain ? VT_User_range_start__(vt_region_in(domain, NULL)) : 0;
}

static void end(struct vt_named *handle, uint64_t range, const void *data, size_t n)
{
    (void)handle, (void)data, (void)n;
    VT_User_range_end__(range);
}

static void mark(struct vt_named *handle, const void *data, size_t n)
{
    (void)data, (void)n;
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (domain) vt_mark_in(domain, NULL);
}

static uint8_t is_enabled(struct vt_named *domain)
{
    (void)domain;
    return 1;
}

static int64_t timestamp(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- Counters ---- */

struct counter_attributes { /* nvtxCounterAttr_t */
    size_t bytes;
    uint64_t schema;
    const char *name, *description;
    uint64_t scope;
    const void *semantics;
    uint64_t id; /* 0: the tool chooses it */
};

/* Returns the type of the counter of a schema (NVTX_PAYLOAD_ENTRY_TYPE_...); 0: not a number. */
static int type_of(uint64_t schema)
{
    static const uint8_t types[] = {
        [3] = VT_COUNT_TYPE_SIGNED,    [4] = VT_COUNT_TYPE_UNSIGNED,  [5] = VT_COUNT_TYPE_SIGNED,
        [6] = VT_COUNT_TYPE_UNSIGNED,  [7] = VT_COUNT_TYPE_SIGNED,    [8] = VT_COUNT_TYPE_UNSIGNED,
        [9] = VT_COUNT_TYPE_SIGNED,    [10] = VT_COUNT_TYPE_UNSIGNED, [11] = VT_COUNT_TYPE_SIGNED,
        [12] = VT_COUNT_TYPE_UNSIGNED, [13] = VT_COUNT_TYPE_SIGNED,   [14] = VT_COUNT_TYPE_UNSIGNED,
        [15] = VT_COUNT_TYPE_SIGNED,   [16] = VT_COUNT_TYPE_UNSIGNED, [17] = VT_COUNT_TYPE_SIGNED,
        [18] = VT_COUNT_TYPE_UNSIGNED, [19] = VT_COUNT_TYPE_DOUBLE,   [20] = VT_COUNT_TYPE_DOUBLE,
        [22] = VT_COUNT_TYPE_UNSIGNED, [43] = VT_COUNT_TYPE_DOUBLE,   [44] = VT_COUNT_TYPE_DOUBLE,
    };
    return schema < sizeof types ? types[schema] : 0;
}

/* A counter whose id the program has chosen has a name of its own for the id. */
static struct vt_named *chosen(struct vt_named *domain, uint64_t id)
{
    char text[40];
    snprintf(text, sizeof text, "counter %llu", (unsigned long long)id);
    return vt_named(domain, text);
}

static uint64_t register_counter(struct vt_named *handle, const struct counter_attributes *a)
{
    struct vt_named *domain = vt_nvtx_domain(handle);
    const int type = a ? type_of(a->schema) : 0;
    const uint32_t counter = domain && type ? vt_counter_in(domain, a->name, type) : 0;
    if (!a || !a->id) return counter ? DYNAMIC + counter : next_id() << 1;
    struct vt_named *name = domain ? chosen(domain, a->id) : NULL;
    if (name) atomic_store(&name->counter, counter);
    return a->id;
}

static uint32_t counter_of(struct vt_named *handle, uint64_t id)
{
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (id >= DYNAMIC) return id - DYNAMIC < DYNAMIC ? (uint32_t)(id - DYNAMIC) : 0;
    struct vt_named *name = domain ? chosen(domain, id) : NULL;
    return name ? atomic_load(&name->counter) : 0;
}

static void sample_int(struct vt_named *handle, uint64_t id, int64_t value)
{
    VT_User_count_signed_val__(counter_of(handle, id), value);
}

static void sample_float(struct vt_named *handle, uint64_t id, double value)
{
    VT_User_count_double_val__(counter_of(handle, id), value);
}

/* ---- Loading ---- */

static void set(const struct module *m, size_t slot, void *call)
{
    if (m->segments && slot < m->segment->slots) m->segment->slot[slot] = (intptr_t)call;
}

VT_EXPORTED int InitializeInjectionNvtxExtension(struct module *m)
{
    if (!vt_annotations_attach("NVTX")) return 0;
    if (m->id == PAYLOAD) {
        set(m, 0, register_layout);
        set(m, 1, register_layout);
        set(m, 2, mark);
        set(m, 3, push);
        set(m, 4, pop);
        set(m, 5, start);
        set(m, 6, end);
        set(m, 7, is_enabled);
        set(m, 8, timestamp);
        set(m, 12, register_layout);
    }
    if (m->id == COUNTERS) {
        set(m, 0, register_counter);
        set(m, 1, sample_int);
        set(m, 2, sample_float);
    }
    return 1;
}
