/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of CUDA's runtime and driver as regions of the calling thread. Calls that the runtime makes of the driver are part
   of its own; functions that only tell or select something are not recorded, since programs call them very often. Those of
   the runtime are followed all the same, since the first one in a program initializes the driver. */
#include <stdio.h>
#include <string.h>
#include "cudawrap.h"

#define MOST 2048u /* functions of a domain */
#define HIDDEN UINT32_MAX
#define ENTERED 0x76747263u /* the upper half of a call's data, from its enter to its leave */
#define CALLS (1u << 18) /* calls whose times are known */

static struct function {
    const char *name; /* CUPTI's, with a version; NULL: not recorded */
    _Atomic uint32_t region; /* 0: not known yet */
    uint8_t is_command, waits, resets, is_unified; /* is_unified: unified memory is in use */
} functions[2][MOST];

/* The number of calls of the runtime that the thread is in. */
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

/* ---- Times of calls ---- */

static struct entered {
    _Atomic uint32_t correlation, location;
    _Atomic uint64_t time;
} entered[CALLS];

static void note(uint32_t correlation)
{
    struct entered *e = &entered[correlation % CALLS];
    atomic_store_explicit(&e->time, vt_device_now(), memory_order_relaxed);
    atomic_store_explicit(&e->location, vt_location_number(), memory_order_relaxed);
    atomic_store_explicit(&e->correlation, correlation, memory_order_release);
}

struct vt_cuda_enter vt_cuda_entered(uint32_t correlation)
{
    struct entered *e = &entered[correlation % CALLS];
    const uint32_t is = atomic_load_explicit(&e->correlation, memory_order_acquire);
    if (is != correlation) return (struct vt_cuda_enter){0, VT_NO_LOCATION};
    return (struct vt_cuda_enter){atomic_load_explicit(&e->time, memory_order_relaxed),
                                  atomic_load_explicit(&e->location, memory_order_relaxed)};
}

/* ---- Functions ---- */

static int has_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words)) return 1;
    return 0;
}

void vt_cuda_enable_calls(void *subscriber)
{
    static const char *const tell[] = {
        "Get",         "Query",     "Peek",          "IsCapturing",       "Occupancy",
        "CaptureMode", "CanAccess", "CtxSetCurrent", "CtxPushCurrent",    "CtxPopCurrent",
        "SetDevice",   "RegisterF", "RegisterVar",   "CallConfiguration", NULL};
    static const char *const commands[] = {"Launch", "Memcpy", "Memset", "Prefetch", NULL};
    static const char *const wait[] = {"Synchronize", NULL};
    static const char *const no_wait[] = {"Async", "Graph", NULL};
    static const char *const unified[] = {"Managed", "MemPrefetch", "MemAdvise", NULL};
    static const char *const reset[] = {"cudaDeviceReset", "cuDevicePrimaryCtxReset", "cuCtxDestroy", NULL};
    for (uint32_t domain = VT_CUPTI_DRIVER; domain <= VT_CUPTI_RUNTIME; domain++) {
        for (uint32_t number = 1; number < MOST; number++) {
            const char *name = NULL;
            struct function *f = &functions[domain - VT_CUPTI_DRIVER][number];
            if (vt_cupti.cuptiGetCallbackName(domain, number, &name) != VT_CUPTI_SUCCESS || !name) continue;
            const int is_hidden = has_one(name, tell);
            if (is_hidden && domain == VT_CUPTI_DRIVER) continue;
            if (is_hidden) atomic_store(&f->region, HIDDEN);
            f->is_command = (uint8_t)has_one(name, commands);
            f->waits = (uint8_t)(has_one(name, wait) || (strstr(name, "Memcpy") && !has_one(name, no_wait)));
            f->is_unified = (uint8_t)has_one(name, unified);
            f->resets = (uint8_t)has_one(name, reset);
            f->name = name;
            vt_cupti.cuptiEnableCallback(1, subscriber, domain, number);
        }
    }
}

/* The name in the source, without a version: cudaLaunchKernel_ptsz_v7000, cuMemcpyHtoD_v2. */
static void plain(char *into, size_t bytes, const char *name)
{
    static const char *const ends[] = {"_v", "_ptsz", "_ptds"};
    snprintf(into, bytes, "%s", name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *end = strstr(into, ends[i]);
        if (end && (i || (end[2] >= '0' && end[2] <= '9'))) *end = 0;
    }
}

static uint32_t region_of(struct function *f)
{
    uint32_t region = atomic_load_explicit(&f->region, memory_order_relaxed);
    if (!region) {
        char name[128];
        plain(name, sizeof name, f->name);
        struct vt_device_named named = {.name = name};
        region = vt_device_function_region(&named);
        atomic_store(&f->region, region ? region : HIDDEN);
    }
    return region == HIDDEN ? 0 : region;
}

/* ---- Calls ---- */

static void enter(struct function *f, int is_runtime, const struct vt_cupti_call *call)
{
    const uint32_t region = !is_runtime && depth ? 0 : region_of(f);
    depth += (unsigned)is_runtime;
    *call->data = (uint64_t)ENTERED << 32 | region;
    if (f->resets) vt_cuda_flush(1);
    if (f->is_command) note(call->correlation);
    if (region && f->is_command) vt_device_enter(region, call->correlation);
    else if (region) vt_enter(region);
}

/* Without its enter if the call began before the recording. */
static void leave(struct function *f, int is_runtime, const struct vt_cupti_call *call)
{
    const uint32_t region = (uint32_t)*call->data;
    if (*call->data >> 32 != ENTERED) return;
    *call->data = 0;
    if (is_runtime && depth) depth--;
    if (region) vt_leave(region);
    if (f->is_unified) vt_cuda_begin_unified();
    if (f->waits && !depth) vt_cuda_flush_sometimes();
}

void vt_cuda_called(void *data, uint32_t domain, uint32_t number, const struct vt_cupti_call *call)
{
    (void)data;
    if (domain < VT_CUPTI_DRIVER || domain > VT_CUPTI_RUNTIME || number >= MOST || !call || !call->data) return;
    struct function *f = &functions[domain - VT_CUPTI_DRIVER][number];
    if (!f->name || !vt_cuda_records()) return;
    if (call->site) leave(f, domain == VT_CUPTI_RUNTIME, call);
    else enter(f, domain == VT_CUPTI_RUNTIME, call);
}
