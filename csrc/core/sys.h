/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls without libc: shims do not record them, and errno does not change. Results below 0 are -errno. */
#ifndef VT_SYS_H
#define VT_SYS_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline long vt_sys(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
    int saved = errno;
    long result = syscall(number, a, b, c, d, e, f);
    if (result < 0) result = -errno;
    errno = saved;
    return result;
#endif
}

#define VT_SYS0(name) vt_sys(SYS_##name, 0, 0, 0, 0, 0, 0)
#define VT_SYS1(name, a) vt_sys(SYS_##name, (long)(a), 0, 0, 0, 0, 0)
#define VT_SYS2(name, a, b) vt_sys(SYS_##name, (long)(a), (long)(b), 0, 0, 0, 0)
#define VT_SYS3(name, a, b, c) vt_sys(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define VT_SYS4(name, a, b, c, d) vt_sys(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define VT_SYS6(name, a, b, c, d, e, f)                                                                                \
    vt_sys(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* The result of glibc's _dl_find_object (2.35), which finds the module of an address without a lock or an allocation.
   Headers of older versions lack struct dl_find_object. */
struct vt_found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *map;
    void *eh_frame;
    unsigned long long reserved[8];
};

/* Between vt_hold_signals and vt_release_signals no signal handler runs in the thread, so that siglongjmp or
   cancellation cannot leave an action half done. Signals for faults of this thread are not blocked: the program may
   have a handler that reports them. */
#define VT_SIGNAL(number) (1ull << ((number) - 1))
#define VT_FAULTS (VT_SIGNAL(SIGSEGV) | VT_SIGNAL(SIGBUS) | VT_SIGNAL(SIGFPE) | VT_SIGNAL(SIGILL) | VT_SIGNAL(SIGTRAP))

static inline void vt_block_signals(uint64_t set, uint64_t *old) { VT_SYS4(rt_sigprocmask, SIG_BLOCK, &set, old, 8); }
static inline void vt_hold_signals(uint64_t *old) { vt_block_signals(~VT_FAULTS, old); }

static inline void vt_release_signals(const uint64_t *old) { VT_SYS4(rt_sigprocmask, SIG_SETMASK, old, NULL, 8); }

/* A write of vtrace may raise signals that end the program by default: SIGXFSZ at a limit on file sizes, SIGPIPE if no
   process reads standard error. The caller holds these signals. Removes the signal of a failed write; returns result,
   which is that of the write. */
#define VT_WRITE_SIGNALS (VT_SIGNAL(SIGXFSZ) | VT_SIGNAL(SIGPIPE))

static inline long vt_written(long result)
{
    const uint64_t raised = result == -EFBIG ? VT_SIGNAL(SIGXFSZ) : result == -EPIPE ? VT_SIGNAL(SIGPIPE) : 0;
    struct timespec none = {0, 0};
    if (raised) VT_SYS4(rt_sigtimedwait, &raised, NULL, &none, 8);
    return result;
}

/* Returns 1 if a signal is pending that came while signals were blocked. */
static inline int vt_signal_waits(const uint64_t *old)
{
    uint64_t waiting = 0;
    VT_SYS2(rt_sigpending, &waiting, 8);
    return (waiting & ~*old & ~VT_FAULTS) != 0;
}

/* Sleeps for a tenth of a millisecond. */
static inline void vt_pause(void)
{
    struct timespec t = {0, 100000};
    VT_SYS2(nanosleep, &t, NULL);
}

#endif
