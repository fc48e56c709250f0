/* SPDX-License-Identifier: BSD-3-Clause */
/* Once per process: finds the next definitions and decides whether calls are recorded. Once per function: defines its
   region.
   Memory order: attributes and regions are defined before `state` says RECORD (release, acquire). A jump through the
   pointer to the next function needs the pointer, so the load comes first; also in memwrap.c and next_function.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include "core/sys.h"
#include "iowrap.h"

extern struct vt_io_function __start_vt_io_functions[], __stop_vt_io_functions[];

enum { NEW, RECORD, OFF };
static _Atomic(int) state;
static _Atomic(bool) found; /* the next definitions of all functions are known */
_Atomic(int) vt_io_off;
uint32_t vt_io_errno, vt_io_offset;

/* Stands for a function that this libc lacks, though the libc at build time has it. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* dlsym changes errno, and calls malloc if it does not find the name. */
__attribute__((noinline, cold)) void *vt_io_find(struct vt_io_function *f)
{
    void *next = VT_OWN_WORK(dlsym(RTLD_NEXT, f->symbol));
    if (!next) next = (void *)missing;
    __atomic_store_n(&f->next, next, __ATOMIC_RELEASE);
    return next;
}

static void stay_off(void)
{
    atomic_store(&state, OFF);
    if (atomic_load(&found)) atomic_store(&vt_io_off, 1);
}

/* The constructor runs early, so that a first call may come from a signal handler. Constructors of libraries may run
   earlier still. Their functions are looked up one by one: such a call may come from inside an allocator, and dlsym
   allocates memory if it does not find a name. */
__attribute__((constructor)) static void find_all(void)
{
    for (struct vt_io_function *f = __start_vt_io_functions; f < __stop_vt_io_functions; f++) vt_io_next(f);
    atomic_store(&found, true);
    if (atomic_load(&state) == OFF) stay_off();
}

/* Returns false while this thread is starting the runtime. */
static bool attach(void)
{
    static const struct vt_shim shim = {
        .size = sizeof shim, .abi = VT_ABI, .kind = VT_SHIM_IO, .name = "I/O", .version = VT_VERSION};
    const int on = vt_attach(&shim);
    if (on < 0) return false;
    if (!on) {
        stay_off();
        return true;
    }
    vt_io_errno = vt_define_attribute("errno", "Reason why the call failed (errno(3))", VT_TYPE_INT32);
    vt_io_offset = vt_define_attribute("offset", "Position in the file that the call names", VT_TYPE_INT64);
    vt_io_define_standard();
    atomic_store(&state, RECORD);
    return true;
}

#define WAIT 50000 /* in tenths of a millisecond: limit for which a second thread waits for the first */

/* Attaches at the first call, so that a program without I/O has no files. Other threads wait. A signal handler of the
   attaching thread does not wait; its call is not recorded. In a forked child the attaching thread of the parent does
   not exist. */
static void attach_once(void)
{
    static _Atomic(uint32_t) attacher; /* thread id (gettid) of the attaching thread */
    static VT_TLS int inside;
    if (vt_has_ended()) {
        stay_off();
        return;
    }
    const uint32_t me = (uint32_t)VT_SYS0(gettid);
    if (inside || vt_shares_memory()) return;
    inside = 1;
    for (int i = 0; i < WAIT && atomic_load(&state) < RECORD; i++) {
        uint32_t who = atomic_load(&attacher);
        bool gone = !who || VT_SYS3(tgkill, VT_SYS0(getpid), who, 0) == -ESRCH;
        if (!gone || !atomic_compare_exchange_strong(&attacher, &who, me)) vt_pause();
        else if (!attach()) {
            atomic_store(&attacher, 0);
            break;
        }
    }
    inside = 0;
}

/* False for functions that close or duplicate descriptors: the table of descriptors needs their calls. */
static bool is_hidden(const struct vt_io_function *f, uint32_t **counted)
{
    static const char *const needed[] = {"close", "fclose", "dup", "freopen", "pclose", "fcntl"};
    for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!strncmp(f->name, needed[i], strlen(needed[i]))) return false;
    return vt_take_call(f->name, "LIBC-I/O", counted) == VT_CALL_HIDDEN;
}

/* Two threads may define the region at the same time; vtunify merges equal regions. */
__attribute__((noinline, cold)) uint32_t vt_io_first_call(struct vt_io_function *f)
{
    if (__atomic_load_n(&f->hidden, __ATOMIC_RELAXED)) return 0;
    vt_io_next(f);
    if (atomic_load(&state) < RECORD) attach_once();
    if (atomic_load(&state) != RECORD) return 0;
    uint32_t *counted = NULL;
    if (is_hidden(f, &counted)) {
        __atomic_store_n(&f->hidden, true, __ATOMIC_RELAXED);
        return 0;
    }
    if (counted && *counted) return *counted;
    const uint32_t region = vt_define_region(f->name, VT_PARADIGM_NONE, f->role, NULL, 0);
    uint32_t expected = 0;
    if (counted) return *counted = region; /* the filter counts the calls, so the next call asks again */
    return atomic_compare_exchange_strong(&f->region, &expected, region) ? region : expected;
}

/* A jump, not a call: vfork must leave the stack unchanged, since the child returns through it first. */
#if defined(__x86_64__)
__asm__(".text\n.globl vfork, vt_shim_vfork\n.type vfork, @function\nvt_shim_vfork:\nvfork:\n"
        "    jmp *vt_vfork@GOTPCREL(%rip)\n"
        ".size vfork, .-vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl vfork, vt_shim_vfork\n.type vfork, %function\nvt_shim_vfork:\nvfork:\n"
        "    adrp x9, :got:vt_vfork\n"
        "    ldr x9, [x9, #:got_lo12:vt_vfork]\n"
        "    br x9\n"
        ".size vfork, .-vfork\n");
#endif

/* ---- Records of few calls ---- */

uint64_t *vt_io_add(struct vt_io_batch *batch, unsigned words)
{
    if (batch->n + words > sizeof batch->words / sizeof *batch->words) {
        vt_write(batch->words, batch->n);
        batch->n = 0;
    }
    batch->n += words;
    return &batch->words[batch->n - words];
}

static void add_errno(struct vt_io_batch *batch, int error)
{
    if (!error || !vt_io_errno) return;
    uint64_t *words = vt_io_add(batch, 2);
    words[0] = VT_HEAD(VT_K_ATTRIBUTE, 1, vt_io_errno);
    words[1] = (uint64_t)error;
}

void vt_io_finish(struct vt_io_batch *batch, uint32_t region, int error)
{
    add_errno(batch, error);
    *vt_io_add(batch, 1) = VT_HEAD(VT_K_LEAVE, 0, region);
    vt_write(batch->words, batch->n);
}

__attribute__((noinline, cold)) void vt_io_leave_failed(uint32_t region, int error)
{
    struct vt_io_batch batch = {0};
    vt_io_finish(&batch, region, error);
}

__attribute__((noinline, cold)) void vt_io_transfer_failed(struct vt_io_transfer t, uint64_t done, int error)
{
    struct vt_io_batch batch = {0};
    if (t.handle) {
        uint64_t *words = vt_io_add(&batch, 2);
        words[0] = VT_HEAD(VT_K_IO_DONE, 1, t.handle);
        words[1] = done;
    }
    vt_io_finish(&batch, t.region, error);
}

/* OTF2_IoSeekOption has the values of SEEK_SET to SEEK_HOLE. */
void vt_io_leave_seek(uint32_t region, uint32_t handle, int64_t offset, int whence, uint64_t result, int error)
{
    struct vt_io_batch batch = {0};
    if (handle && !error) {
        uint64_t *words = vt_io_add(&batch, 4);
        words[0] = VT_HEAD(VT_K_IO_SEEK, 3, handle);
        words[1] = (uint64_t)offset;
        words[2] = (uint64_t)whence;
        words[3] = result;
    }
    vt_io_finish(&batch, region, error);
}

/* Asks the kernel, which reads 8 bytes as a signal set before it refuses the operation. The answer for pages of this
   thread's own stack, above this frame, is kept: these pages stay mapped while the callers run. */
static VT_TLS uintptr_t stack_pages[2];

static inline bool is_known_stack(uintptr_t word)
{
    const uintptr_t page = word / 4096, here = (uintptr_t)__builtin_frame_address(0);
    return word - here < 65536 && word % 4096 <= 4088 && stack_pages[page % 2] == page;
}

static __attribute__((noinline)) bool ask_kernel(uintptr_t word)
{
    const uintptr_t page = word / 4096, here = (uintptr_t)__builtin_frame_address(0);
    if (VT_SYS4(rt_sigprocmask, -1, word, NULL, 8) == -EFAULT) return false;
    if (word - here < 65536 && word % 4096 <= 4088) stack_pages[page % 2] = page;
    return true;
}

bool vt_io_readable(const void *word) { return is_known_stack((uintptr_t)word) || ask_kernel((uintptr_t)word); }

uint64_t vt_io_bytes_of(const struct iovec *iov, int n)
{
    uint64_t bytes = 0;
    if (n < 0 || n > 1024) return VT_IO_UNKNOWN;
    for (int i = 0; i < n; i++) {
        const uintptr_t word = (uintptr_t)&iov[i].iov_len;
        if ((!i || word % 4096 < sizeof *iov) && !is_known_stack(word) && !ask_kernel(word)) return VT_IO_UNKNOWN;
        bytes += iov[i].iov_len;
    }
    return bytes;
}

VT_TLS uint64_t vt_io_next_match;

uint64_t vt_io_first_match(void)
{
    static _Atomic(uint64_t) threads;
    const uint64_t match = (atomic_fetch_add(&threads, 1) + 1) << 40;
    vt_io_next_match = match + 1;
    return match;
}
