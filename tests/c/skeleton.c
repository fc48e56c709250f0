/* SPDX-License-Identifier: BSD-3-Clause */
/* A complete shim, as small as possible: it records the calls of nanosleep. Begin a new shim with a copy of this file.

   A shim defines functions of another library, records their calls and calls the next definition. It enters a program
   in one of two ways, from the same source (DIR: directory of libvtrace.so.1; core.h is in its include/):

     preloaded   cc -shared -fPIC -IDIR/include skeleton.c -o libskeleton.so -LDIR -l:libvtrace.so.1 -Wl,-rpath,DIR
                 LD_PRELOAD=$PWD/libskeleton.so ./program        also for programs built without vtrace
     linked      cc -c -fPIC -IDIR/include skeleton.c && vtrace-cc program.c skeleton.o

   It is compiled by the compiler itself, not by vtrace-cc, since its own functions must not be recorded. A shim does
   not see calls inside the library, such as those of glibc's sleep. */
#define _GNU_SOURCE /* for RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include "core.h" /* all that a shim needs of vtrace */

/* Weak, so that a definition in the program takes precedence when the shim is linked in. */
#define WRAPPER __attribute__((weak, visibility("default")))

/* ---- Once per shim: attaching to the runtime ---- */

enum { NEW, ATTACHING, RECORD, PASSIVE };
static _Atomic(int) state = NEW;

/* Attaches at the first call, not in a constructor: a program that never calls the library gets no files. No call
   waits for the attaching thread, since a signal handler may have interrupted that very thread. Such calls are not
   recorded. */
static void attach(void)
{
    int expected = NEW;
    if (!atomic_compare_exchange_strong(&state, &expected, ATTACHING)) return;
    static const struct vt_shim shim = {.size = sizeof shim, .abi = VT_ABI, .name = "skeleton", .version = "0.1.0"};
    atomic_store(&state, vt_attach(&shim) ? RECORD : PASSIVE);
}

/* ---- Once per function: its region ---- */

struct wrapped {
    const char *name;
    uint8_t paradigm, role; /* values of OTF2 */
    _Atomic(uint32_t) region;
};

/* A region is defined when it is first used, so a shim of hundreds of functions starts fast. Two threads may define the
   region at the same time; vtunify merges equal regions. */
static uint32_t first_call(struct wrapped *w)
{
    attach();
    if (atomic_load(&state) != RECORD) return 0;
    const uint32_t region = vt_define_region(w->name, w->paradigm, w->role, NULL, 0);
    uint32_t expected = 0;
    return atomic_compare_exchange_strong(&w->region, &expected, region) ? region : expected;
}

/* The region of a call; 0 if the call is not recorded. Costs one load and one branch. */
static inline uint32_t begin(struct wrapped *w)
{
    if (atomic_load_explicit(&state, memory_order_relaxed) == PASSIVE) return 0;
    const uint32_t region = atomic_load_explicit(&w->region, memory_order_relaxed);
    return region ? region : first_call(w);
}

/* ---- nanosleep ---- */

static struct wrapped wrapped_nanosleep = {"nanosleep", VT_PARADIGM_NONE, VT_ROLE_FUNCTION, 0};

/* The next definition. Until it is known the pointer leads to the function that looks it up, so calls need no test.
   dlsym takes locks and may allocate memory: a shim of malloc, or of a function that dlsym calls, needs another way.
   Functions with several versions in libc (pthread_cond_wait) need dlvsym. */
static int find_and_nanosleep(const struct timespec *wanted, struct timespec *left);
static __typeof__(nanosleep) *_Atomic next_nanosleep = find_and_nanosleep;

static void find(void)
{
    const int saved = errno; /* the caller's errno: vt_ functions keep it, dlsym does not */
    __typeof__(nanosleep) *found;
    *(void **)&found = dlsym(RTLD_NEXT, "nanosleep");
    if (found) atomic_store(&next_nanosleep, found);
    errno = saved;
}

static int find_and_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    find();
    __typeof__(nanosleep) *next = atomic_load(&next_nanosleep);
    if (next != find_and_nanosleep) return next(wanted, left);
    errno = ENOSYS;
    return -1;
}

/* Runs early, so that the first call may come from a signal handler. Code before main may still call first. */
__attribute__((constructor)) static void find_early(void) { find(); }

/* Prototype, result and errno are those of the function. If the call ends by an exception, longjmp or cancellation of
   the thread, there is no leave: vtunify closes the region at the end of the enclosing one. */
WRAPPER int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    __typeof__(nanosleep) *next = atomic_load_explicit(&next_nanosleep, memory_order_relaxed);
    const uint32_t region = begin(&wrapped_nanosleep);
    if (!region) return next(wanted, left);
    vt_enter(region);
    const int result = next(wanted, left);
    vt_leave(region);
    return result;
}
