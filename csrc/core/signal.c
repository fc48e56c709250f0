/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_RING_SIGNAL: a signal that makes the flight recorder write its records. The program's own handler runs after the
   handler of vtrace, even if the program installs its handler later: the functions sigaction and signal of this file
   precede those of libc. If the program has no handler, the signal has no other effect. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "call.h"
#include "location.h"
#include "ring.h"
#include "setting_texts.h"
#include "signal.h"
#include "slow_path.h"

static struct vt_call call_sigaction = {.name = "sigaction"}, call_signal = {.name = "signal"};
static int number; /* of the signal; 0: none */
static struct sigaction own[2]; /* the action that the program set, and the action before or after it */
static _Atomic uint32_t now; /* index of the current action in `own` */

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

static void on_signal(int signal, siginfo_t *info, void *context)
{
    struct sigaction program = own[atomic_load(&now)];
    int saved = errno, has_handler = program.sa_handler != SIG_DFL && program.sa_handler != SIG_IGN;
    if (has_handler && program.sa_flags & (int)SA_RESETHAND) {
        own[!atomic_load(&now)] = (struct sigaction){.sa_handler = SIG_DFL};
        atomic_fetch_xor(&now, 1);
    }
    vt_ring_signalled();
    errno = saved;
    if (program.sa_flags & SA_SIGINFO && has_handler) program.sa_sigaction(signal, info, context);
    else if (has_handler) program.sa_handler(signal);
}

/* Installs the handler of vtrace in place of the program's, with the flags and mask that the program asked for. */
static int install(const struct sigaction *program, struct sigaction *old)
{
    int (*next)(int, const struct sigaction *, struct sigaction *);
    int has_handler = program->sa_handler != SIG_DFL && program->sa_handler != SIG_IGN;
    struct sigaction ours = *program;
    *(void **)&next = vt_call_next(&call_sigaction);
    ours.sa_sigaction = on_signal;
    ours.sa_flags =
        has_handler ? (ours.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO : SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (!has_handler) sigemptyset(&ours.sa_mask);
    return next(number, &ours, old);
}

/* Runs once, when the runtime starts. */
void vt_signal_start(void)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    int saved = errno;
    if (vt_process.set.mode == VT_MODE_RING && *vt_process.set.ring_signal) {
        number = vt_setting_signal(vt_process.set.ring_signal);
        if (!install(&none, &own[0]) && own[0].sa_handler != SIG_DFL) install(&own[0], NULL);
    }
    errno = saved;
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

VT_CALL_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    int (*next)(int, const struct sigaction *, struct sigaction *);
    *(void **)&next = vt_call_next(&call_sigaction);
    int is_watched = signal == VT_READ(watched);
    if (is_watched && action) take_away();
    if (!number || signal != number) {
        int result = next(signal, action, old);
        if (is_watched && !result && old) *old = (struct sigaction){.sa_handler = SIG_DFL};
        return result;
    }
    struct sigaction before = own[atomic_load(&now)], wanted;
    if (action) {
        wanted = *action;
        own[!atomic_load(&now)] = wanted;
        if (install(&wanted, NULL)) return -1;
        atomic_fetch_xor(&now, 1);
    }
    if (old) *old = before;
    return 0;
}

VT_CALL_EXPORT __sighandler_t signal(int sig, __sighandler_t handler)
{
    __sighandler_t (*next)(int, __sighandler_t);
    *(void **)&next = vt_call_next(&call_signal);
    int is_watched = sig == VT_READ(watched);
    if (is_watched) take_away();
    if (!number || sig != number) {
        __sighandler_t before = next(sig, handler);
        return is_watched && before != SIG_ERR ? SIG_DFL : before;
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    return sigaction(sig, &action, &before) ? SIG_ERR : before.sa_handler;
}

/* Finds the next definitions early: dlsym is not safe in a signal handler. */
__attribute__((constructor)) static void find(void)
{
    vt_call_next(&call_sigaction);
    vt_call_next(&call_signal);
}
