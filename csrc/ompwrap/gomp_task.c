/* SPDX-License-Identifier: BSD-3-Clause */
/* GNU libgomp: tasks. libgomp copies the data of a task before the task runs. vtrace stores its own data about the task
   in front of these data. */
#define _GNU_SOURCE
#include <string.h>
#include "gomp.h"

/* libgomp reads and writes the first three words of the data: start and end of a part of a taskloop, the reductions of
   a taskloop, and the event of a detachable task (task.c and taskloop.c of GCC 12). */
#define WORDS 3

struct carried {
    uintptr_t words[WORDS];
    void (*body)(void *);
    void (*copy)(void *, void *);
    void *data; /* the program's data */
    long bytes, align;
    uint32_t region;
    uint64_t task; /* only in a copy */
};

static void *data_of(struct carried *c)
{
    uintptr_t align = (uintptr_t)(c->align > 16 ? c->align : 16);
    return (void *)(((uintptr_t)(c + 1) + align - 1) & ~(align - 1));
}

static size_t head(long bytes)
{
    return bytes < (long)sizeof(uintptr_t[WORDS]) ? (size_t)bytes : sizeof(uintptr_t[WORDS]);
}

/* Called by the creating thread for each task. from: the data of this shim; libgomp has written to its first words. */
static void create(void *to, void *from)
{
    struct carried *c = to, *source = from;
    struct omp_thread *t = omp_thread();
    *c = *source;
    if (source->data && source->words[0] != *(uintptr_t *)source->data && c->bytes >= (long)sizeof(uintptr_t))
        *(uintptr_t *)source->data = source->words[0];
    if (c->copy) c->copy(data_of(c), c->data);
    else if (c->bytes) memcpy(data_of(c), c->data, (size_t)c->bytes);
    c->region = t ? omp_region(OMP_TASK, (const void *)c->body) : 0;
    c->task = c->region ? omp_task_create(t, 0) : 0;
}

GOMP_BODIES static void execute(struct carried *c)
{
    struct omp_thread *t = omp_thread();
    uint64_t before = t ? t->task : 0;
    uint64_t task = c->task;
    uint32_t region = c->region;
    if (t && region) omp_task_begin(t, task, region);
    c->body(data_of(c));
    if (t && region) omp_task_end(t, task, region, before, 0);
}

static void run_task(void *data) { execute(data); }

/* libgomp has stored the iterations of the task. */
static void run_loop(void *data)
{
    struct carried *c = data;
    memcpy(data_of(c), c->words, 2 * sizeof *c->words);
    execute(c);
}

static struct carried carry(void (*body)(void *), void *data, void (*copy)(void *, void *), long bytes, long align)
{
    struct carried c = {.body = body, .copy = copy, .data = data, .bytes = bytes, .align = align};
    if (data) memcpy(c.words, data, head(bytes));
    return c;
}

static long room(const struct carried *c) { return (long)sizeof *c + 15 + (c->align > 16 ? c->align : 16) + c->bytes; }
static long alignment(long align) { return align > 16 ? align : 16; }

typedef void task_call(void (*)(void *), void *, void (*)(void *, void *), long, long, char, unsigned, void **, int,
                       void *);

OMP_EXPORT void GOMP_task(void (*body)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
                          char deferred, unsigned flags, void **depend, int priority, void *detach)
{
    GOMP_FIND_NEXT(GOMP_task);
    GOMP_PASS_ON(t, task_call, body, data, copy, bytes, align, deferred, flags, depend, priority, detach);
    struct carried c = carry(body, data, copy, bytes, align);
    uint32_t region = omp_region(OMP_TASK_CREATE, (const void *)body);
    omp_enter(region);
    GOMP_NEXT(task_call)
    (run_task, &c, create, room(&c), alignment(align), deferred, flags, depend, priority, detach);
    omp_leave(region);
}

typedef void taskloop_call(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long, int,
                           long, long, long);

#define TASKLOOP(symbol)                                                                                               \
    OMP_EXPORT void symbol(void (*body)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,     \
                           unsigned flags, unsigned long tasks, int priority, long begin, long end, long step)         \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        GOMP_PASS_ON(t, taskloop_call, body, data, copy, bytes, align, flags, tasks, priority, begin, end, step);      \
        struct carried c = carry(body, data, copy, bytes, align);                                                      \
        uint32_t region = omp_region(OMP_TASKLOOP, (const void *)body);                                                \
        omp_enter(region);                                                                                             \
        GOMP_NEXT(taskloop_call)                                                                                       \
        (run_loop, &c, create, room(&c), alignment(align), flags, tasks, priority, begin, end, step);                  \
        omp_leave(region);                                                                                             \
    }

TASKLOOP(GOMP_taskloop)
TASKLOOP(GOMP_taskloop_ull)

#define WAIT(symbol)                                                                                                   \
    OMP_EXPORT void symbol(void **depend)                                                                              \
    {                                                                                                                  \
        GOMP_FIND_NEXT(symbol);                                                                                        \
        GOMP_PASS_ON(t, void(void **), depend);                                                                        \
        uint32_t region = omp_region(OMP_TASKWAIT, GOMP_SITE);                                                         \
        omp_enter(region);                                                                                             \
        GOMP_NEXT(void(void **))(depend);                                                                              \
        omp_leave(region);                                                                                             \
    }

WAIT(GOMP_taskwait)
WAIT(GOMP_taskwait_depend)
