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
    uint32_t region;
    char name[];
};

static struct kernel *_Atomic lists[LISTS];

static uint32_t define(const char *name, uint8_t role)
{
    const uint32_t region =
        vt_call_limit(name, vt_device_api.group) ? vt_define_region(name, vt_device_api.paradigm, role, NULL, 0) : 0;
    return region ? region : HIDDEN;
}

/* The region of a name, defined at its first use. Two threads may define it at one time; vtunify merges equal ones. */
static uint32_t known(struct vt_device_named *named, uint8_t role)
{
    uint32_t region = atomic_load_explicit(&named->region, memory_order_relaxed);
    if (!region) atomic_store(&named->region, region = define(named->name, role));
    return region == HIDDEN ? 0 : region;
}

uint32_t vt_device_function_region(struct vt_device_named *function) { return known(function, VT_ROLE_FUNCTION); }

static uint32_t kernel_region(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = name; *c; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
    struct kernel *_Atomic *list = &lists[hash % LISTS];
    struct kernel *head = atomic_load(list);
    for (struct kernel *k = head; k; k = k->next)
        if (!strcmp(k->name, name)) return k->region == HIDDEN ? 0 : k->region;
    const size_t bytes = strlen(name) + 1;
    struct kernel *k = vt_pages(sizeof *k + bytes); /* a page each: programs have few kernels */
    const uint32_t region = define(name, ROLE_KERNEL);
    if (k) {
        memcpy(k->name, name, bytes);
        k->region = region;
        k->next = head;
        while (!atomic_compare_exchange_weak(list, &k->next, k)) continue;
    }
    return region == HIDDEN ? 0 : region;
}

uint32_t vt_device_activity_region(enum vt_device_action action, const char *name)
{
    static struct vt_device_named copies[VT_DEVICE_ACTIONS] = {
        [VT_DEVICE_TO_DEVICE] = {"copy to device", 0},
        [VT_DEVICE_TO_HOST] = {"copy to host", 0},
        [VT_DEVICE_ON_DEVICE] = {"copy on device", 0},
        [VT_DEVICE_BETWEEN] = {"copy between devices", 0},
        [VT_DEVICE_ON_HOST] = {"copy on host", 0},
        [VT_DEVICE_FILL] = {"fill", 0},
        [VT_DEVICE_MAP] = {"map", 0},
        [VT_DEVICE_UNMAP] = {"unmap", 0},
        [VT_DEVICE_MIGRATE] = {"migrate", 0},
    };
    if (action == VT_DEVICE_KERNEL) return kernel_region(name);
    return action == VT_DEVICE_NOTHING ? 0 : known(&copies[action], ROLE_DATA_TRANSFER);
}

uint32_t vt_device_attribute(enum vt_device_attribute which)
{
    static const char *const texts[VT_DEVICE_ATTRIBUTES][2] = {
        [VT_DEVICE_COMMAND] = {"DEVICE_COMMAND", "number of a command in its process: of the call and of the activity"},
        [VT_DEVICE_BYTES] = {"DEVICE_BYTES", "bytes that a device copies or fills"},
        [VT_DEVICE_QUEUED] = {"DEVICE_QUEUED", "ns between the command's entry into the queue and its start"},
        [VT_DEVICE_SUBMITTED] = {"DEVICE_SUBMITTED", "ns between the command's submission to the device and its start"},
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
