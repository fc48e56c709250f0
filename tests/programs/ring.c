/* SPDX-License-Identifier: BSD-3-Clause */
/* ring HOW CALLS: main 1 -> work -> step CALLS, then HOW: end; killed (SIGKILL); again (VT_BUFFER_FLUSH, work);
   default, sigaction, signal, bsd, sysv, once (SIGUSR1 without and with an own handler, work); fork (also work in a child);
   threads (also in two); flood (SIGUSR1 all the time). Prints the numbers of functions entered and signals received. */
#include "vt_user.h"
#include "program.h"

__sighandler_t bsd_signal(int number, __sighandler_t handler); /* no longer in <signal.h> */

static volatile long sink, met;

KEEP void step(long i) { sink += i; }

KEEP void work(long calls)
{
    for (long i = 0; i < calls; i++) step(i);
}

QUIET static void handler(int number) { met += number == SIGUSR1; }

QUIET static void informed(int number, siginfo_t *info, void *context)
{
    met += number == SIGUSR1 && info->si_pid == getpid() && context;
}

QUIET static void *body(void *calls)
{
    work((long)calls);
    return NULL;
}

QUIET static void handle(const char *how)
{
    struct sigaction action = {.sa_sigaction = informed, .sa_flags = SA_SIGINFO}, before;
    if (!strcmp(how, "once")) action.sa_flags |= (int)SA_RESETHAND;
    if (!strcmp(how, "signal") && signal(SIGUSR1, handler) != SIG_DFL) abort();
    if (!strcmp(how, "bsd") && bsd_signal(SIGUSR1, handler) != SIG_DFL) abort();
    if (!strcmp(how, "sysv") && sysv_signal(SIGUSR1, handler) != SIG_DFL) abort();
    if (strcmp(how, "sigaction") && strcmp(how, "once")) return;
    if (sigaction(SIGUSR1, &action, &before) || before.sa_handler != SIG_DFL) abort();
    if (sigaction(SIGUSR1, NULL, &before) || before.sa_sigaction != informed) abort();
}

QUIET static void flood(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 300000}, {0, 300000}};
    timer_t timer;
    signal(SIGUSR1, handler);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL)) abort();
}

int main(int argc, char **argv)
{
    const char *how = argv[1];
    long calls = argc > 2 ? atol(argv[2]) : 10, entered = 2 + calls;
    pthread_t threads[2];
    if (!strcmp(how, "flood")) flood();
    work(calls);
    if (!strcmp(how, "killed")) {
        printf("%ld 0\n", entered);
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    if (!strcmp(how, "again")) VT_BUFFER_FLUSH();
    if (strstr("default sigaction signal bsd sysv once", how)) {
        handle(how);
        raise(SIGUSR1);
        if (!strcmp(how, "once")) raise(SIGUSR1);
    }
    if (strstr("again default sigaction signal bsd sysv once", how)) {
        work(calls);
        entered += 1 + calls;
    }
    if (!strcmp(how, "fork")) {
        if (!fork()) {
            work(calls);
            return 0;
        }
        wait(NULL);
    }
    for (int i = 0; i < 2 && !strcmp(how, "threads"); i++) pthread_create(&threads[i], NULL, body, (void *)calls);
    for (int i = 0; i < 2 && !strcmp(how, "threads"); i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", entered, met);
    return 0;
}
