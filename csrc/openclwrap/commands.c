/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands from the call that enqueues them until their times have been read. The times are read in later calls of the
   program, and at its end: no callback, since the driver's threads would run it at any time, also at the program's end.
   Each command has an event, the program's or one of its own, which the library holds until then.
   A queue's commands are in the order of their calls. A short lock protects the list; one thread at a time reads. */
#include <string.h>
#include "openclwrap.h"

#define BLOCK 256u
#define AT_ONCE 64u /* commands of a queue without order that are sorted by their start */

struct vt_cl_command {
    struct vt_cl_command *next;
    cl_event event;
    uint64_t number, bytes, enter, leave; /* enter, leave: CLOCK_MONOTONIC */
    uint32_t region, host; /* host: number of the location of the call */
    enum vt_device_action action;
    int is_done; /* read already */
};

/* ---- Memory of commands, used again ---- */

static struct vt_cl_command *spare;
static _Atomic int spare_lock;

static struct vt_cl_command *new_command(void)
{
    vt_device_lock(&spare_lock);
    struct vt_cl_command *c = spare;
    if (!c && (c = vt_pages(BLOCK * sizeof *c)))
        for (unsigned i = 0; i + 1 < BLOCK; i++) c[i].next = &c[i + 1];
    spare = c ? c->next : NULL;
    vt_device_unlock(&spare_lock);
    if (c) memset(c, 0, sizeof *c);
    return c;
}

static void give_back(struct vt_cl_command *c)
{
    vt_device_lock(&spare_lock);
    c->next = spare;
    spare = c;
    vt_device_unlock(&spare_lock);
}

void vt_cl_forget(struct vt_cl_queue *queue)
{
    atomic_store(&spare_lock, 0);
    atomic_store(&queue->lock, 0);
    atomic_store(&queue->reads, 0);
    queue->first = queue->last = NULL;
    memset(queue->streams.lanes, 0, sizeof queue->streams.lanes);
    queue->streams.begin = vt_ticks();
}

/* The next command, after NULL the first one; another thread may just append it. */
static struct vt_cl_command *after(struct vt_cl_queue *q, struct vt_cl_command *c)
{
    vt_device_lock(&q->lock);
    struct vt_cl_command *next = c ? c->next : q->first;
    vt_device_unlock(&q->lock);
    return next;
}

int vt_cl_is_idle(struct vt_cl_queue *queue) { return !after(queue, NULL); }

uint64_t vt_cl_unfinished(struct vt_cl_queue *queue)
{
    uint64_t n = atomic_exchange(&queue->failed, 0);
    vt_device_lock(&queue->lock);
    for (const struct vt_cl_command *c = queue->first; c; c = c->next) n += !c->is_done;
    vt_device_unlock(&queue->lock);
    return n;
}

/* ---- Calls ---- */

static uint32_t region_of(enum vt_device_action action, cl_kernel kernel)
{
    char name[1024];
    if (action != VT_DEVICE_KERNEL) return vt_device_activity_region(action, NULL);
    cl_info_function *info = VT_NEXT_AS(cl_info_function, clGetKernelInfo);
    const int known = kernel && !VT_OWN_WORK(info(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
    return vt_device_activity_region(action, known ? name : "unnamed kernel");
}

cl_event *vt_cl_begin(struct vt_cl_call *call, struct vt_device_named *function, cl_command_queue queue,
                      enum vt_device_action action, cl_kernel kernel, uint64_t bytes, int blocks)
{
    static _Atomic uint64_t numbers = 1ull << 32; /* CUDA's have 32 bits: a process may use both */
    memset(call, 0, sizeof *call);
    call->region = vt_cl_function_region(function);
    call->queue = call->region ? vt_cl_queue_of(queue) : NULL;
    const uint32_t region = call->queue && action ? region_of(action, kernel) : 0;
    struct vt_cl_command *c = call->command = region ? new_command() : NULL;
    if (!c) {
        if (call->region) vt_enter(call->region);
        return NULL;
    }
    c->region = region;
    c->action = action;
    c->host = vt_location_number();
    c->bytes = bytes;
    c->number = atomic_fetch_add(&numbers, 1) + 1;
    if (blocks) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, vt_device_attribute(VT_DEVICE_BLOCKING)), 1);
    vt_device_enter(call->region, c->number);
    c->enter = vt_device_now();
    return &call->event;
}

static void append(struct vt_cl_queue *q, struct vt_cl_command *c)
{
    vt_device_lock(&q->lock);
    if (q->last) q->last->next = c;
    else q->first = c;
    q->last = c;
    vt_device_unlock(&q->lock);
}

void vt_cl_end(struct vt_cl_call *call, cl_int result, cl_event *event, int has_ended)
{
    struct vt_cl_command *c = call->command;
    if (c) c->leave = vt_device_now();
    if (call->region) vt_leave(call->region);
    if (!c) return;
    if (result != CL_SUCCESS || !call->event) {
        give_back(c);
        return;
    }
    c->event = call->event;
    if (event) {
        *event = call->event;
        VT_NEXT_AS(cl_event_function, clRetainEvent)(call->event);
    }
    const uint64_t ended = has_ended && call->queue->is_in_order ? c->leave : 0;
    append(call->queue, c);
    vt_cl_clock_ask(call->queue->device);
    vt_cl_read(call->queue, 0, ended);
}

/* ---- Reading ---- */

/* Reads the times of a command. Returns 0 if it has not finished; a failed one has no times. */
static int read_times(struct vt_cl_queue *q, struct vt_cl_command *c, struct vt_device_activity *a, uint64_t ended)
{
    cl_int status = 1;
    cl_ulong t[4] = {0};
    VT_NEXT_AS(cl_info_function, clGetEventInfo)(c->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                                 NULL);
    if (status > CL_COMPLETE) return 0;
    cl_info_function *info = VT_NEXT_AS(cl_info_function, clGetEventProfilingInfo);
    int known = status == CL_COMPLETE;
    for (cl_uint i = 0; i < 4 && known; i++)
        known = info(c->event, CL_PROFILING_COMMAND_QUEUED + i, sizeof *t, &t[i], NULL) == CL_SUCCESS;
    if (known) {
        const uint64_t now = vt_device_now();
        const int64_t queued = (int64_t)(c->leave - t[0]);
        const int64_t done = (int64_t)((c->leave <= ended ? ended : now) - t[3]);
        const int is_certain = !q->device->has_timer;
        vt_device_clock_bounds(&q->device->clock, (int64_t)(c->enter - t[0]), queued < done ? queued : done, now,
                               is_certain);
    }
    *a = (struct vt_device_activity){.number = c->number,
                                     .bytes = c->bytes,
                                     .queued = t[0],
                                     .submitted = t[1],
                                     .start = t[2],
                                     .end = t[3],
                                     .action = c->action,
                                     .host = c->host,
                                     .region = known && t[2] && t[3] >= t[2] ? c->region : 0};
    VT_NEXT_AS(cl_event_function, clReleaseEvent)(c->event);
    if (!a->region) atomic_fetch_add(&q->failed, 1);
    c->is_done = 1;
    return 1;
}

static void record(struct vt_cl_queue *q, struct vt_device_activity *all, unsigned n)
{
    for (unsigned i = 1; i < n; i++) { /* few, and nearly sorted */
        const struct vt_device_activity a = all[i];
        unsigned at = i;
        for (; at && all[at - 1].start > a.start; at--) all[at] = all[at - 1];
        all[at] = a;
    }
    for (unsigned i = 0; i < n; i++)
        if (all[i].region) vt_device_record(&q->streams, &all[i]);
}

/* Takes the commands that have been read from the head of the list; others stay until they are at the head. */
static void drop_done(struct vt_cl_queue *q)
{
    vt_device_lock(&q->lock);
    struct vt_cl_command *done = q->first, *c = done, *last = NULL;
    for (; c && c->is_done; c = c->next) last = c;
    q->first = c;
    if (!c) q->last = NULL;
    if (last) last->next = NULL;
    vt_device_unlock(&q->lock);
    while (last && done) {
        struct vt_cl_command *next = done->next;
        give_back(done);
        done = next;
    }
}

void vt_cl_read(struct vt_cl_queue *q, int all, uint64_t ended)
{
    struct vt_device_activity found[AT_ONCE];
    if (vt_shares_memory() || vt_has_ended() || atomic_exchange(&q->reads, 1)) return;
    unsigned n = 0, waiting = 0;
    for (struct vt_cl_command *c = after(q, NULL); c; c = after(q, c)) {
        if (!c->is_done && VT_OWN_WORK(read_times(q, c, &found[n], ended))) n++;
        else if (!c->is_done && (q->is_in_order || (++waiting == AT_ONCE && !all))) break;
        if (n == AT_ONCE) {
            record(q, found, n);
            n = 0;
        }
    }
    record(q, found, n);
    drop_done(q);
    atomic_store(&q->reads, 0);
}

void vt_cl_read_all(void)
{
    for (struct vt_cl_queue *q = atomic_load(&vt_cl_queues); q; q = q->next) vt_cl_read(q, 1, 0);
}

void vt_cl_end_queue(struct vt_cl_queue *q)
{
    if (vt_shares_memory() || vt_has_ended() || atomic_exchange(&q->reads, 1)) return;
    vt_device_end(&q->streams);
    atomic_store(&q->reads, 0);
}
