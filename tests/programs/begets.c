/* SPDX-License-Identifier: BSD-3-Clause */
/* begets HOW CHILDREN THREADS CALLS: THREADS threads call work at least CALLS times each, and until main has created
   CHILDREN children. Before each child main calls work once. HOW: fork; clone (the bare system call); vfork; spawn
   (posix_spawn of /bin/true); handler (fork in the handler of a timer that interrupts calls of work; here main calls
   work until all children are created); early (fork, all before main's only call of work; all end by exit at the same
   time). Else a child: child 1 -> work 7, then alternately _exit, exec of /bin/true, exit; after vfork _exit and exec
   only. Prints the number of calls of work by main, and by the threads. */
#define _GNU_SOURCE
#include <spawn.h>
#include "program.h"

#define MOST 8

static volatile long sink, made;
static volatile int in_child;
static long calls, children;
static _Atomic long by_threads;
static _Atomic int all_made;
static sigset_t timer; /* for main only */

KEEP void work(void) { sink++; }

KEEP void child(void)
{
    for (int i = 0; i < 7; i++) work();
}

static QUIET void *body(void *unused)
{
    long i = 0;
    for (; i < calls || !all_made; i++) {
        work();
        if (i % 64 == 63) usleep(50); /* keeps the trace small */
    }
    by_threads += i;
    return unused;
}

static QUIET void be_child(int way)
{
    child();
    if (way % 3 == 1) execl("/bin/true", "true", (char *)0);
    if (way % 3 == 2) exit(0);
    _exit(0);
}

static QUIET void one(const char *how, int i)
{
    char *words[] = {"true", 0};
    pid_t pid = -1;
    int status;
    if (!strcmp(how, "vfork")) {
        if ((pid = vfork()) == 0) be_child(i % 2);
    } else if (!strcmp(how, "spawn")) {
        if (posix_spawn(&pid, "/bin/true", 0, 0, words, environ)) pid = -1;
    } else {
        pid = !strcmp(how, "clone") ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (pid == 0) be_child(i);
    }
    if (pid < 0) exit(1);
    if (waitpid(pid, &status, 0) != pid || status) exit(1);
}

static QUIET void on_signal(int unused)
{
    (void)unused;
    if (in_child || made == children) return;
    made++;
    if (fork() == 0) in_child = 1;
}

/* Nothing is recorded before the children start, so each child may be the first process of the run. */
static QUIET long all_before(void)
{
    int status;
    for (int i = 0; i < children; i++)
        if (fork() == 0) be_child(2);
    while (wait(&status) > 0)
        if (status) exit(1);
    work();
    return 1;
}

/* The child continues where the handler interrupted its parent, perhaps in the middle of recording. */
static QUIET long by_handler(void)
{
    struct itimerval every = {{0, 1000}, {0, 1000}};
    int status;
    long i = 0;
    signal(SIGALRM, on_signal);
    pthread_sigmask(SIG_UNBLOCK, &timer, 0);
    setitimer(ITIMER_REAL, &every, 0);
    for (; made < children || i < 1000; i++) {
        work();
        if (in_child) be_child((int)made);
    }
    if (in_child) be_child((int)made); /* a signal may come between the last test and the end of the loop */
    while (wait(&status) > 0)
        if (status) exit(1);
    return i;
}

QUIET int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    pthread_t threads[MOST];
    int n = atoi(argv[3]) < MOST ? atoi(argv[3]) : MOST;
    int is_vfork = !strcmp(argv[1], "vfork");
    long i = 0;
    children = atol(argv[2]);
    calls = atol(argv[4]);
    sigemptyset(&timer);
    sigaddset(&timer, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &timer, 0);
    for (int t = 0; t < n; t++)
        if (pthread_create(&threads[t], 0, body, 0)) return 1;
    if (!strcmp(argv[1], "handler")) i = by_handler();
    else if (!strcmp(argv[1], "early")) i = all_before();
    else
        for (; i < children; i++) {
            if (!is_vfork) work();
            one(argv[1], (int)i);
            if (is_vfork) work(); /* the first child comes before any event */
        }
    all_made = 1;
    for (int t = 0; t < n; t++) pthread_join(threads[t], 0);
    printf("%ld %ld\n", i, by_threads);
    fflush(stdout);
    return 0;
}
