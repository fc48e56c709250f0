/* SPDX-License-Identifier: BSD-3-Clause */
/* timer HOW CALLS THREADS: each of THREADS threads (0: the main thread alone) calls work CALLS times, or until HANDLERS
   handlers have run, with malloc and free between two calls. A timer of each thread interrupts it 100 us after the
   previous handler: a slow handler (valgrind) leaves the thread time, too. on_signal -> handled 20. HOW: here (on its
   stack), other (on an alternate one), jump (every third handler leaves by siglongjmp). Prints, over all threads, the
   number of traced functions that began, of handlers that ran, and of handlers that jumped. */
#define _GNU_SOURCE
#include <setjmp.h>
#include "program.h"

#define HANDLED 20
#define HANDLERS 60
#define MOST 8
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static _Thread_local volatile long begun, handlers, jumps;
static _Thread_local timer_t timer;
static _Thread_local sigjmp_buf back;
static _Atomic long all_begun, all_handlers, all_jumps;
static long calls;
static int on_other_stack, jumping;

KEEP void work(void) { __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED); /* a handler may interrupt the increment */ }

KEEP void handled(void) { __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED); }

static QUIET void start_timer(void)
{
    const struct itimerspec once = {{0, 0}, {0, 100000}};
    if (timer_settime(timer, 0, &once, 0)) _exit(1);
}

KEEP void on_signal(int unused)
{
    int jump = jumping && handlers % 3 == 2;
    (void)unused;
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
    handlers++;
    for (int i = 0; i < HANDLED; i++) handled();
    start_timer();
    if (jump) {
        jumps++;
        siglongjmp(back, 1);
    }
}

static QUIET void loop(void)
{
    char *volatile held[16] = {0};
    volatile long i = 0;
    sigsetjmp(back, 1);
    for (; i < calls || handlers < HANDLERS; i++) {
        work();
        for (int k = 0; k < 4 && !jumping; k++) { /* a jump must not leave malloc */
            int slot = (int)(i + k * 5) % 16;
            free(held[slot]);
            held[slot] = malloc((size_t)(i * 7919 % 5000));
        }
    }
    for (i = 0; i < 16; i++) free(held[i]);
}

static QUIET void *body(void *unused)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    stack_t stack = {.ss_size = 65536};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN);
    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    if (on_other_stack && (!(stack.ss_sp = malloc(stack.ss_size)) || sigaltstack(&stack, 0))) exit(1);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) exit(1);
    start_timer();
    loop();
    pthread_sigmask(SIG_BLOCK, &signals, 0);
    timer_delete(timer);
    work(); /* records the events that the last handler lost */
    atomic_fetch_add(&all_begun, begun);
    atomic_fetch_add(&all_handlers, handlers);
    atomic_fetch_add(&all_jumps, jumps);
    return unused;
}

QUIET int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    struct sigaction act = {.sa_handler = on_signal};
    pthread_t threads[MOST];
    int n = atoi(argv[3]) < MOST ? atoi(argv[3]) : MOST;
    on_other_stack = !strcmp(argv[1], "other");
    jumping = !strcmp(argv[1], "jump");
    calls = atol(argv[2]);
    if (on_other_stack) act.sa_flags = SA_ONSTACK;
    if (sigaction(SIGRTMIN, &act, 0)) return 1;
    if (!n) body(0);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], 0, body, 0)) return 1;
    for (int i = 0; i < n; i++) pthread_join(threads[i], 0);
    printf("%ld %ld %ld\n", all_begun, all_handlers, all_jumps);
    return 0;
}
