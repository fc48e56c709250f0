/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of functions, kernels and copies, and the attributes of their events. Kernels are found by name, since a
   program may create a kernel again and again: in lists to whose heads new names are added. */
#include <string.h>
#include "devices.h"

enum { ROLE_KERNEL = 40, ROLE_DATA_TRANSFER = 30 };
#define HIDDEN UINT32_MAX
#define LISTS 256u

struct kernel {
    struct kernel *next;
    struct vt_device_named named;
    char name[];
};

static struct kernel *_Atomic lists[LISTS];

/* The region of a name, defined at its first use. 0: the filter leaves the call out. Two threads may define a region at
   one time; vtunify merges equal ones. */
static uint32_t take(struct vt_device_named *named, uint8_t role)
{
    uint32_t region = atomic_load_explicit(&named->region, memory_order_acquire);
    if (!region) {
        const int64_t limit = vt_call_limit(named->name, vt_device_api.group);
        if (limit) region = vt_define_region(named->name, vt_device_api.paradigm, role, NULL, 0);
        if (!region) region = HIDDEN;
        atomic_store(&named->limit, limit);
        atomic_store_explicit(&named->region, region, memory_order_release);
    }
    const int64_t limit = atomic_load_explicit(&named->limit, memory_order_relaxed);
    if (region == HIDDEN || (limit != VT_CALL_ALL && atomic_fetch_add(&named->calls, 1) >= limit)) return 0;
    return region;
}

uint32_t vt_device_function_region(struct vt_device_named *function) { return take(function, VT_ROLE_FUNCTION); }

static uint32_t kernel_region(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = name; *c; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
    struct kernel *_Atomic *list = &lists[hash % LISTS];
    struct kernel *head = atomic_load(list);
    for (struct kernel *k = head; k; k = k->next)
        if (!strcmp(k->name, name)) return take(&k->named, ROLE_KERNEL);
    const size_t bytes = strlen(name) + 1;
    struct kernel *k = vt_pages(sizeof *k + bytes); /* a page each: programs have few kernels */
    if (!k) return 0;
    memcpy(k->name, name, bytes);
    k->named.name = k->name;
    const uint32_t region = take(&k->named, ROLE_KERNEL);
    k->next = head;
    while (!atomic_compare_exchange_weak(list, &k->next, k)) continue;
    return region;
}

uint32_t vt_device_activity_region(enum vt_device_action action, const char *name)
{
    static struct vt_device_named copies[VT_DEVICE_ACTIONS] = {
        [VT_DEVICE_TO_DEVICE] = {.name = "copy to device"},
        [VT_DEVICE_TO_HOST] = {.name = "copy to host"},
        [VT_DEVICE_ON_DEVICE] = {.name = "copy on device"},
        [VT_DEVICE_BETWEEN] = {.name = "copy between devices"},
        [VT_DEVICE_ON_HOST] = {.name = "copy on host"},
        [VT_DEVICE_FILL] = {.name = "fill"},
        [VT_DEVICE_MAP] = {.name = "map"},
        [VT_DEVICE_UNMAP] = {.name = "unmap"},
        [VT_DEVICE_MIGRATE] = {.name = "migrate"},
        [VT_DEVICE_MIGRATE_TO_DEVICE] = {.name = "migrate to device"},
        [VT_DEVICE_MIGRATE_TO_HOST] = {.name = "migrate to host"},
        [VT_DEVICE_MIGRATE_BETWEEN] = {.name = "migrate between devices"},
    };
    if (action == VT_DEVICE_KERNEL) return kernel_region(name);
    return action == VT_DEVICE_NOTHING ? 0 : take(&copies[action], ROLE_DATA_TRANSFER);
}

uint32_t vt_device_counter(const char *name)
{
    const uint32_t id = (uint32_t)vt_new_id(VT_ID_METRIC);
    if (!id) return 0;
    return vt_define(VT_D_METRIC, vt_number(id), vt_string(name), vt_string("#"), vt_string("u"), vt_string("a"),
                     vt_bool(0))
               ? id
               : 0;
}

uint32_t vt_device_window(void)
{
    static _Atomic uint32_t known;
    uint32_t window = atomic_load(&known);
    if (window || !(window = (uint32_t)vt_new_id(VT_ID_RMA_WIN))) return window;
    if (!vt_define(VT_D_DEVICE_WIN, vt_number(window), vt_string(vt_device_api.window),
                   vt_number(vt_device_api.paradigm)))
        return 0;
    atomic_store(&known, window);
    return window;
}

uint32_t vt_device_attribute(enum vt_device_attribute which)
{
    static const char *const texts[VT_DEVICE_ATTRIBUTES][2] = {
        [VT_DEVICE_COMMAND] = {"DEVICE_COMMAND", "number of a command in its process: of the call and of the activity"},
        [VT_DEVICE_BYTES] = {"DEVICE_BYTES", "bytes that a device copies or fills"},
        [VT_DEVICE_QUEUED] = {"DEVICE_QUEUED", "ns between the command's entry into the queue and its start"},
        [VT_DEVICE_SUBMITTED] = {"DEVICE_SUBMITTED", "ns between the command's submission to the device and its start"},
        [VT_DEVICE_BLOCKING] = {"DEVICE_BLOCKING", "1: the call waits for its command"},
    };
    static _Atomic uint32_t ids[VT_DEVICE_ATTRIBUTES];
    uint32_t id = atomic_load_explicit(&ids[which], memory_order_relaxed);
    if (!id) atomic_store(&ids[which], id = vt_define_attribute(texts[which][0], texts[which][1], VT_TYPE_UINT64));
    return id;
}

void vt_device_enter(uint32_t region, uint64_t number)
{
    uint64_t words[] = {VT_HEAD(VT_K_ATTRIBUTE, 1, vt_device_attribute(VT_DEVICE_COMMAND)), number,
                        VT_HEAD(VT_K_ENTER, 0, region)};
    vt_write(words, 3);
}
