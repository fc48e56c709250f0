/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads CUPTI's records: the kernels, copies and sets of a buffer, in the order of their starts. CUPTI calls from threads
   of its own and of the program; one at a time reads. */
#include "cudawrap.h"

#define AT_ONCE 32768u /* activities that are sorted together */
#define ASK_NS 1000000u /* time between two readings of CUPTI's clock */
#define READINGS 8u /* the most at one time */
#define SHORT_NS 1000u /* of a reading without an interruption */

struct timed {
    uint64_t start;
    const void *record;
};

static _Atomic int lock; /* of the next one */
static struct timed found[AT_ONCE];
static _Atomic uint64_t without_times;
static _Atomic int is_related; /* CUPTI has told its time */

uint64_t vt_cuda_without_times(void) { return atomic_load(&without_times); }

void vt_cuda_clock_ask(void)
{
    static _Atomic uint64_t asked;
    uint64_t last = atomic_load(&asked), after = 0;
    uint64_t before = vt_device_now();
    if (before - last < ASK_NS || !atomic_compare_exchange_strong(&asked, &last, before)) return;
    for (unsigned i = 0; i < READINGS && (!i || after - before > SHORT_NS); i++) {
        uint64_t time = 0;
        before = vt_device_now();
        const int result = VT_OWN_WORK(vt_cupti.cuptiGetTimestamp(&time));
        after = vt_device_now();
        if (result != VT_CUPTI_SUCCESS || !time) return;
        vt_device_clock_bounds(&vt_cuda_clock, (int64_t)(before - time), (int64_t)(after - time), after, 1);
        atomic_store(&is_related, 1);
    }
}

/* ---- Activities ---- */

static enum vt_device_action copy_action(uint8_t copy)
{
    switch (copy) {
    case VT_CUPTI_HTOD:
    case VT_CUPTI_HTOA: return VT_DEVICE_TO_DEVICE;
    case VT_CUPTI_DTOH:
    case VT_CUPTI_ATOH: return VT_DEVICE_TO_HOST;
    case VT_CUPTI_HTOH: return VT_DEVICE_ON_HOST;
    case VT_CUPTI_PTOP: return VT_DEVICE_BETWEEN;
    default: return VT_DEVICE_ON_DEVICE;
    }
}

/* Records an activity. The correlation, the same as of its call, is its number. It does not begin before the call. */
static void record(struct vt_device_queue *q, struct vt_device_activity a)
{
    const struct vt_cuda_enter entered = vt_cuda_entered((uint32_t)a.number);
    if (!q || !a.region) return;
    if (entered.time) {
        vt_device_clock_bounds(&vt_cuda_clock, (int64_t)(entered.time - a.start), INT64_MAX / 2, vt_device_now(), 0);
        a.queued = entered.time - (uint64_t)vt_device_clock_offset(&vt_cuda_clock);
    }
    a.host = entered.location;
    vt_device_record(q, &a);
}

static void record_kernel(const struct vt_cupti_kernel *k)
{
    record(vt_cuda_stream(k->device, k->context, k->stream),
           (struct vt_device_activity){
               .number = k->correlation,
               .start = k->start,
               .end = k->end,
               .action = VT_DEVICE_KERNEL,
               .region = vt_device_activity_region(VT_DEVICE_KERNEL, k->name ? k->name : "unnamed kernel")});
}

static void record_copy(const struct vt_cupti_copy *c, enum vt_device_action action, uint32_t correlation)
{
    record(vt_cuda_stream(c->device, c->context, c->stream),
           (struct vt_device_activity){.number = correlation,
                                       .bytes = c->bytes,
                                       .start = c->start,
                                       .end = c->end,
                                       .action = action,
                                       .region = vt_device_activity_region(action, NULL)});
}

/* Copies and sets have the same layout up to the stream, and records of unified memory have the same times. */
_Static_assert(offsetof(struct vt_cupti_set, bytes) == offsetof(struct vt_cupti_copy, bytes) &&
                   offsetof(struct vt_cupti_set, correlation) == offsetof(struct vt_cupti_copy, correlation) &&
                   offsetof(struct vt_cupti_peer_copy, stream) == offsetof(struct vt_cupti_copy, stream) &&
                   offsetof(struct vt_cupti_unified, start) == offsetof(struct vt_cupti_copy, start) &&
                   offsetof(struct vt_cupti_unified, end) == offsetof(struct vt_cupti_copy, end),
               "layouts of copies and sets differ");

static void record_one(const void *r)
{
    const struct vt_cupti_copy *c = r;
    switch (*(const uint32_t *)r) {
    case VT_CUPTI_CONCURRENT_KERNEL: record_kernel(r); break;
    case VT_CUPTI_MEMCPY: record_copy(c, copy_action(c->copy), c->correlation); break;
    case VT_CUPTI_MEMCPY2:
        record_copy(c, VT_DEVICE_BETWEEN, ((const struct vt_cupti_peer_copy *)r)->correlation);
        break;
    case VT_CUPTI_MEMSET: record_copy(c, VT_DEVICE_FILL, c->correlation); break;
    case VT_CUPTI_UNIFIED: vt_cuda_record_unified(r); break;
    }
}

/* ---- Buffers ---- */

static int is_later(const struct timed *one, const struct timed *other)
{
    return one->start != other->start ? one->start > other->start : one->record > other->record;
}

static void sink(unsigned at, unsigned n)
{
    for (unsigned child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_later(&found[child + 1], &found[child])) child++;
        if (!is_later(&found[child], &found[at])) return;
        const struct timed moved = found[at];
        found[at] = found[child];
        found[child] = moved;
    }
}

/* Records the found activities by their start: heapsort, which needs no memory. */
static void record_found(unsigned n)
{
    for (unsigned i = n / 2; i-- > 0;) sink(i, n);
    for (unsigned left = n; left > 1;) {
        const struct timed last = found[--left];
        found[left] = found[0];
        found[0] = last;
        sink(0, left);
    }
    for (unsigned i = 0; i < n; i++) record_one(found[i].record);
}

/* Returns the least size of a record that is read; 0: others. */
static size_t size_of(uint32_t kind)
{
    switch (kind) {
    case VT_CUPTI_DEVICE: return sizeof(struct vt_cupti_device);
    case VT_CUPTI_CONCURRENT_KERNEL: return sizeof(struct vt_cupti_kernel);
    case VT_CUPTI_MEMCPY: return sizeof(struct vt_cupti_copy);
    case VT_CUPTI_MEMCPY2: return sizeof(struct vt_cupti_peer_copy);
    case VT_CUPTI_MEMSET: return sizeof(struct vt_cupti_set);
    case VT_CUPTI_UNIFIED: return sizeof(struct vt_cupti_unified);
    default: return 0;
    }
}

/* Takes a record: a device's name at once, since its activities may precede it. Returns 1 if it is an activity. */
static int take(const void *r, struct timed *into)
{
    const uint32_t kind = *(const uint32_t *)r;
    const struct vt_cupti_device *d = r;
    if (kind == VT_CUPTI_DEVICE) {
        vt_cuda_name_device(d->device, d->name);
        return 0;
    }
    const struct vt_cupti_kernel *k = r;
    const struct vt_cupti_copy *c = r;
    const struct vt_cupti_unified *u = r;
    const int is_kernel = kind == VT_CUPTI_CONCURRENT_KERNEL;
    const int is_moment = kind == VT_CUPTI_UNIFIED && u->what == VT_CUPTI_UNIFIED_CPU_FAULT;
    const uint64_t start = is_kernel ? k->start : c->start, end = is_kernel ? k->end : is_moment ? start : c->end;
    *into = (struct timed){start, r};
    if (start && end >= start && atomic_load(&is_related)) return 1;
    atomic_fetch_add(&without_times, 1);
    return 0;
}

void vt_cuda_read(uint8_t *buffer, size_t valid)
{
    void *r = NULL;
    unsigned n = 0;
    vt_device_lock(&lock);
    while (vt_cupti.cuptiActivityGetNextRecord(buffer, valid, &r) == VT_CUPTI_SUCCESS && r) {
        const size_t left = valid - (size_t)((uint8_t *)r - buffer);
        const size_t size = left < sizeof(uint32_t) ? left : size_of(*(const uint32_t *)r);
        if (size > left) break;
        if (size && take(r, &found[n])) n++;
        if (n < AT_ONCE) continue;
        record_found(n);
        n = 0;
    }
    record_found(n);
    vt_device_unlock(&lock);
}

void vt_cuda_end_streams(void)
{
    vt_device_lock(&lock);
    vt_cuda_end_queues();
    vt_device_unlock(&lock);
}
