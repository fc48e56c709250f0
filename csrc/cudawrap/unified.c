/* SPDX-License-Identifier: BSD-3-Clause */
/* Unified memory: the pages that migrate between host and devices, and the faults that cause it. CUPTI measures them once
   the program uses such memory, since this may slow down each fault. A record names no call, so a migration has no thread
   of the host. */
#include "cudawrap.h"

void vt_cuda_begin_unified(void)
{
    static const uint32_t kinds[] = {VT_CUPTI_UNIFIED_HTOD, VT_CUPTI_UNIFIED_DTOH, VT_CUPTI_UNIFIED_CPU_FAULT,
                                     VT_CUPTI_UNIFIED_GPU_FAULTS, VT_CUPTI_UNIFIED_DTOD};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static _Atomic int called;
    struct vt_cupti_unified_setting settings[KINDS];
    if (atomic_exchange(&called, 1)) return;
    for (unsigned i = 0; i < KINDS; i++)
        settings[i] = (struct vt_cupti_unified_setting){VT_CUPTI_UNIFIED_ALL_DEVICES, kinds[i], 0, 1};
    int result = VT_OWN_WORK(vt_cupti.cuptiActivityConfigureUnifiedMemoryCounter(settings, KINDS));
    if (result == VT_CUPTI_SUCCESS) result = VT_OWN_WORK(vt_cupti.cuptiActivityEnable(VT_CUPTI_UNIFIED));
    if (result != VT_CUPTI_SUCCESS)
        vt_warn_left_out("library", "CUPTI does not record unified memory of CUDA: %s", vt_cuda_text_of(result));
}

static void record_migration(const struct vt_cupti_unified *u, enum vt_device_action action, uint32_t device)
{
    struct vt_device_queue *q = vt_cuda_stream(device, 0, VT_CUDA_MIGRATIONS);
    const struct vt_device_activity a = {.bytes = u->value,
                                         .start = u->start,
                                         .end = u->end,
                                         .action = action,
                                         .host = VT_NO_LOCATION,
                                         .region = vt_device_activity_region(action, NULL)};
    if (q && a.region) vt_device_record(q, &a);
}

/* Counts faults: of the processor, for the first device. */
static void count_faults(const struct vt_cupti_unified *u, int is_cpu)
{
    static uint32_t counters[2];
    static uint64_t sums[2][VT_CUDA_DEVICES];
    const uint32_t device = is_cpu ? 0 : u->source;
    struct vt_device_queue *q = vt_cuda_stream(device, 0, VT_CUDA_FAULTS);
    if (!counters[is_cpu]) counters[is_cpu] = vt_device_counter(is_cpu ? "CPU page faults" : "GPU page faults");
    if (!q || !counters[is_cpu]) return;
    uint64_t *sum = &sums[is_cpu][device < VT_CUDA_DEVICES ? device : VT_CUDA_DEVICES - 1];
    if (!*sum) vt_device_count(q, counters[is_cpu], 0, u->start); /* reports add up increases */
    *sum += is_cpu ? 1 : u->value;
    vt_device_count(q, counters[is_cpu], *sum, u->start);
}

void vt_cuda_record_unified(const struct vt_cupti_unified *u)
{
    switch (u->what) {
    case VT_CUPTI_UNIFIED_HTOD: record_migration(u, VT_DEVICE_MIGRATE_TO_DEVICE, u->destination); break;
    case VT_CUPTI_UNIFIED_DTOH: record_migration(u, VT_DEVICE_MIGRATE_TO_HOST, u->source); break;
    case VT_CUPTI_UNIFIED_DTOD: record_migration(u, VT_DEVICE_MIGRATE_BETWEEN, u->destination); break;
    case VT_CUPTI_UNIFIED_CPU_FAULT: count_faults(u, 1); break;
    case VT_CUPTI_UNIFIED_GPU_FAULTS: count_faults(u, 0); break;
    }
}
