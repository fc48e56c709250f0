/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Python programs that are left out for a time, since recording them takes too much of a thread's time
   (overhead.c). They are not even counted: a count would need a call of the interpreter, which takes most of the time of
   an event. All return together. Only a thread that holds the lock of the choices changes `is_out` and what is static. */
#define _GNU_SOURCE
#include <time.h>
#include "location.h"

#define FIRST_PAUSE UINT64_C(1000000000) /* ns until the functions are recorded again */
#define LONGEST_PAUSE (3600 * FIRST_PAUSE)
#define MOST_CHANGES 500u /* that the trace states */

struct vt_python_function *vt_python_functions;
_Atomic uint32_t vt_python_all_out, vt_python_returned;
static double event_ns;
static int together;
static uint32_t nout, nsteps, told;
static uint64_t pause_ns = FIRST_PAUSE, not_before;

void vt_python_costs(double ns, int all)
{
    event_ns = ns;
    together = all;
}

double vt_python_event_ns(void) { return event_ns; }

void vt_python_define(uint32_t id)
{
    if (!vt_process.set.overhead || !id || !vt_pages_once((void **)&vt_python_functions, VT_PYTHON_BYTES)) return;
    vt_python_functions[id].is_one = 1;
}

uint32_t vt_python_entry(uint32_t what)
{
    const struct vt_python_function *all = __atomic_load_n(&vt_python_functions, __ATOMIC_ACQUIRE);
    const uint32_t kind = VT_KIND(what);
    if (!all || (kind != VT_K_ENTER && kind != VT_K_LEAVE) || !all[VT_ID(what)].is_one) return 0;
    return together ? 1 : VT_ID(what);
}

int vt_python_may_go(uint32_t entry)
{
    return together ? !atomic_load(&vt_python_all_out) : !VT_READ(vt_python_functions[entry].is_out);
}

/* part: of the thread's time that recording took, in %; 0: the functions are recorded again. */
static void tell(struct vt_location *l, const uint32_t *entries, uint32_t n, uint32_t part)
{
    char key[48], value[512];
    if (told == MOST_CHANGES) return;
    struct vt_text k = vt_text_into(key, sizeof key), v = vt_text_into(value, sizeof value);
    vt_text_add(&k, "overhead.python.");
    vt_text_dec(&k, told++);
    vt_text_dec(&v, vt_process.pid);
    vt_text_add(&v, " ");
    vt_text_dec(&v, vt_now());
    vt_text_add(&v, part ? " out " : " in ");
    vt_text_dec(&v, part);
    vt_text_add(&v, " ");
    vt_text_dec(&v, n);
    for (uint32_t i = 0; i < n && part && !together && v.at + 20 < v.end; i++) {
        vt_text_add(&v, " region:");
        vt_text_dec(&v, entries[i]);
    }
    if (part && together) vt_text_add(&v, " region:all");
    vt_define_property(l, key, value);
}

void vt_python_leave_out(struct vt_location *l, const uint32_t *entries, uint32_t n, uint32_t part)
{
    for (uint32_t i = 0; i < n && !together; i++) VT_SET(vt_python_functions[entries[i]].is_out, 1);
    if (together) atomic_store(&vt_python_all_out, 1);
    if (!nout && not_before && pause_ns < LONGEST_PAUSE) pause_ns *= 2;
    nout += n;
    nsteps++;
    not_before = vt_clock_ns(CLOCK_MONOTONIC_RAW) + pause_ns;
    tell(l, entries, n, part ? part : 1);
}

int vt_python_return(struct vt_location *l)
{
    if (!nout || vt_clock_ns(CLOCK_MONOTONIC_RAW) < not_before) return 0;
    const uint32_t most = (uint32_t)atomic_load(&vt_process.ids[VT_ID_REGION]);
    for (uint32_t id = 0; id <= most && id <= VT_ID_MAX && !together; id++)
        if (vt_python_functions[id].is_out) VT_SET(vt_python_functions[id].is_out, 0);
    atomic_store(&vt_python_all_out, 0);
    atomic_fetch_add(&vt_python_returned, 1);
    for (; nsteps; nsteps--) tell(l, NULL, nout, 0);
    nout = 0;
    return 1;
}
