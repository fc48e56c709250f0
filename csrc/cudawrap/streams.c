/* SPDX-License-Identifier: BSD-3-Clause */
/* The streams of CUDA's devices, found by device, context and number. A program may create any number of streams: each
   device's further ones share a place. */
#include <stdio.h>
#include <string.h>
#include "cudawrap.h"

#define STREAMS 256u /* of a process */

struct stream {
    struct stream *next;
    uint32_t device, context, number;
    struct vt_device_queue queue;
};

struct vt_device_clock vt_cuda_clock;
uint64_t vt_cuda_begin;
static struct stream *streams;
static unsigned count;
static char names[VT_CUDA_DEVICES][96];

/* With the number, since a machine has several devices of one name. */
void vt_cuda_name_device(uint32_t device, const char *name)
{
    if (device < VT_CUDA_DEVICES && !*names[device])
        snprintf(names[device], sizeof *names, "CUDA %u%s%s", device, name ? " " : "", name ? name : "");
}

static const char *name_of(uint32_t device)
{
    if (device >= VT_CUDA_DEVICES) return "further devices of CUDA";
    vt_cuda_name_device(device, NULL);
    return names[device];
}

static struct stream *find(uint32_t device, uint32_t context, uint32_t number)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->number == number && s->device == device && s->context == context) return s;
    return NULL;
}

/* Contexts of a device number their streams alike. */
static int is_in_use(uint32_t device, uint32_t number)
{
    for (const struct stream *s = streams; s; s = s->next)
        if (s->number == number && s->device == device) return 1;
    return 0;
}

static struct stream *add(uint32_t device, uint32_t context, uint32_t number)
{
    struct stream *s = vt_pages(sizeof *s);
    if (!s) return NULL;
    s->device = device;
    s->context = context;
    s->number = number;
    struct vt_device_queue *q = &s->queue;
    const char *what = number == VT_CUDA_OTHERS       ? "others"
                       : number == VT_CUDA_MIGRATIONS ? "unified memory"
                       : number == VT_CUDA_FAULTS     ? "page faults"
                                                      : NULL;
    if (what) snprintf(q->name, sizeof q->name, "%s[%u:%s]", vt_device_api.name, device, what);
    else {
        const int used = snprintf(q->name, sizeof q->name, "%s[%u:%u]", vt_device_api.name, device, number);
        if (is_in_use(device, number)) snprintf(q->name + used, sizeof q->name - (size_t)used, " context %u", context);
    }
    q->device = name_of(device);
    q->clock = &vt_cuda_clock;
    q->begin = vt_cuda_begin;
    s->next = streams;
    streams = s;
    count++;
    return s;
}

struct vt_device_queue *vt_cuda_stream(uint32_t device, uint32_t context, uint32_t stream)
{
    struct stream *s = find(device, context, stream);
    if (!s && count >= STREAMS) {
        context = stream = VT_CUDA_OTHERS;
        s = find(device, context, stream);
    }
    if (!s) s = add(device, context, stream);
    return s ? &s->queue : NULL;
}

void vt_cuda_end_queues(void)
{
    for (struct stream *s = streams; s; s = s->next) vt_device_end(&s->queue);
}
