/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that wait for signals. A thread that blocks all signals and waits for any of them would get the signal of
   its sampling timer: in this case these functions continue to wait. The next sample of the thread also stands for that
   time. A signalfd for all signals omits this signal. */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include "sampling.h"

#define SECOND 1000000000ll

static struct vt_call call_wait = {.name = "sigwait"}, call_info = {.name = "sigwaitinfo"};
static struct vt_call call_timed = {.name = "sigtimedwait"};

static int wait_info(const sigset_t *set, siginfo_t *info)
{
    siginfo_t own;
    int number;
    __typeof__(sigwaitinfo) *real = vt_call_next(&call_info);
    if (!info) info = &own;
    do number = real(set, info);
    while (number > 0 && vt_sample_passes(info));
    vt_sample_go_on();
    return number;
}

VT_CALL_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) { return wait_info(set, info); }

/* Unlike sigwaitinfo, sigwait returns the error and is not interrupted by handlers (sigwait(3)). */
VT_CALL_EXPORT int sigwait(const sigset_t *set, int *number)
{
    int result, saved = errno;
    if (!vt_sample_is_on()) {
        __typeof__(sigwait) *real = vt_call_next(&call_wait);
        return real(set, number);
    }
    do result = wait_info(set, NULL);
    while (result < 0 && errno == EINTR);
    int error = errno;
    errno = saved;
    if (result < 0) return error;
    *number = result;
    return 0;
}

static long long monotonic(void) { return (long long)vt_clock_ns(CLOCK_MONOTONIC); }

VT_CALL_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
    siginfo_t own;
    struct timespec rest;
    __typeof__(sigtimedwait) *real = vt_call_next(&call_timed);
    if (!vt_sample_is_on()) return real(set, info, most);
    if (!most) return wait_info(set, info);
    if (!info) info = &own;
    long long until;
    if (__builtin_mul_overflow((long long)most->tv_sec, SECOND, &until) ||
        __builtin_add_overflow(until, monotonic() + most->tv_nsec, &until))
        until = LLONG_MAX;
    int number = real(set, info, most);
    while (number > 0 && vt_sample_passes(info)) {
        long long left = until - monotonic();
        if (left < 0) left = 0;
        rest = (struct timespec){(time_t)(left / SECOND), (long)(left % SECOND)};
        number = real(set, info, &rest);
    }
    vt_sample_go_on();
    return number;
}

static int has_all(const sigset_t *set)
{
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        if (!sigismember(set, n)) return 0;
    return 1;
}

/* A set without some real-time signals, but with that of sampling, names a signal of the program's own. */
VT_CALL_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    static struct vt_call call = {.name = "signalfd"};
    int ours = vt_sample_signal();
    sigset_t rest;
    __typeof__(signalfd) *real = vt_call_next(&call);
    if (!ours || sigismember(set, ours) != 1) return real(fd, set, flags);
    if (!has_all(set)) {
        vt_sample_give_signal();
        return real(fd, set, flags);
    }
    rest = *set;
    sigdelset(&rest, ours);
    return real(fd, &rest, flags);
}
