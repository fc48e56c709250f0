/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole shim, as small as one can be: it records the calls of nanosleep. Whoever adds the next shim begins with a copy.

   A shim defines functions of another library, records their calls and hands them on. It gets into a program in one of
   two ways, from the same source (DIR: where libvtrace.so.1 is; include/ beside it has core.h):

     preloaded   cc -shared -fPIC -IDIR/include skeleton.c -o libskeleton.so -LDIR -l:libvtrace.so.1 -Wl,-rpath,DIR
                 LD_PRELOAD=$PWD/libskeleton.so ./program        also programs that know nothing of vtrace
     linked      cc -c -fPIC -IDIR/include skeleton.c && vtrace-cc program.c skeleton.o

   It is compiled by the compiler itself, not by vtrace-cc: its own functions are not to be recorded. Calls that the
   library makes of its own functions inside (glibc's sleep) go past a shim. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include "core.h" /* all that a shim needs of vtrace; msgpack.h where it writes definitions of its own */

/* Weak, so that a program's own definition goes before this one where the shim is linked in. */
#define WRAPPER __attribute__((weak, visibility("default")))

/* ---- Once per shim: attaching ---- */

enum state { NEW, ATTACHING, RECORD, PASSIVE };
static _Atomic(int) state = NEW;

/* At the first call, not in a constructor: a program that never calls the library gets no files because of its shim.
   Nobody waits for a thread that is attaching, which might be this one, below a signal handler: such calls are handed
   on unrecorded. */
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
    uint8_t paradigm, role; /* OTF2's numbers */
    _Atomic(uint32_t) region;
};

/* Regions are defined when first used: a shim of hundreds of functions starts as fast as this one. Of two threads that
   come at once both define the region; vtunify joins equal ones. */
static uint32_t first_call(struct wrapped *w)
{
    attach();
    if (atomic_load(&state) != RECORD) return 0;
    const uint32_t region = vt_define_region(w->name, w->paradigm, w->role, NULL, 0);
    uint32_t expected = 0;
    return atomic_compare_exchange_strong(&w->region, &expected, region) ? region : expected;
}

/* The region of a call, 0 when it is not to be recorded: one load and one branch where nothing is recorded. */
static inline uint32_t begin(struct wrapped *w)
{
    if (atomic_load_explicit(&state, memory_order_relaxed) == PASSIVE) return 0;
    const uint32_t region = atomic_load_explicit(&w->region, memory_order_relaxed);
    return region ? region : first_call(w);
}

/* ---- nanosleep ---- */

static struct wrapped wrapped_nanosleep = {"nanosleep", VT_PARADIGM_NONE, VT_ROLE_FUNCTION, 0};

/* The definition behind this one. Until it is known the pointer leads to who looks for it, so that calls need not ask.
   dlsym takes locks and may allocate: a shim of malloc, or of what dlsym itself calls, needs another way. Functions of
   which libc has several versions (pthread_cond_wait) want dlvsym. */
static int find_and_nanosleep(const struct timespec *wanted, struct timespec *left);
static __typeof__(nanosleep) *_Atomic next_nanosleep = find_and_nanosleep;

static void find(void)
{
    const int saved = errno; /* the caller's; vt_ functions keep it, dlsym does not */
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

/* Early, so that the first call may come from a signal handler. What runs before main may still come first. */
__attribute__((constructor)) static void find_early(void) { find(); }

/* The function's own prototype, result and errno. If it ends by an exception, longjmp or the thread's cancellation, there
   is no leave: vtunify closes the region where the next outer one ends. */
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
