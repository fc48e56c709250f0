/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers into which CUPTI writes records: used again, and of bounded number. CUPTI drops and counts the records for
   which it gets no buffer. */
#include <errno.h>
#include "cudawrap.h"

#define BYTES (4u << 20)
#define MOST 64u
#define FLUSH_NS 1000000000u /* time between two flushes by calls that wait */

static struct buffer {
    uint8_t *bytes; /* NULL: not allocated yet */
    int is_used; /* CUPTI has it */
} buffers[MOST];
static _Atomic int lock; /* of the buffers */
static _Atomic uint64_t dropped, flushed;

static void requested(uint8_t **bytes, size_t *size, size_t *most_records)
{
    *bytes = NULL;
    *size = *most_records = 0; /* as many as there is room for */
    vt_device_lock(&lock);
    struct buffer *b = buffers, *behind = &buffers[MOST];
    while (b < behind && b->is_used) b++;
    if (b < behind && !b->bytes) b->bytes = vt_pages(BYTES);
    if (b < behind && b->bytes) {
        b->is_used = 1;
        *bytes = b->bytes;
        *size = BYTES;
    }
    vt_device_unlock(&lock);
}

static void completed(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    size_t n = 0;
    (void)size;
    if (!vt_cuda_records()) return;
    vt_cuda_clock_ask();
    if (bytes && valid) vt_cuda_read(bytes, valid);
    if (vt_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &n) == VT_CUPTI_SUCCESS)
        atomic_fetch_add(&dropped, n);
    vt_device_lock(&lock);
    for (struct buffer *b = buffers; b < &buffers[MOST]; b++)
        if (b->bytes == bytes) b->is_used = 0;
    vt_device_unlock(&lock);
}

int vt_cuda_register_buffers(void)
{
    return vt_cupti.cuptiActivityRegisterCallbacks((void *)requested, (void *)completed);
}

void vt_cuda_flush(int all)
{
    const int error = errno;
    atomic_store(&flushed, vt_device_now());
    vt_cupti.cuptiActivityFlushAll(all ? VT_CUPTI_FLUSH_FORCED : 0); /* no own work: `completed` records */
    errno = error;
}

void vt_cuda_flush_sometimes(void)
{
    uint64_t last = atomic_load(&flushed);
    const uint64_t now = vt_device_now();
    if (now - last >= FLUSH_NS && atomic_compare_exchange_strong(&flushed, &last, now)) vt_cuda_flush(0);
}

void vt_cuda_tell_losses(void)
{
    const uint64_t lost = atomic_load(&dropped), without_times = vt_cuda_without_times();
    unsigned used = 0;
    vt_device_lock(&lock);
    for (const struct buffer *b = buffers; b < &buffers[MOST]; b++) used += (unsigned)b->is_used;
    vt_device_unlock(&lock);
    if (lost)
        vt_warn_left_out("library", "CUPTI dropped activities of CUDA, for lack of buffers: %llu",
                         (unsigned long long)lost);
    if (without_times)
        vt_warn_left_out("library", "activities of CUDA without times, such as unfinished ones: %llu",
                         (unsigned long long)without_times);
    if (used)
        vt_warn_left_out(
            "library",
            "CUPTI did not return %u of vtrace's buffers: another tool, such as PyTorch's profiler, has taken "
            "the activities of CUDA",
            used);
}
