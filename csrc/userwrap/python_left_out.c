/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which events of Python functions are recorded while functions are left out (core/left_out_python.c). A call is
   recorded with both ends or with none: each thread counts its open calls of each function, recorded ones and others.
   A function's events end for good when no thread has an open call of the function that is recorded. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include "python.h"
#include "userwrap.h"

#define PLACES 4096u /* functions share a place if their numbers differ by a multiple */
#define CALLS 4096u /* after so many events, recorded or not, the thread looks at its time */
#define LOOK_NS 10000000u /* between the looks of threads without events */

struct open_calls {
    uint32_t recorded[PLACES], others[PLACES]; /* others: inside of recorded ones of the same function */
};

static struct open_calls *open_of(struct vt_location *l)
{
    if (!l) return NULL;
    if (!l->slot[VT_SLOT_PYTHON]) l->slot[VT_SLOT_PYTHON] = vt_pages_wiped(sizeof(struct open_calls));
    return l->slot[VT_SLOT_PYTHON];
}

static void thread_begins(struct vt_location *l)
{
    if (l->slot[VT_SLOT_PYTHON]) memset(l->slot[VT_SLOT_PYTHON], 0, sizeof(struct open_calls));
}

static struct vt_thread_follower follower = {.begins = thread_begins};

__attribute__((constructor)) static void follow(void) { vt_on_threads(&follower); }

static void look(struct vt_location *l)
{
    if (VT_READ(l->busy)) return;
    vt_busy_begin(l);
    vt_overhead_look(l);
    vt_overhead_worked(l);
    vt_busy_end(l);
}

void vt_python_is_called(void)
{
    struct vt_location *l = vt_process.set.overhead ? vt_own_location : NULL;
    if (l && ++l->overhead.python % CALLS == 0) look(l);
}

void vt_python_is_quiet(void)
{
    static _Atomic uint64_t last;
    struct vt_location *l = vt_own_location;
    const uint64_t now = vt_clock_ns(CLOCK_MONOTONIC_COARSE);
    if (!l || now - atomic_load(&last) < LOOK_NS) return;
    atomic_store(&last, now);
    look(l);
}

static struct vt_python_function *function_of(uint32_t region)
{
    struct vt_python_function *all = vt_process.set.overhead ? vt_python_functions : NULL;
    return all && region <= VT_ID_MAX && all[region].is_one ? &all[region] : NULL;
}

static int is_out(const struct vt_python_function *f)
{
    return VT_READ(f->is_out) || atomic_load_explicit(&vt_python_all_out, memory_order_relaxed);
}

enum vt_python_event vt_python_judge_enter(uint32_t region)
{
    struct vt_python_function *f = function_of(region);
    struct open_calls *o = f ? open_of(vt_location_of_thread(0)) : NULL;
    if (!o) return VT_PYTHON_RECORDED;
    const uint32_t place = region % PLACES;
    if (!is_out(f)) {
        o->recorded[place]++;
        atomic_fetch_add(&f->open, 1);
        return VT_PYTHON_RECORDED;
    }
    if (o->recorded[place]) o->others[place]++;
    return atomic_load(&f->open) ? VT_PYTHON_LEFT_OUT : VT_PYTHON_ENDS;
}

enum vt_python_event vt_python_judge_leave(uint32_t region)
{
    struct vt_python_function *f = function_of(region);
    struct open_calls *o = f ? open_of(vt_location_of_thread(0)) : NULL;
    if (!o) return VT_PYTHON_RECORDED;
    const uint32_t place = region % PLACES;
    if (o->others[place]) o->others[place]--;
    else if (o->recorded[place]) {
        o->recorded[place]--;
        if (atomic_load(&f->open)) atomic_fetch_sub(&f->open, 1);
        return VT_PYTHON_RECORDED;
    }
    return is_out(f) && !atomic_load(&f->open) ? VT_PYTHON_ENDS : VT_PYTHON_LEFT_OUT;
}
