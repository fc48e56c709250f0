/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions in which a thread sleeps, such as nanosleep, poll and recv, and those of locks (threadwrap). A call of some
   milliseconds tells how long the thread was off the processor, and the stack of the call where threads are sampled: a
   sleeping thread has no samples. A shorter call costs two readings of the clock. The calls are no events. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "sampling.h"

#define DEPTH VT_SITE_DEPTH /* calls of a stack: the function that sleeps, and those around it */
#define MOST_CALLS 8u /* of the site of a lock; of Python, if it has any */

_Thread_local int vt_in_sleeping_call __attribute__((tls_model("initial-exec")));

/* Returns the number of calls before the first one whose code would need a question to the loader. A thread in the loader
   may wait for the lock that the calling thread holds. */
static uint32_t known_calls(struct vt_location *l, const uintptr_t *at, uint32_t n)
{
    uint32_t known = 0;
    while (known < n && (at[known] & VT_FRAME_PYTHON || vt_code_known_offset(l, at[known]) != VT_CODE_UNKNOWN)) known++;
    return known;
}

void vt_slept(uint64_t since, const uintptr_t *frame, void *function, unsigned how)
{
    struct vt_location *l = vt_own_location;
    uintptr_t at[DEPTH] = {(uintptr_t)function};
    uint32_t n = 1;
    if (!l || !l->in_use || l->off || atomic_load(&vt_process.off) || atomic_load(&vt_process.state) != VT_ON) return;
    if (VT_READ(l->busy) || vt_suppressed || vt_is_other_process()) return;
    const int saved = errno;
    const struct vt_registers caller = {frame[1] - 1, (uintptr_t)(frame + 2), frame[0]};
    n += vt_sample_stack(l, caller, at + n, DEPTH - n);
    if (n == 1) at[n++] = caller.pc;
    if (how & VT_HOLDS_LOCK) n = known_calls(l, at, n);
    const uint64_t site = n ? vt_call_site_of(at, n) : 0;
    vt_long_call(l, NULL, 0, vt_now());
    const uint64_t flags = (how & VT_WAITS_SHARED ? VT_SITE_SHARED : 0) | (how & VT_WAITS_TIMED ? VT_SITE_TIMED : 0);
    vt_blocked_in(since, site ? site | flags : 0);
    errno = saved;
}

/* The stack of a call: the calls from `first` to before `end`. */
struct stack {
    uintptr_t at[DEPTH];
    uint32_t first, end;
    int has_python;
};

/* Takes the stack from a call on, since vtrace's own frames are the innermost ones. It ends some calls after the first
   function of Python, since each depth of a recursion would be a stack of its own. */
static void take_stack(struct vt_location *l, uintptr_t caller, struct stack *s)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    const struct vt_registers own = {frame[1] - 1, (uintptr_t)(frame + 2), frame[0]};
    const uint32_t n = vt_sample_stack(l, own, s->at, DEPTH);
    uint32_t last;
    s->first = 0;
    while (s->first < n && s->at[s->first] != caller - 1) s->first++;
    for (last = s->first; last < n && !(s->at[last] & VT_FRAME_PYTHON);) last++;
    s->has_python = last < n;
    if (!s->has_python) last = s->first;
    s->end = n - last > MOST_CALLS ? last + MOST_CALLS : n;
}

static int can_unwind(const struct vt_location *l) { return l && !VT_READ(l->busy) && !vt_suppressed; }

uint32_t vt_python_site(uintptr_t caller)
{
    struct stack s;
    if (!vt_runs_python() || !can_unwind(vt_own_location)) return 0;
    take_stack(vt_own_location, caller, &s);
    return s.has_python ? vt_call_site_of(s.at + s.first, s.end - s.first) : 0;
}

uint32_t vt_signal_safe_site(uintptr_t caller)
{
    struct vt_location *l = vt_own_location;
    struct stack s;
    if (!can_unwind(l)) return 0;
    take_stack(l, caller, &s);
    if (s.first == s.end) s = (struct stack){.at = {caller - 1}, .end = 1};
    const uint32_t n = known_calls(l, s.at + s.first, s.end - s.first);
    return n ? vt_call_site_of(s.at + s.first, n) : 0;
}

/* clang-format off */
#define SLEEPS(type, function, parameters, arguments)                                                                  \
    static struct vt_call call_##function = {.name = #function};                                                       \
    static int is_shim_##function; /* the next definition is that of the I/O shim, which may record the calls */       \
    VT_CALL_EXPORT type function parameters                                                                            \
    {                                                                                                                  \
        type(*next) parameters;                                                                                        \
        *(void **)&next = vt_call_next(&call_##function);                                                              \
        if (!vt_process.set.processor_wait || (is_shim_##function && vt_process.set.iotrace)) return next arguments;   \
        VT_SLEEPING_CALL(type, r, next, next arguments, VT_SLEEPS)                                                        \
        return r;                                                                                                      \
    }

#define CALLS(X)                                                                                                       \
    X(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))                              \
    X(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),          \
      (clock, flags, time, left))                                                                                      \
    X(int, usleep, (useconds_t us), (us))                                                                              \
    X(unsigned, sleep, (unsigned seconds), (seconds))                                                                  \
    X(int, pause, (void), ())                                                                                          \
    X(int, poll, (struct pollfd *files, nfds_t n, int ms), (files, n, ms))                                             \
    X(int, ppoll, (struct pollfd *files, nfds_t n, const struct timespec *time, const sigset_t *set),                  \
      (files, n, time, set))                                                                                           \
    X(int, __ppoll_chk, (struct pollfd *files, nfds_t n, const struct timespec *time, const sigset_t *set,             \
                         size_t bytes), (files, n, time, set, bytes))                                                  \
    X(int, __poll_chk, (struct pollfd *files, nfds_t n, int ms, size_t bytes), (files, n, ms, bytes))                  \
    X(int, select, (int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *time), (n, in, out, other, time))   \
    X(int, pselect, (int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *time, const sigset_t *set), \
      (n, in, out, other, time, set))                                                                                  \
    X(int, epoll_wait, (int file, struct epoll_event *events, int n, int ms), (file, events, n, ms))                   \
    X(int, epoll_pwait, (int file, struct epoll_event *events, int n, int ms, const sigset_t *set),                    \
      (file, events, n, ms, set))                                                                                      \
    X(ssize_t, read, (int file, void *to, size_t n), (file, to, n))                                                    \
    X(ssize_t, __read_chk, (int file, void *to, size_t n, size_t room), (file, to, n, room))                           \
    X(ssize_t, readv, (int file, const struct iovec *parts, int n), (file, parts, n))                                  \
    X(ssize_t, recv, (int file, void *to, size_t n, int flags), (file, to, n, flags))                                  \
    X(ssize_t, recvfrom, (int file, void *to, size_t n, int flags, struct sockaddr *from, unsigned *bytes),            \
      (file, to, n, flags, from, bytes))                                                                               \
    X(ssize_t, __recv_chk, (int file, void *to, size_t n, size_t room, int flags), (file, to, n, room, flags))         \
    X(ssize_t, __recvfrom_chk, (int file, void *to, size_t n, size_t room, int flags, struct sockaddr *from,           \
                                unsigned *bytes), (file, to, n, room, flags, from, bytes))                             \
    X(ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))                         \
    X(int, recvmmsg, (int file, struct mmsghdr *messages, unsigned n, int flags, struct timespec *time),               \
      (file, messages, n, flags, time))                                                                                \
    X(int, accept, (int file, struct sockaddr *from, unsigned *bytes), (file, from, bytes))                            \
    X(int, accept4, (int file, struct sockaddr *from, unsigned *bytes, int flags), (file, from, bytes, flags))

struct sockaddr;
struct msghdr;
struct mmsghdr;
CALLS(SLEEPS)
/* clang-format on */

static int is_of_io_shim(const void *function)
{
    Dl_info in;
    return dladdr(function, &in) && in.dli_fname && strstr(in.dli_fname, "libvtrace-io");
}

/* Signal handlers may sleep, so the next definitions are looked up here and not in the first call. */
__attribute__((constructor)) static void choose(void)
{
#define FIND(type, function, ...) is_shim_##function = is_of_io_shim(vt_call_find(&call_##function));
    CALLS(FIND)
}
