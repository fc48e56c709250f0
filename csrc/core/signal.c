/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_RING_SIGNAL: a signal that makes the flight recorder write its records. If the program has no handler, the signal
   has no other effect. SIGIO: sampling by performance events may cause this signal. The program's own handler runs after
   the handler of vtrace, even if the program installs its handler later: the functions sigaction, signal, bsd_signal and
   sysv_signal of this file precede those of libc. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "process.h"

static struct vt_call call_sigaction = {.name = "sigaction"}, call_signal = {.name = "signal"};
static struct vt_call call_bsd_signal = {.name = "bsd_signal"}, call_sysv_signal = {.name = "sysv_signal"};
/* A signal for which vtrace has a handler in place of the program's. */
struct shared_signal {
    int number; /* 0: none */
    struct sigaction own[2]; /* the action that the program set, and the action before or after it */
    _Atomic uint32_t now; /* index of the current action in `own` */
};

static struct shared_signal ring, io;
static int (*io_came)(const siginfo_t *, void *, int);

/* Runs in the signal handler. The interrupted thread writes its records at once, unless it is recording an event. */
static void vt_ring_signalled(void)
{
    struct vt_location *l = vt_own_location;
    if (!vt_is_recording()) return;
    vt_ring_ask();
    if (!l || !l->in_use || VT_READ(l->busy)) return;
    vt_busy_begin(l);
    vt_write_out(l);
    vt_busy_end(l);
}

static int is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void remember(struct shared_signal *s, struct sigaction action)
{
    s->own[!atomic_load(&s->now)] = action;
    atomic_fetch_xor(&s->now, 1);
}

/* Runs in the handler: the signal is blocked, and ends the process when the handler returns. */
static void act_by_default(int signal)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    __typeof__(sigaction) *next = vt_call_next(&call_sigaction);
    next(signal, &none, NULL);
    VT_SYS3(tgkill, VT_SYS0(getpid), VT_SYS0(gettid), signal);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    struct shared_signal *s = signal == ring.number ? &ring : &io;
    struct sigaction program = s->own[atomic_load(&s->now)];
    int saved = errno, has_handler = is_handler(&program), is_done = 0;
    if (s == &ring) vt_ring_signalled();
    else is_done = io_came(info, context, has_handler);
    errno = saved;
    if (is_done) return;
    if (!has_handler && s == &io) act_by_default(signal);
    if (!has_handler) return;
    if (program.sa_flags & (int)SA_RESETHAND) remember(s, (struct sigaction){.sa_handler = SIG_DFL});
    if (program.sa_flags & SA_SIGINFO) program.sa_sigaction(signal, info, context);
    else program.sa_handler(signal);
}

/* Installs the handler of vtrace in place of the program's, with the flags and mask that the program asked for. If the
   program ignores SIGIO, the kernel does so, too: a handler would interrupt calls. */
static int install(const struct shared_signal *s, const struct sigaction *program, struct sigaction *old)
{
    int has_handler = is_handler(program);
    struct sigaction ours = *program;
    __typeof__(sigaction) *next = vt_call_next(&call_sigaction);
    if (s == &io && program->sa_handler == SIG_IGN) return next(s->number, program, old);
    ours.sa_sigaction = on_signal;
    ours.sa_flags =
        has_handler ? (ours.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO : SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (!has_handler) sigemptyset(&ours.sa_mask);
    return next(s->number, &ours, old);
}

/* Runs once, when the runtime starts. */
void vt_signal_start(void)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    int saved = errno;
    if (vt_process.set.mode != VT_MODE_TRACE && *vt_process.set.ring_signal) {
        ring.number = vt_setting_signal(vt_process.set.ring_signal);
        if (!install(&ring, &none, &ring.own[0]) && ring.own[0].sa_handler != SIG_DFL)
            install(&ring, &ring.own[0], NULL);
    }
    errno = saved;
}

void vt_signal_guard_io(int (*came)(const siginfo_t *info, void *context, int has_handler))
{
    __typeof__(sigaction) *next = vt_call_next(&call_sigaction);
    if (ring.number == SIGIO || next(SIGIO, NULL, &io.own[0])) return;
    io_came = came;
    io.number = SIGIO;
    install(&io, &io.own[0], NULL);
}

/* The signal whose handler of vtrace the program does not see. */
static int watched;
static void (*when_taken)(void);

static void take_away(void)
{
    VT_SET(watched, 0);
    when_taken();
}

void vt_signal_watch(int signal, void (*taken)(void))
{
    when_taken = taken;
    VT_SET(watched, signal);
}

void vt_signal_taken(int signal)
{
    if (signal > 0 && signal == VT_READ(watched) && !vt_is_other_process()) take_away();
}

/* Returns the shared signal of this number, or NULL. A child of vfork has actions of its own, but the memory of its
   parent. */
static struct shared_signal *shared(int signal)
{
    struct shared_signal *s = signal < 1 ? NULL : signal == ring.number ? &ring : signal == io.number ? &io : NULL;
    return s && !vt_is_other_process() ? s : NULL;
}

VT_CALL_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    struct shared_signal *s = shared(signal);
    __typeof__(sigaction) *next = vt_call_next(&call_sigaction);
    int is_watched = signal == VT_READ(watched);
    if (action) vt_signal_taken(signal);
    if (!s) {
        int result = next(signal, action, old);
        if (is_watched && !result && old) *old = (struct sigaction){.sa_handler = SIG_DFL};
        else if (!result && old && old->sa_sigaction == on_signal) {
            const struct shared_signal *of = signal == ring.number ? &ring : &io;
            *old = of->own[atomic_load(&of->now)];
        }
        return result;
    }
    struct sigaction before = s->own[atomic_load(&s->now)], wanted;
    if (action) {
        wanted = *action;
        s->own[!atomic_load(&s->now)] = wanted;
        if (install(s, &wanted, NULL)) return -1;
        atomic_fetch_xor(&s->now, 1);
    }
    if (old) *old = before;
    return 0;
}

/* flags: those with which the function installs a handler. */
static __sighandler_t set_handler(struct vt_call *call, int sig, __sighandler_t handler, int flags)
{
    __typeof__(signal) *next = vt_call_next(call);
    int is_watched = sig == VT_READ(watched);
    vt_signal_taken(sig);
    if (!shared(sig)) {
        __sighandler_t before = next(sig, handler);
        return is_watched && before != SIG_ERR ? SIG_DFL : before;
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
    return sigaction(sig, &action, &before) ? SIG_ERR : before.sa_handler;
}

VT_CALL_EXPORT __sighandler_t signal(int sig, __sighandler_t handler)
{
    return set_handler(&call_signal, sig, handler, SA_RESTART);
}

__sighandler_t bsd_signal(int sig, __sighandler_t handler); /* no longer in <signal.h> */

VT_CALL_EXPORT __sighandler_t bsd_signal(int sig, __sighandler_t handler)
{
    return set_handler(&call_bsd_signal, sig, handler, SA_RESTART);
}

VT_CALL_EXPORT __sighandler_t sysv_signal(int sig, __sighandler_t handler)
{
    return set_handler(&call_sysv_signal, sig, handler, (int)SA_RESETHAND | SA_NODEFER);
}

/* signal of programs that are compiled for the C standard alone, as by gcc -std=c11 */
VT_CALL_EXPORT __sighandler_t __sysv_signal(int sig, __sighandler_t handler) { return sysv_signal(sig, handler); }

/* Finds the next definitions early: dlsym is not safe in a signal handler. */
__attribute__((constructor)) static void find(void)
{
    vt_call_next(&call_sigaction);
    vt_call_next(&call_signal);
    vt_call_next(&call_bsd_signal);
    vt_call_next(&call_sysv_signal);
}
