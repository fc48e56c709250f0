/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls by number, and programs that restrict their own system calls (seccomp(2)). The kernel ends such a process
   at a call that the program has not foreseen, and vtrace makes calls of its own: recording ends before the restriction
   begins. So it does before the clock that vtrace reads raises SIGSEGV (PR_SET_TSC(2const)). */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "procwrap.h"

static struct vt_call call_prctl = VT_CALL_OF(prctl), call_syscall = VT_CALL_OF(syscall);

/* 1: the filter can end the process or raise SIGSYS, not only refuse a call. vtrace then goes on like any code whose
   calls fail. */
static int may_kill(const struct sock_fprog *filter)
{
    for (unsigned i = 0; i < filter->len; i++) {
        const struct sock_filter *f = &filter->filter[i];
        const uint32_t action = f->k & SECCOMP_RET_ACTION_FULL;
        if (BPF_CLASS(f->code) != BPF_RET) continue;
        if (BPF_RVAL(f->code) != BPF_K || action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
            action == SECCOMP_RET_TRAP)
            return 1;
    }
    return 0;
}

static void end_recording(const char *why)
{
    int saved = errno;
    if (vt_is_other_process() || vt_shares_memory() || vt_end_is_over()) return;
    vt_location_of_thread(0); /* reads the settings, if this is the first event */
    vt_warn_left_out("user+mpi+io+memory+threads+processes", why);
    vt_end_for_good();
    errno = saved;
}

/* filter: not used by the strict mode; programs pass NULL to ask whether the kernel has filters. */
static void end_before_restriction(int is_strict, const struct sock_fprog *filter)
{
    if (is_strict || (filter && may_kill(filter)))
        end_recording("the program restricts its system calls (seccomp): recording ends there");
}

VT_CALL_EXPORT int prctl(int option, ...)
{
    int (*real)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    va_list list;
    va_start(list, option);
    unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long), c = va_arg(list, unsigned long),
                  d = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP) end_before_restriction(a == SECCOMP_MODE_STRICT, (const struct sock_fprog *)b);
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        end_recording("the program forbids to read the processor's clock (PR_SET_TSC): recording ends there");
    *(void **)&real = vt_call_next(&call_prctl);
    return real(option, a, b, c, d);
}

/* Returns flags of enum vt_sleep for a system call that waits for a futex; else 0. */
static unsigned sleeps(long number, long operation, long until)
{
    if (number != SYS_futex || !vt_process.set.processor_wait) return 0;
    const unsigned others = operation & FUTEX_PRIVATE_FLAG ? 0 : VT_WAITS_SHARED;
    const unsigned how = VT_SLEEPS | (until ? VT_WAITS_TIMED : others);
    switch ((int)operation & FUTEX_CMD_MASK) { /* callers pass an int: the upper half of the register may be anything */
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: return how;
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI: return how | VT_HOLDS_LOCK;
    default: return 0;
    }
}

static __attribute__((noinline)) long wait_for_futex(long number, long a, long b, long c, long d, long e, long f)
{
    __typeof__(wait_for_futex) *real = vt_call_next(&call_syscall);
    VT_SLEEPING_CALL(long, r, real, real(number, a, b, c, d, e, f), sleeps(number, b, d))
    return r;
}

/* All arguments are named, so that the call is passed on by a jump: system calls such as clone may return to another
   stack. */
VT_CALL_EXPORT long call_system(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

long call_system(long number, long a, long b, long c, long d, long e, long f)
{
    if (VT_UNLIKELY(number == SYS_seccomp && a <= SECCOMP_SET_MODE_FILTER))
        end_before_restriction(a == SECCOMP_SET_MODE_STRICT, (const struct sock_fprog *)c);
    if (VT_UNLIKELY(number == SYS_prctl)) return prctl((int)a, b, c, d, e);
    if (VT_UNLIKELY(number == SYS_rt_sigaction && b)) vt_signal_taken((int)a);
    if (VT_UNLIKELY(number == SYS_execve)) return execve((const char *)a, (char *const *)b, (char *const *)c);
    if (VT_UNLIKELY(number == SYS_exit_group)) _exit((int)a);
    if (sleeps(number, b, d)) return wait_for_futex(number, a, b, c, d, e, f);
    __typeof__(call_system) *real = vt_call_next(&call_syscall);
    return real(number, a, b, c, d, e, f);
}
