/* SPDX-License-Identifier: BSD-3-Clause */
/* Once per process: decides whether OpenMP is recorded. Once per thread: creates its state. At the end: records the
   waits that have not ended. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include "core/sys.h"
#include "ompwrap.h"

_Thread_local struct omp_thread *omp_own_thread __attribute__((tls_model("initial-exec")));
static _Atomic(struct omp_thread *) all;
_Atomic int omp_off;
static pthread_key_t thread_end;

enum { NEW, ATTACHING, RECORD, OFF };
static _Atomic int state;

/* A worker that ends records the end of its wait for the other members of its last team. */
static void on_thread_end(void *thread)
{
    struct omp_thread *t = thread;
    if (atomic_load(&t->waits)) {
        vt_write_2(VT_HEAD(VT_K_THREAD_TEAM_JOINED, 1, 0), omp_joined(t));
        atomic_store(&t->waits, NULL);
    }
    omp_own_thread = NULL;
    atomic_store(&t->used, 0);
}

/* A forked child has one thread and none of libgomp's pool. */
static void in_child(void)
{
    omp_own_thread = NULL;
    atomic_store(&all, NULL);
}

static void attach(void)
{
    static const struct vt_shim shim = {
        .size = sizeof shim, .abi = VT_ABI, .kind = VT_SHIM_OPENMP, .name = "OpenMP", .version = VT_VERSION};
    int new = NEW, saved = errno;
    if (!atomic_compare_exchange_strong(&state, &new, ATTACHING)) return;
    int on = vt_attach(&shim) && omp_ask_filter() && !pthread_key_create(&thread_end, on_thread_end);
    if (on) pthread_atfork(NULL, NULL, in_child);
    atomic_store(&omp_off, !on);
    atomic_store(&state, on ? RECORD : OFF);
    errno = saved;
}

int omp_recording(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == NEW) attach();
    while (atomic_load_explicit(&state, memory_order_acquire) == ATTACHING) VT_SYS0(sched_yield);
    return atomic_load_explicit(&state, memory_order_relaxed) == RECORD;
}

static struct omp_thread *adopt(uint32_t location)
{
    for (struct omp_thread *t = atomic_load(&all); t; t = t->next) {
        uint32_t free = 0;
        if (t->location == location && atomic_compare_exchange_strong(&t->used, &free, 1)) return t;
    }
    return NULL;
}

struct omp_thread *omp_thread_begin(void)
{
    int saved = errno;
    uint32_t location = omp_recording() && !vt_shares_memory() ? vt_location_number() : VT_NO_LOCATION;
    struct omp_thread *t = NULL;
    if (location == VT_NO_LOCATION) goto out;
    t = adopt(location);
    if (!t && (t = vt_pages(sizeof *t))) {
        t->location = location;
        atomic_store(&t->used, 1);
        t->numbers = vt_pages((VT_ID_MAX + 1) * sizeof *t->numbers);
        t->next = atomic_load(&all);
        while (!atomic_compare_exchange_weak(&all, &t->next, t)) {}
    }
    if (!t || !t->numbers) {
        t = NULL;
        goto out;
    }
    t->team = NULL;
    t->level = t->nopen = t->ntasks = 0;
    t->task = 0;
    t->single = t->after_single = t->hidden = 0;
    pthread_setspecific(thread_end, t);
    omp_own_thread = t;
out:
    errno = saved;
    return t;
}

/* Runs before the destructor of libvtrace.so.1, on which this library depends. */
__attribute__((destructor)) static void end(void)
{
    if (atomic_load(&state) != RECORD || vt_shares_memory()) return;
    for (struct omp_thread *t = atomic_load(&all); t; t = t->next) {
        struct omp_team *team = atomic_load(&t->waits);
        uint64_t joined = team ? omp_joined(t) : 0;
        if (joined) omp_define_member(t, team, joined);
    }
}
