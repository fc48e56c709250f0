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

/* ---- Payloads: events whose attributes are data with a layout that the program registers ---- */

#define DYNAMIC (UINT64_C(1) << 32) /* ids below belong to the program */

static uint64_t next_id(void)
{
    static _Atomic uint64_t last = DYNAMIC;
    return atomic_fetch_add(&last, 1) + 1;
}

static uint64_t register_schema(struct vt_named *handle, const void *attributes)
{
    return vt_nvtx_register_schema(handle, attributes, next_id());
}

/* nvtxPayloadEnumRegister, nvtxScopeRegister */
static uint64_t register_other(struct vt_named *domain, const void *attributes)
{
    (void)domain, (void)attributes;
    return next_id();
}

static struct nvtx_event event_of(struct vt_named *handle, const struct nvtx_data *data, size_t n)
{
    struct nvtx_event e = {.payload_type = NVTX_DATA, .reserved = (int32_t)n};
    e.payload.u64 = (uintptr_t)data;
    vt_nvtx_describe(&e, handle, data, n);
    return e;
}

static int push(struct vt_named *handle, const struct nvtx_data *data, size_t n)
{
    const struct nvtx_event e = event_of(handle, data, n);
    return vt_nvtx_push(handle, &e);
}

static int pop(struct vt_named *handle, const struct nvtx_data *data, size_t n)
{
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (domain) vt_nvtx_record_data(handle, VT_UNNAMED, data, n);
    if (domain) VT_User_pop__(domain->number);
    return NVTX_UNTRACKED;
}

static uint64_t start(struct vt_named *handle, const struct nvtx_data *data, size_t n)
{
    const struct nvtx_event e = event_of(handle, data, n);
    return vt_nvtx_start(handle, &e);
}

static void end(struct vt_named *handle, uint64_t range, const struct nvtx_data *data, size_t n)
{
    if (vt_nvtx_domain(handle)) vt_nvtx_record_data(handle, VT_UNNAMED, data, n);
    VT_User_range_end__(range);
}

static void mark(struct vt_named *handle, const struct nvtx_data *data, size_t n)
{
    const struct nvtx_event e = event_of(handle, data, n);
    vt_nvtx_mark(handle, &e);
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

#define GROUPS_FROM (DYNAMIC << 8) /* ids of groups of counters */
#define GROUPS 1024u

static struct group {
    const struct vt_nvtx_schema *schema;
    struct vt_named *name;
} groups[GROUPS];
static _Atomic uint32_t ngroups;

/* Returns the number of a new group, from 1 on; 0: none is left. */
static uint32_t new_group(struct vt_named *domain, const struct vt_nvtx_schema *schema, const char *name)
{
    const uint32_t number = atomic_fetch_add(&ngroups, 1) + 1;
    if (number >= GROUPS) {
        vt_warn_left_out("metrics", "more than %u groups of counters of NVTX: further ones are not recorded",
                         GROUPS - 1);
        return 0;
    }
    groups[number] = (struct group){schema, vt_named(domain, name && *name ? name : "group")};
    return groups[number].name ? number : 0;
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
    const int type = a ? vt_nvtx_type_of(a->schema) : 0;
    const struct vt_nvtx_schema *schema = a && domain && !type ? vt_nvtx_schema(handle, a->schema) : NULL;
    const uint32_t counter = domain && type ? vt_counter_in(domain, a->name, type) : 0;
    const uint32_t group = schema ? new_group(domain, schema, a->name) : 0;
    if (!a || !a->id) return counter ? DYNAMIC + counter : group ? GROUPS_FROM + group : next_id() << 1;
    struct vt_named *name = domain ? chosen(domain, a->id) : NULL;
    if (name) atomic_store(&name->counter, counter);
    if (name) atomic_store(&name->label, group);
    return a->id;
}

static uint32_t counter_of(struct vt_named *handle, uint64_t id)
{
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (id >= DYNAMIC) return id - DYNAMIC < DYNAMIC ? (uint32_t)(id - DYNAMIC) : 0;
    struct vt_named *name = domain ? chosen(domain, id) : NULL;
    return name ? atomic_load(&name->counter) : 0;
}

static const struct group *group_of(struct vt_named *handle, uint64_t id)
{
    struct vt_named *domain = vt_nvtx_domain(handle), *name = domain && id < DYNAMIC ? chosen(domain, id) : NULL;
    const uint64_t number = id > GROUPS_FROM ? id - GROUPS_FROM : name ? atomic_load(&name->label) : 0;
    return number && number < GROUPS && groups[number].name ? &groups[number] : NULL;
}

/* nvtxCounterSample: the value of a counter as the program has it, or the values of a group. */
static void sample(struct vt_named *handle, uint64_t id, const void *value, size_t bytes)
{
    const struct group *group = group_of(handle, id);
    const uint32_t counter = group ? 0 : counter_of(handle, id);
    if (group) vt_nvtx_count(group->schema, group->name->text, value, bytes);
    else if (counter && value) vt_nvtx_count_as(counter, (int)(counter >> 24), value, bytes);
}

/* nvtxCounterSampleNoValue: only 0 is a value. */
static void sample_none(struct vt_named *handle, uint64_t id, uint8_t reason)
{
    const uint64_t zero = 0;
    if (!reason) sample(handle, id, &zero, sizeof zero);
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
        set(m, 0, register_schema);
        set(m, 1, register_other);
        set(m, 2, mark);
        set(m, 3, push);
        set(m, 4, pop);
        set(m, 5, start);
        set(m, 6, end);
        set(m, 7, is_enabled);
        set(m, 8, timestamp);
        set(m, 12, register_other);
    }
    if (m->id == COUNTERS) {
        set(m, 0, register_counter);
        set(m, 1, sample_int);
        set(m, 2, sample_float);
        set(m, 3, sample);
        set(m, 4, sample_none);
    }
    return 1;
}
