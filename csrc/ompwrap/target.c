/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that threads give to devices (target): the directives, and inside them the copies, allocations and kernels, as
   calls of the thread. The times are the host's: of a device that executes kernels beside the thread, a kernel's call
   only submits the kernel. */
#include "ompwrap.h"

enum { BEGIN = 1, END = 2 };                     /* bits of ompt_scope_endpoint_t */
enum { TARGET = 1, ENTER_DATA, EXIT_DATA, UPDATE };  /* ompt_target_t; nowait: + 8 */
enum { ALLOC = 1, TO_DEVICE, FROM_DEVICE, DELETE };  /* ompt_target_data_op_t; asynchronous: + 16 */
#define NO_DEVICE (-1)

static uint32_t attribute(_Atomic uint32_t *known, const char *name, const char *meaning)
{
    uint32_t id = atomic_load_explicit(known, memory_order_relaxed);
    if (!id) atomic_store(known, id = vt_define_attribute(name, meaning, VT_TYPE_UINT64));
    return id;
}

/* bytes 0: no copy. */
static void open_on(struct omp_thread *t, uint32_t region, int device, uint64_t bytes)
{
    static _Atomic uint32_t of_device, of_bytes;
    uint64_t words[5];
    unsigned n = 0;
    if (t->nopen < OMP_OPEN) t->open[t->nopen] = region;
    t->nopen++;
    if (!region) return;
    if (device >= 0) {
        words[n++] = VT_HEAD(VT_K_ATTRIBUTE, 1, attribute(&of_device, "OMP_DEVICE", "number of a device of OpenMP"));
        words[n++] = (uint64_t)device;
    }
    if (bytes) {
        words[n++] =
            VT_HEAD(VT_K_ATTRIBUTE, 1, attribute(&of_bytes, "DEVICE_BYTES", "bytes that a device copies or fills"));
        words[n++] = bytes;
    }
    words[n++] = OMP_ENTER(region);
    vt_write(words, n);
}

/* Callbacks inside a directive get an address in target_calls.c. */
static const void *place(const void *code)
{
    if (omp_directive.code) return omp_directive.code;
    return code ? (const char *)code - 1 : NULL;
}

/* Keeps the place for the kernel's submission, which has none of its own. */
void omp_on_target(int kind, int endpoint, int device, void *task, void *target_task, uint64_t *target,
                   const void *code)
{
    static const enum omp_construct constructs[] = {[TARGET] = OMP_TARGET,
                                                    [ENTER_DATA] = OMP_TARGET_ENTER,
                                                    [EXIT_DATA] = OMP_TARGET_EXIT,
                                                    [UPDATE] = OMP_TARGET_UPDATE};
    struct omp_thread *t = omp_thread();
    (void)task, (void)target_task;
    if (target && endpoint & BEGIN) *target = (uintptr_t)place(code);
    kind &= 7;
    if (!t || kind < TARGET || kind > UPDATE) return;
    if (endpoint & BEGIN) open_on(t, omp_region(constructs[kind], place(code)), device, 0);
    if (endpoint & END) omp_close(t, 0);
}

void omp_on_target_data(int endpoint, void *target_task, const uint64_t *target, uint64_t *operation, int kind,
                        const void *from, int from_device, const void *to, int to_device, size_t bytes,
                        const void *code)
{
    static const enum omp_construct constructs[] = {[ALLOC] = OMP_TARGET_ALLOC,
                                                    [TO_DEVICE] = OMP_TARGET_TO_DEVICE,
                                                    [FROM_DEVICE] = OMP_TARGET_TO_HOST,
                                                    [DELETE] = OMP_TARGET_DELETE};
    struct omp_thread *t = omp_thread();
    (void)target_task, (void)target, (void)operation, (void)from, (void)to;
    kind &= 15;
    if (!t || kind < ALLOC || kind > DELETE) return;
    const int device = kind == FROM_DEVICE || kind == DELETE ? from_device : to_device;
    const int copies = kind == TO_DEVICE || kind == FROM_DEVICE;
    if (endpoint & BEGIN) open_on(t, omp_region(constructs[kind], place(code)), device, copies ? bytes : 0);
    if (endpoint & END) omp_close(t, 0);
}

void omp_on_target_submit(int endpoint, const uint64_t *target, uint64_t *operation, unsigned teams)
{
    struct omp_thread *t = omp_thread();
    (void)operation, (void)teams;
    if (!t) return;
    if (endpoint & BEGIN)
        open_on(t, omp_region(OMP_TARGET_SUBMIT, (const void *)(uintptr_t)(target ? *target : 0)), NO_DEVICE, 0);
    if (endpoint & END) omp_close(t, 0);
}
