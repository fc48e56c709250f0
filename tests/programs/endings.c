/* SPDX-License-Identifier: BSD-3-Clause */
/* endings HOW CALLS: main 1 -> work CALLS, then the end by HOW: return, exit, _exit, quick_exit, abort, segv, kill,
   thread (another thread calls exit), atexit (work CALLS more in an atexit handler), true (exec of /bin/true), again
   (exec of itself with return and CALLS). */
#include "program.h"

static volatile long sink;
static long calls;

KEEP void work(long i) { sink += i; }

static QUIET void all(void)
{
    for (long i = 0; i < calls; i++) work(i);
}

static QUIET void *leave(void *unused)
{
    exit(0);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const char *how = argv[1];
    calls = atol(argv[2]);
    all();
    if (!strcmp(how, "exit")) exit(0);
    if (!strcmp(how, "_exit")) _exit(0);
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) *(volatile int *)8 = 0;
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "atexit")) atexit(all);
    if (!strcmp(how, "true")) execl("/bin/true", "true", (char *)0);
    if (!strcmp(how, "again")) execl("/proc/self/exe", argv[0], "return", argv[2], (char *)0);
    if (!strcmp(how, "thread")) {
        pthread_t thread;
        pthread_create(&thread, 0, leave, 0);
        for (;;) pause(); /* no recorded call that one run has begun at exit and the next has not */
    }
    return 0;
}
